/* Read the batches of a segment into columns, first each batch header and then its records, without the GIL.
 *
 * The loop stops when a frame is full, and when Python must decompress records, find out which of two formats a batch
 * has, or report an error. A batch can stay open and continue in the next frame, so a batch that decompresses to
 * millions of records needs no more memory than any other.
 */
#ifndef TAGWIRE_RECORD_BATCHES_H
#define TAGWIRE_RECORD_BATCHES_H

#include "columns/columns.h"

#define TW_SLOTS 64

typedef struct tw_sink tw_sink;
struct tw_sink {
    int32_t column;       /* column that receives the item, or -1 */
    int32_t slot;         /* slot that keeps the item for the loop over batches, or -1 */
    int32_t null_number;  /* whether the column gets null if the item is -1 */
    const tw_sink *inner; /* for arrays: sinks for the items of an element */
};

typedef struct {
    tw_reader r;          /* the reader; `r.known` has the registers of the struct being read */
    tw_frame *frame;
    const tw_crc32c_tables *crc32c, *crc32;
    int64_t slots[TW_SLOTS];
    const uint8_t *spans[TW_SLOTS]; /* if slot N holds the size of a bytes item, `spans[N]` is its address */
    int flag;             /* tombstone bit of the last number, if that number has one */
} tw_record_reader;

typedef struct {
    int32_t column;
    int32_t slot;           /* slot that contains the number; -1 means that `number` is the value */
    int32_t test;           /* slot whose bits decide whether the value is null; -1 if it is never null */
    int32_t null_number;    /* whether the value is null if the number is -1 */
    int64_t number;
    int64_t mask;           /* the bits that make up the value; 0 means all bits */
    uint8_t shift;
    int64_t needed, unless; /* null if a bit of `needed` isn't set in the slot `test`, or a bit of `unless` is */
    const int32_t *words;   /* for bits with named values: dictionary index of each value's name */
} tw_constant;

enum tw_halt {
    TW_DONE = 0,
    TW_FULL = 1,      /* the frame has reached its limit for rows or bytes */
    TW_PACKED = 2,    /* Python must decompress the bytes at `spans[packed]` and continue */
    TW_UNCLEAR = 3,   /* Python must continue: at the end of the data, or if the format can only be found by trying
                       * to decode */
};

/* Slots that exist in every format. In a batch header, these slots follow the slots for the header's own items. */
enum tw_record_slot { TW_SLOT_OFFSET, TW_SLOT_VALUE };
enum tw_batch_slot {
    TW_SLOT_POSITION, TW_SLOT_SIZE, TW_SLOT_BASE_OFFSET, TW_SLOT_LAST_OFFSET, TW_SLOT_MAX_TIMESTAMP, TW_BATCH_SLOTS
};
#define TW_MAGICS 16
#define TW_MOST_HEAD_ITEMS (TW_SLOTS - TW_BATCH_SLOTS)

/* Copies a number from the batch header to its records: `place` is the register in the record plan, `slot` the slot in
 * the header. */
typedef struct {
    int32_t place, slot;
} tw_input;

typedef struct {
    const tw_struct *head, *record; /* plans for batch headers and records; `record` is NULL if only headers are read */
    const tw_sink *head_sinks, *sinks, *no_sinks;
    const tw_constant *constants;
    const tw_input *inputs;
    const int32_t *idle;     /* columns for which records of this format have no field */
    int32_t constants_count, inputs_count, idle_count;
    int32_t tombstone;       /* column for tombstones, or -1 */
    int32_t has_flag;        /* whether tombstones are marked by a bit of their own, not by a null value */
    int32_t is_magic2;       /* whether records have the layout of magic 2 */
    int32_t is_message;      /* whether a batch is a single message, which may be a wrapper */
    int32_t leaves_wrappers; /* whether Python must decompress wrappers even if only headers are read */
    int32_t is_relative;     /* whether a wrapper's offset is that of its last inner message */
    int32_t base_offset, attributes;
    /* slots of the header that contain these numbers; -1 if the format has none */
    int32_t last_delta, base_timestamp, max_timestamp, max_relative_to, count, packed;
    int32_t offset_base, timestamp_base, timestamp_scale; /* registers that contain these numbers, or -1 */
    int64_t codec_mask, append_mask;
    int64_t no_wrapper_mask; /* attribute bits that a wrapper must not have set */
    int64_t least;           /* minimum size of an encoded record, in bytes */
} tw_record_plan;

typedef struct {
    tw_record_reader w;
    int64_t known[TW_REGISTERS], head_known[TW_REGISTERS];
    int64_t head[TW_SLOTS];  /* slots with the items of the open batch's header */
    const uint8_t *data;     /* start of the file's bytes */
    int64_t size, end;       /* `size`: the file's size; `end`: position at which reading stops */
    int64_t position;        /* position of the open batch; if none is open, of the next batch */
    int64_t next;            /* position at which the batch after the open batch begins */
    const tw_record_plan *alone;    /* the plan for all batches if there is only one format, otherwise NULL */
    const tw_record_plan *plans[TW_MAGICS]; /* plans by magic byte; NULL if no format has that magic byte */
    const tw_record_plan *tried;    /* plan for the format whose magic byte follows a varint length, or NULL */
    int32_t tried_magic, tried_zigzag;
    const tw_record_plan *plan;     /* plan that fits the open batch */
    int is_open;
    int has_attributes;      /* whether records in the open batch have an attributes byte */
    int64_t left;            /* records left to read in the open batch; negative if they extend to its end */
    int64_t index;           /* how many records of the open batch have been read */
    int64_t first_offset;    /* records below this offset are dropped */
    int64_t last_offset;     /* last offset of the batch that was completed last */
    int is_ordered;          /* whether batches with offsets up to `last_offset` are left to the caller */
    int64_t most_rows, most_bytes, bytes; /* limits for a frame, and `bytes`, the frame's current size */
} tw_batches;

/* Return whether a struct's records have the layout of magic 2. Their attributes byte may have named bits, and may be
 * missing in some batches. */
int tw_is_magic2(const tw_struct *s);

/* Prepare to read the decompressed records at `p`: as many as the batch header says or, if it has no count, all records
 * up to the end. Return 0 or an error code. */
int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size);

/* Prepare to read the decompressed messages of a wrapper at `p`. All messages are checked before the first row is
 * stored, because an invalid wrapper must not produce rows. */
int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size);

/* Read batches until the loop must stop. Return the reason as a tw_halt, or an error code for the batch at
 * `position`. */
int tw_walk_batches(tw_batches *b);

#endif
