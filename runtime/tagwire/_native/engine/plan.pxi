"""The plan: from a layout to the structs that the hot loops walk.

Everything that could make those loops unsafe is refused here, once, with `NotNative`: then they need no second look.
"""

cdef enum:
    DEEPEST = 100  # structs inside each other: each takes a frame of the C stack

@final
@no_gc_clear
cdef class Template:
    """What `cls._fresh()` makes, slot by slot, and all that it points to."""

    cdef tw_fresh c
    cdef object cls
    cdef list kept


cdef class Builder:
    """Builds one plan; `kept` is all that its pointers point to."""

    cdef Shared shared
    cdef list kept
    cdef dict structs
    cdef dict templates
    cdef dict slots
    cdef list types  # the name and the type of each field, and of what elements are, by its number
    cdef bint framed

    def __cinit__(self, Shared shared):
        self.shared = shared
        self.kept = [shared]
        self.structs = {}
        self.templates = {}
        self.slots = {}
        self.types = []

    cdef PyObject *keep(self, object value):
        self.kept.append(value)
        return <PyObject *>value

    cdef void *memory(self, size_t size) except NULL:
        cdef Block block = Block(size)
        self.kept.append(block)
        return block.at

    cdef Py_ssize_t slot(self, object cls, str name) except -1:
        known = self.slots.get((cls, name))
        if known is None:
            known = self.slots[cls, name] = checked_slot(cls, name)
        return known

    # ------------------------------------------------------------ structs

    cdef const tw_struct *struct(self, object layout) except NULL:
        """The struct of a layout; each is made once."""
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
        s.made = class_of(layout.cls)
        length, items = enclosed(layout.items)
        if length is not None:
            s.length = length_of(length)
            s.enclosing = self.enclosing(layout.items[0])
        s.unknown_slot = self.slot(layout.cls, "unknown_tags")
        s.items_count = len(items)
        s.items = self.items(layout.cls, items)
        tw_choose_looks(s, <tw_look *>self.memory(len(items) * sizeof(tw_look)))
        s.missing_count = len(layout.missing)
        s.missing = self.missing(layout.cls, layout.missing)
        self.section(s, layout.cls, layout.section)
        s.rules = rules_of(self, layout)
        self.fill(s)
        s.atomic = s.made.slots_size and has_atomic_values(s)
        return s

    cdef const tw_field *enclosing(self, object item) except NULL:
        """The length before a struct, as traces and the places of faults name it."""
        cdef tw_field *field = <tw_field *>self.memory(sizeof(tw_field))
        field.name = self.keep(item.name)
        self.counted(field, item.type)
        return field

    cdef int counted(self, tw_field *field, object type) except -1:
        field.number = len(self.types)
        self.types.append((None if field.name == NULL else <object>field.name, type))
        return 0

    cdef const tw_struct *framed_struct(self, object layout) except NULL:
        """The struct of a layout with what only record formats have: see framing.pxi."""
        raise NotNative(f"{layout.name} is framed")

    cdef int section(self, tw_struct *s, object cls, object section) except -1:
        s.section = TW_NO_SECTION
        fields = () if section is None else section.fields
        if isinstance(section, OptionalBuffer):
            s.section = TW_OPTIONAL_BUFFER
            s.entry_length = length_of(section.length)
            s.counts_tag = section.counts_tag
        elif section is not None:
            s.section = TW_TAGGED_SECTION
        if len(fields) > TW_MOST_TAGGED:
            raise NotNative(f"{len(fields)} tagged fields in a struct; the engine has bits for {TW_MOST_TAGGED}")
        s.tagged_count = len(fields)
        s.tagged = self.items(cls, fields)
        s.known_tags = self.keep(frozenset([field.tag for field in fields]))
        return 0

    cdef int fill(self, tw_struct *s) except -1:
        """Which defaults a reader has to set."""
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

    cdef const tw_field *items(self, object cls, tuple items) except NULL:
        """Fields on the wire. Those of fixed width are gathered in runs, which are checked once."""
        cdef tw_field *fields = <tw_field *>self.memory(len(items) * sizeof(tw_field))
        cdef Py_ssize_t index, first = 0
        cdef bint has_bools = False
        for index, item in enumerate(items):
            refuse_unlike(item)
            fields[index].tag = -1 if item.tag is None else item.tag
            fields[index].slot = self.slot(cls, item.name)
            fields[index].name = self.keep(item.name)
            self.type(&fields[index], item.type)
            struct = item.type.struct.cls if isinstance(item.type, Nested) else None
            self.default(&fields[index], cls, item.default, struct)
            if tw_width[fields[index].kind]:
                fields[first].run += tw_width[fields[index].kind]
                fields[first].run_count += 1
                has_bools = has_bools or fields[index].kind == TW_BOOL
                if has_bools:
                    fields[first].run_count = 0
            else:
                first = index + 1
                has_bools = False
        return fields

    cdef const tw_field *missing(self, object cls, tuple missing) except NULL:
        cdef tw_field *fields = <tw_field *>self.memory(len(missing) * sizeof(tw_field))
        cdef Py_ssize_t index
        for index, field in enumerate(missing):
            fields[index].ignorable = field.ignorable
            fields[index].slot = self.slot(cls, field.name)
            fields[index].name = self.keep(field.name)
            self.default(&fields[index], cls, field.default, field.cls)
        return fields

    # ------------------------------------------------------------ types

    cdef int type(self, tw_field *field, object type) except -1:
        field.minimum = type.minimum
        self.counted(field, type)
        if isinstance(type, Fixed):
            self.wire(field, type.wire)
            field.longest = type.wire.width
        elif isinstance(type, NullableFixed):
            field.kind = TW_OPTIONAL
            field.marker = MARKERS[type.marker]
            field.element = <tw_field *>self.memory(sizeof(tw_field))
            self.wire(<tw_field *>field.element, type.wire)
            (<tw_field *>field.element).longest = (<tw_field *>field.element).minimum = type.wire.width
        elif isinstance(type, Sized):
            self.wire(field, type.wire)
            self.length(field, type)
            field.longest = type.longest
        elif isinstance(type, Nested):
            field.kind = TW_STRUCT
            field.marker = MARKERS[type.marker]
            field.child = self.struct(type.struct)
        elif isinstance(type, Array) and not (type.counted_by or type.order or type.filled):
            field.kind = TW_ARRAY
            self.length(field, type)
            field.element = <tw_field *>self.memory(sizeof(tw_field))
            self.type(<tw_field *>field.element, type.element)
        elif isinstance(type, Varint) and type.bits in (32, 64):
            field.kind = TW_VARINT
            field.bits = type.bits
            field.zigzag = TW_ZIGZAG if type.zigzag else TW_TWOS_COMPLEMENT if type.signed else TW_UNSIGNED
        else:
            raise NotNative(f"the engine has no type {type}")
        return 0

    cdef int wire(self, tw_field *field, object wire) except -1:
        if wire.is_enum:
            field.kind = TW_ENUM
            field.element = <tw_field *>self.memory(sizeof(tw_field))
            (<tw_field *>field.element).kind = kind_of(wire.base)
            field.members = members_of(self.kept, wire)
            return 0
        field.kind = kind_of(wire)
        if field.kind == TW_UUID:
            self.shared.learn_uuids()
        return 0

    cdef int length(self, tw_field *field, object type) except -1:
        code = type.length
        field.length = TW_NO_LENGTH if code is None else length_of(code)
        field.nullable = type.nullable and code is not None and code.null is not None
        return 0

    # ------------------------------------------------------------ defaults

    cdef int default(self, tw_field *field, object owner, object default, object cls) except -1:
        """The value of a fresh object: itself where all may share it, a template where it is a struct."""
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
            raise NotNative(f"{cls.__name__} compares in a way of its own")
        made = cls._fresh()
        names = [name for name in slot_names(cls) if hasattr(made, name)]
        fields = <tw_field *>self.memory(len(names) * sizeof(tw_field))
        template = Template()
        template.cls = cls
        template.kept = self.kept
        template.c.made = class_of(cls)
        template.c.count = len(names)
        template.c.fields = fields
        for name in names:
            value = getattr(made, name)
            fields[count].slot = self.slot(cls, name)
            fields[count].name = self.keep(name)
            if isinstance(value, Struct):
                self.default(&fields[count], cls, DEFAULT_STRUCT, type(value))
            elif can_be_shared(value):
                fields[count].value = self.keep(value)
            else:
                raise NotNative(f"the default of {cls.__name__}.{name} can't be shared")
            count += 1
        self.templates[cls] = template
        self.kept.append(template)
        return template


