/* Export columns through the Arrow C data interface without copying them.
 *
 * A consumer can release an array and its children separately, on any thread and without the GIL. So each exported
 * array holds its own reference to the frame, and owns everything else that it points to. */
#ifndef TAGWIRE_COLUMN_EXPORT_H
#define TAGWIRE_COLUMN_EXPORT_H

#include "columns/arrow_abi.h"
#include "columns/column_frames.h"

/* Create a schema with `children` children. Each child is marked as released until the caller fills it in. */
int tw_make_schema(struct ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t children);

/* Turn a schema into a dictionary type, whose values are indexes into an array of strings. Releases the schema on
 * failure. */
int tw_make_dictionary_schema(struct ArrowSchema *schema);

int tw_export_array(tw_frame *frame, int32_t column, struct ArrowArray *array);

/* Keep only the first `kept` children of a struct array, and append `child`, which the array then owns. Releases the
 * array and the child on failure. */
int tw_append_child(struct ArrowArray *array, int64_t kept, struct ArrowArray *child);

#endif
