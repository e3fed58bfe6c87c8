"""Cython declarations for plan.h and the headers it includes."""

from cpython.ref cimport PyObject
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

cdef extern from "engine/framing.h":
    enum:
        TW_REGISTERS
    int TW_FRAMES, TW_NOWHERE, TW_OBJECT, TW_TUPLE, TW_DICT, TW_CRC32, TW_CRC32C
    int TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM, TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED
    ctypedef struct tw_bits:
        int64_t mask, values
        uint8_t shift
    ctypedef struct tw_follow:
        int64_t mask
        uint8_t how
        Py_ssize_t slot, flag
    ctypedef struct tw_framing:
        uint8_t frame, is_usual, is_number, counts_itself, algorithm, has_equals, is_checked, is_guarded, unsigned_order, filled
        uint8_t keep, guard, base, scale, extent, counted_by, last, ordered, sum, codec_register
        int8_t mark, of, measured, covered
        int64_t guard_mask, guard_equals, equals, absent, hidden, codec_mask
        uint8_t codec_shift
        PyObject *codecs
        Py_ssize_t flag_slot
        int64_t flag_mask
        Py_ssize_t bits_count, follows_count
        const tw_bits *bits
        const tw_follow *follows

cdef extern from "engine/crc32c.h":
    ctypedef struct tw_crc32c_tables:
        pass
    uint32_t TW_CRC32_POLYNOMIAL
    void tw_crc_prepare(tw_crc32c_tables *, uint32_t)
    void tw_crc32c_prepare(tw_crc32c_tables *)
    uint32_t tw_crc32c(const tw_crc32c_tables *, const uint8_t *, int64_t)
    uint32_t tw_crc32c_extended(const tw_crc32c_tables *, uint32_t, const uint8_t *, int64_t)

cdef extern from "engine/plan.h":
    int TW_BOOL, TW_INT8, TW_UINT8, TW_INT16, TW_UINT16, TW_INT32, TW_UINT32, TW_INT64, TW_UINT64
    int TW_FLOAT32, TW_FLOAT64, TW_UUID
    int TW_VARINT, TW_ENUM, TW_BLOCK, TW_STRING, TW_BINARY, TW_ARRAY, TW_STRUCT, TW_OPTIONAL
    int TW_NO_LENGTH, TW_LENGTH_INT16, TW_LENGTH_INT32, TW_COMPACT, TW_LENGTH_VARINT, TW_LENGTH_UVARINT
    int TW_NO_MARKER, TW_MARKER_INT8, TW_MARKER_UVARINT
    int TW_TAGGED_SECTION, TW_OPTIONAL_BUFFER
    const uint8_t *tw_width
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
    object tw_class_attribute(PyTypeObject *, PyObject *)
    int TW_FREE_THREADED
    PyObject *TW_SLOT(void *, Py_ssize_t)
    PyObject *tw_slot(PyObject *, Py_ssize_t)
    void tw_release(PyObject **)
    void tw_immortalize(object)
    bint tw_claim(int *)
    void tw_leave(int *)
    void TW_PUBLISH(...)
    bint tw_exact_int(object, int64_t *)
    Py_ssize_t TW_BYTES_SIZE(PyObject *)
    Py_ssize_t TW_TUPLE_SIZE(PyObject *)
    PyObject *TW_TUPLE_GET(PyObject *, Py_ssize_t)
    const uint8_t *TW_BYTES_DATA(PyObject *)

    int TW_INTS_LOW, TW_INTS_HIGH, TW_MOST_TAGGED

    ctypedef struct tw_fresh
    ctypedef struct tw_rules
    ctypedef struct tw_struct
    ctypedef struct tw_enum:
        Py_ssize_t count
        const int64_t *numbers
        PyObject **members
        PyObject **names
        PyObject *by_name
        int closed
    ctypedef struct tw_field:
        uint8_t kind, length, nullable, marker, bits, zigzag, ignorable, late, wide
        int32_t tag, run, run_count, number
        int64_t longest, minimum
        Py_ssize_t slot
        PyObject *name
        const tw_field *element
        const tw_enum *members
        const tw_struct *child
        PyObject *value
        const tw_fresh *fresh
        const tw_framing *framing
        const void *chosen
    ctypedef struct tw_class:
        PyTypeObject *cls
        allocfunc alloc
        Py_ssize_t slots_size
    ctypedef struct tw_fresh:
        tw_class factory
        Py_ssize_t count
        const tw_field *fields
    ctypedef struct tw_look:
        pass
    ctypedef struct tw_struct:
        tw_class factory
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
        const tw_rules *rules
        uint8_t framed, shape, enclosed, leaves, marks_count, tuple_size, atomic
        uint8_t has_chosen, has_chosen_missing, has_chosen_tags
    ctypedef struct tw_shared:
        PyObject *no_tags
        PyObject *empty_tuple
        PyObject *empty_string
        PyObject *write_errors
        PyTypeObject *uuid
        allocfunc uuid_alloc
        PyObject *uuid_safety
        Py_ssize_t uuid_int_slot, uuid_safety_slot
        int moves_views
        tw_crc32c_tables crc32c
        PyObject **ints
    ctypedef struct tw_good:
        const uint8_t *start
        const uint8_t *p
        int64_t count, elements, last
    ctypedef struct tw_reader:
        const uint8_t *p
        const uint8_t *end
        const uint8_t *start
        PyObject *views
        const tw_shared *shared
        int64_t elements, unknown_tags, unknown_tag_bytes
        int untracked, is_decompressed, trusted
        int64_t *known
        PyObject *limits
        PyObject *numbers_tuple
        const uint8_t *rejected
        tw_good good[4]
        int good_count
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
        void *grow

