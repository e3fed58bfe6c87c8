"""Read or write a frame, which is a header followed by a message, in one call."""

cdef enum:
    WIDEST_HEADER = 16  # the maximum number of attributes in a header


@final
@no_gc_clear
cdef class FramePlan:
    """Reads and writes the frames of one message version.

    `frame` is the class of the objects that `read` returns. `write` copies the header `template` and sets its
    correlation ID and client ID. Raises NotNative if C does not support the header or the class.
    """

    cdef Plan header, body
    cdef object frame, template
    cdef tw_class factory
    cdef Py_ssize_t parts[3]  # slots of the frame's header, message and version
    cdef Py_ssize_t slots[WIDEST_HEADER]
    cdef Py_ssize_t slots_count
    cdef Py_ssize_t correlation_slot, client_slot  # -1 for an ID that the header doesn't have
    cdef Py_ssize_t last_size

    def __cinit__(self, frame, Plan header, Plan body, template):
        cdef tuple names = tuple(header.MESSAGE.__slots__)
        if len(names) > WIDEST_HEADER:
            raise NotNative(f"the header has too many fields; the engine supports at most {WIDEST_HEADER}")
        check_class(frame)
        self.frame, self.header, self.body = frame, header, body
        self.template = template.replace()
        self.factory = class_of(frame)
        find_slots(frame, ("header", "message", "version"), self.parts)
        self.slots_count = len(names)
        find_slots(header.MESSAGE, names, self.slots)
        fields = {item.name for item in header.source.root.fields}
        self.correlation_slot = slot_of(header.MESSAGE, "correlation_id") if "correlation_id" in fields else -1
        self.client_slot = slot_of(header.MESSAGE, "client_id") if "client_id" in fields else -1

    cdef object read(self, bytes data, object gc):
        """Decode a frame. Return None if there are bytes after the message. Raises the same errors as `decode`."""
        cdef Py_ssize_t end
        cdef object frame
        header = self.header.read(data, 0, &end, True, False, NO_LIMITS, gc)
        message = self.body.read(data, end, &end, True, False, NO_LIMITS, gc)
        if end != TW_BYTES_SIZE(<PyObject *>data):
            return None
        frame = taken(tw_new_object(&self.factory, False))
        fill_slot(frame, self.parts[0], <PyObject *>header)
        fill_slot(frame, self.parts[1], <PyObject *>message)
        fill_slot(frame, self.parts[2], <PyObject *>self.body.VERSION)
        return frame

    cdef bytes write(self, object message, object correlation_id, object client_id):
        """Return the encoded header and message, or None if Python must encode them."""
        cdef tw_writer w
        cdef uint8_t stack[STACK]
        cdef object header
        if (correlation_id and self.correlation_slot < 0) or (client_id is not None and self.client_slot < 0):
            return None
        header = self.header_with(<PyObject *>correlation_id, <PyObject *>client_id)
        start_writing(&w, stack)
        w.expected = self.last_size
        if (
            tw_write_object(self.header.root, <PyObject *>header, &w) == 0
            and tw_write_object(self.body.root, <PyObject *>message, &w) == 0
        ):
            self.last_size = (w.p - w.start) + SLACK
            return taken(tw_finish(&w))
        tw_discard(&w)
        rejected_value()
        return None

    cdef object header_with(self, PyObject *correlation_id, PyObject *client_id):
        cdef object header = taken(tw_new_object(&self.header.root.factory, True))
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


cdef inline void fill_slot(object instance, Py_ssize_t slot, PyObject *value) noexcept:
    Py_INCREF(<object>value)
    (<PyObject **>(<char *><PyObject *>instance + slot))[0] = value


# The methods of registries.

cdef tuple ENCODING = ("message", "version", "correlation_id", "header", "client_id")
cdef tuple DECODING = ("strict", "views", "limits", "gc")
cdef tuple REQUEST_DECODING = ("data", "message", None, *DECODING)
cdef tuple RESPONSE_DECODING = ("data", "api_key", "version", *DECODING)

