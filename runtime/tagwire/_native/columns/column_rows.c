#include "columns/column_rows.h"
#include "columns/column_decode_impl.h"
#include "columns/column_encode_impl.h"

static inline const tw_struct *tw_plan_of(const tw_conversion *d, int64_t row)
{
    int64_t version;
    if (d->versions == NULL)
        return d->tables[0];
    if (tw_source_int(d->versions, row, &version) < 0 || version < d->low || version - d->low >= d->tables_count)
        return NULL;
    return d->tables[version - d->low];
}

static inline int tw_decode_row(const tw_conversion *d, tw_row_reader *w, int64_t row)
{
    const tw_struct *steps = tw_plan_of(d, row);
    tw_reader *r = &w->r;
    int64_t size;
    if (steps == NULL)
        return TW_NO_VERSION;
    TW_TRY(tw_source_bytes(d->rows, row, &r->start, &size));
    if (!d->tried || size > d->bytes)
        return TW_REJECTED;
    r->p = r->start;
    r->end = r->p + size;
    r->elements = d->elements;
    r->unknown_tags = d->unknown_tags;
    r->unknown_tag_bytes = d->unknown_tag_bytes;
    TW_TRY(tw_take_struct(steps, w, row));
    return r->p != r->end ? TW_REJECTED : 0;
}

/* Let the writer append to the output column's buffer. */
static inline void tw_append_to_column(tw_emitter *e)
{
    e->w.start = e->out->data;
    e->w.p = e->out->data + e->out->size;
    e->w.end = e->out->data + e->out->room;
}

static TW_RARE int tw_grow_column(tw_writer *w, Py_ssize_t room)
{
    tw_emitter *e = (tw_emitter *)w;
    e->out->size = tw_written(w);
    TW_TRY(tw_grow_data(e->frame, e->out, e->out->size + room));
    tw_append_to_column(e);
    return 0;
}

static inline int tw_encode_row(const tw_conversion *d, tw_emitter *e, int64_t row)
{
    const tw_struct *steps = tw_plan_of(d, row);
    if (steps == NULL)
        return TW_NO_VERSION;
    tw_append_to_column(e);
    TW_TRY(tw_give_struct(steps, e, row));
    e->out->size = tw_written(&e->w);
    tw_put_int32(e->out, row + 1, e->out->size);
    return 0;
}

int tw_convert_rows(const tw_conversion *d, tw_frame *frame, int64_t *row, int64_t count)
{
    tw_row_reader w = {.frame = frame};
    tw_emitter e = {
        .w.grow = tw_grow_column,
        .frame = frame,
        .out = frame->buffers + d->value,
        .columns = d->columns,
        .sources = d->rows,
    };
    for (; *row < count; ++*row) {
        int error = 0;
        frame->levels[0].touched = *row + 1;
        if (!tw_is_there(d->rows, *row) || (d->versions != NULL && !tw_is_there(d->versions, *row)))
            tw_put_null(frame, d->value, *row);
        else
            error = d->columns == NULL ? tw_decode_row(d, &w, *row) : tw_encode_row(d, &e, *row);
        if (TW_UNLIKELY(error < 0)) {
            tw_truncate(frame, *row);
            if (!d->nulls_bad || (error != TW_REJECTED && error != TW_NO_VERSION))
                return error;
            tw_put_null(frame, d->value, *row);
        }
        if (d->error >= 0)
            tw_put_null(frame, d->error, *row);
        frame->levels[0].length = *row + 1;
    }
    return 0;
}
