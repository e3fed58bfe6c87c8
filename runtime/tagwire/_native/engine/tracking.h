/* Which objects the garbage collector has to know: those that may become part of a cycle.
 *
 * The collector visits every object that it tracks, again and again; for a large message that takes longer than decoding it.
 * So an object of numbers, texts, bytes and tuples of these is not tracked, as CPython does with tuples and once did with
 * dicts. Assigning anything else to an attribute makes it tracked: its class gets a `__setattr__` that sees to it.
 */
#ifndef TAGWIRE_TRACKING_H
#define TAGWIRE_TRACKING_H

#include "engine/plan.h"

#ifndef Py_LIMITED_API

/* Whether a tuple holds nothing that the collector tracks. One that does not is untracked, as the collector would do. */
static TW_MAYBE_UNUSED int tw_is_atomic_tuple(PyObject *tuple)
{
    if (!PyObject_GC_IsTracked(tuple))
        return 1;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tuple); index++) {
        PyObject *element = PyTuple_GET_ITEM(tuple, index);
        if (element == NULL || PyType_IS_GC(Py_TYPE(element)))
            return 0;
    }
    PyObject_GC_UnTrack(tuple);
    return 1;
}

/* Whether a value can never be part of a cycle. */
static inline int tw_is_atomic(PyObject *value)
{
    return !PyType_IS_GC(Py_TYPE(value)) || (PyTuple_CheckExact(value) && tw_is_atomic_tuple(value));
}

/* What assigning to an attribute of a watched class, and deleting it, does: what it does elsewhere, behind a word to the collector. */
static int tw_assign(PyObject *object, PyObject *name, PyObject *value)
{
    if (value != NULL && !tw_is_atomic(value) && PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object))
        PyObject_GC_Track(object);
    return PyObject_GenericSetAttr(object, name, value);
}

/* Give a class one half of `tw_assign`, as `object` has its own. */
static int tw_set_assignment(PyObject *cls, const char *name)
{
    PyObject *made = NULL, *usual = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, name);
    int failed = -1;
    if (usual != NULL && Py_IS_TYPE(usual, &PyWrapperDescr_Type))
        made = PyDescr_NewWrapper((PyTypeObject *)cls, ((PyWrapperDescrObject *)usual)->d_base, (void *)tw_assign);
    if (made != NULL)
        failed = PyObject_SetAttrString(cls, name, made);
    Py_XDECREF(made);
    Py_XDECREF(usual);
    return failed;
}

/* Have a class assign by `tw_assign` if it assigns as `object` does: whether it then does. */
static TW_MAYBE_UNUSED int tw_watch_assignments(PyObject *cls)
{
    setattrofunc *assign = &((PyTypeObject *)cls)->tp_setattro;
    if (*assign == PyObject_GenericSetAttr && Py_IS_TYPE(cls, &PyType_Type) &&
        (tw_set_assignment(cls, "__setattr__") < 0 || tw_set_assignment(cls, "__delattr__") < 0))
        PyErr_Clear();
    return *assign == tw_assign;
}

static TW_MAYBE_UNUSED int tw_watches_assignments(PyObject *cls) { return ((PyTypeObject *)cls)->tp_setattro == tw_assign; }

#else /* types have no such slot in the limited API: all objects are tracked */

static inline int tw_is_atomic(PyObject *value)
{
    (void)value;
    return 0;
}

static TW_MAYBE_UNUSED int tw_watch_assignments(PyObject *cls)
{
    (void)cls;
    return 0;
}

static TW_MAYBE_UNUSED int tw_watches_assignments(PyObject *cls)
{
    (void)cls;
    return 0;
}

#endif

#endif
