/* Single values measured: their bytes, or that they can't be written. The lower half of measure.h. */
#ifndef TAGWIRE_MEASURE_VALUES_H
#define TAGWIRE_MEASURE_VALUES_H

#include "engine/encode.h"

/* What the interpreter has to look at again: the names of tagwire.interpreter.fault_places. */
enum tw_write_site { TW_WRITES_ALL, TW_AT_WRITTEN_VALUE, TW_AT_WRITTEN_STRUCT, TW_AT_WRITTEN_SECTION };

typedef struct {
    const tw_shared *shared;
    int64_t size;
    int site;
    PyObject *path; /* a list, innermost first: the steps to the fault */
} tw_measure;

/* ---------------------------------------------------------------- refusing */

/* Refuses a value, where no exception says otherwise. */
static TW_RARE int tw_refuse_written(tw_measure *m, int site)
{
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(m->shared->write_faults))
            return -1;
        PyErr_Clear();
    }
    m->site = site;
    return -1;
}

static TW_MAYBE_UNUSED TW_RARE int tw_within(tw_measure *m, PyObject *step)
{
    if (step != NULL && !PyErr_Occurred())
        PyList_Append(m->path, step);
    Py_XDECREF(step);
    return -1;
}

/* ---------------------------------------------------------------- values without parts */

/* Whether a number fits a kind of integers. */
static inline int tw_fits(int kind, int64_t x)
{
    switch (kind) {
    case TW_INT8:
        return x == (int8_t)x;
    case TW_UINT8:
        return x == (uint8_t)x;
    case TW_INT16:
        return x == (int16_t)x;
    case TW_UINT16:
        return x == (uint16_t)x;
    case TW_INT32:
        return x == (int32_t)x;
    case TW_UINT32:
        return x == (uint32_t)x;
    default:
        return kind == TW_INT64;
    }
}

/* Whether a value is one of the small ints that Python has ready: known by its place, not by its number. An int16 has them. */
static inline int tw_is_ready(const tw_shared *shared, PyObject *value)
{
    return (size_t)value - shared->ready_ints < shared->ready_size;
}

/* Whether a value, which may be NULL, is an int that an int32 has, if that can be seen at once. */
static inline int tw_is_int32(const tw_shared *shared, PyObject *value)
{
    int64_t x;
    if (TW_LIKELY(tw_is_ready(shared, value)))
        return 1;
    return value != NULL && tw_exact_int(value, &x) && x == (int32_t)x;
}

/* Whether a value is one that a kind of fixed width takes, if that can be seen at once; else 0. */
static inline int tw_is_fixed(const tw_shared *shared, int kind, PyObject *value)
{
    int64_t x;
    if (kind == TW_BOOL)
        return value == Py_True || value == Py_False;
    if (kind == TW_UUID && Py_TYPE(value) == shared->uuid) {
        PyObject *number = TW_SLOT(value, shared->uuid_int_slot);
        return number != NULL && tw_has_16_bytes(number);
    }
    if (kind == TW_FLOAT64 || kind == TW_FLOAT32)
        return PyFloat_CheckExact(value) && (kind == TW_FLOAT64 || tw_fits_float32(PyFloat_AsDouble(value)));
    return tw_exact_int(value, &x) && tw_fits(kind, x);
}

static TW_MAYBE_UNUSED int tw_measure_fixed(const tw_field *f, PyObject *value, tw_measure *m)
{
    uint8_t bytes[16];
    int failed;
    m->size += tw_width[f->kind];
    if (TW_LIKELY(tw_is_fixed(m->shared, f->kind, value)))
        return 0;
    Py_INCREF(value);
    failed = tw_put_fixed(m->shared, f->kind, bytes, value);
    Py_DECREF(value);
    return TW_UNLIKELY(failed < 0) ? tw_refuse_written(m, TW_AT_WRITTEN_VALUE) : 0;
}

static TW_MAYBE_UNUSED int tw_measure_enum(const tw_field *f, PyObject *value, tw_measure *m)
{
    uint8_t bytes[16];
    int failed;
    m->size += tw_width[f->element->kind];
    Py_INCREF(value);
    failed = tw_put_enum(m->shared, f, bytes, value);
    Py_DECREF(value);
    return TW_UNLIKELY(failed < 0) ? tw_refuse_written(m, TW_AT_WRITTEN_VALUE) : 0;
}

