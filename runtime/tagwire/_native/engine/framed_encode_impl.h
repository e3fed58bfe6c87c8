/* Encode structs of record formats, which framed_decode_impl.h decodes.
 *
 * The writer leaves gaps for lengths and checksums, which objects don't store. When the struct is complete, the writer
 * fills the last gap first, because a length or checksum depends on the bytes after it. References from slots are
 * borrowed, as in encode.h.
 */
#ifndef TAGWIRE_FRAMED_ENCODE_IMPL_H
#define TAGWIRE_FRAMED_ENCODE_IMPL_H

#include "engine/framed_numbers.h"

/* The next three functions are defined in framing.pxi. They set an exception if they fail. */
PyObject *tw_compressed(PyObject *codec, const uint8_t *data, Py_ssize_t size);
PyObject *tw_coerced_tuple(PyObject *value, Py_ssize_t size);
int tw_has_unknown_names(PyObject *names, PyObject *values);

/* A gap in the output for a length or checksum, and the data needed to compute it. */
typedef struct {
    const tw_field *field;
    /* `at` is the offset of the gap. `covered`: for a checksum, the offset of the first byte that it covers. `size`:
     * for the length of a field, the field's size. */
    int64_t at, covered, size;
    int gap;
} tw_mark;

static int tw_write_framed_array(const tw_field *f, PyObject *value, tw_writer *w)
{
    const tw_framing *framing = f->framing;
    if (framing->ordered)
        w->known[framing->ordered] = INT64_MIN;
    if (framing->filled && value != Py_None) {
        Py_ssize_t size = PyObject_Size(value);
        if (size <= 0)
            return -1;
    }
    return tw_write_value(f, value, w);
}

static int tw_write_compressed(const tw_field *f, PyObject *value, tw_writer *w, int64_t codec)
{
    int64_t start = tw_written(w);
    PyObject *compressed;
    int failed;
    if (w->counting) {
        w->unsure = 1; /* only the layout interpreter can find out the size, by compressing the value */
        return -1;
    }
    if (codec >= TW_TUPLE_SIZE(f->framing->codecs) || tw_write_framed_array(f, value, w) < 0)
        return -1;
    compressed = tw_compressed(TW_TUPLE_GET(f->framing->codecs, codec), w->start + start, (Py_ssize_t)(tw_written(w) - start));
    if (compressed == NULL)
        return -1;
    w->p = w->start + start;
    failed = tw_put(w, TW_BYTES_DATA(compressed), TW_BYTES_SIZE(compressed));
    Py_DECREF(compressed);
    return failed;
}

static int tw_write_framed_value(const tw_field *f, PyObject *value, tw_writer *w)
{
    const tw_framing *framing = f->framing;
    if (f->kind != TW_ARRAY)
        return tw_write_value(f, value, w);
    if (framing->codec_register) {
        int64_t codec = (w->known[framing->codec_register] & framing->codec_mask) >> framing->codec_shift;
        if (codec)
            return tw_write_compressed(f, value, w, codec);
    }
    return tw_write_framed_array(f, value, w);
}

/* Leave a gap for a length or checksum. A varint's width is not known yet, so use the width of the last
 * varint that filled a gap. */
static inline int tw_leave_gap(const tw_field *f, tw_writer *w, tw_mark *mark)
{
    mark->gap = f->kind == TW_VARINT ? w->gap : tw_width[f->kind];
    if (tw_make_room(w, mark->gap) < 0)
        return -1;
    mark->at = tw_written(w);
    w->p += mark->gap;
    return 0;
}

static int tw_close_mark(tw_writer *w, tw_mark *marks, int index)
{
    tw_mark *mark = marks + index;
    const tw_framing *framing = mark->field->framing;
    uint8_t data[10];
    int width;
    int64_t x = framing->frame == TW_EXTENT ? tw_written(w) - mark->at - mark->gap : mark->size;
    if (framing->frame == TW_CHECKSUM) {
        if (w->counting)
            return 0;
        x = tw_checksum(w->shared, framing->algorithm, w->start + mark->covered, (Py_ssize_t)(tw_written(w) - mark->covered));
        if (x < 0)
            return -1;
    } else if (framing->counts_itself)
        x += mark->field->minimum;
    width = tw_number_bytes(mark->field, x, data);
    if (width < 0 || tw_fill_gap(w, mark->at, mark->gap, data, width) < 0)
        return -1;
    for (int other = 0; other < index; other++)
        if (marks[other].covered > mark->at)
            marks[other].covered += width - mark->gap;
    if (mark->field->kind == TW_VARINT)
        w->gap = width;
    return 0;
}

static inline PyObject *tw_value_of(const tw_struct *s, const tw_field *f, PyObject *object)
{
    PyObject *value;
    if (TW_LIKELY(s->shape == TW_OBJECT)) {
        value = tw_slot(object, f->slot);
        return value == NULL && f->late ? tw_lazy_value(object, f->slot, f->fresh) : value;
    }
    if (s->shape == TW_TUPLE)
        return tw_held(TW_TUPLE_GET(object, f->slot));
    value = tw_dict_value(object, f->name);
    return value == NULL && !PyErr_Occurred() ? tw_held(f->value) : value;
}

