/* Decode a message into one row of Arrow columns, without the GIL.
 *
 * The checks and their order are the same as in decode.h, which creates objects. Functions return 0 or an error code.
 * After an error, the caller removes the whole row with tw_truncate. */
#ifndef TAGWIRE_COLUMN_DECODE_IMPL_H
#define TAGWIRE_COLUMN_DECODE_IMPL_H

#include "columns/column_source.h"
#include "engine/utf8.h"

typedef struct {
    tw_reader r;
    tw_frame *frame;
} tw_row_reader;

static int tw_take_value(const tw_field *s, tw_row_reader *w, int64_t at);
static int tw_take_struct(const tw_struct *s, tw_row_reader *w, int64_t at);

/* Masks for the ASCII test in tw_put_short. The 16-byte mask at index 16 - n selects the high bit of each of the
 * first n bytes. */
static const uint8_t tw_high_bits[32] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

#define TW_STORE(type, number)                              \
    do {                                                    \
        type stored = (type)(number);                       \
        memcpy(values + at * (int64_t)sizeof stored, &stored, sizeof stored); \
    } while (0)

/* Decode the fixed-width value at `p` into `values`, or only validate it if `values` is NULL. The caller has checked
 * that enough bytes are left. */
static inline int tw_take_fixed(const tw_field *s, const uint8_t *p, uint8_t *values, int64_t at)
{
    if (values == NULL)
        return s->kind == TW_BOOL && *p > 1 ? TW_REJECTED : 0;
    switch (s->kind) {
    case TW_INT32:
    case TW_FLOAT32:
        TW_STORE(uint32_t, tw_get32(p));
        break;
    case TW_INT16:
        TW_STORE(uint16_t, tw_get16(p));
        break;
    case TW_INT64:
    case TW_UINT64:
    case TW_FLOAT64:
        TW_STORE(uint64_t, tw_get64(p));
        break;
    case TW_BOOL:
        if (*p > 1)
            return TW_REJECTED;
        tw_put_bit(values, at, *p);
        break;
    case TW_INT8:
        values[at] = *p;
        break;
    case TW_UINT8:
        if (s->wide)
            TW_STORE(uint16_t, *p);
        else
            values[at] = *p;
        break;
    case TW_UINT16:
        if (s->wide)
            TW_STORE(uint32_t, tw_get16(p));
        else
            TW_STORE(uint16_t, tw_get16(p));
        break;
    case TW_UINT32:
        if (s->wide)
            TW_STORE(uint64_t, tw_get32(p));
        else
            TW_STORE(uint32_t, tw_get32(p));
        break;
    default:
        memcpy(values + 16 * at, p, 16);
    }
    return 0;
}

static TW_MAYBE_UNUSED int tw_take_varint(const tw_field *s, tw_row_reader *w, uint8_t *values, int64_t at)
{
    uint64_t x;
    if (tw_read_bits(s, &w->r, &x) < 0)
        return TW_REJECTED;
    if (values == NULL)
        return 0;
    if (s->zigzag)
        x = (uint64_t)tw_from_zigzag(x);
    if (s->bits == 64 || s->wide)
        TW_STORE(uint64_t, x);
    else
        TW_STORE(uint32_t, x);
    return 0;
}

static int tw_take_null(const tw_field *s, tw_row_reader *w, int64_t at)
{
    if (!s->nullable)
        return TW_REJECTED;
    if (s->slot >= 0)
        tw_put_null(w->frame, s->slot, at);
    return 0;
}

/* Store a string of up to 16 bytes. The caller has checked that 16 bytes can be read and written. Always copies 16
 * bytes, because a branch on the size would often be mispredicted; the next string overwrites the excess. Return 1. If
 * the string isn't ASCII, store nothing and return 0. */
static inline int tw_put_short(tw_buffers *b, int64_t at, const uint8_t *p, int64_t size)
{
    int64_t begin = b->size;
    uint64_t words[2], bits[2];
    memcpy(words, p, 16);
    memcpy(bits, tw_high_bits + 16 - size, 16);
    if (TW_UNLIKELY((words[0] & bits[0]) | (words[1] & bits[1])))
        return 0;
    memcpy(b->data + begin, words, 16);
    b->size = begin + size;
    tw_put_int32(b, at + 1, begin + size);
    return 1;
}

