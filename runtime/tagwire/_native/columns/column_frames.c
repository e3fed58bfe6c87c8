#include "columns/column_frames.h"

void tw_drop_frame(tw_frame *frame)
{
    tw_pool *pool;
    if (frame == NULL || tw_let_go(frame) > 0)
        return;
    for (int32_t c = 0; c < frame->columns_count && frame->dictionaries != NULL; c++) {
        tw_drop_frame(frame->dictionaries[c]);
        frame->dictionaries[c] = NULL;
    }
    pool = frame->pool;
    if (pool == NULL)
        tw_release_frame(frame);
    else
        tw_keep_spare(pool, frame);
    tw_drop_pool(pool);
}

void *tw_zeroed(size_t count, size_t size)
{
    void *block = tw_realloc(NULL, count * size + 1);
    if (block != NULL)
        memset(block, 0, count * size);
    return block;
}

tw_frame *tw_new_frame(
    const tw_column *columns, int32_t count, const tw_level *levels, int32_t levels_count, int64_t rows, int64_t most)
{
    tw_frame *frame = tw_zeroed(1, sizeof(tw_frame));
    if (frame == NULL)
        return NULL;
    frame->holders = 1;
    frame->columns = tw_zeroed((size_t)count, sizeof(tw_column));
    frame->columns_count = count;
    frame->levels_count = levels_count;
    frame->most = most;
    frame->buffers = tw_zeroed((size_t)count, sizeof(tw_buffers));
    frame->dictionaries = tw_zeroed((size_t)count, sizeof *frame->dictionaries);
    frame->levels = tw_zeroed((size_t)levels_count, sizeof(tw_level));
    if (frame->columns == NULL || frame->buffers == NULL || frame->levels == NULL || frame->dictionaries == NULL)
        goto error;
    memcpy(frame->columns, columns, (size_t)count * sizeof(tw_column));
    memcpy(frame->levels, levels, (size_t)levels_count * sizeof(tw_level));
    for (int32_t level = 0; level < levels_count; level++)
        if (tw_grow_level(frame, level, level ? 0 : rows) < 0)
            goto error;
    for (int32_t c = 0; c < count; c++)
        if (columns[c].kind == TW_COLUMN_BYTES || columns[c].kind == TW_COLUMN_LIST)
            tw_put_offset(frame->buffers + c, 0, 0);
    return frame;
error:
    tw_drop_frame(frame);
    return NULL;
}

static int64_t tw_count_nulls(const uint8_t *valid, int64_t count)
{
    int64_t nulls = 0;
    for (int64_t at = 0; at < count;) {
        if ((at & 7) == 0 && count - at >= 8 && valid[at >> 3] == 0xFF) {
            at += 8;
            continue;
        }
        nulls += !tw_get_bit(valid, at);
        at++;
    }
    return nulls;
}

/* Shrink a frame's buffers to the size of their contents. If `some_kept` (the frame returns to a pool), shrink only
 * buffers that are more than 25 % larger than their contents, and keep room for 12.5 % more. */
static void tw_trim(tw_frame *frame, int some_kept)
{
    for (int32_t level = 0; level < frame->levels_count; level++) {
        tw_level *l = frame->levels + level;
        if (l->capacity <= l->length + (some_kept ? l->length / 4 : 0))
            continue;
        l->capacity = l->length + (some_kept ? l->length / 8 : 0);
        for (int32_t c = l->first; c < l->end; c++)
            if (frame->columns[c].level == level && frame->columns[c].kind != TW_COLUMN_STRUCT)
                (void)tw_resize(&frame->buffers[c].values, tw_values_size(frame->columns + c, l->capacity));
    }
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_buffers *b = frame->buffers + c;
        if (b->room > b->size + (some_kept ? b->size / 4 : 0)) {
            b->room = b->size + (some_kept ? b->size / 8 : 0);
            (void)tw_resize(&b->data, b->room);
        }
        if (b->valid != NULL && b->nulls == 0 && !some_kept) {
            tw_free(b->valid);
            b->valid = NULL;
        }
    }
}

void tw_complete(tw_frame *frame, int is_transient)
{
    tw_pool *pool = frame->pool;
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_buffers *b = frame->buffers + c;
        if (b->valid != NULL)
            b->nulls = tw_count_nulls(b->valid, frame->levels[frame->columns[c].level].length);
    }
    if (pool != NULL && tw_bytes_of(frame) < TW_LEAST_KEPT) {
        frame->pool = NULL;
        tw_drop_pool(pool);
    }
    if (!is_transient || frame->pool == NULL)
        tw_trim(frame, frame->pool != NULL);
}