static int tw_write_count(const tw_struct *s, const tw_field *f, PyObject *object, tw_writer *w)
{
    TW_HELD PyObject *counted = tw_value_of(s, s->items + f->framing->of, object);
    Py_ssize_t count;
    int width;
    if (counted == NULL || !(PyTuple_CheckExact(counted) || PyList_CheckExact(counted))) {
        w->unsure = 1;
        return -1;
    }
    count = PyObject_Size(counted);
    width = tw_make_room(w, 10) < 0 ? -1 : tw_number_bytes(f, count, w->p);
    if (width < 0)
        return -1;
    w->known[f->framing->keep] = count;
    w->p += width;
    return 0;
}

/* Write a field that isn't a length, count or checksum. Return -1 if its value is rejected. */
static inline int tw_write_item(const tw_struct *s, const tw_field *f, PyObject *object, tw_writer *w, tw_mark *marks)
{
    const tw_framing *framing = f->framing;
    TW_HELD PyObject *value = f->slot == TW_NOWHERE ? NULL : tw_value_of(s, f, object);
    int64_t start = tw_written(w);
    if (TW_UNLIKELY(value == NULL) && f->slot != TW_NOWHERE)
        return -1;
    if (framing->is_number)
        return tw_write_framed_number(f, object, value, w);
    if (TW_UNLIKELY(tw_write_framed_value(f, value, w) < 0))
        return -1;
    if (framing->measured >= 0)
        marks[framing->measured].size = tw_written(w) - start;
    return 0;
}

static inline int tw_write_usual(const tw_field *f, PyObject *value, tw_writer *w)
{
    int64_t x;
    int width;
    if (!f->framing->is_number) {
        if (f->kind == TW_BINARY && PyBytes_CheckExact(value))
            return tw_write_block(f, TW_BYTES_DATA(value), TW_BYTES_SIZE(value), w);
        return tw_write_value(f, value, w);
    }
    if (TW_UNLIKELY(tw_number_of(f->framing, value, &x, w) < 0 || tw_make_room(w, 10) < 0))
        return -1;
    w->known[f->framing->keep] = x;
    width = tw_number_bytes(f, x, w->p);
    if (TW_UNLIKELY(width < 0))
        return -1;
    w->p += width;
    return 0;
}

/* Skip a field that must be absent because of another field's value. Return -1 if the field's value in the object isn't
 * the default. */
static int tw_leave_out(const tw_struct *s, const tw_field *f, PyObject *object, tw_writer *w, tw_mark *marks)
{
    TW_HELD PyObject *value = f->framing->frame != TW_VALUE ? NULL : tw_value_of(s, f, object);
    w->known[f->framing->keep] = f->framing->absent;
    if (f->framing->mark >= 0)
        marks[f->framing->mark].field = NULL;
    if (f->framing->frame != TW_VALUE)
        return 0;
    return tw_differs(f, value) == 0 ? 0 : -1;
}

/* Return an upper limit for a struct's encoded size, or 0 if the fast path can't write the struct. */
static inline Py_ssize_t tw_short_room(const tw_struct *s, PyObject *object)
{
    Py_ssize_t room = 10 * s->items_count, size;
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        PyObject *value = f->framing->fast_path == TW_BOUNDS ? NULL : TW_SLOT(object, f->slot);
        if (f->framing->fast_path == TW_BYTES && !(value == Py_None && f->nullable)) {
            if (value == NULL || !PyBytes_CheckExact(value))
                return 0;
            size = TW_BYTES_SIZE(value);
            if (size > f->longest || size > INT32_MAX - room) /* too large for the field, or for the struct's length */
                return 0;
            room += size;
        } else if (f->framing->fast_path == TW_LIST && !(value != NULL && PyTuple_CheckExact(value) && TW_TUPLE_SIZE(value) == 0))
            return 0;
    }
    return room;
}

/* Write a bytes object (preceded by its length) or None at `p`. The caller has made room. Return the end of the
 * output. */
static inline uint8_t *tw_put_fast(uint8_t *p, PyObject *value)
{
    Py_ssize_t size;
    if (value == Py_None) {
        *p = 1;
        return p + 1;
    }
    size = TW_BYTES_SIZE(value);
    p = tw_put_varint(p, tw_to_zigzag(size));
    memcpy(p, TW_BYTES_DATA(value), (size_t)size);
    return p + size;
}

/* Fill the gap of `gap` bytes at `at` with a varint: the number of bytes between the gap and `p`. If the varint has a
 * different width than the gap, move these bytes. Return their new end. */
static inline uint8_t *tw_put_bounds(uint8_t *at, int gap, uint8_t *p, tw_writer *w)
{
    uint64_t bits = tw_to_zigzag(p - at - gap);
    int width = tw_varint_width(bits);
    if (TW_UNLIKELY(width != gap))
        memmove(at + width, at + gap, (size_t)(p - at - gap));
    tw_put_varint(at, bits);
    w->gap = width;
    return p + (width - gap);
}