/* Read a length and then a string or bytes value, or null.
 *
 * `cursor` points to a copy of w->r.p in a local variable. The compiler would load w->r.p itself again after each store
 * into a column. */
static inline int tw_take_sized_at(const tw_field *s, tw_row_reader *w, const uint8_t **cursor, int64_t at)
{
    const uint8_t *p = *cursor, *end = w->r.end;
    int64_t size;
    if (TW_LIKELY(s->length == TW_COMPACT && p < end && *p < 0x80))
        size = (int64_t)*p++ - 1;
    else {
        w->r.p = p;
        size = tw_read_length(&w->r, s->length);
        p = w->r.p;
    }
    *cursor = p;
    if (size < 0)
        return size == TW_NULL ? tw_take_null(s, w, at) : TW_REJECTED;
    if (TW_UNLIKELY(size > s->longest || size > end - p))
        return TW_REJECTED;
    *cursor = p + size;
    if (size <= 16 && end - p >= 16 && s->slot >= 0) {
        tw_buffers *b = w->frame->buffers + s->slot;
        if (b->room - b->size >= 16 && tw_put_short(b, at, p, size))
            return 0;
    }
    if (s->kind == TW_STRING && TW_UNLIKELY(!tw_is_utf8(p, size)))
        return TW_REJECTED;
    return s->slot < 0 ? 0 : tw_put_bytes(w->frame, s->slot, at, p, size);
}

static TW_MAYBE_UNUSED int tw_take_sized(const tw_field *s, tw_row_reader *w, int64_t at)
{
    const uint8_t *p = w->r.p;
    int error = tw_take_sized_at(s, w, &p, at);
    w->r.p = p;
    return error;
}

static int tw_take_unknown(const tw_struct *s, tw_row_reader *w, int64_t tag, int64_t size)
{
    tw_reader *r = &w->r;
    if (--r->unknown_tags < 0 || (r->unknown_tag_bytes -= size) < 0)
        return TW_REJECTED;
    if (s->unknown_slot >= 0) { /* unknown tags go to a map column, which is followed by its entries, keys and values */
        tw_frame *frame = w->frame;
        int32_t level = frame->columns[s->unknown_slot].inner;
        int64_t at = frame->levels[level].length;
        TW_TRY(tw_reserve(frame, level, at + 1));
        tw_put_int32(frame->buffers + s->unknown_slot + 2, at, tag);
        TW_TRY(tw_put_bytes(frame, s->unknown_slot + 3, at, r->p, size));
        frame->levels[level].length = at + 1;
    }
    r->p += size;
    return 0;
}

/* Read a tag section that isn't empty, or an optional buffer (KIP-482 draft). Store the defaults of absent fields. */
static int tw_take_section(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    uint64_t seen = 0; /* one bit per known tag that has been read */
    int64_t left = tw_read_entries(s, r), tag = -1, size;
    int more = left < 0 ? -1 : 1;
    while (more > 0 && (more = tw_next_entry(s, r, &left, &tag, &size)) > 0) {
        const tw_field *f = tw_find_tag(s, tag);
        const uint8_t *around = r->end;
        if (f == NULL) {
            TW_TRY(tw_take_unknown(s, w, tag, size));
            continue;
        }
        seen |= (uint64_t)1 << (f - s->tagged);
        r->end = r->p + size;
        TW_TRY(tw_take_value(f, w, at));
        if (r->p != r->end)
            return TW_REJECTED;
        r->end = around;
    }
    if (more < 0)
        return TW_REJECTED;
    for (int32_t index = 0; index < s->tagged_count; index++)
        if (s->tagged[index].slot >= 0 && !(seen >> index & 1))
            TW_TRY(tw_put_default(w->frame, s->tagged[index].slot, at));
    if (s->unknown_slot >= 0) {
        tw_frame *frame = w->frame;
        tw_put_int32(frame->buffers + s->unknown_slot, at + 1, frame->levels[frame->columns[s->unknown_slot].inner].length);
    }
    return 0;
}

