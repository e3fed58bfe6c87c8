"""Provide `decode`, `encode` and related methods for message classes, without Python calls.

`decode` is a method of the class's codec, so a call does not create a bound method. `encode` is a method descriptor, as
in built-in types.
"""

cdef enum:
    TABLE = 64  # number of versions in a codec's table; other versions are looked up in a dict


@final
@no_gc_clear
cdef class Codec:
    """The native plans of a message class, one per version, and the methods that use them."""

    cdef readonly object message
    cdef PyTypeObject *cls
    cdef int64_t low
    cdef PyObject *table[TABLE]
    cdef list kept

    def __cinit__(self, message):
        self.message = message
        self.cls = <PyTypeObject *><PyObject *>message
        self.low = message.VERSIONS.lowest
        self.kept = []

    def calls(self):
        """Return a dict with the methods to add to the message class, by name."""
        return {
            "decode": self.decode,
            "decode_from": self.decode_from,
            "encode": descriptor(self.message, "encode"),
            "encoded_size": descriptor(self.message, "encoded_size"),
        }

    def decode(self, data, version, *, strict=True, views=False, limits=NO_LIMITS, gc=True):
        """decode($self, data, version, *, strict=True, views=False, limits=..., gc=True)\n--\n\nReturn the message that consists of all bytes in `data`; see `tagwire.Message.decode`."""
        cdef Plan plan = self.plan(version)
        if plan is None:
            return self.message.serializer(version).decode(data, strict=strict, views=views, limits=limits)
        return plan.read(data, 0, NULL, strict, views, limits, gc)

    def decode_from(self, data, version, offset=0, *, strict=True, views=False, limits=NO_LIMITS, gc=True):
        """decode_from($self, data, version, offset=0, *, strict=True, views=False, limits=..., gc=True)\n--\n\nReturn the message that begins at `offset`, and the offset after it; otherwise like `decode`."""
        cdef Py_ssize_t end
        cdef Plan plan = self.plan(version)
        if plan is None:
            serializer = self.message.serializer(version)
            return serializer.decode_from(data, offset, strict=strict, views=views, limits=limits)
        value = plan.read(data, offset, &end, strict, views, limits, gc)
        return value, end

    cdef Plan plan(self, object version):
        """Return a version's plan, or None if only pure Python supports this version.

        Raises UnsupportedVersionError for an unknown version.
        """
        cdef int64_t index
        if tw_exact_int(version, &index) and self.low <= index < self.low + TABLE and self.table[index - self.low] != NULL:
            return <Plan>self.table[index - self.low]
        found = self.message.serializer(version)
        if type(found) is not Plan:
            return None
        index = found.VERSION - self.low
        if 0 <= index < TABLE and self.table[index] == NULL:
            self.kept.append(found)
            TW_PUBLISH(self.table[index], <PyObject *>found)
        return found


cdef str CODEC = "_codec"
cdef PyTypeObject *CODEC_TYPE = <PyTypeObject *><PyObject *>Codec
cdef dict DEFINED = {}  # maps names to the definitions of native methods, each a PyMethodDef in a Block
cdef dict PYTHON_CALLS = {}  # maps names to the Python methods that native methods replace


cdef int define(const char *name, void *function, int flags, const char *doc) except -1:
    """Define a native method. The docstring `doc` must begin with the method's signature."""
    cdef Block block = Block(sizeof(PyMethodDef))
    cdef PyMethodDef *method = <PyMethodDef *>block.at
    method.ml_name, method.ml_meth, method.ml_flags, method.ml_doc = name, function, flags, doc
    DEFINED[(<bytes>name).decode()] = block
    return 0


define(
    "encode", <void *>encode, METH_FASTCALL | METH_KEYWORDS,
    b"encode($self, version, *, on_loss='drop')\n--\n\n"
    b"Return the message as bytes. Raises EncodeError for a value that this version can't represent.",
)
define(
    "encoded_size", <void *>encoded_size, METH_FASTCALL | METH_KEYWORDS,
    b"encoded_size($self, version)\n--\n\nReturn the number of bytes that `encode` returns. Raises the same errors.",
)


cdef object descriptor(object cls, str name):
    """Return a native method for the class `cls`."""
    return PyDescr_NewMethod(<PyTypeObject *><PyObject *>cls, <PyMethodDef *>(<Block>DEFINED[name]).at)


cdef inline bint sort_arguments(
    tuple known, Py_ssize_t positional, PyObject **args, Py_ssize_t count, PyObject *names, PyObject **given
) noexcept:
    """Store borrowed references to a method's arguments in `given`, in the order of the names in `known`.

    The caller fills `given` with the defaults. `positional` is the number of positional parameters. Return False
    if the Python method must interpret the arguments.
    """
    cdef PyObject *name
    cdef Py_ssize_t index, position, size = 0 if names == NULL else TW_TUPLE_SIZE(names)
    cdef Py_ssize_t known_count = TW_TUPLE_SIZE(<PyObject *>known)
    if count > positional:
        return False
    for index in range(count):
        given[index] = args[index]
    for index in range(size):
        position, name = count, TW_TUPLE_GET(names, index)
        while position < known_count and name != TW_TUPLE_GET(<PyObject *>known, position):
            position += 1
        if position == known_count:  # the keyword is unknown, or is not an interned string
            return False
        given[position] = args[count + index]
    return True


cdef object call_in_python(object method, object struct, PyObject **args, Py_ssize_t count, PyObject *names):
    cdef Py_ssize_t index
    cdef dict named = {}
    if names != NULL:
        named = {name: <object>args[count + index] for index, name in enumerate(<tuple>names)}
    return method(struct, *[<object>args[index] for index in range(count)], **named)


cdef object encode(object message, PyObject **args, Py_ssize_t count, PyObject *names):
    if names != NULL and "on_loss" in <tuple>names:
        return encode_with_options(message, args, count, <tuple>names)
    cdef object version = <object>version_argument("encode", args, count, names)
    cdef Plan plan = plan_of(message, version)
    if plan is None:
        return message.serializer(version).encode(message)
    return plan.write(message, False)


cdef object encode_with_options(object message, PyObject **args, Py_ssize_t count, tuple names):
    from tagwire.message.losses import encode_with

    cdef list values = [<object>args[index] for index in range(count + len(names))]
    return encode_with(message, *values[:count], **dict(zip(names, values[count:])))


cdef object encoded_size(object message, PyObject **args, Py_ssize_t count, PyObject *names):
    cdef object version = <object>version_argument("encoded_size", args, count, names)
    cdef Plan plan = plan_of(message, version)
    if plan is None:
        return message.serializer(version).encoded_size(message)
    return plan.encoded_size(message)


cdef inline PyObject *version_argument(str method, PyObject **args, Py_ssize_t count, PyObject *names) except NULL:
    """Parse the arguments of a method that accepts only a version. Return the version as a borrowed reference."""
    if names == NULL and count == 1:
        return args[0]
    if names != NULL and count == 0 and <object>names == ("version",):
        return args[0]
    raise TypeError(f"{method}() takes one positional argument, the version")


cdef inline Plan plan_of(object message, object version):
    """Return the plan for encoding a message in this version, or None if only pure Python supports this version."""
    cdef object found = tw_class_attribute(Py_TYPE(message), <PyObject *>CODEC)
    if Py_TYPE(found) == CODEC_TYPE and (<Codec>found).cls == Py_TYPE(message):
        return (<Codec>found).plan(version)
    return Codec(type(message)).plan(version)  # a subclass has no codec
