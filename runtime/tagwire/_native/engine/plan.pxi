"""Create plans: convert layouts to the C structs that the main loops follow.

This module raises `NotNative` for layouts and classes that could make the loops unsafe.
"""


@final
@no_gc_clear
cdef class Template:
    """The slot values that C copies to create a struct whose fields have their defaults."""

    cdef tw_fresh c
    cdef object cls
    cdef list kept


cdef class Builder(PlanBuilder):
    """Builds plans for encoding and decoding objects."""

    cdef dict structs
    cdef dict templates
    cdef dict slots
    cdef list span_types  # (name, type) pairs of all fields and element types, indexed by tw_field.number
    cdef bint framed

    def __cinit__(self):
        self.structs = {}
        self.templates = {}
        self.slots = {}
        self.span_types = []

    cdef Py_ssize_t slot(self, object cls, str name) except -1:
        known = self.slots.get((cls, name))
        if known is None:
            known = self.slots[cls, name] = checked_slot(cls, name)
        return known

    cdef const tw_struct *struct(self, object layout) except NULL:
        """Return the plan of a struct. Create it on first use."""
        cdef tw_struct *s
        cdef Block block = self.structs.get(id(layout))
        if block is not None:
            return <tw_struct *>block.at
        if self.framed:
            return self.framed_struct(layout)
        check_class(layout.cls)
        block = self.structs[id(layout)] = Block(sizeof(tw_struct))
        self.kept += [block, layout]
        s = <tw_struct *>block.at
        s.factory = class_of(layout.cls)
        s.length, items = enclosed(layout.items)
        if s.length != TW_NO_LENGTH:
            s.enclosing = self.enclosing(layout.items[0])
        s.unknown_slot = self.slot(layout.cls, "unknown_tags")
        s.items_count = len(items)
        s.items = self.items(items, layout.cls)
        s.missing_count = len(layout.missing)
        s.missing = self.missing(layout.cls, layout.missing)
        self.section(s, layout.section, layout.cls)
        tw_choose_looks(s, <tw_look *>self.memory(len(items) * sizeof(tw_look)))
        s.rules = rules_of(self, layout)
        self.fill(s)
        s.atomic = UNTRACKS and s.factory.slots_size and has_atomic_values(s)
        return s

    cdef const tw_field *enclosing(self, object item) except NULL:
        """Return the field that traces and errors show for a struct's length."""
        cdef tw_field *field = <tw_field *>self.memory(sizeof(tw_field))
        field.name = self.keep(item.name)
        self.begin(field, item.type, None)
        return field

    cdef const tw_struct *child(self, object layout, object owner) except NULL:
        return self.struct(layout)

    cdef int begin(self, tw_field *field, object type, object owner) except -1:
        """Assign a number, for traces, to a field or element type."""
        field.number = len(self.span_types)
        self.span_types.append((None if field.name == NULL else <object>field.name, type))
        return 0

    cdef const tw_struct *framed_struct(self, object layout) except NULL:
        raise NotNative(f"{layout.name} has lengths, counts or checksums, which the engine supports only in record formats")

    cdef int fill(self, tw_struct *s) except -1:
        """Set `filled`: the tagged and missing fields that decoding sets to defaults."""
        cdef tw_field *filled = <tw_field *>self.memory((s.tagged_count + s.missing_count) * sizeof(tw_field))
        cdef const tw_field *field
        cdef Py_ssize_t index
        s.filled = filled
        for index in range(s.tagged_count + s.missing_count):
            field = &s.tagged[index] if index < s.tagged_count else &s.missing[index - s.tagged_count]
            if not field.late:
                filled[s.filled_count] = field[0]
                s.filled_count += 1
        return 0

    cdef int assign_slot(self, tw_field *field, object owner, object item) except -1:
        field.slot = self.slot(owner, item.name)
        field.name = self.keep(item.name)
        struct = item.type.struct.cls if isinstance(item.type, Nested) else None
        return self.default(field, owner, item.default, struct)

    cdef const tw_field *missing(self, object cls, tuple missing) except NULL:
        cdef tw_field *fields = <tw_field *>self.memory(len(missing) * sizeof(tw_field))
        cdef Py_ssize_t index
        for index, field in enumerate(missing):
            fields[index].ignorable = field.ignorable
            fields[index].slot = self.slot(cls, field.name)
            fields[index].name = self.keep(field.name)
            self.default(&fields[index], cls, field.default, field.cls)
        return fields

    cdef int wire(self, tw_field *field, object wire) except -1:
        if wire.is_enum:
            field.kind = TW_ENUM
            field.element = <tw_field *>self.memory(sizeof(tw_field))
            (<tw_field *>field.element).kind = kind_of(wire.base)
            field.members = members_of(self, wire)
            return 0
        field.kind = kind_of(wire)
        if field.kind == TW_UUID:
            learn_uuids()
        return 0

    cdef int default(self, tw_field *field, object owner, object default, object cls) except -1:
        """Set a field's default: a template to copy for a struct, otherwise a shared value."""
        cdef Template template
        if default is not DEFAULT_STRUCT or cls is None:
            field.value = self.keep(default)
            return 0
        template = self.template(cls)
        field.fresh = &template.c
        field.late = make_lazy(owner, <object>field.name, field.slot, template)
        return 0

    cdef Template template(self, object cls):
        cdef tw_field *fields
        cdef Py_ssize_t count = 0
        cdef Template template = self.templates.get(cls)
        if template is not None:
            return template
        check_class(cls)
        if cls.__eq__ is not Struct.__eq__ or cls.__ne__ is not object.__ne__:
            raise NotNative(f"{cls.__name__} defines its own comparison, which the engine would not call")
        sample = cls._fresh()
        names = [name for name in slot_names(cls) if hasattr(sample, name)]
        fields = <tw_field *>self.memory(len(names) * sizeof(tw_field))
        template = Template()
        template.cls = cls
        template.kept = self.kept
        template.c.factory = class_of(cls)
        template.c.count = len(names)
        template.c.fields = fields
        for name in names:
            value = getattr(sample, name)
            fields[count].slot = self.slot(cls, name)
            fields[count].name = self.keep(name)
            if isinstance(value, Struct):
                self.default(&fields[count], cls, DEFAULT_STRUCT, type(value))
            elif can_be_shared(value):
                fields[count].value = self.keep(value)
            else:
                raise NotNative(f"the engine does not support the default of {cls.__name__}.{name}, because it is mutable")
            count += 1
        self.templates[cls] = template
        self.kept.append(template)
        return template


