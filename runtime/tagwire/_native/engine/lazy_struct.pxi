"""Structs that are defaults are made when somebody looks.

Most messages that have tagged structs do not set them: a partition of a FetchResponse has three, and making those would
take longer than all the rest of it. They can't be shared, since objects may be changed. So decoding leaves their slots
empty, and the class's attribute is one that fills an empty slot at the first look.
"""

cdef object DELETED = object()  # what a slot holds after `del`: empty would mean the default


@final
@no_gc_clear
cdef class LateStruct:
    """An attribute of a data class whose default is a struct; takes the place of the slot's own descriptor."""

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
        value = TW_SLOT(<PyObject *>message, self.slot)
        if value == NULL:
            value = tw_lazy_value(<PyObject *>message, self.slot, &self.template.c)
            if value == NULL:
                reraise()
        if value == <PyObject *>DELETED:
            raise AttributeError(self.member.__name__)
        return <object>value

    def __set__(self, message, value):
        self.member.__set__(message, value)

    def __delete__(self, message):
        self.check(message)
        if TW_SLOT(<PyObject *>message, self.slot) == <PyObject *>DELETED:
            raise AttributeError(self.member.__name__)
        self.member.__set__(message, DELETED)

    cdef int check(self, object message) except -1:
        if not PyType_IsSubtype(Py_TYPE(message), <PyTypeObject *><PyObject *>self.owner):  # `__class__` may lie
            raise TypeError(f"{self.member!r} is no attribute of a {type(message).__name__}")
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
    """Let an empty slot mean the default; False for a class that can't be changed."""
    descriptor = getattr(cls, name)
    if type(descriptor) is LateStruct:
        return (<LateStruct>descriptor).template.cls is template.cls
    owner = descriptor.__objclass__
    try:
        setattr(owner, name, LateStruct(owner, descriptor, slot, template))
    except TypeError:
        return False
    return True
