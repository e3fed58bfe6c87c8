#include "columns/column_pool.h"

#if defined(_MSC_VER)
#  define tw_claim_pool(pool) (_InterlockedExchange8(&(pool)->busy, 1) == 0)
#  define tw_leave_pool(pool) ((void)_InterlockedExchange8(&(pool)->busy, 0))
#else
#  define tw_claim_pool(pool) (__atomic_exchange_n(&(pool)->busy, 1, __ATOMIC_ACQUIRE) == 0)
#  define tw_leave_pool(pool) __atomic_store_n(&(pool)->busy, 0, __ATOMIC_RELEASE)
#endif

void tw_release_frame(tw_frame *frame)
{
    for (int32_t c = 0; c < frame->columns_count && frame->buffers != NULL; c++) {
        tw_free(frame->buffers[c].valid);
        tw_free(frame->buffers[c].values);
        tw_free(frame->buffers[c].data);
    }
    tw_free(frame->dictionaries);
    tw_free(frame->columns);
    tw_free(frame->buffers);
    tw_free(frame->levels);
    tw_free(frame);
}

static void tw_release_frames(tw_frame *frame)
{
    while (frame != NULL) {
        tw_frame *next = frame->next;
        tw_release_frame(frame);
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

int64_t tw_bytes_of(const tw_frame *frame)
{
    int64_t bytes = 0;
    for (int32_t c = 0; c < frame->columns_count; c++) {
        int64_t capacity = frame->levels[frame->columns[c].level].capacity;
        bytes += tw_values_size(frame->columns + c, capacity) + frame->buffers[c].room;
        bytes += frame->buffers[c].valid == NULL ? 0 : (capacity + 7) / 8;
    }
    return bytes;
}

void tw_keep_spare(tw_pool *pool, tw_frame *frame)
{
    tw_frame **at, *evicted;
    int64_t room = pool->most;
    frame->bytes = tw_bytes_of(frame);
    if (frame->bytes > room || !tw_claim_pool(pool)) {
        tw_release_frame(frame);
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
