"""Read or write a frame, which is a header followed by a message, in one call."""

cdef enum:
    WIDEST_HEADER = 16  # the maximum number of attributes in a header


@final
@no_gc_clear
cdef class FramePlan:
    """Reads and writes the frames of one message version: the header and the message.

    `frame` is the class of the objects that `read` returns. `write` copies the header `template`, and sets the
    correlation ID and client ID in the copy. Raises NotNative if C can't handle the header or the class.
    """

    cdef Plan header, body
    cdef object frame, template
    cdef tw_class made
    cdef Py_ssize_t parts[3]  # slots of the frame's header, message and version
    cdef Py_ssize_t slots[WIDEST_HEADER]
    cdef Py_ssize_t slots_count
    cdef Py_ssize_t correlation_slot, client_slot  # slots of these IDs; -1 for an ID that the header doesn't have
    cdef Py_ssize_t last_size

    def __cinit__(self, frame, Plan header, Plan body, template):
        cdef Py_ssize_t index
        names = header.MESSAGE.__slots__
        if len(names) > WIDEST_HEADER:
            raise NotNative(f"the header has more than {WIDEST_HEADER} fields")
        check_class(frame)
        self.frame, self.header, self.body = frame, header, body
        self.template = template.replace()
        self.made = class_of(frame)
        for index, name in enumerate(("header", "message", "version")):
            self.parts[index] = checked_slot(frame, name)
        self.slots_count = len(names)
        for index, name in enumerate(names):
            self.slots[index] = slot_of(header.MESSAGE, name)
        fields = {item.name for item in header.source.root.fields}
        self.correlation_slot = slot_of(header.MESSAGE, "correlation_id") if "correlation_id" in fields else -1
        self.client_slot = slot_of(header.MESSAGE, "client_id") if "client_id" in fields else -1

    @property
    def message(self):
        return self.body.MESSAGE

    def read(self, bytes data, gc):
        """Decode a frame. Return None if there are bytes after the message. Raises the same errors as `decode`."""
        cdef Py_ssize_t end
        cdef object frame
        header = self.header.read(data, 0, &end, True, False, NO_LIMITS, gc)
        message = self.body.read(data, end, &end, True, False, NO_LIMITS, gc)
        if end != TW_BYTES_SIZE(<PyObject *>data):
            return None
        frame = taken(tw_new_object(&self.made, False))
        fill_slot(frame, self.parts[0], <PyObject *>header)
        fill_slot(frame, self.parts[1], <PyObject *>message)
        fill_slot(frame, self.parts[2], <PyObject *>self.body.VERSION)
        return frame

    def write(self, message, correlation_id, client_id):
        """Return the encoded header and message; None if Python must encode them."""
        cdef tw_writer w
        cdef uint8_t stack[STACK]
        cdef object header
        if (correlation_id and self.correlation_slot < 0) or (client_id is not None and self.client_slot < 0):
            return None
        header = self.header_with(<PyObject *>correlation_id, <PyObject *>client_id)
        start_writing(&w, stack, self.body.shared)
        w.expected = self.last_size
        if (
            tw_write_object(self.header.root, <PyObject *>header, &w) == 0
            and tw_write_object(self.body.root, <PyObject *>message, &w) == 0
        ):
            self.last_size = (w.p - w.start) + SLACK
            return taken(tw_finish(&w))
        tw_discard(&w)
        refused_value()
        return None

    cdef object header_with(self, PyObject *correlation_id, PyObject *client_id):
        cdef object header = taken(tw_new_object(&self.header.root.made, True))
        cdef PyObject *value
        cdef Py_ssize_t index, slot
        for index in range(self.slots_count):
            slot = self.slots[index]
            if slot == self.correlation_slot:
                value = correlation_id
            elif slot == self.client_slot:
                value = client_id
            else:
                value = TW_SLOT(<PyObject *>self.template, slot)
            if value != NULL:
                fill_slot(header, slot, value)
        return header


cdef inline void fill_slot(object made, Py_ssize_t slot, PyObject *value) noexcept:
    Py_INCREF(<object>value)
    (<PyObject **>(<char *><PyObject *>made + slot))[0] = value
