/* Move records from their batches to another batch, and change their deltas to be relative to its offset and timestamp.
 *
 * Key, value and headers are copied in one piece. `tw_facts_of` first checks that all records of a batch are valid; if
 * not, Python moves them one by one. Only records with an attributes byte are moved.
 */
#ifndef TAGWIRE_REBATCH_H
#define TAGWIRE_REBATCH_H

#include "records/batch.h"
#include "records/output.h"

enum tw_fact { TW_IS_LAST = 1, TW_HAS_NO_KEY = 2, TW_HAS_NO_VALUE = 4 };

/* The encoded records for a new batch. */
typedef struct {
    tw_output out;
    int64_t base_offset, base_timestamp;
    int has_base;           /* whether base_timestamp is set; if not, the first record's timestamp becomes the base */
    int64_t count, last_offset, max_timestamp;
} tw_run;

/* Store one byte with tw_fact bits for each record of a batch. TW_IS_LAST is set if the offset is in `lasts`, which
 * must ascend. Return 1, or 0 if a record is invalid or unusual, or if offsets don't ascend. */
int tw_facts_of(tw_batch *batch, const int64_t *lasts, int64_t lasts_count, uint8_t *facts);

/* The totals of the records in a batch. */
typedef struct {
    int64_t bytes;          /* total size of all keys and values */
    int64_t nulls;          /* number of records whose value is null */
    int64_t with_headers;
    /* lowest timestamp that isn't negative (INT64_MAX if none), and highest timestamp (INT64_MIN if none) */
    int64_t earliest, latest;
    int64_t first, last;    /* offsets of the first and the last record */
    int ascends;            /* whether each offset is higher than the offset before it */
} tw_totals;

/* Compute the totals of a batch. Return 1, or 0 if a record is invalid or unusual. */
int tw_totals_of(tw_batch *batch, tw_totals *totals);

/* Make room for a record whose key, value and headers take `body_size` bytes, if it ends within `most` bytes or is the
 * first. Return 1, after writing all bytes up to `*body`; 0 if there is no room; -1 if the record can't be written. */
int tw_begin_record(tw_run *run, uint8_t attributes, int64_t offset, int64_t timestamp, int64_t body_size, int64_t most, uint8_t **body);

/* Move records that tw_facts_of accepted, except those with a 0 in `kept`, while there is room. Set `next` to the
 * offset of the first record left. Return 1, or 0 if that record can't be expressed relative to the run's bases. */
int tw_take_records(
    tw_run *run, tw_batch *batch, const uint8_t *kept, int64_t most_bytes, int64_t most_records, int64_t *next);

#endif
