/* Decode or encode many rows in one call, each with the plan for its version. */
#ifndef TAGWIRE_COLUMN_ROWS_H
#define TAGWIRE_COLUMN_ROWS_H

#include "columns/column_source.h"

typedef struct {
    const tw_source *rows;         /* for decoding: an array of bytes; for encoding: the source of each column */
    const tw_column *columns;      /* for encoding: the columns of the message; for decoding: NULL */
    const tw_source *versions;     /* an array with the version of each row, or NULL if all rows use `tables[0]` */
    const tw_struct *const *tables; /* `tables[v - low]` is the plan for version v, or NULL if there is none */
    int64_t low, tables_count;
    int64_t bytes, elements, unknown_tags, unknown_tag_bytes; /* limits for decoding a row */
    int32_t value, error;          /* column indexes for values and errors; `error` is -1 if errors aren't stored */
    int nulls_bad;                 /* whether a row that C rejects becomes null, and the interpreter doesn't retry it */
    int tried;                     /* for decoding: whether C tries each row first, or Python decodes all rows */
} tw_conversion;

/* Convert the rows from `*row` up to `count`: decode them, or encode them. Return 0 after the last row. If C can't
 * convert a row, return an error code, and set `*row` to its number; the frame then contains only earlier rows. */
int tw_convert_rows(const tw_conversion *d, tw_frame *frame, int64_t *row, int64_t count);

#endif
