/* Append rows of Arrow columns to a run, as records of magic 2. */
#ifndef TAGWIRE_ROWS_H
#define TAGWIRE_ROWS_H

#include "records/rebatch.h"

/* A column of bytes or numbers; its first row is at index `first`. */
typedef struct {
    const uint8_t *valid;   /* a bit per row; NULL if no row is null */
    int64_t first;
    const int32_t *ends;    /* only for bytes: the start of the first row, then the end of each row */
    const uint8_t *data;    /* only for bytes */
    const int64_t *numbers; /* like `ends`, NULL for a column of nulls */
} tw_column;

typedef struct {
    tw_column keys, values, timestamps, offsets; /* timestamps in microseconds; without offsets, rows are numbered */
    tw_column headers;      /* its `ends` are indexes into the next two columns */
    tw_column header_keys, header_values;
    int64_t next_offset;    /* the lowest offset allowed for a row */
    uint64_t content;       /* sum of the CRC-32C of each record's key, value and headers, as written */
} tw_rows;

/* Append rows from `*row` up to `stop` while there is room. The first row of a run always has room. Sets `*row` to the
 * next row. Return 0 if that row can't begin a run either: its offset is below the next or the highest possible, or it
 * is too large. */
int tw_append_rows(tw_run *run, tw_rows *rows, int64_t *row, int64_t stop, int64_t most_bytes, int64_t most_records);

void tw_prepare_rows(void);

#endif
