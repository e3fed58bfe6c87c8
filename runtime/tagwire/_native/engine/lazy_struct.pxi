"""Create default structs only when they are accessed.

Most messages don't set their tagged structs. Decoding leaves the slots of these fields empty to save time, and a
descriptor fills an empty slot on first access. Objects can't share a default struct, because a user may modify it.
"""

cdef object DELETED = object()  # stored in the slot of a deleted attribute; an empty slot means the default


@final
@no_gc_clear
cdef class LateStruct:
    """A descriptor for an attribute whose default is a struct. Replaces the descriptor that `__slots__` created."""

    cdef object owner
    cdef object member
    cdef Py_ssize_t slot
    cdef Template template

    def __cinit__(self, owner, member, Py_ssize_t slot, Template template):
        self.owner = owner
        self.member = member
        self.slot = slot
        self.template = template

    def __get__(self, message, cls):
        cdef PyObject *value
        if message is None:
            return self
        self.check(message)
        value = tw_slot(<PyObject *>message, self.slot)
        if value == NULL:
            value = tw_lazy_value(<PyObject *>message, self.slot, &self.template.c)
            if value == NULL:
                reraise()
        found = <object>value
        tw_release(&value)
        if found is DELETED:
            raise AttributeError(self.member.__name__)
        return found

    def __set__(self, message, value):
        self.member.__set__(message, value)

    def __delete__(self, message):
        self.check(message)
        if TW_SLOT(<PyObject *>message, self.slot) == <PyObject *>DELETED:
            raise AttributeError(self.member.__name__)
        self.member.__set__(message, DELETED)

    cdef int check(self, object message) except -1:
        # `isinstance` isn't used, because it trusts `__class__`, which an object can override.
        if not PyType_IsSubtype(Py_TYPE(message), <PyTypeObject *><PyObject *>self.owner):
            raise TypeError(f"{self.member!r} is not an attribute of {type(message).__name__}")
        return 0

    @property
    def __doc__(self):
        return self.member.__doc__

    @property
    def __name__(self):
        return self.member.__name__

    @property
    def __objclass__(self):
        return self.owner


cdef bint make_lazy(object cls, str name, Py_ssize_t slot, Template template) except -1:
    """Replace an attribute's descriptor with a `LateStruct`. Return False if the class does not allow this."""
    descriptor = getattr(cls, name)
    if type(descriptor) is LateStruct:
        return (<LateStruct>descriptor).template.cls is template.cls
    owner = descriptor.__objclass__
    try:
        setattr(owner, name, LateStruct(owner, descriptor, slot, template))
    except TypeError:
        return False
    return True
