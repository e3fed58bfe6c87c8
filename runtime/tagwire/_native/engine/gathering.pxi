"""Encode the records of a batch builder as they are appended, without creating an object for each record.

The base offset and base timestamp must be known when the first record is appended. C accepts only values that decoding
would return unchanged, so that record objects can still be created later. For other values, the builder continues in
Python.
"""

cdef enum:
    GIVEN = 7  # number of parameters of a builder's `append` method
    RESERVED = 61  # bytes left free before the records, for the header of a magic 2 batch

cdef tuple GIVEN_NAMES = ("key", "value", "timestamp", "headers", "offset", "tombstone", "attributes")


@final
@no_gc
@freelist(4)
cdef class Gathering:
    """Encodes a new batch's records, relative to the base values in `inputs`."""

    cdef Elements plan
    cdef object model  # a reused record object, whose slots contain borrowed references during a write
    cdef tw_writer w
    cdef uint8_t stack[STACK]
    cdef int64_t known[TW_REGISTERS]
    cdef int64_t highest[TW_REGISTERS]
    cdef Py_ssize_t count
    cdef int64_t last_offset, first_offset, first_timestamp
    cdef bytes done  # the result of `finished`, or None if a record was added after the last call
    cdef bint is_usable  # False before `start`, and if there was no memory for the records

    def __init__(self, Elements plan not None, tuple inputs not None):
        self.start(plan)
        plan.fill(self.known, inputs)

    cdef int start(self, Elements plan) except -1:
        """Prepare for records. The caller must also set `known`."""
        cdef int register
        self.plan, self.last_offset, self.is_usable = plan, -1, True
        self.restart()
        self.w.p += RESERVED
        if not TW_FREE_THREADED:
            self.model, plan.spare = plan.spare, None
        if self.model is None:
            self.model = taken(tw_new_object(&plan.element.factory, True))
            plan.learn_slots()
        for register in range(TW_REGISTERS):
            self.highest[register] = INT64_MIN
        return 0

    def __dealloc__(self):
        tw_discard(&self.w)
        if not TW_FREE_THREADED and self.plan is not None:
            self.plan.spare = self.model

    @property
    def inputs(self):
        """The numbers that the records are encoded relative to, such as the base offset."""
        count = len(self.plan.inputs) if self.is_usable else 0
        return tuple([self.known[self.plan.input_registers[index]] for index in range(count)])

    def take(self, element):
        """Write a record object. Return False and write nothing if C can't encode it."""
        cdef PyObject *given[GIVEN]
        cdef PyObject *held[GIVEN]
        cdef Py_ssize_t index
        cdef bint is_complete = self.is_usable and type(element) is type(self.model)
        if not is_complete:
            return False
        for index in range(GIVEN):
            given[index] = held[index] = tw_slot(<PyObject *>element, self.plan.given_slots[index])
            is_complete = is_complete and given[index] != NULL
        try:
            return is_complete and self.add(given)
        finally:
            for index in range(GIVEN):
                tw_release(&held[index])

    def __len__(self):
        return self.count

    @property
    def first(self):
        """The first record's offset and timestamp. Undefined if there are no records."""
        return self.first_offset, self.first_timestamp

    @property
    @critical_section
    def size(self):
        """The number of bytes written so far, including the bytes reserved for the batch header."""
        return self.w.p - self.w.start if self.done is None else len(self.done)

    @critical_section
    def written(self):
        """Return the encoded records and the tuple `highest`, which `Elements.write` describes."""
        data = self.finished()[RESERVED:]
        return data, tuple([self.highest[self.plan.input_registers[index]] for index in range(len(self.plan.inputs))])

    cdef bytes finished(self):
        """Return all bytes, including the bytes reserved for the batch header, and empty the writer.

        The caller must be in a critical section of this object.
        """
        cdef PyObject *bytes
        if not self.is_usable:
            raise MemoryError
        if self.done is None:
            self.plan.last_size = (self.w.p - self.w.start) + SLACK
            bytes = tw_finish(&self.w)
            self.restart()
            self.is_usable = bytes != NULL
            self.done = taken(bytes)
        return self.done

    cdef int restart(self) except -1:
        start_writing(&self.w, self.stack)
        self.w.expected = self.plan.last_size
        self.w.known, self.w.highest = self.known, self.highest
        return 0

    cdef int go_on(self) except -1:
        """Copy the finished bytes back to the writer, so that more records can be appended."""
        if tw_put(&self.w, TW_BYTES_DATA(<PyObject *>self.done), TW_BYTES_SIZE(<PyObject *>self.done)) < 0:
            reraise()
        self.done = None
        return 0

    cdef bint add(self, PyObject **given) except -1:
        """Write a record from the arguments of `append`, in GIVEN_NAMES order. Return False if Python must write it."""
        cdef int64_t offset
        cdef object headers
        if not (is_block(given[0]) and is_block(given[1]) and PyLong_CheckExact(given[2])):
            return False
        if given[5] != NONE or not PyLong_CheckExact(given[6]):
            return False
        if PyList_CheckExact(given[3]) and PyList_Size(given[3]) == 0:
            given[3] = SHARED.empty_tuple  # fast path for no headers
        if given[3] != SHARED.empty_tuple:
            headers = plain_pairs(<object>given[3])
            if headers is None:
                return False
            given[3] = <PyObject *>headers
        if given[4] != NONE:
            if not tw_exact_int(<object>given[4], &offset):
                return False
        else:
            given[4], offset = NULL, 0
        with critical_section(self):
            return self.write(given, offset)

    cdef inline bint write(self, PyObject **given, int64_t offset) except -1:
        cdef Py_ssize_t used, index
        cdef char *model = <char *><PyObject *>self.model
        cdef int failed
        if not self.is_usable or (given[4] == NULL and self.last_offset == INT64_MAX):
            return False
        if given[4] == NULL:
            offset = self.last_offset + 1
        if self.done is not None:
            self.go_on()
        used = self.w.p - self.w.start
        self.w.implied, self.w.implied_slot = offset, self.plan.given_slots[4]  # avoids creating an int object
        for index in range(GIVEN):
            (<PyObject **>(model + self.plan.given_slots[index]))[0] = given[index]
        failed = tw_write_framed(self.plan.element, <PyObject *>model, &self.w)
        for index in range(GIVEN):
            (<PyObject **>(model + self.plan.given_slots[index]))[0] = NULL
        if failed < 0:
            self.is_usable = self.w.bytes != NULL or self.w.block != NULL or self.w.start == self.stack
            if self.is_usable:
                self.w.p = self.w.start + used
            rejected_value()
            return False
        if self.count == 0:
            self.first_offset = offset
            self.first_timestamp = <object>given[2]
        self.count += 1
        self.last_offset = offset
        return True


