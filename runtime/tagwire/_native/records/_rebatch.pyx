# cython: language_level=3, binding=False, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Records moved to other batches, in native code: what `tagwire log convert` and `tagwire log compact` do most of.

A module of its own, so that who moves nothing does not load it. The loops are C (`rebatch.h`) and run without
the interpreter's lock. They know no places: what they refuse, `tagwire.log` moves record by record.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cython cimport final
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport free

__all__ = ["RecordRun", "facts"]

cdef extern from "records/rebatch.h" nogil:
    ctypedef struct tw_text:
        uint8_t *data
        size_t size
        size_t room
        int failed
    ctypedef struct tw_source:
        const uint8_t *data
        int64_t pos
        int64_t end
        int64_t left
        int64_t base_offset
        int64_t base_timestamp
        int appended
        int64_t next
    ctypedef struct tw_run:
        tw_text out
        int64_t base_offset
        int64_t base_timestamp
        int has_base
        int64_t count
        int64_t last_offset
        int64_t max_timestamp
    int tw_rebatch_look(tw_source source, const int64_t *lasts, int64_t lasts_count, uint8_t *facts)
    int tw_run_take(tw_run *run, tw_source *source, const uint8_t *kept, int64_t most_bytes, int64_t most_records)


cdef int begin(tw_source *source, Py_buffer *buffer, int64_t pos, int64_t end, int64_t count, tuple bases) except -1:
    """Places in a buffer as such. Raises ValueError for those that are not in it."""
    if not 0 <= pos <= end <= buffer.len or not 0 <= count <= end - pos:
        raise ValueError(f"{count} records in bytes from {pos} to {end} of {buffer.len}")
    source.data = <const uint8_t *>buffer.buf
    source.pos, source.end, source.left = pos, end, count
    source.base_offset, source.base_timestamp, source.appended = bases
    return 0


def facts(data, int64_t pos, int64_t end, int64_t count, tuple bases not None, lasts):
    """A byte for each of the `count` records from `pos` to `end` of `data`, or None where one is not exactly right.

    Bit 1: its offset is one of `lasts`, a buffer of ascending int64; bit 2: its key is null; bit 4: its value is. `bases`
    are the batch's offset and timestamp, and whether all its records have that. Raises ValueError for places that are
    not in `data`.
    """
    cdef Py_buffer buffer, numbers
    cdef tw_source source
    cdef uint8_t *made
    cdef int is_right
    PyObject_GetBuffer(lasts, &numbers, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            begin(&source, &buffer, pos, end, count, bases)
            found = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count)
            made = <uint8_t *>PyBytes_AsString(found)
            with nogil:
                is_right = tw_rebatch_look(source, <const int64_t *>numbers.buf, numbers.len // 8, made)
            return found if is_right else None
        finally:
            PyBuffer_Release(&buffer)
    finally:
        PyBuffer_Release(&numbers)


@final
cdef class RecordRun:
    """The records of a batch to be, as bytes; counted from its offset, and from its timestamp or that of the first."""

    cdef tw_run run

    def __cinit__(self, int64_t base_offset, base_timestamp):
        self.run.base_offset = base_offset
        self.run.max_timestamp = -1
        self.run.last_offset = base_offset
        if base_timestamp is not None:
            self.run.base_timestamp = base_timestamp
            self.run.has_base = True

    def __dealloc__(self):
        free(self.run.out.data)

    def take(self, data, int64_t pos, int64_t end, int64_t count, tuple bases not None, bytes kept, most_bytes,
             most_records):
        """Move records that `facts` found right, as long as there is room, which the first always has.

        Where it stopped, how many records are left, and the offset of the next; None for that if it can't be counted
        from these bases. `kept` has a 0 for each that is left out; None for none. Raises ValueError for places that are
        not in `data`.
        """
        cdef Py_buffer buffer
        cdef tw_source source
        cdef const uint8_t *kept_of = NULL
        cdef int64_t bytes_bound = INT64_MAX if most_bytes is None else most_bytes
        cdef int64_t records_bound = INT64_MAX if most_records is None else most_records
        cdef int is_right
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            begin(&source, &buffer, pos, end, count, bases)
            source.next = 0
            if kept is not None:
                if len(kept) != count:
                    raise ValueError(f"{len(kept)} marks for {count} records")
                kept_of = <const uint8_t *>PyBytes_AsString(kept)
            with nogil:
                is_right = tw_run_take(&self.run, &source, kept_of, bytes_bound, records_bound)
            if self.run.out.failed:
                raise MemoryError
            return source.pos, source.left, source.next if is_right else None
        finally:
            PyBuffer_Release(&buffer)

    def __len__(self):
        return <Py_ssize_t>self.run.count

    @property
    def data(self):
        """The records as bytes."""
        return PyBytes_FromStringAndSize(<const char *>self.run.out.data, <Py_ssize_t>self.run.out.size)

    @property
    def size(self):
        """How many bytes that is."""
        return <Py_ssize_t>self.run.out.size

    @property
    def base_timestamp(self):
        """What timestamps are counted from; -1 as long as nobody knows."""
        return self.run.base_timestamp if self.run.has_base else -1

    @property
    def last_offset(self):
        """Of the last record."""
        return self.run.last_offset

    @property
    def max_timestamp(self):
        """The highest of the records, -1 where there are none."""
        return self.run.max_timestamp
