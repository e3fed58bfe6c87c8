/* Compute the encoded size of a message from its values, without encoding.
 *
 * Only common messages can be measured: all values have exactly the types that decoding creates, and there are no
 * unknown tags and no rare kinds of fields. For all other messages, valid or not, the functions return -1, perhaps with
 * an exception. The caller then counts the bytes that encode.h would write. If encode.h rejects the message too, the
 * layout interpreter raises the error.
 */
#ifndef TAGWIRE_MEASURE_H
#define TAGWIRE_MEASURE_H

#include "engine/encode.h"

/* Return whether `value` points to one of the small ints that CPython preallocates. All of these ints fit in an
 * int16. */
static inline int tw_is_ready(const tw_shared *shared, PyObject *value)
{
    return (size_t)value - shared->ready_ints < shared->ready_size;
}

/* Return whether a value, which may be NULL, is an exact int in the int32 range. May return 0 for a large int, which a
 * slower check then accepts. */
static inline int tw_is_int32(const tw_shared *shared, PyObject *value)
{
    int64_t x;
    if (TW_LIKELY(tw_is_ready(shared, value)))
        return 1;
    return value != NULL && tw_exact_int(value, &x) && x == (int32_t)x;
}

/* Return whether a value is valid for a fixed-width kind. May return 0 for a large int or for a value of a rare type,
 * which a slower check then accepts. */
static inline int tw_is_fixed(const tw_shared *shared, int kind, PyObject *value)
{
    int64_t x;
    if (kind == TW_BOOL)
        return value == Py_True || value == Py_False;
    if (kind == TW_UUID && Py_TYPE(value) == shared->uuid) {
        TW_HELD PyObject *number = tw_slot(value, shared->uuid_int_slot);
        uint8_t bytes[16];
        return number != NULL && PyLong_CheckExact(number) && tw_16_bytes_of_int(number, bytes) == 0;
    }
    if (kind == TW_FLOAT64 || kind == TW_FLOAT32)
        return PyFloat_CheckExact(value) && (kind == TW_FLOAT64 || tw_fits_float32(PyFloat_AsDouble(value)));
    return tw_exact_int(value, &x) && tw_fits(kind, x);
}

/* The following functions measure common fields. They never run Python code. */

/* Lengths up to this number take a single byte in every varint encoding. */
#define TW_SHORT 60

static inline int tw_short_width(int code)
{
    return code == TW_LENGTH_INT32 ? 4 : code == TW_LENGTH_INT16 ? 2 : code != TW_NO_LENGTH;
}

/* Return how many bytes longer the prefix for length `n` is than the shortest prefix; -1 if `n` is out of range. */
static inline int64_t tw_beyond_short(int code, int64_t n)
{
    uint8_t bytes[TW_LENGTH_WIDTH], *end;
    if (TW_LIKELY(n <= TW_SHORT))
        return 0;
    end = tw_put_length(bytes, code, n);
    return end == NULL ? -1 : end - bytes - tw_short_width(code);
}

static inline int tw_are_int32s(const tw_shared *shared, PyObject *tuple, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++)
        if (TW_UNLIKELY(!tw_is_int32(shared, TW_TUPLE_GET(tuple, index))))
            return 0;
    return 1;
}

/* Return how many bytes a string takes in addition to the shortest possible length prefix, which is already included in
 * the struct's `looks_width`. Return 0 for null, and -1 for an invalid value. */
static inline int64_t tw_look_at_text(const tw_field *f, PyObject *value)
{
    int64_t size, more;
    if (TW_UNLIKELY(!PyUnicode_CheckExact(value)))
        return value == Py_None && f->nullable ? 0 : -1;
    size = tw_utf8_size(value);
    more = size < 0 || size > f->longest ? -1 : tw_beyond_short(f->length, size);
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

/* Return how many bytes a struct's int32 arrays take in addition to the shortest possible count prefixes, which are
 * already included in the struct's `looks_width`. Return -1 if a slower check is needed. */
static inline int64_t tw_look_at_all_int32s(const tw_look *look, const tw_look *end, PyObject *object, const tw_shared *shared)
{
    int64_t all = 0, size = 0;
    PyObject *last = shared->empty_tuple; /* the previous short array: replicas and in-sync replicas often share one */
    for (; look < end; look++) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
        if (value == last) {
            all += size;
        } else if (value != shared->empty_tuple) {
            if (TW_UNLIKELY(value == NULL || (size = tw_look_at_int32s(shared, look->item, value)) < 0))
                return -1;
            all += size;
            last = value;
            /* The size of null or of a long array depends on the field, so it can't be reused for the next field. */
            if (TW_UNLIKELY(size == 0 || size > 4 * TW_SHORT)) {
                last = shared->empty_tuple;
                size = 0;
            }
        }
    }
    return all;
}

/* Return how many bytes a value takes in addition to those included in the struct's `looks_width`; -1 if a slower check
 * is needed. */
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

/* Return the encoded size of all fields except TW_LOOK_CLOSELY fields; -1 if a field needs a slower check. */
static inline int64_t tw_look_at_items(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    const tw_look *look = s->looks, *end = s->looks_end[TW_LOOK_INT];
    int64_t all = s->looks_width, size;
    for (; look < end; look++) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
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
    for (look = end, end = s->looks_end[TW_LOOK_ONCE]; look < end; look++, all += size) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
        if (TW_UNLIKELY((size = tw_look_at(look->item, value, shared)) < 0))
            return -1;
    }
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