cdef inline bint is_block(PyObject *value):
    return value == NONE or PyBytes_CheckExact(value)


cdef object plain_pairs(object headers):
    """Return record headers as a tuple, or None if a header has types that decoding never returns, such as a list."""
    if type(headers) is list:
        headers = tuple(<list>headers) if len(<list>headers) else NO_HEADERS
    elif type(headers) is not tuple:
        return None
    for pair in <tuple>headers:
        if type(pair) is not tuple or len(<tuple>pair) != 2:
            return None
        key, value = pair
        if not (type(key) is str or type(key) is int) or not is_block(<PyObject *>value):
            return None
    return headers


cdef enum:
    # Indexes into two arrays: BUILDER_NAMES (the attribute names of a batch builder) and BUILDER (their slots).
    GATHERED, QUICK, RECORDS, BASE_OFFSET, LAST_OFFSET, FIRST_NUMBER
    FIRST_FLAG = 9
    FIRST_USUAL = 11
    BASE_TIME = 11
    HORIZON = 12
    SETTINGS = 18

cdef tuple BUILDER_NAMES = (
    "_gathering", "_quick", "_records", "base_offset", "last_offset",
    "partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence", "is_transactional", "is_control",
    "base_timestamp", "delete_horizon_ms", "max_timestamp", "ignore_message_attributes",
    "compression", "timestamp_type", "append_time",
)
cdef tuple USUAL = (None, None, None, None, "none", "create", -1)
cdef Py_ssize_t BUILDER[SETTINGS]  # the slot of each attribute in BUILDER_NAMES, valid if KNOWS_BUILDER is true
cdef bint KNOWS_BUILDER = False

define(
    "append", <void *>append, METH_FASTCALL | METH_KEYWORDS,
    b"append($self, key=None, value=None, *, timestamp=-1, headers=(), offset=None, tombstone=None, attributes=0)\n--\n\n"
    b"Add a record. Without an offset, the record gets the offset after the last record's.",
)
cdef PyObject *NONE = <PyObject *>None
cdef object NO_TIME = -1, NO_ATTRIBUTES = 0
cdef tuple NO_HEADERS = ()


cdef int learn_builder(object cls) except -1:
    """Find the slots of a builder's attributes. Raises NotNative if the class doesn't have a required slot."""
    global KNOWS_BUILDER
    find_slots(cls, BUILDER_NAMES, BUILDER)
    KNOWS_BUILDER = True
    with DATA_CLASS_LOCK:
        NEW_BUILDER.learn(cls)
    return 0


