"""Construct, compare and copy objects of data classes, and write their `repr`.

`Struct` defines these methods in Python. `tagwire.message.binding` replaces each method with a native one at its first
use. If C can't use the slots of the object's class directly, the native method calls the Python method.
"""

cdef extern from "engine/data_class.h":
    int TW_CONSTRUCTS, TW_MOST_ATTRIBUTES
    int TW_TAKES_ANY, TW_TAKES_ARRAY, TW_TAKES_ARRAY_OR_NULL, TW_TAKES_STRUCT, TW_TAKES_UUID
    ctypedef struct tw_attribute:
        Py_ssize_t slot
        PyObject *name
        PyObject *shown
        PyObject *fresh
        PyObject *parameter
        PyObject *deleted
        uint8_t takes, required
    ctypedef struct tw_data_class:
        tw_class factory
        Py_ssize_t count
        const tw_attribute *attributes
        PyObject *opening
        PyObject *init
        uint8_t asks, atomic
    ctypedef PyObject *(*tw_construct_call)(PyObject *, PyObject **, size_t, PyObject *)
    PyObject *tw_construct(const tw_data_class *, PyObject *, PyObject *, PyObject **, size_t, PyObject *)
    void tw_set_construct(PyObject *, tw_construct_call)
    Py_ssize_t tw_positional_count(size_t)
    int tw_bind_arguments(const tw_data_class *, PyObject **, PyObject *, PyObject **) except? -1
    PyObject *tw_object_of(const tw_data_class *, PyObject *, PyObject **)
    void tw_fill(PyObject *, const tw_attribute *, PyObject *)
    bint tw_fill_none(object, Py_ssize_t, object)
    void tw_settle(const tw_data_class *, PyObject *)
    object tw_attribute_of(PyObject *, const tw_attribute *)

cdef extern from "engine/same.h":
    int TW_EQUAL, TW_IDENTICAL
    ctypedef struct tw_comparing:
        int sameness
        PyTypeObject *cls
        const tw_data_class *c
    int tw_same(tw_comparing *, object, object) except -1
    int tw_same_structs(tw_comparing *, const tw_data_class *, object, object) except -1

cdef extern from "engine/shown.h":
    ctypedef struct tw_showing:
        tw_comparing t
        PyObject *strings
        PyObject *opening
        PyObject *closing
        PyObject *lonely
        PyObject *comma
        PyObject *itself
    int tw_show(tw_showing *, object) except -1

cdef str DATA_CLASS = "_data_class"
cdef str INIT = "__init__"
cdef str EQ = "__eq__"
cdef str REPR = "__repr__"
cdef object DATA_CLASS_LOCK = RLock()  # a reentrant lock, because defaults may be objects of other data classes


