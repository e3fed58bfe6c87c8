"""Convert messages to and from JSON, as Python values or as text, in Kafka's JSON style and in the lossless style.

The conversions are in C (`json_values.h`, `json_write.h`, `json_read.h`). This file creates their plans, and converts
values of types that decoding never creates. If C can't convert a message, `tagwire.message.json` converts it or raises
the error.
"""

cdef extern from "engine/json_plan.h":
    ctypedef struct tw_json_struct
    ctypedef struct tw_json_field:
        PyObject *key
        const char *text
        Py_ssize_t text_size
        const tw_json_struct *child
        const tw_field *field
        Py_ssize_t attribute, longest
        uint8_t records, kind, number, dimensions, nullable, required
        const tw_enum *members
    ctypedef struct tw_json_struct:
        PyTypeObject *cls
        const tw_data_class *c
        Py_ssize_t count, written
        const tw_json_field *fields
        Py_ssize_t unknown_slot
        tw_json_field tags

cdef extern from "engine/json_values.h":
    ctypedef struct tw_json_dict_output:
        const tw_shared *shared
        int lossless
        PyObject *into
        PyObject *key
        Py_ssize_t index
    int tw_json_dict_struct(tw_json_dict_output *, const tw_json_struct *, PyObject *) except? -1
    PyObject *tw_struct_of_json(const tw_reader *, const tw_json_struct *, PyObject *)

cdef extern from "engine/json_write.h":
    ctypedef struct tw_json_text_output:
        const tw_shared *shared
        int lossless
        int indent, depth
        tw_writer w
    int tw_json_text_struct(tw_json_text_output *, const tw_json_struct *, PyObject *) except? -1

cdef extern from "engine/json_read.h":
    ctypedef struct tw_json_reader:
        const uint8_t *p
        const uint8_t *end
        const tw_reader *r
    PyObject *tw_json_read_all(tw_json_reader *, const tw_json_struct *)

cdef enum:
    WIDEST_INDENT = 64


@final
@no_gc_clear
cdef class JsonPlan(Owner):
    """The plan for converting one version of a message to and from JSON."""

    cdef Plan plan
    cdef const tw_json_struct *root
    cdef bint reads  # whether C can create the objects when it reads JSON
    cdef dict structs

    def __cinit__(self, Plan plan):
        self.plan = plan
        self.reads = True
        self.structs = {}
        self.root = self.struct(Builder(), plan.MESSAGE, plan.source.root, plan.VERSION)

    cdef const tw_json_struct *struct(self, Builder builder, object cls, object layout, object version) except NULL:
        """Return the plan of a struct. `layout` and `version` are None if the message's version lacks the struct."""
        cdef Block block = self.structs.get((cls, version))
        if block is not None:
            return <const tw_json_struct *>block.at
        block = self.structs[cls, version] = Block(sizeof(tw_json_struct))
        cdef tw_json_struct *result = <tw_json_struct *>block.at
        cdef DataClass c = data_class(<PyTypeObject *><PyObject *>cls)
        items = {} if layout is None else {item.name: item for item in layout.fields}
        written = [row for row in cls.FIELDS if row.name in items]
        rows = written + [row for row in cls.FIELDS if row.name not in items]
        cdef const tw_field *encoded = builder.items(tuple([items[row.name] for row in written]), cls)
        cdef tw_json_field *fields = <tw_json_field *>self.memory(len(rows) * sizeof(tw_json_field))
        cdef Py_ssize_t index
        self.kept += [block, builder, cls, layout]
        self.reads = self.reads and c.copies and not c.has_unions
        result.cls, result.c = <PyTypeObject *><PyObject *>cls, &c.c
        result.count, result.written, result.fields = len(rows), len(written), fields
        result.unknown_slot = 0 if layout is None else builder.slot(cls, "unknown_tags")
        self.key(&result.tags, "_unknownTags")
        for index, row in enumerate(rows):
            fields[index].field = &encoded[index] if index < len(written) else NULL
            self.field(builder, &fields[index], cls, row, items.get(row.name), version)
        return result

    cdef int key(self, tw_json_field *result, str name) except -1:
        cdef bytes text = f'"{name}": '.encode()
        self.keep(text)
        result.key, result.text, result.text_size = self.keep(name), text, len(text)
        return 0

    cdef int field(self, Builder builder, tw_json_field *result, object cls, object row, object item, object version) except -1:
        cdef bint in_version = version in row.versions
        self.key(result, row.json_name)
        result.attribute = cls._attributes.index(row.name)
        result.dimensions = row.type.count("[]")
        result.nullable = bool(version in row.nullable if in_version else row.nullable)
        result.required = in_version and version not in row.tagged
        if row.struct is None:
            try:
                return self.primitive(result, row.wire)
            except NotNative:
                self.reads = False
                return 0
        type = None if item is None else item.type
        while isinstance(type, Array):
            type = type.element
        layout, inner = (None, None) if type is None else (type.struct, row.struct_version(version))
        result.kind = TW_STRUCT
        result.child = self.struct(builder, row.struct, layout, inner)
        return 0

    cdef int primitive(self, tw_json_field *result, object wire) except -1:
        result.records = wire.name == "records"
        if wire.is_enum:
            result.kind, result.number = TW_ENUM, kind_of(wire.base)
            result.members = members_of(self, wire)
            return 0
        result.kind = kind_of(wire)
        result.longest = wire.width if result.kind == TW_BLOCK else wire.longest if result.kind == TW_STRING else 0
        if result.kind == TW_UUID:
            learn_uuids()
        return 0

    cdef object checked(self, object message):
        """Return the message, or None if it breaks a rule that involves several fields."""
        if message is not None and self.plan.has_rules:
            try:
                self.plan.encoded_size(message)
            except TagwireError:
                return None
        return message


