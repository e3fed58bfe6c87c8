/* A walk over the values of a message that writes nothing: its size, and the place of a value that can't be written.
 *
 * It refuses what encode.h refuses, in the order in which the interpreter looks, so that both name the same field where
 * several are wrong. encode.h keeps no path; when it refuses, this walk finds the place, and the interpreter says the words
 * (tagwire.interpreter.fault_places). The rules for references are those of encode.h.
 *
 * A function returns 0, or -1 for a fault, or for an exception that is no fault of a value.
 */
#ifndef TAGWIRE_MEASURE_H
#define TAGWIRE_MEASURE_H

#include "engine/measure_values.h"

static int tw_measure_value(const tw_field *f, PyObject *value, tw_measure *m);

/* Whether an attribute that a version asks for was deleted, or never set. */
static int tw_has_gap(const tw_shared *shared, const tw_field *fields, Py_ssize_t count, PyObject *object)
{
    for (const tw_field *f = fields, *end = f + count; f < end; f++) {
        PyObject *value = TW_SLOT(object, f->slot);
        if (!f->ignorable && (value == NULL ? !f->late : value == shared->deleted))
            return 1;
    }
    return 0;
}

/* The recursion unwinds out of a struct: one that lacks an attribute is refused before anything in it is looked at. */
static TW_RARE int tw_within_struct(const tw_struct *s, PyObject *object, tw_measure *m)
{
    const tw_shared *shared = m->shared;
    if (!PyErr_Occurred() && (TW_SLOT(object, s->unknown_slot) == NULL ||
                              tw_has_gap(shared, s->missing, s->missing_count, object) ||
                              tw_has_gap(shared, s->items, s->items_count, object) ||
                              tw_has_gap(shared, s->tagged, s->tagged_count, object))) {
        m->site = TW_AT_WRITTEN_STRUCT;
        PyList_SetSlice(m->path, 0, PyList_Size(m->path), NULL);
    }
    return -1;
}

/* ---------------------------------------------------------------- tag sections */

/* The bytes around the data of a tagged field, which are counted already. */
static int tw_measure_entry(const tw_struct *s, int64_t tag, int64_t size, tw_measure *m)
{
    if (s->section == TW_TAGGED_SECTION) {
        m->size += tw_varint_width((uint64_t)tag) + tw_varint_width((uint64_t)size);
        return 0;
    }
    size += s->counts_tag ? 2 : 0;
    m->size += 2;
    if (size == 0 || tw_measure_length(s->entry_length, size, m) < 0)
        return tw_refuse_written(m, TW_AT_WRITTEN_SECTION);
    return 0;
}

/* Counts the known tagged fields that are written; -1 for a fault. */
static int tw_measure_known_tags(const tw_struct *s, PyObject *object, tw_measure *m)
{
    int count = 0;
    for (const tw_field *f = s->tagged, *end = f + s->tagged_count; f < end; f++) {
        PyObject *value = TW_SLOT(object, f->slot);
        int64_t before = m->size;
        int differs = tw_differs(f, value);
        if (differs < 0)
            return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
        if (!differs)
            continue;
        if ((value = TW_SLOT(object, f->slot)) == NULL) /* comparing may have run code */
            return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
        if (tw_measure_value(f, value, m) < 0)
            return tw_within(m, Py_NewRef(f->name));
        if (tw_measure_entry(s, f->tag, m->size - before, m) < 0)
            return -1;
        count++;
    }
    return count;
}

/* Counts the unknown tagged fields; -1 for a fault. */
static int64_t tw_measure_unknown_tags(const tw_struct *s, PyObject *object, tw_measure *m)
{
    PyObject *unknown = TW_SLOT(object, s->unknown_slot), *others;
    Py_ssize_t count;
    if (unknown == m->shared->no_tags)
        return 0;
    if (unknown == NULL)
        return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
    Py_INCREF(unknown);
    others = tw_other_tags(s, unknown);
    Py_DECREF(unknown);
    if (others == NULL)
        return tw_refuse_written(m, TW_AT_WRITTEN_SECTION);
    count = TW_TUPLE_SIZE(others);
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *pair = TW_TUPLE_GET(others, index);
        Py_ssize_t size = PyObject_Size(TW_TUPLE_GET(pair, 1)); /* bytes, or a view of single ones */
        m->size += size;
        if (size < 0 || tw_measure_entry(s, PyLong_AsLong(TW_TUPLE_GET(pair, 0)), size, m) < 0) {
            count = tw_refuse_written(m, TW_AT_WRITTEN_SECTION);
            break;
        }
    }
    Py_DECREF(others);
    return count;
}

