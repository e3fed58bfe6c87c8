"""Build plans for record formats. Their structs contain lengths, counts and checksums of other fields, and fields whose
presence or meaning depends on earlier fields.

If one struct of a layout has such fields, all structs of the layout get framings (framing.h), because a field may
depend on fields of enclosing structs.
"""

cdef enum:
    ZERO = 1  # the register that always contains 0
    ONE = 2  # the register that always contains 1

cdef dict ALGORITHMS = {"crc32": TW_CRC32, "crc32c": TW_CRC32C}


cdef class FramedBuilder(Builder):
    cdef int registers
    cdef list scopes
    cdef dict inputs  # maps the names of the numbers that the caller must supply to their registers
    cdef object ordering

    def __cinit__(self):
        self.registers = ONE + 1
        self.scopes = []
        self.inputs = {}

    cdef bint decide(self, object root) except -1:
        self.framed = any([is_framed(struct) for struct in structs_of(root)])
        return self.framed

    cdef int new_register(self) except -1:
        if self.registers == TW_REGISTERS:
            raise NotNative(f"too many fields determine the length, count or value of others; the engine supports at most {TW_REGISTERS}")
        self.registers += 1
        return self.registers - 1

    cdef int register_of(self, str name) except -1:
        """Return the register of the nearest earlier field with this name. If there is none, use the input `name`."""
        cdef tw_framing *framing
        for scope in reversed(self.scopes):
            if name in scope:
                framing = framing_at(scope, name)
                if not framing.is_number:
                    raise NotNative(f"{name} is not a number, so other fields can't depend on it")
                if not framing.keep:
                    framing.keep = self.new_register()
                return framing.keep
        if name not in self.inputs:
            self.inputs[name] = self.new_register()
        return self.inputs[name]

    cdef dict scope(self):
        """Return the framings, in a Block each, of the current struct's fields that are already planned, by name."""
        return self.scopes[len(self.scopes) - 1]

    cdef const tw_struct *framed_struct(self, object layout) except NULL:
        cdef tw_struct *s = <tw_struct *>self.memory(sizeof(tw_struct))
        self.keep(layout)
        if layout.section is not None:
            raise NotNative(f"the engine does not support {layout.name}, because it has tagged fields as well as lengths, counts or checksums")
        s.framed = True
        s.enclosed = layout.is_enclosed
        self.made_of(s, layout)
        ordering, self.ordering = self.ordering, None
        self.scopes.append({})
        s.items_count = len(layout.items)
        s.items = self.framed_items(s, layout, ordering)
        self.scopes.pop()
        s.known_tags = self.keep(frozenset([item.name for item in layout.items]))
        return s

    cdef int made_of(self, tw_struct *s, object layout) except -1:
        """Set the Python type to which a struct is decoded: a data class, tuple or dict."""
        if layout.cls is None:
            s.shape = TW_DICT
        elif layout.cls is tuple:
            s.shape = TW_TUPLE
            s.tuple_size = len(layout.values)
            s.leaves = not any([isinstance(item.type, (Array, Nested)) for item in layout.items])
        else:
            s.shape = TW_OBJECT
            check_class(layout.cls)
            s.factory = class_of(layout.cls)
            s.unknown_slot = self.slot(layout.cls, "unknown_tags") if layout.has_tags else 0
            s.missing_count = len(layout.missing)
            s.missing = self.missing(layout.cls, layout.missing)
            self.fill(s)
        return 0

    cdef const tw_field *framed_items(self, tw_struct *s, object layout, object ordering) except NULL:
        cdef tw_field *fields = <tw_field *>self.memory(len(layout.items) * sizeof(tw_field))
        cdef tw_framing *framing
        cdef Block block
        cdef Py_ssize_t index, values = 0
        for index, item in enumerate(layout.items):
            block = Block(sizeof(tw_framing))
            self.kept.append(block)
            framing = <tw_framing *>block.at
            fields[index].framing = framing
            fields[index].tag = -1
            fields[index].name = self.keep(item.name)
            fields[index].slot = TW_NOWHERE
            if has_value(layout.cls, item):
                fields[index].slot = self.slot(layout.cls, item.name) if s.shape == TW_OBJECT else values
                values += 1
            framing.mark = framing.of = framing.measured = framing.covered = -1
            framing.base = ZERO
            framing.scale = ONE
            self.condition(framing, item)
            self.framed_type(s, &fields[index], framing, item, layout)
            self.framed_default(s, &fields[index], framing, item, layout.cls)
            self.checks(framing, item, layout)
            if ordering is not None and ordering[0] == item.name:
                if not framing.is_number:
                    raise NotNative(f"the engine does not support arrays sorted by {item.name}, which is not a number")
                framing.last, framing.unsigned_order, framing.is_checked = ordering[1], ordering[2], True
            framing.is_usual = item.is_unframed and not (framing.is_guarded or framing.sum or framing.last or is_stated(item.type))
            self.scope()[item.name] = block
        return fields

    cdef int condition(self, tw_framing *framing, object item) except -1:
        if item.condition is not None:
            framing.is_guarded = True
            framing.guard = self.register_of(item.condition.field)
            framing.guard_mask, framing.guard_equals = number(item.condition.mask), number(item.condition.equals)
        return 0

    cdef int framed_type(self, tw_struct *s, tw_field *field, tw_framing *framing, object item, object layout) except -1:
        type = item.type
        if isinstance(type, Array):
            self.framed_array(field, framing, type)
        else:
            code = type.code if isinstance(type, (Extent, Count)) else UINT32 if isinstance(type, Checksum) else type
            self.type(field, code, None)
        framing.is_number = is_number(field)
        if isinstance(type, FRAMING):
            if not framing.is_number:
                raise NotNative(f"the engine does not support {item.name}, an unsigned 64-bit {type}")
            self.framing(s, framing, item, layout)
        if item.extent:
            framing.extent = self.register_of(item.extent)
            framing.measured = framing_at(self.scope(), item.extent).mark if item.extent in self.scope() else -1
        if item.compression is not None and isinstance(type, Array):
            framing.codec_register = self.register_of(item.compression.field)
            framing.codec_mask, framing.codec_shift = number(item.compression.bits.mask), item.compression.bits.shift
            framing.codecs = self.keep(item.compression.bits.values)
        return 0

    cdef int framed_array(self, tw_field *field, tw_framing *framing, object type) except -1:
        field.kind = TW_ARRAY
        field.minimum = type.minimum
        self.length(field, type)
        framing.filled = type.filled
        if type.counted_by:
            framing.counted_by = self.register_of(type.counted_by)
        if type.order is not None:
            framing.ordered = self.new_register()
            self.ordering = (type.order.field, framing.ordered, type.order.unsigned)
        self.element(field, type.element, None)
        if self.ordering is not None:
            raise NotNative(f"the engine requires the elements of a sorted array to be structs, got {type}")
        return 0

    cdef int framing(self, tw_struct *s, tw_framing *framing, object item, object layout) except -1:
        """Set up `framing` for a length, count or checksum. For a count, find the array whose elements it counts."""
        type = item.type
        if isinstance(type, Count):
            framing.frame = TW_COUNT
            framing.of = [other.name for other in layout.items].index(type.of)
            return 0
        framing.frame = TW_CHECKSUM if isinstance(type, Checksum) else TW_EXTENT_OF if type.of else TW_EXTENT
        if isinstance(type, Checksum):
            framing.algorithm = ALGORITHMS[type.algorithm]
        else:
            framing.counts_itself = type.counts_itself
            if type.of and type.counts_itself:
                raise NotNative(f"the engine does not support the length {item.name}, which covers only itself and the field {type.of}")
        if s.marks_count == TW_FRAMES:
            raise NotNative(f"{layout.name} has too many lengths and checksums; the engine supports at most {TW_FRAMES}")
        framing.mark = s.marks_count
        s.marks_count += 1
        return 0

    cdef int framed_default(self, tw_struct *s, tw_field *field, tw_framing *framing, object item, object cls) except -1:
        struct = item.type.struct.cls if isinstance(item.type, Nested) else None
        if item.default is DEFAULT_STRUCT and (s.shape != TW_OBJECT or struct is None):
            raise NotNative(f"the engine does not support the default of {item.name}, because it contains dicts")
        self.default(field, cls, item.default, struct)
        if type(item.default) is int and framing.is_number:
            framing.absent = number(item.default)
        return 0

    cdef int checks(self, tw_framing *framing, object item, object layout) except -1:
        """Store in `framing` which values a field allows, and whether it is the first field that a checksum covers."""
        cdef tw_bits *bits
        cdef Py_ssize_t index
        if item.equals is not None or item.bits:
            if not framing.is_number:
                raise NotNative(f"the engine requires {item.name} to be a number that fits in 64 bits, because it has named bits or a fixed value")
            framing.is_checked = True
            framing.has_equals = item.equals is not None
            framing.equals = number(item.equals or 0)
            bits = <tw_bits *>self.memory(len(item.bits) * sizeof(tw_bits))
            for index, group in enumerate(item.bits):
                bits[index].mask, bits[index].shift, bits[index].values = number(group.mask), group.shift, len(group.values)
            framing.bits, framing.bits_count = bits, len(item.bits)
        for name, check in layout.checks:
            if check.first == item.name:
                if framing.sum:
                    raise NotNative(f"two checksums begin at {item.name}; the engine supports only one")
                framing.sum = self.register_of(name)
                framing.covered = framing_at(self.scope(), name).mark
                if framing.frame == TW_CHECKSUM:
                    raise NotNative(f"the engine does not support {item.name}, a checksum that another checksum covers")
                framing.algorithm = ALGORITHMS[check.algorithm]
        return 0


