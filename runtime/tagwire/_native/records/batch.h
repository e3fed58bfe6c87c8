/* The decompressed records of a batch, as input for this module's loops. */
#ifndef TAGWIRE_BATCH_H
#define TAGWIRE_BATCH_H

#include <stdint.h>

typedef struct {
    const uint8_t *p, *end; /* bytes of the records that have not been read yet */
    int64_t left;
    int64_t base_offset, base_timestamp;
    int is_appended;    /* whether all records have base_timestamp as their timestamp, whatever their deltas */
    int has_attributes; /* whether each record contains an attributes byte */
} tw_batch;

#endif
