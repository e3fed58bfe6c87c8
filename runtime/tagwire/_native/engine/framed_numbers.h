/* Write the numbers of record formats. A number can be relative to a base, and contain bits derived from other
 * attributes. */
#ifndef TAGWIRE_FRAMED_NUMBERS_H
#define TAGWIRE_FRAMED_NUMBERS_H

#include "engine/values.h"
#include "engine/decode.h"

/* Write a number at `p`; the caller has made room. Return its width in bytes, or -1 if the number is out of range. */
static inline int tw_number_bytes(const tw_field *f, int64_t x, uint8_t *p)
{
    if (f->kind != TW_VARINT)
        return tw_put_int(f->kind, p, x) < 0 ? -1 : tw_width[f->kind];
    if (f->bits == 32 && !tw_fits(f->zigzag == TW_UNSIGNED ? TW_UINT32 : TW_INT32, x))
        return -1;
    return (int)(tw_put_varint(p, tw_unsigned(f, x)) - p);
}

/* Set the bits of `x` that encoding derives from other attributes of the object. Return -1 if one of these attributes
 * has an invalid value. */
static int tw_follow_bits(const tw_framing *framing, PyObject *object, int64_t *x, tw_writer *w)
{
    for (const tw_follow *bit = framing->follows, *end = bit + framing->follows_count; bit < end; bit++) {
        TW_HELD PyObject *value = tw_slot(object, bit->slot);
        int is_set = value == Py_None;
        if (value == NULL)
            return -1;
        if (bit->how == TW_IF_GIVEN) {
            Py_ssize_t size = PyObject_Size(value);
            if (size < 0)
                return -1;
            is_set = size > 0;
        } else if (bit->how == TW_IF_FLAGGED) {
            TW_HELD PyObject *flag = tw_slot(object, bit->flag);
            if (flag == Py_False && is_set)
                return -1;
            if (flag == Py_True || flag == Py_False)
                is_set = flag == Py_True;
            else if (flag != Py_None) {
                w->unsure = 1;
                return -1;
            }
        }
        *x = is_set ? *x | bit->mask : *x & ~bit->mask;
    }
    return 0;
}

/* Subtract the base from an attribute's value, and store the difference in `x`. If the value or the difference isn't a
 * 64-bit int, return -1 and set `unsure`, so that the layout interpreter decides. */
static inline int tw_number_of(const tw_framing *framing, PyObject *value, int64_t *x, tw_writer *w)
{
    int64_t base, difference;
    if (TW_UNLIKELY(value == NULL)) {
        *x = w->implied;
        goto found;
    }
    if (TW_UNLIKELY(!tw_exact_int(value, x))) {
        if (PyLong_Check(value)) {
            *x = PyLong_AsLongLong(value);
            if (TW_LIKELY(*x != -1 || !PyErr_Occurred()))
                goto found;
            PyErr_Clear();
        }
        w->unsure = 1;
        return -1;
    }
found:
    base = w->known[framing->base];
    if (w->highest != NULL && *x > w->highest[framing->base])
        w->highest[framing->base] = *x;
    difference = (int64_t)((uint64_t)*x - (uint64_t)base);
    if (TW_UNLIKELY(((*x ^ base) & (*x ^ difference)) < 0)) {
        w->unsure = 1; /* the difference would overflow */
        return -1;
    }
    *x = difference;
    return 0;
}

/* Write an integer field, such as a length. `value` is NULL for a constant that objects don't store. */
static inline int tw_write_framed_number(const tw_field *f, PyObject *object, PyObject *value, tw_writer *w)
{
    const tw_framing *framing = f->framing;
    int64_t x = framing->equals;
    int width;
    if (value != NULL && tw_number_of(framing, value, &x, w) < 0)
        return -1;
    if (TW_UNLIKELY(value != NULL && framing->hidden & x))
        return -1; /* the value has bits that belong to other attributes */
    if (framing->follows_count && tw_follow_bits(framing, object, &x, w) < 0)
        return -1;
    w->known[framing->keep] = x;
    if ((framing->is_checked && tw_check_number(framing, x, w->known) < 0) || tw_make_room(w, 10) < 0)
        return -1;
    width = tw_number_bytes(f, x, w->p);
    if (TW_UNLIKELY(width < 0))
        return -1;
    w->p += width;
    return 0;
}

#endif
