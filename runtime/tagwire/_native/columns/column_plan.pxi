"""Convert a message's layouts to plans for the C loops that decode and encode columns.

In these plans, `tw_field.slot` is the index of a column.
"""


cdef class ColumnBuilder(PlanBuilder):
    """Builds the column plan for one version of a message."""

    cdef Shape shape
    cdef dict unused
    cdef const tw_struct *root

    def __cinit__(self, Shape shape, layout, column):
        depth = layout.root.depth
        if depth > DEEPEST:
            raise NotNative(f"structs are nested {depth} levels deep; native columns support at most {DEEPEST} levels")
        self.shape = shape
        self.kept.append(shape)
        self.unused = {}
        self.root = self.child(layout.root, column)

    cdef const tw_struct *child(self, object layout, object owner) except NULL:
        cdef tw_struct *s
        cdef Block block = self.unused.get(id(layout)) if owner is None else None
        if block is not None:
            return <const tw_struct *>block.at
        block = Block(sizeof(tw_struct))
        self.kept.append(block)
        s = <tw_struct *>block.at
        if owner is None:
            self.unused[id(layout)] = block
        s.length, items = enclosed(layout.items)
        s.items_count = len(items)
        s.items = self.items(items, owner)
        self.section(s, layout.section, owner)
        self.filled(s, layout, owner)
        self.absent(s, layout, owner)
        return s

    cdef int filled(self, tw_struct *s, object layout, object column) except -1:
        """Set `s.filled`, the columns of tagged fields and of unknown tags."""
        cdef tw_field *filled = <tw_field *>self.memory((s.tagged_count + 1) * sizeof(tw_field))
        cdef Py_ssize_t index
        tags = None if column is None or layout.section is None else column.child(TAGS)
        s.unknown_slot = -1 if tags is None else self.shape.index(tags)
        s.filled = filled
        for index in range(s.tagged_count + 1):
            filled[s.filled_count].slot = s.tagged[index].slot if index < s.tagged_count else s.unknown_slot
            s.filled_count += filled[s.filled_count].slot >= 0
        return 0

    cdef int absent(self, tw_struct *s, object layout, object column) except -1:
        """Set `s.missing`, the columns of fields that this version lacks."""
        cdef tw_field *absent
        present = {field.name for field in layout.fields} | ({TAGS} if layout.section is not None else set())
        ignorable = {field.name for field in layout.missing if field.ignorable}
        others = [] if column is None else [child for child in column.children if child.name not in present]
        s.missing = absent = <tw_field *>self.memory(len(others) * sizeof(tw_field))
        for child in others:
            absent[s.missing_count].slot = self.shape.index(child)
            absent[s.missing_count].ignorable = child.name in ignorable
            s.missing_count += 1
        return 0

    cdef object part(self, object owner, object item):
        if owner is None:
            return None
        return owner.children[0] if item is None else owner.child(item.name)

    cdef int begin(self, tw_field *field, object type, object owner) except -1:
        field.slot = -1 if owner is None else self.shape.index(owner)
        if isinstance(type, Fixed):
            field.wide = owner is not None and owner.format in "sil" and kind_of(type.wire) in (TW_UINT8, TW_UINT16, TW_UINT32)
        elif isinstance(type, Varint):
            field.wide = owner is not None and owner.format == "l" and type.bits == 32
        if (isinstance(type, Sized) and type.length is None) or (isinstance(type, Varint) and type.signed != type.zigzag):
            raise NotNative(f"native columns do not support the type {type}")
        return 0


cdef class Table(Owner):
    """The column plans of a message. `plans[version - low]` is the plan of a version."""

    cdef readonly dict layouts
    cdef const tw_struct **plans
    cdef int64_t low, count

    def __cinit__(self, Shape shape, column, dict layouts):
        cdef ColumnBuilder builder
        self.layouts = layouts
        self.low = min(layouts)
        self.count = max(layouts) - self.low + 1
        self.plans = <const tw_struct **>self.memory(self.count * sizeof(tw_struct *))
        for version, layout in layouts.items():
            if layout.root.has_rules:
                raise NotNative(f"{layout} has rules that involve several fields, which native columns can't check")
            builder = ColumnBuilder(shape, layout, column)
            self.kept.append(builder)
            self.plans[version - self.low] = builder.root

    cdef object layout_at(self, const tw_source *versions, int64_t row, str name, object supported):
        cdef int64_t version = self.low
        if versions != NULL:
            tw_source_int(versions, row, &version)
        layout = self.layouts.get(version)
        if layout is None:
            raise UnsupportedVersionError(name, version, supported)
        return layout


cdef int raise_error(int error, str name, object row, int64_t most) except -1:
    """Raise the exception for TW_NO_MEMORY, TW_BAD_INPUT or TW_TOO_LONG. `most` is the limit that was exceeded."""
    if error == TW_NO_MEMORY:
        raise MemoryError
    if error == TW_BAD_INPUT:
        raise ColumnError(f"{name}: row {row}: the Arrow array is invalid, because its offsets point outside its buffers")
    raise ColumnError(
        f"{name}: rows 0 to {row} have more than {most} elements or bytes in this column; Arrow's 32-bit offsets "
        "allow no more, so pass fewer rows at once"
    )
