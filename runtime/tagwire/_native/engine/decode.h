/* The main loop of decoding: read structs, arrays and tag sections from bytes into the slots of new objects.
 *
 * Functions return a new reference, or NULL for an error. An unfinished object can be freed at any time, even if slots
 * are still NULL. */
#ifndef TAGWIRE_DECODE_H
#define TAGWIRE_DECODE_H

#include "engine/defaults.h"
#include "engine/enums.h"
#include "engine/rules.h"
#include "engine/values.h"

static PyObject *tw_read_value(const tw_field *f, tw_reader *r);
static PyObject *tw_read_framed(const tw_struct *s, tw_reader *r);

static int tw_keep_unknown(tw_reader *r, PyObject **unknown, int64_t tag, int64_t size)
{
    PyObject *key, *data;
    int failed;
    if (--r->unknown_tags < 0 || (r->unknown_tag_bytes -= size) < 0)
        return -1;
    if (*unknown == NULL && (*unknown = PyDict_New()) == NULL)
        return -1;
    key = PyLong_FromLongLong(tag);
    data = PyBytes_FromStringAndSize((const char *)r->p, (Py_ssize_t)size);
    failed = key == NULL || data == NULL || PyDict_SetItem(*unknown, key, data) < 0;
    Py_XDECREF(key);
    Py_XDECREF(data);
    r->p += size;
    return failed ? -1 : 0;
}

/* Read a tag section or an optional buffer (KIP-482 draft). Known fields are stored in the object's slots. Unknown
 * fields are stored in the dict `*unknown`, which is created if needed. */
static int tw_read_section(const tw_struct *s, tw_reader *r, PyObject *object, PyObject **unknown)
{
    int64_t left = tw_read_entries(s, r), tag = -1, size;
    int more = left < 0 ? -1 : 1;
    while (more > 0 && (more = tw_next_entry(s, r, &left, &tag, &size)) > 0) {
        const tw_field *f = tw_find_tag(s, tag);
        const uint8_t *around = r->end;
        if (f == NULL) {
            if (tw_keep_unknown(r, unknown, tag, size) < 0)
                return -1;
            continue;
        }
        r->end = r->p + size;
        TW_SLOT(object, f->slot) = tw_read_value(f, r);
        if (TW_SLOT(object, f->slot) == NULL || r->p != r->end)
            return -1;
        r->end = around;
    }
    return more;
}

static inline int tw_fill_in(const tw_struct *s, PyObject *object, int untracked)
{
    for (const tw_field *f = s->filled, *end = f + s->filled_count; f < end; f++)
        if (TW_SLOT(object, f->slot) == NULL && (TW_SLOT(object, f->slot) = tw_default(f, untracked)) == NULL)
            return -1;
    return 0;
}

static inline int tw_read_items(const tw_struct *s, tw_reader *r, PyObject *object)
{
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        PyObject *value;
        if (TW_UNLIKELY(r->end - r->p < f->run))
            return -1;
        switch (f->kind) {
        case TW_INT32:
            value = tw_new_int(r->shared, (int32_t)tw_get32(r->p));
            r->p += 4;
            break;
        case TW_INT16:
            value = tw_new_int(r->shared, (int16_t)tw_get16(r->p));
            r->p += 2;
            break;
        case TW_INT64:
            value = tw_new_int(r->shared, (int64_t)tw_get64(r->p));
            r->p += 8;
            break;
        case TW_STRING:
            value = tw_new_sized(f, r);
            break;
        default:
            value = tw_read_value(f, r);
        }
        if (TW_UNLIKELY(value == NULL))
            return -1;
        TW_SLOT(object, f->slot) = value;
    }
    return 0;
}

/* Return whether the garbage collector needn't track this struct's objects (tracking.h). An object that has unknown
 * tags must be tracked in any case. */
static inline int tw_is_atomic_here(const tw_struct *s, const tw_reader *r) { return s->atomic && r->views == NULL; }

