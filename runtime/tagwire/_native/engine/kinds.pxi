"""Definitions shared by object plans and column plans: kinds of types, kinds of lengths, and memory blocks."""

cdef enum:
    DEEPEST = 100  # the maximum nesting depth of structs; each level uses space on the C stack

# Maps the family and width of a wire type to its unsigned and signed tw_kind.
cdef dict KINDS = {
    ("boolean", 1): (TW_BOOL, TW_BOOL),
    ("integer", 1): (TW_UINT8, TW_INT8),
    ("integer", 2): (TW_UINT16, TW_INT16),
    ("integer", 4): (TW_UINT32, TW_INT32),
    ("integer", 8): (TW_UINT64, TW_INT64),
    ("floating", 4): (TW_FLOAT32, TW_FLOAT32),
    ("floating", 8): (TW_FLOAT64, TW_FLOAT64),
    ("uuid", 16): (TW_UUID, TW_UUID),
    ("text", 0): (TW_STRING, TW_STRING),
    ("binary", 0): (TW_BINARY, TW_BINARY),
}
cdef tuple LENGTHS = (
    (COMPACT, TW_COMPACT),
    (INT16, TW_LENGTH_INT16),
    (INT32, TW_LENGTH_INT32),
    (VARINT, TW_LENGTH_VARINT),
    (UVARINT, TW_LENGTH_UVARINT),
)
# The layout types of a length before a struct, each with its encoding.
cdef tuple ENCLOSING = (
    (Fixed(WIRE_TYPES["int16"]), TW_LENGTH_INT16),
    (Fixed(WIRE_TYPES["int32"]), TW_LENGTH_INT32),
    (Varint(32, zigzag=True), TW_LENGTH_VARINT),
    (Varint(32, zigzag=False), TW_LENGTH_UVARINT),
)
cdef dict MARKERS = {"": TW_NO_MARKER, "int8": TW_MARKER_INT8, "uvarint": TW_MARKER_UVARINT}


cdef class Block:
    """A block of memory, initialized with zeros, that is freed together with this object."""

    cdef void *at

    def __cinit__(self, size_t size):
        self.at = PyMem_Calloc(1, size or 1)
        if self.at == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.at)


@no_gc_clear
cdef class Owner:
    """Base class of objects that own C plans. The list `kept` keeps alive the objects that a plan points to."""

    cdef list kept

    def __cinit__(self):
        self.kept = []

    cdef PyObject *keep(self, object value):
        self.kept.append(value)
        return <PyObject *>value

    cdef void *memory(self, size_t size) except NULL:
        cdef Block block = Block(size)
        self.kept.append(block)
        return block.at


cdef int64_t at_most(object limit) except? -1:
    return limit if limit is not None and limit < INT64_MAX else INT64_MAX


cdef int kind_of(object wire) except -1:
    if wire.family == "fixed bytes":
        return TW_BLOCK
    kinds = KINDS.get((wire.family, wire.width))
    if wire.is_enum and wire.is_closed:
        raise NotNative(f"native columns can't reject numbers that the closed enum {wire.enum.__name__} does not contain")
    if kinds is None:
        raise NotNative(f"native code does not support the wire type {wire.name}")
    return kinds[wire.low < 0]


cdef int length_of(object code) except -1:
    for known, number in LENGTHS:
        if code == known:
            return number
    raise NotNative(f"the engine does not support lengths of type {code.name}")


def enclosed(items):
    """Separate the struct's length from its other items.

    Return (encoding of the length, tuple of the other items), or (TW_NO_LENGTH, tuple of all items).
    """
    first = items[0].type if items else None
    if not isinstance(first, Extent) or first.of or first.counts_itself or items[0].condition is not None:
        return TW_NO_LENGTH, items
    for code, length in ENCLOSING:
        if first.code == code:
            return length, items[1:]
    raise NotNative(f"the engine does not support lengths of type {first.code}")


cdef int reject_unlike(object item) except -1:
    """Raise NotNative for a field that only record-format plans support, such as a compressed field."""
    if item.condition is not None or not item.is_unframed:
        raise NotNative(f"native code supports the field {item.name} only in record formats, because its type alone does not determine how to read it")
    return 0
