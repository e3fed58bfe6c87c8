/* The records of a batch, unpacked, as the loops of this module take them. */
#ifndef TAGWIRE_BATCH_H
#define TAGWIRE_BATCH_H

#include <stdint.h>

typedef struct {
    const uint8_t *p, *end; /* of the records that are left */
    int64_t left;
    int64_t base_offset, base_timestamp;
    int is_appended;    /* all timestamps are base_timestamp, whatever the deltas say */
    int has_attributes; /* each record has a byte of them */
} tw_batch;

#endif
