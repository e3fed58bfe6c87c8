"""Connect a message's fields to Arrow arrays. Rows that C rejects are converted to Python objects."""


cdef class Sources(Owner):
    """The source of each column's values: an input array, or the default if the field is not in the input."""

    cdef Shape shape
    cdef Imported rows
    cdef tw_source *at

    def __cinit__(self, Shape shape, Imported rows):
        self.shape = shape
        self.rows = rows
        self.at = <tw_source *>self.memory(shape.count * sizeof(tw_source))
        self.bind(0, &rows.type.c, &rows.c, 0, "")

    cdef int bind(
        self, int32_t index, const ArrowSchema_c *schema, const ArrowArray_c *array, int64_t offset, str path
    ) except -1:
        """Read a column and its child columns from `array`. `offset` is the Arrow offset of the enclosing struct."""
        cdef tw_source *source = &self.at[index]
        column = self.shape.nodes[index]
        read_array(source, schema, array, column.format, path or "the array")
        source.offset += offset
        if source.kind != TW_SOURCE_NULL and schema.n_children != array.n_children:
            raise ColumnError(f"{path or 'the array'}: expected {schema.n_children} child arrays as in the Arrow schema, got {array.n_children}")
        if source.kind == TW_SOURCE_NULL:
            self.fix_children(index)
        elif source.kind in (TW_SOURCE_LIST, TW_SOURCE_BLOCK_LIST):
            if schema.n_children != 1:
                raise ColumnError(f"{path}: a list type must have 1 child in the Arrow schema, got {schema.n_children}")
            source.child = &self.at[index + 1]
            self.bind(index + 1, schema.children[0], array.children[0], 0, path + "[]")
        elif source.kind == TW_SOURCE_STRUCT:
            self.bind_fields(index, schema, array, source.offset, path)
        return 0

    cdef int bind_fields(
        self, int32_t index, const ArrowSchema_c *schema, const ArrowArray_c *array, int64_t offset, str path
    ) except -1:
        cdef int64_t number
        cdef int32_t child = index + 1
        column = self.shape.nodes[index]
        names = [each.name for each in column.children]
        given = [(<bytes>schema.children[number].name).decode(errors="replace") for number in range(schema.n_children)]
        if names == ["key", "value"] and len(given) == 2:
            given = names  # ignore the names of a map's fields, which differ between Arrow libraries
        for name in given:
            if name not in names:
                raise ColumnError(f"{path or 'the message'} has no field {name!r}{near(name, names)}")
            if given.count(name) > 1:
                raise ColumnError(f"{path or 'the array'} has two fields {name!r}")
        for name in names:
            if name in given:
                number = given.index(name)
                self.bind(child, schema.children[number], array.children[number], offset, f"{path}.{name}" if path else name)
            else:
                self.fix(child)
            child = self.shape.columns[child].end
        return 0

    cdef int fix(self, int32_t index) except -1:
        """Give a column its default value in every row."""
        cdef const tw_column *c = &self.shape.columns[index]
        cdef tw_source *source = &self.at[index]
        cdef int32_t *offsets
        cdef str format = self.shape.nodes[index].format
        source.constant = True
        source.length = 1
        source.values = c.value
        if c.null_default:
            source.kind = TW_SOURCE_NULL
        elif c.kind in (TW_COLUMN_BYTES, TW_COLUMN_LIST):
            offsets = <int32_t *>self.memory(2 * sizeof(int32_t))
            offsets[1] = c.size
            read_type(source, "+l" if c.kind == TW_COLUMN_LIST else format)
            source.values = <const uint8_t *>offsets
            source.data = c.value
            source.child = &self.at[index + 1] if c.kind == TW_COLUMN_LIST else NULL
        else:
            read_type(source, format)
        return self.fix_children(index)

    cdef int fix_children(self, int32_t index) except -1:
        cdef int32_t child = index + 1
        while child < self.shape.columns[index].end:
            self.fix(child)
            child = self.shape.columns[child].end
        return 0

    cdef object value(self, int32_t index, int64_t at, list path):
        """Return a column's value in row `at` as a Python object. `path` is the path of the field, for errors."""
        cdef const tw_source *source = &self.at[index]
        cdef const uint8_t *data
        cdef int64_t number = 0, size = 0
        column = self.shape.nodes[index]
        if source.constant:
            return column.cls._fresh() if column.default is DEFAULT_STRUCT else column.default
        if not tw_is_there(source, at):
            return None
        if source.kind == TW_SOURCE_BOOL:
            return bool(tw_get_bit(source.values, tw_source_index(source, at)))
        if source.kind == TW_SOURCE_INT:
            above = tw_source_int(source, at, &number) < 0
            return number + (1 << 64) if above else number
        if source.kind == TW_SOURCE_FLOAT:
            return tw_source_float(source, at)
        if source.kind == TW_SOURCE_STRUCT:
            return self.struct(index, at, path)
        if source.kind in (TW_SOURCE_LIST, TW_SOURCE_BLOCK_LIST):
            return self.tags(index, at, path) if column.format == "+m" else self.elements(index, at, path)
        if tw_source_bytes(source, at, &data, &size) < 0:
            raise ColumnError("the Arrow array is invalid, because its offsets point outside its buffers")
        found = PyBytes_FromStringAndSize(<const char *>data, size)
        if column.format == "u":
            return found.decode(errors="surrogateescape")  # invalid UTF-8 becomes surrogates, which the encoder rejects
        return found if column.wire is None else column.wire.from_arrow(found)

    cdef object struct(self, int32_t index, int64_t at, list path):
        cdef int32_t child = index + 1
        found = {}
        while child < self.shape.columns[index].end:
            if not self.at[child].constant:
                name = self.shape.nodes[child].name
                found[name] = self.value(child, at, [*path, name])
            child = self.shape.columns[child].end
        cls = self.shape.nodes[index].cls
        if cls is None:
            return found
        result = cls._fresh()
        for name, value in found.items():
            setattr(result, name, value)
        return result

    cdef object range(self, int32_t index, int64_t at):
        cdef int64_t first = 0, count = 0
        if tw_source_elements(&self.at[index], at, &first, &count) < 0:
            raise ColumnError("the Arrow array is invalid, because its offsets point outside its buffers")
        return range(first, first + count)

    cdef tuple elements(self, int32_t index, int64_t at, list path):
        indexes = self.range(index, at)
        return tuple([self.value(index + 1, each, [*path, number]) for number, each in enumerate(indexes)])

    cdef dict tags(self, int32_t index, int64_t at, list path):
        cdef dict found = {}
        for each in self.range(index, at):
            tag = self.value(index + 2, each, path) if tw_is_there(&self.at[index + 1], each) else None
            if tag in found:
                raise Repeated(path, tag)
            found[tag] = self.value(index + 3, each, path)
        return found


class Repeated(Exception):
    """Raised if a map of unknown tags contains a tag twice, which a Python dict can't represent."""
