"""Encode rows of columns as bytes, and handle the rows that the C loop rejects. The reverse of column_decoder.pxi."""


cdef class Encoder:
    """An encoder from the columns of `message` to the column `value` of `root`, which may also have an error column."""

    cdef Shape shape
    cdef Shape results
    cdef Table table
    cdef object value
    cdef str name
    cdef object supported
    cdef Spares spares
    cdef public int64_t most
    """The most bytes of the result column: the highest int32, or less for tests."""

    def __cinit__(self, message, root, value, layouts, str name, supported, Spares spares not None):
        self.shape = Shape(message)
        self.results = Shape(root)
        self.value = value
        self.table = Table(self.shape, message, dict(layouts))
        self.name = name
        self.supported = supported
        self.spares = spares
        self.most = 0x7FFFFFFF

    def encode(self, data, versions, str errors):
        """Return the encoded rows of `data`. `versions` is an Arrow array of integers, or None for a single version."""
        chunks, is_stream = take(data, "data")
        made = []
        rows = 0
        for chunk, others in zip(chunks, version_chunks(versions, chunks)):
            made.append(self.chunk(chunk, others, errors, rows))
            rows += (<Imported>chunk).c.length
        return exported(self.results, made, is_stream)

    cdef Chunk chunk(self, Imported rows, Imported versions, str errors, object first):
        cdef tw_source version
        cdef tw_encoding d
        cdef tw_emitter emitter
        cdef Chunk made = Chunk()
        cdef Sources sources = Sources(self.shape, rows)
        cdef int64_t row = 0, count = rows.c.length
        cdef int fault
        d.rows = sources.at
        d.versions = NULL
        if versions is not None:
            clear(&version)
            read_array(&version, &versions.type.c, &versions.c, "i", "version")
            d.versions = &version
        d.tables, d.low, d.tables_count = self.table.plans, self.table.low, self.table.count
        d.value = self.results.index(self.value)
        d.error = -1 if self.value is self.results.root else self.results.index(self.results.root.children[1])
        d.nulls_bad = errors == "null"
        made.frame = emitter.frame = self.spares.frame(self.results, count, self.most)
        emitter.out = &made.frame.buffers[d.value]
        emitter.columns = self.shape.columns
        emitter.sources = sources.at
        while True:
            with nogil:
                fault = tw_encode_rows(&d, &emitter, &row, count)
                if fault == 0:
                    tw_complete(made.frame)
            if fault == 0:
                return made
            self.refused(&d, sources, made.frame, row, fault, errors, first)
            row += 1

    cdef int refused(
        self, const tw_encoding *d, Sources sources, tw_frame *frame, int64_t row, int fault, str errors, object first
    ) except -1:
        """Handle a row that the C loop rejected: raise its error, store a null, or store the interpreter's bytes."""
        if fault not in (TW_REFUSED, TW_NO_VERSION, TW_UNTRIED):
            raise_fault(fault, self.name, first + row, self.most)
        error = value = None
        try:
            value = self.by_layout(d, sources, row, fault)
        except (EncodeError, UnsupportedVersionError) as refusal:
            if errors == "raise":
                raise in_row(refusal, first + row)
            error = refusal
        frame.levels[0].touched = row + 1
        try:
            self.results.put(frame, d.value, row, value)
            if d.error >= 0:
                self.results.put(frame, d.error, row, None if error is None else described(error))
        except OverflowError:
            raise_fault(TW_TOO_LONG, self.name, first + row, self.most)
        frame.levels[0].length = row + 1
        return 0

    cdef object by_layout(self, const tw_encoding *d, Sources sources, int64_t row, int fault):
        from tagwire.interpreter.cursor import dotted
        from tagwire.interpreter.writer import encode

        layout = self.table.layout_at(d.versions, row, self.name, self.supported)
        try:
            value = sources.value(0, row, [])
        except Repeated as fault_of_map:
            path, tag = fault_of_map.args
            raise EncodeError(
                f"has tag {tag} twice", message_name=self.name, version=layout.version, path=dotted(path)
            ) from None
        data = encode(layout, value)
        if fault == TW_REFUSED:
            from tagwire.message.engines import DisagreementError

            raise DisagreementError(layout, f"row {row} of a column")
        return data
