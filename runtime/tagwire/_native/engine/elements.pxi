"""Read and write the records of a batch, separately from the batch header.

A record's encoded offset is relative to the batch's base offset. So callers pass the base offset, and similar numbers
from the batch header, as `inputs`.
"""


@final
@no_gc_clear
cdef class Elements:
    """Reads and writes array elements, such as the records of a batch. Raises NotNative if C can't handle them.

    `layout` describes the fields of an element. Each other argument is a dict from names of number fields. Its values
    describe how the encoded number is related to attributes:
    `bases`: a tuple (base, factor) with the names of two `inputs`. The attribute is base + factor * number. A factor of
    "" stands for 1.
    `hidden`: a mask of the number's bits that the attribute doesn't contain.
    `flags`: a tuple (name, mask). The bool attribute `name` contains the number's bit `mask`.
    `follows`: a sequence of tuples (mask, how, attribute, flag). Encoding computes the number's bit `mask` from the
    values of `attribute` and of the bool attribute `flag`. `how` is "empty", "given" or "flagged" (see tw_follows in
    framing.h).
    """

    cdef const tw_struct *element
    cdef list kept
    cdef object source
    cdef readonly tuple inputs
    """The names of the numbers that callers must pass as `inputs`."""
    cdef readonly object depth
    cdef int input_registers[TW_REGISTERS]
    cdef Py_ssize_t given_slots[7]  # the slots of the attributes in GIVEN_NAMES
    cdef bint knows_slots
    cdef Py_ssize_t last_size
    cdef object spare  # the `model` of a deleted `Gathering`: reusing it is faster than creating one

    def __cinit__(self, layout, *, bases, hidden, flags, follows):
        cdef FramedBuilder builder = FramedBuilder()
        cdef Py_ssize_t index
        builder.framed = True
        struct = layout.root
        if struct.depth >= DEEPEST or struct.cls is None or struct.cls is tuple:
            raise NotNative(f"the engine can't read records of {layout}")
        self.source = layout
        self.element = builder.struct(struct)
        for index, item in enumerate(struct.items):
            see(builder, struct.cls, &self.element.items[index], item.name, bases, hidden, flags, follows)
        tw_choose_fast_paths(self.element)
        self.inputs = tuple(builder.inputs)
        for index, name in enumerate(self.inputs):
            self.input_registers[index] = builder.inputs[name]
        self.kept = builder.kept
        self.depth = struct.depth

    cdef int learn_slots(self) except -1:
        cdef Py_ssize_t index
        if not self.knows_slots:
            for index, name in enumerate(GIVEN_NAMES):
                self.given_slots[index] = slot_of(<object>self.element.factory.cls, name)
            self.knows_slots = True
        return 0

    def layout(self):
        return self.source

    @property
    def structure(self):
        """The C plan as a capsule for `tagwire._columns`. Valid as long as this object exists."""
        return PyCapsule_New(<void *>self.element, STRUCTURE, NULL)

    @property
    def registers(self):
        """A dict from the name of each input to its register (framing.h)."""
        return {name: self.input_registers[index] for index, name in enumerate(self.inputs)}

    cdef int fill(self, int64_t *known, object inputs) except -1:
        cdef Py_ssize_t index
        start_registers(known)
        for index in range(len(self.inputs)):
            known[self.input_registers[index]] = inputs[index]
        return 0

    def read(self, data, Py_ssize_t pos, Py_ssize_t end, count, inputs, limits, rest, views=None):
        """Return an iterator over `count` elements (None means all) in the bytes from `pos` to `end`.

        Returns None if C can't apply the limits, or if a number in `inputs` needs more than 64 bits. `views` is a
        memoryview of `data` (bytes fields become slices of it), or None to copy bytes fields.

        If C rejects an element, it calls `rest(index, pos, elements, good)`, which returns an iterator that reads the
        element with the layout interpreter and raises the error. `index` and `pos` are the index and position of the
        rejected element. `elements` is the number of array elements counted towards the limit so far. `good` describes
        the array elements that C found valid, in the form of `LayoutReader.good`.
        """
        cdef Reading reading
        cdef const uint8_t *start
        if TW_FREE_THREADED and type(data) is bytearray:
            data = bytes(data)  # another thread may write into a bytearray while it is read
        if not 0 <= pos <= end <= len(data):
            raise ValueError(f"invalid range: bytes {pos} to {end} of an input of {len(data)} bytes")
        start = TW_BYTES_DATA(<PyObject *>data) if type(data) is bytes else <uint8_t *>PyByteArray_AsString(data)
        held = data if type(data) is bytes else memoryview(data)  # prevents resizing a bytearray
        reading = self.reading(held, start, start + pos, start + end, rest, limits, at_most(limits.elements))
        reading.views = views
        reading.r.views = NULL if views is None else <PyObject *>views
        reading.left = -1 if count is None else count
        reading.r.elements -= count or 0
        try:
            self.fill(reading.known, inputs)
        except OverflowError:
            return None
        if limits.depth is not None and self.depth + 1 > limits.depth:
            return None
        return reading if reading.r.elements >= 0 else None

    cdef inline Reading reading(
        self, object data, const uint8_t *start, const uint8_t *p, const uint8_t *end, object rest, object limits, int64_t most
    ):
        """Return an iterator over elements from `p` to `end` in `data`, which begins at `start`.

        The caller must also set `known`, `left` and, if there are `left` elements, subtract them from `r.elements`.
        """
        cdef Reading reading = Reading.__new__(Reading)
        reading.plan, reading.data, reading.rest, reading.limits, reading.most = self, data, rest, limits, most
        reading.r.start, reading.r.p, reading.r.end = start, p, end
        reading.r.views = NULL
        reading.r.shared = &SHARED
        reading.r.limits = <PyObject *>limits
        reading.r.elements = most
        start_noting(reading.r)
        return reading

    def write(self, list elements, inputs):
        """Encode the elements. Return (data, highest, is_unsure).

        `highest` has the highest attribute value that is encoded relative to each input. For the base offset, this is
        the highest offset of all records. If C rejects an element, `data` is None, and `is_unsure` is true if the
        layout interpreter may still accept it.
        """
        cdef tw_writer w
        cdef uint8_t stack[STACK]
        cdef int64_t known[TW_REGISTERS]
        cdef int64_t highest[TW_REGISTERS]
        cdef int register
        self.fill(known, inputs)
        for register in range(TW_REGISTERS):
            highest[register] = INT64_MIN
        start_writing(&w, stack)
        w.expected = self.last_size
        w.known, w.highest = known, highest
        if self.write_all(tuple(elements), &w) < 0:
            tw_discard(&w)
            rejected_value()
            return None, (), bool(w.unsure)
        self.last_size = (w.p - w.start) + SLACK
        data = taken(tw_finish(&w))
        return data, tuple([highest[self.input_registers[index]] for index in range(len(self.inputs))]), False

    cdef int write_all(self, tuple elements, tw_writer *w) noexcept:
        for element in elements:
            if Py_TYPE(element) != self.element.factory.cls:
                w.unsure = True
                return -1
            if tw_write_framed(self.element, <PyObject *>element, w) < 0:
                return -1
        return 0


