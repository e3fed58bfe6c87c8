/* Frames of columns, from the first row to the last: how they are made, completed, and given up. */
#ifndef TAGWIRE_COLUMN_FRAMES_H
#define TAGWIRE_COLUMN_FRAMES_H

#include "columns/column_pool.h"

/* Lets go of a frame; the last holder gives it to its pool, or frees it. NULL is none. */
void tw_drop_frame(tw_frame *frame);

/* Memory that tw_free takes; NULL where there is none. */
void *tw_zeroed(size_t count, size_t size);

/* An empty frame with room for `rows`; NULL without memory. The caller holds it. */
tw_frame *tw_new_frame(
    const tw_column *columns, int32_t count, const tw_level *levels, int32_t levels_count, int64_t rows, int64_t most);

/* Counts nulls, and trims. The frame is not changed after that while somebody holds it. */
void tw_complete(tw_frame *frame);

#endif
