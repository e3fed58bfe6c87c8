/* Compute the encoded size of a message from its values, without encoding.
 *
 * If a message is invalid or unusual, the functions return -1, with or without an exception. The caller then counts the
 * bytes that encode.h would write.
 */
#ifndef TAGWIRE_MEASURE_H
#define TAGWIRE_MEASURE_H

#include "engine/encode.h"

/* Return 1 if a value is certainly valid for a fixed-width kind. Return 0 if the value is invalid or needs a slower
 * check. */
static inline int tw_is_fixed(const tw_shared *shared, int kind, PyObject *value)
{
    int64_t x;
    if (kind == TW_BOOL)
        return value == Py_True || value == Py_False;
    if (kind == TW_UUID && Py_TYPE(value) == shared->uuid) {
        TW_HELD PyObject *number = tw_slot(value, shared->uuid_int_slot);
        return number != NULL && PyLong_CheckExact(number) && tw_is_16_bytes(number);
    }
    if (kind == TW_FLOAT64 || kind == TW_FLOAT32)
        return PyFloat_CheckExact(value) && (kind == TW_FLOAT64 || tw_fits_float32(PyFloat_AsDouble(value)));
    return tw_exact_int(value, &x) && tw_fits(kind, x);
}

/* Lengths up to this number take a single byte in every varint encoding. */
#define TW_SHORT 60

static inline int tw_short_width(int code)
{
    return code == TW_LENGTH_INT32 ? 4 : code == TW_LENGTH_INT16 ? 2 : code != TW_NO_LENGTH;
}

/* Return by how many bytes the prefix for length `n` exceeds the shortest prefix, or -1 if `n` is out of range. */
static inline int64_t tw_beyond_short(int code, int64_t n)
{
    uint8_t bytes[TW_LENGTH_WIDTH], *end;
    if (TW_LIKELY(n <= TW_SHORT))
        return 0;
    end = tw_put_length(bytes, code, n);
    return end == NULL ? -1 : end - bytes - tw_short_width(code);
}

/* Return whether a value is valid for an int16, int32 or int64. */
static inline int tw_is_int(int kind, PyObject *value)
{
    int64_t x;
    return kind == TW_INT32 ? tw_exact_int32(value, &x) : tw_exact_int(value, &x) && (kind == TW_INT64 || x == (int16_t)x);
}

/* Return how many bytes an int32 array adds to `looks_width`, which already includes the shortest count prefix. Return
 * 0 for null, and -1 if a slower check is needed. */
static inline int64_t tw_measure_int32s(const tw_field *f, PyObject *value)
{
    int64_t count, more;
    if (!PyTuple_CheckExact(value))
        return value == Py_None && f->nullable ? 0 : -1;
    count = TW_TUPLE_SIZE(value);
    for (Py_ssize_t index = 0; index < count; index++)
        if (TW_UNLIKELY(!tw_is_int(TW_INT32, TW_TUPLE_GET(value, index))))
            return -1;
    more = tw_beyond_short(f->length, count);
    return more < 0 ? -1 : 4 * count + more;
}

static inline enum tw_look_kind tw_look_kind_of(const tw_field *f)
{
    if (f->kind == TW_INT16 || f->kind == TW_INT32 || f->kind == TW_INT64)
        return f->kind == TW_INT16 ? TW_LOOK_INT16 : TW_LOOK_INT;
    return f->kind == TW_ARRAY && f->element->kind == TW_INT32 ? TW_LOOK_INT32S : TW_LOOK_CLOSELY;
}

/* Group a struct's fields by tw_look_kind. Set `looks_width` to the size of all fixed-width ints, plus the shortest
 * count prefix of each int32 array, plus an empty tag section. Call this when the struct is otherwise complete. */
static TW_MAYBE_UNUSED void tw_choose_looks(tw_struct *s, tw_look *looks)
{
    s->looks = looks;
    s->looks_width = s->section == TW_TAGGED_SECTION && s->tagged_count == 0;
    for (int kind = 0; kind < TW_LOOK_KINDS; kind++) {
        for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
            if ((int)tw_look_kind_of(f) != kind)
                continue;
            looks->slot = f->slot;
            looks++->item = f;
            if (kind != TW_LOOK_CLOSELY)
                s->looks_width += kind == TW_LOOK_INT32S ? tw_short_width(f->length) : tw_width[f->kind];
        }
        s->looks_end[kind] = looks;
    }
    s->looks_all = !s->missing_count && !s->tagged_count && s->looks_end[TW_LOOK_INT32S] == looks;
    if (s->section != TW_OPTIONAL_BUFFER && s->length == TW_NO_LENGTH)
        s->measured = s->factory.cls;
}