@final
@no_gc_clear
cdef class DataClass(Owner):
    """The slots of a data class, for access from C.

    `goes_by_slots`: whether C may read the slots directly. `copies`: whether C may also create objects. `hides`:
    whether Python must write the `repr`, because a field is sensitive or required.
    """

    cdef tw_data_class c
    cdef PyObject *cls
    cdef bint goes_by_slots, copies, hides, has_unions

    def __cinit__(self, cls):
        self.hides = any([row.sensitive or row.required for row in cls.FIELDS])
        self.has_unions = any([row.union for row in cls.FIELDS])
        self.cls = <PyObject *>cls
        try:
            self.learn(cls)
        except (NotNative, TypeError, AttributeError):
            self.goes_by_slots = False

    cdef int learn(self, object cls) except -1:
        check_class(cls)
        names = cls._attributes
        if set(names) != set(slot_names(cls)) or cls.__dictoffset__:
            raise NotNative(f"{cls.__name__} has attributes that aren't fields")
        cdef object fresh = cls._fresh()
        cdef dict rows = {row.name: row for row in cls.FIELDS}
        cdef set required = {row.name for row in cls.FIELDS if row.required}
        cdef tw_attribute *attributes = <tw_attribute *>self.memory(len(names) * sizeof(tw_attribute))
        cdef Py_ssize_t index
        for index, name in enumerate(names):
            value = getattr(fresh, name)
            parameter = value if name in required or name not in rows else parameter_default(rows[name])
            attributes[index].slot = checked_slot(cls, name)
            attributes[index].name = self.keep(name)
            attributes[index].shown = self.keep(f"{name}=")
            attributes[index].fresh = self.keep(value)
            attributes[index].parameter = self.keep(parameter)
            attributes[index].deleted = <PyObject *>DELETED
            attributes[index].takes = takes(rows.get(name), parameter)
            attributes[index].required = name in required
        self.keep(fresh)
        self.c.factory = class_of(cls)
        self.c.count = len(names)
        self.c.asks = bool(required)
        self.c.atomic = UNTRACKS and self.c.factory.slots_size and all([row.type.lstrip("[]") in WIRE_TYPES for row in cls.FIELDS])
        self.c.attributes = attributes
        self.c.opening = self.keep(f"{cls.__name__}(")
        self.goes_by_slots = True
        self.copies = cls.__new__ is object.__new__ and len(names) <= TW_MOST_ATTRIBUTES
        return 0

    cdef bint stand_for(self, object cls, object init) except -1:
        cdef bint is_first = self.c.init == NULL
        if not TW_CONSTRUCTS or not self.copies or type(cls) is not type:
            return False
        if self.has_unions:
            return False  # Python must check that at most one alternative of a union is set
        self.c.init = self.keep(init)
        tw_set_construct(<PyObject *>cls, construct)
        return is_first


cdef int takes(object row, object parameter) except -1:
    """Return a tw_takes: how the constructor converts an argument.

    `row` is the field's entry in `FIELDS`, or None for `unknown_tags`.
    """
    if row is None:
        return TW_TAKES_ANY
    if parameter is DEFAULT_STRUCT:
        return TW_TAKES_STRUCT
    if parameter is DEFAULT_UUID:
        return TW_TAKES_UUID
    if row.type.startswith("[]"):
        return TW_TAKES_ARRAY_OR_NULL if row.nullable or parameter is None else TW_TAKES_ARRAY
    return TW_TAKES_ANY


cdef DataClass data_class(PyTypeObject *cls):
    """Return the `DataClass` of a subclass of `Struct`. It is created on first use."""
    cdef object found = tw_class_attribute(cls, <PyObject *>DATA_CLASS)
    if Py_TYPE(found) == DATA_CLASS_TYPE and (<DataClass>found).cls == <PyObject *>cls:
        return <DataClass>found
    owner = <object><PyObject *>cls
    with DATA_CLASS_LOCK:
        kept = vars(owner).get(DATA_CLASS)
        if kept is None:
            kept = DataClass(owner)
            found_meanwhile = vars(owner).get(DATA_CLASS)  # DataClass(owner) may call this function
            if found_meanwhile is not None:
                return <DataClass>found_meanwhile
            type.__setattr__(owner, DATA_CLASS, kept)
    return <DataClass>kept


cdef public const tw_data_class *data_class_of "tw_data_class_of"(PyTypeObject *cls) except? NULL:
    """Return the class description that C uses to compare objects, or NULL if Python must compare them."""
    cdef DataClass found
    if tw_class_attribute(cls, <PyObject *>EQ) is not NATIVE_EQ:
        return NULL
    found = data_class(cls)
    return &found.c if found.goes_by_slots else NULL


cdef public const tw_data_class *shown_class_of "tw_shown_class_of"(PyTypeObject *cls) except? NULL:
    """Return the class description that C uses to write an object's `repr`, or NULL if Python must write it."""
    cdef DataClass found
    if tw_class_attribute(cls, <PyObject *>REPR) is not NATIVE_REPR:
        return NULL
    found = data_class(cls)
    return &found.c if found.goes_by_slots and not found.hides else NULL


cdef public int same_odd_arrays "tw_same_odd_arrays"(object one, object other) except -1:
    """Compare arrays in Python, because subclasses of tuple or list may override `__iter__` or `__len__`."""
    return bool(same(one, other))


