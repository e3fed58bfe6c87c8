/* The unread records of a batch, decompressed. */
#ifndef TAGWIRE_BATCH_H
#define TAGWIRE_BATCH_H

#include <stdint.h>

typedef struct {
    const uint8_t *p, *end; /* the bytes of the unread records */
    int64_t left;           /* the number of unread records */
    int64_t base_offset, base_timestamp;
    int is_appended;    /* whether every record has the timestamp base_timestamp */
    int has_attributes; /* whether each record has an attributes byte */
} tw_batch;

#endif
