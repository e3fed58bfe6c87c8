"""Import Arrow arrays through the Arrow PyCapsule interface, and check their types."""


cdef class TypeOf:
    """An imported schema."""

    cdef ArrowSchema_c c

    def __dealloc__(self):
        if self.c.release != NULL:
            self.c.release(&self.c)


cdef class Imported:
    """An imported array and its type."""

    cdef ArrowArray_c c
    cdef TypeOf type

    def __dealloc__(self):
        if self.c.release != NULL:
            self.c.release(&self.c)


cdef Imported take_array(object value):
    cdef Imported imported = Imported()
    cdef ArrowArray_c *array
    cdef ArrowSchema_c *schema
    schema_capsule, array_capsule = value.__arrow_c_array__()
    schema = <ArrowSchema_c *>PyCapsule_GetPointer(schema_capsule, "arrow_schema")
    array = <ArrowArray_c *>PyCapsule_GetPointer(array_capsule, "arrow_array")
    if schema.release == NULL or array.release == NULL:
        raise ColumnError(f"{type(value).__name__}.__arrow_c_array__() returned an array that was already released; it must return a new one each time")
    imported.type = TypeOf()
    imported.type.c = schema[0]
    schema.release = NULL
    imported.c = array[0]
    array.release = NULL
    return imported


cdef list take_stream(object value):
    cdef TypeOf type_of = TypeOf()
    cdef Imported chunk
    capsule = value.__arrow_c_stream__()
    cdef ArrowStream_c *stream = <ArrowStream_c *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release == NULL:
        raise ColumnError(f"{type(value).__name__}.__arrow_c_stream__() returned a stream that was already released; it must return a new one each time")
    if stream.get_schema(stream, &type_of.c) != 0:
        raise stream_error(stream)
    chunks = []
    while True:
        chunk = Imported()
        chunk.type = type_of
        if stream.get_next(stream, &chunk.c) != 0:
            raise stream_error(stream)
        if chunk.c.release == NULL:
            return chunks
        chunks.append(chunk)


cdef object stream_error(ArrowStream_c *stream):
    cdef const char *text = stream.get_last_error(stream)
    return ColumnError(f"the Arrow stream failed: {'no reason was given' if text == NULL else (<bytes>text).decode(errors='replace')}")


cdef tuple take(object value, str what):
    if hasattr(value, "__arrow_c_array__"):
        return [take_array(value)], False
    if hasattr(value, "__arrow_c_stream__"):
        return take_stream(value), True
    raise ColumnError(
        f"{what} is a {type(value).__name__}, not an Arrow array: it has neither __arrow_c_array__ nor __arrow_c_stream__"
    )


# The kind and the width of the source for an array, by the Arrow format of its type.
cdef dict SOURCES = {
    "b": (TW_SOURCE_BOOL, 0),
    **{format: (TW_SOURCE_INT, width) for format, width in zip("cCsSiIlL", (1, 1, 2, 2, 4, 4, 8, 8))},
    "f": (TW_SOURCE_FLOAT, 4),
    "g": (TW_SOURCE_FLOAT, 8),
    **dict.fromkeys("uz", (TW_SOURCE_BYTES, 4)),
    **dict.fromkeys("UZ", (TW_SOURCE_BYTES, 8)),
    **dict.fromkeys(("vu", "vz"), (TW_SOURCE_VIEWS, 16)),
    **dict.fromkeys(("+l", "+m"), (TW_SOURCE_LIST, 4)),
    "+L": (TW_SOURCE_LIST, 8),
    "+s": (TW_SOURCE_STRUCT, 0),
}
cdef tuple BINARY = (TW_SOURCE_BYTES, TW_SOURCE_VIEWS, TW_SOURCE_BLOCKS)
cdef tuple LISTS = (TW_SOURCE_LIST, TW_SOURCE_BLOCK_LIST)
# The types accepted for a column, by its Arrow format: a description for error messages, and the kinds of sources.
cdef dict FITTING = {
    "b": ("a bool", (TW_SOURCE_BOOL,)),
    "f": ("a float", (TW_SOURCE_FLOAT,)),
    "g": ("a float", (TW_SOURCE_FLOAT,)),
    "u": ("a string", BINARY),
    "z": ("a binary", BINARY),
    "+l": ("a list", LISTS),
    "+m": ("a map, or a list of structs with the fields key and value", LISTS),
    "+s": ("a struct", (TW_SOURCE_STRUCT,)),
}


