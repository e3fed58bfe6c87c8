/* Append bytes to a buffer that grows, and fill in lengths that are known only after the bytes that they count. */
#ifndef TAGWIRE_WRITER_H
#define TAGWIRE_WRITER_H

#include "engine/wire.h"

static inline int64_t tw_written(const tw_writer *w) { return w->counted + (w->p - w->start); }

static TW_RARE int tw_grow(tw_writer *w, Py_ssize_t room)
{
    Py_ssize_t used = w->p - w->start, size = w->end - w->start;
    uint8_t *start;
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
    if (tw_make_room(w, size) < 0)
        return -1;
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
    if (tw_make_room(w, gap) < 0)
        return -1;
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
        if (tw_make_room(w, width) < 0)
            return -1;
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

#endif
