"""Handle rare cases for the main loops: convert values of types that decoding never creates, check unknown tags, and
compare values.

C calls these functions by the names in coercion.h. These functions accept the same values as the pure Python engine,
and reject a value with one of the exceptions in WRITE_ERRORS.
"""


cdef public object coerced_bool "tw_coerced_bool"(object value):
    """Convert a value that equals 0 or 1 to the int 0 or 1."""
    from tagwire.wire.scalars import BOOLEAN_BYTES

    return BOOLEAN_BYTES[value]


cdef public object coerced_uuid "tw_coerced_uuid"(object value):
    from tagwire.wire.scalars import uuid_bytes

    return uuid_bytes(value)


cdef public object coerced_binary "tw_coerced_binary"(object value):
    """Convert a bytes-like value to a buffer whose `len` is its size in bytes."""
    from tagwire.wire.scalars import binary

    return binary(value)


cdef public object coerced_array "tw_coerced_array"(object value):
    """Convert a list or tuple, or an instance of a subclass, to an exact tuple."""
    if not issubclass(type(value), (tuple, list)):
        raise TypeError
    return tuple(value)


cdef public object coerced_struct "tw_coerced_struct"(const tw_struct *s, object value):
    """Convert an instance of a subclass: copy its attributes to a new object of the struct's own class."""
    cdef object cls = <object><PyObject *>s.factory.cls
    copy = object.__new__(cls)
    if s.unknown_slot:
        setattr(copy, "unknown_tags", value.unknown_tags)
    copy_attributes(copy, value, s.items, s.items_count)
    copy_attributes(copy, value, s.tagged, s.tagged_count)
    copy_attributes(copy, value, s.missing, s.missing_count)
    return copy


cdef int copy_attributes(object copy, object value, const tw_field *fields, Py_ssize_t count) except -1:
    cdef Py_ssize_t index
    for index in range(count):
        if not fields[index].ignorable and fields[index].slot != TW_NOWHERE:
            name = <object>fields[index].name
            setattr(copy, name, getattr(value, name))
    return 0


cdef public object other_tags "tw_other_tags"(const tw_struct *s, object unknown):
    """Return unknown tags as (tag, buffer) pairs in tag order. Raises ValueError for an invalid or known tag."""
    if not isinstance(unknown, Mapping):
        raise TypeError
    cdef object highest = UVARINT_MAX if s.section == TW_TAGGED_SECTION else TAG_MAX
    cdef object known = <object>s.known_tags
    cdef list pairs = list((unknown.copy() if type(unknown) is dict else unknown).items())
    for tag, _ in pairs:
        if type(tag) is not int or not 0 <= tag <= highest or tag in known:
            raise ValueError
    return tuple(sorted([(tag, coerced_binary(data)) for tag, data in pairs], key=itemgetter(0)))


cdef public int values_differ "tw_values_differ"(object value, object other) except -1:
    """Ask the layout interpreter whether a value differs from a field's default."""
    from tagwire.interpreter.value_walk import differs

    return differs(value, other)
