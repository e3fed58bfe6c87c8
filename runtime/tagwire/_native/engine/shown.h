/* Collect the strings for the `repr` of a struct, which shows the attributes that differ from their defaults.
 * data_class.pxi joins the strings. */
#ifndef TAGWIRE_SHOWN_H
#define TAGWIRE_SHOWN_H

#include "engine/same.h"

typedef struct {
    tw_comparing t;
    PyObject *strings;
    PyObject *opening, *closing, *lonely, *comma, *itself; /* the punctuation: `(`, `)`, `,)`, `, ` and `(...)` */
} tw_showing;

static int tw_show(tw_showing *s, PyObject *value);

static int tw_show_struct(tw_showing *s, const tw_data_class *c, PyObject *object)
{
    int failed = PyList_Append(s->strings, c->opening), shown = 0;
    for (const tw_attribute *a = c->attributes, *end = a + c->count; !failed && a < end; a++) {
        PyObject *value = tw_attribute_of(object, a);
        int same = value == NULL ? -1 : tw_is_default(&s->t, a, value);
        failed = same < 0;
        if (same == 0)
            failed = (shown++ && PyList_Append(s->strings, s->comma) < 0) || PyList_Append(s->strings, a->shown) < 0 ||
                     tw_show(s, value) < 0;
        Py_XDECREF(value);
    }
    return failed || PyList_Append(s->strings, s->closing) < 0 ? -1 : 0;
}

/* Return whether a tuple might contain itself, which it can't if all its elements are ints and strings. */
static int tw_may_contain_itself(PyObject *tuple)
{
    for (Py_ssize_t index = 0, size = TW_TUPLE_SIZE(tuple); index < size; index++) {
        PyObject *value = TW_TUPLE_GET(tuple, index);
        if (!PyLong_CheckExact(value) && !PyUnicode_CheckExact(value))
            return 1;
    }
    return 0;
}

static int tw_show_tuple(tw_showing *s, PyObject *tuple)
{
    Py_ssize_t size = TW_TUPLE_SIZE(tuple);
    int failed, is_guarded = tw_may_contain_itself(tuple), inside = is_guarded ? Py_ReprEnter(tuple) : 0;
    if (inside)
        return inside < 0 ? -1 : PyList_Append(s->strings, s->itself);
    failed = PyList_Append(s->strings, s->opening);
    for (Py_ssize_t index = 0; !failed && index < size; index++)
        failed = (index && PyList_Append(s->strings, s->comma) < 0) || tw_show(s, TW_TUPLE_GET(tuple, index)) < 0;
    failed = failed || PyList_Append(s->strings, size == 1 ? s->lonely : s->closing) < 0;
    if (is_guarded)
        Py_ReprLeave(tuple);
    return failed ? -1 : 0;
}

/* Append a value's `repr` to the list of strings. The caller holds a reference to `value`. */
static int tw_show(tw_showing *s, PyObject *value)
{
    const tw_data_class *c = PyTuple_CheckExact(value) ? NULL : tw_shown_class_of(Py_TYPE(value));
    PyObject *text;
    int failed;
    if (c == NULL && PyErr_Occurred())
        return -1;
    if (c != NULL || (PyTuple_CheckExact(value) && TW_TUPLE_SIZE(value))) {
        if (Py_EnterRecursiveCall(" while getting the repr of a struct"))
            return -1;
        failed = c != NULL ? tw_show_struct(s, c, value) : tw_show_tuple(s, value);
        Py_LeaveRecursiveCall();
        return failed;
    }
    text = PyObject_Repr(value);
    failed = text == NULL ? -1 : PyList_Append(s->strings, text);
    Py_XDECREF(text);
    return failed;
}

#endif
