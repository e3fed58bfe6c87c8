/* Decode single values from the wire into columns. */
#ifndef TAGWIRE_COLUMN_TAKE_IMPL_H
#define TAGWIRE_COLUMN_TAKE_IMPL_H

#include "columns/column_rows.h"
#include "engine/utf8.h"

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
    tw_put_offset(b, at + 1, begin + size);
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

#endif
