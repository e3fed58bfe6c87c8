"""Build the parts that object plans and column plans have in common: the fields and tag section of a struct."""


cdef class PlanBuilder(Owner):
    """Builds a plan: a layout converted to C structs, which the C loops follow.

    The argument `owner` of its methods is the data class or column that stores the decoded values. If `owner` is None,
    the values are only validated.
    """

    cdef object part(self, object owner, object item):
        """Return the owner of a field (`item`) or, if `item` is None, of array elements.

        `owner` is the owner of the struct or array.
        """
        return None

    cdef int begin(self, tw_field *field, object type, object owner) except -1:
        """Initialize the tw_field of a field or of an array's elements. The kind is set later."""
        return 0

    cdef int assign_slot(self, tw_field *field, object owner, object item) except -1:
        return 0

    cdef int wire(self, tw_field *field, object wire) except -1:
        field.kind = kind_of(wire)
        return 0

    cdef const tw_struct *child(self, object layout, object owner) except NULL:
        raise NotNative(f"the engine does not support the struct {layout.name}")

    cdef int section(self, tw_struct *s, object section, object owner) except -1:
        fields = () if section is None else section.fields
        if isinstance(section, OptionalBuffer):
            s.section = TW_OPTIONAL_BUFFER
            s.entry_length = length_of(section.length)
            s.counts_tag = section.counts_tag
        elif section is not None:
            s.section = TW_TAGGED_SECTION
        if len(fields) > TW_MOST_TAGGED:
            raise NotNative(f"a struct has {len(fields)} tagged fields; the engine supports at most {TW_MOST_TAGGED}")
        s.tagged_count = len(fields)
        s.tagged = self.items(fields, owner)
        s.known_tags = self.keep(frozenset([field.tag for field in fields]))
        return 0

    cdef const tw_field *items(self, tuple items, object owner) except NULL:
        """Build the fields of a struct, in the order in which they are encoded."""
        cdef tw_field *fields = <tw_field *>self.memory(len(items) * sizeof(tw_field))
        cdef Py_ssize_t index
        for index, item in enumerate(items):
            reject_unlike(item)
            fields[index].tag = -1 if item.tag is None else item.tag
            self.assign_slot(&fields[index], owner, item)
            self.type(&fields[index], item.type, self.part(owner, item))
        set_runs(fields, len(items))
        return fields

    cdef int type(self, tw_field *field, object type, object owner) except -1:
        self.begin(field, type, owner)
        field.minimum = type.minimum
        if isinstance(type, Fixed):
            self.wire(field, type.wire)
            field.longest = type.wire.width
        elif isinstance(type, NullableFixed):
            field.kind = TW_OPTIONAL
            field.marker = MARKERS[type.marker]
            self.element(field, Fixed(type.wire), owner)
        elif isinstance(type, Sized):
            self.wire(field, type.wire)
            self.length(field, type)
            field.longest = type.longest
        elif isinstance(type, Nested):
            field.kind = TW_STRUCT
            field.marker = MARKERS[type.marker]
            field.child = self.child(type.struct, owner)
        elif isinstance(type, Array) and not (type.counted_by or type.order or type.filled):
            field.kind = TW_ARRAY
            self.length(field, type)
            self.element(field, type.element, self.part(owner, None))
        elif isinstance(type, Varint) and type.bits in (32, 64):
            field.kind = TW_VARINT
            field.bits = type.bits
            field.zigzag = TW_ZIGZAG if type.zigzag else TW_TWOS_COMPLEMENT if type.signed else TW_UNSIGNED
        else:
            raise NotNative(f"the engine does not support the type {type}")
        return 0

    cdef int element(self, tw_field *field, object type, object owner) except -1:
        cdef tw_field *element = <tw_field *>self.memory(sizeof(tw_field))
        field.element = element
        return self.type(element, type, owner)

    cdef int length(self, tw_field *field, object type) except -1:
        code = type.length
        field.length = TW_NO_LENGTH if code is None else length_of(code)
        field.nullable = type.nullable and code is not None and code.null is not None
        return 0


cdef void set_runs(tw_field *fields, Py_ssize_t count) noexcept:
    """Group adjacent fixed-width fields into runs, which need only one size check. Leave out selected fields."""
    cdef Py_ssize_t index, first = 0
    cdef bint has_bools = False
    for index in range(count):
        fields[index].run = fields[index].run_count = 0
        if not tw_width[fields[index].kind] or fields[index].chosen != NULL:
            first, has_bools = index + 1, False
            continue
        fields[first].run += tw_width[fields[index].kind]
        has_bools = has_bools or fields[index].kind == TW_BOOL
        fields[first].run_count = 0 if has_bools else fields[first].run_count + 1