static int tw_measure_section(const tw_struct *s, PyObject *object, tw_measure *m)
{
    int known = s->tagged_count ? tw_measure_known_tags(s, object, m) : 0;
    int64_t others = known < 0 ? -1 : tw_measure_unknown_tags(s, object, m);
    if (others < 0)
        return -1;
    m->size += s->section == TW_OPTIONAL_BUFFER ? 1 : tw_varint_width((uint64_t)(known + others));
    return 0;
}

/* ---------------------------------------------------------------- structs */

static int tw_measure_item(const tw_field *f, PyObject *object, tw_measure *m)
{
    PyObject *value = TW_SLOT(object, f->slot);
    if (value == NULL && f->late)
        value = tw_lazy_value(object, f->slot, f->fresh);
    if (value == NULL)
        return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
    return tw_measure_value(f, value, m) < 0 ? tw_within(m, Py_NewRef(f->name)) : 0;
}

static inline int tw_measure_items(const tw_struct *s, PyObject *object, tw_measure *m)
{
    int64_t all = tw_look_at_items(s, object, m->shared);
    if (TW_UNLIKELY(all < 0)) {
        for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++)
            if (tw_measure_item(f, object, m) < 0)
                return -1;
        return 0;
    }
    m->size += all;
    for (const tw_look *look = s->looks_end[TW_LOOK_ONCE]; look < s->looks_end[TW_LOOK_CLOSELY]; look++)
        if (TW_UNLIKELY(tw_measure_item(look->item, object, m) < 0))
            return -1;
    return 0;
}

static int tw_measure_fields(const tw_struct *s, PyObject *object, tw_measure *m)
{
    if ((s->missing_count || s->section == TW_NO_SECTION) && tw_refuse_lost(s, object, m->shared) < 0)
        return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
    if (s->section == TW_OPTIONAL_BUFFER && tw_measure_section(s, object, m) < 0)
        return -1;
    if (tw_measure_items(s, object, m) < 0)
        return -1;
    if (s->section != TW_TAGGED_SECTION)
        return 0;
    if (TW_UNLIKELY(s->tagged_count || TW_SLOT(object, s->unknown_slot) != m->shared->no_tags))
        return tw_measure_section(s, object, m);
    m->size++;
    return 0;
}

/* `object` is of the struct's class, and held by the caller. */
static int tw_measure_struct(const tw_struct *s, PyObject *object, tw_measure *m)
{
    int64_t before = m->size;
    if (TW_UNLIKELY(tw_measure_fields(s, object, m) < 0))
        return tw_within_struct(s, object, m);
    if (s->length != TW_NO_LENGTH && tw_measure_length(s->length, m->size - before, m) < 0) {
        m->site = TW_WRITES_ALL; /* the interpreter has to measure it as well */
        return -1;
    }
    return 0;
}

/* A struct that must be held while it is measured. One of a subclass may have its attributes in another way. */
static int tw_measure_object(const tw_struct *s, PyObject *object, tw_measure *m)
{
    PyObject *coerced = object;
    int failed;
    if (TW_UNLIKELY(Py_TYPE(object) != s->made.cls && !PyType_IsSubtype(Py_TYPE(object), s->made.cls)))
        return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
    Py_INCREF(object);
    if (TW_UNLIKELY(Py_TYPE(object) != s->made.cls)) {
        coerced = tw_coerced_struct(s, object);
        Py_DECREF(object);
        if (coerced == NULL)
            return tw_refuse_written(m, TW_AT_WRITTEN_STRUCT);
    }
    failed = tw_measure_struct(s, coerced, m);
    Py_DECREF(coerced);
    return failed;
}

static int tw_measure_nested(const tw_field *f, PyObject *value, tw_measure *m)
{
    m->size += f->marker != TW_NO_MARKER;
    if (value != Py_None)
        return tw_measure_object(f->child, value, m);
    return f->marker == TW_NO_MARKER ? tw_refuse_written(m, TW_AT_WRITTEN_VALUE) : 0;
}

/* ---------------------------------------------------------------- arrays and any value */

/* An element of a tuple, which holds it. */
static inline int tw_measure_element(const tw_field *e, PyObject *value, tw_measure *m)
{
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER && Py_TYPE(value) == e->child->made.cls)
        return tw_measure_struct(e->child, value, m);
    return tw_measure_value(e, value, m);
}

/* An element of an array, at its index; `tuple` is held by the caller. */
static inline int tw_measure_at(const tw_field *e, PyObject *tuple, Py_ssize_t index, tw_measure *m)
{
    return TW_LIKELY(tw_measure_element(e, TW_TUPLE_GET(tuple, index), m) == 0) ? 0 : tw_within(m, PyLong_FromSsize_t(index));
}

/* Whether a version has nothing but items of a struct, and perhaps unknown tagged fields. */
static inline int tw_is_items_alone(const tw_struct *s)
{
    return s->section == TW_TAGGED_SECTION && !s->tagged_count && !s->missing_count && s->length == TW_NO_LENGTH;
}

