/* Decode a message into one row of Arrow columns, without the GIL.
 *
 * The checks and their order are the same as in decode.h, which creates objects. Functions return 0 or an error code.
 * After an error, the caller removes the whole row with tw_truncate. */
#ifndef TAGWIRE_COLUMN_DECODE_IMPL_H
#define TAGWIRE_COLUMN_DECODE_IMPL_H

#include "columns/column_take_impl.h"

static int tw_take_value(const tw_field *s, tw_row_reader *w, int64_t at);
static int tw_take_struct(const tw_struct *s, tw_row_reader *w, int64_t at);

static int tw_take_unknown(const tw_struct *s, tw_row_reader *w, int64_t tag, int64_t size)
{
    tw_reader *r = &w->r;
    int error = 0;
    if (--r->unknown_tags < 0 || (r->unknown_tag_bytes -= size) < 0)
        return TW_REJECTED;
    if (s->unknown_slot >= 0) { /* unknown tags go to a map column, which is followed by its entries, keys and values */
        tw_frame *frame = w->frame;
        int32_t level = frame->columns[s->unknown_slot].inner;
        int64_t at = frame->levels[level].length;
        int32_t key = (int32_t)tag;
        error = tw_reserve(frame, level, at + 1);
        if (error == 0) {
            memcpy(frame->buffers[s->unknown_slot + 2].values + 4 * at, &key, 4);
            error = tw_put_bytes(frame, s->unknown_slot + 3, at, r->p, size);
            frame->levels[level].length = at + 1;
        }
    }
    r->p += size;
    return error;
}

/* Read a tag section that isn't empty, or an optional buffer (KIP-482 draft). Store the defaults of absent fields. */
static int tw_take_section(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    uint64_t seen = 0; /* one bit per known tag that has been read */
    int64_t left = tw_read_entries(s, r), tag = -1, size;
    int more = left < 0 ? -1 : 1, error = 0;
    while (more > 0 && (more = tw_next_entry(s, r, &left, &tag, &size)) > 0) {
        const tw_field *f = tw_find_tag(s, tag);
        const uint8_t *around = r->end;
        if (f == NULL)
            error = tw_take_unknown(s, w, tag, size);
        else {
            seen |= (uint64_t)1 << (f - s->tagged);
            r->end = r->p + size;
            error = tw_take_value(f, w, at);
            if (error == 0 && r->p != r->end)
                error = TW_REJECTED;
            r->end = around;
        }
        if (error < 0)
            return error;
    }
    if (more < 0)
        return TW_REJECTED;
    for (int32_t index = 0; index < s->tagged_count && error == 0; index++)
        if (s->tagged[index].slot >= 0 && !(seen >> index & 1))
            error = tw_put_default(w->frame, s->tagged[index].slot, at);
    if (s->unknown_slot >= 0 && error == 0) {
        tw_frame *frame = w->frame;
        tw_put_offset(frame->buffers + s->unknown_slot, at + 1, frame->levels[frame->columns[s->unknown_slot].inner].length);
    }
    return error;
}

static inline int tw_take_items(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_buffers *const buffers = w->frame->buffers;
    const uint8_t *p = w->r.p, *const end = w->r.end;
    for (const tw_field *step = s->items, *last = step + s->items_count; step < last; step++) {
        int error, width = tw_width[step->kind];
        if (width) {
            if (TW_UNLIKELY(end - p < step->run))
                return TW_REJECTED;
            error = tw_take_fixed(step, p, step->slot < 0 ? NULL : buffers[step->slot].values, at);
            p += width;
        } else if (step->kind == TW_STRING)
            error = tw_take_sized_at(step, w, &p, at);
        else {
            w->r.p = p;
            error = tw_take_value(step, w, at);
            p = w->r.p;
        }
        if (TW_UNLIKELY(error < 0))
            return error;
    }
    w->r.p = p;
    return 0;
}

static int tw_take_fields(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    int error = s->section == TW_OPTIONAL_BUFFER ? tw_take_section(s, w, at) : 0;
    if (error == 0)
        error = tw_take_items(s, w, at);
    if (error == 0 && s->section == TW_TAGGED_SECTION) {
        if (TW_LIKELY(r->p < r->end && *r->p == 0)) {
            r->p++;
            for (int32_t index = 0; index < s->filled_count && error == 0; index++)
                error = tw_put_default(w->frame, s->filled[index].slot, at);
        } else
            error = tw_take_section(s, w, at);
    }
    for (int32_t index = 0; index < s->missing_count && error == 0; index++)
        error = tw_put_default(w->frame, s->missing[index].slot, at);
    return error;
}

