/* Move records from their batches to another batch, with deltas relative to its offset and timestamp.
 *
 * Key, value and headers are copied in one piece. `tw_facts_of` first checks that all records of a batch are valid;
 * otherwise Python moves them one by one. Only records with attributes are moved.
 */
#ifndef TAGWIRE_REBATCH_H
#define TAGWIRE_REBATCH_H

#include "records/batch.h"
#include "records/output.h"

enum tw_fact { TW_IS_LAST = 1, TW_HAS_NO_KEY = 2, TW_HAS_NO_VALUE = 4 };

/* The records of a future batch. */
typedef struct {
    tw_output out;
    int64_t base_offset, base_timestamp;
    int has_base;           /* if 0, the first record's timestamp becomes the base */
    int64_t count, last_offset, max_timestamp;
} tw_run;

/* Store facts about each record, one byte each. Return 0 if a record is invalid or unusual, or if offsets don't ascend.
 * TW_IS_LAST is set for the offsets in `lasts`, which must ascend. */
int tw_facts_of(tw_batch *batch, const int64_t *lasts, int64_t lasts_count, uint8_t *facts);

/* Totals of the records in a batch. */
typedef struct {
    int64_t bytes;          /* bytes of keys and values */
    int64_t nulls;          /* number of null values */
    int64_t with_headers;
    int64_t earliest, latest;   /* timestamps: lowest that isn't negative, highest; INT64_MAX, INT64_MIN for none */
    int64_t first, last;    /* offsets */
    int ascends;            /* whether each offset is higher than the one before */
} tw_totals;

/* Compute the totals of a batch. Return 0 if a record is invalid or unusual. */
int tw_totals_of(tw_batch *batch, tw_totals *totals);

/* Make room for a record whose key, value and headers take `body_size` bytes, if it ends within `most` bytes or is the
 * first. Return 1, with `body` set and all bytes before it written; 0 without room; -1 if it can't be written. */
int tw_begin_record(tw_run *run, uint8_t attributes, int64_t offset, int64_t timestamp, int64_t body_size, int64_t most, uint8_t **body);

/* Move records that tw_facts_of accepted, except those with a 0 in `kept`, while there is room. Set `next` to the
 * offset of the first record left. Return 0 if that record can't be expressed relative to the run's bases. */
int tw_take_records(
    tw_run *run, tw_batch *batch, const uint8_t *kept, int64_t most_bytes, int64_t most_records, int64_t *next);

#endif