cdef PyObject *construct(PyObject *cls, PyObject **args, size_t flags, PyObject *names) noexcept:
    cdef object found = tw_class_attribute(<PyTypeObject *>cls, <PyObject *>DATA_CLASS)
    cdef object init = tw_class_attribute(<PyTypeObject *>cls, <PyObject *>INIT)
    cdef const tw_data_class *c = NULL
    if Py_TYPE(found) == DATA_CLASS_TYPE and (<DataClass>found).cls == cls:
        c = &(<DataClass>found).c
    return tw_construct(c, <PyObject *>init, cls, args, flags, names)


def construct_natively(cls, init):
    """Let C construct the objects of a generated class, as long as the class's `__init__` is `init`.

    Return whether C now constructs them.
    """
    with DATA_CLASS_LOCK:
        return data_class(<PyTypeObject *><PyObject *>cls).stand_for(cls, init)


cdef object eq(object struct, object other):
    if type(struct) is not type(other):
        return NotImplemented
    cdef tw_comparing t
    cdef DataClass c = data_class(Py_TYPE(struct))
    if not c.goes_by_slots:
        return PYTHON_CALLS["__eq__"](struct, other)
    t.sameness = TW_EQUAL
    t.cls = Py_TYPE(struct)
    t.c = &c.c if data_class_of(t.cls) != NULL else NULL
    return bool(tw_same_structs(&t, &c.c, struct, other))


def is_identical(struct, other):
    """Return whether two structs have equal values of the same types. A memoryview is treated as bytes."""
    cdef tw_comparing t
    t.sameness = TW_IDENTICAL
    t.cls = NULL
    t.c = NULL
    return bool(tw_same(&t, struct, other))


cdef object represent(object struct, object nothing):
    if shown_class_of(Py_TYPE(struct)) == NULL:
        return PYTHON_CALLS["__repr__"](struct)
    cdef tw_showing s
    cdef list strings = []
    s.t.sameness = TW_EQUAL
    s.t.cls = NULL
    s.t.c = NULL
    s.strings = <PyObject *>strings
    s.opening, s.closing = <PyObject *>OPENING, <PyObject *>CLOSING
    s.lonely, s.comma, s.itself = <PyObject *>LONELY, <PyObject *>COMMA, <PyObject *>ITSELF
    tw_show(&s, struct)
    return "".join(strings)


cdef object replace(object struct, PyObject **args, Py_ssize_t count, PyObject *names):
    cdef DataClass c = data_class(Py_TYPE(struct))
    cdef PyObject *bound[128]
    if count or not c.copies or (names != NULL and c.has_unions) or tw_bind_arguments(&c.c, args, names, bound) < 0:
        return call_in_python(PYTHON_CALLS["replace"], struct, args, count, names)
    return taken(tw_object_of(&c.c, <PyObject *>struct, bound))


cdef object deep_copy(object struct, object memo):
    return deep_struct(struct, memo, 0)


cdef object deep_struct(object struct, object memo, int depth):
    cdef DataClass c = data_class(Py_TYPE(struct))
    cdef Py_ssize_t index
    if not c.copies:
        return PYTHON_CALLS["__deepcopy__"](struct, memo)
    copy = taken(tw_new_object(&c.c.factory, True))
    memo[id(struct)] = copy  # stored before copying the values, because a struct may contain itself
    memo.setdefault(id(memo), []).append(struct)  # keep `struct` alive, as `deepcopy` does, so that its id isn't reused
    try:
        for index in range(c.c.count):
            value = deep_value(tw_attribute_of(<PyObject *>struct, &c.c.attributes[index]), memo, depth)
            tw_fill(<PyObject *>copy, &c.c.attributes[index], <PyObject *>value)
    finally:
        tw_settle(&c.c, <PyObject *>copy)
    return copy


