"""Read or build a magic 2 batch in one native call. The result is None if Python must do this instead."""

cdef extern from "engine/wire.h":
    uint32_t tw_get32(const uint8_t *)
    uint64_t tw_get64(const uint8_t *)
    void tw_put16(uint8_t *, uint32_t)
    void tw_put32(uint8_t *, uint32_t)
    void tw_put64(uint8_t *, uint64_t)

cdef enum:
    # Byte offsets in the header of a magic 2 batch. Source: Kafka's documentation of record batches.
    LENGTH_AT = 8
    EPOCH_AT = 12
    MAGIC_AT = 16
    CRC_AT = 17
    ATTRIBUTES_AT = 21
    LAST_DELTA_AT = 23
    BASE_TIMESTAMP_AT = 27
    MAX_TIMESTAMP_AT = 35
    PRODUCER_AT = 43
    PRODUCER_EPOCH_AT = 51
    SEQUENCE_AT = 53
    COUNT_AT = 57
    HEADER_SIZE = 61
    # Bits of a batch's attributes.
    COMPRESSION = 7
    HIGHEST_CODEC = 4
    APPEND_TIME = 1 << 3
    TRANSACTIONAL = 1 << 4
    CONTROL = 1 << 5


def crc32c(uint32_t value, data):
    """Extend a CRC-32C by more bytes. `value` is the CRC-32C of the bytes before `data`, or 0."""
    cdef const uint8_t[::1] view = data
    cdef Py_ssize_t size = view.shape[0]
    return tw_crc32c_extended(&SHARED.crc32c, value, &view[0] if size else NULL, size)


cdef extern from "records/batch.h":
    ctypedef struct tw_batch:
        const uint8_t *p
        const uint8_t *end
        int64_t left
        int64_t base_offset, base_timestamp
        bint is_appended


cdef enum:
    # Indexes into two arrays: BATCH_NAMES (the attribute names of batch objects) and BATCH (their slots).
    FORMAT, BUF, START, END, LIMITS, BEGUN, PLAN, STRICT

cdef tuple BATCH_NAMES = ("_format", "_buf", "_start", "_end", "_limits", "_begun", "_quick", "_strict")
cdef tuple HEADER_NAMES = (
    *("base_offset", "last_offset", "partition_leader_epoch", "max_timestamp", "producer_id"),
    *("attributes", "is_transactional", "is_control"),
)
cdef Py_ssize_t BATCH[8]  # the slot of each attribute in BATCH_NAMES

define("build", <void *>build, METH_NOARGS, b"build($self, /)\n--\n\nReturn the batch.")
define("__iter__", <void *>iterate_method, METH_NOARGS, b"__iter__($self, /)\n--\n\nIterate over the records.")


