/* The decompressed records of a batch, as input for the loops of this module. */
#ifndef TAGWIRE_BATCH_H
#define TAGWIRE_BATCH_H

#include <stdint.h>

typedef struct {
    const uint8_t *p, *end; /* the records that have not been read yet, as bytes */
    int64_t left;
    int64_t base_offset, base_timestamp;
    int is_appended;    /* whether all records have the timestamp base_timestamp, and deltas are ignored */
    int has_attributes; /* whether each record has an attributes byte */
} tw_batch;

#endif
