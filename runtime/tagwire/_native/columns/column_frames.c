#include "columns/column_frames.h"

/* The minimum size in bytes of a frame that is kept for reuse. */
#define TW_LEAST_KEPT (1 << 16)

#if defined(_MSC_VER)
#  define tw_claim_pool(pool) (_InterlockedExchange8(&(pool)->busy, 1) == 0)
#  define tw_leave_pool(pool) ((void)_InterlockedExchange8(&(pool)->busy, 0))
#else
#  define tw_claim_pool(pool) (__atomic_exchange_n(&(pool)->busy, 1, __ATOMIC_ACQUIRE) == 0)
#  define tw_leave_pool(pool) __atomic_store_n(&(pool)->busy, 0, __ATOMIC_RELEASE)
#endif

/* Free a linked list of frames. A frame in use is a list of one frame. */
static void tw_release_frames(tw_frame *frame)
{
    while (frame != NULL) {
        tw_frame *next = frame->next;
        for (int32_t c = 0; c < frame->columns_count; c++) {
            tw_free(frame->buffers[c].valid);
            tw_free(frame->buffers[c].values);
            tw_free(frame->buffers[c].data);
        }
        tw_free(frame);
        frame = next;
    }
}

void tw_drop_pool(tw_pool *pool)
{
    if (pool == NULL || tw_let_go(pool) > 0)
        return;
    tw_release_frames(pool->spares);
    tw_free(pool);
}

static int64_t tw_bytes_of(const tw_frame *frame)
{
    int64_t bytes = 0;
    for (int32_t c = 0; c < frame->columns_count; c++) {
        int64_t capacity = frame->levels[frame->columns[c].level].capacity;
        bytes += tw_values_size(frame->columns + c, capacity) + frame->buffers[c].room;
        bytes += frame->buffers[c].valid == NULL ? 0 : (capacity + 7) / 8;
    }
    return bytes;
}

/* Take ownership of a frame whose reference count is 0, and keep it for reuse or free it. */
static void tw_keep_spare(tw_pool *pool, tw_frame *frame)
{
    tw_frame **at, *evicted;
    int64_t room = pool->most;
    frame->bytes = tw_bytes_of(frame);
    if (frame->bytes > room || !tw_claim_pool(pool)) {
        tw_release_frames(frame);
        return;
    }
    frame->next = pool->spares;
    pool->spares = frame;
    for (at = &pool->spares; *at != NULL && (*at)->bytes <= room; at = &(*at)->next)
        room -= (*at)->bytes;
    evicted = *at;
    *at = NULL;
    tw_leave_pool(pool);
    tw_release_frames(evicted);
}

static void tw_empty(tw_frame *frame)
{
    frame->holders = 1;
    frame->next = NULL;
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
}

tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most)
{
    tw_frame **at, *found;
    if (!tw_claim_pool(pool))
        return NULL;
    for (at = &pool->spares; (found = *at) != NULL; at = &found->next)
        if (found->columns_count == count && found->levels[0].capacity >= least && found->levels[0].capacity <= most &&
            memcmp(found->columns, columns, (size_t)count * sizeof *columns) == 0) {
            *at = found->next;
            break;
        }
    tw_leave_pool(pool);
    if (found != NULL)
        tw_empty(found);
    return found;
}

void tw_drop_frame(tw_frame *frame)
{
    tw_pool *pool;
    if (frame == NULL || tw_let_go(frame) > 0)
        return;
    for (int32_t c = 0; c < frame->columns_count; c++) {
        tw_drop_frame(frame->dictionaries[c]);
        frame->dictionaries[c] = NULL;
    }
    pool = frame->pool;
    if (pool == NULL)
        tw_release_frames(frame);
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
    tw_frame *frame = tw_zeroed(1, sizeof(tw_frame) + (size_t)levels_count * sizeof(tw_level) +
                                       (size_t)count * (sizeof(tw_column) + sizeof(tw_buffers) + sizeof(tw_frame *)));
    if (frame == NULL)
        return NULL;
    frame->holders = 1;
    frame->columns_count = count;
    frame->levels_count = levels_count;
    frame->most = most;
    frame->columns = (tw_column *)(frame + 1);
    frame->buffers = (tw_buffers *)(frame->columns + count);
    frame->levels = (tw_level *)(frame->buffers + count);
    frame->dictionaries = (tw_frame **)(frame->levels + levels_count);
    memcpy(frame->columns, columns, (size_t)count * sizeof(tw_column));
    memcpy(frame->levels, levels, (size_t)levels_count * sizeof(tw_level));
    for (int32_t level = 0; level < levels_count; level++)
        if (tw_grow_level(frame, level, level ? 0 : rows) < 0) {
            tw_drop_frame(frame);
            return NULL;
        }
    for (int32_t c = 0; c < count; c++)
        if (columns[c].kind == TW_COLUMN_BYTES || columns[c].kind == TW_COLUMN_LIST)
            tw_put_int32(frame->buffers + c, 0, 0);
    return frame;
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