/* Fetches what one of the next structs holds beside numbers: its texts, UUIDs and arrays. */
static inline void tw_fetch_parts(const tw_struct *s, PyObject *object)
{
    if (Py_TYPE(object) == s->made.cls)
        for (const tw_look *look = s->looks_end[TW_LOOK_INT32S]; look < s->looks_end[TW_LOOK_CLOSELY]; look++)
            TW_PREFETCH(TW_SLOT(object, look->slot));
}

/* Structs of items alone, most of which take no more than a look. */
static int tw_measure_structs(const tw_field *e, PyObject *tuple, Py_ssize_t count, tw_measure *m)
{
    const tw_struct *s = e->child;
    const tw_look *closely = s->looks_end[TW_LOOK_ONCE], *end = s->looks_end[TW_LOOK_CLOSELY];
    int has_parts = s->looks_end[TW_LOOK_INT32S] < end;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *object = TW_TUPLE_GET(tuple, index);
        int64_t size = -1;
        if (index + TW_AHEAD < count)
            TW_PREFETCH(TW_TUPLE_GET(tuple, index + TW_AHEAD));
        if (has_parts && index + 2 < count)
            tw_fetch_parts(s, TW_TUPLE_GET(tuple, index + 2));
        if (TW_LIKELY(Py_TYPE(object) == s->made.cls && TW_SLOT(object, s->unknown_slot) == m->shared->no_tags))
            size = tw_look_at_items(s, object, m->shared);
        if (TW_UNLIKELY(size < 0)) {
            if (tw_measure_at(e, tuple, index, m) < 0)
                return -1;
            continue;
        }
        m->size += size + 1; /* no tags */
        for (const tw_look *look = closely; look < end; look++)
            if (TW_UNLIKELY(tw_measure_item(look->item, object, m) < 0)) {
                tw_within_struct(s, object, m);
                return tw_within(m, PyLong_FromSsize_t(index));
            }
    }
    return 0;
}

/* `tuple` is exactly one, held by the caller. */
static int tw_measure_elements(const tw_field *f, PyObject *tuple, tw_measure *m)
{
    const tw_field *e = f->element;
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    if (tw_measure_length(f->length, count, m) < 0)
        return -1;
    if (e->kind == TW_INT32 && tw_are_int32s(m->shared, tuple, count)) {
        m->size += 4 * (int64_t)count;
        return 0;
    }
    for (Py_ssize_t index = 0; index < count && index < TW_AHEAD; index++)
        TW_PREFETCH(TW_TUPLE_GET(tuple, index));
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER && tw_is_items_alone(e->child))
        return tw_measure_structs(e, tuple, count, m);
    for (Py_ssize_t index = 0; index < count; index++) {
        if (index + TW_AHEAD < count)
            TW_PREFETCH(TW_TUPLE_GET(tuple, index + TW_AHEAD));
        if (TW_UNLIKELY(tw_measure_at(e, tuple, index, m) < 0))
            return -1;
    }
    return 0;
}

static int tw_measure_array(const tw_field *f, PyObject *value, tw_measure *m)
{
    PyObject *tuple = value;
    int failed;
    Py_INCREF(value);
    if (TW_UNLIKELY(!PyTuple_CheckExact(value))) {
        tuple = tw_coerced_array(value);
        Py_DECREF(value);
        if (tuple == NULL)
            return tw_refuse_written(m, TW_AT_WRITTEN_VALUE);
    }
    failed = tw_measure_elements(f, tuple, m);
    Py_DECREF(tuple);
    return failed;
}

static int tw_measure_value(const tw_field *f, PyObject *value, tw_measure *m)
{
    if (f->kind == TW_ARRAY && value != Py_None)
        return tw_measure_array(f, value, m);
    if (f->kind == TW_STRUCT)
        return tw_measure_nested(f, value, m);
    if (f->kind <= TW_UUID)
        return tw_measure_fixed(f, value, m);
    if (f->kind == TW_VARINT)
        return tw_measure_varint(f, value, m);
    if (f->kind == TW_OPTIONAL) {
        m->size += f->marker != TW_NO_MARKER;
        return value == Py_None && f->marker != TW_NO_MARKER ? 0 : tw_measure_value(f->element, value, m);
    }
    if (f->kind == TW_ENUM)
        return tw_measure_enum(f, value, m);
    if (value == Py_None)
        return tw_measure_null(f, m);
    return f->kind == TW_TEXT ? tw_measure_text(f, value, m) : tw_measure_binary(f, value, m);
}

/* Measures a message; the size, or what came of it, is in `m`. */
static TW_MAYBE_UNUSED int tw_measure_message(const tw_struct *root, PyObject *message, tw_measure *m)
{
    m->size = 0;
    m->site = TW_WRITES_ALL;
    return tw_measure_object(root, message, m);
}

#endif
