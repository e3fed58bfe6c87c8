/* Convert single values between bytes and Python objects.
 *
 * Encoding also accepts types that decoding never creates, such as objects with `__index__`, bytearrays and lists. Hold
 * references while converting these types, which can run Python code.
 */
#ifndef TAGWIRE_VALUES_H
#define TAGWIRE_VALUES_H

#include "engine/coercion.h"
#include "engine/utf8.h"
#include "engine/writer.h"

static inline PyObject *tw_new_int(const tw_shared *shared, int64_t x)
{
    if (TW_LIKELY((uint64_t)x - (uint64_t)TW_INTS_LOW <= TW_INTS_HIGH - TW_INTS_LOW)) {
        PyObject *value = shared->ints[x - TW_INTS_LOW];
        Py_INCREF(value);
        return value;
    }
    return sizeof(long) == 8 ? PyLong_FromLong((long)x) : PyLong_FromLongLong(x);
}

static PyObject *tw_new_uuid(const tw_reader *r, const uint8_t *p)
{
    const tw_shared *shared = r->shared;
    PyObject *uuid, *number = tw_int_of_16_bytes(p);
    if (number == NULL)
        return NULL;
    uuid = shared->uuid_alloc(shared->uuid, 0);
    if (uuid == NULL) {
        Py_DECREF(number);
        return NULL;
    }
    TW_SLOT(uuid, shared->uuid_int_slot) = number;
    Py_INCREF(shared->uuid_safety);
    TW_SLOT(uuid, shared->uuid_safety_slot) = shared->uuid_safety;
    PyObject_GC_UnTrack(uuid); /* UUIDs are immutable, so they are never part of a cycle */
    return uuid;
}

/* Read a four-byte float exactly as Python's `struct` module does. A C cast could change the bits of a NaN. */
static PyObject *tw_new_float32(const uint8_t *p)
{
    double number;
#ifdef Py_LIMITED_API
    uint32_t bits = tw_get32(p);
    float narrow;
    memcpy(&narrow, &bits, 4);
    number = narrow;
#else
    number = PyFloat_Unpack4((const char *)p, 0);
    if (number == -1.0 && PyErr_Occurred())
        return NULL;
#endif
    return PyFloat_FromDouble(number);
}

/* Read the fixed-width value at `p`. The caller has checked that enough bytes are left. */
static inline PyObject *tw_new_fixed(const tw_reader *r, int kind, const uint8_t *p)
{
    uint64_t bits;
    double number;
    switch (kind) {
    case TW_BOOL:
        return *p > 1 ? NULL : PyBool_FromLong(*p);
    case TW_UINT64:
        return PyLong_FromUnsignedLongLong(tw_get64(p));
    case TW_FLOAT32:
        return tw_new_float32(p);
    case TW_FLOAT64:
        bits = tw_get64(p);
        memcpy(&number, &bits, 8);
        return PyFloat_FromDouble(number);
    case TW_UUID:
        return tw_new_uuid(r, p);
    default:
        return tw_new_int(r->shared, tw_get_int(kind, p));
    }
}

static TW_MAYBE_UNUSED PyObject *tw_new_varint(const tw_field *f, tw_reader *r)
{
    uint64_t x;
    if (tw_read_bits(f, r, &x) < 0)
        return NULL;
    if (f->zigzag == TW_UNSIGNED)
        return PyLong_FromUnsignedLongLong(x);
    return tw_new_int(r->shared, tw_signed(f, x));
}

static PyObject *tw_new_string(const tw_reader *r, const uint8_t *p, Py_ssize_t size)
{
    PyObject *text;
    if (size == 0) {
        Py_INCREF(r->shared->empty_string);
        return r->shared->empty_string;
    }
#ifndef Py_LIMITED_API
    /* A fast path for ASCII. For one character, PyUnicode_DecodeUTF8 returns a shared object. */
    if (size > 1 && tw_is_ascii(p, size)) {
        text = PyUnicode_New(size, 0x7F);
        if (text != NULL)
            memcpy(PyUnicode_1BYTE_DATA(text), p, size);
        return text;
    }
#endif
    text = PyUnicode_DecodeUTF8((const char *)p, size, NULL);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return text;
}

/* Return a slice of a view. Copying the view and changing the copy's address and size is three times as fast as
 * slicing. slots.pxi tests whether this works. */