cdef bint has_atomic_values(const tw_struct *s):
    """Whether all that a reader puts into an object is atomic, as tracking.h has it; bytes are, views of them are not."""
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


cdef const tw_enum *members_of(list kept, object wire) except NULL:
    """The members of an enum for C; `kept` keeps them."""
    if kind_of(wire.base) == TW_UINT64:
        raise NotNative(f"{wire.enum.__name__} is an enum of {wire.name}, whose numbers the engine looks up in 63 bits")
    members = sorted(wire.enum)
    cdef Block block = Block(sizeof(tw_enum))
    cdef Block numbers = Block(len(members) * sizeof(int64_t))
    cdef Block objects = Block(len(members) * sizeof(void *))
    cdef Block texts = Block(len(members) * sizeof(void *))
    cdef tw_enum *made = <tw_enum *>block.at
    cdef Py_ssize_t index
    kept += [block, numbers, objects, texts, members, wire.numbers]
    for index, member in enumerate(members):
        text = member.text
        kept.append(text)
        (<int64_t *>numbers.at)[index] = int(member)
        (<PyObject **>objects.at)[index] = <PyObject *>member
        (<PyObject **>texts.at)[index] = <PyObject *>text
    made.count = len(members)
    made.numbers = <int64_t *>numbers.at
    made.members = <PyObject **>objects.at
    made.texts = <PyObject **>texts.at
    made.by_text = <PyObject *>wire.numbers
    made.closed = wire.is_closed
    return made


def slot_names(cls):
    """The names of all slots of a class and its bases."""
    kinds = (MemberDescriptorType, LateStruct)
    return [name for base in cls.__mro__ for name, value in vars(base).copy().items() if type(value) in kinds]


def can_be_shared(value):
    """Whether one object may stand in many structs: what can't be changed."""
    if type(value) is tuple:
        return not value
    if type(value) in (int, float, bool, str, bytes, NoneType) or isinstance(value, Register):
        return True
    return value is NO_TAGS or type(value).__module__ == "uuid"
