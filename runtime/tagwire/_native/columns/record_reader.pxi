"""The Python interface to the C loop that reads record batches into columns."""


cdef enum:
    MOST_BYTES = 0x7FFFFFFF  # the maximum number of bytes in a string column

cdef dict HALTS = {TW_DONE: "done", TW_FULL: "full", TW_TOO_LONG: "full", TW_UNCLEAR: "unclear", TW_UNTRIED: "unclear"}


@final
cdef class RecordColumns:
    """Reads the batches of log files into rows. Python adds the rows of batches that the C loop can't read.

    `formats` is a `tagwire.records.FormatSet`. If `ordered` is true, Python reads a batch whose base offset isn't above
    the previous batch's last offset. If `transient` is true, arrays keep their unused memory, because the caller soon
    releases the arrays. Raises NotNative if C can't read these formats.
    """

    cdef Shape shape
    cdef list plans
    cdef tw_batches b
    cdef Chunk chunk
    cdef dict dictionaries  # for each dictionary column, a dict from strings to indexes
    cdef object limits, decompressed, file
    cdef int64_t guess
    cdef list room  # for each column, the size of its strings in the last frame
    cdef Spares spares
    cdef bint is_transient

    def __cinit__(self, root, formats, *, bint headers_only, limits, int64_t most_rows, int64_t most_bytes,
                  Spares spares not None, bint verified=False, bint ordered=False, bint transient=False):
        self.shape = Shape(root)
        self.dictionaries = {column.name: {} for column in root.children if column.is_dictionary}
        self.plans = [RecordPlan(self.shape, format, headers_only, verified, self.dictionaries) for format in formats.formats]
        self.tell_apart(formats)
        self.b.w.crc32c, self.b.w.crc32 = &CRC32C, &CRC32
        self.b.most_rows, self.b.most_bytes = most_rows, most_bytes
        self.b.is_ordered = ordered
        self.limits = limits
        self.guess = 0
        self.room = []
        self.spares = spares
        self.is_transient = transient
        self.frame()

    cdef int tell_apart(self, formats) except -1:
        """Store the plan for each magic byte. Raises NotNative if C can't recognize a format by its magic byte."""
        cdef RecordPlan plan
        for plan in self.plans:
            format, positions = plan.format, plan.format.header_positions
            if format is formats.alone:
                self.b.alone = &plan.c
            elif format in formats.by_magic.values() and format.magic < TW_MAGICS:
                self.b.plans[<Py_ssize_t>format.magic] = &plan.c
            elif self.b.tried == NULL and positions.length_is_varint and positions.length_at == 8 and positions.magic_after_length == 4:
                self.b.tried, self.b.tried_magic = &plan.c, format.magic
                self.b.tried_zigzag = positions.length_is_varint.zigzag
            else:
                raise NotNative(f"the engine can't distinguish batches of {format.name} from those of other formats")
        return 0

    cdef int frame(self) except -1:
        self.b.bytes = 0
        self.chunk = Chunk()
        self.chunk.frame = self.b.w.frame = self.spares.spare(self.shape, 0, INT64_MAX)
        if self.chunk.frame != NULL:
            self.chunk.frame.most = MOST_BYTES
            return 0
        self.chunk.frame = self.b.w.frame = self.spares.owned(self.shape.frame(self.guess, MOST_BYTES))
        for index, size in enumerate(self.room):
            if size:
                check(tw_make_room_for(self.chunk.frame, index, size))
        return 0

    @property
    def position(self):
        """The file position of the open batch or, if no batch is open, of the next batch."""
        return self.b.position

    @property
    def index(self):
        return self.b.index

    @property
    def last_offset(self):
        return self.b.last_offset

    def begin(self, str file, int64_t position, first_offset):
        """Continue in another file, at `position`. If `first_offset` is set, records with lower offsets are dropped."""
        self.name(file)
        self.b.first_offset = INT64_MIN if first_offset is None else max(INT64_MIN, min(first_offset, INT64_MAX))
        self.b.last_offset = -1
        self.resume_at(position, None)

    cdef int name(self, object file) except -1:
        cdef RecordPlan plan
        self.file = file
        for plan in self.plans:
            if plan.file != NULL:
                plan.file.number = index_of(self.dictionaries["file"], file)
        return 0

    def resume_at(self, int64_t position, last_offset):
        """Continue at `position`, after Python has read or skipped the batch that ends with `last_offset`."""
        self.b.is_open = False
        self.b.index = 0
        self.b.position = position
        self.decompressed = None
        if last_offset is not None:
            self.b.last_offset = max(INT64_MIN, min(last_offset, INT64_MAX))

    def walk(self, data, int64_t start, int64_t end):
        """Read the batches that begin before file position `end`.

        `data` contains the file's bytes from position `start`. Returns "done" at the end, and "full" if the array is
        full. If C can't read the next batch, returns "rejected" for a batch that is invalid or extends beyond `data`,
        and "unclear" for a batch that Python must try to read. As long as a batch is open, each call must pass the same
        `data`.
        """
        cdef Py_buffer view
        cdef int halt
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            # Shift the pointer, so that C code can index the data by file position.
            self.b.data = <const uint8_t *>(<size_t>view.buf - <size_t>start)
            self.b.size = start + view.len
            self.b.end = min(end, self.b.size)
            with nogil:
                halt = tw_walk_batches(&self.b)
            while halt == TW_COMPRESSED:
                halt = self.unpack()
                if halt == 0:
                    with nogil:
                        halt = tw_walk_batches(&self.b)
        finally:
            PyBuffer_Release(&view)
        if halt == TW_TOO_LONG and not len(self):
            raise_error(halt, "a record", 0, MOST_BYTES)
        if halt == TW_NO_MEMORY:
            raise MemoryError
        return HALTS.get(halt, "rejected")

    cdef int unpack(self) except -100:
        from tagwire.wire.compression import DecompressionError, decompress_in_place

        cdef const tw_record_plan *plan = self.b.plan
        cdef int64_t size = self.b.header[plan.payload]
        cdef int codec = (self.b.header[plan.attributes] & plan.codec_mask) >> self.plan().codec_shift
        cdef const uint8_t *data
        cdef int halt
        if size < 0:
            return TW_REJECTED
        compressed = PyMemoryView_FromMemory(<char *>self.b.w.spans[plan.payload], size, PyBUF_READ)
        try:
            self.decompressed = decompress_in_place(self.plan().codecs[codec], compressed, self.limits)
        except DecompressionError:
            return TW_REJECTED
        finally:
            compressed.release()
        if type(self.decompressed) is bytes:
            data = <const uint8_t *>PyBytes_AsString(self.decompressed)
        else:
            data = <const uint8_t *>PyByteArray_AsString(self.decompressed)
        size = len(self.decompressed)
        if not plan.is_message:
            return tw_open_records(&self.b, data, size)
        with nogil:
            halt = tw_open_wrapped(&self.b, data, size)
        return halt

    cdef RecordPlan plan(self):
        cdef RecordPlan plan
        for plan in self.plans:
            if &plan.c == self.b.plan:
                return plan

    def put(self, values):
        """Add one row. `values` maps column names to values."""
        cdef tw_frame *frame = self.chunk.frame
        cdef int64_t row = frame.levels[0].length
        check(tw_reserve(frame, 0, row + 1))
        numbers = {name: index_of(dictionary, values[name]) for name, dictionary in self.dictionaries.items() if values[name] is not None}
        self.shape.put(frame, 0, row, {**values, **numbers})
        frame.levels[0].length = row + 1

    def __len__(self):
        return self.chunk.length()

    @property
    def is_full(self):
        return self.chunk.length() >= self.b.most_rows

    def take(self):
        """Return the rows collected so far as an Arrow array, and begin a new array."""
        cdef Chunk chunk = self.chunk
        self.guess = min(chunk.length(), self.b.most_rows)
        self.room = [min(chunk.frame.buffers[index].size, self.b.most_bytes) for index in range(self.shape.count)]
        for name, dictionary in self.dictionaries.items():
            chunk.frame.dictionaries[self.shape.index(self.shape.root.child(name))] = strings_frame(dictionary)
        with nogil:
            tw_complete(chunk.frame, self.is_transient)
        self.frame()
        if "file" in self.dictionaries:
            self.dictionaries["file"] = {}
            self.name(self.file)
        return exported(self.shape, [chunk], False)


cdef tw_frame *strings_frame(strings) except NULL:
    cdef Shape shape = Shape(Column("", "u"))
    cdef tw_frame *frame = shape.frame(len(strings), MOST_BYTES)
    try:
        for row, string in enumerate(strings):
            shape.put(frame, 0, row, string)
    except:
        tw_drop_frame(frame)
        raise
    frame.levels[0].length = len(strings)
    tw_complete(frame, False)
    return frame