@final
@no_gc_clear
cdef class Magic2:
    """Reads and builds magic 2 batches.

    `batch` is the class of the batch objects. `records` reads and writes the records. `names` has the names of the
    three inputs of `records`: the base offset of the batch, a timestamp T and a factor F. A record with the timestamp
    delta D has the timestamp T + F * D. F is 0 if T is the append time.

    If `is_alone` is true, each batch object gets its own copy of its bytes, so that it keeps no other batches in
    memory. In this case, `BatchReader` also stores the header fields that HEADER_NAMES lists, and `batch` must have
    slots for them.
    """

    cdef object batch, format
    cdef Elements records
    cdef tw_class factory
    cdef Py_ssize_t header_slots[8]
    cdef bint is_alone
    cdef int64_t least  # minimum size of an encoded record in bytes
    cdef int offset_register, timestamp_register, scale_register

    def __cinit__(self, batch, format, Elements records, names, bint is_alone=False):
        check_class(batch)
        find_slots(batch, BATCH_NAMES, BATCH)
        self.batch, self.format, self.records, self.least = batch, format, records, format.least
        self.factory = class_of(batch)
        self.is_alone = is_alone
        if is_alone:
            find_slots(batch, HEADER_NAMES, self.header_slots)
        registers = records.registers
        if set(registers) != set(names):
            raise NotNative(f"the engine does not support records that depend on {', '.join(registers)}")
        self.offset_register, self.timestamp_register, self.scale_register = [registers[name] for name in names]

    cdef int fill(self, result, int index, value) except -1:
        fill_slot(result, self.header_slots[index], <PyObject *>value)
        return 0

    cdef object batch_of(self, object buf, object start, object end):
        cdef object result = taken(tw_new_object(&self.factory, False))
        fill_slot(result, BATCH[FORMAT], <PyObject *>self.format)
        fill_slot(result, BATCH[BUF], <PyObject *>buf)
        fill_slot(result, BATCH[START], <PyObject *>start)
        fill_slot(result, BATCH[END], <PyObject *>end)
        fill_slot(result, BATCH[LIMITS], <PyObject *>NO_LIMITS)
        fill_slot(result, BATCH[BEGUN], NONE)
        fill_slot(result, BATCH[PLAN], <PyObject *>self)
        fill_slot(result, BATCH[STRICT], <PyObject *>TRUE)
        return result

    cdef bytes open(self, batch, tw_batch *records):
        """Return the bytes that contain a batch's records, or None if Python must read the batch."""
        cdef object found = slot_value(batch, BATCH[BUF])
        cdef PyObject *buf = <PyObject *>found
        cdef Py_ssize_t start = slot_value(batch, BATCH[START])
        cdef Py_ssize_t end = slot_value(batch, BATCH[END])
        cdef const uint8_t *p
        if TW_SLOT(<PyObject *>batch, BATCH[LIMITS]) != <PyObject *>NO_LIMITS or TW_SLOT(<PyObject *>batch, BATCH[BEGUN]) != NONE:
            return None
        if not PyBytes_CheckExact(buf) or start < 0 or end - start < HEADER_SIZE or end > TW_BYTES_SIZE(buf):
            return None
        p = TW_BYTES_DATA(buf) + start
        records.left = <int32_t>tw_get32(p + COUNT_AT)
        if p[ATTRIBUTES_AT + 1] & COMPRESSION or not 0 <= records.left * self.least <= end - start - HEADER_SIZE:
            return None
        records.base_offset = <int64_t>tw_get64(p)
        records.is_appended = p[ATTRIBUTES_AT + 1] & APPEND_TIME
        records.base_timestamp = <int64_t>tw_get64(p + (MAX_TIMESTAMP_AT if records.is_appended else BASE_TIMESTAMP_AT))
        records.p, records.end = p + HEADER_SIZE, TW_BYTES_DATA(buf) + end
        return found

    cdef object records_of(self, object batch):
        """Return an iterator over a batch's records, or None if Python must read the batch."""
        cdef tw_batch records
        cdef Reading reading
        buf = self.open(batch, &records)
        if buf is None:
            return None
        start = TW_BYTES_DATA(<PyObject *>buf)
        reading = self.records.reading(buf, start, records.p, records.end, batch, NO_LIMITS, INT64_MAX)
        reading.left = records.left
        reading.r.elements -= records.left
        reading.known[self.offset_register] = records.base_offset
        reading.known[self.scale_register] = not records.is_appended
        reading.known[self.timestamp_register] = records.base_timestamp
        return reading

    def source_of(self, batch):
        """Return the arguments of a `tagwire._records.Source` for this batch, or None if Python must read the batch."""
        cdef tw_batch records
        buf = self.open(batch, &records)
        if buf is None:
            return None
        start, bases = TW_BYTES_DATA(<PyObject *>buf), (records.base_offset, records.base_timestamp, bool(records.is_appended))
        return buf, records.p - start, records.end - start, records.left, bases, True

    cdef Gathering gathering(self, int64_t offset, int64_t timestamp):
        """Return a `Gathering`, which encodes the records of a new batch."""
        cdef Gathering gathering = Gathering.__new__(Gathering)
        gathering.start(self.records)
        start_registers(gathering.known)
        gathering.known[self.offset_register], gathering.known[self.timestamp_register] = offset, timestamp
        gathering.known[self.scale_register] = 1
        return gathering

    cdef object build_from(self, object builder, Gathering gathering):
        """Build a builder's batch. Returns None if only Python can build it, for example because it is compressed."""
        cdef int64_t numbers[4]
        cdef int64_t offset, requested, last
        cdef uint32_t attributes = 0
        cdef Py_ssize_t index, size
        cdef uint8_t *p
        for index in range(len(USUAL)):
            if TW_SLOT(<PyObject *>builder, BUILDER[FIRST_USUAL + index]) != TW_TUPLE_GET(<PyObject *>USUAL, index):
                return None
        for index in range(4):
            if not tw_exact_int(setting(builder, FIRST_NUMBER + index), &numbers[index]):
                return None
        for index in range(2):
            flag = setting(builder, FIRST_FLAG + index)
            if flag is True:
                attributes |= <uint32_t>TRANSACTIONAL << index
            elif flag is not False:
                return None
        base_offset, last_offset = setting(builder, BASE_OFFSET), setting(builder, LAST_OFFSET)
        # From here on, this thread must not wait, so that no other thread can append records.
        offset, requested = gathering.known[self.offset_register], gathering.first_offset
        last = gathering.highest[self.offset_register]
        if base_offset is not None and not tw_exact_int(base_offset, &requested):
            return None
        if last_offset is not None and (not tw_exact_int(last_offset, &last) or last < gathering.highest[self.offset_register]):
            return None
        size = gathering.w.p - gathering.w.start
        if (
            numbers[0] != <int32_t>numbers[0] or numbers[2] != <int16_t>numbers[2] or numbers[3] != <int32_t>numbers[3]
            or requested != offset or gathering.first_timestamp != gathering.known[self.timestamp_register] or last < offset or <uint64_t>last - <uint64_t>offset > INT32_MAX
            or gathering.done is not None or not gathering.is_usable or size > INT32_MAX
        ):
            return None
        p = gathering.w.start
        tw_put64(p, <uint64_t>offset)
        tw_put32(p + LENGTH_AT, <uint32_t>(size - LENGTH_AT - 4))
        tw_put32(p + EPOCH_AT, <uint32_t>numbers[0])
        p[MAGIC_AT] = 2
        tw_put16(p + ATTRIBUTES_AT, attributes)
        tw_put32(p + LAST_DELTA_AT, <uint32_t>(last - offset))
        tw_put64(p + BASE_TIMESTAMP_AT, <uint64_t>gathering.known[self.timestamp_register])
        tw_put64(p + MAX_TIMESTAMP_AT, <uint64_t>gathering.highest[self.timestamp_register])
        tw_put64(p + PRODUCER_AT, <uint64_t>numbers[1])
        tw_put16(p + PRODUCER_EPOCH_AT, <uint32_t>numbers[2])
        tw_put32(p + SEQUENCE_AT, <uint32_t>numbers[3])
        tw_put32(p + COUNT_AT, <uint32_t>gathering.count)
        tw_put32(p + CRC_AT, tw_crc32c(&SHARED.crc32c, p + ATTRIBUTES_AT, size - ATTRIBUTES_AT))
        return self.batch_of(gathering.finished(), 0, size)