FRAMING = (Extent, Count, Checksum)
UINT32 = Fixed(WIRE_TYPES["uint32"])


cdef tw_framing *framing_at(dict scope, object name) except NULL:
    return <tw_framing *>(<Block>scope[name]).at


cdef int64_t number(object value) except? -1:
    if not -(1 << 63) <= value < 1 << 63:
        raise NotNative(f"the layout contains the number {value}, which does not fit in 64 bits")
    return value


cdef bint is_number(const tw_field *field):
    if field.kind == TW_VARINT:
        return field.bits == 32 or field.zigzag != TW_UNSIGNED
    return TW_INT8 <= field.kind <= TW_INT64


cdef bint has_value(object cls, object item):
    """Return whether objects store a field's value. They don't store constants or values derived from other fields."""
    if isinstance(item.type, FRAMING):
        return cls is None and isinstance(item.type, Checksum)
    return item.equals is None or cls is None or cls is tuple or hasattr(cls, item.name)


def structs_of(struct):
    yield struct
    for item in struct.fields:
        kind = item.type
        while isinstance(kind, Array):
            kind = kind.element
        if isinstance(kind, Nested):
            yield from structs_of(kind.struct)


def is_framed(struct):
    """Return whether a struct has a field that needs a tw_framing (framing.h), such as a field with a condition."""
    if struct.cls is None or struct.cls is tuple or not struct.has_tags:
        return True
    try:
        _, items = enclosed(struct.items)
    except NotNative:
        return True
    return any([item.condition is not None or not item.is_unframed or is_stated(item.type) for item in items])