/* Write a struct on the fast path. Return 0 for success, -1 for an error, or 1 if nothing was written because the fast
 * path can't handle a value. */
static int tw_write_short(const tw_struct *s, PyObject *object, tw_writer *w)
{
    Py_ssize_t room = w->counting ? 0 : tw_short_room(s, object);
    uint8_t *p, *bounds = NULL;
    int gap = w->gap;
    if (room == 0)
        return 1;
    if (tw_make_room(w, room) < 0)
        return -1;
    p = w->p;
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        int fast_path = f->framing->fast_path;
        if (fast_path == TW_BOUNDS) {
            bounds = p;
            p += gap;
        } else if (fast_path == TW_LIST)
            *p++ = 0;
        else if (fast_path == TW_BYTES)
            p = tw_put_fast(p, TW_SLOT(object, f->slot));
        else {
            PyObject *value = TW_SLOT(object, f->slot);
            int64_t x;
            int width;
            if (TW_UNLIKELY(value == NULL ? f->slot != w->implied_slot : !PyLong_CheckExact(value)))
                return 1;
            if (tw_number_of(f->framing, value, &x, w) < 0 || (width = tw_number_bytes(f, x, p)) < 0)
                return -1;
            p += width;
        }
    }
    w->p = bounds == NULL ? p : tw_put_bounds(bounds, gap, p, w);
    return 0;
}

static int tw_write_framed_items(const tw_struct *s, PyObject *object, tw_writer *w)
{
    tw_mark marks[TW_FRAMES];
    if (s->is_short) {
        int failed;
        TW_LOCK(object); /* keeps other threads from storing a larger value after room was made */
        failed = tw_write_short(s, object, w);
        TW_UNLOCK();
        if (TW_LIKELY(failed <= 0))
            return failed;
    }
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        const tw_framing *framing = f->framing;
        int failed;
        if (TW_LIKELY(framing->is_usual)) {
            TW_HELD PyObject *value = tw_value_of(s, f, object);
            if (TW_UNLIKELY(value == NULL && f->slot != w->implied_slot))
                return -1;
            if (TW_UNLIKELY(tw_write_usual(f, value, w) < 0))
                return -1;
            continue;
        }
        if (framing->is_guarded && !tw_holds(framing, w->known)) {
            if (tw_leave_out(s, f, object, w, marks) < 0)
                return -1;
            continue;
        }
        if (TW_UNLIKELY(framing->covered >= 0))
            marks[framing->covered].covered = tw_written(w);
        if (framing->mark < 0)
            failed = framing->frame == TW_COUNT ? tw_write_count(s, f, object, w) : tw_write_item(s, f, object, w, marks);
        else {
            marks[framing->mark].field = f;
            marks[framing->mark].covered = marks[framing->mark].size = 0;
            failed = tw_leave_gap(f, w, marks + framing->mark);
        }
        if (TW_UNLIKELY(failed < 0))
            return -1;
    }
    for (int index = (int)s->marks_count - 1; index >= 0; index--)
        if (marks[index].field != NULL && tw_close_mark(w, marks, index) < 0)
            return -1;
    return 0;
}

static int tw_write_dict(const tw_struct *s, PyObject *values, tw_writer *w)
{
    int unknown = PyDict_CheckExact(values) ? tw_has_unknown_names(s->known_tags, values) : 1;
    int failed;
    /* The layout interpreter decides whether to accept unknown keys and mappings other than dicts. */
    if (unknown) {
        w->unsure = 1;
        return -1;
    }
    Py_INCREF(values);
    failed = tw_write_framed_items(s, values, w);
    Py_DECREF(values);
    return failed;
}

static int tw_write_tuple(const tw_struct *s, PyObject *value, tw_writer *w)
{
    PyObject *tuple;
    int failed;
    if (TW_LIKELY(PyTuple_CheckExact(value) && TW_TUPLE_SIZE(value) == s->tuple_size))
        tuple = Py_NewRef(value);
    else {
        Py_INCREF(value);
        tuple = tw_coerced_tuple(value, s->tuple_size);
        Py_DECREF(value);
        if (tuple == NULL)
            return -1;
    }
    failed = tw_write_framed_items(s, tuple, w);
    Py_DECREF(tuple);
    return failed;
}

/* Write an object, tuple or dict as a struct of a record format. If `object` is a data class object, the caller must
 * hold a reference to it. */
static int tw_write_framed(const tw_struct *s, PyObject *object, tw_writer *w)
{
    if (s->shape == TW_DICT)
        return tw_write_dict(s, object, w);
    if (s->shape == TW_TUPLE)
        return tw_write_tuple(s, object, w);
    if (s->unknown_slot ? tw_reject_lost(s, object, w->shared) < 0 : tw_reject_missing(s, object) < 0)
        return -1;
    return tw_write_framed_items(s, object, w);
}

#endif