cdef object build(object builder, object nothing):
    batch = None
    if KNOWS_BUILDER:
        plan, found = setting(builder, QUICK), setting(builder, GATHERED)
        if type(plan) is Magic2 and type(found) is Gathering:
            with critical_section(found):
                batch = (<Magic2>plan).build_from(builder, <Gathering>found)
    return PYTHON_CALLS["build"](builder) if batch is None else batch


cdef inline object setting(object builder, Py_ssize_t index):
    """Return the builder's attribute `BUILDER_NAMES[index]`, or None if it was deleted."""
    return slot_value(builder, BUILDER[index])


cdef object iteration_method(object cls):
    """Return a method `__iter__` for `cls`, which calls the Python method if C can't read a batch."""
    cdef Block block = DEFINED["__iter__"]
    find_slots(cls, BATCH_NAMES, BATCH)
    return tw_iter_method(<PyTypeObject *><PyObject *>cls, <PyMethodDef *>block.at, <getiterfunc><void *>iterate)


cdef object iterate_method(object batch, object nothing):
    return iterate(batch)


cdef object iterate(object batch):
    plan = slot_value(batch, BATCH[PLAN])
    found = (<Magic2>plan).records_of(batch) if type(plan) is Magic2 else None
    return PYTHON_CALLS["__iter__"](batch) if found is None else found


