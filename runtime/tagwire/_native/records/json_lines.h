/* Write records as lines of JSON or tab-separated text, directly from the bytes of a batch. */
#ifndef TAGWIRE_JSON_LINES_H
#define TAGWIRE_JSON_LINES_H

#include "records/batch.h"
#include "records/output.h"

/* What all lines of a batch have in common: the beginning of a JSON line, or the names of the batch's attributes in
 * text. */
typedef struct {
    const char *data;
    size_t size;
    int is_text;
} tw_line_head;

/* Write lines until `most` bytes are written, no records are left, memory has run out, or the next record is invalid or
 * unusual. On return, `batch` begins with the next record. */
void tw_write_lines(tw_output *out, tw_batch *batch, tw_line_head head, size_t most);

#endif