static int tw_read_fields(const tw_struct *s, tw_reader *r, PyObject *object)
{
    PyObject *unknown = NULL;
    if (s->section == TW_OPTIONAL_BUFFER && tw_read_section(s, r, object, &unknown) < 0)
        goto error;
    if (tw_read_items(s, r, object) < 0)
        goto error;
    if (s->section == TW_TAGGED_SECTION) {
        if (TW_LIKELY(r->p < r->end && *r->p == 0))
            r->p++;
        else if (tw_read_section(s, r, object, &unknown) < 0)
            goto error;
    }
    if (unknown == NULL) {
        unknown = r->shared->no_tags;
        Py_INCREF(unknown);
    } else if (tw_is_atomic_here(s, r) && !r->untracked)
        PyObject_GC_Track(object); /* users can create reference cycles through the unknown tags */
    TW_SLOT(object, s->unknown_slot) = unknown;
    return tw_fill_in(s, object, r->untracked);
error:
    Py_XDECREF(unknown);
    return -1;
}

static PyObject *tw_read_struct(const tw_struct *s, tw_reader *r)
{
    const uint8_t *around = r->end;
    PyObject *object;
    if (TW_UNLIKELY(s->framed))
        return tw_read_framed(s, r);
    if (TW_UNLIKELY(s->length != TW_NO_LENGTH)) {
        int64_t size = tw_read_length(r, s->length);
        if (size < 0 || size > r->end - r->p)
            return NULL;
        r->end = r->p + size;
    }
    object = tw_new_object(&s->factory, r->untracked || tw_is_atomic_here(s, r));
    if (object == NULL)
        return NULL;
    if (TW_UNLIKELY(tw_read_fields(s, r, object) < 0 || (s->length != TW_NO_LENGTH && r->p != r->end) ||
                    (s->rules != NULL && !tw_keeps_rules(s, object)))) {
        Py_DECREF(object);
        return NULL;
    }
    r->end = around;
    return object;
}

