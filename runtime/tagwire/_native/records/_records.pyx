# cython: language_level=3, binding=False, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Process magic 2 records without creating objects.

This module writes records as text (for `tagwire log dump`), moves records to other batches (for `tagwire log convert`
and `tagwire log compact`), and encodes columns as records (for Spark). It also searches damaged files for batches.

The loops are in C and run without the GIL. To locate errors, `tagwire.log` reads rejected records again.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cython cimport final
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

from records.declarations cimport *

__all__ = ["HeaderSearch", "RecordRun", "Rows", "Source"]

tw_prepare_rows()

cdef enum:
    LINE = 160  # the estimated length of a line, not counting the key, value, headers and common text


cdef class Held:
    """A reference to a buffer, which can't be freed or resized as long as this object exists."""

    cdef Py_buffer buffer

    def __cinit__(self, data, *_):
        PyObject_GetBuffer(data, &self.buffer, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)


@final
cdef class Source(Held):
    """The unread records of a batch, and a reference to the buffer that contains them.

    The `count` records are in the bytes from `pos` to `end`. `bases` is a tuple (base offset, timestamp, is_appended).
    Timestamp deltas are added to this timestamp, or ignored if `is_appended` is true. `has_attributes` is false if the
    records have no attributes byte. Raises ValueError for positions outside the buffer.
    """

    cdef tw_batch batch

    def __cinit__(self, data, int64_t pos, int64_t end, int64_t count, tuple bases not None, bint has_attributes=True):
        if not 0 <= pos <= end <= self.buffer.len or not 0 <= count <= end - pos:
            raise ValueError(f"invalid range: {count} records in bytes {pos} to {end} of an input of {self.buffer.len} bytes")
        self.batch.p = <const uint8_t *>self.buffer.buf + pos
        self.batch.end = <const uint8_t *>self.buffer.buf + end
        self.batch.left = count
        self.batch.base_offset, self.batch.base_timestamp, self.batch.is_appended = bases
        self.batch.has_attributes = has_attributes

    @property
    def left(self):
        """The number of unread records."""
        return self.batch.left

    @property
    def is_read(self):
        """Whether all records have been read, and no bytes follow them."""
        return self.batch.left == 0 and self.batch.p == self.batch.end

    def lines(self, bytes text not None, Py_ssize_t most, bint is_text):
        """Read records, and return them as lines of text.

        Lines are JSON objects that begin with `text`. If `is_text` is true, lines are tab-separated text instead, and
        end with `text` and the record's attributes. Stops when `most` bytes are written, or before a record that C
        can't read.
        """
        cdef tw_output out
        cdef tw_common_text common
        cdef int64_t expected
        if most < 0:
            raise ValueError(f"most: expected a limit of 0 or more bytes, got {most}")
        common.data, common.size, common.is_text = text, len(text), is_text
        out.data, out.size, out.room, out.failed = NULL, 0, 0, 0
        expected = (self.batch.end - self.batch.p) // 3 * 4 + self.batch.left * <int64_t>(common.size + LINE)
        try:
            with nogil:
                # Reserve memory once, because growing the buffer copies it.
                tw_reserve_output(&out, <size_t>min(most, expected))
                tw_write_lines(&out, &self.batch, common, <size_t>most)
            if out.failed:
                raise MemoryError
            return bytes_of(&out)
        finally:
            free(out.data)

    def facts(self, lasts):
        """Return one byte of flags for each unread record, or None if Python must read the records.

        The byte is the sum of these flags: 1 if the record's offset is in `lasts`, a sorted buffer of int64; 2 if its
        key is null; 4 if its value is null. The records stay unread.
        """
        cdef tw_batch batch = self.batch
        cdef Held numbers = Held(lasts)
        cdef uint8_t *out
        cdef bint is_right
        found = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>batch.left)
        out = <uint8_t *>PyBytes_AsString(found)
        with nogil:
            is_right = tw_facts_of(&batch, <const int64_t *>numbers.buffer.buf, numbers.buffer.len // 8, out)
        return found if is_right else None

    def totals(self):
        """Return the totals of the unread records, as in `tagwire.records.native`, or None if Python must read them.

        The records stay unread.
        """
        cdef tw_batch batch = self.batch
        cdef tw_totals t
        cdef bint is_right
        with nogil:
            is_right = tw_totals_of(&batch, &t)
        if not is_right:
            return None
        count = self.batch.left
        times = (None, None) if count == 0 else (None if t.latest < 0 else t.earliest, t.latest)
        return count, t.bytes, t.nulls, t.with_headers, *times, t.first, t.last, bool(t.ascends)


cdef bytes bytes_of(const tw_output *out):
    return PyBytes_FromStringAndSize(<const char *>out.data, <Py_ssize_t>out.size)


@final
cdef class Rows:
    """Rows of Arrow columns, and references to the buffers that contain them.

    A column is None if all its values are null. Otherwise, it is a tuple of Arrow buffers, and `first` is the index of
    the first row in them:
    bytes: `(valid, ends, data, first)`, where `ends` has the int32 offsets of the values in `data`
    timestamps (in microseconds) and offsets: `(valid, numbers, first)`, where `numbers` has the int64 values
    headers: `(valid, ends, first, count, keys, values)`, where `keys` and `values` are bytes columns with the keys and
    values of all `count` headers, and `ends` has the indexes at which each row's headers begin and end

    `valid` is the validity bitmap; None if the column has no nulls. Offsets and header keys must not be null. If there
    are no offsets, rows are numbered, starting at `next_offset`. Raises ValueError for buffers that are too small.
    """

    cdef tw_rows rows
    cdef int64_t count
    cdef list kept

    def __cinit__(self, int64_t count, keys, values, timestamps, offsets, headers, int64_t next_offset):
        self.count = count
        self.kept = []
        self.rows.next_offset = next_offset
        self.bytes(&self.rows.keys, count, keys)
        self.bytes(&self.rows.values, count, values)
        self.numbers(&self.rows.timestamps, timestamps)
        self.numbers(&self.rows.offsets, offsets)
        self.headers(headers)

    @property
    def next_offset(self):
        """The lowest offset that the next row may have."""
        return self.rows.next_offset

    @property
    def content(self):
        """The sum of one CRC-32C per appended record, computed from its encoded key, value and headers."""
        return self.rows.content

    cdef int headers(self, object buffers) except -1:
        cdef int64_t first, count, end
        if buffers is None:
            return 0
        valid, ends, first, count, keys, values = buffers
        end = self.ends(&self.rows.headers, self.count, valid, ends, first)
        if end > count:
            raise ValueError(f"header index {end} is out of range; there are {count} headers")
        self.bytes(&self.rows.header_keys, count, keys)
        self.bytes(&self.rows.header_values, count, values)
        return 0

    cdef int bytes(self, tw_arrow_column *column, int64_t count, object buffers) except -1:
        if buffers is None:
            return 0
        valid, ends, data, first = buffers
        column.data = <const uint8_t *>self.held(data, self.ends(column, count, valid, ends, first))
        return 0

    cdef int64_t ends(self, tw_arrow_column *column, int64_t count, object valid, object ends, int64_t first) except -1:
        """Set the offsets at which rows begin and end. Return the offset at which the last row ends."""
        cdef int64_t row
        self.set_range(column, count, valid, first)
        column.ends = <const int32_t *>self.held(ends, (column.first + count + 1) * sizeof(int32_t) if count else 0)
        for row in range(column.first, column.first + count):
            if not 0 <= column.ends[row] <= column.ends[row + 1]:
                raise ValueError(f"row {row - column.first}: expected offsets of 0 or more that never decrease, got {column.ends[row]} and {column.ends[row + 1]}")
        return column.ends[first + count] if count else 0

    cdef int numbers(self, tw_arrow_column *column, object buffers) except -1:
        if buffers is None:
            return 0
        valid, numbers, first = buffers
        self.set_range(column, self.count, valid, first)
        column.numbers = <const int64_t *>self.held(numbers, (column.first + self.count) * sizeof(int64_t))
        return 0

    cdef int set_range(self, tw_arrow_column *column, int64_t count, object valid, int64_t first) except -1:
        if first < 0 or count < 0 or first > (INT64_MAX >> 4) - count:
            raise ValueError(f"invalid range of rows: first row {first}, row count {count}")
        column.first = first
        if valid is not None:
            column.valid = self.held(valid, (first + count + 7) // 8)
        return 0

    cdef const uint8_t *held(self, object data, int64_t least) except? NULL:
        """Keep a buffer alive and return its address. Raises ValueError if it is shorter than `least` bytes."""
        view = Held(data)
        self.kept.append(view)
        if (<Held>view).buffer.len < least:
            raise ValueError(f"expected a buffer of at least {least} bytes, got {(<Held>view).buffer.len}")
        return <const uint8_t *>(<Held>view).buffer.buf


@final
cdef class RecordRun:
    """The encoded records of a new batch. If `base_timestamp` is None, it is the first record's timestamp."""

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

    def take(self, Source source not None, bytes kept, most_bytes, most_records):
        """Append unread records of an old batch, until the new batch reaches `most_bytes` or `most_records`.

        Return the next record's offset, or None if a delta of the next record would be out of range.

        `Source.facts` must have accepted the old batch. The first record of an empty new batch may exceed the limits.
        `kept` has one byte per record, 0 for a record to omit; None keeps all records.
        """
        cdef const uint8_t *kept_of = NULL
        cdef int64_t bytes_bound = INT64_MAX if most_bytes is None else most_bytes
        cdef int64_t records_bound = INT64_MAX if most_records is None else most_records
        cdef int64_t next_offset = 0
        cdef bint is_right
        if kept is not None:
            if len(kept) != source.batch.left:
                raise ValueError(f"kept: expected {source.batch.left} bytes, one per record, got {len(kept)}")
            kept_of = <const uint8_t *>PyBytes_AsString(kept)
        with nogil:
            is_right = tw_take_records(&self.run, &source.batch, kept_of, bytes_bound, records_bound, &next_offset)
        if self.run.out.failed:
            raise MemoryError
        return next_offset if is_right else None

    def append(self, Rows rows not None, int64_t row, int64_t stop, most_bytes, most_records):
        """Append rows as records, until a limit is reached. Return (next_row, can_continue).

        The first record of an empty batch may exceed the limits. `can_continue` is false if the next row does not even
        fit into an empty batch, or if its offset isn't higher than the previous row's. Raises ValueError for rows
        that don't exist.
        """
        cdef int64_t bytes_bound = INT64_MAX if most_bytes is None else most_bytes
        cdef int64_t records_bound = INT64_MAX if most_records is None else most_records
        cdef bint is_right
        if not 0 <= row <= stop <= rows.count:
            raise ValueError(f"invalid range: rows {row} to {stop} of {rows.count}")
        with nogil:
            is_right = tw_append_rows(&self.run, &rows.rows, &row, stop, bytes_bound, records_bound)
        if self.run.out.failed:
            raise MemoryError
        return row, is_right

    def __len__(self):
        return <Py_ssize_t>self.run.count

    @property
    def data(self):
        return bytes_of(&self.run.out)

    @property
    def size(self):
        return <Py_ssize_t>self.run.out.size

    @property
    def base_timestamp(self):
        """The base timestamp of the new batch, or -1 if it was not given and there are no records yet."""
        return self.run.base_timestamp if self.run.has_base else -1

    @property
    def last_offset(self):
        return self.run.last_offset

    @property
    def max_timestamp(self):
        """The highest timestamp of all records, or -1 if there are none."""
        return self.run.max_timestamp


include "records/header_search.pxi"
