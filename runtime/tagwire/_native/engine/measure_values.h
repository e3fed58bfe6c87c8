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
    PyObject *numbers; /* the last tuple of a few int32s that was measured, or NULL */
    int64_t numbers_size;
    PyObject *path;    /* a list, innermost first: the steps to the fault */
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

static TW_MAYBE_UNUSED int tw_measure_fixed(const tw_field *f, PyObject *value, tw_measure *m)
{
    uint8_t bytes[16];
    int64_t x;
    int failed;
    m->size += tw_width[f->kind];
    if (TW_LIKELY(tw_exact_int(value, &x) && tw_fits(f->kind, x)))
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

/* ---------------------------------------------------------------- short values, most of all */

#define TW_SHORT 60 /* a length up to this is one byte wherever it is a varint */

static inline int tw_short_width(int code)
{
    return code == TW_LENGTH_INT32 ? 4 : code == TW_LENGTH_INT16 ? 2 : code != TW_NO_LENGTH;
}

static TW_RARE void tw_remember_measured(PyObject *tuple, tw_measure *m)
{
    Py_INCREF(tuple);
    Py_XDECREF(m->numbers); /* a tuple of ints: no code runs */
    m->numbers = tuple;
    m->numbers_size = 4 * (int64_t)TW_TUPLE_SIZE(tuple);
}

/* Whether all elements of a tuple are ints that an int32 has, seen at once. The last such tuple is held and remembered: a
 * partition's replicas are mostly those in sync as well.
 */
static inline int tw_are_measured(PyObject *tuple, Py_ssize_t count, tw_measure *m)
{
    if (tuple == m->numbers || count == 0)
        return 1;
    for (Py_ssize_t index = 0; index < count; index++)
        if (TW_UNLIKELY(!tw_is_small_int(TW_TUPLE_GET(tuple, index))))
            return 0;
    if (count <= TW_SHORT)
        tw_remember_measured(tuple, m);
    return 1;
}

/* ---------------------------------------------------------------- looks */

/* What most values are, seen at one look. */
enum tw_look_way { TW_LOOK_CLOSELY, TW_LOOK_INT32, TW_LOOK_INT32S, TW_LOOK_INT16, TW_LOOK_TEXT, TW_LOOK_BOOL, TW_LOOK_UUID };

static inline int tw_look_way_of(const tw_field *f)
{
    if (f->kind == TW_INT32)
        return TW_LOOK_INT32;
    if (f->kind == TW_INT16)
        return TW_LOOK_INT16;
    if (f->kind == TW_ARRAY && f->element->kind == TW_INT32)
        return TW_LOOK_INT32S;
    if (f->kind == TW_BOOL)
        return TW_LOOK_BOOL;
    if (f->kind == TW_UUID)
        return TW_LOOK_UUID;
#ifndef Py_LIMITED_API
    if (f->kind == TW_TEXT)
        return TW_LOOK_TEXT;
#endif
    return TW_LOOK_CLOSELY;
}

/* Chooses the looks at a struct whose items are complete. */
static TW_MAYBE_UNUSED void tw_choose_looks(tw_struct *s, tw_look *looks)
{
    s->looks = looks;
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++, looks++) {
        looks->slot = f->slot;
        looks->way = (uint8_t)tw_look_way_of(f);
        if (looks->way != TW_LOOK_CLOSELY)
            looks->width = (uint8_t)(tw_width[f->kind] ? tw_width[f->kind] : tw_short_width(f->length));
        s->looks_width += looks->width;
    }
}

/* The bytes of a value beyond the width of its look; -1 where it takes more than a look. */
static inline int64_t tw_look_at(const tw_look *look, PyObject *value, tw_measure *m)
{
    int64_t x;
    if (look->way == TW_LOOK_INT32S) {
        if (value == m->shared->empty_tuple)
            return 0;
        if (!PyTuple_CheckExact(value) || (x = TW_TUPLE_SIZE(value)) > TW_SHORT)
            return -1;
        return tw_are_measured(value, (Py_ssize_t)x, m) ? 4 * x : -1;
    }
    if (look->way == TW_LOOK_INT16)
        return tw_exact_int(value, &x) && x == (int16_t)x ? 0 : -1;
#ifndef Py_LIMITED_API
    if (look->way == TW_LOOK_TEXT && PyUnicode_CheckExact(value) && PyUnicode_IS_COMPACT_ASCII(value))
        return PyUnicode_GET_LENGTH(value) <= TW_SHORT ? PyUnicode_GET_LENGTH(value) : -1;
#endif
    if (look->way == TW_LOOK_BOOL)
        return value == Py_True || value == Py_False ? 0 : -1;
    if (look->way == TW_LOOK_UUID && Py_TYPE(value) == m->shared->uuid) {
        PyObject *number = TW_SLOT(value, m->shared->uuid_int_slot);
        return number != NULL && tw_has_16_bytes(number) ? 0 : -1;
    }
    return -1;
}

#endif
