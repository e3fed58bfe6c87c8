"""Cython declarations for the headers in records/."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "records/output.h" nogil:
    ctypedef struct tw_output:
        uint8_t *data
        size_t size, room
        int failed
    bint tw_reserve_output(tw_output *, size_t)

cdef extern from "records/batch.h" nogil:
    ctypedef struct tw_batch:
        const uint8_t *p
        const uint8_t *end
        int64_t left
        int64_t base_offset, base_timestamp
        bint is_appended, has_attributes

cdef extern from "records/json_lines.h" nogil:
    ctypedef struct tw_common_text:
        const char *data
        size_t size
        bint is_text
    void tw_write_lines(tw_output *, tw_batch *, tw_common_text, size_t)

cdef extern from "records/rebatch.h" nogil:
    ctypedef struct tw_run:
        tw_output out
        int64_t base_offset, base_timestamp
        bint has_base
        int64_t count, last_offset, max_timestamp
    ctypedef struct tw_totals:
        int64_t bytes, nulls, with_headers, earliest, latest, first, last
        bint ascends
    bint tw_totals_of(tw_batch *, tw_totals *)
    bint tw_facts_of(tw_batch *, const int64_t *, int64_t, uint8_t *)
    bint tw_take_records(tw_run *, tw_batch *, const uint8_t *, int64_t, int64_t, int64_t *)

cdef extern from "records/rows.h" nogil:
    ctypedef struct tw_arrow_column:
        const uint8_t *valid
        int64_t first
        const int32_t *ends
        const uint8_t *data
        const int64_t *numbers
    ctypedef struct tw_rows:
        tw_arrow_column keys, values, timestamps, offsets, headers, header_keys, header_values
        int64_t next_offset
        uint64_t content
    bint tw_append_rows(tw_run *, tw_rows *, int64_t *, int64_t, int64_t, int64_t)
    void tw_prepare_rows()

cdef extern from "records/range_sums.h" nogil:
    enum:
        TW_CRC32C_POLYNOMIAL
        TW_SUM_BLOCK
    ctypedef struct tw_sums:
        uint32_t polynomial
    void tw_prepare_sums(tw_sums *, uint32_t)
    uint32_t tw_extended(const tw_sums *, uint32_t, const uint8_t *, int64_t)
    uint32_t tw_sum_between(const tw_sums *, uint32_t, uint32_t, int64_t)