/* Group a struct's fields by the check that they need (tw_look_way). Set `looks_width` to the total size of the
 * fixed-width fields and of the shortest possible length prefixes. Call this when the struct's `items` are complete. */
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

static int64_t tw_measure_value(const tw_field *f, PyObject *value, const tw_shared *shared);

/* Return the encoded size of a tag section; -1 if encode.h must count the bytes. The section contains the known tagged
 * fields that differ from their defaults. */
static int64_t tw_measure_tags(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    int64_t all = 0;
    int count = 0;
    for (const tw_field *f = s->tagged, *end = f + s->tagged_count; f < end; f++) {
        TW_HELD PyObject *before = tw_slot(object, f->slot);
        int differs = tw_differs(f, before);
        TW_HELD PyObject *value = tw_slot(object, f->slot); /* read after tw_differs: its Python code may change the slot */
        int64_t size = 0;
        if (differs == 0)
            continue;
        if (differs < 0 || value == NULL || (size = tw_measure_value(f, value, shared)) < 0)
            return -1;
        all += tw_varint_width((uint64_t)f->tag) + tw_varint_width((uint64_t)size) + size;
        count++;
    }
    return all + tw_varint_width((uint64_t)count);
}

/* Return the encoded size of a struct; -1 if encode.h must count the bytes. The caller holds a reference to the
 * struct. */
static int64_t tw_measure_message(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    int64_t all, size;
    if (Py_TYPE(object) != s->made.cls || s->section == TW_OPTIONAL_BUFFER || s->length != TW_NO_LENGTH)
        return -1;
    if (TW_SLOT(object, s->unknown_slot) != shared->no_tags || (s->missing_count && tw_refuse_missing(s, object) < 0))
        return -1;
    all = tw_look_at_items(s, object, shared);
    if (TW_UNLIKELY(all < 0))
        return -1;
    for (const tw_look *look = s->looks_end[TW_LOOK_ONCE]; look < s->looks_end[TW_LOOK_CLOSELY]; look++, all += size) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
        if (value == NULL && look->item->late)
            value = tw_lazy_value(object, look->slot, look->item->fresh);
        if (TW_UNLIKELY(value == NULL || (size = tw_measure_value(look->item, value, shared)) < 0))
            return -1;
    }
    if (s->section == TW_NO_SECTION)
        return all;
    size = TW_UNLIKELY(s->tagged_count) ? tw_measure_tags(s, object, shared) : 1;
    return size < 0 ? -1 : all + size;
}

static int64_t tw_measure_nested(const tw_field *f, PyObject *value, const tw_shared *shared)
{
    int64_t size;
    if (value == Py_None)
        return f->marker != TW_NO_MARKER ? 1 : -1;
    Py_INCREF(value);
    size = tw_measure_message(f->child, value, shared);
    Py_DECREF(value);
    return size < 0 ? -1 : size + (f->marker != TW_NO_MARKER);
}

static inline void tw_fetch_parts(const tw_struct *s, PyObject *object)
{
    if (Py_TYPE(object) == s->made.cls)
        for (const tw_look *look = s->looks_end[TW_LOOK_INT32S]; look < s->looks_end[TW_LOOK_CLOSELY]; look++)
            TW_PREFETCH(TW_SLOT(object, look->slot));
}

/* Return the encoded size of an array and its length; -1 if encode.h must count the bytes. */
static int64_t tw_measure_elements(const tw_field *f, PyObject *tuple, const tw_shared *shared)
{
    const tw_field *e = f->element;
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    int64_t size, all = tw_beyond_short(f->length, count);
    int are_structs = e->kind == TW_STRUCT && e->marker == TW_NO_MARKER;
    if (all < 0)
        return -1;
    all += tw_short_width(f->length);
    for (Py_ssize_t index = 0; index < count; index++, all += size) {
        PyObject *element = TW_TUPLE_GET(tuple, index);
        if (index + TW_AHEAD < count)
            TW_PREFETCH(TW_TUPLE_GET(tuple, index + TW_AHEAD));
        if (are_structs && index + 2 < count)
            tw_fetch_parts(e->child, TW_TUPLE_GET(tuple, index + 2));
        size = are_structs ? tw_measure_message(e->child, element, shared) : tw_measure_value(e, element, shared);
        if (TW_UNLIKELY(size < 0))
            return -1;
    }
    return all;
}

static int64_t tw_measure_value(const tw_field *f, PyObject *value, const tw_shared *shared)
{
    int64_t size;
    if (f->kind == TW_STRUCT)
        return tw_measure_nested(f, value, shared);
    if (f->kind == TW_ARRAY) {
        if (!PyTuple_CheckExact(value))
            return value == Py_None && f->nullable ? tw_short_width(f->length) : -1;
        Py_INCREF(value);
        size = tw_measure_elements(f, value, shared);
        Py_DECREF(value);
        return size;
    }
    if (f->kind > TW_UUID && f->kind != TW_TEXT && f->kind != TW_BINARY)
        return -1;
    size = tw_look_at(f, value, shared);
    return size < 0 ? -1 : size + (f->kind <= TW_UUID ? tw_width[f->kind] : tw_short_width(f->length));
}

#endif
