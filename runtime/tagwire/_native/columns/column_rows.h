/* The loops over rows, both ways: which steps a row has, and the way back where it is refused. */
#ifndef TAGWIRE_COLUMN_ROWS_H
#define TAGWIRE_COLUMN_ROWS_H

#include "columns/column_source.h"

typedef struct {
    tw_reader r;
    tw_frame *frame;
} tw_walk;

/* What all rows of a call have in common. */
typedef struct {
    const tw_source *data;
    const tw_source *versions;     /* NULL where all rows have the one version of the first table */
    const tw_struct *const *tables; /* by version, from `low` on; NULL for those that there are not */
    int64_t low, tables_count;
    int64_t bytes, elements, unknown_tags, unknown_tag_bytes; /* limits */
    int32_t value, error;          /* columns; `error` is -1 where there is none */
    int nulls_bad;                 /* a row that is refused becomes null at once */
    int tried;                     /* else every row goes to the interpreter */
} tw_decoding;

typedef struct {
    tw_frame *frame;           /* of the results */
    tw_buffers *out;           /* the column of bytes in it */
    const tw_column *columns;  /* of the message */
    const tw_source *sources;  /* a source for each of them */
} tw_emitter;

typedef struct {
    const tw_source *rows;
    const tw_source *versions;     /* NULL where all rows have the one version of the first table */
    const tw_struct *const *tables;
    int64_t low, tables_count;
    int32_t value, error;          /* columns of the result; `error` is -1 where there is none */
    int nulls_bad;                 /* a row that is refused becomes null at once */
} tw_encoding;

/* Rows from *row on, up to the first that is refused; then *row is that one, and the frame ends before it. */
int tw_decode_rows(const tw_decoding *d, tw_walk *w, int64_t *row, int64_t count);
int tw_encode_rows(const tw_encoding *d, tw_emitter *e, int64_t *row, int64_t count);

#endif
