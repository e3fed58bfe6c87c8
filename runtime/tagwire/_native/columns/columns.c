#include "columns/columns.h"

int tw_resize(uint8_t **buffer, int64_t size)
{
    uint8_t *resized;
    if ((uint64_t)size > PY_SSIZE_T_MAX)
        return TW_NO_MEMORY;
    resized = tw_realloc(*buffer, size ? (size_t)size : 1);
    if (resized == NULL)
        return TW_NO_MEMORY;
    *buffer = resized;
    return 0;
}

int64_t tw_values_size(const tw_column *c, int64_t count)
{
    switch (c->kind) {
    case TW_COLUMN_BITS:
        return (count + 7) / 8;
    case TW_COLUMN_FIXED:
        return count * c->width;
    case TW_COLUMN_STRUCT:
        return 0;
    default:
        return 4 * (count + 1);
    }
}

static int tw_widen(const tw_column *c, tw_buffers *b, int64_t old, int64_t capacity)
{
    int64_t before = (old + 7) / 8, after = (capacity + 7) / 8;
    if (c->nullable) {
        TW_TRY(tw_resize(&b->valid, after));
        memset(b->valid + before, 0xFF, (size_t)(after - before));
    }
    if (c->kind == TW_COLUMN_STRUCT)
        return 0;
    TW_TRY(tw_resize(&b->values, tw_values_size(c, capacity)));
    if (c->kind == TW_COLUMN_BITS)
        memset(b->values + before, 0, (size_t)(after - before));
    return 0;
}

int tw_grow_level(tw_frame *frame, int32_t index, int64_t needed)
{
    tw_level *level = frame->levels + index;
    int64_t capacity = level->capacity < INT64_MAX / 64 ? 2 * level->capacity : level->capacity;
    if (index && needed > frame->most)
        return TW_TOO_LONG;
    if (needed > INT64_MAX / 64)
        return TW_NO_MEMORY;
    if (index && needed && capacity < 64)
        capacity = 64;
    if (index && capacity > frame->most)
        capacity = frame->most;
    if (capacity < needed)
        capacity = needed;
    for (int32_t c = level->first; c < level->end; c++)
        if (frame->columns[c].level == index)
            TW_TRY(tw_widen(frame->columns + c, frame->buffers + c, level->capacity, capacity));
    level->capacity = capacity;
    return 0;
}

int tw_grow_data(tw_frame *frame, tw_buffers *b, int64_t needed)
{
    int64_t room = 2 * b->room < 256 ? 256 : 2 * b->room;
    if (needed > frame->most)
        return TW_TOO_LONG;
    if (room < needed)
        room = needed;
    if (room > frame->most)
        room = frame->most; /* int32 offsets can't address more bytes */
    TW_TRY(tw_resize(&b->data, room));
    b->room = room;
    return 0;
}

int tw_fill_column(tw_frame *frame, int32_t column, int64_t at, int is_null)
{
    const tw_column *c = frame->columns + column;
    tw_buffers *b = frame->buffers + column;
    is_null |= c->null_default;
    if (is_null && c->nullable)
        tw_put_bit(b->valid, at, 0);
    switch (c->kind) {
    case TW_COLUMN_BITS:
        tw_put_bit(b->values, at, !is_null && *c->value);
        break;
    case TW_COLUMN_FIXED:
        if (is_null)
            memset(b->values + at * c->width, 0, c->width);
        else
            memcpy(b->values + at * c->width, c->value, c->width);
        break;
    case TW_COLUMN_BYTES:
        return tw_put_bytes(frame, column, at, c->value, is_null ? 0 : c->size);
    case TW_COLUMN_LIST:
        tw_put_int32(b, at + 1, frame->levels[c->inner].length);
        break;
    default:
        for (int32_t child = column + 1; child < c->end; child = frame->columns[child].end)
            TW_TRY(tw_fill_column(frame, child, at, is_null));
    }
    return 0;
}

static void tw_mend_validity(tw_frame *frame, int32_t index)
{
    tw_level *level = frame->levels + index;
    for (int32_t c = level->first; c < level->end; c++)
        if (frame->columns[c].level == index && frame->columns[c].nullable)
            for (int64_t at = level->length; at < level->touched; at++)
                tw_put_bit(frame->buffers[c].valid, at, 1);
    level->touched = level->length;
}

void tw_truncate(tw_frame *frame, int64_t rows)
{
    frame->levels[0].length = rows;
    tw_mend_validity(frame, 0);
    /* List columns precede their elements, so the number of elements is already known. */
    for (int32_t c = 0; c < frame->columns_count; c++) {
        const tw_column *column = frame->columns + c;
        tw_buffers *b = frame->buffers + c;
        int64_t length = frame->levels[column->level].length;
        if (column->kind == TW_COLUMN_BYTES)
            b->size = tw_get_offset(b, length);
        else if (column->kind == TW_COLUMN_LIST) {
            frame->levels[column->inner].length = tw_get_offset(b, length);
            tw_mend_validity(frame, column->inner);
        }
    }
}
