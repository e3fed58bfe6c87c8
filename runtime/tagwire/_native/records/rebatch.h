/* Move records to another batch, and recompute their offset and timestamp deltas.
 *
 * The encoded key, value and headers are copied unchanged. If a record is invalid or has no attributes byte, Python
 * moves the records one by one. */
#ifndef TAGWIRE_REBATCH_H
#define TAGWIRE_REBATCH_H

#include "records/batch.h"
#include "records/output.h"

enum tw_fact { TW_IS_LAST = 1, TW_HAS_NO_KEY = 2, TW_HAS_NO_VALUE = 4 };

/* The encoded records of a new batch. */
typedef struct {
    tw_output out;
    int64_t base_offset, base_timestamp;
    int has_base;           /* whether base_timestamp is set; if not, it becomes the timestamp of the first record */
    int64_t count, last_offset, max_timestamp;
} tw_run;

/* Validate all records of a batch, and store one byte of tw_fact bits for each record in `facts`. TW_IS_LAST means that
 * the record's offset is in `lasts`, which must be sorted. Return 0 if the offsets don't ascend or C can't read a
 * record; otherwise 1. */
int tw_facts_of(tw_batch *batch, const int64_t *lasts, int64_t lasts_count, uint8_t *facts);

/* Totals over the records of a batch. */
typedef struct {
    int64_t bytes;          /* total size of the keys and values, in bytes */
    int64_t nulls;          /* number of records with a null value */
    int64_t with_headers;
    /* `earliest`: the lowest timestamp that isn't negative, or INT64_MAX if there is none. `latest`: the highest
     * timestamp, or INT64_MIN for an empty batch. */
    int64_t earliest, latest;
    int64_t first, last;    /* offsets of the first and the last record */
    int ascends;            /* whether each record has a higher offset than the previous record */
} tw_totals;

/* Compute the totals of a batch. Return 0 if C can't read a record; otherwise 1. */
int tw_totals_of(tw_batch *batch, tw_totals *totals);

/* Append a record except its body of `body_size` bytes (key, value and headers), which the caller writes at `*body`.
 * Return 1, 0 if a nonempty batch would exceed `most` bytes, or -1 if the record can't be encoded. */
int tw_begin_record(tw_run *run, uint8_t attributes, int64_t offset, int64_t timestamp, int64_t body_size, int64_t most, uint8_t **body);

/* Move records to a new batch, until it reaches `most_bytes` or `most_records`. Its first record may exceed these
 * limits. tw_facts_of must have accepted the old batch. Skip the records with a 0 in `kept` (NULL keeps all). If
 * records are left, set `next` to the offset of the first. Return 0 if a delta would be out of range; otherwise 1. */
int tw_take_records(
    tw_run *run, tw_batch *batch, const uint8_t *kept, int64_t most_bytes, int64_t most_records, int64_t *next);

#endif
