/* Export columns through the Arrow C data interface, without copies. The last holder frees the memory.
 *
 * A consumer may release an array, or move parts out of it and release them later, on any thread and without the GIL.
 * So each exported array holds its own reference to the frame, and owns everything else that it points to.
 */
#ifndef TAGWIRE_COLUMN_EXPORT_H
#define TAGWIRE_COLUMN_EXPORT_H

#include "columns/arrow_abi.h"
#include "columns/column_frames.h"

/* Make a schema with room for children, which are marked as released until they are filled in. */
int tw_make_schema(struct ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t children);

/* Make a schema dictionary-encoded: numbers that index strings. Releases the schema on failure. */
int tw_make_dictionary_schema(struct ArrowSchema *schema);

/* Export the values of a column as an array; the frame must be complete. */
int tw_export_array(tw_frame *frame, int32_t column, struct ArrowArray *array);

/* Keep a struct's first children, and add another array, which the struct takes over. */
int tw_append_child(struct ArrowArray *array, int64_t kept, struct ArrowArray *child);

/* Make a stream without frames, with room for `count`. Takes over the schema, even on failure. */
int tw_make_stream(struct ArrowArrayStream *stream, struct ArrowSchema *schema, int64_t count);

/* Add a frame, for which there is room. The stream holds the frame. */
void tw_add_to_stream(struct ArrowArrayStream *stream, tw_frame *frame);

#endif
