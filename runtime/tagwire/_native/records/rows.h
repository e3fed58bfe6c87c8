/* Append rows of Arrow columns to a run of encoded records of magic 2. */
#ifndef TAGWIRE_ROWS_H
#define TAGWIRE_ROWS_H

#include "records/rebatch.h"

/* A column of bytes or numbers, whose first row is at index `first` of its buffers. */
typedef struct {
    const uint8_t *valid;   /* validity bits; NULL if no row is null */
    int64_t first;
    const int32_t *ends;    /* for bytes: where the first row begins, then where each row ends */
    const uint8_t *data;    /* for bytes: the contents of all rows */
    const int64_t *numbers; /* for numbers; if both `numbers` and `ends` are NULL, all rows are null */
} tw_column;

typedef struct {
    /* timestamps are in microseconds; if there are no offsets, rows are numbered from next_offset on */
    tw_column keys, values, timestamps, offsets;
    tw_column headers;      /* its `ends` are indexes into the columns header_keys and header_values */
    tw_column header_keys, header_values;
    int64_t next_offset;    /* lowest offset allowed for the next row */
    uint64_t content;       /* sum of the CRC-32C of each record's key, value and headers, as written */
} tw_rows;

/* Append rows from row `*row` up to row `stop` while there is room; the first row of a run always has room. Set `*row`
 * to the next row. Return 1, or 0 if the next row can't be appended to a new run either: it is too large, its offset is
 * below `next_offset`, or its offset is the highest possible. */
int tw_append_rows(tw_run *run, tw_rows *rows, int64_t *row, int64_t stop, int64_t most_bytes, int64_t most_records);

void tw_prepare_rows(void);

#endif
