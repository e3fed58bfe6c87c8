/* The main loop of encoding: write the slots of objects as bytes, or only count the bytes.
 *
 * Functions return 0, or -1 for an error. References from slots and tuples are borrowed. This is safe as long as no
 * Python code changes the object. Only tw_coerced_*, tw_values_differ and `__index__` run Python code. Callers hold a
 * reference to a value during such a call, and to a struct or array while it is written.
 */
#ifndef TAGWIRE_ENCODE_H
#define TAGWIRE_ENCODE_H

#include "engine/defaults.h"
#include "engine/enums.h"
#include "engine/rules.h"
#include "engine/values.h"

static int tw_write_value(const tw_field *f, PyObject *value, tw_writer *w);
static int tw_write_array(const tw_field *f, PyObject *value, tw_writer *w);
static int tw_write_object(const tw_struct *s, PyObject *object, tw_writer *w);
static int tw_write_framed(const tw_struct *s, PyObject *object, tw_writer *w);
static int tw_write_section(const tw_struct *s, PyObject *object, tw_writer *w);

/* Return -1 if a non-ignorable field that this version doesn't have differs from its default. */
static inline int tw_reject_missing(const tw_struct *s, PyObject *object)
{
    for (const tw_field *f = s->missing, *end = f + s->missing_count; f < end; f++) {
        if (f->ignorable)
            continue;
        TW_HELD PyObject *value = tw_slot(object, f->slot);
        if (tw_differs(f, value) != 0)
            return -1;
    }
    return 0;
}

/* Return -1 if encoding in this version would lose the value of a field or the unknown tags. */
static int tw_reject_lost(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    if (tw_reject_missing(s, object) < 0)
        return -1;
    if (s->section == TW_NO_SECTION) {
        TW_HELD PyObject *value = tw_slot(object, s->unknown_slot);
        if (value != shared->no_tags) {
            int differs;
            if (value == NULL)
                return -1;
            Py_INCREF(value);
            differs = tw_values_differ(value, shared->no_tags);
            Py_DECREF(value);
            if (differs != 0)
                return -1;
        }
    }
    return 0;
}

/* Write the int16, int32 and int64 fields of a run, from `f` to the first one whose value isn't an exact Python int in
 * its range. The buffer must have room for the run. Return the first field that was not written, or `end`. */
static inline const tw_field *tw_put_ints(const tw_field *f, const tw_field *end, PyObject *object, tw_writer *w)
{
    uint8_t *p = w->p;
    do {
        TW_HELD PyObject *value = tw_slot(object, f->slot);
        int64_t x;
        if (TW_UNLIKELY(value == NULL))
            break;
        if (f->kind == TW_INT32) {
            if (TW_UNLIKELY(!tw_exact_int32(value, &x)))
                break;
            tw_put32(p, (uint32_t)x);
            p += 4;
        } else if (TW_UNLIKELY(!tw_exact_int(value, &x)))
            break;
        else if (f->kind == TW_INT16 && x == (int16_t)x) {
            tw_put16(p, (uint16_t)x);
            p += 2;
        } else if (f->kind == TW_INT64) {
            tw_put64(p, (uint64_t)x);
            p += 8;
        } else
            break;
        f++;
    } while (f < end && f->kind <= TW_INT64 && f->run == 0);
    w->p = p;
    return f;
}

/* Write a compact array of ints with one internal digit, and return the end of the output. Return NULL if the array is
 * another one, or needs more room. The function calls no other, so that compilers keep everything in registers. */
static TW_NOINLINE uint8_t *tw_put_short_int32s(PyObject *tuple, uint8_t *p, const uint8_t *end)
{
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    if (TW_UNLIKELY(count >= 0x7F || end - p <= 4 * count))
        return NULL;
    *p++ = (uint8_t)(count + 1);
    for (Py_ssize_t index = 0; index < count; index++, p += 4) {
        int64_t x;
        if (TW_UNLIKELY(!tw_short_int(TW_TUPLE_GET(tuple, index), &x)))
            return NULL;
        tw_put32(p, (uint32_t)x);
    }
    return p;
}

