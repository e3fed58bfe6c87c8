/* Create objects and field defaults, and check whether a value is its field's default. */
#ifndef TAGWIRE_DEFAULTS_H
#define TAGWIRE_DEFAULTS_H

#include "engine/coercion.h"

static inline PyObject *tw_new_object(const tw_class *factory, int untracked)
{
    PyObject *object;
#ifndef Py_LIMITED_API
    if (untracked && factory->slots_size) {
        object = PyObject_GC_New(PyObject, factory->cls);
        if (object != NULL)
            memset((char *)object + sizeof(PyObject), 0, factory->slots_size);
        return object;
    }
#endif
    object = factory->alloc(factory->cls, 0);
    if (untracked && object != NULL)
        PyObject_GC_UnTrack(object);
    return object;
}

static PyObject *tw_copy_fresh(const tw_fresh *fresh, int untracked);

static inline PyObject *tw_default(const tw_field *f, int untracked)
{
    if (TW_UNLIKELY(f->value == NULL))
        return tw_copy_fresh(f->fresh, untracked);
    Py_INCREF(f->value);
    return f->value;
}

static PyObject *tw_copy_fresh(const tw_fresh *fresh, int untracked)
{
    PyObject *object = tw_new_object(&fresh->factory, untracked);
    if (object == NULL)
        return NULL;
    for (const tw_field *f = fresh->fields, *end = f + fresh->count; f < end; f++) {
        PyObject *value;
        if (f->late)
            continue;
        value = tw_default(f, untracked);
        if (value == NULL) {
            Py_DECREF(object);
            return NULL;
        }
        TW_SLOT(object, f->slot) = value;
    }
    return object;
}

/* Fill an empty slot with a new default struct. Return the slot's value. */
static TW_MAYBE_UNUSED PyObject *tw_lazy_value(PyObject *object, Py_ssize_t slot, const tw_fresh *fresh)
{
    PyObject *value = tw_copy_fresh(fresh, 0);
    int is_filled; /* whether other code, such as another thread, has filled the slot */
    if (value == NULL)
        return NULL;
    TW_LOCK(object);
    is_filled = TW_SLOT(object, slot) != NULL;
    if (!is_filled)
        TW_PUBLISH(TW_SLOT(object, slot), value);
    TW_UNLOCK();
    if (is_filled)
        Py_DECREF(value);
    return tw_slot(object, slot);
}

static int tw_differs_by_python(const tw_field *f, PyObject *value)
{
    PyObject *fresh = tw_default(f, 0);
    int differs;
    if (fresh == NULL)
        return -1;
    Py_INCREF(value);
    differs = tw_values_differ(value, fresh);
    Py_DECREF(value);
    Py_DECREF(fresh);
    return differs;
}

/* Return 1 if two values are the same object, equal ints, or equal strings. Return 0 if they differ or if only Python
 * can decide. */
static inline int tw_is_same(PyObject *value, PyObject *fresh)
{
    if (value == fresh)
        return 1;
    if (Py_TYPE(value) != Py_TYPE(fresh) || !(PyLong_CheckExact(value) || PyUnicode_CheckExact(value)))
        return 0;
    return PyObject_RichCompareBool(value, fresh, Py_EQ) == 1;
}

/* Return 1 if every slot of a struct has its default. Return 0 if a value differs or if only Python can decide. */
static int tw_is_fresh(const tw_fresh *fresh, PyObject *object)
{
    if (Py_TYPE(object) != fresh->factory.cls)
        return 0;
    for (const tw_field *f = fresh->fields, *end = f + fresh->count; f < end; f++) {
        TW_HELD PyObject *value = tw_slot(object, f->slot);
        if (value == NULL ? !f->late : !(f->fresh == NULL ? tw_is_same(value, f->value) : tw_is_fresh(f->fresh, value)))
            return 0;
    }
    return 1;
}

/* Compare two floats by their bits, so that a NaN equals itself and 0.0 differs from -0.0. */
static inline int tw_same_floats(PyObject *one, PyObject *other)
{
    double x = PyFloat_AsDouble(one), y = PyFloat_AsDouble(other);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* Return 1 if a slot's value differs from the field's default, 0 if not, or -1 for an error. */
static TW_MAYBE_UNUSED int tw_differs(const tw_field *f, PyObject *value)
{
    PyObject *fresh = f->value;
    if (value == NULL)
        return f->late ? 0 : -1;
    if (fresh == NULL) {
        if (tw_is_fresh(f->fresh, value))
            return 0;
    } else if (PyFloat_CheckExact(fresh)) {
        if (PyFloat_CheckExact(value))
            return !tw_same_floats(value, fresh);
    } else if (tw_is_same(value, fresh))
        return 0;
    else if (PyTuple_CheckExact(fresh) && (PyTuple_CheckExact(value) || PyList_CheckExact(value)))
        return PyObject_Size(value) > 0; /* an array's default is always an empty array */
    return tw_differs_by_python(f, value);
}

#endif
