"""Find where data classes store their attributes, and check that the engine may write there.

The offsets come from the class's `Py_tp_members`, and are verified with a test object. NotNative is raised for a class
that overrides how attributes are read or set.
"""


cdef extern from "engine/tracking.h":
    bint tw_is_atomic(PyObject *)


class NotNative(Exception):
    """Raised for a layout or class that only the pure Python engine supports. The message explains why."""


cdef Py_ssize_t slot_of(object cls, str name) except -1:
    """Return the offset of the attribute `name` in objects of `cls`."""
    cdef PyMemberDef *member
    cdef bytes encoded = name.encode()
    descriptor = getattr(cls, name, None)
    if type(descriptor) is LateStruct:
        return (<LateStruct>descriptor).slot
    if type(descriptor) is not MemberDescriptorType:
        raise NotNative(f"{cls.__name__}.{name} is not a slot; the engine supports only attributes that are slots")
    member = <PyMemberDef *>PyType_GetSlot(<PyTypeObject *><PyObject *>descriptor.__objclass__, Py_tp_members)
    while member != NULL and member.name != NULL:
        if member.name == encoded and member.type == T_OBJECT_EX:
            return member.offset
        member += 1
    raise NotNative(f"the engine can't find where objects of {cls.__name__} store the slot {name}")


cdef int check_class(object cls) except -1:
    """Raise NotNative if objects of this class can't be created or read without calling Python."""
    if not isinstance(cls, type):
        raise NotNative(f"{cls!r} is not a class")
    if cls.__itemsize__ or not cls.__flags__ & HAS_GC:
        raise NotNative(f"objects of {cls.__name__} have an unsupported memory layout")
    try:
        object.__new__(cls)
    except TypeError as error:
        raise NotNative(f"{cls.__name__} can't be created without arguments: {error}") from None
    for name in ("__setattr__", "__getattribute__"):
        if getattr(cls, name) is not getattr(object, name):
            raise NotNative(f"{cls.__name__} defines its own {name}, which the engine would not call")
    if hasattr(cls, "__getattr__"):
        raise NotNative(f"{cls.__name__} defines its own __getattr__, which the engine would not call")
    return 0


cdef Py_ssize_t checked_slot(object cls, str name) except -1:
    """Return `slot_of(cls, name)`. Raise NotNative if objects of this class don't store the attribute at that offset."""
    cdef Py_ssize_t slot = slot_of(cls, name)
    probe = object.__new__(cls)
    mark = object()
    if slot < 0 or slot + <Py_ssize_t>sizeof(PyObject *) > cls.__basicsize__:
        raise NotNative(f"objects of {cls.__name__} have an unsupported memory layout: the slot {name} is outside the object")
    if TW_SLOT(<PyObject *>probe, slot) != NULL:
        raise NotNative(f"objects of {cls.__name__} have an unsupported memory layout: the slot {name} is not empty in a new object")
    getattr(cls, name).__set__(probe, mark)  # UUIDs reject `setattr`
    if TW_SLOT(<PyObject *>probe, slot) != <PyObject *>mark:
        raise NotNative(f"objects of {cls.__name__} have an unsupported memory layout: the slot {name} is not at its declared offset")
    return slot


cdef int find_slots(object cls, tuple names, Py_ssize_t *slots) except -1:
    """Store in `slots` the offset of each attribute that `names` lists."""
    cdef Py_ssize_t index
    for index, name in enumerate(names):
        slots[index] = checked_slot(cls, name)
    return 0


cdef inline object slot_value(object holder, Py_ssize_t slot):
    """Return the value of an object's attribute, or None if it was deleted."""
    cdef PyObject *value = tw_slot(<PyObject *>holder, slot)
    if value == NULL:
        return None
    found = <object>value
    tw_release(&value)
    return found


cdef allocfunc allocator(object cls) except NULL:
    """Return the C function that allocates an object of this class with empty slots."""
    return <allocfunc>PyType_GetSlot(<PyTypeObject *><PyObject *>cls, Py_tp_alloc)


cdef tw_class class_of(object cls) except *:
    """Return the data for allocating objects of `cls`, which must pass `check_class` and stay alive."""
    cdef tw_class factory
    factory.cls = <PyTypeObject *><PyObject *>cls
    factory.alloc = allocator(cls)
    factory.slots_size = 0
    if not cls.__dictoffset__ and not cls.__weakrefoffset__:
        factory.slots_size = cls.__basicsize__ - <Py_ssize_t>object.__basicsize__
    return factory


cdef tw_shared SHARED  # the data that all plans share
cdef list SHARED_OBJECTS = [NO_TAGS, (), "", WRITE_ERRORS]  # the objects to which SHARED points


cdef int prepare_shared() except -1:
    SHARED.no_tags = <PyObject *>SHARED_OBJECTS[0]
    SHARED.empty_tuple = <PyObject *>SHARED_OBJECTS[1]
    SHARED.empty_string = <PyObject *>SHARED_OBJECTS[2]
    SHARED.write_errors = <PyObject *>WRITE_ERRORS
    SHARED.moves_views = not TW_FREE_THREADED and can_move_views()
    tw_crc32c_prepare(&SHARED.crc32c)
    for number in range(TW_INTS_LOW, TW_INTS_HIGH + 1):
        SHARED_OBJECTS.append(number)
        SHARED.ints[number - TW_INTS_LOW] = <PyObject *>number
    for each in (*SHARED_OBJECTS, DELETED):
        tw_immortalize(each)
    return 0


cdef int learn_uuids() except -1:
    """Find the slots of `uuid.UUID`. Imports `uuid` only if a plan has UUIDs."""
    if SHARED.uuid != NULL:
        return 0
    from uuid import UUID, SafeUUID

    if UUID.__itemsize__ or not UUID.__flags__ & HAS_GC:
        raise NotNative("uuid.UUID has an unsupported memory layout")
    SHARED.uuid_int_slot = checked_slot(UUID, "int")
    SHARED.uuid_safety_slot = checked_slot(UUID, "is_safe")
    SHARED_OBJECTS.extend((UUID, SafeUUID.unknown))
    tw_immortalize(SafeUUID.unknown)
    SHARED.uuid_safety = <PyObject *>SafeUUID.unknown
    SHARED.uuid_alloc = allocator(UUID)
    # Set `uuid` last, because it tells other threads that the other UUID members are also set.
    TW_PUBLISH(SHARED.uuid, <PyTypeObject *><PyObject *>UUID)
    return 0


cdef bint can_move_views() except -1:
    """Return whether tw_moved_view slices memoryviews correctly in this version of Python."""
    whole = memoryview(bytearray(b"0123456789"))
    moved = tw_moved_view(whole, 3, 4)
    moved[0] = 0x61
    facts = (bytes(moved), len(moved), moved.nbytes, moved.shape, moved.strides, moved.contiguous, moved.obj is whole.obj)
    return facts == (b"a456", 4, 4, (4,), (1,), True, True) and bytes(whole) == b"012a456789"
