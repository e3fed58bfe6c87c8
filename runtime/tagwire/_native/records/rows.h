/* Records from columns: rows of Arrow's buffers, appended to a run as records of magic 2. */
#ifndef TAGWIRE_ROWS_H
#define TAGWIRE_ROWS_H

#include "records/rebatch.h"

/* A column of bytes or of numbers; its first row stands at `first`. */
typedef struct {
    const uint8_t *valid;   /* a bit for each row, NULL where none is null */
    int64_t first;
    const int32_t *ends;    /* of bytes: where each row ends, behind where the first begins */
    const uint8_t *data;    /* of bytes */
    const int64_t *numbers; /* NULL, as `ends`, for a column of nulls */
} tw_column;

typedef struct {
    tw_column keys, values, timestamps, offsets; /* timestamps in microseconds; without offsets rows are numbered */
    tw_column headers;      /* its `ends` are places in the two columns that follow */
    tw_column header_keys, header_values;
    int64_t next_offset;    /* the lowest that a row may have */
    uint64_t content;       /* the sum over the records: of each, the CRC-32C of its key, value and headers as written */
} tw_rows;

/* Appends rows from `*row` to `stop` while there is room, which the first of a run always has; `*row` becomes the row that
 * it stopped at. 0 if that row can't be appended to any run from its own offset: that is below the next, or the highest of
 * all, or the row is too large. */
int tw_append_rows(tw_run *run, tw_rows *rows, int64_t *row, int64_t stop, int64_t most_bytes, int64_t most_records);

void tw_prepare_rows(void);

#endif