static int64_t tw_measure_value(const tw_field *f, PyObject *value, const tw_shared *shared);

/* Return the encoded size of a tag section, or -1 if encode.h must count the bytes. */
static int64_t tw_measure_tags(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    int64_t all = 0;
    int count = 0;
    for (const tw_field *f = s->tagged, *end = f + s->tagged_count; f < end; f++) {
        TW_HELD PyObject *before = tw_slot(object, f->slot);
        int differs = tw_differs(f, before);
        TW_HELD PyObject *value = tw_slot(object, f->slot); /* tw_differs may have changed it */
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

/* The previous short int32 array, which a later field may share, and its size without the shortest count prefix. */
typedef struct {
    PyObject *tuple;
    int64_t size;
} tw_last;

/* Return the size of the fields of an object from `look` on, except `looks_width`; -1 if encode.h must count the
 * bytes. */
static inline int64_t tw_measure_object(const tw_struct *s, PyObject *object, const tw_look *look, const tw_shared *shared,
                                        tw_last *last)
{
    int64_t all = 0, size;
    if (TW_UNLIKELY(Py_TYPE(object) != s->measured || TW_SLOT(object, s->unknown_slot) != shared->no_tags))
        return -1;
    if (s->missing_count && tw_reject_missing(s, object) < 0)
        return -1;
    for (const tw_look *end = s->looks_end[TW_LOOK_INT]; look < end; look++) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
        if (TW_UNLIKELY(value == NULL || !tw_is_int(look->item->kind, value)))
            return -1;
    }
    for (const tw_look *end = s->looks_end[TW_LOOK_INT32S]; look < end; look++, all += size) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
        if (value == last->tuple || value == shared->empty_tuple)
            size = value == last->tuple ? last->size : 0;
        else if (TW_UNLIKELY(value == NULL || (size = tw_measure_int32s(look->item, value)) < 0))
            return -1;
        /* The sizes of null and of long arrays differ between fields, so don't reuse them. */
        else if (value != Py_None && size <= 4 * TW_SHORT)
            *last = (tw_last){value, size};
    }
    for (const tw_look *end = s->looks_end[TW_LOOK_CLOSELY]; look < end; look++, all += size) {
        TW_HELD PyObject *value = tw_slot(object, look->slot);
        if (value == NULL && look->item->late)
            value = tw_lazy_value(object, look->slot, look->item->fresh);
        if (TW_UNLIKELY(value == NULL || (size = tw_measure_value(look->item, value, shared)) < 0))
            return -1;
    }
    if (TW_LIKELY(s->tagged_count == 0))
        return all;
    size = tw_measure_tags(s, object, shared);
    return size < 0 ? -1 : all + size;
}

/* Measure objects from `index` on until a field isn't a short int, an empty array or the array `last`. Return the
 * object's index, and set `*stop` to the field. The function calls no other, so that compilers keep everything in
 * registers. */
static TW_NOINLINE Py_ssize_t tw_measure_plain(const tw_struct *s, PyObject *tuple, Py_ssize_t index, const tw_shared *shared,
                                               const tw_last *last, const tw_look **stop, int64_t *all)
{
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    PyObject *same = last->tuple, *empty = shared->empty_tuple;
    const tw_look *look = s->looks;
    int64_t x, total = 0;
    for (; index < count; index++, look = s->looks) {
        PyObject *object = TW_TUPLE_GET(tuple, index);
        if (index + TW_AHEAD < count)
            TW_PREFETCH(TW_TUPLE_GET(tuple, index + TW_AHEAD));
        if (TW_UNLIKELY(Py_TYPE(object) != s->measured || TW_SLOT(object, s->unknown_slot) != shared->no_tags))
            break;
        for (const tw_look *end = s->looks_end[TW_LOOK_INT16]; look < end; look++) {
            TW_HELD PyObject *value = tw_slot(object, look->slot);
            if (TW_UNLIKELY(value == NULL || !tw_short_int(value, &x) || x != (int16_t)x))
                goto stopped;
        }
        for (const tw_look *end = s->looks_end[TW_LOOK_INT]; look < end; look++) {
            TW_HELD PyObject *value = tw_slot(object, look->slot);
            if (TW_UNLIKELY(value == NULL || !tw_short_int(value, &x)))
                goto stopped;
        }
        for (const tw_look *end = s->looks_end[TW_LOOK_INT32S]; look < end; look++) {
            TW_HELD PyObject *value = tw_slot(object, look->slot);
            if (value == empty)
                continue;
            if (value != same)
                goto stopped;
            total++;
        }
    }
stopped:
    *stop = look;
    *all += total * last->size;
    return index;
}

