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

/* Write an exact Python int and return 1. The buffer must have room. Return 0 if the caller must use tw_write_value. */
static inline int tw_put_exact_int(int kind, PyObject *value, tw_writer *w)
{
    int64_t x;
    if (!tw_exact_int(value, &x))
        return 0;
    if (kind == TW_INT32 && x == (int32_t)x) {
        tw_put32(w->p, (uint32_t)x);
        w->p += 4;
    } else if (kind == TW_INT16 && x == (int16_t)x) {
        tw_put16(w->p, (uint16_t)x);
        w->p += 2;
    } else if (kind == TW_INT64) {
        tw_put64(w->p, (uint64_t)x);
        w->p += 8;
    } else
        return 0;
    return 1;
}

static inline int tw_write_items(const tw_struct *s, PyObject *object, tw_writer *w)
{
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        TW_HELD PyObject *value = tw_slot(object, f->slot);
        int failed;
        if (TW_UNLIKELY(value == NULL) && f->late)
            value = tw_lazy_value(object, f->slot, f->fresh);
        if (TW_UNLIKELY(value == NULL || tw_make_room(w, f->run) < 0))
            return -1;
        if (f->kind <= TW_INT64 && tw_put_exact_int(f->kind, value, w))
            continue;
        if (f->kind == TW_ARRAY && PyTuple_CheckExact(value))
            failed = tw_write_array(f, value, w);
        else if (f->kind == TW_STRING && PyUnicode_CheckExact(value))
            failed = tw_write_text(f, value, w);
        else
            failed = tw_write_value(f, value, w);
        if (TW_UNLIKELY(failed < 0))
            return -1;
    }
    return 0;
}

static int tw_write_fields(const tw_struct *s, PyObject *object, tw_writer *w)
{
    if (tw_reject_lost(s, object, w->shared) < 0 || (TW_UNLIKELY(s->rules != NULL) && !tw_keeps_rules(s, object)))
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

/* Write a struct, and hold a reference to the object meanwhile. An object of a subclass is first converted to the base
 * class, because the subclass may store its attributes differently. */
static int tw_write_object(const tw_struct *s, PyObject *object, tw_writer *w)
{
    PyObject *coerced;
    int failed;
    if (TW_UNLIKELY(s->shape != TW_OBJECT))
        return tw_write_framed(s, object, w);
    if (TW_LIKELY(Py_TYPE(object) == s->factory.cls)) {
        Py_INCREF(object);
        coerced = object;
    } else {
        if (!PyType_IsSubtype(Py_TYPE(object), s->factory.cls))
            return -1;
        Py_INCREF(object);
        coerced = tw_coerced_struct(s, object);
        Py_DECREF(object);
        if (coerced == NULL)
            return -1;
    }
    failed = tw_write_struct(s, coerced, w);
    Py_DECREF(coerced);
    return failed;
}

/* Write a struct or a fixed-width value, after a null marker if the type has one. Without a marker, reject None. */
static int tw_write_nested(const tw_field *f, PyObject *value, tw_writer *w)
{
    if (f->marker != TW_NO_MARKER) {
        if (tw_make_room(w, 1) < 0)
            return -1;
        *w->p++ = value != Py_None ? 1 : f->marker == TW_MARKER_INT8 ? 0xFF : 0;
        if (value == Py_None)
            return 0;
    }
    return f->kind == TW_STRUCT ? tw_write_object(f->child, value, w) : tw_write_value(f->element, value, w);
}

static inline int tw_put_int32s(PyObject *tuple, Py_ssize_t count, tw_writer *w)
{
    uint8_t *p = w->p;
    for (Py_ssize_t index = 0; index < count; index++, p += 4) {
        int64_t x;
        if (TW_UNLIKELY(tw_int_of(TW_TUPLE_GET(tuple, index), &x) < 0 || x != (int32_t)x))
            return -1;
        tw_put32(p, (uint32_t)x);
    }
    w->p = p;
    return 0;
}

/* Write an array's length and elements. `tuple` is an exact tuple, to which the caller holds a reference. */
static int tw_write_elements(const tw_field *f, PyObject *tuple, tw_writer *w)
{
    const tw_field *e = f->element;
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    uint8_t *p;
    /* 4 * count can't overflow, because the tuple itself uses at least 4 bytes of memory per element. */
    if (tw_make_room(w, TW_LENGTH_WIDTH + (e->kind == TW_INT32 ? 4 * count : 0)) < 0)
        return -1;
    p = tw_put_length(w->p, f->length, count);
    if (p == NULL)
        return -1;
    w->p = p;
    if (e->kind == TW_INT32)
        return tw_put_int32s(tuple, count, w);
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER) {
        for (Py_ssize_t index = 0; index < count; index++)
            if (TW_UNLIKELY(tw_write_object(e->child, TW_TUPLE_GET(tuple, index), w) < 0))
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
    if (TW_LIKELY(PyTuple_CheckExact(value))) {
        Py_INCREF(value);
        tuple = value;
    } else {
        Py_INCREF(value);
        tuple = tw_coerced_array(value);
        Py_DECREF(value);
        if (tuple == NULL)
            return -1;
    }
    failed = tw_write_elements(f, tuple, w);
    Py_DECREF(tuple);
    return failed;
}

static int tw_write_null(const tw_field *f, tw_writer *w)
{
    if (!f->nullable || tw_make_room(w, 4) < 0)
        return -1;
    w->p = tw_put_null_length(w->p, f->length);
    return 0;
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
