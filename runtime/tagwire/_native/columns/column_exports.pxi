"""Export schemas, arrays and streams through the Arrow PyCapsule interface."""


cdef void drop_schema(PyObject *capsule) noexcept:
    cdef ArrowSchema_c *schema = <ArrowSchema_c *>borrowed_pointer(capsule, "arrow_schema")
    if schema != NULL and schema.release != NULL:
        schema.release(schema)
    tw_free(schema)


cdef void drop_array(PyObject *capsule) noexcept:
    cdef ArrowArray_c *array = <ArrowArray_c *>borrowed_pointer(capsule, "arrow_array")
    if array != NULL and array.release != NULL:
        array.release(array)
    tw_free(array)


cdef void drop_stream(PyObject *capsule) noexcept:
    cdef ArrowStream_c *stream = <ArrowStream_c *>borrowed_pointer(capsule, "arrow_array_stream")
    if stream != NULL and stream.release != NULL:
        stream.release(stream)
    tw_free(stream)


cdef void *zeroed(size_t size) except NULL:
    """Allocate zeroed memory. Arrow consumers treat a zeroed schema, array or stream as released."""
    cdef void *block = tw_zeroed(1, size)
    if block == NULL:
        raise MemoryError
    return block


cdef int fill_schema(ArrowSchema_c *schema, object column) except -1:
    """Fill in the schema of a column and its children. Releases the schema on failure."""
    cdef int64_t flags = ARROW_FLAG_NULLABLE if column.nullable else 0
    cdef Py_ssize_t index
    if column.format == "+m":
        flags |= ARROW_FLAG_MAP_KEYS_SORTED
    cdef bytes format = column.format.encode(), name = column.name.encode()
    check(tw_make_schema(schema, format, name, flags, len(column.children), column.is_dictionary))
    try:
        for index, child in enumerate(column.children):
            fill_schema(schema.children[index], child)
    except:
        schema.release(schema)
        raise
    return 0


def export_schema(column):
    """Return the type of a column as an "arrow_schema" capsule."""
    cdef ArrowSchema_c *schema = <ArrowSchema_c *>zeroed(sizeof(ArrowSchema_c))
    capsule = PyCapsule_New(schema, "arrow_schema", drop_schema)
    fill_schema(schema, column)
    return capsule


cdef class Chunk:
    """A reference to the frame (columns.h) that contains the rows of one Arrow array."""

    cdef tw_frame *frame

    def __dealloc__(self):
        tw_drop_frame(self.frame)

    cdef int64_t length(self):
        return self.frame.levels[0].length


cdef class ArrowStream:
    """A stream of Arrow arrays for consumers of `__arrow_c_stream__`, such as pyarrow, polars, duckdb and nanoarrow."""

    cdef Shape shape
    cdef object root
    cdef list chunks

    def __len__(self):
        cdef Chunk chunk
        cdef int64_t rows = 0
        for chunk in self.chunks:
            rows += chunk.length()
        return rows

    @property
    def schema_text(self):
        return self.root.type_text

    def __repr__(self):
        return f"<{type(self).__name__} of {len(self)} rows: {self.schema_text}>"

    def __arrow_c_schema__(self):
        return export_schema(self.root)

    def __arrow_c_stream__(self, requested_schema=None):
        return export_stream(self.root, [exported(self.shape, [chunk], False) for chunk in self.chunks])


cdef class ArrowArray(ArrowStream):
    """An Arrow array, for consumers of `__arrow_c_array__`. It can also be consumed as a stream.

    It is column number `index` of its frame. If `other` isn't None, it has only the first `kept` children of this
    column, followed by the array `other`.
    """

    cdef int32_t index
    cdef int64_t kept
    cdef ArrowArray other

    def __arrow_c_stream__(self, requested_schema=None):
        return export_stream(self.root, [self])

    def __arrow_c_array__(self, requested_schema=None):
        cdef ArrowArray_c *array = <ArrowArray_c *>zeroed(sizeof(ArrowArray_c))
        capsule = PyCapsule_New(array, "arrow_array", drop_array)
        self.export(array)
        return export_schema(self.root), capsule

    cdef int export(self, ArrowArray_c *array) except -1:
        cdef ArrowArray_c added
        if self.other is not None:
            self.other.export(&added)
        return check(
            tw_export_array((<Chunk>self.chunks[0]).frame, self.index, array, self.kept, NULL if self.other is None else &added)
        )


cdef object exported(Shape shape, list chunks, bint is_stream):
    """Return an ArrowStream of the chunks if `is_stream` is true. Otherwise, return an ArrowArray of the only chunk."""
    cdef ArrowStream exporter = ArrowStream() if is_stream else ArrowArray()
    exporter.shape = shape
    exporter.root = shape.root
    exporter.chunks = chunks
    return exporter


cdef class Pull:
    """The iterator behind an exported stream, and the last error that it raised."""

    cdef object root, arrays
    cdef bytes error


cdef int pull_schema(ArrowStream_c *stream, ArrowSchema_c *out) noexcept with gil:
    cdef Pull pull = <Pull><object>stream.private_data
    try:
        fill_schema(out, pull.root)
        return 0
    except BaseException as error:
        pull.error = str(error).encode()
        return ENOMEM


cdef int pull_array(ArrowStream_c *stream, ArrowArray_c *out) noexcept with gil:
    cdef Pull pull = <Pull><object>stream.private_data
    cdef ArrowArray array
    out.release = NULL  # NULL means the end of the stream
    try:
        array = next(pull.arrays, None)
        if array is not None:
            array.export(out)
        return 0
    except MemoryError:
        pull.error = b"out of memory"
        return ENOMEM
    except BaseException as error:
        pull.error = f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        return EINVAL


cdef const char *pull_error(ArrowStream_c *stream) noexcept with gil:
    cdef Pull pull = <Pull><object>stream.private_data
    return NULL if pull.error is None else PyBytes_AsString(pull.error)


cdef void drop_pull(ArrowStream_c *stream) noexcept with gil:
    Py_DECREF(<object>stream.private_data)
    stream.release = NULL


def export_stream(root, arrays):
    """Return an "arrow_array_stream" capsule. Each array is taken from an iterator when the consumer requests it."""
    cdef ArrowStream_c *stream = <ArrowStream_c *>zeroed(sizeof(ArrowStream_c))
    cdef Pull pull = Pull()
    pull.root, pull.arrays = root, iter(arrays)
    capsule = PyCapsule_New(stream, "arrow_array_stream", drop_stream)
    Py_INCREF(pull)
    stream.private_data = <void *>pull
    stream.get_schema, stream.get_next = pull_schema, pull_array
    stream.get_last_error, stream.release = pull_error, drop_pull
    return capsule
