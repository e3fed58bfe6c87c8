/* Encode rows of Arrow columns as the magic 2 records of a new batch. */
#ifndef TAGWIRE_ROWS_H
#define TAGWIRE_ROWS_H

#include "records/rebatch.h"

/* A column of bytes values or numbers. Its first row is at index `first` of its buffers. */
typedef struct {
    const uint8_t *valid;   /* validity bits, or NULL if the column has no nulls */
    int64_t first;
    const int32_t *ends;    /* for bytes columns: where each row begins in `data`, and the end of the last row */
    const uint8_t *data;    /* for bytes columns: the bytes of all rows, one after another */
    const int64_t *numbers; /* for number columns: the values. All rows are null if `numbers` and `ends` are NULL */
} tw_arrow_column;

typedef struct {
    /* Timestamps are in microseconds. If there are no offsets, rows are numbered starting at next_offset. */
    tw_arrow_column keys, values, timestamps, offsets;
    tw_arrow_column headers;      /* `ends`: indexes into header_keys and header_values */
    tw_arrow_column header_keys, header_values;
    int64_t next_offset;    /* the lowest offset that the next row may have */
    uint64_t content;       /* sum of the CRC-32C checksums of each record's encoded key, value and headers */
} tw_rows;

/* Append the rows from `*row` up to `stop`, until the new batch reaches `most_bytes` or `most_records`. Its first
 * record may exceed these limits. Set `*row` to the first row that was not appended. Return 0 if that row can't be
 * appended to any batch, because it is too large, or its offset is INT64_MAX or below `next_offset`; otherwise 1. */
int tw_append_rows(tw_run *run, tw_rows *rows, int64_t *row, int64_t stop, int64_t most_bytes, int64_t most_records);

void tw_prepare_rows(void);

#endif
