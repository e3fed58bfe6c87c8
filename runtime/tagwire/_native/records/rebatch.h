/* Records moved from the batches that they are in to another: from bytes to bytes, counted from its own offset and time.
 *
 * Key, value and headers are copied in one piece. `tw_facts_of` says first whether all records of a batch are exactly
 * right; what it refuses is moved by Python, record by record. Only records with attributes are moved.
 */
#ifndef TAGWIRE_REBATCH_H
#define TAGWIRE_REBATCH_H

#include "records/batch.h"
#include "records/output.h"

enum tw_fact { TW_IS_LAST = 1, TW_HAS_NO_KEY = 2, TW_HAS_NO_VALUE = 4 };

/* The records of a batch to be. */
typedef struct {
    tw_output out;
    int64_t base_offset, base_timestamp;
    int has_base;           /* else the first record's timestamp is the base */
    int64_t count, last_offset, max_timestamp;
} tw_run;

/* Facts of each record, a byte for each; 0 for a batch that is not exactly right, or whose offsets do not ascend. `lasts`
 * are ascending offsets, those that TW_IS_LAST is about. */
int tw_facts_of(const tw_batch *batch, const int64_t *lasts, int64_t lasts_count, uint8_t *facts);

/* What the records of a batch have together. */
typedef struct {
    int64_t bytes;          /* of keys and values */
    int64_t nulls;          /* null values */
    int64_t with_headers;
    int64_t earliest, latest;   /* timestamps: the lowest from 0 on, and the highest of all; INT64_MAX, INT64_MIN for none */
    int64_t first, last;    /* offsets */
    int ascends;            /* whether each offset is above the one before */
} tw_totals;

/* The totals of a batch; 0 for one that is not exactly right. */
int tw_totals_of(const tw_batch *batch, tw_totals *totals);

/* Moves records, which tw_facts_of took, while there is room for them; of those with a 0 in `kept` none. `next` becomes
 * the offset of the record that found no room. 0 if it stopped before one that can't be counted from the run's bases. */
/* Room for a record whose key, value and headers take `size` bytes, if it ends within `most` bytes, or is the first: 1, with
 * what stands before them written, and `body` where they go. 0 if not, -1 where it can't be written. */
int tw_begin_record(tw_run *run, uint8_t attributes, int64_t offset, int64_t timestamp, int64_t body_size, int64_t most, uint8_t **body);

int tw_take_records(
    tw_run *run, tw_batch *batch, const uint8_t *kept, int64_t most_bytes, int64_t most_records, int64_t *next);

#endif
