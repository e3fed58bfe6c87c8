/* Frames of columns, from the first row to the last: how they are made, completed, and given up. */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns.h"

static void tw_free_frame(tw_frame *frame);

static void tw_drop_frame(tw_frame *frame)
{
    if (frame != NULL && tw_let_go(frame) == 0)
        tw_free_frame(frame);
}

/* ---------------------------------------------------------------- frames that are filled again */

/* One frame that everybody has let go, for the next rows of the same columns: new memory costs more than what is written
 * to it. Consumers let go on any thread. */
struct tw_frame_pool {
    int64_t holders;     /* who fills frames, and the frames that are held */
    tw_frame *spare;
};

#if defined(_MSC_VER)
#  define tw_swap_spare(pool, frame) ((tw_frame *)_InterlockedExchangePointer((void *volatile *)&(pool)->spare, (frame)))
#else
#  define tw_swap_spare(pool, frame) __atomic_exchange_n(&(pool)->spare, (frame), __ATOMIC_ACQ_REL)
#endif

static void tw_release_buffers(tw_frame *frame)
{
    for (int32_t c = 0; c < frame->columns_count && frame->buffers != NULL; c++) {
        tw_free(frame->buffers[c].valid);
        tw_free(frame->buffers[c].values);
        tw_free(frame->buffers[c].data);
    }
    tw_free(frame->words);
    tw_free(frame->columns);
    tw_free(frame->buffers);
    tw_free(frame->levels);
    tw_free(frame);
}

static void tw_drop_pool(tw_pool *pool)
{
    if (pool == NULL || tw_let_go(pool) > 0)
        return;
    if (pool->spare != NULL)
        tw_release_buffers(pool->spare);
    tw_free(pool);
}

/* A frame that nobody holds any more. */
static void tw_free_frame(tw_frame *frame)
{
    tw_pool *pool = frame->pool;
    for (int32_t c = 0; c < frame->columns_count && frame->words != NULL; c++) {
        tw_drop_frame(frame->words[c]);
        frame->words[c] = NULL;
    }
    if (pool != NULL)
        frame = tw_swap_spare(pool, frame); /* the one that was spare before, if any */
    if (frame != NULL)
        tw_release_buffers(frame);
    tw_drop_pool(pool);
}

/* The spare frame, empty; NULL where there is none. */
static tw_frame *tw_take_spare(tw_pool *pool)
{
    tw_frame *frame = tw_swap_spare(pool, NULL);
    if (frame == NULL)
        return NULL;
    frame->holders = 1;
    tw_hold(pool);
    for (int32_t level = 0; level < frame->levels_count; level++)
        frame->levels[level].length = frame->levels[level].touched = 0;
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_buffers *b = frame->buffers + c;
        size_t bytes = (size_t)(frame->levels[frame->columns[c].level].capacity + 7) / 8;
        b->size = b->nulls = 0;
        if (b->valid != NULL && bytes)
            memset(b->valid, 0xFF, bytes);
        if (frame->columns[c].kind == TW_COLUMN_BITS && bytes)
            memset(b->values, 0, bytes);
    }
    return frame;
}

/* ---------------------------------------------------------------- new frames */

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

/* Gives back the room that nothing needs. */
static void tw_trim(tw_frame *frame)
{
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_buffers *b = frame->buffers + c;
        const tw_level *level = frame->levels + frame->columns[c].level;
        if (level->capacity > level->length && frame->columns[c].kind != TW_COLUMN_STRUCT)
            (void)tw_resize(&b->values, tw_values_size(frame->columns + c, level->length));
        if (b->room > b->size)
            (void)tw_resize(&b->data, b->size);
        if (b->valid != NULL && b->nulls == 0) {
            tw_free(b->valid);
            b->valid = NULL;
        }
    }
}

/* Counts nulls; a frame that is not filled again is trimmed. It is not changed after that while somebody holds it. */
static void tw_complete(tw_frame *frame)
{
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_buffers *b = frame->buffers + c;
        if (b->valid != NULL)
            b->nulls = tw_count_nulls(b->valid, frame->levels[frame->columns[c].level].length);
    }
    if (frame->pool == NULL)
        tw_trim(frame);
}

#endif
