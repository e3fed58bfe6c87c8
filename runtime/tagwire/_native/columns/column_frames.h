/* Create, complete and release frames, which own the buffers of columns (see columns.h), and keep unused frames in a
 * pool, so that later rows with the same columns reuse them.
 *
 * A pool saves time, because allocating and freeing a large frame takes longer than filling it. When a pool is full,
 * adding a frame frees the oldest frames.
 *
 * Arrow consumers release frames on any thread, without the GIL. No thread waits for the pool: if another thread is
 * using it, the caller frees or allocates the memory itself. */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns/columns.h"

struct tw_frame_pool {
    int64_t holders;     /* reference count, which includes each frame in use */
    int64_t most;        /* limit on the total size of the unused frames, in bytes */
    char busy;
    tw_frame *spares;    /* linked list of the unused frames, most recently added first */
};

/* Release a reference to a pool. The last release frees the pool. `pool` may be NULL. */
void tw_drop_pool(tw_pool *pool);

/* Find a frame with these columns and with room for `least` to `most` rows. Remove it from the pool, empty it and
 * return it. Return NULL if the pool has no such frame. */
tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most);

/* Release a reference to a frame. The last release returns the frame to its pool, or frees it. `frame` may be NULL. */
void tw_drop_frame(tw_frame *frame);

/* Allocate zeroed memory, which the caller frees with tw_free. Return NULL if out of memory. */
void *tw_zeroed(size_t count, size_t size);

/* Create an empty frame with room for `rows` rows. The caller owns it. Return NULL if out of memory. */
tw_frame *tw_new_frame(
    const tw_column *columns, int32_t count, const tw_level *levels, int32_t levels_count, int64_t rows, int64_t most);

/* Complete a frame: count its nulls and free its unused memory. The frame must not change afterwards. A transient frame
 * keeps its unused memory. */
void tw_complete(tw_frame *frame, int is_transient);

#endif
