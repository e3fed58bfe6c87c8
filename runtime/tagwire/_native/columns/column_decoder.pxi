"""Decode rows of bytes into columns, and handle the rows that the C loop rejects.

The fast path reports only success or failure. After a failure, the interpreter reads the row again. It raises an error
with a position, or accepts the row (with `strict=False`), whose value is then stored in the columns.
"""


cdef class Decoder:
    """A decoder of rows into the columns of `root`. If there is an error column, messages are in its part `value`."""

    cdef Shape shape
    cdef Table table
    cdef object value
    cdef str name
    cdef object supported
    cdef Spares spares
    cdef int64_t depth
    cdef public int64_t most
    """The most elements or bytes of a column: the highest int32, or less for tests."""

    def __cinit__(self, root, value, layouts, str name, supported, Spares spares not None):
        self.shape = Shape(root)
        self.value = value
        self.table = Table(self.shape, value, dict(layouts))
        self.name = name
        self.supported = supported
        self.spares = spares
        self.depth = max([layout.root.depth for layout in layouts.values()])
        self.most = 0x7FFFFFFF

    def decode(self, data, versions, str errors, bint strict, limits):
        """Return the columns of `data`. `versions` is an Arrow array of integers, or None for a single version."""
        chunks, is_stream = take(data, "data")
        made = []
        rows = 0
        for chunk, others in zip(chunks, version_chunks(versions, chunks)):
            made.append(self.chunk(chunk, others, errors, strict, limits, rows))
            rows += (<Imported>chunk).c.length
        return exported(self.shape, made, is_stream)

    cdef Chunk chunk(self, Imported rows, Imported versions, str errors, bint strict, object limits, object first):
        cdef tw_source data, version
        cdef tw_decoding d
        cdef tw_walk walk
        cdef Chunk made = Chunk()
        cdef int64_t row = 0, count = rows.c.length
        cdef int fault
        clear(&data)
        if (<bytes>rows.type.c.format) in (b"u", b"U", b"vu"):
            read_array(&data, &rows.type.c, &rows.c, "u", "data")  # strings are accepted as bytes
        else:
            read_array(&data, &rows.type.c, &rows.c, "z", "data")
        d.data = &data
        d.versions = NULL
        if versions is not None:
            clear(&version)
            read_array(&version, &versions.type.c, &versions.c, "i", "version")
            d.versions = &version
        d.tables, d.low, d.tables_count = self.table.plans, self.table.low, self.table.count
        d.value = self.shape.index(self.value)
        d.error = -1 if self.value is self.shape.root else self.shape.index(self.shape.root.children[1])
        d.tried = self.limit(&d, limits)
        d.nulls_bad = d.tried and strict and errors == "null"
        clear_walk(&walk)
        walk.frame = made.frame = self.spares.frame(self.shape, count, self.most)
        while True:
            with nogil:
                fault = tw_decode_rows(&d, &walk, &row, count)
                if fault == 0:
                    tw_complete(made.frame)
            if fault == 0:
                return made
            self.refused(&d, made.frame, row, fault, errors, strict, limits, first)
            row += 1

    cdef bint limit(self, tw_decoding *d, object limits) except -1:
        """Set the limits. Return False if the C loop can't apply them."""
        d.bytes = d.elements = d.unknown_tags = d.unknown_tag_bytes = 0
        if limits.depth is not None and self.depth > limits.depth:
            return False
        d.bytes = at_most(limits.bytes)
        d.elements = at_most(limits.elements)
        d.unknown_tags = at_most(limits.unknown_tags)
        d.unknown_tag_bytes = at_most(limits.unknown_tag_bytes)
        return True

    cdef int refused(
        self, const tw_decoding *d, tw_frame *frame, int64_t row, int fault, str errors, bint strict, object limits, object first
    ) except -1:
        """Handle a row that the C loop rejected: raise its error, store a null, or store the interpreter's value."""
        if fault != TW_REFUSED and fault != TW_NO_VERSION:
            raise_fault(fault, self.name, first + row, self.most)
        error = value = None
        try:
            value = self.by_layout(d, row, strict, limits)
        except (DecodeError, UnsupportedVersionError) as refusal:
            if errors == "raise":
                raise in_row(refusal, first + row)
            error = refusal
        frame.levels[0].touched = row + 1
        try:
            self.shape.put(frame, d.value, row, value)
            if d.error >= 0:
                self.shape.put(frame, d.error, row, None if error is None else described(error))
        except OverflowError:
            raise_fault(TW_TOO_LONG, self.name, first + row, self.most)
        frame.levels[0].length = row + 1
        return 0

    cdef object by_layout(self, const tw_decoding *d, int64_t row, bint strict, object limits):
        from tagwire.interpreter.reader import decode

        cdef const uint8_t *data = NULL
        cdef int64_t size = 0
        layout = self.table.layout_at(d.versions, row, self.name, self.supported)
        tw_source_bytes(d.data, row, &data, &size)  # can't fail, since the C loop has read it
        value, _ = decode(
            layout, PyBytes_FromStringAndSize(<const char *>data, size), whole=True, strict=strict, limits=limits
        )
        if strict and d.tried:
            from tagwire.message.engines import DisagreementError

            raise DisagreementError(layout, f"{size} bytes of a column")
        return value


cdef int clear(tw_source *source) except -1:
    cdef tw_source nothing = [0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL]
    source[0] = nothing
    return 0


cdef extern from "string.h":
    void *memset(void *, int, size_t)


cdef int clear_walk(tw_walk *walk) except -1:
    memset(walk, 0, sizeof(tw_walk))
    return 0
