"""What the headers define, as Cython sees it."""

from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

cdef extern from "plan.h":
    ctypedef struct PyTypeObject:
        pass
    ctypedef PyObject *(*allocfunc)(PyTypeObject *, Py_ssize_t)
    ctypedef struct PyMemberDef:
        const char *name
        int type
        Py_ssize_t offset
    int T_OBJECT_EX, Py_tp_members, Py_tp_alloc
    void *PyType_GetSlot(PyTypeObject *, int)
    PyObject *tw_class_attribute(PyTypeObject *, PyObject *)
    PyObject *TW_SLOT(void *, Py_ssize_t)
    bint tw_plain_int(object, int64_t *)
    Py_ssize_t TW_BYTES_SIZE(PyObject *)
    const uint8_t *TW_BYTES_DATA(PyObject *)

    int TW_BOOL, TW_INT8, TW_UINT8, TW_INT16, TW_UINT16, TW_INT32, TW_UINT32, TW_INT64, TW_UINT64, TW_FLOAT64, TW_UUID
    int TW_VARINT, TW_TEXT, TW_BINARY, TW_ARRAY, TW_STRUCT
    int TW_NO_LENGTH, TW_LENGTH_INT16, TW_LENGTH_INT32, TW_COMPACT, TW_LENGTH_VARINT, TW_LENGTH_UVARINT
    int TW_NO_MARKER, TW_MARKER_INT8, TW_MARKER_UVARINT
    int TW_NO_SECTION, TW_TAGGED_SECTION, TW_OPTIONAL_BUFFER
    int TW_INTS_LOW, TW_INTS_HIGH
    const uint8_t *tw_width

    ctypedef struct tw_fresh
    ctypedef struct tw_struct
    ctypedef struct tw_field:
        uint8_t kind, length, nullable, marker, bits, zigzag, ignorable, late
        int32_t tag, run
        int64_t longest, minimum
        Py_ssize_t slot
        PyObject *name
        const tw_field *element
        const tw_struct *child
        PyObject *value
        const tw_fresh *fresh
    ctypedef struct tw_class:
        PyTypeObject *cls
        allocfunc alloc
        Py_ssize_t slots_size
    ctypedef struct tw_fresh:
        tw_class made
        Py_ssize_t count
        const tw_field *fields
    ctypedef struct tw_struct:
        tw_class made
        uint8_t section, length, entry_length, counts_tag
        Py_ssize_t items_count, tagged_count, missing_count, filled_count
        const tw_field *items
        const tw_field *tagged
        const tw_field *missing
        const tw_field *filled
        Py_ssize_t unknown_slot
        PyObject *known_tags
    ctypedef struct tw_shared:
        PyObject *no_tags
        PyObject *empty_tuple
        PyObject *empty_text
        PyTypeObject *uuid
        allocfunc uuid_alloc
        PyObject *uuid_safety
        Py_ssize_t uuid_int_slot, uuid_safety_slot
        int moves_views
        PyObject **ints
    ctypedef struct tw_reader:
        const uint8_t *p
        const uint8_t *end
        const uint8_t *start
        PyObject *views
        const tw_shared *shared
        int64_t elements, unknown_tags, unknown_tag_bytes
        int untracked
    ctypedef struct tw_writer:
        uint8_t *p
        uint8_t *end
        uint8_t *start
        PyObject *bytes
        uint8_t *block
        int64_t counted
        int counting
        Py_ssize_t expected
        const tw_shared *shared

cdef extern from "defaults.h":
    PyObject *tw_late_value(PyObject *, Py_ssize_t, const tw_fresh *)

cdef extern from "values.h":
    object tw_moved_view(object, Py_ssize_t, Py_ssize_t)

cdef extern from "decode.h":
    PyObject *tw_read_message(const tw_struct *, tw_reader *)

cdef extern from "encode.h":
    int TW_MOST_TAGGED
    int tw_write_object(const tw_struct *, PyObject *, tw_writer *)
    int64_t tw_written(const tw_writer *)
    PyObject *tw_finish(tw_writer *)
    void tw_discard(tw_writer *)

cdef extern from "Python.h":
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    int PyErr_ExceptionMatches(object)
    PyTypeObject *Py_TYPE(object)
