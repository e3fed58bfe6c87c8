"""The plan of columns: from layouts, and the columns that their fields go to, to the steps that the loops walk."""

cdef enum:
    DEEPEST_COLUMNS = 100  # structs inside each other: each takes a frame of the C stack


cdef class Steps:
    """The steps of one version."""

    cdef Shape shape
    cdef list kept
    cdef dict unused
    cdef const tw_steps *root

    def __cinit__(self, Shape shape, layout, column):
        depth = layout.root.depth
        if depth > DEEPEST_COLUMNS:
            raise NotNative(f"structs are {depth} deep; native columns go down to {DEEPEST_COLUMNS}")
        self.shape = shape
        self.kept = [shape]
        self.unused = {}
        self.root = self.struct(layout.root, column)

    cdef void *memory(self, size_t size) except NULL:
        cdef Block block = Block(size)
        self.kept.append(block)
        return block.at

    cdef const tw_steps *struct(self, object layout, object column) except NULL:
        """The steps of a struct; `column` is None where all of it is only checked."""
        cdef tw_steps *s
        cdef Block block = self.unused.get(id(layout)) if column is None else None
        if block is not None:
            return <const tw_steps *>block.at
        block = Block(sizeof(tw_steps))
        self.kept.append(block)
        s = <tw_steps *>block.at
        if column is None:
            self.unused[id(layout)] = block
        length, items = enclosed(layout.items)
        s.length = TW_NO_LENGTH if length is None else length_of(length)
        s.items_count = len(items)
        s.items = self.items(items, column)
        self.section(s, layout.section, column)
        self.absent(s, layout, column)
        return s

    cdef int section(self, tw_steps *s, object section, object column) except -1:
        cdef int32_t *idle
        cdef int32_t index
        fields = () if section is None else section.fields
        if len(fields) > TW_MOST_TAGGED_STEPS:
            raise NotNative(f"{len(fields)} tagged fields in a struct; the engine has bits for {TW_MOST_TAGGED_STEPS}")
        if isinstance(section, OptionalBuffer):
            s.section = TW_OPTIONAL_BUFFER
            s.entry_length = length_of(section.length)
            s.counts_tag = section.counts_tag
        elif section is not None:
            s.section = TW_TAGGED_SECTION
        s.tagged_count = len(fields)
        s.tagged = self.items(fields, column)
        s.unknown = -1 if section is None else self.place(column, TAGS)
        s.idle = idle = <int32_t *>self.memory((s.tagged_count + 1) * sizeof(int32_t))
        for index in range(s.tagged_count):
            if s.tagged[index].column >= 0:
                idle[s.idle_count] = s.tagged[index].column
                s.idle_count += 1
        if s.unknown >= 0:
            idle[s.idle_count] = s.unknown
            s.idle_count += 1
        return 0

    cdef int absent(self, tw_steps *s, object layout, object column) except -1:
        """The columns of other versions' fields."""
        cdef tw_absent *absent
        present = {field.name for field in layout.fields} | ({TAGS} if layout.section is not None else set())
        ignorable = {field.name for field in layout.missing if field.ignorable}
        others = [] if column is None else [child for child in column.children if child.name not in present]
        s.absent = absent = <tw_absent *>self.memory(len(others) * sizeof(tw_absent))
        for child in others:
            absent[s.absent_count].column = self.shape.index(child)
            absent[s.absent_count].ignorable = child.name in ignorable
            s.absent_count += 1
        return 0

    cdef int32_t place(self, object column, str name) except -2:
        """The index of a child, or -1."""
        child = None if column is None else column.child(name)
        return -1 if child is None else self.shape.index(child)

    cdef const tw_step *items(self, tuple items, object column) except NULL:
        """Fields on the wire. Those of fixed width are gathered in runs, which are checked once."""
        cdef tw_step *steps = <tw_step *>self.memory(len(items) * sizeof(tw_step))
        cdef Py_ssize_t index, first = 0
        for index, item in enumerate(items):
            refuse_unlike(item)
            steps[index].tag = -1 if item.tag is None else item.tag
            self.type(&steps[index], item.type, None if column is None else column.child(item.name))
            if tw_width[steps[index].kind]:
                steps[first].run += tw_width[steps[index].kind]
            else:
                first = index + 1
        return steps

    cdef int type(self, tw_step *step, object type, object column) except -1:
        step.column = -1 if column is None else self.shape.index(column)
        step.minimum = type.minimum
        if isinstance(type, Fixed):
            step.kind = kind_of(type.wire)
            step.longest = type.wire.width
            step.wide = column is not None and column.format in "sil" and step.kind in (TW_UINT8, TW_UINT16, TW_UINT32)
        elif isinstance(type, NullableFixed):
            step.kind = TW_OPTIONAL
            step.marker = MARKERS[type.marker]
            step.element = <tw_step *>self.memory(sizeof(tw_step))
            self.type(<tw_step *>step.element, Fixed(type.wire), column)
        elif isinstance(type, Sized) and type.length is not None:
            step.kind = kind_of(type.wire)
            self.length(step, type)
            step.longest = type.longest
        elif isinstance(type, Nested):
            step.kind = TW_STRUCT
            step.marker = MARKERS[type.marker]
            step.child = self.struct(type.struct, column)
        elif isinstance(type, Array) and not (type.counted_by or type.order or type.filled):
            step.kind = TW_ARRAY
            self.length(step, type)
            step.element = <tw_step *>self.memory(sizeof(tw_step))
            self.type(<tw_step *>step.element, type.element, None if column is None else column.children[0])
        elif isinstance(type, Varint) and type.bits in (32, 64) and type.signed == type.zigzag:
            step.kind = TW_VARINT
            step.bits = type.bits
            step.zigzag = type.zigzag
            step.wide = column is not None and column.format == "l" and type.bits == 32
        else:
            raise NotNative(f"native columns have no type {type}")
        return 0

    cdef int length(self, tw_step *step, object type) except -1:
        code = type.length
        step.length = TW_NO_LENGTH if code is None else length_of(code)
        step.nullable = type.nullable and code is not None and code.null is not None
        return 0


