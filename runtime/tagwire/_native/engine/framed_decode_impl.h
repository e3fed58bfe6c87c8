/* Decode record formats. Their structs contain lengths, counts and checksums of other fields, and fields whose presence
 * or meaning depends on other fields.
 *
 * Messages don't need the extra checks, so they have their own decoding loop in decode.h. Structs are decoded to
 * objects, tuples or dicts. As in decode.h, functions return NULL or -1 for an error.
 */
#ifndef TAGWIRE_FRAMED_DECODE_IMPL_H
#define TAGWIRE_FRAMED_DECODE_IMPL_H

#include "engine/number_reading.h"

/* The next two functions are defined in framing.pxi. They set an exception if they fail. */
int64_t tw_crc32(const uint8_t *data, Py_ssize_t size);
PyObject *tw_decompressed(PyObject *codec, const uint8_t *data, Py_ssize_t size, PyObject *limits);

static inline int64_t tw_checksum(const tw_shared *shared, int algorithm, const uint8_t *data, Py_ssize_t size)
{
    return algorithm == TW_CRC32C ? (int64_t)tw_crc32c(&shared->crc32c, data, size) : tw_crc32(data, size);
}

/* Convert a decoded number to an attribute's value: clear the bits of other attributes, and add the base of a delta.
 * Return NULL without an exception if the result needs more than 64 bits. */
static inline PyObject *tw_new_number(const tw_framing *framing, const tw_reader *r, int64_t x)
{
    int64_t sum, base = r->known[framing->base];
    x = (x & ~framing->hidden) * r->known[framing->scale];
    return TW_LIKELY(tw_add(base, x, &sum)) ? tw_new_int(r->shared, sum) : NULL;
}

/* Verify the checksum of the bytes from the reader's position to r->end. Return -1 if it does not match. */
static int tw_verify(const tw_framing *framing, const tw_reader *r)
{
    int64_t found;
    if (r->trusted)
        return 0;
    found = tw_checksum(r->shared, framing->algorithm, r->p, r->end - r->p);
    return found == r->known[framing->sum] ? 0 : -1;
}

/* Read an array, and record in r->good which elements are valid, so that the layout interpreter can skip them after an
 * error. For an array sorted by a number field, also record the last valid number. */
static PyObject *tw_read_noted_array(const tw_field *f, tw_reader *r)
{
    const tw_framing *framing = f->framing;
    const uint8_t *start = r->p;
    int64_t count = r->known[framing->counted_by];
    PyObject *tuple;
    if (!framing->counted_by)
        tuple = tw_read_array(f, r);
    else
        tuple = count < 0 || count > r->end - r->p ? NULL : tw_read_counted(f, r, count);
    if (TW_LIKELY(tuple != NULL)) {
        if (tuple != Py_None)
            r->good[0] = (tw_good){start, r->p, TW_TUPLE_SIZE(tuple), r->elements, INT64_MIN};
    } else if (r->rejected != NULL && r->filled > 0 && !f->element->marker && r->good_count < TW_MOST_GOOD)
        r->good[r->good_count++] = (tw_good){
            start, r->rejected, r->filled, r->rejected_elements, framing->ordered ? r->known[framing->ordered] : INT64_MIN};
    return tuple;
}

static PyObject *tw_read_framed_array(const tw_field *f, tw_reader *r)
{
    const tw_framing *framing = f->framing;
    PyObject *tuple;
    if (framing->ordered)
        r->known[framing->ordered] = INT64_MIN;
    tuple = tw_read_noted_array(f, r);
    if (tuple != NULL && framing->filled && TW_TUPLE_SIZE(tuple) == 0)
        Py_CLEAR(tuple);
    return tuple;
}