cdef int see(
    FramedBuilder builder, object cls, const tw_field *field, str name, object bases, object hidden, object flags, object follows
) except -1:
    cdef tw_framing *framing = <tw_framing *>field.framing
    cdef tw_follow *bits
    cdef Py_ssize_t index
    if not framing.is_number:
        if name in bases or name in hidden or name in flags or name in follows:
            raise NotNative(f"the engine requires {name} to be a number that fits in 64 bits")
        return 0
    if name in bases:
        base, scale = bases[name]
        framing.base = builder.register_of(base)
        framing.scale = builder.register_of(scale) if scale else ONE
    framing.hidden = hidden.get(name, 0)
    if name in flags:
        if framing.is_guarded:
            raise NotNative(f"the engine does not support flags in {name}, because this field can be absent")
        attribute, framing.flag_mask = flags[name]
        framing.flag_slot = builder.slot(cls, attribute)
    found = follows.get(name, ())
    bits = <tw_follow *>builder.memory(len(found) * sizeof(tw_follow))
    for index, (mask, how, attribute, flag) in enumerate(found):
        bits[index].mask = mask
        bits[index].how = FOLLOWS[how]
        bits[index].slot = builder.slot(cls, attribute)
        bits[index].flag = builder.slot(cls, flag) if flag else 0
    framing.follows, framing.follows_count = bits, len(found)
    framing.is_usual = framing.is_usual and not found and not framing.flag_mask and not framing.hidden
    return 0