static PyObject *tw_moved_view(PyObject *whole, Py_ssize_t from, Py_ssize_t size)
{
#ifndef Py_LIMITED_API
    PyObject *view = PyMemoryView_FromObject(whole);
    if (view != NULL) {
        Py_buffer *buffer = PyMemoryView_GET_BUFFER(view);
        buffer->buf = (char *)buffer->buf + from;
        buffer->len = buffer->shape[0] = size;
    }
    return view;
#else
    return PySequence_GetSlice(whole, from, from + size);
#endif
}

static PyObject *tw_new_view(const tw_reader *r, const uint8_t *p, Py_ssize_t size)
{
    Py_ssize_t from = p - r->start;
    if (TW_LIKELY(r->shared->moves_views))
        return tw_moved_view(r->views, from, size);
    return PySequence_GetSlice(r->views, from, from + size);
}

static inline PyObject *tw_new_sized(const tw_field *f, tw_reader *r)
{
    const uint8_t *p;
    int64_t size = tw_pass_sized(f, r, &p);
    if (TW_UNLIKELY(size < 0))
        return size == TW_NULL ? Py_NewRef(Py_None) : NULL;
    if (f->kind == TW_STRING)
        return tw_new_string(r, p, (Py_ssize_t)size);
    if (r->views != NULL)
        return tw_new_view(r, p, (Py_ssize_t)size);
    return PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)size);
}

/* Read bytes of fixed size. Always copies them, because they are usually short. */
static TW_MAYBE_UNUSED PyObject *tw_new_block(const tw_field *f, tw_reader *r)
{
    const uint8_t *p = r->p;
    if (f->longest > r->end - p)
        return NULL;
    r->p += f->longest;
    return PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)f->longest);
}

/* The following functions return 0, or -1 if the value is rejected. */