/* Read an array whose compressed bytes extend to r->end. Return NULL for invalid bytes. */
static PyObject *tw_read_compressed(const tw_field *f, tw_reader *r, int64_t codec)
{
    const uint8_t *end = r->end;
    tw_reader inner = *r;
    PyObject *value, *data;
    if (r->is_decompressed || r->views != NULL || codec >= TW_TUPLE_SIZE(f->framing->codecs))
        return NULL;
    data = tw_decompressed(TW_TUPLE_GET(f->framing->codecs, codec), r->p, end - r->p, r->limits);
    if (data == NULL || data == Py_None) { /* None: the compressed data is invalid or too large */
        Py_XDECREF(data);
        return NULL;
    }
    inner.is_decompressed = 1;
    inner.p = inner.start = TW_BYTES_DATA(data);
    inner.end = inner.p + TW_BYTES_SIZE(data);
    inner.numbers_tuple = NULL;
    value = tw_read_framed_array(f, &inner);
    if (value != NULL && inner.p != inner.end)
        Py_CLEAR(value);
    Py_XDECREF(inner.numbers_tuple);
    Py_DECREF(data);
    r->p = end;
    r->elements = inner.elements;
    return value;
}

static PyObject *tw_read_framed_value(const tw_field *f, tw_reader *r)
{
    const tw_framing *framing = f->framing;
    if (f->kind != TW_ARRAY)
        return tw_read_value(f, r);
    if (framing->codec_register) {
        int64_t codec = (r->known[framing->codec_register] & framing->codec_mask) >> framing->codec_shift;
        if (codec)
            return tw_read_compressed(f, r, codec);
    }
    return tw_read_framed_array(f, r);
}

/* Read a value whose size in bytes is in an earlier field. Return NULL if the size is wrong. */
static PyObject *tw_read_within(const tw_field *f, tw_reader *r)
{
    const uint8_t *around = r->end;
    int64_t size = r->known[f->framing->extent];
    PyObject *value;
    if (size < 0 || size > around - r->p)
        return NULL;
    r->end = r->p + size;
    value = tw_read_framed_value(f, r);
    if (value != NULL && r->p != r->end)
        Py_CLEAR(value);
    r->end = around;
    return value;
}

/* Store a field's value in `object`, which is a data class object, a tuple or a dict. Steals the reference to `value`.
 * Return -1 if `value` is NULL because reading it failed. */
static inline int tw_keep(const tw_struct *s, const tw_field *f, PyObject *object, PyObject *value)
{
    int failed;
    if (TW_UNLIKELY(value == NULL))
        return -1;
    if (f->slot == TW_NOWHERE) {
        Py_DECREF(value);
        return 0;
    }
    if (s->shape == TW_OBJECT) {
        TW_SLOT(object, f->slot) = value;
        return 0;
    }
    if (s->shape == TW_TUPLE) {
        TW_TUPLE_SET(object, f->slot, value);
        return 0;
    }
    failed = PyDict_SetItem(object, f->name, value);
    Py_DECREF(value);
    return failed;
}

static inline int tw_read_framed_number(const tw_struct *s, const tw_field *f, tw_reader *r, PyObject *object)
{
    const tw_framing *framing = f->framing;
    const uint8_t *start = r->p;
    int64_t x;
    if (TW_UNLIKELY(tw_read_number(f, r, &x) < 0))
        return -1;
    r->known[framing->keep] = x;
    if (framing->is_checked && tw_check_number(framing, x, r->known) < 0)
        return -1;
    if (framing->frame == TW_EXTENT || framing->frame == TW_EXTENT_OF)
        return tw_enter(framing, r, x, start);
    if (framing->flag_mask)
        TW_SLOT(object, framing->flag_slot) = PyBool_FromLong((x & framing->flag_mask) != 0);
    return f->slot == TW_NOWHERE ? 0 : tw_keep(s, f, object, tw_new_number(framing, r, x));
}