static TW_MAYBE_UNUSED int tw_measure_varint(const tw_field *f, PyObject *value, tw_measure *m)
{
    uint64_t bits;
    if (tw_varint_of(f, value, &bits) < 0)
        return tw_refuse_written(m, TW_AT_WRITTEN_VALUE);
    m->size += tw_varint_width(bits);
    return 0;
}

/* A length, whose bytes or elements are counted apart. */
static inline int tw_measure_length(int code, int64_t n, tw_measure *m)
{
    uint8_t bytes[TW_LENGTH_WIDTH], *end = tw_put_length(bytes, code, n);
    if (TW_UNLIKELY(end == NULL))
        return tw_refuse_written(m, TW_AT_WRITTEN_VALUE);
    m->size += end - bytes;
    return 0;
}

static TW_MAYBE_UNUSED int tw_measure_null(const tw_field *f, tw_measure *m)
{
    if (!f->nullable)
        return tw_refuse_written(m, TW_AT_WRITTEN_VALUE);
    m->size += f->length == TW_LENGTH_INT16 ? 2 : f->length == TW_LENGTH_INT32 ? 4 : 1;
    return 0;
}

static inline int tw_measure_block(const tw_field *f, int64_t size, tw_measure *m)
{
    if (TW_UNLIKELY(size < 0 || size > f->longest || (f->kind == TW_BLOCK && size != f->longest)))
        return tw_refuse_written(m, TW_AT_WRITTEN_VALUE);
    m->size += size;
    if (TW_UNLIKELY(f->kind == TW_BLOCK))
        return 0;
    return tw_measure_length(f->length, size, m);
}

static inline int tw_measure_text(const tw_field *f, PyObject *value, tw_measure *m)
{
    return tw_measure_block(f, PyUnicode_Check(value) ? tw_utf8_size(value) : -1, m);
}

static TW_MAYBE_UNUSED int tw_measure_binary(const tw_field *f, PyObject *value, tw_measure *m)
{
    Py_buffer buffer;
    Py_ssize_t size = -1;
    if (TW_LIKELY(PyBytes_CheckExact(value)))
        return tw_measure_block(f, TW_BYTES_SIZE(value), m);
    Py_INCREF(value);
    if (tw_get_buffer(value, &buffer) == 0) {
        size = buffer.len;
        PyBuffer_Release(&buffer);
    }
    Py_DECREF(value);
    return tw_measure_block(f, size, m);
}

/* ---------------------------------------------------------------- looks */

/* What most values are is seen at one look. No foreign code runs, and nothing is refused: where one of a struct's values
 * takes more than a look, all are measured one by one. So looks may come in another order than the items.
 */

#define TW_SHORT 60 /* a length up to this is one byte wherever it is a varint */

static inline int tw_short_width(int code)
{
    return code == TW_LENGTH_INT32 ? 4 : code == TW_LENGTH_INT16 ? 2 : code != TW_NO_LENGTH;
}

/* The bytes of a length beyond those of a short one; -1 for one that is too long. */
static inline int64_t tw_beyond_short(int code, int64_t n)
{
    uint8_t bytes[TW_LENGTH_WIDTH], *end;
    if (TW_LIKELY(n <= TW_SHORT))
        return 0;
    end = tw_put_length(bytes, code, n);
    return end == NULL ? -1 : end - bytes - tw_short_width(code);
}

/* Whether all elements of a tuple are ints that an int32 has. */
static inline int tw_are_int32s(const tw_shared *shared, PyObject *tuple, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++)
        if (TW_UNLIKELY(!tw_is_int32(shared, TW_TUPLE_GET(tuple, index))))
            return 0;
    return 1;
}

/* Null takes what a short length takes. */
static inline int64_t tw_look_at_text(const tw_field *f, PyObject *value)
{
    int64_t size = -1, more;
#ifndef Py_LIMITED_API
    if (TW_LIKELY(PyUnicode_CheckExact(value) && PyUnicode_IS_COMPACT_ASCII(value)))
        size = PyUnicode_GET_LENGTH(value);
    else
#endif
    if (value == Py_None && f->nullable)
        return 0;
    if (size < 0 || size > f->longest)
        return -1;
    more = tw_beyond_short(f->length, size);
    return more < 0 ? -1 : size + more;
}

