/* Move records to another batch, and change their deltas to be relative to the new batch's offset and timestamp.
 *
 * Key, value and headers are copied in one piece. `tw_facts_of` first checks that all records of a batch are valid; if
 * not, Python moves them one by one. Records without an attributes byte are not moved here.
 */
#ifndef TAGWIRE_REBATCH_H
#define TAGWIRE_REBATCH_H

#include "records/batch.h"
#include "records/output.h"

enum tw_fact { TW_IS_LAST = 1, TW_HAS_NO_KEY = 2, TW_HAS_NO_VALUE = 4 };

/* The encoded records of a new batch. */
typedef struct {
    tw_output out;
    int64_t base_offset, base_timestamp;
    int has_base;           /* whether base_timestamp is set; if not, the first record will set it */
    int64_t count, last_offset, max_timestamp;
} tw_run;

/* Store one byte with tw_fact bits for each record of a batch. TW_IS_LAST means that its offset is in `lasts`, which
 * must ascend. Return 1, or 0 if offsets don't ascend or Python must read a record. */
int tw_facts_of(tw_batch *batch, const int64_t *lasts, int64_t lasts_count, uint8_t *facts);

/* Totals over the records of a batch. */
typedef struct {
    int64_t bytes;          /* total size of the keys and values, in bytes */
    int64_t nulls;          /* number of records with a null value */
    int64_t with_headers;
    /* the lowest timestamp, ignoring negative ones (INT64_MAX if there are none), and the highest (INT64_MIN if
     * none) */
    int64_t earliest, latest;
    int64_t first, last;    /* offset of the first record and of the last */
    int ascends;            /* whether every record's offset is above the previous one's */
} tw_totals;

/* Compute the totals of a batch. Return 1, or 0 if a record is invalid or Python must read it. */
int tw_totals_of(tw_batch *batch, tw_totals *totals);

/* Begin a record whose key, value and headers take `body_size` bytes, if it fits in `most` bytes or is the first.
 * Return 1, with `*body` pointing to where they belong; 0 if there is no room; or -1 if the record can't be encoded. */
int tw_begin_record(tw_run *run, uint8_t attributes, int64_t offset, int64_t timestamp, int64_t body_size, int64_t most, uint8_t **body);

/* Move records that tw_facts_of has accepted while there is room, except those with a 0 in `kept`. Set `next` to the
 * offset of the first record left. Return 1, or 0 if that record's deltas from the run's bases would be out of
 * range. */
int tw_take_records(
    tw_run *run, tw_batch *batch, const uint8_t *kept, int64_t most_bytes, int64_t most_records, int64_t *next);

#endif
