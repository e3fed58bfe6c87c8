/* Create, complete and release frames, which own the buffers of columns (see columns.h). */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns/column_pool.h"

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