cdef inline object taken_or_none(PyObject *value):
    """Take ownership of a new reference. If it is NULL, raise the pending exception, if any, or return None."""
    if value == NULL and PyErr_Occurred() == NULL:
        return None
    return taken(value)


cdef public object json_odd "tw_json_odd"(const tw_field *field, object value, bint lossless):
    """Convert a valid field value to JSON. Only called for types that decoding never returns, such as bytearray."""
    if value is None or field.kind == TW_STRING:
        return value
    if field.kind == TW_FLOAT32 or field.kind == TW_FLOAT64:
        return WIRE_TYPES["float64"].to_json(value, is_lossless=lossless)
    if field.kind == TW_BLOCK or field.kind == TW_BINARY or field.kind == TW_UUID:
        return WIRE_TYPES["uuid" if field.kind == TW_UUID else "bytes"].to_json(value)
    return bool(value) if field.kind == TW_BOOL else int(value)


cdef public object json_unknown_tags "tw_json_unknown_tags"(object tags):
    from tagwire.message.json import json_tags

    return json_tags(tags)


cdef public object json_dumped "tw_json_dumped"(object value, int indent, int depth):
    """Return a value as JSON text whose lines are indented for this nesting depth."""
    from tagwire.message.json_text import dumped

    text = dumped(value, None if indent < 0 else indent)
    return text.replace("\n", "\n" + " " * (indent * depth)) if indent > 0 else text


cdef object PLANS_LOCK = RLock()
cdef dict NO_PLANS = {}


cdef JsonPlan json_plan_of(object cls, object version):
    """Return the JSON plan of a version, or None if only pure Python supports it. Plans are created on first use."""
    found = vars(cls).get("_json_plans", NO_PLANS).get(version)
    if found is None:
        plan = cls.serializer(version)
        with PLANS_LOCK:
            plans = vars(cls).get("_json_plans")
            if plans is None:
                plans = cls._json_plans = {}
            found = plans.setdefault(version, JsonPlan(plan) if type(plan) is Plan else False)
    return found or None


cdef JsonPlan json_reader_of(object cls, object version):
    """Return the JSON plan of a version, or None if only Python can read JSON in this version."""
    cdef JsonPlan plan = json_plan_of(cls, version)
    return plan if plan is not None and plan.reads else None


def to_json(message, version, bint is_lossless):
    """Convert a message to a dict of JSON values, or None if only Python can do it. Raises the errors of `encode`."""
    cdef JsonPlan json_plan = json_plan_of(type(message), version)
    cdef list converted = [None]
    cdef tw_json_dict_output out
    if json_plan is None:
        return None
    out.shared, out.lossless = &SHARED, is_lossless
    out.into, out.key, out.index = <PyObject *>converted, NULL, 0
    json_plan.plan.encoded_size(message)
    return converted[0] if tw_json_dict_struct(&out, json_plan.root, <PyObject *>message) == 0 else None


def from_json(cls, obj, version):
    """Convert a dict of JSON values to a message, or None if only Python can convert it."""
    cdef JsonPlan json_plan = json_reader_of(cls, version)
    cdef tw_reader r
    if json_plan is None:
        return None
    r.shared = &SHARED
    return json_plan.checked(taken_or_none(tw_struct_of_json(&r, json_plan.root, <PyObject *>obj)))


def to_json_text(message, version, bint is_lossless, indent):
    """Convert a message to JSON text, or None if only Python can convert it. Raises the errors of `encode`."""
    cdef JsonPlan json_plan = None
    cdef tw_json_text_output out
    cdef uint8_t stack[STACK]
    if indent is None or (type(indent) is int and 0 <= indent <= WIDEST_INDENT):
        json_plan = json_plan_of(type(message), version)
    if json_plan is None:
        return None
    out.shared, out.lossless = &SHARED, is_lossless
    out.indent, out.depth = -1 if indent is None else indent, 0
    json_plan.plan.encoded_size(message)
    start_writing(&out.w, stack)
    try:
        if tw_json_text_struct(&out, json_plan.root, <PyObject *>message) < 0:
            return None
        return PyUnicode_DecodeUTF8(<const char *>out.w.start, out.w.p - out.w.start, NULL)
    finally:
        tw_discard(&out.w)


def from_json_text(cls, bytes data, version):
    """Convert JSON text to a message, or None if only Python can convert it."""
    cdef JsonPlan json_plan = json_reader_of(cls, version)
    cdef tw_reader r
    cdef tw_json_reader t
    if json_plan is None:
        return None
    r.shared = &SHARED
    t.r = &r
    t.p = TW_BYTES_DATA(<PyObject *>data)
    t.end = t.p + TW_BYTES_SIZE(<PyObject *>data)
    return json_plan.checked(taken_or_none(tw_json_read_all(&t, json_plan.root)))