def is_stated(kind):
    """Return whether a type is an array that must be sorted, must not be empty, or has its count in another field."""
    return isinstance(kind, Array) and bool(kind.counted_by or kind.order is not None or kind.filled)


cdef public int64_t crc32_of "tw_crc32"(const uint8_t *data, Py_ssize_t size) except -1:
    return crc32(PyMemoryView_FromMemory(<char *>data, size, PyBUF_READ))


cdef public object decompressed "tw_decompressed"(PyObject *codec, const uint8_t *data, Py_ssize_t size, PyObject *limits):
    """Decompress data. Return None if the data is invalid or exceeds the limits."""
    from tagwire.wire.compression import DecompressionError, decompress

    try:
        return decompress(<object>codec, PyBytes_FromStringAndSize(<const char *>data, size), <object>limits)
    except DecompressionError:
        return None


cdef public object compressed "tw_compressed"(PyObject *codec, const uint8_t *data, Py_ssize_t size):
    from tagwire.wire.compression import compress

    return compress(<object>codec, PyBytes_FromStringAndSize(<const char *>data, size))


cdef public object coerced_tuple "tw_coerced_tuple"(object value, Py_ssize_t size):
    found = tuple(value)
    if len(found) != size:
        raise ValueError
    return found


cdef public int has_unknown_names "tw_has_unknown_names"(PyObject *names, PyObject *values) except -1:
    return not (<dict>values).keys() <= <object>names
