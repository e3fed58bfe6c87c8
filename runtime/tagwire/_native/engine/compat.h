/* Common names for features that differ between CPython releases, the limited API (abi3) and compilers.
 *
 * With Py_LIMITED_API, one binary runs on CPython 3.11 and all later releases. */
#ifndef TAGWIRE_COMPAT_H
#define TAGWIRE_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h> /* in the limited API before Python 3.12, this header declares PyMemberDef and T_OBJECT_EX */
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#  define TW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#  define TW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#  define TW_RARE __attribute__((cold, noinline))
#  define TW_NOINLINE __attribute__((noinline))
#  define TW_MAYBE_UNUSED __attribute__((unused)) /* avoids a warning in C files that don't call the function */
#  define TW_PREFETCH(object) (__builtin_prefetch(object), __builtin_prefetch((const char *)(object) + 64))
#else
#  define TW_LIKELY(condition) (condition)
#  define TW_UNLIKELY(condition) (condition)
#  define TW_RARE
#  define TW_NOINLINE
#  define TW_MAYBE_UNUSED
#  define TW_PREFETCH(object) ((void)(object))
#endif

/* Return the result of a call from the calling function if it is negative, which means an error. */
#define TW_TRY(call)                    \
    do {                                \
        int returned = (call);          \
        if (TW_UNLIKELY(returned < 0))  \
            return returned;            \
    } while (0)

/* Loops over objects prefetch the object that is this many elements ahead, so that they don't wait for memory. */
#define TW_AHEAD 8

/* The attribute stored at a byte offset in a data class object, or NULL if it was never set or was deleted. */
#define TW_SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Macros that read a value from an object's slot, a list or a dict.
 *
 * With the GIL, they return borrowed references. In a free-threaded build, another thread may release the value at
 * any time, so they return new references. A variable declared as TW_HELD releases its reference at the end of its
 * scope. Between TW_LOCK and TW_UNLOCK, other threads can't use the object, as long as the code there neither waits nor
 * runs Python code. */
#ifdef Py_GIL_DISABLED
#  define TW_FREE_THREADED 1
#  define TW_HELD __attribute__((cleanup(tw_release)))
#  define TW_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#  define TW_UNLOCK() Py_END_CRITICAL_SECTION()
#  define TW_PUBLISH(target, value) __atomic_store_n(&(target), (value), __ATOMIC_RELEASE)
static inline void tw_release(PyObject **held) { Py_XDECREF(*held); }
static inline PyObject *tw_held(PyObject *value) { return Py_XNewRef(value); }
static inline PyObject *tw_list_item(PyObject *list, Py_ssize_t index) { return PyList_GetItemRef(list, index); }
static inline PyObject *tw_slot(PyObject *object, Py_ssize_t offset)
{
    PyObject *value;
    TW_LOCK(object);
    value = Py_XNewRef(TW_SLOT(object, offset));
    TW_UNLOCK();
    return value;
}
static inline PyObject *tw_dict_value(PyObject *dict, PyObject *key)
{
    PyObject *value;
    (void)PyDict_GetItemRef(dict, key, &value);
    return value;
}
static inline PyObject *tw_new_slot(PyObject *object, Py_ssize_t offset) { return tw_slot(object, offset); }
static inline int tw_claim(int *flag) { return __atomic_exchange_n(flag, 1, __ATOMIC_ACQUIRE) == 0; }
static inline void tw_leave(int *flag) { __atomic_store_n(flag, 0, __ATOMIC_RELEASE); }
/* Stop counting references to an object that is never freed, so that threads don't contend for the count. */
static inline void tw_immortalize(PyObject *object)
{
    if (object->ob_tid == _Py_ThreadId())
        __atomic_store_n(&object->ob_ref_local, _Py_IMMORTAL_REFCNT_LOCAL, __ATOMIC_RELAXED);
}
#else
#  define TW_FREE_THREADED 0
#  define TW_HELD
#  define TW_LOCK(object) {
#  define TW_UNLOCK() }
#  define TW_PUBLISH(target, value) ((target) = (value))
#  define tw_release(held) ((void)(held))
#  define tw_held(value) (value)
#  define tw_list_item PyList_GetItem
#  define tw_slot TW_SLOT
#  define tw_dict_value PyDict_GetItemWithError
#  define tw_claim(flag) ((void)(flag), 1)
#  define tw_leave(flag) ((void)(flag))
#  define tw_immortalize(object) ((void)(object))
static inline PyObject *tw_new_slot(PyObject *object, Py_ssize_t offset) { return Py_XNewRef(TW_SLOT(object, offset)); }
#endif

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

/* Store an exact int (not of a subclass) with a single internal digit in `*x`, and return 1. Such an int fits in 32 bits.
 * Always return 0 for the limited API, which does not expose the number of digits. */
