/* What differs between releases of CPython, the limited API (abi3) and compilers: named once, so that the rest does not ask.
 *
 * With Py_LIMITED_API one binary serves 3.11 and all later releases; macros become calls there, which is all that it costs.
 */
#ifndef TAGWIRE_COMPAT_H
#define TAGWIRE_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h> /* PyMemberDef and T_OBJECT_EX: in Python.h of the limited API only from 3.12 on */
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#  define TW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#  define TW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#  define TW_RARE __attribute__((cold, noinline))
#  define TW_NOINLINE __attribute__((noinline))
#  define TW_MAYBE_UNUSED __attribute__((unused)) /* what one of the files that include it may not call */
#  define TW_PREFETCH(object) (__builtin_prefetch(object), __builtin_prefetch((const char *)(object) + 64))
#else
#  define TW_LIKELY(condition) (condition)
#  define TW_UNLIKELY(condition) (condition)
#  define TW_RARE
#  define TW_NOINLINE
#  define TW_MAYBE_UNUSED
#  define TW_PREFETCH(object) ((void)(object))
#endif

#define TW_AHEAD 8 /* elements that are fetched before they are looked at, where waiting for memory is most of the work */

/* The attribute that a slot of a data class holds; NULL where it was never set, or deleted. */
#define TW_SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

#ifdef Py_LIMITED_API
#  define TW_TUPLE_SET(tuple, index, value) ((void)PyTuple_SetItem((tuple), (index), (value)))
#  define TW_TUPLE_GET(tuple, index) PyTuple_GetItem((tuple), (index))
#  define TW_TUPLE_SIZE(tuple) PyTuple_Size(tuple)
#  define TW_BYTES_DATA(bytes) ((uint8_t *)PyBytes_AsString(bytes))
#  define TW_BYTES_SIZE(bytes) PyBytes_Size(bytes)
#else
#  define TW_TUPLE_SET(tuple, index, value) PyTuple_SET_ITEM((tuple), (index), (value))
#  define TW_TUPLE_GET(tuple, index) PyTuple_GET_ITEM((tuple), (index))
#  define TW_TUPLE_SIZE(tuple) PyTuple_GET_SIZE(tuple)
#  define TW_BYTES_DATA(bytes) ((uint8_t *)PyBytes_AS_STRING(bytes))
#  define TW_BYTES_SIZE(bytes) PyBytes_GET_SIZE(bytes)
#endif

/* The number of an int that is no subclass, if it can be had without further ado: 1, or 0 where it can't. */
static inline int tw_exact_int(PyObject *value, int64_t *x)
{
    if (TW_UNLIKELY(!PyLong_CheckExact(value)))
        return 0;
#if defined(Py_LIMITED_API)
    *x = PyLong_AsLongLong(value);
    if (*x == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
#elif PY_VERSION_HEX >= 0x030C0000
    if (TW_LIKELY(PyUnstable_Long_IsCompact((PyLongObject *)value))) {
        *x = PyUnstable_Long_CompactValue((PyLongObject *)value);
        return 1;
    }
#  if PY_VERSION_HEX < 0x030F0000 && PYLONG_BITS_IN_DIGIT == 30 /* two digits: timestamps, for one */
    if (((PyLongObject *)value)->long_value.lv_tag >> 3 == 2) {
        const digit *digits = ((PyLongObject *)value)->long_value.ob_digit;
        *x = (int64_t)digits[1] << 30 | digits[0];
        if ((((PyLongObject *)value)->long_value.lv_tag & 3) == 2)
            *x = -*x;
        return 1;
    }
#  endif
    return 0;
#else
    if (TW_LIKELY((size_t)(Py_SIZE(value) + 1) <= 2)) {
        *x = (int64_t)Py_SIZE(value) * ((PyLongObject *)value)->ob_digit[0];
        return 1;
    }
#  if PYLONG_BITS_IN_DIGIT == 30 /* two digits: timestamps, for one */
    if (Py_SIZE(value) == 2 || Py_SIZE(value) == -2) {
        const digit *digits = ((PyLongObject *)value)->ob_digit;
        *x = (int64_t)digits[1] << 30 | digits[0];
        if (Py_SIZE(value) < 0)
            *x = -*x;
        return 1;
    }
#  endif
    return 0;
#endif
}

/* What a class's namespace and those of its bases hold under a name: borrowed, and NULL without an error. */
static inline PyObject *tw_class_attribute(PyTypeObject *cls, PyObject *name)
{
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030D0000
    return _PyType_Lookup(cls, name);
#else
#  ifdef Py_LIMITED_API
    PyObject *found = PyObject_GetAttr((PyObject *)cls, name);
    if (found == NULL)
        PyErr_Clear();
#  else
    PyObject *found = _PyType_LookupRef(cls, name);
#  endif
    Py_XDECREF(found); /* the class still holds it */
    return found;
#endif
}

/* ---------------------------------------------------------------- numbers of 128 bits: those of UUIDs */

static inline PyObject *tw_int_of_16_bytes(const uint8_t *data)
{
#if defined(Py_LIMITED_API)
    return PyObject_CallMethod((PyObject *)&PyLong_Type, "from_bytes", "y#s", (const char *)data, (Py_ssize_t)16, "big");
#elif PY_VERSION_HEX >= 0x030D0000
    return PyLong_FromUnsignedNativeBytes(data, 16, Py_ASNATIVEBYTES_BIG_ENDIAN);
#else
    return _PyLong_FromByteArray(data, 16, 0, 0);
#endif
}

/* -1 where the number is negative or longer, perhaps with an exception. */
static inline int tw_16_bytes_of_int(PyObject *number, uint8_t *data)
{
#if defined(Py_LIMITED_API)
    PyObject *bytes = PyObject_CallMethod(number, "to_bytes", "is", 16, "big");
    if (bytes == NULL)
        return -1;
    memcpy(data, PyBytes_AsString(bytes), 16);
    Py_DECREF(bytes);
    return 0;
#elif PY_VERSION_HEX >= 0x030D0000
    int flags = Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER | Py_ASNATIVEBYTES_REJECT_NEGATIVE;
    Py_ssize_t size = PyLong_AsNativeBytes(number, data, 16, flags);
    return size < 0 || size > 16 ? -1 : 0;
#else
    return _PyLong_AsByteArray((PyLongObject *)number, data, 16, 0, 0);
#endif
}

#endif
