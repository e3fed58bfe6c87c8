"""What is rare: values that are not of the plain kind, made plain for the hot loops; unknown tags; comparing.

The C side calls these by their names (declared in coercion.h). Each takes what the pure engine takes, by the pure engine's
own functions where it has some, and refuses with an exception that the engine takes for a fault.
"""


cdef public object coerced_bool "tw_coerced_bool"(object value):
    """0 or 1, for whatever equals it."""
    from tagwire.wire.scalars import BOOLEAN_BYTES

    return BOOLEAN_BYTES[value]


cdef public object coerced_uuid "tw_coerced_uuid"(object value):
    """The 16 bytes of a UUID."""
    from tagwire.wire.scalars import uuid_bytes

    return uuid_bytes(value)


cdef public object coerced_binary "tw_coerced_binary"(object value):
    """A buffer whose length is its bytes."""
    from tagwire.wire.scalars import binary

    return binary(value)


cdef public object coerced_array "tw_coerced_array"(object value):
    """A tuple of the elements of a list, or of a subclass of either."""
    if not issubclass(type(value), (tuple, list)):
        raise TypeError
    return tuple(value)


cdef public object coerced_struct "tw_coerced_struct"(const tw_struct *s, object value):
    """An object of the struct's class with the attributes of one of a subclass."""
    cdef object cls = <object><PyObject *>s.made.cls
    made = object.__new__(cls)
    if s.unknown_slot:
        setattr(made, "unknown_tags", value.unknown_tags)
    copy_attributes(made, value, s.items, s.items_count)
    copy_attributes(made, value, s.tagged, s.tagged_count)
    copy_attributes(made, value, s.missing, s.missing_count)
    return made


cdef int copy_attributes(object made, object value, const tw_field *fields, Py_ssize_t count) except -1:
    cdef Py_ssize_t index
    for index in range(count):
        if not fields[index].ignorable and fields[index].slot != TW_NOWHERE:
            name = <object>fields[index].name
            setattr(made, name, getattr(value, name))
    return 0


cdef public object other_tags "tw_other_tags"(const tw_struct *s, object unknown):
    """Unknown tagged fields as pairs of tag and buffer, in tag order; refuses tags that can't be, or are known."""
    if not isinstance(unknown, Mapping):
        raise TypeError
    cdef object highest = UVARINT_MAX if s.section == TW_TAGGED_SECTION else TAG_MAX
    cdef object known = <object>s.known_tags
    for tag in unknown:
        if type(tag) is not int or not 0 <= tag <= highest or tag in known:
            raise ValueError
    return tuple(sorted([(tag, coerced_binary(data)) for tag, data in unknown.items()], key=first))


def first(pair):
    """The tag of a pair: data are not compared."""
    return pair[0]


cdef public int values_differ "tw_values_differ"(object value, object other) except -1:
    """Return whether a value is not a default, as the interpreter decides it."""
    from tagwire.interpreter.value_walk import differs

    return differs(value, other)
