/* Read magic 2 records into columns with the fast parser in magic2_impl.h.
 *
 * Other records are read in record_walk_impl.h. */
#ifndef TAGWIRE_MAGIC2_COLUMNS_IMPL_H
#define TAGWIRE_MAGIC2_COLUMNS_IMPL_H

#include "columns/record_walk_impl.h"
#include "records/magic2_impl.h"

enum tw_magic2_item {
    TW_MAGIC2_LENGTH,
    TW_MAGIC2_ATTRIBUTES,
    TW_MAGIC2_TIMESTAMP,
    TW_MAGIC2_OFFSET,
    TW_MAGIC2_KEY,
    TW_MAGIC2_VALUE,
    TW_MAGIC2_HEADERS,
    TW_MAGIC2_ITEMS
};

static inline int tw_magic2_has_attributes(const tw_struct *s, const int64_t *known)
{
    const tw_framing *framing = s->items[TW_MAGIC2_ATTRIBUTES].framing;
    return !framing->is_guarded || tw_holds(framing, known);
}

static int tw_sink_some_headers(const tw_sink *k, tw_record_reader *w, int64_t at, tw_magic2_headers headers)
{
    tw_frame *frame = w->frame;
    int32_t level = k->column < 0 ? -1 : frame->columns[k->column].inner;
    int64_t row = level < 0 ? 0 : frame->levels[level].length;
    for (; headers.count > 0; row++) {
        tw_magic2_header header;
        if (TW_UNLIKELY(!tw_next_magic2_header(&headers, &header)))
            return TW_REJECTED;
        if (level >= 0)
            TW_TRY(tw_reserve(frame, level, row + 1));
        TW_TRY(tw_sink_bytes(k->inner, w, row, header.key, header.key_size));
        TW_TRY(tw_sink_bytes(k->inner + 1, w, row, header.value, header.value_size));
    }
    if (TW_UNLIKELY(headers.p != headers.end))
        return TW_REJECTED;
    if (level >= 0)
        tw_end_list(frame, k->column, level, at, row);
    return 0;
}

/* Store a record's headers. Most records have none. */
static inline int tw_sink_headers(const tw_sink *k, tw_record_reader *w, int64_t at, tw_magic2_headers headers)
{
    if (TW_UNLIKELY(headers.count))
        return tw_sink_some_headers(k, w, at, headers);
    if (k->column >= 0)
        tw_put_int32(w->frame->buffers + k->column, at + 1, w->frame->levels[w->frame->columns[k->column].inner].length);
    return 0;
}

static inline int tw_take_magic2(
    const tw_struct *s, const tw_sink *k, tw_record_reader *w, int64_t at, int has_attributes)
{
    const tw_field *f = s->items, *attributes = f + TW_MAGIC2_ATTRIBUTES;
    tw_magic2_record record;
    if (TW_UNLIKELY(!tw_read_magic2(w->r.p, w->r.end, has_attributes, &record)))
        return TW_REJECTED;
    TW_TRY(has_attributes ? tw_sink_checked(attributes->framing, k + TW_MAGIC2_ATTRIBUTES, w, at, (int8_t)record.attributes)
                          : tw_sink_absent(attributes, k + TW_MAGIC2_ATTRIBUTES, w, at));
    TW_TRY(tw_sink_number(f[TW_MAGIC2_TIMESTAMP].framing, k + TW_MAGIC2_TIMESTAMP, w, at, record.timestamp));
    TW_TRY(tw_sink_number(f[TW_MAGIC2_OFFSET].framing, k + TW_MAGIC2_OFFSET, w, at, record.offset));
    TW_TRY(tw_sink_bytes(k + TW_MAGIC2_KEY, w, at, record.key, record.key_size));
    TW_TRY(tw_sink_bytes(k + TW_MAGIC2_VALUE, w, at, record.value, record.value_size));
    w->r.p = record.end;
    return tw_sink_headers(k + TW_MAGIC2_HEADERS, w, at, record.headers);
}

#endif
