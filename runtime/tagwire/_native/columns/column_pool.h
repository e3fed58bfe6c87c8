/* Frames that nobody holds any more, kept for later rows of the same columns.
 *
 * New memory costs more than writing to it: the kernel clears each page, and takes it back when the columns are freed,
 * for one thread at a time. So frames that are large enough to matter are reused. The memory in a pool is bounded;
 * newer frames evict older ones.
 *
 * Consumers drop frames on any thread, without the GIL. Nothing waits: if the pool is busy, the caller does without it.
 */
#ifndef TAGWIRE_COLUMN_POOL_H
#define TAGWIRE_COLUMN_POOL_H

#include "columns/columns.h"

struct tw_frame_pool {
    int64_t holders;     /* users that take frames out, and the frames in use */
    int64_t most;        /* limit for the total bytes of spare frames */
    char busy;
    tw_frame *spares;    /* most recent first */
};

#define TW_LEAST_KEPT (1 << 16) /* minimum size of a spare frame in bytes; for less, `malloc` rarely needs the kernel */

void tw_release_frame(tw_frame *frame);

/* Drop a reference to a pool; the last holder frees it. NULL is allowed. */
void tw_drop_pool(tw_pool *pool);

/* Take over a frame that nobody holds. */
void tw_keep_spare(tw_pool *pool, tw_frame *frame);

/* Return an empty frame of the same columns with room for `least` to `most` rows; NULL if there is none. */
tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most);

/* Return the total size of a frame's buffers. */
int64_t tw_bytes_of(const tw_frame *frame);

#endif
