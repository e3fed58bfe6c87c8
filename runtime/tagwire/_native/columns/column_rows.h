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
    const tw_source *versions;     /* NULL if all rows have the version of `tables[0]` */
    const tw_struct *const *tables; /* by version, from `low` on; NULL for missing versions */
    int64_t low, tables_count;
    int64_t bytes, elements, unknown_tags, unknown_tag_bytes; /* limits of decoding */
    int32_t value, error;          /* columns of the result; `error` is -1 if there is none */
    int nulls_bad;                 /* a rejected row becomes null immediately */
    int tried;                     /* decoding: if 0, every row is left to the interpreter */
} tw_conversion;

typedef struct {
    tw_frame *frame;           /* frame that holds the result columns */
    tw_buffers *out;           /* the result column of encoded bytes */
    const tw_column *columns;  /* columns of the message */
    const tw_source *sources;  /* for each column, where its values come from */
} tw_emitter;

/* Convert rows from *row on, up to the first rejected row. Then *row is that row, and the frame ends before it. */
int tw_decode_rows(const tw_conversion *d, tw_walk *w, int64_t *row, int64_t count);
int tw_encode_rows(const tw_conversion *d, tw_emitter *e, int64_t *row, int64_t count);

#endif
