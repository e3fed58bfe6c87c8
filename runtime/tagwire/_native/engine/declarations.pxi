"""What the headers define, as Cython sees it."""

from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int32_t, int64_t, uint8_t

cdef extern from "engine/forms.h":
    enum:
        TW_REGISTERS
    int TW_FRAMES, TW_NOWHERE, TW_OBJECT, TW_TUPLE, TW_DICT, TW_CRC32, TW_CRC32C
    int TW_VALUE, TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM, TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED
    ctypedef struct tw_bits:
        int64_t mask, values
        uint8_t shift
    ctypedef struct tw_follow:
        int64_t mask
        uint8_t how
        Py_ssize_t slot, flag
    ctypedef struct tw_form:
        uint8_t frame, is_usual, is_number, counts_itself, algorithm, has_equals, is_checked, is_guarded, unsigned_order, filled
        uint8_t keep, guard, base, scale, extent, counted_by, last, ordered, sum, packing
        int8_t place, of, measured, covered
        int64_t guard_mask, guard_equals, equals, absent, hidden, packing_mask
        uint8_t packing_shift
        PyObject *codecs
        Py_ssize_t flag_slot
        int64_t flag_mask
        Py_ssize_t bits_count, follows_count
        const tw_bits *bits
        const tw_follow *follows

cdef extern from "engine/crc32c.h":
    ctypedef struct tw_crc32c_tables:
        pass
    void tw_crc32c_prepare(tw_crc32c_tables *)

cdef extern from "engine/plan.h":
    int TW_UNSIGNED, TW_ZIGZAG, TW_TWOS_COMPLEMENT
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
    Py_ssize_t TW_TUPLE_SIZE(PyObject *)
    PyObject *TW_TUPLE_GET(PyObject *, Py_ssize_t)
    const uint8_t *TW_BYTES_DATA(PyObject *)

    int TW_INTS_LOW, TW_INTS_HIGH

    ctypedef struct tw_fresh
    ctypedef struct tw_struct
    ctypedef struct tw_field:
        uint8_t kind, length, nullable, marker, bits, zigzag, ignorable, late
        int32_t tag, run, run_count, number
        int64_t longest, minimum
        Py_ssize_t slot
        PyObject *name
        const tw_field *element
        const tw_struct *child
        PyObject *value
        const tw_fresh *fresh
        const tw_form *form
    ctypedef struct tw_class:
        PyTypeObject *cls
        allocfunc alloc
        Py_ssize_t slots_size
    ctypedef struct tw_fresh:
        tw_class made
        Py_ssize_t count
        const tw_field *fields
    ctypedef struct tw_look:
        pass
    ctypedef struct tw_struct:
        tw_class made
        uint8_t section, length, entry_length, counts_tag
        const tw_field *enclosing
        Py_ssize_t items_count, tagged_count, missing_count, filled_count
        const tw_field *items
        const tw_look *looks
        const tw_field *tagged
        const tw_field *missing
        const tw_field *filled
        Py_ssize_t unknown_slot
        PyObject *known_tags
        uint8_t framed, shape, enclosed, leaves, marks_count, tuple_size
    ctypedef struct tw_shared:
        PyObject *no_tags
        PyObject *empty_tuple
        PyObject *empty_text
        PyObject *write_faults
        PyObject *deleted
        PyTypeObject *uuid
        allocfunc uuid_alloc
        PyObject *uuid_safety
        Py_ssize_t uuid_int_slot, uuid_safety_slot
        int moves_views
        tw_crc32c_tables crc32c
        PyObject **ints
    ctypedef struct tw_reader:
        const uint8_t *p
        const uint8_t *end
        const uint8_t *start
        PyObject *views
        const tw_shared *shared
        int64_t elements, unknown_tags, unknown_tag_bytes
        int untracked, packed, trusted
        int64_t *known
        PyObject *limits
        PyObject *numbers_tuple
    ctypedef struct tw_writer:
        uint8_t *p
        uint8_t *end
        uint8_t *start
        PyObject *bytes
        uint8_t *block
        int64_t counted
        int counting, gap, unsure
        int64_t *known
        int64_t *highest
        int64_t implied
        Py_ssize_t implied_slot
        Py_ssize_t expected
        const tw_shared *shared