cdef dict FOLLOWS = {"empty": TW_IF_EMPTY, "given": TW_IF_GIVEN, "flagged": TW_IF_FLAGGED}

cdef struct tw_reading:
    tw_reader r
    int64_t known[TW_REGISTERS]

cdef tw_reading *SPARE = NULL  # memory of a deleted `Reading`: reusing it is faster than clearing new memory


@final
@no_gc_clear
@freelist(4)
cdef class Reading:
    """An iterator that reads each element when it is requested.

    To save time, each call reuses the object returned two calls earlier, if nothing else refers to that object.
    """

    cdef Elements plan
    cdef object data, views, limits, rest, others
    cdef object last, last_but_one
    cdef tw_reader *r
    cdef int64_t *known
    cdef int64_t left, index, most
    cdef bint busy
    cdef int claimed  # in free-threaded builds: whether a thread is in `__next__`

    def __cinit__(self):
        global SPARE
        cdef tw_reading *memory = SPARE
        SPARE = NULL
        if memory == NULL:
            memory = <tw_reading *>PyMem_Calloc(1, sizeof(tw_reading))
            if memory == NULL:
                raise MemoryError
            memory.r.known = memory.known
            memory.known[ONE] = 1
        self.r, self.known = &memory.r, memory.known

    def __dealloc__(self):
        global SPARE
        if self.r == NULL:
            return
        Py_XDECREF(self.r.numbers_tuple)
        self.r.numbers_tuple = NULL
        if TW_FREE_THREADED or SPARE != NULL:
            PyMem_Free(self.r)
        else:
            SPARE = <tw_reading *>self.r

    def __iter__(self):
        return self

    def __next__(self):
        cdef PyObject *value
        cdef const uint8_t *start
        cdef int64_t elements
        if not tw_claim(&self.claimed) or self.busy:
            raise ValueError("these records are being read by another thread")
        start, elements = self.r.p, self.r.elements
        if self.others is not None:
            tw_leave(&self.claimed)
            return next(self.others)
        if self.left == 0 or (self.left < 0 and self.r.p == self.r.end):
            if self.r.p == self.r.end:
                tw_leave(&self.claimed)
                self.last = self.last_but_one = None
                raise StopIteration
            return self.rejected(start, elements)
        if self.left < 0:
            self.r.elements -= 1
        self.busy = True
        value = NULL if self.r.elements < 0 else self.read()
        self.busy = False
        if value == NULL:
            return self.rejected(start, elements)
        if self.left > 0:
            self.left -= 1
        self.index += 1
        tw_leave(&self.claimed)
        if TW_FREE_THREADED:
            return taken(value)  # the object is not reused, because another thread may get a reference to it
        self.last_but_one = self.last
        self.last = taken(value)
        return self.last

    cdef inline PyObject *read(self) noexcept:
        cdef PyObject *record = <PyObject *>self.last_but_one
        if self.last_but_one is None or Py_REFCNT(record) != 1 or Py_TYPE(<object>record) != self.plan.element.factory.cls:
            return tw_read_framed(self.plan.element, self.r)
        Py_INCREF(self.last_but_one)  # tw_read_again steals this reference
        self.last_but_one = None
        return tw_read_again(self.plan.element, self.r, record)

    cdef object rejected(self, const uint8_t *start, int64_t elements):
        """Let the layout interpreter continue at the rejected element and raise the error."""
        try:
            return self.by_layout(start, elements)
        finally:
            tw_leave(&self.claimed)

    cdef object by_layout(self, const uint8_t *start, int64_t elements):
        if PyErr_Occurred() != NULL:
            reraise()
        good = good_arrays(self.r, self.most)
        # `read` sets `rest` to a function, and `Magic2.records_of` sets it to a batch.
        rest = self.rest if callable(self.rest) else self.rest._by_layout
        self.others = iter(rest(self.index, start - self.r.start, self.most - elements, good))
        self.left = 0
        next(self.others, None)
        raise DisagreementError(self.plan.source, rejected=f"the bytes from offset {start - self.r.start}")
