/* Write records as JSON lines or as lines of tab-separated text, directly from the bytes of a batch. */
#ifndef TAGWIRE_JSON_LINES_H
#define TAGWIRE_JSON_LINES_H

#include "records/batch.h"
#include "records/output.h"

/* Text that all lines of a batch share. JSON lines begin with this text; lines of tab-separated text (`is_text`) end
 * with it. */
typedef struct {
    const char *data;
    size_t size;
    int is_text;
} tw_common_text;

/* Write lines until `most` bytes have been written, no records are left, memory has run out, or Python must write the
 * next record. On return, `batch` starts with the next record. */
void tw_write_lines(tw_output *out, tw_batch *batch, tw_common_text common, size_t most);

#endif
