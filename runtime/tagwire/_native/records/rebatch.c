#include "records/rebatch.h"

#include "records/magic2_impl.h"

/* Find the first number in a sorted array that is at least `least`. Return its index, or `count` if there is none. */
static int64_t tw_first_from(const int64_t *numbers, int64_t count, int64_t least)
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

static int tw_are_right(tw_magic2_headers headers)
{
    tw_magic2_header header;
    while (headers.count > 0)
        if (!tw_next_magic2_header(&headers, &header))
            return 0;
    return headers.p == headers.end;
}

int tw_facts_of(tw_batch *batch, const int64_t *lasts, int64_t lasts_count, uint8_t *facts)
{
    tw_magic2_record record;
    int64_t offset, timestamp, before = INT64_MIN;
    int64_t at = batch->left > 0 ? tw_first_from(lasts, lasts_count, batch->base_offset) : 0;
    for (; batch->left > 0; batch->left--) {
        if (!tw_next_record(batch, &record, &offset, &timestamp) || !tw_are_right(record.headers) || record.offset < 0 ||
            offset <= before)
            return 0;
        while (at < lasts_count && lasts[at] < offset)
            at++;
        *facts++ = (uint8_t)((at < lasts_count && lasts[at] == offset ? TW_IS_LAST : 0) |
                             (record.key_size < 0 ? TW_HAS_NO_KEY : 0) | (record.value_size < 0 ? TW_HAS_NO_VALUE : 0));
        before = offset;
        batch->p = record.end;
    }
    return batch->p == batch->end;
}

int tw_totals_of(tw_batch *batch, tw_totals *t)
{
    tw_magic2_record record;
    memset(t, 0, sizeof *t);
    t->earliest = INT64_MAX;
    t->latest = INT64_MIN;
    t->ascends = 1;
    for (int64_t count = batch->left; batch->left > 0; batch->left--) {
        int64_t offset, timestamp;
        if (!tw_next_record(batch, &record, &offset, &timestamp) || !tw_are_right(record.headers))
            return 0;
        if (batch->left == count)
            t->first = offset;
        else if (offset <= t->last)
            t->ascends = 0;
        t->last = offset;
        t->bytes += (record.key_size > 0 ? record.key_size : 0) + (record.value_size > 0 ? record.value_size : 0);
        t->nulls += record.value_size < 0;
        t->with_headers += record.headers.count > 0;
        if (timestamp >= 0 && timestamp < t->earliest)
            t->earliest = timestamp;
        if (timestamp > t->latest)
            t->latest = timestamp;
        batch->p = record.end;
    }
    return batch->p == batch->end;
}

/* Store a - b in `difference`. Return 1, or 0 if the difference needs more than 64 bits. */
static int tw_difference(int64_t a, int64_t b, int64_t *difference)
{
    return b != INT64_MIN && tw_add(a, -b, difference);
}

int tw_begin_record(
    tw_run *run, uint8_t attributes, int64_t offset, int64_t timestamp, int64_t body_size, int64_t most, uint8_t **body)
{
    int64_t base_timestamp = run->has_base ? run->base_timestamp : timestamp;
    int64_t offset_delta, timestamp_delta, size;
    uint8_t *p;
    if (!tw_difference(offset, run->base_offset, &offset_delta) || offset_delta < 0 || offset_delta > INT32_MAX ||
        !tw_difference(timestamp, base_timestamp, &timestamp_delta))
        return -1;
    run->base_timestamp = base_timestamp;
    run->has_base = 1;
    size = 1 + tw_varint_width(tw_to_zigzag(timestamp_delta)) + tw_varint_width(tw_to_zigzag(offset_delta)) + body_size;
    if (size > INT32_MAX)
        return -1;
    if (run->count && (int64_t)run->out.size + tw_varint_width(tw_to_zigzag(size)) + size > most)
        return 0;
    if (!tw_reserve_output(&run->out, (size_t)size + TW_LENGTH_WIDTH))
        return -1;
    p = tw_put_varint(run->out.data + run->out.size, tw_to_zigzag(size));
    *p++ = attributes;
    p = tw_put_varint(p, tw_to_zigzag(timestamp_delta));
    *body = p = tw_put_varint(p, tw_to_zigzag(offset_delta));
    run->out.size = (size_t)(p - run->out.data) + (size_t)body_size;
    run->max_timestamp = run->count && run->max_timestamp > timestamp ? run->max_timestamp : timestamp;
    run->last_offset = offset;
    run->count++;
    return 1;
}

/* Append a copy of a record with this offset and timestamp. Return 1, 0 if a nonempty batch would exceed `most` bytes,
 * or -1 if the record can't be encoded. */
static int tw_append_record(tw_run *run, const tw_magic2_record *record, int64_t offset, int64_t timestamp, int64_t most)
{
    int64_t size = record->end - record->body;
    uint8_t *body;
    int taken = tw_begin_record(run, record->attributes, offset, timestamp, size, most, &body);
    if (taken > 0)
        memcpy(body, record->body, (size_t)size);
    return taken;
}

int tw_take_records(
    tw_run *run, tw_batch *batch, const uint8_t *kept, int64_t most_bytes, int64_t most_records, int64_t *next)
{
    tw_magic2_record record;
    for (; batch->left > 0; batch->left--) {
        int64_t offset, timestamp;
        int taken = 1;
        if (!tw_next_record(batch, &record, &offset, &timestamp))
            return 0;
        if (kept == NULL || *kept++)
            taken = run->count && run->count >= most_records
                        ? 0
                        : tw_append_record(run, &record, offset, timestamp, most_bytes);
        if (taken < 0)
            return 0;
        if (taken == 0) {
            *next = offset;
            break;
        }
        batch->p = record.end;
    }
    return 1;
}
