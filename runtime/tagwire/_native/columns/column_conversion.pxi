"""Decode an Arrow array of encoded messages into columns, or encode columns as messages.

The C loops report only success or failure. If a loop rejects a row, `tagwire.interpreter` converts that row again. The
interpreter either raises an error that names the position, or accepts the row, for example with `strict=False`.
"""


cdef class Conversion:
    """The base class of Decoder and Encoder.

    `message` is the column of messages, and `value` the column of converted rows; for a decoder, both are the same.
    `root` is the whole result. If errors are stored in a column, it is a struct of `value` and the errors; otherwise,
    it is `value`.
    """

    cdef Shape results, messages
    cdef Table table
    cdef object value
    cdef str name
    cdef object supported
    cdef Spares spares
    cdef public int64_t most
    """Maximum number of list elements or bytes in a column, limited by int32 offsets. Tests lower it."""

    def __cinit__(self, message, root, value, layouts, str name, supported, Spares spares not None):
        self.results = Shape(root)
        self.messages = self.results if message is value else Shape(message)
        self.table = Table(self.messages, message, dict(layouts))
        self.value, self.name, self.supported, self.spares, self.most = value, name, supported, spares, 0x7FFFFFFF

    cdef object begin(self, tw_conversion *d, Imported rows, str errors, object options):
        """Set the input and the options in `d` (column_rows.h). Return an object that keeps the input alive."""

    cdef object by_layout(self, const tw_conversion *d, int64_t row, int code, object source, object options):
        """Let the layout interpreter convert a row that the C loop rejected. Raises the interpreter's errors."""

    cdef object converted(self, object data, object versions, str errors, object options):
        chunks, is_stream = take(data, "data")
        results = []
        rows = 0
        for chunk, others in zip(chunks, version_chunks(versions, chunks)):
            results.append(self.chunk(chunk, others, errors, options, rows))
            rows += (<Imported>chunk).c.length
        return exported(self.results, results, is_stream)

    cdef Chunk chunk(self, Imported rows, Imported versions, str errors, object options, object first):
        cdef tw_source version
        cdef tw_conversion d
        cdef Chunk result = Chunk()
        cdef int64_t row = 0
        cdef int code
        memset(&d, 0, sizeof(d))
        source = self.begin(&d, rows, errors, options)
        if versions is not None:
            memset(&version, 0, sizeof(version))
            read_array(&version, &versions.type.c, &versions.c, "i", "version")
            d.versions = &version
        d.tables, d.low, d.tables_count = self.table.plans, self.table.low, self.table.count
        d.value = self.results.index(self.value)
        d.error = -1 if self.value is self.results.root else self.results.index(self.results.root.children[1])
        result.frame = self.spares.frame(self.results, rows.c.length, self.most)
        while True:
            with nogil:
                code = tw_convert_rows(&d, result.frame, &row, rows.c.length)
                if code == 0:
                    tw_complete(result.frame, False)
            if code == 0:
                return result
            self.rejected(&d, result.frame, row, code, errors, first, source, options)
            row += 1

    cdef int rejected(
        self, const tw_conversion *d, tw_frame *frame, int64_t row, int code, str errors, object first, object source,
        object options,
    ) except -1:
        """Let the interpreter convert a row that the C loop rejected. If that fails, raise its error or store null."""
        if code not in (TW_REJECTED, TW_NO_VERSION, TW_UNTRIED):
            raise_error(code, self.name, first + row, self.most)
        error = value = None
        try:
            value = self.by_layout(d, row, code, source, options)
        except (DecodeError, EncodeError, UnsupportedVersionError) as refusal:
            if errors == "raise":
                raise in_row(refusal, first + row)
            error = refusal
        frame.levels[0].touched = row + 1
        try:
            self.results.put(frame, d.value, row, value)
            if d.error >= 0:
                self.results.put(frame, d.error, row, None if error is None else described(error))
        except OverflowError:
            raise_error(TW_TOO_LONG, self.name, first + row, self.most)
        frame.levels[0].length = row + 1
        return 0


@final
cdef class Decoder(Conversion):
    """Decodes messages."""

    cdef int64_t depth

    def __cinit__(self, *_):
        self.depth = max([layout.root.depth for layout in self.table.layouts.values()])

    def decode(self, data, versions, str errors, bint strict, limits):
        """Decode an array of bytes or strings.

        `versions` is an array with each row's version, or None if the decoder has a single version.
        """
        return self.converted(data, versions, errors, (strict, limits))

    cdef object begin(self, tw_conversion *d, Imported rows, str errors, object options):
        cdef Block block = Block(sizeof(tw_source))
        format = "u" if (<bytes>rows.type.c.format) in (b"u", b"U", b"vu") else "z"
        read_array(<tw_source *>block.at, &rows.type.c, &rows.c, format, "data")
        d.rows = <const tw_source *>block.at
        strict, limits = options
        # The C loop doesn't check the nesting depth, so Python decodes rows that can exceed the limit.
        if limits.depth is None or self.depth <= limits.depth:
            d.tried = True
            d.nulls_bad = strict and errors == "null"
            d.bytes = at_most(limits.bytes)
            d.elements = at_most(limits.elements)
            d.unknown_tags = at_most(limits.unknown_tags)
            d.unknown_tag_bytes = at_most(limits.unknown_tag_bytes)
        return block

    cdef object by_layout(self, const tw_conversion *d, int64_t row, int code, object source, object options):
        from tagwire.interpreter.reader import decode

        cdef const uint8_t *data = NULL
        cdef int64_t size = 0
        strict, limits = options
        layout = self.table.layout_at(d.versions, row, self.name, self.supported)
        tw_source_bytes(d.rows, row, &data, &size)  # can't fail: the C loop has checked the array's offsets
        value, _ = decode(
            layout, PyBytes_FromStringAndSize(<const char *>data, size), whole=True, strict=strict, limits=limits
        )
        if strict and d.tried:
            raise DisagreementError(layout, f"{size} bytes of a column")
        return value


@final
cdef class Encoder(Conversion):
    """Encodes rows as messages."""

    def encode(self, data, versions, str errors):
        """Encode the rows of `data`.

        `versions` is an array with each row's version, or None if the encoder has a single version.
        """
        return self.converted(data, versions, errors, None)

    cdef object begin(self, tw_conversion *d, Imported rows, str errors, object options):
        cdef Sources sources = Sources(self.messages, rows)
        d.rows, d.columns = sources.at, self.messages.columns
        d.nulls_bad = errors == "null"
        return sources

    cdef object by_layout(self, const tw_conversion *d, int64_t row, int code, object source, object options):
        from tagwire.interpreter.cursor import dotted
        from tagwire.interpreter.writer import encode

        layout = self.table.layout_at(d.versions, row, self.name, self.supported)
        try:
            value = (<Sources>source).value(0, row, [])
        except Repeated as repeated:
            path, tag = repeated.args
            raise EncodeError(
                f"tag {tag} appears twice", message_name=self.name, version=layout.version, path=dotted(path)
            ) from None
        data = encode(layout, value)
        if code == TW_REJECTED:
            raise DisagreementError(layout, f"row {row} of a column")
        return data