static inline PyObject *tw_read_usual(const tw_field *f, tw_reader *r)
{
    int64_t x;
    if (f->framing->is_number) {
        if (TW_UNLIKELY(tw_read_number(f, r, &x) < 0))
            return NULL;
        r->known[f->framing->keep] = x;
        return tw_new_number(f->framing, r, x);
    }
    if (f->kind == TW_BINARY)
        return tw_new_sized(f, r);
    return f->kind == TW_ARRAY ? tw_read_noted_array(f, r) : tw_read_value(f, r);
}

static inline int tw_read_item(const tw_struct *s, const tw_field *f, tw_reader *r, PyObject *object)
{
    const tw_framing *framing = f->framing;
    if (framing->is_guarded && !tw_holds(framing, r->known)) {
        r->known[framing->keep] = framing->absent;
        return f->slot == TW_NOWHERE ? 0 : tw_keep(s, f, object, tw_default(f, r->untracked));
    }
    if (TW_UNLIKELY(framing->sum) && tw_verify(framing, r) < 0)
        return -1;
    if (framing->is_number)
        return tw_read_framed_number(s, f, r, object);
    return tw_keep(s, f, object, framing->extent ? tw_read_within(f, r) : tw_read_framed_value(f, r));
}

/* Return a new reference to a bytes object with these contents. `held` is the slot's old value. To save
 * an allocation, reuse `held` if it is a bytes object of equal size to which nothing else refers. */
static inline PyObject *tw_new_bytes(PyObject *held, const uint8_t *p, Py_ssize_t size)
{
#if !defined(Py_LIMITED_API) && !TW_FREE_THREADED
    if (held != NULL && PyBytes_CheckExact(held) && Py_REFCNT(held) == 1 && PyBytes_GET_SIZE(held) == size && size > 1) {
        memcpy(PyBytes_AS_STRING(held), p, (size_t)size);
        _Py_COMP_DIAG_PUSH
        _Py_COMP_DIAG_IGNORE_DEPR_DECLS
        ((PyBytesObject *)held)->ob_shash = -1;
        _Py_COMP_DIAG_POP
        return Py_NewRef(held);
    }
#else
    (void)held;
#endif
    return PyBytes_FromStringAndSize((const char *)p, size);
}

/* Read a field (a number, bytes, or an empty array) on the fast path. `bits` is the field's first varint, which
 * is already read. Advance `*p` to the end of the field. `held` is the slot's old value, which may be reused. */
static inline PyObject *tw_read_fast(const tw_field *f, const tw_reader *r, const uint8_t **p, uint64_t bits, PyObject *held)
{
    const uint8_t *data = *p;
    int64_t size = tw_from_zigzag(bits);
    if (f->framing->fast_path == TW_NUMBER)
        return tw_new_number(f->framing, r, size);
    if (f->framing->fast_path == TW_LIST)
        return Py_NewRef(r->shared->empty_tuple);
    if (TW_UNLIKELY(size < 0))
        return size == TW_NULL && f->nullable ? Py_NewRef(Py_None) : NULL;
    if (TW_UNLIKELY(size > r->end - data || size > f->longest))
        return NULL;
    *p += size;
    return tw_new_bytes(held, data, (Py_ssize_t)size);
}

/* Read a struct on the fast path into `object`, whose slots may still contain old values. The read position is a local
 * variable, so that the compiler need not reload it after each store into the object. */
