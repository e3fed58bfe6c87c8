/* Records moved from the batches that they are in to another: from bytes to bytes, counted from its own offset and time.
 *
 * Key, value and headers are copied in one piece. `tw_rebatch_look` says first whether all records of a batch are
 * exactly right; what it refuses is moved by Python, record by record.
 */
#ifndef TAGWIRE_REBATCH_H
#define TAGWIRE_REBATCH_H

#include "records/growing.h"
#include "records/magic2.h"

enum tw_fact { TW_IS_LAST = 1, TW_HAS_NO_KEY = 2, TW_HAS_NO_VALUE = 4 };

/* The records of a batch, unpacked. */
typedef struct {
    const uint8_t *data;
    int64_t pos, end, left;
    int64_t base_offset, base_timestamp;
    int appended; /* the timestamps are base_timestamp, whatever the deltas say */
    int64_t next; /* the offset of the record that found no room */
} tw_source;

/* The records of a batch to be. */
typedef struct {
    tw_text out;
    int64_t base_offset, base_timestamp;
    int has_base;           /* else the first record's timestamp is the base */
    int64_t count, last_offset, max_timestamp;
} tw_run;

/* Where the first of `count` ascending numbers stands that is not below `least`. */
static int64_t tw_rebatch_search(const int64_t *numbers, int64_t count, int64_t least)
{
    int64_t low = 0;
    while (low < count) {
        int64_t middle = low + (count - low) / 2;
        if (numbers[middle] < least)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Facts of each record, a byte for each; 0 for a batch that is not exactly right, or whose offsets do not ascend. */
static int tw_rebatch_look(tw_source source, const int64_t *lasts, int64_t lasts_count, uint8_t *facts)
{
    tw_magic2_record record;
    int64_t offset, time, before = INT64_MIN;
    int64_t at = source.left > 0 ? tw_rebatch_search(lasts, lasts_count, source.base_offset) : 0;
    for (; source.left > 0; source.left--) {
        if (!tw_magic2_read(source.data, source.pos, source.end, &record))
            return 0;
        if (record.offset < 0 || !tw_magic2_sum(source.base_offset, record.offset, &offset) || offset <= before)
            return 0;
        if (!source.appended && !tw_magic2_sum(source.base_timestamp, record.time, &time))
            return 0;
        while (at < lasts_count && lasts[at] < offset)
            at++;
        *facts++ = (uint8_t)((at < lasts_count && lasts[at] == offset ? TW_IS_LAST : 0) |
                             (record.key_is_null ? TW_HAS_NO_KEY : 0) | (record.value_is_null ? TW_HAS_NO_VALUE : 0));
        before = offset;
        source.pos = record.end;
    }
    return source.pos == source.end;
}

static inline uint64_t tw_rebatch_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int tw_rebatch_width(int64_t value)
{
    uint64_t number = tw_rebatch_zigzag(value);
    int width = 1;
    for (; number >= 0x80; number >>= 7)
        width++;
    return width;
}

static inline uint8_t *tw_rebatch_put(uint8_t *p, int64_t value)
{
    uint64_t number = tw_rebatch_zigzag(value);
    for (; number >= 0x80; number >>= 7)
        *p++ = (uint8_t)(number | 0x80);
    *p++ = (uint8_t)number;
    return p;
}

/* Appends a record if it ends within `most` bytes, or is the first: 1; 0 if not, -1 where it can't be written. */
static int tw_run_append(tw_run *run, const tw_source *source, const tw_magic2_record *record, int64_t most)
{
    int64_t time = source->base_timestamp + (source->appended ? 0 : record->time);
    int64_t offset = source->base_offset + record->offset, offset_delta = offset - run->base_offset, delta, size;
    uint8_t *p;
    if (!run->has_base) {
        run->base_timestamp = time;
        run->has_base = 1;
    }
    if (offset_delta < 0 || offset_delta > INT32_MAX || run->base_timestamp == INT64_MIN ||
        !tw_magic2_sum(time, -run->base_timestamp, &delta))
        return -1;
    size = 1 + tw_rebatch_width(delta) + tw_rebatch_width(offset_delta) + (record->end - record->rest);
    if (size > INT32_MAX)
        return -1;
    if (run->count && (int64_t)run->out.size + tw_rebatch_width(size) + size > most)
        return 0;
    if (!tw_text_reserve(&run->out, (size_t)size + 5))
        return -1;
    p = tw_rebatch_put(run->out.data + run->out.size, size);
    *p++ = record->attributes;
    p = tw_rebatch_put(tw_rebatch_put(p, delta), offset_delta);
    memcpy(p, source->data + record->rest, (size_t)(record->end - record->rest));
    run->out.size = (size_t)(p - run->out.data) + (size_t)(record->end - record->rest);
    run->max_timestamp = run->count && run->max_timestamp > time ? run->max_timestamp : time;
    run->last_offset = offset;
    run->count++;
    return 1;
}

/* Moves records, which were looked at, while there is room for them; of those with a 0 in `kept` none. 0 if it stopped
 * before one that can't be counted from the run's bases. */
static int tw_run_take(tw_run *run, tw_source *source, const uint8_t *kept, int64_t most_bytes, int64_t most_records)
{
    tw_magic2_record record;
    for (; source->left > 0; source->left--) {
        int taken = 1;
        if (!tw_magic2_read(source->data, source->pos, source->end, &record))
            return 0;
        if (kept == NULL || *kept++)
            taken = run->count && run->count >= most_records ? 0 : tw_run_append(run, source, &record, most_bytes);
        if (taken < 0)
            return 0;
        if (taken == 0) {
            source->next = source->base_offset + record.offset;
            break;
        }
        source->pos = record.end;
    }
    return 1;
}

#endif