static inline int tw_take_items(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_buffers *const buffers = w->frame->buffers;
    const uint8_t *p = w->r.p, *const end = w->r.end;
    for (const tw_field *step = s->items, *last = step + s->items_count; step < last; step++) {
        int width = tw_width[step->kind];
        if (width) {
            if (TW_UNLIKELY(end - p < step->run))
                return TW_REJECTED;
            TW_TRY(tw_take_fixed(step, p, step->slot < 0 ? NULL : buffers[step->slot].values, at));
            p += width;
        } else if (step->kind == TW_STRING)
            TW_TRY(tw_take_sized_at(step, w, &p, at));
        else {
            w->r.p = p;
            TW_TRY(tw_take_value(step, w, at));
            p = w->r.p;
        }
    }
    w->r.p = p;
    return 0;
}

static int tw_take_fields(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    if (s->section == TW_OPTIONAL_BUFFER)
        TW_TRY(tw_take_section(s, w, at));
    TW_TRY(tw_take_items(s, w, at));
    if (s->section == TW_TAGGED_SECTION) {
        if (TW_LIKELY(r->p < r->end && *r->p == 0)) {
            r->p++;
            for (int32_t index = 0; index < s->filled_count; index++)
                TW_TRY(tw_put_default(w->frame, s->filled[index].slot, at));
        } else
            TW_TRY(tw_take_section(s, w, at));
    }
    for (int32_t index = 0; index < s->missing_count; index++)
        TW_TRY(tw_put_default(w->frame, s->missing[index].slot, at));
    return 0;
}

static int tw_take_struct(const tw_struct *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    const uint8_t *around = r->end;
    if (TW_UNLIKELY(s->length != TW_NO_LENGTH)) {
        int64_t size = tw_read_length(r, s->length);
        if (size < 0 || size > r->end - r->p)
            return TW_REJECTED;
        r->end = r->p + size;
    }
    TW_TRY(tw_take_fields(s, w, at));
    if (s->length != TW_NO_LENGTH && r->p != r->end)
        return TW_REJECTED;
    r->end = around;
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
    if (width) {
        uint8_t *values = e->slot < 0 ? NULL : w->frame->buffers[e->slot].values;
        if (values == NULL && e->kind != TW_BOOL) { /* skip values that aren't needed; only bools can be invalid */
            w->r.p += width * count;
            return 0;
        }
        for (int64_t index = 0; index < count; index++)
            TW_TRY(tw_take_fixed(e, w->r.p + width * index, values, base + index));
        w->r.p += width * count;
        return 0;
    }
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER) {
        for (int64_t index = 0; index < count; index++)
            TW_TRY(tw_take_struct(e->child, w, base + index));
        return 0;
    }
    for (int64_t index = 0; index < count; index++)
        TW_TRY(tw_take_value(e, w, base + index));
    return 0;
}

/* Read an array that has no count. Its elements extend to r->end. */
static int tw_take_to_end(const tw_field *s, tw_row_reader *w, int64_t at)
{
    tw_frame *frame = w->frame;
    int32_t level = s->slot < 0 ? -1 : frame->columns[s->slot].inner;
    int64_t base = level < 0 ? 0 : frame->levels[level].length, count = 0;
    for (; w->r.p < w->r.end; count++) {
        if (--w->r.elements < 0)
            return TW_REJECTED;
        if (level >= 0)
            TW_TRY(tw_reserve(frame, level, base + count + 1));
        TW_TRY(tw_take_value(s->element, w, base + count));
    }
    if (level >= 0)
        tw_end_list(frame, s->slot, level, at, base + count);
    return 0;
}

static int tw_take_array(const tw_field *s, tw_row_reader *w, int64_t at)
{
    tw_reader *r = &w->r;
    tw_frame *frame = w->frame;
    int64_t count, base = 0;
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
    TW_TRY(tw_reserve(frame, frame->columns[s->slot].inner, base + count));
    TW_TRY(tw_take_elements(s->element, w, base, count));
    tw_end_list(frame, s->slot, frame->columns[s->slot].inner, at, base + count);
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
    int width = tw_width[s->kind];
    if (width) {
        if (r->end - r->p < width)
            return TW_REJECTED;
        TW_TRY(tw_take_fixed(s, r->p, values, at));
        r->p += width;
        return 0;
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
