# cython: freethreading_compatible=True
# cython: language_level=3, binding=False, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Encode and decode messages without a Python call for each field.

The engine converts a message's layout (`tagwire.layout.Layout`) to a plan, and follows the plan. The main loops are in
C (`*.h`). Code that runs once per plan, once per call, or rarely is in Cython (`*.pxi`). Read docs/engine.md first.
"""

import sys
from collections.abc import Mapping
from copy import deepcopy
from operator import itemgetter
from _thread import RLock
from types import MemberDescriptorType, NoneType
from zlib import crc32

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, PyObject
from cython cimport critical_section, final, freelist, no_gc, no_gc_clear
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from engine.declarations cimport *
from engine.plan cimport *

from tagwire.wire.buffers import as_bytes, bytes_and_view
from tagwire.errors import TagwireError
from tagwire.layout import (
    COMPACT,
    DEFAULT_STRUCT,
    INT16,
    INT32,
    UVARINT,
    VARINT,
    Array,
    Checksum,
    Count,
    Extent,
    Fixed,
    Missing,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    Varint,
)
from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.message.base import Message, Struct, decoded, owned, same
from tagwire.message.engines import DisagreementError
from tagwire.message.constructors import parameter_default
from tagwire.message.register import Register
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.uuids import DEFAULT_UUID
from tagwire.wire.varint import UVARINT_MAX
from tagwire.wire.types import WIRE_TYPES, wire_type

__all__ = [
    "BatchReader",
    "Choosing",
    "Codec",
    "Elements",
    "FramePlan",
    "Gathering",
    "Magic2",
    "NotNative",
    "Plan",
    "construct_natively",
    "crc32c",
    "from_json",
    "from_json_text",
    "is_identical",
    "method",
    "to_json",
    "to_json_text",
]

cdef int TAG_MAX = 0xFFFF  # the highest tag in an optional buffer (KIP-482 draft)
cdef int HAS_GC = 1 << 14  # the value of CPython's Py_TPFLAGS_HAVE_GC
cdef object TRUE = True, FALSE = False  # Cython would convert a bare `True` to a C number
cdef object NO_LIMITS = DEFAULT_LIMITS  # a C variable is faster than a Python global
cdef bint UNTRACKS = not sys.flags.dev_mode  # whether some objects are not tracked (tracking.h)
cdef tuple WRITE_ERRORS = (ValueError, TypeError, AttributeError, KeyError, OverflowError, BufferError)

include "engine/kinds.pxi"
include "engine/coercion.pxi"
include "engine/slots.pxi"
include "engine/plan_types.pxi"
include "engine/plan.pxi"
include "engine/rules.pxi"
include "engine/lazy_struct.pxi"
include "engine/framing.pxi"
include "engine/serializer.pxi"
include "engine/elements.pxi"
include "engine/calls.pxi"
include "engine/frames.pxi"
include "engine/choosing.pxi"
include "engine/data_class.pxi"
include "engine/json.pxi"
include "engine/gathering.pxi"
include "engine/batches.pxi"

prepare_shared()
