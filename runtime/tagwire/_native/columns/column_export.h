/* Columns handed to others, through the Arrow C data interface: no copies, and freed where the last holder lets go.
 *
 * A consumer may release an array, or move parts out of it and release those later, on any thread and without the
 * interpreter. So each exported array holds its frame by itself, and owns all else that it points to.
 */
#ifndef TAGWIRE_COLUMN_EXPORT_H
#define TAGWIRE_COLUMN_EXPORT_H

#include "columns/arrow_abi.h"
#include "columns/column_frames.h"

/* A schema with room for children, which are released ones until they are made. */
int tw_make_schema(struct ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t children);

/* Makes it one of numbers that stand for texts; released where it fails. */
int tw_make_words_schema(struct ArrowSchema *schema);

/* An array of a column's values, whose frame is complete. */
int tw_export_array(tw_frame *frame, int32_t column, struct ArrowArray *array);

/* Leaves a struct its first children, and adds another array, which it takes over. */
int tw_append_child(struct ArrowArray *array, int64_t kept, struct ArrowArray *child);

/* A stream without frames yet, and room for `count`; takes the schema over, also where it fails. */
int tw_make_stream(struct ArrowArrayStream *stream, struct ArrowSchema *schema, int64_t count);

/* Adds a frame, for which there is room; the stream holds it. */
void tw_add_to_stream(struct ArrowArrayStream *stream, tw_frame *frame);

#endif