cdef class Table:
    """Steps by version, from the lowest version on."""

    cdef readonly dict layouts
    cdef list kept
    cdef const tw_steps **steps
    cdef int64_t low, count

    def __cinit__(self, Shape shape, column, dict layouts):
        cdef Steps made
        cdef Block block
        self.layouts = layouts
        self.low = min(layouts)
        self.count = max(layouts) - self.low + 1
        block = Block(self.count * sizeof(tw_steps *))
        self.kept = [block]
        self.steps = <const tw_steps **>block.at
        for version, layout in layouts.items():
            if layout.root.has_rules:
                raise NotNative(f"{layout} has rules over several fields, which native columns do not hold against bytes")
            made = Steps(shape, layout, column)
            self.kept.append(made)
            self.steps[version - self.low] = made.root

    cdef object layout_at(self, const tw_source *versions, int64_t row, str name, object supported):
        """The layout of a row. Raises UnsupportedVersionError."""
        cdef int64_t version = self.low
        if versions != NULL:
            tw_source_int(versions, row, &version)
        layout = self.layouts.get(version)
        if layout is None:
            raise UnsupportedVersionError(name, version, supported)
        return layout


cdef int64_t at_most(object limit) except? -1:
    """Return a limit as a number; None is unlimited."""
    return limit if limit is not None and limit < INT64_MAX else INT64_MAX


cdef int raise_fault(int fault, str name, object row, int64_t most) except -1:
    """The error of a fault that is not the fault of a row's own bytes or value."""
    if fault == TW_NO_MEMORY:
        raise MemoryError
    if fault == TW_BAD_INPUT:
        raise ColumnError(f"{name}: row {row}: the array's offsets contradict its buffers; it is damaged")
    raise ColumnError(
        f"{name}: up to row {row} a column takes more than {most} elements or bytes, "
        "the most that the offsets of an Arrow list or string can say; take fewer rows at once"
    )
