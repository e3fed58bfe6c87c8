/* Compare values as `Struct.__eq__` does: floats by their bits, arrays element by element.
 *
 * Comparing objects may run Python code that changes objects, so these functions hold references to the values.
 */
#ifndef TAGWIRE_SAME_H
#define TAGWIRE_SAME_H

#include "engine/data_class.h"

/* TW_EQUAL compares only values. TW_IDENTICAL also compares types, but treats memoryview and bytes as the same type. */
enum tw_sameness { TW_EQUAL, TW_IDENTICAL };

typedef struct {
    int sameness;
    PyTypeObject *cls;       /* class of the last compared objects, cached with its attributes */
    const tw_data_class *c;  /* the attributes of `cls`, or NULL if Python must compare objects of this class */
} tw_comparing;

static int tw_same(tw_comparing *t, PyObject *one, PyObject *other);

/* Compare two values without running Python code. Return 1 if they are equal, 0 if not, or -1 if the comparison might
 * run Python code. */
static inline int tw_same_exact(PyObject *one, PyObject *other)
{
    int64_t x, y;
    if (Py_TYPE(one) != Py_TYPE(other))
        return -1;
    if (PyLong_CheckExact(one)) {
        if (one == other)
            return 1;
        if (tw_exact_int(one, &x) && tw_exact_int(other, &y))
            return x == y;
        return PyObject_RichCompareBool(one, other, Py_EQ);
    }
    if (PyUnicode_CheckExact(one) || PyBytes_CheckExact(one))
        return one == other || PyObject_RichCompareBool(one, other, Py_EQ) == 1;
    return one == other && (one == Py_None || PyBool_Check(one)) ? 1 : -1;
}

static int tw_same_tuples(tw_comparing *t, PyObject *one, PyObject *other)
{
    Py_ssize_t size = TW_TUPLE_SIZE(one);
    if (size != TW_TUPLE_SIZE(other))
        return 0;
    for (Py_ssize_t index = 0; index < size; index++) {
        PyObject *x = TW_TUPLE_GET(one, index), *y = TW_TUPLE_GET(other, index);
        int same;
        if (index + TW_AHEAD < size) {
            TW_PREFETCH(TW_TUPLE_GET(one, index + TW_AHEAD));
            TW_PREFETCH(TW_TUPLE_GET(other, index + TW_AHEAD));
        }
        same = tw_same_exact(x, y);
        if (same < 0)
            same = tw_same(t, x, y);
        if (same != 1)
            return same;
    }
    return 1;
}

/* Compare copies of two tuples or lists, because comparing elements may run Python code that changes a list. */
static int tw_same_arrays(tw_comparing *t, PyObject *one, PyObject *other)
{
    PyObject *mine = PySequence_Tuple(one), *yours = PySequence_Tuple(other);
    int same = mine == NULL || yours == NULL ? -1 : tw_same_tuples(t, mine, yours);
    Py_XDECREF(mine);
    Py_XDECREF(yours);
    return same;
}

static int tw_same_structs(tw_comparing *t, const tw_data_class *c, PyObject *one, PyObject *other)
{
    int same = 1;
    if (Py_EnterRecursiveCall(" while comparing structs"))
        return -1;
    for (const tw_attribute *a = c->attributes, *end = a + c->count; same == 1 && a < end; a++) {
        TW_HELD PyObject *mine = tw_slot(one, a->slot), *yours = tw_slot(other, a->slot);
        PyObject *x, *y;
        if (mine == yours && mine != NULL && mine != a->deleted)
            continue;
        if (mine != NULL && yours != NULL) {
            same = tw_same_exact(mine, yours);
            if (same >= 0)
                continue;
        }
        x = tw_attribute_of(one, a);
        y = x == NULL ? NULL : tw_attribute_of(other, a);
        same = y == NULL ? -1 : x == y ? 1 : tw_same(t, x, y);
        Py_XDECREF(x);
        Py_XDECREF(y);
    }
    Py_LeaveRecursiveCall();
    return same;
}

static int tw_same_by_python(PyObject *one, PyObject *other)
{
    PyObject *result = PyObject_RichCompare(one, other, Py_EQ);
    int same = result == NULL ? -1 : PyObject_IsTrue(result);
    Py_XDECREF(result);
    return same;
}

/* Compare two values, to which the caller holds references. Return 1 if they are equal, 0 if not, or -1 for an
 * error. */
static int tw_same(tw_comparing *t, PyObject *one, PyObject *other)
{
    int same = tw_same_exact(one, other);
    if (same >= 0)
        return same;
    if ((PyTuple_CheckExact(one) || PyList_CheckExact(one)) && (PyTuple_CheckExact(other) || PyList_CheckExact(other))) {
        if (t->sameness == TW_IDENTICAL && Py_TYPE(one) != Py_TYPE(other))
            return 0;
        if (Py_EnterRecursiveCall(" while comparing arrays"))
            return -1;
        same = tw_same_arrays(t, one, other);
        Py_LeaveRecursiveCall();
        return same;
    }
    if (Py_TYPE(one) == Py_TYPE(other)) {
        if (PyFloat_CheckExact(one))
            return tw_same_floats(one, other);
        if (Py_TYPE(one) != t->cls) {
            t->c = tw_data_class_of(Py_TYPE(one));
            t->cls = Py_TYPE(one);
            if (t->c == NULL && PyErr_Occurred())
                return -1;
        }
        if (t->c != NULL)
            return tw_same_structs(t, t->c, one, other);
    } else if (t->sameness == TW_IDENTICAL && !PyMemoryView_Check(one))
        return 0;
    if (PyFloat_Check(one) && PyFloat_Check(other))
        return tw_same_floats(one, other);
    if ((PyTuple_Check(one) || PyList_Check(one)) && (PyTuple_Check(other) || PyList_Check(other)))
        return tw_same_odd_arrays(one, other);
    return tw_same_by_python(one, other);
}

/* Return whether an attribute's value equals its value in an object constructed without arguments. */
static TW_MAYBE_UNUSED int tw_is_default(tw_comparing *t, const tw_attribute *a, PyObject *value)
{
    return value == a->fresh ? 1 : tw_same(t, value, a->fresh);
}

#endif
