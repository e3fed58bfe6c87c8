/* Append bytes to a buffer that grows, and fill in lengths that are known only after the bytes that they count.
 *
 * encode.h writes objects with these functions, and column_encode_impl.h writes columns. Functions return 0, -1 for a
 * value that is rejected, or the error code of the writer's `grow` function. */
#ifndef TAGWIRE_WRITER_H
#define TAGWIRE_WRITER_H

#include "engine/wire.h"

static inline int64_t tw_written(const tw_writer *w) { return w->counted + (w->p - w->start); }

static TW_RARE int tw_grow(tw_writer *w, Py_ssize_t room)
{
    Py_ssize_t used = w->p - w->start, size = w->end - w->start;
    uint8_t *start;
    if (w->grow != NULL)
        return w->grow(w, room);
    if (w->counting) {
        w->counted += used;
        w->p = w->start;
        if (room <= size)
            return 0;
        used = 0;
    }
    if (room > PY_SSIZE_T_MAX / 2 - size) {
        PyErr_NoMemory();
        return -1;
    }
    size = 2 * size > used + room ? 2 * size : used + room;
    if (size < w->expected)
        size = w->expected; /* growing repeatedly uses more memory */
#ifdef Py_LIMITED_API
    start = PyMem_Realloc(w->block, size);
    if (start == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (w->block == NULL)
        memcpy(start, w->start, used);
    w->block = start;
#else
    if (w->bytes == NULL) {
        w->bytes = PyBytes_FromStringAndSize(NULL, size);
        if (w->bytes == NULL)
            return -1;
        memcpy(PyBytes_AS_STRING(w->bytes), w->start, used);
    } else if (_PyBytes_Resize(&w->bytes, size) < 0)
        return -1;
    start = TW_BYTES_DATA(w->bytes);
#endif
    w->start = start;
    w->p = start + used;
    w->end = start + size;
    return 0;
}

static inline int tw_make_room(tw_writer *w, Py_ssize_t room)
{
    return TW_LIKELY(w->end - w->p >= room) ? 0 : tw_grow(w, room);
}

static inline int tw_put(tw_writer *w, const void *data, Py_ssize_t size)
{
    if (w->counting) {
        w->counted += size;
        return 0;
    }
    TW_TRY(tw_make_room(w, size));
    if (size) /* `data` may be NULL if `size` is 0 */
        memcpy(w->p, data, size);
    w->p += size;
    return 0;
}

static inline void tw_discard(tw_writer *w)
{
    Py_CLEAR(w->bytes);
    PyMem_Free(w->block);
    w->block = NULL;
}

/* Return the written bytes as a new bytes object. The writer can't be used afterwards. */
static inline PyObject *tw_finish(tw_writer *w)
{
    Py_ssize_t used = w->p - w->start;
    PyObject *bytes;
#ifndef Py_LIMITED_API
    if (w->bytes != NULL) {
        bytes = w->bytes;
        _PyBytes_Resize(&bytes, used); /* sets `bytes` to NULL on failure */
        return bytes;
    }
    return PyBytes_FromStringAndSize((char *)w->start, used);
#else
    bytes = PyBytes_FromStringAndSize((char *)w->start, used);
    tw_discard(w);
    return bytes;
#endif
}

/* Leave a gap for a length, and store the gap's offset in `*start`. tw_close fills the gap. If the gap has the
 * wrong width, tw_close moves the bytes after it. */
static inline int tw_open(tw_writer *w, int code, int64_t *start)
{
    int gap = code == TW_LENGTH_INT32 ? 4 : code == TW_LENGTH_INT16 ? 2 : 1;
    TW_TRY(tw_make_room(w, gap));
    *start = tw_written(w);
    w->p += gap;
    return 0;
}

/* Fill the gap of `gap` bytes at offset `at` with `width` bytes of data. If the widths differ, move the bytes after the
 * gap. */
static inline int tw_fill_gap(tw_writer *w, int64_t at, int gap, const uint8_t *data, int width)
{
    if (w->counting) {
        w->counted += width - gap;
        return 0;
    }
    if (TW_UNLIKELY(width != gap)) {
        TW_TRY(tw_make_room(w, width));
        memmove(w->start + at + width, w->start + at + gap, (size_t)(tw_written(w) - at - gap));
        w->p += width - gap;
    }
    memcpy(w->start + at, data, (size_t)width);
    return 0;
}

/* Fill the gap at `start` with the number of bytes written after the gap, minus `uncounted`. */
static inline int tw_close(tw_writer *w, int code, int64_t start, int uncounted)
{
    uint8_t length[TW_LENGTH_WIDTH + 1];
    int gap = code == TW_LENGTH_INT32 ? 4 : code == TW_LENGTH_INT16 ? 2 : 1;
    int64_t size = tw_written(w) - start - gap;
    uint8_t *end = tw_put_length(length, code, size - uncounted);
    return end == NULL ? -1 : tw_fill_gap(w, start, gap, length, (int)(end - length));
}

static inline int tw_write_length(int code, int64_t n, tw_writer *w)
{
    uint8_t *p;
    TW_TRY(tw_make_room(w, TW_LENGTH_WIDTH));
    p = tw_put_length(w->p, code, n);
    if (TW_UNLIKELY(p == NULL))
        return -1;
    w->p = p;
    return 0;
}

/* Write the length that means null. TW_LENGTH_UVARINT and TW_NO_LENGTH have none, so such fields aren't nullable. */
static inline int tw_write_null(const tw_field *f, tw_writer *w)
{
    return f->nullable ? tw_write_length(f->length, TW_NULL, w) : -1;
}

/* Write the marker byte before a nested value, if its type has one. Without a marker, reject null. */
static inline int tw_write_marker(const tw_field *f, int is_present, tw_writer *w)
{
    if (f->marker == TW_NO_MARKER)
        return is_present ? 0 : -1;
    TW_TRY(tw_make_room(w, 1));
    *w->p++ = is_present ? 1 : f->marker == TW_MARKER_INT8 ? 0xFF : 0;
    return 0;
}

/* Write bytes, preceded by their length unless the field has a fixed size. */
static inline int tw_write_block(const tw_field *f, const void *data, Py_ssize_t size, tw_writer *w)
{
    if (TW_UNLIKELY(f->kind == TW_BLOCK))
        return size != f->longest ? -1 : tw_put(w, data, size);
    if (size > f->longest)
        return -1;
    TW_TRY(tw_write_length(f->length, size, w));
    return tw_put(w, data, size);
}

/* Write the tag of a tagged field, and leave a gap for the value's size. In a tag section, the size follows the tag; in
 * an optional buffer (KIP-482 draft), it precedes the tag. */
static inline int tw_open_tag(const tw_struct *s, tw_writer *w, int64_t tag, int64_t *start)
{
    TW_TRY(tw_make_room(w, TW_LENGTH_WIDTH + 2));
    if (s->section == TW_TAGGED_SECTION) {
        w->p = tw_put_varint(w->p, (uint64_t)tag);
        return tw_open(w, TW_LENGTH_UVARINT, start);
    }
    TW_TRY(tw_open(w, s->entry_length, start));
    TW_TRY(tw_make_room(w, 2));
    tw_put16(w->p, (uint16_t)tag);
    w->p += 2;
    return 0;
}

static inline int tw_close_tag(const tw_struct *s, tw_writer *w, int64_t start)
{
    if (s->section == TW_TAGGED_SECTION)
        return tw_close(w, TW_LENGTH_UVARINT, start, 0);
    if (!s->counts_tag && tw_written(w) - start == 3)
        return -1; /* an entry whose data is empty would have the size 0, which marks the end of the buffer */
    return tw_close(w, s->entry_length, start, s->counts_tag ? 0 : 2);
}

#endif