cdef tuple fitting(str expected):
    """Return the entry of FITTING for the format `expected`. Formats that aren't listed are integers or 16-byte values."""
    if expected.startswith("w:"):
        return f"a {type_name(expected)} or binary values", BINARY
    return FITTING.get(expected) or (f"a {type_name(expected)} or an integer" if is_time(expected) else "an integer", (TW_SOURCE_INT,))


cdef str format_of(const ArrowSchema_c *schema):
    return (<bytes>schema.format).decode(errors="replace")


cdef object width_in(str format):
    """Return the number after the colon of an Arrow format, such as 16 in "w:16"; -1 if it is missing or too large."""
    number = format.partition(":")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else -1


cdef bint is_time(str format):
    return format.startswith(("ts", "tD"))


cdef int read_type(tw_source *s, str format) except -1:
    """Set the kind and width of `s` from an Arrow format string. The kind TW_SOURCE_NULL means "not supported"."""
    s.kind, s.width = SOURCES.get("l" if is_time(format) else format, (TW_SOURCE_NULL, 0))
    s.is_signed, s.is_text = format in "csil" or is_time(format), format in ("u", "U", "vu")
    if format.startswith(("w:", "+w:")) and width_in(format) >= 0:
        s.kind, s.width = TW_SOURCE_BLOCKS if format[0] == "w" else TW_SOURCE_BLOCK_LIST, width_in(format)
    return 0


cdef bint fits(const tw_source *s, str format, str expected):
    """Return whether an array of the Arrow format `format` can be encoded as the Arrow format `expected`."""
    if s.kind not in fitting(expected)[1]:
        return False
    if s.kind == TW_SOURCE_INT:
        return not is_time(format) or format[:3] == expected[:3]
    if s.kind == TW_SOURCE_BLOCKS and expected.startswith("w:"):
        return s.width == width_in(expected)
    return s.is_text == (expected == "u")


cdef int read_array(tw_source *s, const ArrowSchema_c *schema, const ArrowArray_c *array, str expected, str what) except -1:
    """Prepare `s` to read an array, but not its children. Raises ColumnError for a type that doesn't fit `expected`."""
    cdef str format = format_of(schema)
    cdef int64_t needed
    if array.length < 0 or array.offset < 0:
        raise ColumnError(f"{what}: expected an Arrow array whose length and offset are 0 or more, got length {array.length} and offset {array.offset}")
    if schema.dictionary != NULL or array.dictionary != NULL:
        raise ColumnError(f"{what} is dictionary-encoded; decode the dictionary first (in pyarrow: array.dictionary_decode())")
    s.length = array.length
    s.offset = array.offset
    if format == "n":
        s.kind = TW_SOURCE_NULL
        return 0
    read_type(s, format)
    if s.kind == TW_SOURCE_NULL or not fits(s, format, expected):
        if what == "data":
            raise no_bytes(type_name(format))
        raise ColumnError(f"{what}: expected {fitting(expected)[0]}, got the Arrow type {type_name(format)!r}")
    needed = 1 if s.kind in (TW_SOURCE_STRUCT, TW_SOURCE_BLOCK_LIST) else 3 if s.kind == TW_SOURCE_BYTES else 2
    if array.n_buffers < needed or array.buffers == NULL:
        raise ColumnError(f"{what}: expected {needed} buffers for the Arrow format {format!r}, got {array.n_buffers}")
    s.valid = <const uint8_t *>array.buffers[0] if array.null_count != 0 else NULL
    if needed > 1:
        s.values = <const uint8_t *>array.buffers[1]
        if s.values == NULL and s.length:
            raise ColumnError(f"{what}: an array of length {s.length} has no data buffer")
    if s.kind == TW_SOURCE_BYTES:
        s.data = <const uint8_t *>array.buffers[2]
        if s.data == NULL:
            s.data = s.values  # an empty array can lack a data buffer
    elif s.kind == TW_SOURCE_VIEWS:
        s.buffers = array.buffers
        s.data_count = array.n_buffers - 3
    return 0


cdef list version_chunks(object versions, list rows):
    """Return an array of versions for each array in `rows`. If `versions` is None, return None for each array."""
    cdef Imported one, other
    if versions is None:
        return [None] * len(rows)
    chunks, _ = take(versions, "version")
    lengths = [[(<Imported>each).c.length for each in arrays] for arrays in (rows, chunks)]
    if lengths[0] != lengths[1]:
        raise ColumnError(
            f"expected `data` and `version` to have chunks of the same lengths, got lengths {lengths[0][:5]} and "
            f"{lengths[1][:5]} (at most 5 are shown); combine the chunks of both"
        )
    return chunks
