"""Convert a tree of `tagwire.arrow.shape.Column` objects to the C table that describes the columns."""

cdef enum:
    MOST_COLUMNS = 1 << 16


cdef class Shape(Owner):
    """A C array that describes a tree of columns. Each column precedes its children.

    A level consists of columns with the same number of values, such as the fields of a list's elements.
    """

    cdef readonly object root
    cdef list nodes
    cdef dict indexes
    cdef tw_column *columns
    cdef tw_level *levels
    cdef int32_t count, levels_count

    def __cinit__(self, root):
        self.root = root
        self.nodes = list(root.walk())
        if len(self.nodes) > MOST_COLUMNS:
            raise NotNative(f"the message has {len(self.nodes)} columns; native columns support at most {MOST_COLUMNS}")
        self.indexes = {id(node): index for index, node in enumerate(self.nodes)}
        self.count = len(self.nodes)
        self.columns = <tw_column *>self.memory(self.count * sizeof(tw_column))
        self.levels = <tw_level *>self.memory((self.count + 1) * sizeof(tw_level))
        self.levels_count = 1
        self.levels[0].end = self.count
        self.add(root, 0, 0)

    cdef int32_t index(self, object column) except -1:
        return self.indexes[id(column)]

    cdef int32_t add(self, object column, int32_t index, int32_t level) except -1:
        """Add a column and its descendants to the table, starting at `index`. Return the next free index."""
        cdef tw_column *c = &self.columns[index]
        cdef str format = column.format
        cdef int32_t end = index + 1
        c.level = level
        c.nullable = column.nullable
        c.is_signed = format in "csil" or is_time(format)
        if format == "+s":
            c.kind = TW_COLUMN_STRUCT
        elif format in ("+l", "+m"):
            c.kind = TW_COLUMN_LIST
            level = c.inner = self.levels_count
            self.levels_count += 1
        else:
            if column.wire is not None:
                kind_of(column.wire)  # raises NotNative for an unsupported type
            self.leaf(c, format)
        self.default(c, column)
        for child in column.children:
            end = self.add(child, end, level)
        c.end = end
        if c.kind == TW_COLUMN_LIST:
            self.levels[c.inner].first = index + 1
            self.levels[c.inner].end = end
        return end

    cdef int leaf(self, tw_column *c, str format) except -1:
        if format.startswith("d:"):
            raise NotNative("native columns do not support decimals")
        if format in "uz":
            c.kind = TW_COLUMN_BYTES
        elif format == "b":
            c.kind = TW_COLUMN_BITS
        else:
            c.kind = TW_COLUMN_FIXED
            c.width = len(packed(format, None))
        return 0

    cdef int default(self, tw_column *c, object column) except -1:
        cdef bytes data
        default = column.default
        c.null_default = default is None
        if default is None or c.kind in (TW_COLUMN_STRUCT, TW_COLUMN_LIST):
            if default is not None and (default is not DEFAULT_STRUCT if c.kind == TW_COLUMN_STRUCT else len(default)):
                raise NotNative(f"native columns do not support the default of {column.name}")
            return 0
        data = packed(column.format, default)
        self.keep(data)
        c.value = data
        c.size = len(data)
        return 0

    cdef tw_frame *frame(self, int64_t rows, int64_t most) except NULL:
        cdef tw_frame *frame
        with nogil:
            frame = tw_new_frame(self.columns, self.count, self.levels, self.levels_count, rows, most)
        if frame == NULL:
            raise MemoryError
        return frame

    cdef int put(self, tw_frame *frame, int32_t index, int64_t at, object value) except -1:
        """Store a Python value in a column. This is needed for rows that the C loop rejected."""
        cdef const tw_column *c = &self.columns[index]
        cdef bytes data
        cdef int32_t child = index + 1
        if value is None:
            tw_put_null(frame, index, at)
        elif c.kind == TW_COLUMN_STRUCT:
            while child < c.end:
                self.put(frame, child, at, attribute(value, self.nodes[child].name))
                child = self.columns[child].end
        elif c.kind == TW_COLUMN_LIST:
            self.put_list(frame, index, at, pairs(value) if self.nodes[index].format == "+m" else value)
        elif c.kind == TW_COLUMN_BITS:
            tw_put_bit(frame.buffers[index].values, at, bool(value))
        else:
            data = packed(self.nodes[index].format, value)
            if c.kind == TW_COLUMN_FIXED:
                memcpy(frame.buffers[index].values + at * c.width, <const char *>data, len(data))
            else:
                check(tw_put_bytes(frame, index, at, <const uint8_t *><const char *>data, len(data)))
        return 0

    cdef int put_list(self, tw_frame *frame, int32_t index, int64_t at, object values) except -1:
        cdef int32_t level = self.columns[index].inner
        cdef int64_t base = frame.levels[level].length
        cdef int64_t count = len(values)
        check(tw_reserve(frame, level, base + count))
        for number, value in enumerate(values):
            self.put(frame, index + 1, base + <int64_t>number, value)
        frame.levels[level].length = base + count
        tw_put_int32(&frame.buffers[index], at + 1, base + count)
        return 0


cdef class Spares:
    """A pool of frames for reuse, of at most `most` bytes (see column_frames.h). Threads can share a pool."""

    cdef tw_pool *pool

    def __cinit__(self, int64_t most):
        self.pool = <tw_pool *>zeroed(sizeof(tw_pool))
        self.pool.holders = 1
        self.pool.most = most

    def __dealloc__(self):
        tw_drop_pool(self.pool)

    cdef tw_frame *spare(self, Shape shape, int64_t least, int64_t most) noexcept:
        """Return an empty frame from the pool that has room for `least` to `most` rows, or NULL if there is none."""
        return self.owned(tw_take_spare(self.pool, shape.columns, shape.count, least, most))

    cdef tw_frame *owned(self, tw_frame *frame) noexcept:
        """Make a frame return to this pool when its last reference is released. Return the frame."""
        if frame != NULL:
            frame.pool = self.pool
            tw_hold(self.pool)
        return frame

    cdef tw_frame *frame(self, Shape shape, int64_t rows, int64_t most) except NULL:
        """Return an empty frame with room for `rows` rows. It comes from the pool if possible."""
        cdef tw_frame *frame = self.spare(shape, rows - rows / 8, 2 * rows)
        if frame == NULL:
            return self.owned(shape.frame(rows, most))
        frame.most = most
        if tw_reserve(frame, 0, rows) < 0:
            tw_drop_frame(frame)
            raise MemoryError
        frame.levels[0].touched = 0
        return frame


cdef int check(int error) except -1:
    if error == TW_NO_MEMORY:
        raise MemoryError
    if error == TW_TOO_LONG:
        raise OverflowError
    return 0


cdef dict CODES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d"}


cdef bytes packed(str format, object value):
    """Return the bytes that represent a value in an Arrow buffer. None becomes zeros."""
    if format == "u":
        return value.encode()
    if format == "z":
        return bytes(value)
    if format == "b":
        return b"\1" if value else b"\0"
    if format.startswith("w:"):
        return bytes(width_in(format)) if value is None else value.bytes if isinstance(value, UUID) else bytes(value)
    return pack("=" + CODES["l" if is_time(format) else format], 0 if value is None else value)


cdef object attribute(object value, str name):
    return value[name] if isinstance(value, Mapping) else getattr(value, name)


cdef list pairs(object tags):
    """Convert unknown tags to the entries of an Arrow map, in tag order."""
    return [{"key": tag, "value": tags[tag]} for tag in sorted(tags)]