cdef object deep_value(object value, object memo, int depth):
    if is_atomic(value):
        return value
    cdef bint is_array = type(value) is tuple
    if not is_array and tw_class_attribute(Py_TYPE(value), <PyObject *>DEEP_COPY) is not NATIVE_DEEP_COPY:
        return deepcopy(owned(value), memo)
    found = memo.get(id(value))
    if found is not None:
        return found
    if depth >= 2 * DEEPEST:  # stop before Python's recursion limit, because the C stack may be small
        raise RecursionError("maximum recursion depth exceeded while copying a struct")
    return deep_array(value, memo, depth + 1) if is_array else deep_struct(value, memo, depth + 1)


cdef object deep_array(tuple array, object memo, int depth):
    for element in array:
        if not is_atomic(element):
            break
    else:
        return array
    copied = tuple([deep_value(element, memo, depth) for element in array])
    # If the array contains itself, `memo` already has a copy.
    found = memo.get(id(array))
    if found is None:
        found = memo[id(array)] = copied
        memo.setdefault(id(memo), []).append(array)
    return found


cdef inline bint is_atomic(object value):
    """Return whether a value is immutable, so that a copy can share it."""
    cls = type(value)
    return cls is int or cls is str or cls is bytes or value is None or cls is bool or cls is float or value is NO_TAGS


cdef object reduce(object message, object nothing):
    """Pickle a message in encoded form if decoding restores an identical message; otherwise as Python objects."""
    cls = type(message)
    version = cls.VERSIONS.highest
    try:
        data = message.encode(version)
        if is_identical(message, cls.decode(data, version)):
            return decoded, (cls, version, data)
    except (TagwireError, RecursionError):
        pass
    return PYTHON_CALLS["__reduce__"](message)


cdef object python_method(str name):
    found = vars(Struct)[name]
    return getattr(found, "call", found)


cdef str OPENING = "(", CLOSING = ")", LONELY = ",)", COMMA = ", ", ITSELF = "(...)", DEEP_COPY = "__deepcopy__"
cdef PyTypeObject *DATA_CLASS_TYPE = <PyTypeObject *><PyObject *>DataClass
define(
    "__eq__", <void *>eq, METH_O,
    b"__eq__($self, other, /)\n--\n\nReturn whether both structs have the same class and equal fields.",
)
define(
    "__repr__", <void *>represent, METH_NOARGS,
    b"__repr__($self, /)\n--\n\nReturn the call that creates this struct, without arguments that equal their defaults.",
)
define(
    "replace", <void *>replace, METH_FASTCALL | METH_KEYWORDS,
    b"replace($self, /, **changes)\n--\n\n"
    b"Return a copy with these fields changed; nested structs are shared. Raises TypeError for an unknown field.",
)
define(
    "__deepcopy__", <void *>deep_copy, METH_O,
    b"__deepcopy__($self, memo, /)\n--\n\nReturn a copy that shares no mutable object with this struct.",
)
define(
    "__reduce__", <void *>reduce, METH_NOARGS,
    b"__reduce__($self, /)\n--\n\nReturn the state to pickle: the encoded bytes, or the fields that differ from defaults.",
)

PYTHON_CALLS.update({name: python_method(name) for name in ("__eq__", "__repr__", "replace", "__deepcopy__", "__reduce__")})
cdef object NATIVE_EQ = descriptor(Struct, "__eq__")
cdef object NATIVE_REPR = descriptor(Struct, "__repr__")
cdef object NATIVE_DEEP_COPY = descriptor(Struct, "__deepcopy__")
cdef dict NATIVE = {"__eq__": NATIVE_EQ, "__repr__": NATIVE_REPR, "__deepcopy__": NATIVE_DEEP_COPY}


def method(owner, name, call):
    """Return the native method that replaces `call`, the Python method `name` of the class `owner`."""
    PYTHON_CALLS[name] = call
    if name == "append":
        learn_builder(owner)
    elif name == "__iter__":
        return iteration_method(owner)
    return NATIVE.get(name) or descriptor(owner, "replace" if name == "__replace__" else name)
