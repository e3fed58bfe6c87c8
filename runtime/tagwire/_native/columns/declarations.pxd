"""Cython declarations for the headers in columns/."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from engine.plan cimport tw_crc32c_tables, tw_struct

cdef extern from "columns/arrow_abi.h" nogil:
    int ARROW_FLAG_NULLABLE, ARROW_FLAG_MAP_KEYS_SORTED
    cdef struct ArrowSchema_c "ArrowSchema":
        const char *format
        const char *name
        int64_t flags
        int64_t n_children
        ArrowSchema_c **children
        ArrowSchema_c *dictionary
        void (*release)(ArrowSchema_c *) noexcept nogil
    cdef struct ArrowArray_c "ArrowArray":
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        ArrowArray_c **children
        ArrowArray_c *dictionary
        void (*release)(ArrowArray_c *) noexcept nogil
    cdef struct ArrowStream_c "ArrowArrayStream":
        int (*get_schema)(ArrowStream_c *, ArrowSchema_c *) noexcept nogil
        int (*get_next)(ArrowStream_c *, ArrowArray_c *) noexcept nogil
        const char *(*get_last_error)(ArrowStream_c *) noexcept nogil
        void (*release)(ArrowStream_c *) noexcept nogil
        void *private_data

cdef extern from "columns/columns.h" nogil:
    int TW_COLUMN_BITS, TW_COLUMN_FIXED, TW_COLUMN_BYTES, TW_COLUMN_LIST, TW_COLUMN_STRUCT
    int TW_REJECTED, TW_NO_MEMORY, TW_TOO_LONG, TW_NO_VERSION, TW_BAD_INPUT, TW_UNTRIED
    ctypedef struct tw_column:
        uint8_t kind, nullable, is_signed, null_default
        int32_t width
        int32_t end, level, inner
        int64_t size
        const uint8_t *value
    ctypedef struct tw_level:
        int64_t length, capacity, touched
        int32_t first, end
    ctypedef struct tw_buffers:
        uint8_t *values
        int64_t size
    ctypedef struct tw_pool "struct tw_frame_pool":
        int64_t holders, most
    ctypedef struct tw_frame:
        tw_column *columns
        tw_level *levels
        tw_buffers *buffers
        tw_frame **dictionaries
        tw_pool *pool
        int64_t most
    void tw_put_int32(tw_buffers *, int64_t, int64_t)
    int tw_make_room_for(tw_frame *, int32_t, int64_t)
    int tw_reserve(tw_frame *, int32_t, int64_t)
    void tw_put_bit(uint8_t *, int64_t, int)
    int tw_get_bit(const uint8_t *, int64_t)
    void tw_put_null(tw_frame *, int32_t, int64_t)
    int tw_put_bytes(tw_frame *, int32_t, int64_t, const uint8_t *, int64_t)

cdef extern from "columns/column_frames.h" nogil:
    void tw_hold(tw_pool *)
    void tw_drop_pool(tw_pool *)
    tw_frame *tw_take_spare(tw_pool *, const tw_column *, int32_t, int64_t, int64_t)
    tw_frame *tw_new_frame(const tw_column *, int32_t, const tw_level *, int32_t, int64_t, int64_t)
    void tw_drop_frame(tw_frame *)
    void tw_complete(tw_frame *, int)

cdef extern from "columns/column_source.h" nogil:
    int TW_SOURCE_NULL, TW_SOURCE_BOOL, TW_SOURCE_INT, TW_SOURCE_FLOAT, TW_SOURCE_BYTES, TW_SOURCE_VIEWS
    int TW_SOURCE_BLOCKS, TW_SOURCE_LIST, TW_SOURCE_BLOCK_LIST, TW_SOURCE_STRUCT
    ctypedef struct tw_source:
        uint8_t kind, is_signed, is_text, constant
        int64_t width, length, offset
        const uint8_t *valid
        const uint8_t *values
        const uint8_t *data
        const void **buffers
        int64_t data_count
        const tw_source *child
    bint tw_is_there(const tw_source *, int64_t)
    int64_t tw_source_index(const tw_source *, int64_t)
    int tw_source_int(const tw_source *, int64_t, int64_t *)
    double tw_source_float(const tw_source *, int64_t)
    int tw_source_bytes(const tw_source *, int64_t, const uint8_t **, int64_t *)
    int tw_source_elements(const tw_source *, int64_t, int64_t *, int64_t *)

cdef extern from "columns/column_rows.h" nogil:
    ctypedef struct tw_conversion:
        const tw_source *rows
        const tw_column *columns
        const tw_source *versions
        const tw_struct **tables
        int64_t low, tables_count
        int64_t bytes, elements, unknown_tags, unknown_tag_bytes
        int32_t value, error
        int nulls_bad, tried
    int tw_convert_rows(const tw_conversion *, tw_frame *, int64_t *, int64_t)

cdef extern from "columns/column_export.h" nogil:
    void tw_free(void *)
    void *tw_zeroed(size_t, size_t)
    int tw_make_schema(ArrowSchema_c *, const char *, const char *, int64_t, int64_t, bint)
    int tw_export_array(tw_frame *, int32_t, ArrowArray_c *, int64_t, ArrowArray_c *)

cdef extern from "columns/record_batches.h" nogil:
    int TW_DONE, TW_FULL, TW_COMPRESSED, TW_UNCLEAR
    int TW_SLOT_OFFSET, TW_SLOT_VALUE
    int TW_SLOT_POSITION, TW_SLOT_SIZE, TW_SLOT_BASE_OFFSET, TW_SLOT_LAST_OFFSET, TW_SLOT_MAX_TIMESTAMP
    int TW_MOST_HEADER_ITEMS, TW_MAGICS
    ctypedef struct tw_sink:
        int32_t column, slot, null_number
        const tw_sink *inner
    ctypedef struct tw_record_reader:
        tw_frame *frame
        const tw_crc32c_tables *crc32c
        const tw_crc32c_tables *crc32
        const uint8_t **spans
    ctypedef struct tw_constant:
        int32_t column, slot, test, null_number
        int64_t number, mask, needed, unless
        uint8_t shift
        const int32_t *indexes
    ctypedef struct tw_input:
        int32_t register_index, slot
    ctypedef struct tw_record_plan:
        const tw_struct *header
        const tw_struct *record
        const tw_sink *header_sinks
        const tw_sink *sinks
        const tw_sink *no_sinks
        const tw_constant *constants
        const tw_input *inputs
        const int32_t *idle
        int32_t constants_count, inputs_count, idle_count, tombstone, has_flag, is_magic2, is_message, is_relative
        int32_t leaves_wrappers
        int32_t base_offset, attributes, last_delta, base_timestamp, max_timestamp, max_relative_to, count, payload
        int32_t offset_base, timestamp_base, timestamp_scale
        int64_t codec_mask, append_mask, no_wrapper_mask, least
    ctypedef struct tw_batches:
        tw_record_reader w
        int64_t *header
        const uint8_t *data
        int64_t size, end, position, next
        const tw_record_plan *alone
        const tw_record_plan **plans
        const tw_record_plan *tried
        int32_t tried_magic, tried_zigzag
        const tw_record_plan *plan
        int is_open
        int is_ordered
        int64_t left, index, first_offset, last_offset, most_rows, most_bytes, bytes
    int tw_walk_batches(tw_batches *)
    int tw_open_records(tw_batches *, const uint8_t *, int64_t)
    int tw_open_wrapped(tw_batches *, const uint8_t *, int64_t)

cdef extern from "columns/record_payloads.h" nogil:
    int TW_PLAIN_PAYLOAD, TW_COORDINATOR_KEY, TW_COORDINATOR_VALUE, TW_METADATA_RECORD
    int tw_split_payloads(tw_frame *, int32_t, int32_t, int32_t, int, int64_t, tw_frame *)

cdef extern from "Python.h":
    object PyCapsule_New(void *, const char *, void (*)(PyObject *) noexcept)
    void *PyCapsule_GetPointer(object, const char *) except NULL
    void *borrowed_pointer "PyCapsule_GetPointer"(PyObject *, const char *)
