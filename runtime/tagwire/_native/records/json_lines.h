/* Records as lines of JSON or of text with tabs: from the bytes of a batch to those of its lines, without objects. */
#ifndef TAGWIRE_JSON_LINES_H
#define TAGWIRE_JSON_LINES_H

#include "records/batch.h"
#include "records/output.h"

/* What all lines of a batch share: the beginning of lines of JSON, the words for the batch's attributes in text. */
typedef struct {
    const char *data;
    size_t size;
    int is_text;
} tw_line_head;

/* Lines until `most` bytes are written, the records are at their end, memory has run out, or a record is not exactly
 * right: the batch then begins with it. */
void tw_write_lines(tw_output *out, tw_batch *batch, tw_line_head head, size_t most);

#endif
