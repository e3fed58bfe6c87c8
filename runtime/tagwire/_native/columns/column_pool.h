/* A pool of frames that nobody holds any more. They are reused for later rows of the same columns.
 *
 * Getting new memory takes longer than writing to it. The kernel clears each page, and reclaims the pages when the
 * columns are freed, which only one thread can do at a time. Therefore, large frames are reused. The total memory of a
 * pool is limited, and newer frames evict older frames.
 *
 * Consumers release frames on any thread, without the GIL. No caller waits: if another thread is using the pool, the
 * caller frees or allocates the memory itself.
 */
#ifndef TAGWIRE_COLUMN_POOL_H
#define TAGWIRE_COLUMN_POOL_H

#include "columns/columns.h"

struct tw_frame_pool {
    int64_t holders;     /* references to the pool, held by its users and by frames in use */
    int64_t most;        /* limit for the total size of spare frames in bytes */
    char busy;
    tw_frame *spares;    /* spare frames, the most recent frame first */
};

/* The minimum size of a spare frame in bytes. For smaller frames, `malloc` rarely needs the kernel. */
#define TW_LEAST_KEPT (1 << 16)

void tw_release_frame(tw_frame *frame);

/* Release a reference to a pool. The last holder frees the pool. `pool` may be NULL. */
void tw_drop_pool(tw_pool *pool);

/* Take over a frame that nobody holds, and keep it for reuse or free it. */
void tw_keep_spare(tw_pool *pool, tw_frame *frame);

/* Return an empty frame of the same columns that has room for `least` to `most` rows; NULL if the pool has none. */
tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most);

/* Return the total size of a frame's buffers in bytes. */
int64_t tw_bytes_of(const tw_frame *frame);

#endif
