/* Read batch headers and records into columns, with the same plans that are used to create objects (plan.h, framing.h).
 *
 * All fields are checked, even if they are not stored. Functions return 0 or an error code. After an error, the caller
 * removes the row. */
#ifndef TAGWIRE_RECORD_WALK_IMPL_H
#define TAGWIRE_RECORD_WALK_IMPL_H

#include "columns/record_batches.h"
#include "engine/number_reading.h"
#include "engine/utf8.h"

static inline int tw_put_number(tw_frame *frame, int32_t column, int64_t at, int64_t x)
{
    uint8_t *values = frame->buffers[column].values;
    int32_t x32 = (int32_t)x;
    if (TW_LIKELY(frame->columns[column].width == 8)) {
        memcpy(values + 8 * at, &x, 8);
        return 0;
    }
    switch (frame->columns[column].width) {
    case 4:
        memcpy(values + 4 * at, &x32, 4);
        return x32 == x ? 0 : TW_REJECTED;
    default:
        values[at] = (uint8_t)x;
        return x == (int8_t)x ? 0 : TW_REJECTED;
    }
}

static inline int tw_sink_number(const tw_framing *framing, const tw_sink *k, tw_record_reader *w, int64_t at, int64_t x)
{
    int64_t base = w->r.known[framing->base], sum;
    if (k->slot < 0 && k->column < 0)
        return 0;
    x = (x & ~framing->hidden) * w->r.known[framing->scale];
    if (TW_UNLIKELY(!tw_add(base, x, &sum)))
        return TW_UNTRIED; /* the number needs more than 64 bits */
    if (k->slot >= 0)
        w->slots[k->slot] = sum;
    if (k->column < 0)
        return 0;
    if (TW_UNLIKELY(sum == -1) && k->null_number) {
        tw_put_null(w->frame, k->column, at);
        return 0;
    }
    return tw_put_number(w->frame, k->column, at, sum);
}

/* Store bytes in a sink. A negative size means null. */
static inline int tw_sink_bytes(const tw_sink *k, tw_record_reader *w, int64_t at, const uint8_t *p, int64_t size)
{
    if (k->slot >= 0) {
        w->slots[k->slot] = size;
        w->spans[k->slot] = p;
    }
    if (k->column < 0)
        return 0;
    if (TW_LIKELY(size >= 0))
        return tw_put_bytes(w->frame, k->column, at, p, size);
    tw_put_null(w->frame, k->column, at);
    return 0;
}

static inline int tw_sink_sized(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    const uint8_t *p;
    int64_t size = tw_pass_sized(f, &w->r, &p);
    if (TW_UNLIKELY(size == TW_INVALID || (size > 0 && f->kind == TW_STRING && !tw_is_utf8(p, size))))
        return TW_REJECTED;
    return tw_sink_bytes(k, w, at, p, size);
}

/* Store the value of an absent field: `framing->absent` for a number, otherwise null. */
static TW_RARE int tw_sink_absent(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    const tw_framing *framing = f->framing;
    w->r.known[framing->keep] = framing->absent;
    if (k->slot >= 0)
        w->slots[k->slot] = framing->is_number ? framing->absent : TW_NULL;
    if (k->column < 0)
        return 0;
    if (framing->is_number)
        return tw_put_number(w->frame, k->column, at, framing->absent);
    tw_put_null(w->frame, k->column, at); /* stores an empty list in a list column that isn't nullable */
    return 0;
}

static int tw_walk_record_struct(const tw_struct *s, const tw_sink *sinks, tw_record_reader *w, int64_t at);

static int tw_walk_record_elements(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at, int64_t count)
{
    tw_reader *r = &w->r;
    tw_frame *frame = w->frame;
    int32_t level = k->column < 0 ? -1 : frame->columns[k->column].inner;
    int64_t base = level < 0 ? 0 : frame->levels[level].length, index = 0;
    for (; count < 0 ? r->p < r->end : index < count; index++) {
        if (level >= 0)
            TW_TRY(tw_reserve(frame, level, base + index + 1));
        TW_TRY(tw_walk_record_struct(f->element->child, k->inner, w, base + index));
    }
    if (index == 0 && f->framing->filled)
        return TW_REJECTED;
    if (level >= 0)
        tw_end_list(frame, k->column, level, at, base + index);
    return 0;
}