/* Prefetch the strings, UUIDs and arrays of a struct before it is measured. */
static inline void tw_fetch_parts(const tw_struct *s, PyObject *object)
{
    if (Py_TYPE(object) == s->measured)
        for (const tw_look *look = s->looks_end[TW_LOOK_INT32S], *end = s->looks_end[TW_LOOK_CLOSELY]; look < end; look++)
            TW_PREFETCH(TW_SLOT(object, look->slot));
}

/* Return the total encoded size of structs; -1 if encode.h must count the bytes. The structs are `one`, or the elements
 * of a tuple. The caller holds a reference to `one` or to the tuple. */
static int64_t tw_measure_structs(const tw_struct *s, PyObject *one, PyObject *tuple, const tw_shared *shared)
{
    Py_ssize_t count = tuple == NULL ? 1 : TW_TUPLE_SIZE(tuple);
    int64_t all = count * s->looks_width, size;
    int plain = s->looks_all && tuple != NULL; /* until most objects have an array of their own */
    tw_last last = {shared->empty_tuple, 0}; /* not NULL, which a deleted attribute is */
    for (Py_ssize_t index = 1; index < count && index < TW_AHEAD; index++)
        TW_PREFETCH(TW_TUPLE_GET(tuple, index));
    for (Py_ssize_t index = 0; index < count; index++, all += size) {
        const tw_look *look = s->looks;
        PyObject *object;
        if (plain) {
            Py_ssize_t start = index;
            index = tw_measure_plain(s, tuple, index, shared, &last, &look, &all);
            if (index == count)
                break;
            plain = index != start || index == 0;
        }
        object = tuple == NULL ? one : TW_TUPLE_GET(tuple, index);
        if (!s->looks_all) {
            if (index + TW_AHEAD < count)
                TW_PREFETCH(TW_TUPLE_GET(tuple, index + TW_AHEAD));
            if (index + 2 < count)
                tw_fetch_parts(s, TW_TUPLE_GET(tuple, index + 2));
        }
        if (TW_UNLIKELY((size = tw_measure_object(s, object, look, shared, &last)) < 0))
            return -1;
    }
    return all;
}

static int64_t tw_measure_message(const tw_struct *s, PyObject *object, const tw_shared *shared)
{
    return tw_measure_structs(s, object, NULL, shared);
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

/* Return the encoded size of an array, including its length prefix, or -1 if encode.h must count the bytes. */
static int64_t tw_measure_elements(const tw_field *f, PyObject *tuple, const tw_shared *shared)
{
    const tw_field *e = f->element;
    Py_ssize_t count = TW_TUPLE_SIZE(tuple);
    int64_t size = 0, all = tw_beyond_short(f->length, count);
    if (all < 0)
        return -1;
    all += tw_short_width(f->length);
    Py_INCREF(tuple);
    if (e->kind == TW_STRUCT && e->marker == TW_NO_MARKER)
        all += size = tw_measure_structs(e->child, NULL, tuple, shared);
    else
        for (Py_ssize_t index = 0; index < count && size >= 0; index++, all += size)
            size = tw_measure_value(e, TW_TUPLE_GET(tuple, index), shared);
    Py_DECREF(tuple);
    return size < 0 ? -1 : all;
}

static int64_t tw_measure_value(const tw_field *f, PyObject *value, const tw_shared *shared)
{
    int64_t size, more;
    if (f->kind == TW_STRUCT)
        return tw_measure_nested(f, value, shared);
    if (f->kind <= TW_UUID)
        return tw_is_fixed(shared, f->kind, value) ? tw_width[f->kind] : -1;
    if (value == Py_None)
        return f->nullable && f->kind >= TW_STRING && f->kind <= TW_ARRAY ? tw_short_width(f->length) : -1;
    if (f->kind == TW_ARRAY)
        return PyTuple_CheckExact(value) ? tw_measure_elements(f, value, shared) : -1;
    if (f->kind == TW_STRING && PyUnicode_CheckExact(value))
        size = tw_utf8_size(value);
    else if (f->kind == TW_BINARY && PyBytes_CheckExact(value))
        size = TW_BYTES_SIZE(value);
    else
        return -1;
    more = size < 0 || size > f->longest ? -1 : tw_beyond_short(f->length, size);
    return more < 0 ? -1 : tw_short_width(f->length) + more + size;
}

#endif
