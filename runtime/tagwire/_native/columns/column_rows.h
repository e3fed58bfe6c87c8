/* The loops over rows for decoding and encoding, which choose the plan of each row and remove rejected rows. */
#ifndef TAGWIRE_COLUMN_ROWS_H
#define TAGWIRE_COLUMN_ROWS_H

#include "columns/column_source.h"

typedef struct {
    tw_reader r;
    tw_frame *frame;
} tw_walk;

/* The arguments for decoding that are common to all rows of a call. */
typedef struct {
    const tw_source *rows;
    const tw_source *versions;     /* version of each row; NULL if all rows have the version of `tables[0]` */
    const tw_struct *const *tables; /* plans by version, beginning with version `low`; NULL for missing versions */
    int64_t low, tables_count;
    int64_t bytes, elements, unknown_tags, unknown_tag_bytes; /* for decoding: limits for each row */
    int32_t value, error;          /* columns of the result; `error` is -1 without an error column */
    int nulls_bad;                 /* whether a rejected row becomes null at once, not converted by the interpreter */
    int tried;                     /* for decoding: 0 if all rows are left to the interpreter */
} tw_conversion;

typedef struct {
    tw_frame *frame;           /* frame that holds the result columns */
    tw_buffers *out;           /* the result column of encoded bytes */
    const tw_column *columns;  /* columns of the message */
    const tw_source *sources;  /* for each column, where its values come from */
} tw_emitter;

/* Convert rows, beginning with row `*row`, up to the first row that must be left to Python. Return 0, or the error code
 * of this row, whose number is then in `*row`. The frame ends before this row. */
int tw_decode_rows(const tw_conversion *d, tw_walk *w, int64_t *row, int64_t count);
int tw_encode_rows(const tw_conversion *d, tw_emitter *e, int64_t *row, int64_t count);

#endif
