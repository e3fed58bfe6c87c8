/* A pool of frames that nobody holds any more. They are reused for later rows of the same columns.
 *
 * Allocating memory takes longer than writing to it: the kernel clears each new page, and reclaims the pages when the
 * columns are freed, one thread at a time. Therefore, large frames are reused. A pool has a limit on its total size,
 * and newer frames evict older ones.
 *
 * Consumers release frames on any thread, without the GIL. Nobody waits for the pool: if another thread is using it,
 * the caller frees or allocates the memory itself.
 */
#ifndef TAGWIRE_COLUMN_POOL_H
#define TAGWIRE_COLUMN_POOL_H

#include "columns/columns.h"

struct tw_frame_pool {
    int64_t holders;     /* number of references to the pool, from its users and from frames in use */
    int64_t most;        /* limit for the total size of all spare frames, in bytes */
    char busy;
    tw_frame *spares;    /* list of spare frames, most recently added first */
};

/* The minimum size of a frame worth keeping, in bytes. For smaller frames, `malloc` rarely needs the kernel. */
#define TW_LEAST_KEPT (1 << 16)

void tw_release_frame(tw_frame *frame);

/* Release a reference to a pool. The last release frees the pool. `pool` may be NULL. */
void tw_drop_pool(tw_pool *pool);

/* Take ownership of a frame that nobody else holds, and keep it for reuse or free it. */
void tw_keep_spare(tw_pool *pool, tw_frame *frame);

/* Take an empty frame of the same columns, with room for `least` to `most` rows, out of the pool. Return NULL if the
 * pool has none. */
tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most);

/* Return the total size of a frame's buffers in bytes. */
int64_t tw_bytes_of(const tw_frame *frame);

#endif
