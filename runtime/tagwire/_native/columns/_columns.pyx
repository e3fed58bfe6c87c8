# cython: language_level=3, binding=False, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Convert Kafka messages to Arrow columns and back: the native part of `tagwire.arrow`.

The C loops over rows (`column*.h`) run without the GIL. Cython code (`column*.pxi`) creates the plans that the loops
follow, imports Arrow arrays, and handles the rows that the loops reject. The module is separate from `tagwire._engine`,
so that only programs that use columns load it. Read "Columns" in docs/engine.md first.
"""

from collections.abc import Mapping
from struct import pack
from uuid import UUID

from cython cimport final, no_gc_clear

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AsString
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.errno cimport EINVAL, ENOMEM
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from columns.declarations cimport *
from engine.plan cimport *

from tagwire._engine import NotNative
from tagwire.arrow.errors import ColumnError, described, in_row, no_bytes
from tagwire.arrow.shape import TAGS, Column, type_name
from tagwire.errors import DecodeError, EncodeError, UnsupportedVersionError
from tagwire.layout import (
    COMPACT,
    DEFAULT_STRUCT,
    INT16,
    INT32,
    UVARINT,
    VARINT,
    Array,
    Extent,
    Fixed,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    Varint,
)
from tagwire.message.engines import DisagreementError
from tagwire.text_format import near
from tagwire.wire.types import WIRE_TYPES

__all__ = [
    "ArrowArray",
    "ArrowStream",
    "Decoder",
    "Encoder",
    "RecordColumns",
    "Spares",
    "export_schema",
    "export_stream",
    "with_message",
]

include "engine/kinds.pxi"
include "columns/column_shape.pxi"
include "columns/column_exports.pxi"
include "columns/column_imports.pxi"
include "engine/plan_types.pxi"
include "columns/column_plan.pxi"
include "columns/column_values.pxi"
include "columns/column_conversion.pxi"
include "columns/record_columns.pxi"
include "columns/record_reader.pxi"
include "columns/record_payloads.pxi"
