/* Export columns through the Arrow C data interface without copying them.
 *
 * A consumer can release an array and its children separately, on any thread and without the GIL. So each exported
 * array holds its own reference to the frame, and owns everything else that it points to. */
#ifndef TAGWIRE_COLUMN_EXPORT_H
#define TAGWIRE_COLUMN_EXPORT_H

#include "columns/arrow_abi.h"
#include "columns/column_frames.h"

/* Create a schema with `children` children, which are marked as released until the caller fills them in. If
 * `is_dictionary` is set, values are indexes into an array of strings. */
int tw_make_schema(
    struct ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t children, int is_dictionary);

/* Export a column. If `added` isn't NULL, its children are only the first `kept` children of the column, followed by
 * `added`, which the array then owns. Releases `added` on failure. */
int tw_export_array(tw_frame *frame, int32_t column, struct ArrowArray *array, int64_t kept, struct ArrowArray *added);

#endif
