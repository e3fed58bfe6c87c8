/* Frames of columns, from the first row to the last: how they are made, completed, and given up. */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns.h"

static void tw_drop_frame(tw_frame *frame)
{
    if (frame == NULL || tw_let_go(frame) > 0)
        return;
    for (int32_t c = 0; c < frame->columns_count && frame->buffers != NULL; c++) {
        tw_free(frame->buffers[c].valid);
        tw_free(frame->buffers[c].values);
        tw_free(frame->buffers[c].data);
    }
    for (int32_t c = 0; c < frame->columns_count && frame->words != NULL; c++)
        tw_drop_frame(frame->words[c]);
    tw_free(frame->words);
    tw_free(frame->columns);
    tw_free(frame->buffers);
    tw_free(frame->levels);
    tw_free(frame);
}

static void *tw_zeroed(size_t count, size_t size)
{
    void *block = tw_realloc(NULL, count * size + 1);
    if (block != NULL)
        memset(block, 0, count * size);
    return block;
}

/* An empty frame with room for `rows`; NULL without memory. The caller holds it. */
static tw_frame *tw_new_frame(
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
    frame->words = tw_zeroed((size_t)count, sizeof *frame->words);
    frame->levels = tw_zeroed((size_t)levels_count, sizeof(tw_level));
    if (frame->columns == NULL || frame->buffers == NULL || frame->levels == NULL || frame->words == NULL)
        goto fault;
    memcpy(frame->columns, columns, (size_t)count * sizeof(tw_column));
    memcpy(frame->levels, levels, (size_t)levels_count * sizeof(tw_level));
    for (int32_t level = 0; level < levels_count; level++)
        if (tw_grow_level(frame, level, level ? 0 : rows) < 0)
            goto fault;
    for (int32_t c = 0; c < count; c++)
        if (columns[c].kind == TW_COLUMN_BYTES || columns[c].kind == TW_COLUMN_LIST)
            tw_put_offset(frame->buffers + c, 0, 0);
    return frame;
fault:
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

/* Gives back the room that nothing needs, and counts nulls. The frame is not changed after that. */
static void tw_complete(tw_frame *frame)
{
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_buffers *b = frame->buffers + c;
        const tw_level *level = frame->levels + frame->columns[c].level;
        if (level->capacity > level->length && frame->columns[c].kind != TW_COLUMN_STRUCT)
            (void)tw_resize(&b->values, tw_values_size(frame->columns + c, level->length));
        if (b->room > b->size)
            (void)tw_resize(&b->data, b->size);
        if (b->valid == NULL)
            continue;
        b->nulls = tw_count_nulls(b->valid, level->length);
        if (b->nulls == 0) {
            tw_free(b->valid);
            b->valid = NULL;
        }
    }
}

#endif