static inline int64_t tw_look_at_binary(const tw_field *f, PyObject *value)
{
    int64_t size, more;
    if (!PyBytes_CheckExact(value))
        return value == Py_None && f->nullable ? 0 : -1;
    size = TW_BYTES_SIZE(value);
    more = size > f->longest ? -1 : tw_beyond_short(f->length, size);
    return more < 0 ? -1 : size + more;
}

static inline int64_t tw_look_at_int32s(const tw_shared *shared, const tw_field *f, PyObject *value)
{
    int64_t count, more;
    if (!PyTuple_CheckExact(value))
        return value == Py_None && f->nullable ? 0 : -1;
    count = TW_TUPLE_SIZE(value);
    more = tw_beyond_short(f->length, count);
    return more < 0 || !tw_are_int32s(shared, value, (Py_ssize_t)count) ? -1 : 4 * count + more;
}

/* The bytes of a struct's arrays of int32; -1 where a look is not enough. */
static inline int64_t tw_look_at_all_int32s(const tw_look *look, const tw_look *end, PyObject *object, const tw_shared *shared)
{
    int64_t all = 0, size = 0;
    PyObject *last = shared->empty_tuple; /* the short array before: a partition's replicas are mostly those in sync as well */
    for (; look < end; look++) {
        PyObject *value = TW_SLOT(object, look->slot);
        if (value == last) {
            all += size;
        } else if (value != shared->empty_tuple) {
            if (TW_UNLIKELY(value == NULL || (size = tw_look_at_int32s(shared, look->item, value)) < 0))
                return -1;
            all += size;
            last = value;
            if (TW_UNLIKELY(size == 0 || size > 4 * TW_SHORT)) { /* null and long lengths depend on the field */
                last = shared->empty_tuple;
                size = 0;
            }
        }
    }
    return all;
}

/* The bytes of a value beyond those that all of its kind take; -1 where a look is not enough. */
static inline int64_t tw_look_at(const tw_field *f, PyObject *value, const tw_shared *shared)
{
    if (TW_UNLIKELY(value == NULL))
        return -1;
    if (f->kind == TW_TEXT)
        return tw_look_at_text(f, value);
    if (f->kind == TW_BINARY)
        return tw_look_at_binary(f, value);
    return tw_is_fixed(shared, f->kind, value) ? 0 : -1;
}

/* The bytes of all items of a struct but those that are looked at closely; -1 where a look is not enough. */
static inline int64_t tw_look_at_items(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    const tw_look *look = s->looks, *end = s->looks_end[TW_LOOK_INT];
    int64_t all = s->looks_width, size;
    for (; look < end; look++) {
        PyObject *value = TW_SLOT(object, look->slot);
        if (TW_LIKELY(tw_is_ready(shared, value)))
            continue;
        if (TW_UNLIKELY(value == NULL || !tw_is_fixed(shared, look->item->kind, value)))
            return -1;
    }
    end = s->looks_end[TW_LOOK_INT32S];
    if (look < end) {
        if (TW_UNLIKELY((size = tw_look_at_all_int32s(look, end, object, shared)) < 0))
            return -1;
        all += size;
    }
    for (look = end, end = s->looks_end[TW_LOOK_ONCE]; look < end; look++, all += size)
        if (TW_UNLIKELY((size = tw_look_at(look->item, TW_SLOT(object, look->slot), shared)) < 0))
            return -1;
    return all;
}

static inline enum tw_look_way tw_look_way_of(const tw_field *f)
{
    if (f->kind == TW_INT16 || f->kind == TW_INT32 || f->kind == TW_INT64)
        return TW_LOOK_INT;
    if (f->kind <= TW_UUID || f->kind == TW_TEXT || f->kind == TW_BINARY)
        return TW_LOOK_ONCE;
    return f->kind == TW_ARRAY && f->element->kind == TW_INT32 ? TW_LOOK_INT32S : TW_LOOK_CLOSELY;
}

/* Chooses the looks at a struct whose items are complete. */
static TW_MAYBE_UNUSED void tw_choose_looks(tw_struct *s, tw_look *looks)
{
    s->looks = looks;
    for (int way = 0; way < TW_LOOK_WAYS; way++) {
        for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
            if ((int)tw_look_way_of(f) != way)
                continue;
            looks->slot = f->slot;
            looks++->item = f;
            if (way != TW_LOOK_CLOSELY)
                s->looks_width += f->kind <= TW_UUID ? tw_width[f->kind] : tw_short_width(f->length);
        }
        s->looks_end[way] = looks;
    }
}

#endif
