# cython: language_level=3, binding=False, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Records as lines of JSON, in native code: what `tagwire log dump --json` prints.

A module of its own, so that who dumps nothing does not load it. The loop is C (`json_lines.h`) and runs without
the interpreter's lock. It knows no places: where it stops before a record, `tagwire.log.dump` reads on.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free

__all__ = ["lines"]

cdef extern from "records/json_lines.h" nogil:
    ctypedef struct tw_text:
        uint8_t *data
        size_t size
        size_t room
        int failed
    ctypedef struct tw_lines:
        const uint8_t *data
        int64_t pos
        int64_t end
        int64_t left
        int64_t base_offset
        int64_t base_timestamp
        int appended
        int has_attributes
        const uint8_t *head
        size_t head_size
    int tw_text_reserve(tw_text *text, size_t more)
    void tw_lines_write(tw_text *text, tw_lines *lines, size_t most)


def lines(data, int64_t pos, int64_t end, int64_t count, int64_t base_offset, int64_t base_timestamp,
          bint appended, bint has_attributes, bytes head not None, Py_ssize_t most):
    """The lines of the next records: their bytes, where the record behind them begins, and how many are left.

    `data` from `pos` to `end` are `count` records; each line begins with `head`. It stops when `most` bytes are
    written, and before a record that is not exactly right. Raises ValueError for places that are not in `data`.
    """
    cdef tw_text text
    cdef tw_lines todo
    cdef int64_t expected
    cdef Py_buffer buffer
    text.data, text.size, text.room, text.failed = NULL, 0, 0, 0
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        if not 0 <= pos <= end <= buffer.len or most < 0:
            raise ValueError(f"bytes from {pos} to {end} of {buffer.len}")
        todo.data = <const uint8_t *>buffer.buf
        todo.pos, todo.end, todo.left = pos, end, count
        todo.base_offset, todo.base_timestamp = base_offset, base_timestamp
        todo.appended, todo.has_attributes = appended, has_attributes
        todo.head, todo.head_size = <const uint8_t *><const char *>head, len(head)
        expected = max(0, min(most, (end - pos) // 3 * 4 + count * <int64_t>(todo.head_size + 96)))
        with nogil:
            tw_text_reserve(&text, <size_t>expected)  # in one go: what grows is copied
            tw_lines_write(&text, &todo, <size_t>most)
        if text.failed:
            raise MemoryError
        return PyBytes_FromStringAndSize(<const char *>text.data, <Py_ssize_t>text.size), todo.pos, todo.left
    finally:
        free(text.data)
        PyBuffer_Release(&buffer)