static TW_NOINLINE int tw_put_other_int32s(const tw_field *f, PyObject *tuple, tw_writer *w)
{
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    uint8_t *p;
    /* 4 * count can't overflow, because the tuple itself uses at least 4 bytes of memory per element. */
    if (tw_make_room(w, TW_LENGTH_WIDTH + 4 * count) < 0)
        return -1;
    p = tw_put_length(w->p, f->length, count);
    if (TW_UNLIKELY(p == NULL))
        return -1;
    for (Py_ssize_t index = 0; index < count; index++, p += 4) {
        int64_t x;
        if (TW_UNLIKELY(!tw_exact_int32(TW_TUPLE_GET(tuple, index), &x)))
            return 0;
        tw_put32(p, (uint32_t)x);
    }
    w->p = p;
    return 1;
}

/* Write an array of int32 and return 1. Return 0 if the caller must use tw_write_array. */
static inline int tw_put_int32s(const tw_field *f, PyObject *tuple, tw_writer *w)
{
    uint8_t *p = TW_LIKELY(f->length == TW_COMPACT) ? tw_put_short_int32s(tuple, w->p, w->end) : NULL;
    if (TW_UNLIKELY(p == NULL))
        return tw_put_other_int32s(f, tuple, w);
    w->p = p;
    return 1;
}

static inline int tw_write_items(const tw_struct *s, PyObject *object, tw_writer *w)
{
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        int done = 0;
        if (f->kind <= TW_UUID && TW_UNLIKELY(tw_make_room(w, f->run) < 0))
            return -1;
        if (f->kind <= TW_INT64 && (f = tw_put_ints(f, end, object, w)) == end)
            return 0;
        TW_HELD PyObject *value = tw_slot(object, f->slot);
        if (TW_UNLIKELY(value == NULL) && f->late)
            value = tw_lazy_value(object, f->slot, f->fresh);
        if (TW_UNLIKELY(value == NULL))
            return -1;
        if (f->kind == TW_ARRAY && PyTuple_CheckExact(value))
            done = f->element->kind == TW_INT32 ? tw_put_int32s(f, value, w) : 0;
        else if (f->kind == TW_STRING && PyUnicode_CheckExact(value))
            done = tw_write_text(f, value, w) < 0 ? -1 : 1;
        if (TW_UNLIKELY(done < 0 || (done == 0 && tw_write_value(f, value, w) < 0)))
            return -1;
    }
    return 0;
}

static int tw_write_fields(const tw_struct *s, PyObject *object, tw_writer *w)
{
    if ((s->missing_count || TW_UNLIKELY(s->section == TW_NO_SECTION)) && tw_reject_lost(s, object, w->shared) < 0)
        return -1;
    if (TW_UNLIKELY(s->rules != NULL) && !tw_keeps_rules(s, object))
        return -1;
    if (s->section == TW_OPTIONAL_BUFFER && tw_write_section(s, object, w) < 0)
        return -1;
    if (tw_write_items(s, object, w) < 0)
        return -1;
    if (s->section != TW_TAGGED_SECTION)
        return 0;
    if (TW_UNLIKELY(s->tagged_count || TW_SLOT(object, s->unknown_slot) != w->shared->no_tags))
        return tw_write_section(s, object, w);
    if (tw_make_room(w, 1) < 0)
        return -1;
    *w->p++ = 0;
    return 0;
}

static int tw_write_struct(const tw_struct *s, PyObject *object, tw_writer *w)
{
    int64_t start;
    if (TW_UNLIKELY(s->framed))
        return tw_write_framed(s, object, w);
    if (TW_LIKELY(s->length == TW_NO_LENGTH))
        return tw_write_fields(s, object, w);
    if (tw_open(w, s->length, &start) < 0 || tw_write_fields(s, object, w) < 0)
        return -1;
    return tw_close(w, s->length, start, 0);
}

/* Write a struct. The caller holds a reference to the object, or to a tuple that contains it. An object of a subclass
 * is first converted to the base class, because the subclass may store its attributes differently. */