static int tw_read_short(const tw_struct *s, tw_reader *r, PyObject *object)
{
    const uint8_t *p = r->p;
    for (const tw_field *f = s->items, *last = f + s->items_count; f < last; f++) {
        int fast_path = f->framing->fast_path;
        PyObject *value, *held;
        uint64_t bits;
        if (fast_path == TW_PASS)
            value = p < r->end ? tw_new_number(f->framing, r, (int8_t)*p++) : NULL;
        else if (fast_path == TW_LIST && !(p < r->end && *p == 0)) {
            r->p = p;
            value = tw_read_noted_array(f, r);
            p = r->p;
        } else {
            p = tw_pass_varint(p, r->end, f->bits == 64 ? 10 : 5, &bits);
            if (TW_UNLIKELY(p == NULL || (f->bits != 64 && bits >> 32)))
                return -1;
            if (fast_path == TW_BOUNDS) {
                if (bits & 1 || bits >> 1 > (uint64_t)(r->end - p))
                    return -1;
                r->end = p + (bits >> 1);
                continue;
            }
            value = tw_read_fast(f, r, &p, bits, TW_SLOT(object, f->slot));
        }
        if (TW_UNLIKELY(value == NULL))
            return -1;
        /* Get the old value only now, because garbage collection during the read may have changed the slot. */
        held = TW_SLOT(object, f->slot);
        TW_SLOT(object, f->slot) = value;
        Py_XDECREF(held);
    }
    r->p = p;
    return 0;
}

static inline PyObject *tw_new_made(const tw_struct *s, const tw_reader *r)
{
    if (s->shape == TW_OBJECT)
        return tw_new_object(&s->factory, r->untracked);
    return s->shape == TW_TUPLE ? PyTuple_New(s->tuple_size) : PyDict_New();
}

static inline int tw_read_framed_items(const tw_struct *s, tw_reader *r, PyObject *object)
{
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        int failed = f->framing->is_usual ? tw_keep(s, f, object, tw_read_usual(f, r)) : tw_read_item(s, f, r, object);
        if (TW_UNLIKELY(failed < 0))
            return -1;
    }
    return 0;
}

/* Return whether a struct can be read on the fast path. The fast path copies bytes, so it can't create views. */
static inline int tw_goes_short(const tw_struct *s, const tw_reader *r) { return s->is_short && r->views == NULL; }

/* Read a struct into `object` and return `object`. If reading fails, release `object` and return NULL. */
static PyObject *tw_read_into(const tw_struct *s, tw_reader *r, PyObject *object)
{
    const uint8_t *around = r->end, *start = r->p;
    int64_t elements = r->elements;
    int failed;
    if (object == NULL)
        return NULL;
    failed = tw_goes_short(s, r) ? tw_read_short(s, r, object) : tw_read_framed_items(s, r, object);
    if (TW_UNLIKELY(failed < 0 || (s->enclosed && r->p != r->end)))
        goto error;
    if (s->shape == TW_OBJECT) {
        if (TW_UNLIKELY(tw_fill_in(s, object, r->untracked) < 0))
            goto error;
        if (s->unknown_slot)
            TW_SLOT(object, s->unknown_slot) = Py_NewRef(r->shared->no_tags);
    }
    if (s->leaves)
        PyObject_GC_UnTrack(object);
    r->end = around;
    return object;
error:
    r->rejected = start;
    r->rejected_elements = elements;
    Py_DECREF(object);
    return NULL;
}

static PyObject *tw_read_framed(const tw_struct *s, tw_reader *r)
{
    return tw_read_into(s, r, tw_new_made(s, r));
}

/* Read a struct into `object`, an object decoded earlier that is no longer used elsewhere. Steals the reference. */
static TW_MAYBE_UNUSED PyObject *tw_read_again(const tw_struct *s, tw_reader *r, PyObject *object)
{
    /* release the old values, unless the fast path does so itself */
    Py_ssize_t items = tw_goes_short(s, r) ? 0 : s->items_count;
    for (const tw_field *f = s->items, *end = f + items; f < end; f++) {
        if (f->slot != TW_NOWHERE)
            Py_CLEAR(TW_SLOT(object, f->slot));
        if (f->framing->flag_mask)
            Py_CLEAR(TW_SLOT(object, f->framing->flag_slot));
    }
    for (const tw_field *f = s->missing, *end = f + s->missing_count; f < end; f++)
        Py_CLEAR(TW_SLOT(object, f->slot));
    return tw_read_into(s, r, object);
}

#endif