cdef bint has_atomic_values(const tw_struct *s):
    """Return whether objects decoded without views are never part of a reference cycle (tracking.h)."""
    cdef Py_ssize_t index
    for index in range(s.items_count):
        if not is_atomic_field(&s.items[index]):
            return False
    for index in range(s.tagged_count):
        if not is_atomic_field(&s.tagged[index]):
            return False
    for index in range(s.missing_count):
        if s.missing[index].value == NULL or not tw_is_atomic(s.missing[index].value):
            return False
    return True


cdef bint is_atomic_field(const tw_field *field):
    if field.kind == TW_ARRAY or field.kind == TW_OPTIONAL:
        return field.element.kind != TW_ARRAY and is_atomic_field(field.element)
    return field.kind not in (TW_ENUM, TW_STRUCT)


cdef const tw_enum *members_of(Owner owner, object wire) except NULL:
    """Convert an enum's members to a C struct, which `owner` owns."""
    if kind_of(wire.base) == TW_UINT64:
        raise NotNative(f"{wire.enum.__name__} is an enum of {wire.name}; the engine supports only enums whose numbers fit in 63 bits")
    members = sorted(wire.enum)
    cdef int64_t *numbers = <int64_t *>owner.memory(len(members) * sizeof(int64_t))
    cdef PyObject **objects = <PyObject **>owner.memory(len(members) * sizeof(void *))
    cdef PyObject **names = <PyObject **>owner.memory(len(members) * sizeof(void *))
    cdef tw_enum *result = <tw_enum *>owner.memory(sizeof(tw_enum))
    cdef Py_ssize_t index
    for index, member in enumerate(members):
        numbers[index] = int(member)
        objects[index] = owner.keep(member)
        names[index] = owner.keep(member.text)
    result.count = len(members)
    result.numbers, result.members, result.names = numbers, objects, names
    result.by_name = owner.keep(wire.numbers)
    result.closed = wire.is_closed
    return result


def slot_names(cls):
    """Return the names of all slots that a class and its bases define."""
    kinds = (MemberDescriptorType, LateStruct)
    return [name for base in cls.__mro__ for name, value in vars(base).copy().items() if type(value) in kinds]


def can_be_shared(value):
    """Return whether structs may share a value, because it is immutable."""
    if type(value) is tuple:
        return not value
    if type(value) in (int, float, bool, str, bytes, NoneType) or isinstance(value, Register):
        return True
    return value is NO_TAGS or type(value).__module__ == "uuid"
