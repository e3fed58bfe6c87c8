"""The native serializers, which `serializer(version)` of a message class returns.

The C code reports only success or failure. After a failure, the layout interpreter repeats the work and raises an error
with a position. If the interpreter succeeds, the engine has a bug, and DisagreementError is raised.
"""

cdef enum:
    STACK = 1024  # size of the output buffer on the C stack
    SLACK = 64  # bytes to allocate beyond the expected size, because C requests more room than it needs

cdef const char *STRUCTURE = "tagwire._engine.tw_struct"


@final
@no_gc_clear
cdef class Plan:
    """The serializer for one version of a message. It follows a plan created from the version's layout.

    Raises NotNative if C doesn't support the layout or the message's class.
    """

    cdef const tw_struct *root
    cdef list kept
    cdef object source
    cdef int64_t depth
    cdef readonly list span_types
    """The (name, type) pairs of all fields and array elements, indexed by field number (spans.h).

    The name of array elements is None.
    """
    cdef bint framed  # whether the layout is a record format (framing.pxi)
    cdef readonly bint has_rules
    """Whether only the layout interpreter can locate errors, because structs have unions or unique keys."""
    cdef Py_ssize_t last_size  # the size of the last message, which serves as a guess for the next message

    cdef readonly object MESSAGE
    cdef readonly object VERSION
    cdef object kinds

    def __cinit__(self, layout):
        cdef FramedBuilder builder = FramedBuilder()
        depth = layout.root.depth
        if depth > DEEPEST:
            raise NotNative(f"structs are nested {depth} levels deep; the engine supports at most {DEEPEST} levels")
        self.framed = builder.decide(layout.root)
        self.has_rules = layout.root.has_rules
        self.root = builder.struct(layout.root)
        self.kept = builder.kept
        self.span_types = builder.span_types
        self.source = layout
        self.depth = depth
        self.MESSAGE = layout.root.cls
        self.VERSION = layout.version

    def layout(self):
        return self.source

    @property
    def structure(self):
        """The C plan as a capsule for `tagwire._columns`. Valid as long as this object exists."""
        return PyCapsule_New(<void *>self.root, STRUCTURE, NULL)

    def __repr__(self):
        return f"<native serializer of {self.source}>"

    def decode(self, data, *, strict=True, views=False, limits=NO_LIMITS, gc=True):
        """Decode the message in `data`; see `Message.decode`."""
        return self.read(data, 0, NULL, strict, views, limits, gc)

    def decode_from(self, data, offset=0, *, strict=True, views=False, limits=NO_LIMITS, gc=True):
        """Decode the message at `offset`. Return the message and the offset after it; see `Message.decode_from`."""
        cdef Py_ssize_t end
        value = self.read(data, offset, &end, strict, views, limits, gc)
        return value, end

    def decode_trusted(self, bytes data, *, views=False):
        """Decode bytes that this engine has just written, without verifying checksums."""
        return self.read(data, 0, NULL, True, views, NO_LIMITS, True, True)

    cdef object read(
        self, object data, object offset, Py_ssize_t *end, object strict, object views, object limits, object gc,
        bint trusted=False,
    ):
        """Decode the message at `offset`. Store the end offset in `*end`. If `end` is NULL, no bytes may follow."""
        cdef tw_reader r
        cdef int64_t known[TW_REGISTERS]
        cdef int64_t depth = INT64_MAX
        cdef PyObject *value = NULL
        cdef object buf, raw = None
        cdef Py_ssize_t size
        cdef bint tried
        cdef bint walks = False
        cdef int was_enabled
        if views is not False and views:
            buf, raw = (data, memoryview(data)) if type(data) is bytes else bytes_and_view(data)
        else:
            buf = data if type(data) is bytes else as_bytes(data)
        size = TW_BYTES_SIZE(<PyObject *>buf)
        tried = type(offset) is int and 0 <= offset <= size
        if tried:
            r.start = TW_BYTES_DATA(<PyObject *>buf)
            r.p = r.start + <Py_ssize_t>offset
            r.end = r.start + size
            r.views = NULL if raw is None else <PyObject *>raw
            r.shared = &SHARED
            r.untracked = gc is not True and not gc
            r.elements = r.unknown_tags = r.unknown_tag_bytes = INT64_MAX
            if self.framed:
                start_reading(&r, known, limits)
                r.trusted = trusted
            tried = limits is NO_LIMITS or limit(&r, limits, &depth)
            walks = tried and strict and not self.framed and not self.has_rules
            if tried and depth < self.depth:  # tw_read_message does not check the depth limit, but find_error does
                tried = not self.framed and self.find_error(buf, offset, end == NULL, limits) is None
        if tried:
            was_enabled = tw_pause_gc()
            value = tw_read_message(self.root, &r)
            tw_resume_gc(was_enabled)
            if value != NULL and end == NULL and r.p != r.end:
                Py_DECREF(<object>value)
                value = NULL
            elif value == NULL and PyErr_Occurred() != NULL:
                reraise()
        if value == NULL:
            if walks:
                self.reject(buf, offset, end == NULL, limits)
            good = good_arrays(&r, at_most(limits.elements)) if tried and strict and self.framed else {}
            return self.read_by_layout(buf, buf if raw is None else raw, offset, end, strict, limits, tried, good)
        if end != NULL:
            end[0] = r.p - r.start
        return taken(value)

    cdef object read_by_layout(
        self, object buf, object raw, object offset, Py_ssize_t *end, object strict, object limits, bint tried, dict good
    ):
        """Decode bytes with the layout interpreter, but skip the array elements in `good`."""
        from tagwire.interpreter.reader import decode

        value, stop = decode(
            self.source, buf, raw=raw, offset=offset, whole=end == NULL, strict=strict, limits=limits, good=good
        )
        if tried and strict:
            raise DisagreementError(self.source, rejected=f"an input of {len(buf)} bytes, read from offset {offset}")
        if end != NULL:
            end[0] = stop
        return value

    cdef object find_error(self, object buf, Py_ssize_t offset, bint whole, object limits):
        """Return the `ErrorPosition` of the first error in the bytes, or None if they are valid."""
        return Walk(self, buf, offset, whole, limits).error_position

    cdef int reject(self, object buf, Py_ssize_t offset, bint whole, object limits) except -1:
        """Raise a DecodeError for bytes that decode.h rejected. Return 0 if walk.h can't find the error."""
        error_position = self.find_error(buf, offset, whole, limits)
        if error_position is not None:
            from tagwire.interpreter.error_positions import reject_bytes

            reject_bytes(self.source, buf, error_position, limits)
        return 0

    def walk(self, bytes data, Py_ssize_t offset, bint whole, limits, bytearray rows, int first_kind):
        """Append a span (spans.h) for each value of a message to `rows`.

        Return a `Walk`, or None if Python must read the message.
        """
        if self.framed or self.has_rules or not 0 <= offset <= len(data) or len(data) - offset > at_most(limits.bytes):
            return None
        return Walk(self, data, offset, whole, limits, rows, first_kind)

    @property
    def span_kinds(self):
        """The span kinds that `tagwire.explain.trace` has made from `span_types`, or None before the first trace."""
        return self.kinds

    @span_kinds.setter
    @critical_section
    def span_kinds(self, kinds):
        if self.kinds is None:  # set only once: another thread may be reading it
            self.kinds = kinds

    def encode(self, message):
        """Encode a message; see `Message.encode`."""
        return self.write(message, False)

    cdef object write(self, object message, bint counting):
        """Encode a message. If `counting` is true, return only the number of bytes."""
        cdef tw_writer w
        cdef uint8_t stack[STACK]
        cdef int64_t known[TW_REGISTERS]
        start_writing(&w, stack)
        if self.framed:
            start_registers(known)
            w.known = known
        w.counting = counting
        w.expected = 0 if counting else self.last_size
        if tw_write_object(self.root, <PyObject *>message, &w) == 0:
            if counting:
                tw_discard(&w)
                return tw_written(&w)
            self.last_size = (w.p - w.start) + SLACK
            return taken(tw_finish(&w))
        tw_discard(&w)
        rejected_value()
        from tagwire.interpreter.writer import encode, encoded_size

        result = encoded_size(self.source, message) if counting else encode(self.source, message)
        if w.unsure:
            return result
        raise DisagreementError(self.source, f"a {type(message).__name__}")

    cpdef object encoded_size(self, object message):
        """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
        cdef int64_t size = -1 if self.framed or self.has_rules else tw_measure_message(self.root, <PyObject *>message, &SHARED)
        if size >= 0:
            return size
        rejected_value()
        return self.write(message, True)


@final
cdef class Walk:
    """The result of reading through a message without creating objects (walk.h)."""

    cdef readonly Py_ssize_t end
    """The offset after the message; for an invalid message, the offset of the error."""
    cdef readonly bint has_known_tags
    """Whether the message contains tagged fields that are known in this version."""
    cdef readonly object error_position
    """The `ErrorPosition` of the error, for `reject_bytes`, or None if the bytes are valid."""
    cdef readonly list open
    """Indexes in `rows` of the spans that contain the error, outermost first."""

    def __cinit__(self, Plan plan, bytes data, Py_ssize_t offset, bint whole, limits, bytearray rows=None, int first_kind=0):
        cdef tw_walk w
        cdef list path = []
        self.open = []
        start_walk(&w, data, offset, limits)
        w.path = <PyObject *>path
        w.open = <PyObject *>self.open
        w.stage = TW_NO_ERROR
        w.c = NULL
        w.has_known_tags = False
        if rows is not None:
            tw_start_spans(&w.spans, <PyObject *>rows, first_kind, w.r.start)
        tw_walk_message(plan.root, &w, whole)
        if PyErr_Occurred() != NULL:
            reraise()
        tw_finish_spans(&w.spans)
        self.end = w.r.p - w.r.start
        self.has_known_tags = w.has_known_tags
        if w.stage != TW_NO_ERROR:
            path.reverse()
            self.open.reverse()
            counts = at_most(limits.elements) - w.r.elements, at_most(limits.unknown_tags) - w.r.unknown_tags
            tag_bytes = at_most(limits.unknown_tag_bytes) - w.r.unknown_tag_bytes
            self.error_position = w.stage, path, self.end, w.r.end - w.r.start, w.last, w.size, (*counts, tag_bytes)


cdef bint start_walk(tw_walk *w, bytes data, Py_ssize_t offset, object limits) except -1:
    """Let `w` begin at `offset`, without spans. Return False if the rest of the data exceeds `limits.bytes`."""
    w.r.start = TW_BYTES_DATA(<PyObject *>data)
    w.r.p = w.r.start + offset
    w.r.end = w.r.start + TW_BYTES_SIZE(<PyObject *>data)
    tw_start_spans(&w.spans, NULL, 0, w.r.start)
    return limit(&w.r, limits, &w.depth)


cdef inline void start_writing(tw_writer *w, uint8_t *stack) noexcept:
    w.start = w.p = stack
    w.end = stack + STACK
    w.bytes = NULL
    w.block = NULL
    w.counted = 0
    w.counting = False
    w.expected = 0
    w.implied_slot = -2  # no field has slot -2, so `implied` is not used
    w.shared = &SHARED
    w.grow = NULL
    w.known = w.highest = NULL
    w.gap = 1
    w.unsure = False


cdef inline void start_registers(int64_t *known) noexcept:
    """Set the register ONE to 1, and all other registers to 0."""
    cdef int register
    for register in range(TW_REGISTERS):
        known[register] = 0
    known[ONE] = 1


cdef inline void start_reading(tw_reader *r, int64_t *known, object limits) noexcept:
    start_registers(known)
    r.known = known
    r.limits = <PyObject *>limits
    r.is_decompressed = r.trusted = False
    start_noting(r)


cdef inline void start_noting(tw_reader *r) noexcept:
    """Clear the valid array elements (`good`) and the rejected struct (`rejected`)."""
    r.rejected = r.good[0].start = NULL
    r.good_count = 1


cdef dict good_arrays(const tw_reader *r, int64_t most):
    """Return a `tagwire.interpreter.cursor.Good`, which describes the array elements before the error."""
    cdef dict found = {}
    cdef tw_good good
    cdef int index
    for index in range(r.good_count):
        good = r.good[index]
        if good.start != NULL:
            found[good.start - r.start] = good.count, good.p - r.start, most - good.elements, good.last
    return found


cdef inline object taken(PyObject *value):
    """Take ownership of a new reference. If `value` is NULL, raise the pending exception."""
    if value == NULL:
        reraise()
    result = <object>value
    Py_DECREF(result)
    return result


cdef int reraise() except -1:
    return -1


cdef int rejected_value() except -1:
    """Clear the current exception if it means that a value is rejected (WRITE_ERRORS). Raise any other exception."""
    if PyErr_Occurred() == NULL:
        return 0
    if PyErr_ExceptionMatches(WRITE_ERRORS):
        PyErr_Clear()
        return 0
    return -1


cdef bint limit(tw_reader *r, object limits, int64_t *depth) except -1:
    """Set the reader's limits, and store `limits.depth` in `depth`. Return False if the data exceeds `limits.bytes`."""
    if type(limits) is not Limits:
        check_limits(limits)
    most_levels, most_bytes, most_elements, most_tags, most_tag_bytes = <tuple>limits.of_messages
    depth[0] = at_most(most_levels)
    if r.end - r.p > at_most(most_bytes):
        return False
    r.elements = at_most(most_elements)
    r.unknown_tags = at_most(most_tags)
    r.unknown_tag_bytes = at_most(most_tag_bytes)
    return True
