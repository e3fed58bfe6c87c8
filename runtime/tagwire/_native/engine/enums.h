/* Read and write enum values without calling Python. */
#ifndef TAGWIRE_ENUMS_H
#define TAGWIRE_ENUMS_H

#include "engine/number_reading.h"
#include "engine/values.h"

/* Return the index of the enum member with this number; -1 if there is none. Before a binary search, try the index that
 * the member has if the numbers are consecutive. */
static inline Py_ssize_t tw_find_member(const tw_enum *e, int64_t x)
{
    Py_ssize_t low = 0, high = e->count;
    uint64_t guess = high ? (uint64_t)x - (uint64_t)e->numbers[0] : 0;
    if (guess < (uint64_t)high && e->numbers[guess] == x)
        return (Py_ssize_t)guess;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (e->numbers[middle] == x)
            return middle;
        if (e->numbers[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Return a new reference to the enum member with this number. If there is no such member, return the number as an int
 * if the enum is open, and NULL if it is closed. */
static inline PyObject *tw_member_of(const tw_enum *e, const tw_shared *shared, int64_t x)
{
    Py_ssize_t index = tw_find_member(e, x);
    if (TW_LIKELY(index >= 0))
        return Py_NewRef(e->members[index]);
    return e->closed ? NULL : tw_new_int(shared, x);
}

static TW_MAYBE_UNUSED PyObject *tw_new_enum(const tw_field *f, tw_reader *r)
{
    int64_t x;
    return tw_read_number(f->element, r, &x) < 0 ? NULL : tw_member_of(f->members, r->shared, x);
}

/* Skip an enum value. Return -1 if there are too few bytes, or if the enum is closed and has no member with this
 * number. */
static TW_MAYBE_UNUSED int tw_pass_enum(const tw_field *f, tw_reader *r)
{
    int64_t x;
    if (tw_read_number(f->element, r, &x) < 0)
        return -1;
    return f->members->closed && tw_find_member(f->members, x) < 0 ? -1 : 0;
}

/* Return the width of an element type if all bytes are valid, so that elements can be skipped without reading them.
 * Otherwise, return 0. */
static inline Py_ssize_t tw_width_unseen(const tw_field *e)
{
    if (e->kind == TW_ENUM)
        return e->members->closed ? 0 : tw_width[e->element->kind];
    return e->kind == TW_BOOL ? 0 : tw_width[e->kind];
}

/* Write an enum member or an int. Return -1 if the value isn't an integer, is out of range for the enum's integer type,
 * or isn't a member of a closed enum. */
static TW_MAYBE_UNUSED int tw_write_enum(const tw_field *f, PyObject *value, tw_writer *w)
{
    int64_t x;
    int failed;
    if (tw_make_room(w, 16) < 0)
        return -1;
    Py_INCREF(value);
    failed = f->members->closed && (tw_int_of(value, &x) < 0 || tw_find_member(f->members, x) < 0)
                 ? -1
                 : tw_put_fixed(w->shared, f->element->kind, w->p, value);
    Py_DECREF(value);
    if (failed == 0)
        w->p += tw_width[f->element->kind];
    return failed;
}

/* Return the JSON name of an enum value as a borrowed reference, and store its number in `x`. Return NULL without an
 * exception if the number has no name, and NULL with an exception if the value isn't a 64-bit integer. */
static TW_MAYBE_UNUSED PyObject *tw_enum_name(const tw_field *f, PyObject *value, int64_t *x)
{
    Py_ssize_t index = tw_int_of(value, x) < 0 ? -1 : tw_find_member(f->members, *x);
    return index < 0 ? NULL : f->members->names[index];
}

#endif