@final
@no_gc_clear
cdef class BatchReader:
    """Reads magic 2 batches, and calls `otherwise(buf, pos)` for batches that Python must read.

    The arguments `other_*` describe a second format, which stores its magic byte after a varint length. Python
    reads a batch that can be in either format. `other_length_at` is the offset of the length, or -1 without a second
    format. `other_gap` is the number of bytes between the length and the magic byte `other_magic`.
    """

    cdef Magic2 plan
    cdef object otherwise
    cdef Py_ssize_t other_length_at, other_gap
    cdef int other_magic

    def __cinit__(self, Magic2 plan, otherwise, Py_ssize_t other_length_at, Py_ssize_t other_gap, int other_magic):
        self.plan, self.otherwise = plan, otherwise
        self.other_length_at, self.other_gap, self.other_magic = other_length_at, other_gap, other_magic

    def at(self, bytes buf not None, Py_ssize_t pos):
        """Return the batch at `pos`, or None if Python must read it."""
        return self.read(buf, pos)

    cdef object read(self, bytes buf, Py_ssize_t pos):
        cdef Magic2 plan
        cdef const uint8_t *p = TW_BYTES_DATA(<PyObject *>buf) + pos
        cdef Py_ssize_t left = TW_BYTES_SIZE(<PyObject *>buf) - pos, at = self.other_length_at
        cdef int64_t size
        cdef object offset
        if pos < 0 or left < HEADER_SIZE or p[MAGIC_AT] != 2 or (p[ATTRIBUTES_AT + 1] & COMPRESSION) > HIGHEST_CODEC:
            return None
        size = LENGTH_AT + 4 + <int64_t><int32_t>tw_get32(p + LENGTH_AT)
        if size < HEADER_SIZE or size > left:
            return None
        if at >= 0:
            while at < left and p[at] >= 0x80:
                at += 1
            at += 1 + self.other_gap
            if at < left and p[at] == self.other_magic:
                return None
        if tw_crc32c(&SHARED.crc32c, p + ATTRIBUTES_AT, size - ATTRIBUTES_AT) != tw_get32(p + CRC_AT):
            return None
        if not self.plan.is_alone:
            return self.plan.batch_of(buf, pos, pos + size)
        plan = self.plan
        result, offset = plan.batch_of(buf[pos : pos + size], 0, size), <int64_t>tw_get64(p)
        plan.fill(result, 0, offset)
        plan.fill(result, 1, offset + <int32_t>tw_get32(p + LAST_DELTA_AT))
        plan.fill(result, 2, <int32_t>tw_get32(p + EPOCH_AT))
        plan.fill(result, 3, <int64_t>tw_get64(p + MAX_TIMESTAMP_AT))
        plan.fill(result, 4, <int64_t>tw_get64(p + PRODUCER_AT))
        plan.fill(result, 5, <int16_t>(p[ATTRIBUTES_AT] << 8 | p[ATTRIBUTES_AT + 1]))
        plan.fill(result, 6, TRUE if p[ATTRIBUTES_AT + 1] & TRANSACTIONAL else FALSE)
        plan.fill(result, 7, TRUE if p[ATTRIBUTES_AT + 1] & CONTROL else FALSE)
        return result

    def over(self, data):
        cdef BatchReading reading = BatchReading.__new__(BatchReading)
        reading.reader, reading.buf = self, data if type(data) is bytes else as_bytes(data)
        return reading


@final
@no_gc_clear
@freelist(4)
cdef class BatchReading:
    cdef BatchReader reader
    cdef bytes buf
    cdef Py_ssize_t pos

    def __iter__(self):
        return self

    def __next__(self):
        if self.pos >= TW_BYTES_SIZE(<PyObject *>self.buf):
            raise StopIteration
        batch = self.reader.read(self.buf, self.pos)
        if batch is None:
            batch = self.reader.otherwise(self.buf, self.pos)
        self.pos = slot_value(batch, BATCH[END])
        return batch