static int tw_long_int(PyObject *value, int64_t *x)
{
    PyObject *number = PyLong_Check(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (number == NULL)
        return -1;
    *x = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return *x == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Convert an int, or an object with `__index__`, to 64 bits. Return 0, or -1 if the value isn't an integer or needs
 * more than 64 bits. */
static inline int tw_int_of(PyObject *value, int64_t *x)
{
    return TW_LIKELY(tw_exact_int(value, x)) ? 0 : tw_long_int(value, x);
}

static int tw_put_uint64(uint8_t *p, PyObject *value)
{
    PyObject *number = PyLong_Check(value) ? Py_NewRef(value) : PyNumber_Index(value);
    unsigned long long x;
    if (number == NULL)
        return -1;
    x = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (x == (unsigned long long)-1 && PyErr_Occurred())
        return -1;
    tw_put64(p, x);
    return 0;
}

/* Write a number as a float of this kind. Return -1 if the value isn't a number, or is a finite number that is too large
 * for a float32. */
static int tw_put_float(int kind, uint8_t *p, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* the value can't be converted to a float; Python's `struct` rejects it, too */
        return -1;
    }
    if (kind == TW_FLOAT64)
        return tw_put_float64(p, number);
    if (!tw_fits_float32(number))
        return -1;
#ifdef Py_LIMITED_API
    return tw_put_float32(p, (float)number);
#else
    return PyFloat_Pack4(number, (char *)p, 0);
#endif
}

static TW_RARE int tw_put_odd_bool(uint8_t *p, PyObject *value)
{
    PyObject *coerced = tw_coerced_bool(value);
    if (coerced == NULL)
        return -1;
    *p = (uint8_t)PyLong_AsLong(coerced);
    Py_DECREF(coerced);
    return 0;
}

static int tw_put_uuid(const tw_shared *shared, uint8_t *p, PyObject *value)
{
    PyObject *coerced;
    if (TW_LIKELY(Py_TYPE(value) == shared->uuid)) {
        TW_HELD PyObject *number = tw_slot(value, shared->uuid_int_slot);
        if (number != NULL && PyLong_CheckExact(number))
            return tw_16_bytes_of_int(number, p);
    }
    coerced = tw_coerced_uuid(value);
    if (coerced == NULL)
        return -1;
    memcpy(p, TW_BYTES_DATA(coerced), 16);
    Py_DECREF(coerced);
    return 0;
}

/* Write a fixed-width value at `p`. The caller must make room, and hold a reference to `value`, because Python code may
 * run. */
static inline int tw_put_fixed(const tw_shared *shared, int kind, uint8_t *p, PyObject *value)
{
    int64_t x;
    switch (kind) {
    case TW_BOOL:
        if (value == Py_True || value == Py_False) {
            *p = value == Py_True;
            return 0;
        }
        return tw_put_odd_bool(p, value);
    case TW_UINT64:
        return tw_put_uint64(p, value);
    case TW_FLOAT32:
    case TW_FLOAT64:
        return tw_put_float(kind, p, value);
    case TW_UUID:
        return tw_put_uuid(shared, p, value);
    }
    return TW_UNLIKELY(tw_int_of(value, &x) < 0) ? -1 : tw_put_int(kind, p, x);
}

/* Return the bits of the varint that encodes `number` in this field. The number must be in the field's range. */
static inline uint64_t tw_unsigned(const tw_field *f, int64_t number)
{
    if (f->zigzag == TW_ZIGZAG)
        return tw_to_zigzag(number);
    return f->bits == 32 ? (uint32_t)number : (uint64_t)number;
}

/* Compute the bits of the varint that encodes `value` in this field. Return 0, or -1 if the value is not an int or is
 * out of range. */
static int tw_varint_of(const tw_field *f, PyObject *value, uint64_t *bits)
{
    if (!PyLong_Check(value))
        return -1;
    if (f->zigzag != TW_UNSIGNED) {
        int64_t number = PyLong_AsLongLong(value);
        if ((number == -1 && PyErr_Occurred()) || (f->bits == 32 && number != (int32_t)number))
            return -1;
        *bits = tw_unsigned(f, number);
        return 0;
    }
    *bits = PyLong_AsUnsignedLongLong(value);
    return (*bits == (uint64_t)-1 && PyErr_Occurred()) || (f->bits == 32 && *bits >> 32) ? -1 : 0;
}

static TW_MAYBE_UNUSED int tw_write_varint(const tw_field *f, PyObject *value, tw_writer *w)
{
    uint64_t bits;
    if (tw_varint_of(f, value, &bits) < 0 || tw_make_room(w, 10) < 0)
        return -1;
    w->p = tw_put_varint(w->p, bits);
    return 0;
}

static inline int tw_write_text(const tw_field *f, PyObject *value, tw_writer *w)
{
#ifdef Py_LIMITED_API
    Py_ssize_t size;
    const char *data = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : NULL;
    return data == NULL ? -1 : tw_write_block(f, data, size, w);
#else
    PyObject *data;
    int failed;
    if (!PyUnicode_Check(value))
        return -1;
    if (TW_LIKELY(PyUnicode_IS_COMPACT_ASCII(value)))
        return tw_write_block(f, PyUnicode_1BYTE_DATA(value), PyUnicode_GET_LENGTH(value), w);
    data = PyUnicode_AsUTF8String(value); /* PyUnicode_AsUTF8AndSize would cache a copy in the string */
    if (data == NULL)
        return -1;
    failed = tw_write_block(f, TW_BYTES_DATA(data), TW_BYTES_SIZE(data), w);
    Py_DECREF(data);
    return failed;
#endif
}

/* Get the buffer of a value that isn't an exact bytes object. Values other than bytearrays and one-dimensional views of
 * bytes are first converted to bytes. The caller must release the buffer. */
static int tw_get_buffer(PyObject *value, Py_buffer *buffer)
{
    PyObject *coerced;
    int failed;
    if (PyMemoryView_Check(value) || PyByteArray_CheckExact(value)) {
        if (PyObject_GetBuffer(value, buffer, PyBUF_ND | PyBUF_FORMAT) < 0)
            return -1;
        if (buffer->ndim == 1 && (buffer->format == NULL || strcmp(buffer->format, "B") == 0))
            return 0;
        PyBuffer_Release(buffer);
    }
    coerced = tw_coerced_binary(value);
    failed = coerced == NULL ? -1 : PyObject_GetBuffer(coerced, buffer, PyBUF_SIMPLE);
    Py_XDECREF(coerced); /* the buffer has its own reference to the value */
    return failed;
}

static int tw_write_buffer(const tw_field *f, PyObject *value, tw_writer *w)
{
    Py_buffer buffer;
    int failed;
    if (tw_get_buffer(value, &buffer) < 0)
        return -1;
    failed = tw_write_block(f, buffer.buf, buffer.len, w);
    PyBuffer_Release(&buffer);
    return failed;
}

static inline int tw_write_binary(const tw_field *f, PyObject *value, tw_writer *w)
{
    if (TW_LIKELY(PyBytes_CheckExact(value)))
        return tw_write_block(f, TW_BYTES_DATA(value), TW_BYTES_SIZE(value), w);
    return tw_write_buffer(f, value, w);
}

#endif