/* Read an array of structs. If the array has no count, it extends to r->end. */
static int tw_walk_record_array(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    const tw_framing *framing = f->framing;
    tw_reader *r = &w->r;
    int64_t count = -1;
    if (framing->ordered)
        r->known[framing->ordered] = INT64_MIN;
    if (framing->counted_by || f->length != TW_NO_LENGTH) {
        count = framing->counted_by ? r->known[framing->counted_by] : tw_read_length(r, f->length);
        if (count < 0 || count > r->end - r->p || count * f->element->minimum > r->end - r->p)
            return TW_REJECTED;
    }
    return tw_walk_record_elements(f, k, w, at, count);
}

static inline int tw_walk_record_value(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    return f->kind == TW_ARRAY ? tw_walk_record_array(f, k, w, at) : tw_sink_sized(f, k, w, at);
}

/* Read a value whose size in bytes is stored in an earlier field. */
static int tw_walk_within(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    const uint8_t *around = w->r.end;
    int64_t size = w->r.known[f->framing->extent];
    if (size < 0 || size > around - w->r.p)
        return TW_REJECTED;
    w->r.end = w->r.p + size;
    TW_TRY(tw_walk_record_value(f, k, w, at));
    if (w->r.p != w->r.end)
        return TW_REJECTED;
    w->r.end = around;
    return 0;
}

static inline int tw_sink_checked(const tw_framing *framing, const tw_sink *k, tw_record_reader *w, int64_t at, int64_t x)
{
    w->r.known[framing->keep] = x;
    if (framing->is_checked && tw_check_number(framing, x, w->r.known) < 0)
        return TW_REJECTED;
    if (framing->flag_mask)
        w->flag = (x & framing->flag_mask) != 0;
    return tw_sink_number(framing, k, w, at, x);
}

static int tw_walk_number(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    const tw_framing *framing = f->framing;
    const uint8_t *start = w->r.p;
    int64_t x;
    TW_TRY(tw_read_number(f, &w->r, &x));
    TW_TRY(tw_sink_checked(framing, k, w, at, x));
    return framing->frame == TW_EXTENT || framing->frame == TW_EXTENT_OF ? tw_enter(framing, &w->r, x, start) : 0;
}

/* Verify the checksum of the bytes from the reader's position to r.end. Return TW_REJECTED for a wrong checksum. */
static int tw_walk_sum(const tw_framing *framing, const tw_record_reader *w)
{
    const tw_crc32c_tables *tables = framing->algorithm == TW_CRC32C ? w->crc32c : w->crc32;
    if (w->r.trusted)
        return 0;
    return (int64_t)tw_crc32c(tables, w->r.p, w->r.end - w->r.p) == w->r.known[framing->sum] ? 0 : TW_REJECTED;
}

/* Read a field. It can have a condition for its presence, a checksum, or a size stored in another field. */
static int tw_walk_item(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    const tw_framing *framing = f->framing;
    if (framing->is_guarded && !tw_holds(framing, w->r.known))
        return tw_sink_absent(f, k, w, at);
    if (framing->sum)
        TW_TRY(tw_walk_sum(framing, w));
    if (framing->is_number)
        return tw_walk_number(f, k, w, at);
    return framing->extent ? tw_walk_within(f, k, w, at) : tw_walk_record_value(f, k, w, at);
}

static int tw_walk_usual(const tw_field *f, const tw_sink *k, tw_record_reader *w, int64_t at)
{
    int64_t x;
    if (!f->framing->is_number)
        return tw_walk_record_value(f, k, w, at);
    TW_TRY(tw_read_number(f, &w->r, &x));
    w->r.known[f->framing->keep] = x;
    return tw_sink_number(f->framing, k, w, at, x);
}

static int tw_walk_record_struct(const tw_struct *s, const tw_sink *sinks, tw_record_reader *w, int64_t at)
{
    const uint8_t *around = w->r.end;
    for (Py_ssize_t index = 0; index < s->items_count; index++) {
        const tw_field *f = s->items + index;
        TW_TRY(f->framing->is_usual ? tw_walk_usual(f, sinks + index, w, at) : tw_walk_item(f, sinks + index, w, at));
    }
    if (TW_UNLIKELY(s->enclosed && w->r.p != w->r.end))
        return TW_REJECTED;
    w->r.end = around;
    return 0;
}

#endif
