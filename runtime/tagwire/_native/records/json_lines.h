/* Records as lines of JSON: from the bytes of a batch to the bytes of its lines, with no object in between. */
#ifndef TAGWIRE_JSON_LINES_H
#define TAGWIRE_JSON_LINES_H

#include "records/batch.h"
#include "records/output.h"

/* What each line begins with. */
typedef struct {
    const char *data;
    size_t size;
} tw_line_head;

/* Lines until `most` bytes are written, the records are at their end, memory has run out, or a record is not exactly
 * right: the batch then begins with it. */
void tw_write_lines(tw_output *out, tw_batch *batch, tw_line_head head, size_t most);

#endif
