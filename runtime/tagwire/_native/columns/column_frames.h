/* Create, complete and release the frames that hold columns. */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns/column_pool.h"

/* Release a reference to a frame. The last holder returns the frame to its pool, or frees it. `frame` may be NULL. */
void tw_drop_frame(tw_frame *frame);

/* Return zeroed memory, to be freed with tw_free; NULL if memory has run out. */
void *tw_zeroed(size_t count, size_t size);

/* Return an empty frame with room for `rows` rows, held by the caller; NULL if memory has run out. */
tw_frame *tw_new_frame(
    const tw_column *columns, int32_t count, const tw_level *levels, int32_t levels_count, int64_t rows, int64_t most);

/* Count the nulls in a frame, and free its unused room. Afterwards, the frame must not change while it is held. */
void tw_complete(tw_frame *frame);

#endif
