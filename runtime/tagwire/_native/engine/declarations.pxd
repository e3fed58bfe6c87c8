"""Cython declarations for the engine's headers, except for those in plan.pxd."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from engine.plan cimport *

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
    object PyUnicode_DecodeUTF8(const char *, Py_ssize_t, const char *)
    ctypedef struct PyMethodDef:
        const char *ml_name
        void *ml_meth
        int ml_flags
        const char *ml_doc
    int METH_FASTCALL, METH_KEYWORDS, METH_NOARGS, METH_O
    object PyDescr_NewMethod(PyTypeObject *, PyMethodDef *)

cdef extern from "engine/compat.h":
    int tw_pause_gc()
    void tw_resume_gc(int)
    ctypedef PyObject *(*getiterfunc)(PyObject *)
    object tw_iter_method(PyTypeObject *, PyMethodDef *, getiterfunc)

cdef extern from "engine/defaults.h":
    PyObject *tw_lazy_value(PyObject *, Py_ssize_t, const tw_fresh *)
    PyObject *tw_new_object(const tw_class *, int)

cdef extern from "engine/values.h":
    object tw_moved_view(object, Py_ssize_t, Py_ssize_t)

cdef extern from "engine/decode.h":
    PyObject *tw_read_message(const tw_struct *, tw_reader *)
    PyObject *tw_read_framed(const tw_struct *, tw_reader *)
    PyObject *tw_read_again(const tw_struct *, tw_reader *, PyObject *)

cdef extern from "engine/spans.h":
    ctypedef struct tw_spans:
        pass
    void tw_start_spans(tw_spans *, PyObject *, int32_t, const uint8_t *)
    int tw_finish_spans(tw_spans *) except -1

cdef extern from "engine/collect.h":
    ctypedef struct tw_collect:
        PyObject *rows
        Py_ssize_t width
        bint marking
        int64_t *marks

cdef extern from "engine/walk.h":
    int TW_NO_ERROR
    ctypedef struct tw_walk:
        tw_reader r
        int64_t depth
        tw_spans spans
        bint has_known_tags
        int stage
        int64_t last, size
        PyObject *path
        PyObject *open
        tw_collect *c
    int tw_walk_message(const tw_struct *, tw_walk *, bint)
    int tw_collect_message(const tw_struct *, tw_walk *, bint)

cdef extern from "engine/encode.h":
    int tw_write_object(const tw_struct *, PyObject *, tw_writer *)
    int tw_write_framed(const tw_struct *, PyObject *, tw_writer *)
    int64_t tw_written(const tw_writer *)
    PyObject *tw_finish(tw_writer *)
    int tw_put(tw_writer *, const void *, Py_ssize_t)
    void tw_discard(tw_writer *)

cdef extern from "engine/measure.h":
    void tw_choose_looks(tw_struct *, tw_look *)
    int64_t tw_measure_message(const tw_struct *, PyObject *, const tw_shared *)

cdef extern from "engine/number_reading.h":
    void tw_choose_fast_paths(const tw_struct *)

cdef extern from "engine/choice.h":
    enum:
        TW_MOST_COLUMNS
    ctypedef struct tw_hole:
        int column
        bint is_list
        const tw_field *field
        PyObject *value
    ctypedef struct tw_chosen:
        const tw_field *field
        int column
        uint8_t each, is_row, has_row, has_structs
        Py_ssize_t columns_count, holes_count
        const int *columns
        const tw_hole *holes

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
    int tw_splice_message(const tw_struct *, tw_splice *, bint)
