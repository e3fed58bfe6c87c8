/* Frames that everybody has let go, kept for the next rows of the same columns.
 *
 * New memory costs more than what is written to it: the kernel clears each page, and takes it back when the columns are
 * given up, for all threads one after the other. So frames that are large enough for that to show are filled again. How
 * much memory waits in a pool is bounded; who comes last evicts who came first.
 *
 * Consumers let go on any thread, without the interpreter. Nobody waits: who finds the pool busy goes without it.
 */
#ifndef TAGWIRE_COLUMN_POOL_H
#define TAGWIRE_COLUMN_POOL_H

#include "columns/columns.h"

struct tw_frame_pool {
    int64_t holders;     /* who takes frames out, and the frames that are held */
    int64_t most;        /* bytes that the spare frames may have together */
    char busy;
    tw_frame *spares;    /* the last that came is first */
};

#define TW_LEAST_KEPT (1 << 16) /* bytes of a frame; for less, `malloc` need not ask the kernel */

/* Frees a frame. */
void tw_release_frame(tw_frame *frame);

/* Lets go of a pool; the last holder frees it. NULL is none. */
void tw_drop_pool(tw_pool *pool);

/* Takes over a frame that nobody holds. */
void tw_keep_spare(tw_pool *pool, tw_frame *frame);

/* An empty frame of the same columns, with room for `least` to `most` rows; NULL where there is none. */
tw_frame *tw_take_spare(tw_pool *pool, const tw_column *columns, int32_t count, int64_t least, int64_t most);

/* The bytes of its buffers. */
int64_t tw_bytes_of(const tw_frame *frame);

#endif
