/* Read the record batches of a segment into columns, without the GIL.
 *
 * The loop stops when a frame (see columns.h) is full, and when Python must decompress records, determine a batch's
 * format, or report an error. A batch can continue in the next frame. */
#ifndef TAGWIRE_RECORD_BATCHES_H
#define TAGWIRE_RECORD_BATCHES_H

#include "columns/record_plan.h"

/* Return whether tw_take_magic2 can read a record struct. */
int tw_is_magic2(const tw_struct *s);

/* Prepare to read the open batch's decompressed records from `p`. Return 0 or an error code. */
int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size);

/* Prepare to read messages from `p`: the decompressed content of a wrapper message. All messages are checked first,
 * because an invalid wrapper must not produce any rows. Return 0, TW_UNCLEAR, or an error code. */
int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size);

/* Read batches until the loop must stop. Return a tw_halt value, or an error code for the batch at `position`. */
int tw_walk_batches(tw_batches *b);

#endif
