/* A pool of unused frames (column buffers), which are reused for later rows with the same columns.
 *
 * This saves time, because allocating and freeing a large frame takes longer than filling it. When a pool is full,
 * adding a frame frees the oldest frames.
 *
 * Arrow consumers release frames on any thread, without the GIL. No thread waits for the pool: if another thread is
 * using it, the caller frees or allocates the memory itself. */
#ifndef TAGWIRE_COLUMN_POOL_H
#define TAGWIRE_COLUMN_POOL_H

#include "columns/columns.h"

struct tw_frame_pool {
    int64_t holders;     /* reference count, which includes each frame in use */
    int64_t most;        /* limit on the total size of the unused frames, in bytes */
    char busy;
    tw_frame *spares;    /* linked list of the unused frames, most recently added first */
};

/* The minimum size in bytes of a frame that is kept for reuse. */
#define TW_LEAST_KEPT (1 << 16)

void tw_release_frame(tw_frame *frame);

/* Release a reference to a pool. The last release frees the pool. `pool` may be NULL. */
void tw_drop_pool(tw_pool *pool);

/* Take ownership of a frame whose reference count is 0, and keep it for reuse or free it. */
void tw_keep_spare(tw_pool *pool, tw_frame *frame);

/* Find a frame with these columns and with room for `least` to `most` rows. Remove it from the pool, empty it and
 * return it. Return NULL if the pool has no such frame. */
tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most);

int64_t tw_bytes_of(const tw_frame *frame);

#endif
