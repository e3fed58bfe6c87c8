/* Read and check the numbers and lengths of record formats, without creating Python objects.
 *
 * framed_decode_impl.h uses these functions to read objects, and record_walk_impl.h and magic2_impl.h use them to read
 * columns. Functions return -1 for invalid bytes. */
#ifndef TAGWIRE_NUMBER_READING_H
#define TAGWIRE_NUMBER_READING_H

#include "engine/wire.h"

static inline int tw_read_number(const tw_field *f, tw_reader *r, int64_t *x)
{
    Py_ssize_t width = tw_width[f->kind];
    uint64_t bits;
    if (f->kind == TW_VARINT) {
        TW_TRY(tw_read_bits(f, r, &bits));
        *x = tw_signed(f, bits);
        return 0;
    }
    if (TW_UNLIKELY(r->end - r->p < width))
        return -1;
    *x = tw_get_int(f->kind, r->p);
    r->p += width;
    return 0;
}

/* Read a varint of at most `size` bytes into `*x`. Return the varint's end, or NULL if it is invalid. */
static inline const uint8_t *tw_pass_varint(const uint8_t *p, const uint8_t *end, int size, uint64_t *x)
{
    tw_reader r;
    if (TW_LIKELY(end - p >= 2)) {
        if (p[0] < 0x80) {
            *x = p[0];
            return p + 1;
        }
        if (p[1] < 0x80 && p[1]) {
            *x = (uint64_t)(p[0] & 0x7F) | (uint64_t)p[1] << 7;
            return p + 2;
        }
    }
    r.p = p;
    r.end = end;
    return tw_read_varint(&r, size, x) < 0 ? NULL : r.p;
}

/* Return 0 if a number is allowed in its field; otherwise -1. If the elements of an array are sorted by this field,
 * the number must also be higher than the previous element's. */
static TW_MAYBE_UNUSED int tw_check_number(const tw_framing *framing, int64_t x, int64_t *known)
{
    if (framing->has_equals && x != framing->equals)
        return -1;
    for (const tw_bits *bits = framing->bits, *end = bits + framing->bits_count; bits < end; bits++)
        if (bits->values && (x & bits->mask) >> bits->shift >= bits->values)
            return -1;
    if (framing->last) {
        int64_t key = framing->unsigned_order ? (int64_t)(uint32_t)x : x;
        if (key <= known[framing->last])
            return -1;
        known[framing->last] = key;
    }
    return 0;
}

/* Store a + b in `sum`. Return 1, or 0 if the sum needs more than 64 bits. */
static inline int tw_add(int64_t a, int64_t b, int64_t *sum)
{
    *sum = (int64_t)((uint64_t)a + (uint64_t)b);
    return ((a ^ *sum) & (b ^ *sum)) >= 0;
}

static inline int tw_holds(const tw_framing *framing, const int64_t *known)
{
    return (known[framing->guard] & framing->guard_mask) == framing->guard_equals;
}

/* Check the size that was read from the length field at `start`. If the field measures the rest of the struct
 * (TW_EXTENT), set `r->end` to the end of the struct. Return 0, or -1 if not enough bytes are left. */
static inline int tw_enter(const tw_framing *framing, tw_reader *r, int64_t size, const uint8_t *start)
{
    if (framing->counts_itself)
        size -= r->p - start;
    if (size < 0 || size > r->end - r->p)
        return -1;
    if (framing->frame == TW_EXTENT)
        r->end = r->p + size;
    return 0;
}

/* Return the fast path for a field, or TW_NO_FAST_PATH if it has none. */
static inline int tw_fast_path_of(const tw_field *f)
{
    const tw_framing *framing = f->framing;
    int is_varint = f->kind == TW_VARINT && f->zigzag == TW_ZIGZAG;
    if (framing->keep || framing->is_guarded || framing->sum || framing->is_checked || framing->flag_mask || framing->hidden || framing->extent)
        return TW_NO_FAST_PATH;
    if (is_varint && f->bits == 32 && framing->frame == TW_EXTENT && !framing->counts_itself)
        return TW_BOUNDS;
    if (!framing->is_usual)
        return TW_NO_FAST_PATH;
    if (framing->is_number && tw_width[f->kind])
        return TW_PASS;
    if (is_varint && framing->is_number)
        return TW_NUMBER;
    if (f->length != TW_LENGTH_VARINT)
        return TW_NO_FAST_PATH;
    return f->kind == TW_BINARY ? TW_BYTES : f->kind == TW_ARRAY ? TW_LIST : TW_NO_FAST_PATH;
}

/* Choose a fast path for each field of a struct, and set `is_short` if all fields have one. */
static inline void tw_choose_fast_paths(const tw_struct *s)
{
    int is_short = s->shape == TW_OBJECT, ends = 0;
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        tw_framing *framing = (tw_framing *)f->framing;
        framing->fast_path = (uint8_t)tw_fast_path_of(f);
        if ((framing->fast_path == TW_BOUNDS) != (f->slot == TW_NOWHERE) || (framing->fast_path == TW_PASS && f->kind != TW_INT8))
            framing->fast_path = TW_NO_FAST_PATH;
        ends += framing->fast_path == TW_BOUNDS;
        is_short &= framing->fast_path != TW_NO_FAST_PATH && ends <= 1;
    }
    ((tw_struct *)s)->is_short = (uint8_t)is_short;
}

#endif
