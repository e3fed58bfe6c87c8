/* The loops over rows for decoding and encoding. They select the plan for each row's version and remove rejected
 * rows. */
#ifndef TAGWIRE_COLUMN_ROWS_H
#define TAGWIRE_COLUMN_ROWS_H

#include "columns/column_source.h"

typedef struct {
    tw_reader r;
    tw_frame *frame;
} tw_walk;

/* Conversion settings shared by all rows in a call. */
typedef struct {
    const tw_source *rows;
    const tw_source *versions;     /* array with each row's version; NULL if all rows use `tables[0]` */
    const tw_struct *const *tables; /* plan for each version from `low` on; NULL for versions without a plan */
    int64_t low, tables_count;
    int64_t bytes, elements, unknown_tags, unknown_tag_bytes; /* for decoding: limits that apply to each row */
    int32_t value, error;          /* result columns for values and errors; `error` is -1 without an error column */
    int nulls_bad;                 /* whether a rejected row becomes null without trying the interpreter */
    int tried;                     /* for decoding: whether the C loop is used; 0 leaves all rows to the interpreter */
} tw_conversion;

typedef struct {
    tw_frame *frame;           /* the frame that holds the result columns */
    tw_buffers *out;           /* the column in `frame` that receives the encoded bytes */
    const tw_column *columns;  /* description of the message's columns */
    const tw_source *sources;  /* where each column of the message gets its values */
} tw_emitter;

/* Convert rows, starting with row `*row`, and stop at the first row that must be left to Python. Return 0, or that
 * row's error code with its number in `*row`. The frame then holds only the rows before it. */
int tw_decode_rows(const tw_conversion *d, tw_walk *w, int64_t *row, int64_t count);
int tw_encode_rows(const tw_conversion *d, tw_emitter *e, int64_t *row, int64_t count);

#endif
