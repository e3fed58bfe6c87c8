/* The loops over rows for decoding and encoding, which choose the plan of each row and remove rejected rows. */
#ifndef TAGWIRE_COLUMN_ROWS_H
#define TAGWIRE_COLUMN_ROWS_H

#include "columns/column_source.h"

typedef struct {
    tw_reader r;
    tw_frame *frame;
} tw_walk;

/* What decoding needs for all rows of a call. */
typedef struct {
    const tw_source *data;
    const tw_source *versions;     /* NULL if all rows have the same version, with the plan `tables[0]` */
    const tw_struct *const *tables; /* plans by version, from version `low` on; NULL for versions without a plan */
    int64_t low, tables_count;
    int64_t bytes, elements, unknown_tags, unknown_tag_bytes; /* limits per row */
    int32_t value, error;          /* result columns; `error` is -1 if there is no error column */
    int nulls_bad;                 /* whether rejected rows become null without being read again */
    int tried;                     /* 0 if the interpreter must read all rows */
} tw_decoding;

typedef struct {
    tw_frame *frame;           /* frame of the result columns */
    tw_buffers *out;           /* buffers of the result column for the encoded bytes */
    const tw_column *columns;  /* columns of the message */
    const tw_source *sources;  /* one source for each column */
} tw_emitter;

typedef struct {
    const tw_source *rows;
    const tw_source *versions;     /* NULL if all rows have the same version, with the plan `tables[0]` */
    const tw_struct *const *tables;
    int64_t low, tables_count;
    int32_t value, error;          /* result columns; `error` is -1 if there is no error column */
    int nulls_bad;                 /* whether rejected rows become null without being encoded again */
} tw_encoding;

/* Convert rows from row `*row` on, and stop at a row that Python must handle. Return 0, or the error code of this row,
 * which is then `*row`; the frame ends before it. */
int tw_decode_rows(const tw_decoding *d, tw_walk *w, int64_t *row, int64_t count);
int tw_encode_rows(const tw_encoding *d, tw_emitter *e, int64_t *row, int64_t count);

#endif
