/* Append rows of Arrow columns to a run of encoded records of magic 2. */
#ifndef TAGWIRE_ROWS_H
#define TAGWIRE_ROWS_H

#include "records/rebatch.h"

/* A column of bytes or numbers. Its first row is at index `first` in its buffers. */
typedef struct {
    const uint8_t *valid;   /* validity bits; NULL if the column has no nulls */
    int64_t first;
    const int32_t *ends;    /* for bytes: the start of the first row in `data`, then each row's end */
    const uint8_t *data;    /* for bytes: contents of all rows */
    const int64_t *numbers; /* for numbers: the values; if `ends` is NULL too, all rows are null */
} tw_column;

typedef struct {
    /* timestamps are in microseconds; without offsets, rows are numbered from next_offset on */
    tw_column keys, values, timestamps, offsets;
    tw_column headers;      /* lists of headers: `ends` are indexes into header_keys and header_values */
    tw_column header_keys, header_values;
    int64_t next_offset;    /* the lowest offset that the next row may have */
    uint64_t content;       /* sum of each record's CRC-32C over its encoded key, value and headers */
} tw_rows;

/* Append rows from row `*row` up to row `stop`, while there is room. A run's first row always has room. Set `*row` to
 * the next row. Return 1, or 0 if another run could not take that row either, because it is too large, or its offset is
 * below `next_offset` or the highest possible. */
int tw_append_rows(tw_run *run, tw_rows *rows, int64_t *row, int64_t stop, int64_t most_bytes, int64_t most_records);

void tw_prepare_rows(void);

#endif