static inline int tw_write_held(const tw_struct *s, PyObject *object, tw_writer *w)
{
    PyObject *coerced;
    int failed;
    if (TW_UNLIKELY(s->shape != TW_OBJECT))
        return tw_write_framed(s, object, w);
    if (TW_LIKELY(Py_TYPE(object) == s->factory.cls))
        return tw_write_struct(s, object, w);
    coerced = PyType_IsSubtype(Py_TYPE(object), s->factory.cls) ? tw_coerced_struct(s, object) : NULL;
    if (coerced == NULL)
        return -1;
    failed = tw_write_struct(s, coerced, w);
    Py_DECREF(coerced);
    return failed;
}

/* Write a struct, and hold a reference to the object meanwhile. */
static int tw_write_object(const tw_struct *s, PyObject *object, tw_writer *w)
{
    int failed;
    Py_INCREF(object);
    failed = tw_write_held(s, object, w);
    Py_DECREF(object);
    return failed;
}

/* Write a struct or a fixed-width value, after a null marker if the type has one. */
static int tw_write_nested(const tw_field *f, PyObject *value, tw_writer *w)
{
    TW_TRY(tw_write_marker(f, value != Py_None, w));
    if (value == Py_None)
        return 0;
    return f->kind == TW_STRUCT ? tw_write_object(f->child, value, w) : tw_write_value(f->element, value, w);
}

/* Write an array's length and elements. `tuple` is an exact tuple, to which the caller holds a reference. */
static int tw_write_elements(const tw_field *f, PyObject *tuple, tw_writer *w)
{
    const tw_field *e = f->element;
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    int done = e->kind == TW_INT32 ? tw_put_int32s(f, tuple, w) : 0;
    if (TW_UNLIKELY(done))
        return done > 0 ? 0 : -1;
    TW_TRY(tw_write_length(f->length, count, w));
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER) {
        for (Py_ssize_t index = 0; index < count; index++)
            if (TW_UNLIKELY(tw_write_held(e->child, TW_TUPLE_GET(tuple, index), w) < 0))
                return -1;
        return 0;
    }
    for (Py_ssize_t index = 0; index < count; index++)
        if (TW_UNLIKELY(tw_write_value(e, TW_TUPLE_GET(tuple, index), w) < 0))
            return -1;
    return 0;
}

static int tw_write_array(const tw_field *f, PyObject *value, tw_writer *w)
{
    PyObject *tuple;
    int failed;
    Py_INCREF(value);
    if (TW_LIKELY(PyTuple_CheckExact(value)))
        tuple = value;
    else {
        tuple = tw_coerced_array(value);
        Py_DECREF(value);
        if (tuple == NULL)
            return -1;
    }
    failed = tw_write_elements(f, tuple, w);
    Py_DECREF(tuple);
    return failed;
}

static int tw_write_fixed(const tw_field *f, PyObject *value, tw_writer *w)
{
    int failed;
    if (tw_make_room(w, 16) < 0)
        return -1;
    Py_INCREF(value);
    failed = tw_put_fixed(w->shared, f->kind, w->p, value);
    Py_DECREF(value);
    if (failed == 0)
        w->p += tw_width[f->kind];
    return failed;
}

static int tw_write_value(const tw_field *f, PyObject *value, tw_writer *w)
{
    int failed;
    if (f->kind <= TW_UUID)
        return tw_write_fixed(f, value, w);
    if (f->kind == TW_STRUCT || f->kind == TW_OPTIONAL)
        return tw_write_nested(f, value, w);
    if (f->kind == TW_VARINT)
        return tw_write_varint(f, value, w);
    if (f->kind == TW_ENUM)
        return tw_write_enum(f, value, w);
    if (value == Py_None)
        return tw_write_null(f, w);
    if (f->kind == TW_STRING)
        return tw_write_text(f, value, w);
    if (f->kind == TW_ARRAY)
        return tw_write_array(f, value, w);
    Py_INCREF(value);
    failed = tw_write_binary(f, value, w);
    Py_DECREF(value);
    return failed;
}

/* These parts use the functions above. */
#include "engine/encode_tags_impl.h"
#include "engine/framed_encode_impl.h"

#endif