cdef extern from "engine/defaults.h":
    PyObject *tw_late_value(PyObject *, Py_ssize_t, const tw_fresh *)
    PyObject *tw_new_object(const tw_class *, int)

cdef extern from "engine/values.h":
    object tw_moved_view(object, Py_ssize_t, Py_ssize_t)

cdef extern from "engine/decode.h":
    PyObject *tw_read_message(const tw_struct *, tw_reader *)

cdef extern from "engine/spans.h":
    int TW_ROLES, TW_SPAN_FIELDS
    ctypedef struct tw_spans:
        pass
    void tw_start_spans(tw_spans *, PyObject *, int32_t, const uint8_t *)
    int tw_finish_spans(tw_spans *) except -1

cdef extern from "engine/walk.h":
    int TW_NO_FAULT
    ctypedef struct tw_walk:
        tw_reader r
        int64_t depth
        tw_spans spans
        bint has_known_tags
        int site
        int64_t last, size
        PyObject *path
        PyObject *open
    int tw_walk_message(const tw_struct *, tw_walk *, bint)

cdef extern from "engine/encode.h":
    int TW_MOST_TAGGED
    int tw_write_object(const tw_struct *, PyObject *, tw_writer *)
    int64_t tw_written(const tw_writer *)
    PyObject *tw_finish(tw_writer *)
    int tw_put(tw_writer *, const void *, Py_ssize_t)
    void tw_discard(tw_writer *)

cdef extern from "engine/measure.h":
    void tw_choose_looks(tw_struct *, tw_look *)
    int TW_WRITES_ALL
    ctypedef struct tw_measure:
        const tw_shared *shared
        int64_t size
        int site
        PyObject *path
    int tw_measure_message(const tw_struct *, PyObject *, tw_measure *)

cdef extern from "engine/number_reading.h":
    void tw_choose_ways_of(const tw_struct *)

cdef extern from "engine/framed_decode.h":
    PyObject *tw_read_framed(const tw_struct *, tw_reader *)
    PyObject *tw_read_again(const tw_struct *, tw_reader *, PyObject *)

cdef extern from "engine/framed_encode.h":
    int tw_write_framed(const tw_struct *, PyObject *, tw_writer *)

cdef extern from "engine/choice.h":
    enum:
        TW_MOST_COLUMNS
    ctypedef struct tw_choice
    ctypedef struct tw_hole:
        int column
        bint is_list
        const tw_field *field
        PyObject *value
    ctypedef struct tw_chosen:
        const tw_field *field
        const tw_choice *inside
        int column
        uint8_t each, is_row, has_row, has_structs
        Py_ssize_t columns_count, holes_count
        const int *columns
        const tw_hole *holes
    ctypedef struct tw_choice:
        const tw_struct *plan
        const tw_field *items
        const tw_chosen **chosen
        Py_ssize_t items_count, tagged_count, missing_count
        const tw_chosen *tagged
        const tw_chosen *missing

cdef extern from "engine/collect.h":
    ctypedef struct tw_collect:
        tw_walk w
        PyObject *rows
        PyObject *row
        Py_ssize_t width
        bint marking
        int64_t *marks
        Py_ssize_t marks_count
    int tw_collect_message(const tw_choice *, tw_collect *, bint)

cdef extern from "engine/splice.h":
    ctypedef struct tw_splice:
        tw_writer w
        const uint8_t *start
        Py_ssize_t size
        const int64_t *marks
        PyObject *rows
        PyObject *changed
        PyObject *drop
        PyObject *appended
    int tw_splice_message(const tw_choice *, tw_splice *, bint)

cdef extern from "Python.h":
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    int PyErr_ExceptionMatches(object)
    PyTypeObject *Py_TYPE(object)
    bint PyType_IsSubtype(PyTypeObject *, PyTypeObject *)
    Py_ssize_t Py_REFCNT(PyObject *)
    char *PyByteArray_AsString(object) except NULL
    bint PyBytes_CheckExact(PyObject *)
    bint PyList_CheckExact(PyObject *)
    Py_ssize_t PyList_Size(PyObject *) except -1
    bint PyLong_CheckExact(PyObject *)
    bint PyTuple_CheckExact(PyObject *)
