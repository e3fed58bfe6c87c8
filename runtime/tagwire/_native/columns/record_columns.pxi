"""Build plans for reading batches into columns.

The loop in record_batches.h reads headers and records with the engine's plans. This file adds a sink for each field:
the column or slot in which the field is stored.
"""

cdef tw_crc32c_tables CRC32C, CRC32  # unchanged after the next two lines, because threads read them without the GIL
tw_crc32c_prepare(&CRC32C)
tw_crc_prepare(&CRC32, TW_CRC32_POLYNOMIAL)

cdef dict COMPUTED = {
    "position": TW_SLOT_POSITION,
    "size": TW_SLOT_SIZE,
    "base_offset": TW_SLOT_BASE_OFFSET,
    "last_offset": TW_SLOT_LAST_OFFSET,
    "max_timestamp": TW_SLOT_MAX_TIMESTAMP,
}


@final
cdef class RecordPlan(Owner):
    """The plan for reading batches in one record format.

    If `headers_only` is true, records are not read, and checksums are verified only if `verified` is true.
    """

    cdef tw_record_plan c
    cdef Shape shape
    cdef tuple codecs
    cdef int codec_shift
    cdef object format, names
    cdef dict dictionaries
    cdef tw_constant *file  # the value of the file name column, or NULL if there is no such column

    def __cinit__(self, Shape shape, format, bint headers_only, bint verified, dict dictionaries):
        cdef Py_ssize_t index
        cdef bint is_outline = headers_only and not verified
        plan = format.plans.outline if is_outline else format.plans.header
        records = format.plans.records
        if plan is None or (records is None and not headers_only):
            raise NotNative(f"the engine does not support the record format {format.name}")
        self.shape, self.format = shape, format
        self.kept += [plan, records]
        self.dictionaries = dictionaries
        self.c.header = <const tw_struct *>PyCapsule_GetPointer(plan.structure, "tagwire._engine.tw_struct")
        if self.c.header.items_count > TW_MOST_HEADER_ITEMS:
            raise NotNative(f"the batch header of {format.name} has {self.c.header.items_count} fields; native columns support at most {TW_MOST_HEADER_ITEMS}")
        layout = format.outline if is_outline else format.header
        self.names = {item.name: index for index, item in enumerate(layout.root.items)}
        self.c.header_sinks = self.header_sinks()
        self.roles()
        if not headers_only:
            self.c.record = <const tw_struct *>PyCapsule_GetPointer(records.structure, "tagwire._engine.tw_struct")
            self.records(records)
        self.c.leaves_wrappers = verified and self.c.is_message
        self.constants(headers_only)

    cdef const tw_sink *header_sinks(self) except NULL:
        cdef tw_sink *sinks = self.sinks_of(self.c.header)
        cdef Py_ssize_t index
        for index in range(self.c.header.items_count):
            sinks[index].slot = index
        return sinks

    cdef tw_sink *sinks_of(self, const tw_struct *s) except NULL:
        """Return sinks that discard all fields of a struct. Raises NotNative for fields that C can't read."""
        cdef tw_sink *sinks = <tw_sink *>self.memory(s.items_count * sizeof(tw_sink))
        cdef const tw_field *field
        cdef Py_ssize_t index
        for index in range(s.items_count):
            field = &s.items[index]
            sinks[index].column = sinks[index].slot = -1
            if field.kind == TW_ARRAY:
                if field.nullable or field.element.kind != TW_STRUCT or field.element.marker or field.element.minimum < 1:
                    raise NotNative("in record formats, native columns support only non-nullable arrays of non-nullable structs")
                sinks[index].inner = self.sinks_of(field.element.child)
            elif not field.framing.is_number and field.kind != TW_STRING and field.kind != TW_BINARY:
                raise NotNative("in record formats, native columns support only numbers, strings, bytes and arrays")
        return sinks

    cdef int32_t slot(self, str role) except -2:
        item = self.format.fields.get(role)
        return -1 if item is None else self.names[item.name]

    cdef int64_t mask(self, str name) except? -1:
        group = self.format.bits.get(name)
        return 0 if group is None else group.mask

    cdef int roles(self) except -1:
        format = self.format
        self.c.is_message = format.records is None
        self.c.is_relative = format.magic > 0
        self.c.base_offset, self.c.attributes = self.slot("base_offset"), self.slot("attributes")
        self.c.last_delta = self.slot("last_offset_delta")
        counted_by = "" if self.c.is_message else format.records.type.counted_by
        self.c.count = self.names[counted_by] if counted_by else -1
        self.c.base_timestamp, self.c.max_timestamp = self.slot("base_timestamp"), self.slot("max_timestamp")
        highest = format.fields.get("max_timestamp")
        self.c.max_relative_to = self.names[highest.relative_to] if highest is not None and highest.relative_to else -1
        self.c.payload = self.names["value" if self.c.is_message else "payload"]
        group = format.bits.get("compression")
        self.codecs = format.codecs
        self.codec_shift = 0 if group is None else group.shift
        self.c.codec_mask, self.c.append_mask = self.mask("compression"), self.mask("timestamp_type")
        for name, bits in format.bits.items():
            if name not in ("compression", "timestamp_type"):
                self.c.no_wrapper_mask |= bits.mask
        if not self.c.is_message and self.c.base_timestamp < 0:
            raise NotNative(f"native columns do not support the record format {format.name}, because it has no base timestamp")
        return 0

    cdef int records(self, object records) except -1:
        cdef const tw_struct *s = self.c.record
        cdef tw_sink *sinks = self.sinks_of(s)
        cdef tw_sink *no_sinks = self.sinks_of(s)
        columns = {column.source.name: column for column in self.shape.root.children if column.source.kind == "record"}
        cdef int32_t *idle = <int32_t *>self.memory(len(columns) * sizeof(int32_t))
        cdef Py_ssize_t index
        self.c.sinks, self.c.no_sinks, self.c.idle = sinks, no_sinks, idle
        names = [item.name for item in records.layout().root.items]
        for index, name in enumerate(names):
            if name == "offset":
                sinks[index].slot = no_sinks[index].slot = TW_SLOT_OFFSET
            elif name == "value":
                sinks[index].slot = TW_SLOT_VALUE
            self.c.has_flag |= s.items[index].framing.flag_mask != 0
            if name in columns:
                self.sink(&sinks[index], columns.pop(name))
        self.c.least = 1
        if self.format.records is not None:
            self.c.least = self.format.records.type.element.minimum
        for column in columns.values():  # columns without a field in this format
            idle[self.c.idle_count] = self.shape.index(column)
            self.c.idle_count += 1
        self.c.is_magic2 = self.format.has_magic2_records
        flag = self.shape.root.child("tombstone")
        self.c.tombstone = -1 if flag is None else self.shape.index(flag)
        return self.inputs(records)

    cdef int sink(self, tw_sink *sink, object column) except -1:
        cdef tw_sink *inner
        sink.column = self.shape.index(column)
        sink.null_number = column.format == "tsm:UTC"
        if column.format == "+l":
            inner = <tw_sink *>sink.inner
            item = next(item for item in self.format.record.items if item.name == column.source.name)
            fields = [field.name for field in item.type.element.struct.items]
            for child in column.children[0].children:
                inner[<Py_ssize_t>fields.index(child.name)].column = self.shape.index(child)
        return 0

    cdef int inputs(self, object records) except -1:
        """Store in `c` the batch header fields that are needed to read records."""
        from tagwire.records.native import OFFSET, SCALE, TIMESTAMP

        cdef dict registers = records.registers
        cdef tw_input *inputs = <tw_input *>self.memory(len(registers) * sizeof(tw_input))
        self.c.offset_base = registers.pop(OFFSET, -1)
        self.c.timestamp_base, self.c.timestamp_scale = registers.pop(TIMESTAMP, -1), registers.pop(SCALE, -1)
        self.c.inputs = inputs
        for name, register_index in registers.items():
            if name in self.names:
                inputs[self.c.inputs_count].register_index, inputs[self.c.inputs_count].slot = register_index, self.names[name]
                self.c.inputs_count += 1
        return 0

    cdef int constants(self, bint headers_only) except -1:
        cdef tw_constant *constants = <tw_constant *>self.memory(len(self.shape.root.children) * sizeof(tw_constant))
        self.c.constants = constants
        for column in self.shape.root.children:
            if not column.of_record:
                self.constant(&constants[self.c.constants_count], column, headers_only)
                self.c.constants_count += 1
        return 0

    cdef int constant(self, tw_constant *c, object column, bint headers_only) except -1:
        kind, name, only_if = column.source
        group = self.format.bits.get(name)
        c.column = self.shape.index(column)
        c.slot = c.test = -1
        c.null_number = column.format == "tsm:UTC"
        if kind == "file":
            self.file = c
        elif kind == "format":
            c.number = index_of(self.dictionaries[name], self.format.name)
        elif kind == "bits" and column.is_dictionary:
            self.named_bits(c, name, group)
        elif kind == "bits":
            if group is not None:
                c.slot, c.mask, c.shift = self.c.attributes, group.mask, group.shift
        elif kind == "computed":
            c.slot = self.c.header.items_count + COMPUTED[name]
            # Wrappers get a null, because a wrapper's header doesn't contain the base offset of the messages inside.
            if name == "base_offset" and headers_only and self.c.is_message:
                c.test, c.unless = self.c.attributes, self.c.codec_mask
        else:
            c.number = -1
            if not only_if or only_if in self.format.bits:
                c.slot = self.names.get(name, -1) if kind == "item" else self.slot(name)
            if only_if and c.slot >= 0:
                c.test, c.needed = self.c.attributes, self.mask(only_if)
            c.null_number = c.null_number or (column.nullable and c.slot < 0)
        return 0

    cdef int named_bits(self, tw_constant *c, str name, object group) except -1:
        """Set up `c` for a dictionary column that shows a batch attribute as text, such as the codec's name."""
        cdef int32_t *numbers
        cdef Py_ssize_t index
        if group is None:  # the format has no attribute bits with this name
            c.number = index_of(self.dictionaries[name], "none") if name == "compression" else -1
            c.null_number = name == "timestamp_type"
            return 0
        if not group.values:
            raise NotNative(f"in the record format {self.format.name}, the values of the attribute bits {name!r} have no names")
        c.indexes = numbers = <int32_t *>self.memory(len(group.values) * sizeof(int32_t))
        for index, value in enumerate(group.values):
            numbers[index] = index_of(self.dictionaries[name], value.partition("-")[0])
        c.slot, c.mask, c.shift = self.c.attributes, group.mask, group.shift
        return 0


cdef int32_t index_of(dict dictionary, str text):
    """Return a string's index in a dictionary, adding the string if it is new."""
    return dictionary.setdefault(text, len(dictionary))