define(
    "encode_request", <void *>encode_request, METH_FASTCALL | METH_KEYWORDS,
    b"encode_request($self, message, version, *, correlation_id=None, client_id=None, header=None)\n--\n\n"
    b"Encode the header and the body of a request, without the frame size.",
)
define(
    "encode_response", <void *>encode_response, METH_FASTCALL | METH_KEYWORDS,
    b"encode_response($self, message, version, *, correlation_id=None, header=None)\n--\n\n"
    b"Encode the header and the body of a response, without the frame size.",
)
define(
    "decode_request", <void *>decode_request, METH_FASTCALL | METH_KEYWORDS,
    b"decode_request($self, data, message=None, *, strict=True, views=False, limits=..., gc=True)\n--\n\n"
    b"Decode the request in a frame, given without its size prefix.",
)
define(
    "decode_response", <void *>decode_response, METH_FASTCALL | METH_KEYWORDS,
    b"decode_response($self, data, api_key, version, *, strict=True, views=False, limits=..., gc=True)\n--\n\n"
    b"Decode the response to a request of this API and version. `data` is the frame without its size.",
)


cdef object encode_request(object registry, PyObject **args, Py_ssize_t count, PyObject *names):
    frame = written_frame(registry._request_writers, ENCODING, args, count, names)
    return call_in_python(PYTHON_CALLS["encode_request"], registry, args, count, names) if frame is None else frame


cdef object encode_response(object registry, PyObject **args, Py_ssize_t count, PyObject *names):
    frame = written_frame(registry._response_writers, ENCODING[:4], args, count, names)
    return call_in_python(PYTHON_CALLS["encode_response"], registry, args, count, names) if frame is None else frame


cdef bytes written_frame(dict plans, tuple parameters, PyObject **args, Py_ssize_t count, PyObject *names):
    """Return an encoded frame, or None if there is no plan for the message yet, or if Python must encode it."""
    cdef PyObject *given[5]
    given[0] = given[1] = given[2] = given[3] = given[4] = NONE
    if not sort_arguments(parameters, 2, args, count, names, given) or given[3] != NONE:
        return None
    if not isinstance(<object>given[1], int):  # for example 9.0, which equals the key 9
        return None
    message, correlation_id = <object>given[0], <object>given[2]
    plan = plans.get((type(message), <object>given[1]))
    if plan is None:
        return None
    return (<FramePlan?>plan).write(message, correlation_id or 0, <object>given[4])


cdef object decode_request(object registry, PyObject **args, Py_ssize_t count, PyObject *names):
    cdef PyObject *given[7]
    cdef dict plans = registry._request_readers
    frame = None
    if decodes_usually(REQUEST_DECODING, 2, args, count, names, given) and TW_BYTES_SIZE(given[0]) >= 4:
        plan = plans.get(tw_get32(TW_BYTES_DATA(given[0])))
        if plan is not None and (given[1] == NONE or given[1] == <PyObject *>(<FramePlan?>plan).body.MESSAGE):
            frame = (<FramePlan>plan).read(<bytes>given[0], <object>given[6])
    return call_in_python(PYTHON_CALLS["decode_request"], registry, args, count, names) if frame is None else frame


cdef object decode_response(object registry, PyObject **args, Py_ssize_t count, PyObject *names):
    cdef PyObject *given[7]
    cdef dict plans = registry._response_readers
    frame = None
    if (
        decodes_usually(RESPONSE_DECODING, 3, args, count, names, given)
        and isinstance(<object>given[1], (int, type))
        and isinstance(<object>given[2], int)
    ):
        plan = plans.get((<object>given[1], <object>given[2]))
        if plan is not None:
            frame = (<FramePlan?>plan).read(<bytes>given[0], <object>given[6])
    return call_in_python(PYTHON_CALLS["decode_response"], registry, args, count, names) if frame is None else frame


cdef bint decodes_usually(
    tuple parameters, Py_ssize_t positional, PyObject **args, Py_ssize_t count, PyObject *names, PyObject **given
) noexcept:
    """Store the arguments in `given`. Return whether a `FramePlan` can decode the frame with these options."""
    given[0] = given[1] = given[2] = NONE
    given[3], given[4], given[5], given[6] = <PyObject *>TRUE, <PyObject *>FALSE, <PyObject *>NO_LIMITS, <PyObject *>TRUE
    if not sort_arguments(parameters, positional, args, count, names, given) or not PyBytes_CheckExact(given[0]):
        return False
    return given[3] == <PyObject *>TRUE and given[4] == <PyObject *>FALSE and given[5] == <PyObject *>NO_LIMITS