static inline int tw_short_int(PyObject *value, int64_t *x)
{
#if defined(Py_LIMITED_API)
    return (void)value, (void)x, 0;
#elif PY_VERSION_HEX >= 0x030C0000
    if (TW_UNLIKELY(!PyLong_CheckExact(value) || !PyUnstable_Long_IsCompact((PyLongObject *)value)))
        return 0;
    *x = PyUnstable_Long_CompactValue((PyLongObject *)value);
    /* Up to CPython 3.15, a compact int has one digit. That is not documented, so a later release may change it. */
    return PY_VERSION_HEX < 0x03100000 || *x == (int32_t)*x;
#else
    if (TW_UNLIKELY(!PyLong_CheckExact(value) || (size_t)(Py_SIZE(value) + 1) > 2))
        return 0;
    *x = (int64_t)Py_SIZE(value) * ((PyLongObject *)value)->ob_digit[0];
    return 1;
#endif
}

/* Store an exact int (not of a subclass) in `*x`, and return 1. Return 0 without an exception for other values, and for
 * ints that need more than 64 bits. */
static inline int tw_exact_int(PyObject *value, int64_t *x)
{
    int overflow;
    if (TW_LIKELY(tw_short_int(value, x)))
        return 1;
    if (TW_UNLIKELY(!PyLong_CheckExact(value)))
        return 0;
/* A fast path for ints with two internal digits, such as timestamps, before CPython 3.14. Later releases don't document
 * how an int stores its digits. */
#if defined(Py_LIMITED_API) || PYLONG_BITS_IN_DIGIT != 30
#elif PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    if (((PyLongObject *)value)->long_value.lv_tag >> 3 == 2) {
        const digit *digits = ((PyLongObject *)value)->long_value.ob_digit;
        *x = (int64_t)digits[1] << 30 | digits[0];
        if ((((PyLongObject *)value)->long_value.lv_tag & 3) == 2)
            *x = -*x;
        return 1;
    }
#elif PY_VERSION_HEX < 0x030C0000
    if (Py_SIZE(value) == 2 || Py_SIZE(value) == -2) {
        const digit *digits = ((PyLongObject *)value)->ob_digit;
        *x = (int64_t)digits[1] << 30 | digits[0];
        if (Py_SIZE(value) < 0)
            *x = -*x;
        return 1;
    }
#endif
    *x = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

/* Like tw_exact_int, but return 0 also for ints that need more than 32 bits. */
static inline int tw_exact_int32(PyObject *value, int64_t *x)
{
    return TW_LIKELY(tw_short_int(value, x)) || (tw_exact_int(value, x) && *x == (int32_t)*x);
}

/* Look up an attribute in a class and its bases. Return a new reference: to the attribute, or to None if the class does
 * not have it. */
static inline PyObject *tw_class_attribute(PyTypeObject *cls, PyObject *name)
{
#ifdef Py_LIMITED_API
    PyObject *found = PyObject_GetAttr((PyObject *)cls, name);
    if (found == NULL)
        PyErr_Clear();
#elif PY_VERSION_HEX >= 0x030D0000
    PyObject *found = _PyType_LookupRef(cls, name);
#else
    PyObject *found = Py_XNewRef(_PyType_Lookup(cls, name));
#endif
    return TW_LIKELY(found != NULL) ? found : Py_NewRef(Py_None);
}

/* Return the method `__iter__` for a class. `iter(object)` then calls `iterate` without looking up the method. In the
 * limited API, it calls `method`, which must do the same. */
static inline PyObject *tw_iter_method(PyTypeObject *cls, PyMethodDef *method, getiterfunc iterate)
{
#ifdef Py_LIMITED_API
    (void)iterate;
    return PyDescr_NewMethod(cls, method);
#else
    /* If a class's `__iter__` is a descriptor like `tuple.__iter__`, Python stores its function in tp_iter. */
    PyObject *found, *known = PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__iter__");
    (void)method;
    if (known == NULL)
        return NULL;
    found = PyDescr_NewWrapper(cls, ((PyWrapperDescrObject *)known)->d_base, (void *)iterate);
    Py_DECREF(known);
    return found;
#endif
}

/* Before CPython 3.12, keep the garbage collector from running while a message is decoded. Later releases never collect
 * during a call of C code. */
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030C0000
#  define tw_pause_gc PyGC_Disable
static inline void tw_resume_gc(int was_enabled)
{
    if (was_enabled)
        PyGC_Enable();
}
#else
#  define tw_pause_gc() 0
#  define tw_resume_gc(was_enabled) ((void)(was_enabled))
#endif

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

/* Store a number as 16 big-endian bytes. Return 0, or -1 (possibly with an exception set) if the number is negative or
 * needs more than 16 bytes. */
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

/* Return 1 if tw_16_bytes_of_int can store a number. Otherwise return 0, possibly with an exception set. */
static inline int tw_is_16_bytes(PyObject *number)
{
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030D0000
    return _PyLong_Sign(number) >= 0 && _PyLong_NumBits(number) <= 128;
#else
    uint8_t bytes[16];
    return tw_16_bytes_of_int(number, bytes) == 0;
#endif
}

#endif
