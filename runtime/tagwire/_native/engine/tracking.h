/* Decide which objects the garbage collector must track.
 *
 * For a large message, visiting every tracked object takes longer than decoding. Objects that contain only numbers,
 * strings, bytes and tuples of these are not tracked. They can become part of a reference cycle only if an attribute is
 * set to a value that its type does not allow. In Python's development mode, all structs are tracked (UNTRACKS). */
#ifndef TAGWIRE_TRACKING_H
#define TAGWIRE_TRACKING_H

#include "engine/compat.h"

#ifndef Py_LIMITED_API

/* Return whether a tuple is never part of a reference cycle, because no element is a container. Untrack such a
 * tuple. */
static TW_MAYBE_UNUSED int tw_is_atomic_tuple(PyObject *tuple)
{
    if (!PyObject_GC_IsTracked(tuple))
        return 1;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tuple); index++) {
        PyObject *element = PyTuple_GET_ITEM(tuple, index);
        if (element == NULL || PyType_IS_GC(Py_TYPE(element)))
            return 0;
    }
    if (!TW_FREE_THREADED) /* in a free-threaded build, another thread may be using the tuple */
        PyObject_GC_UnTrack(tuple);
    return 1;
}

/* Return whether a value can never be part of a reference cycle. */
static inline int tw_is_atomic(PyObject *value)
{
    return !PyType_IS_GC(Py_TYPE(value)) || (PyTuple_CheckExact(value) && tw_is_atomic_tuple(value));
}

#else /* the limited API can't check values */

static inline int tw_is_atomic(PyObject *value)
{
    (void)value;
    return 0;
}

#endif

#endif