static int tw_take_struct(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    const uint8_t *around = r->end;
    int error;
    if (TW_UNLIKELY(s->length != TW_NO_LENGTH)) {
        int64_t size = tw_read_length(r, s->length);
        if (size < 0 || size > r->end - r->p)
            return TW_REJECTED;
        r->end = r->p + size;
    }
    error = tw_take_fields(s, w, at);
    if (error < 0)
        return error;
    if (s->length != TW_NO_LENGTH) {
        if (r->p != r->end)
            return TW_REJECTED;
        r->end = around;
    }
    return 0;
}

static int tw_take_nested(const tw_field *s, tw_row_reader *w, int64_t at)
{
    int present = tw_is_present(s, &w->r);
    if (present > 0)
        return s->kind == TW_STRUCT ? tw_take_struct(s->child, w, at) : tw_take_value(s->element, w, at);
    if (present == 0 && s->slot >= 0)
        tw_put_null(w->frame, s->slot, at);
    return present;
}

static int tw_take_elements(const tw_field *e, tw_row_reader *w, int64_t base, int64_t count)
{
    int64_t width = tw_width[e->kind];
    int error = 0;
    if (width) {
        uint8_t *values = e->slot < 0 ? NULL : w->frame->buffers[e->slot].values;
        if (values == NULL && e->kind != TW_BOOL) { /* skip values that aren't needed; only bools can be invalid */
            w->r.p += width * count;
            return 0;
        }
        for (int64_t index = 0; index < count && error == 0; index++)
            error = tw_take_fixed(e, w->r.p + width * index, values, base + index);
        w->r.p += width * count;
        return error;
    }
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER) {
        for (int64_t index = 0; index < count && error == 0; index++)
            error = tw_take_struct(e->child, w, base + index);
        return error;
    }
    for (int64_t index = 0; index < count && error == 0; index++)
        error = tw_take_value(e, w, base + index);
    return error;
}

/* Read an array that has no count. Its elements extend to r->end. */
static int tw_take_to_end(const tw_field *s, tw_row_reader *w, int64_t at)
{
    tw_frame *frame = w->frame;
    int32_t level = s->slot < 0 ? -1 : frame->columns[s->slot].inner;
    int64_t base = level < 0 ? 0 : frame->levels[level].length, count = 0;
    int error = 0;
    while (w->r.p < w->r.end && error == 0) {
        if (--w->r.elements < 0)
            return TW_REJECTED;
        if (level >= 0)
            error = tw_reserve(frame, level, base + count + 1);
        if (error == 0)
            error = tw_take_value(s->element, w, base + count);
        count++;
    }
    if (level >= 0 && error == 0) {
        frame->levels[level].length = base + count;
        tw_put_offset(frame->buffers + s->slot, at + 1, base + count);
    }
    return error;
}

static int tw_take_array(const tw_field *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    tw_frame *frame = w->frame;
    int64_t count, base = 0;
    int error;
    if (s->length == TW_NO_LENGTH)
        return tw_take_to_end(s, w, at);
    count = tw_read_length(r, s->length);
    if (count < 0)
        return count == TW_NULL ? tw_take_null(s, w, at) : TW_REJECTED;
    /* Check the count before allocating memory: each element needs at least `minimum` bytes. */
    if (TW_UNLIKELY(count * s->element->minimum > r->end - r->p || (r->elements -= count) < 0))
        return TW_REJECTED;
    if (s->slot < 0)
        return tw_take_elements(s->element, w, 0, count);
    base = frame->levels[frame->columns[s->slot].inner].length;
    error = tw_reserve(frame, frame->columns[s->slot].inner, base + count);
    if (error == 0)
        error = tw_take_elements(s->element, w, base, count);
    if (error < 0)
        return error;
    frame->levels[frame->columns[s->slot].inner].length = base + count;
    tw_put_offset(frame->buffers + s->slot, at + 1, base + count);
    return 0;
}

static int tw_take_block(const tw_field *s, tw_reader *r, uint8_t *values, int64_t at)
{
    if (s->longest > r->end - r->p)
        return TW_REJECTED;
    if (values != NULL)
        memcpy(values + s->longest * at, r->p, (size_t)s->longest);
    r->p += s->longest;
    return 0;
}

static int tw_take_value(const tw_field *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    uint8_t *values = s->slot < 0 ? NULL : w->frame->buffers[s->slot].values;
    int width = tw_width[s->kind], error;
    if (width) {
        if (r->end - r->p < width)
            return TW_REJECTED;
        error = tw_take_fixed(s, r->p, values, at);
        r->p += width;
        return error;
    }
    switch (s->kind) {
    case TW_ARRAY:
        return tw_take_array(s, w, at);
    case TW_STRUCT:
    case TW_OPTIONAL:
        return tw_take_nested(s, w, at);
    case TW_VARINT:
        return tw_take_varint(s, w, values, at);
    case TW_BLOCK:
        return tw_take_block(s, r, values, at);
    default:
        return tw_take_sized(s, w, at);
    }
}

#endif
