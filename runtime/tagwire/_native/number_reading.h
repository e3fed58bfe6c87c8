/* Numbers of record formats, and the lengths among them: read and checked without objects.
 *
 * What objects (framed_decode.h) and columns (record_walk.h) are made from. Functions return -1 for what is refused.
 */
#ifndef TAGWIRE_NUMBER_READING_H
#define TAGWIRE_NUMBER_READING_H

#include "wire.h"

/* ---------------------------------------------------------------- numbers */

static inline int tw_read_number(const tw_field *f, tw_reader *r, int64_t *x)
{
    Py_ssize_t width = tw_width[f->kind];
    uint64_t bits;
    if (f->kind == TW_VARINT) {
        if (tw_read_varint(r, f->bits == 32 ? 5 : 10, &bits) < 0 || (f->bits == 32 && bits >> 32))
            return -1;
        *x = tw_signed(f, bits);
        return 0;
    }
    if (TW_UNLIKELY(r->end - r->p < width))
        return -1;
    switch (f->kind) {
    case TW_INT8:
        *x = (int8_t)*r->p;
        break;
    case TW_UINT8:
        *x = *r->p;
        break;
    case TW_INT16:
        *x = (int16_t)tw_get16(r->p);
        break;
    case TW_UINT16:
        *x = tw_get16(r->p);
        break;
    case TW_INT32:
        *x = (int32_t)tw_get32(r->p);
        break;
    case TW_UINT32:
        *x = tw_get32(r->p);
        break;
    default:
        *x = (int64_t)tw_get64(r->p);
    }
    r->p += width;
    return 0;
}

/* Refuses a number that its item forbids, or that does not ascend. */
static int tw_check_number(const tw_form *form, int64_t x, int64_t *known)
{
    if (form->has_equals && x != form->equals)
        return -1;
    for (const tw_bits *bits = form->bits, *end = bits + form->bits_count; bits < end; bits++)
        if (bits->values && (x & bits->mask) >> bits->shift >= bits->values)
            return -1;
    if (form->last) {
        int64_t key = form->unsigned_order ? (int64_t)(uint32_t)x : x;
        if (key <= known[form->last])
            return -1;
        known[form->last] = key;
    }
    return 0;
}

/* Whether a + b is a number of 64 bits. */
static inline int tw_add(int64_t a, int64_t b, int64_t *sum)
{
    *sum = (int64_t)((uint64_t)a + (uint64_t)b);
    return ((a ^ *sum) & (b ^ *sum)) >= 0;
}

/* ---------------------------------------------------------------- conditions and lengths */

static inline int tw_holds(const tw_form *form, const int64_t *known)
{
    return (known[form->guard] & form->guard_mask) == form->guard_equals;
}

/* The extent that a length, which began at `start`, states. */
static inline int tw_enter(const tw_form *form, tw_reader *r, int64_t size, const uint8_t *start)
{
    if (form->counts_itself)
        size -= r->p - start;
    if (size < 0 || size > r->end - r->p)
        return -1;
    if (form->frame == TW_EXTENT)
        r->end = r->p + size;
    return 0;
}

#endif