cdef object append(object builder, PyObject **args, Py_ssize_t count, PyObject *names):
    cdef PyObject *given[GIVEN]
    cdef object found = setting(builder, GATHERED)
    given[0] = given[1] = given[4] = given[5] = NONE
    given[2], given[3], given[6] = <PyObject *>NO_TIME, <PyObject *>NO_HEADERS, <PyObject *>NO_ATTRIBUTES
    if sort_arguments(GIVEN_NAMES, 2, args, count, names, given):
        if found is None:
            if begin_natively(builder, given):
                return builder
        elif type(found) is Gathering and (<Gathering>found).add(given):
            return builder
    return call_in_python(PYTHON_CALLS["append"], builder, args, count, names)


cdef bint begin_natively(object builder, PyObject **given) except -1:
    cdef int64_t offset, timestamp
    cdef Gathering gathering
    quick, base, time = setting(builder, QUICK), setting(builder, BASE_OFFSET), setting(builder, BASE_TIME)
    if type(quick) is not Magic2 or setting(builder, RECORDS) is not None:
        return False
    if base is None:
        base = 0 if given[4] == NONE else <object>given[4]
    if time is None:
        time = <object>given[2] if setting(builder, HORIZON) is None else setting(builder, HORIZON)
    if not tw_exact_int(base, &offset) or not tw_exact_int(time, &timestamp) or offset == INT64_MIN:
        return False
    gathering = (<Magic2>quick).gathering(offset, timestamp)
    gathering.last_offset = offset - 1
    if not gathering.add(given):
        return False
    return tw_fill_none(builder, BUILDER[GATHERED], gathering)


cdef enum:
    MOST_PARAMETERS = 40


@final
cdef class BuilderConstructor:
    """Constructs builders faster than Python's `__init__`.

    For each format, Python constructs a template: a builder with default settings. A new builder is a copy of the
    template in which the arguments are stored.
    """

    cdef tw_class made
    cdef object cls, init, usual_format
    cdef tuple parameters  # the names of the constructor's parameters; the first is the format
    cdef Py_ssize_t slots[MOST_PARAMETERS]  # all slots of a builder; those of the parameters come first
    cdef Py_ssize_t count
    cdef dict templates  # the template for each format, by format name

    cdef int learn(self, object cls) except -1:
        if self.cls is not None:
            self.templates.clear()  # a test may have switched the engine since these templates were made
            return 0
        init = vars(cls)["__init__"]
        parameters = ("format", *init.__kwdefaults__)
        names = (*parameters, *[name for name in cls.__slots__ if name not in parameters and name != "__weakref__"])
        if not TW_CONSTRUCTS or len(names) > MOST_PARAMETERS:
            return 0
        check_class(cls)
        find_slots(cls, names, self.slots)
        self.cls, self.init, self.usual_format = cls, init, init.__defaults__[0]
        self.made, self.parameters, self.count, self.templates = class_of(cls), parameters, len(names), {}
        tw_set_construct(<PyObject *>cls, <tw_construct_call><void *>construct_builder)
        return 0

    cdef object template(self, object format):
        found = self.templates.get(format)
        if found is None:
            found = self.cls.__new__(self.cls)
            self.init(found, format)
            self.templates[format] = found
        return found


cdef BuilderConstructor NEW_BUILDER = BuilderConstructor()


cdef object construct_builder(object cls, PyObject **args, size_t flags, PyObject *names):
    cdef BuilderConstructor c = NEW_BUILDER
    cdef PyObject *given[MOST_PARAMETERS]
    cdef PyObject *value
    cdef object init = tw_class_attribute(<PyTypeObject *><PyObject *>cls, <PyObject *>INIT)
    cdef Py_ssize_t index
    for index in range(c.count):
        given[index] = NULL
    given[0] = <PyObject *>c.usual_format
    if (
        cls is not c.cls or init is not c.init
        or not sort_arguments(c.parameters, 1, args, tw_positional_count(flags), names, given)
        or type(<object>given[0]) is not str
    ):
        return taken(tw_construct(NULL, <PyObject *>init, <PyObject *>cls, args, flags, names))
    template = c.template(<object>given[0])
    given[0] = NULL  # copy the template's `Format` object instead of storing the name
    made = taken(tw_new_object(&c.made, False))
    for index in range(c.count):
        value = given[index] if given[index] != NULL else TW_SLOT(<PyObject *>template, c.slots[index])
        fill_slot(made, c.slots[index], value)
    return made