static PyObject *tw_read_nested(const tw_field *f, tw_reader *r)
{
    int present = tw_is_present(f, r);
    if (present > 0)
        return f->kind == TW_STRUCT ? tw_read_struct(f->child, r) : tw_read_value(f->element, r);
    return present < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *tw_read_to_end(const tw_field *f, tw_reader *r)
{
    PyObject *tuple = NULL, *list = PyList_New(0);
    while (list != NULL && r->p < r->end) {
        PyObject *value = --r->elements < 0 ? NULL : tw_read_value(f->element, r);
        int failed = value == NULL || PyList_Append(list, value) < 0;
        Py_XDECREF(value);
        if (failed) {
            r->filled = PyList_Size(list);
            Py_CLEAR(list);
        }
    }
    if (list != NULL)
        tuple = PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

static inline int tw_read_elements(const tw_field *e, tw_reader *r, PyObject *tuple, Py_ssize_t count)
{
    const uint8_t *p = r->p;
    Py_ssize_t width = tw_width[e->kind];
    PyObject *value;
    if (e->kind == TW_INT32) {
        for (Py_ssize_t index = 0; index < count; index++, p += 4) {
            value = tw_new_int(r->shared, (int32_t)tw_get32(p));
            if (TW_UNLIKELY(value == NULL))
                return -1;
            TW_TUPLE_SET(tuple, index, value);
        }
    } else if (width) {
        for (Py_ssize_t index = 0; index < count; index++, p += width) {
            value = tw_new_fixed(r, e->kind, p);
            if (TW_UNLIKELY(value == NULL))
                return -1;
            TW_TUPLE_SET(tuple, index, value);
        }
    } else {
        for (Py_ssize_t index = 0; index < count; index++) {
            value = tw_read_value(e, r);
            if (TW_UNLIKELY(value == NULL))
                return -1;
            TW_TUPLE_SET(tuple, index, value);
        }
        return 0;
    }
    r->p = p;
    return 0;
}

/* If the next int32 array has the same bytes as the previous one, return a new reference to the previous array's tuple;
 * otherwise return NULL. For example, the in-sync replicas of a partition usually equal its replicas. */
static inline PyObject *tw_same_numbers(const tw_reader *r, Py_ssize_t count)
{
    if (r->numbers_tuple == NULL || TW_TUPLE_SIZE(r->numbers_tuple) != count || memcmp(r->numbers, r->p, 4 * count) != 0)
        return NULL;
    Py_INCREF(r->numbers_tuple);
    return r->numbers_tuple;
}

static inline void tw_remember_numbers(tw_reader *r, PyObject *tuple, const uint8_t *numbers)
{
    Py_XDECREF(r->numbers_tuple);
    Py_XINCREF(tuple);
    r->numbers_tuple = tuple;
    r->numbers = numbers;
}

/* Read an array's elements. The caller has already read their number, `count`, which is TW_NULL if the array is
 * null. */
static PyObject *tw_read_counted(const tw_field *f, tw_reader *r, int64_t count)
{
    const tw_field *e = f->element;
    PyObject *tuple;
    if (count == 0) {
        Py_INCREF(r->shared->empty_tuple);
        return r->shared->empty_tuple;
    }
    if (count < 0) {
        if (count != TW_NULL || !f->nullable)
            return NULL;
        Py_RETURN_NONE;
    }
    /* Check the count before allocating the tuple. Each element needs at least `minimum` bytes. */
    if (TW_UNLIKELY(count * e->minimum > r->end - r->p || (r->elements -= count) < 0))
        return NULL;
    if (e->kind == TW_INT32 && (tuple = tw_same_numbers(r, (Py_ssize_t)count)) != NULL) {
        r->p += 4 * count;
        return tuple;
    }
    tuple = PyTuple_New((Py_ssize_t)count);
    if (tuple == NULL)
        return NULL;
    if (TW_UNLIKELY(tw_read_elements(e, r, tuple, (Py_ssize_t)count) < 0)) {
        for (r->filled = 0; r->filled < count && TW_TUPLE_GET(tuple, r->filled) != NULL; r->filled++)
            ;
        Py_DECREF(tuple);
        return NULL;
    }
    if (r->untracked || e->kind < TW_BINARY || (e->kind == TW_BINARY && r->views == NULL))
        PyObject_GC_UnTrack(tuple); /* no element is tracked by the garbage collector */
    if (e->kind == TW_INT32)
        tw_remember_numbers(r, tuple, r->p - 4 * count);
    return tuple;
}

static PyObject *tw_read_array(const tw_field *f, tw_reader *r)
{
    return f->length == TW_NO_LENGTH ? tw_read_to_end(f, r) : tw_read_counted(f, r, tw_read_length(r, f->length));
}

static PyObject *tw_read_value(const tw_field *f, tw_reader *r)
{
    PyObject *value;
    Py_ssize_t width = tw_width[f->kind];
    if (width) {
        if (r->end - r->p < width)
            return NULL;
        value = tw_new_fixed(r, f->kind, r->p);
        r->p += width;
        return value;
    }
    switch (f->kind) {
    case TW_ARRAY:
        return tw_read_array(f, r);
    case TW_STRUCT:
    case TW_OPTIONAL:
        return tw_read_nested(f, r);
    case TW_VARINT:
        return tw_new_varint(f, r);
    case TW_BLOCK:
        return tw_new_block(f, r);
    case TW_ENUM:
        return tw_new_enum(f, r);
    default:
        return tw_new_sized(f, r);
    }
}

static TW_MAYBE_UNUSED PyObject *tw_read_message(const tw_struct *root, tw_reader *r)
{
    PyObject *message;
    r->numbers_tuple = NULL;
    message = tw_read_struct(root, r);
    tw_remember_numbers(r, NULL, NULL);
    return message;
}

#include "engine/framed_decode_impl.h" /* uses the functions above */

#endif
