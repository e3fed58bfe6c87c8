/* Create, complete and drop frames of columns. */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns/column_pool.h"

/* Drop a reference to a frame. The last holder returns it to its pool, or frees it. NULL is allowed. */
void tw_drop_frame(tw_frame *frame);

/* Return zeroed memory for tw_free; NULL if there is none. */
void *tw_zeroed(size_t count, size_t size);

/* Return an empty frame with room for `rows`, held by the caller; NULL if there is no memory. */
tw_frame *tw_new_frame(
    const tw_column *columns, int32_t count, const tw_level *levels, int32_t levels_count, int64_t rows, int64_t most);

/* Count nulls and free unused room. After that the frame must not change while it is held. */
void tw_complete(tw_frame *frame);

#endif
