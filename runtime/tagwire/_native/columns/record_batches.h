/* Read the batches of a segment into columns, first each batch header and then its records, without the GIL.
 *
 * The loop stops when a frame is full, and when Python must decompress records, choose between two possible formats, or
 * report an error. A batch may stay open and continue in the next frame. Therefore, even a batch that decompresses to
 * millions of records takes no more memory than other batches.
 */
#ifndef TAGWIRE_RECORD_BATCHES_H
#define TAGWIRE_RECORD_BATCHES_H

#include "columns/columns.h"

#define TW_SLOTS 64

typedef struct tw_sink tw_sink;
struct tw_sink {
    int32_t column;       /* column that stores the item, or -1 */
    int32_t slot;         /* slot that stores the item for use by the loop over batches, or -1 */
    int32_t null_number;  /* whether the column stores -1 as null */
    const tw_sink *inner; /* for arrays: the sinks of an element's items */
};

typedef struct {
    tw_reader r;          /* reader; its registers belong to the struct that is being read */
    tw_frame *frame;
    const tw_crc32c_tables *crc32c, *crc32;
    int64_t slots[TW_SLOTS];
    const uint8_t *spans[TW_SLOTS]; /* for a slot that holds the size of bytes (-1 for null): where the bytes begin */
    int flag;             /* value of the tombstone bit, if the last number has one */
} tw_record_reader;

typedef struct {
    int32_t column;
    int32_t slot;           /* slot that contains the number; -1 if `number` is the value */
    int32_t test;           /* slot whose bits decide whether the value is null; -1 if it never is */
    int32_t null_number;    /* whether -1 is stored as null */
    int64_t number;
    int64_t mask;           /* bits of the number that are used; 0 means all bits */
    uint8_t shift;
    int64_t needed, unless; /* the value is null if a bit of `needed` is not set, or a bit of `unless` is set */
    const int32_t *words;   /* for bits whose values have names: the dictionary index of each name */
} tw_constant;

enum tw_halt {
    TW_DONE = 0,
    TW_FULL = 1,      /* the frame has reached its limit of rows or bytes */
    TW_PACKED = 2,    /* Python must decompress the bytes at `spans[packed]` */
    TW_UNCLEAR = 3,   /* Python must continue: at the end of the data, or for a format that only a trial can
                       * determine */
};

/* The slots that all formats have. Slots of a batch come after the slots for its header's items. */
enum tw_record_slot { TW_SLOT_OFFSET, TW_SLOT_VALUE };
enum tw_batch_slot {
    TW_SLOT_POSITION, TW_SLOT_SIZE, TW_SLOT_BASE_OFFSET, TW_SLOT_LAST_OFFSET, TW_SLOT_MAX_TIMESTAMP, TW_BATCH_SLOTS
};
#define TW_MAGICS 16
#define TW_MOST_HEAD_ITEMS (TW_SLOTS - TW_BATCH_SLOTS)

/* A register of the record plan, and the slot of the batch header from which the register is set. */
typedef struct {
    int32_t place, slot;
} tw_input;

typedef struct {
    const tw_struct *head, *record; /* plans of batch header and record; `record` is NULL if only headers are read */
    const tw_sink *head_sinks, *sinks, *no_sinks;
    const tw_constant *constants;
    const tw_input *inputs;
    const int32_t *idle;     /* columns of fields that records of this format don't have */
    int32_t constants_count, inputs_count, idle_count;
    int32_t tombstone;       /* index of the tombstone column, or -1 */
    int32_t has_flag;        /* whether a bit marks tombstones, rather than a null value */
    int32_t is_magic2;       /* whether the records have the form of magic 2 */
    int32_t is_message;      /* whether the batch is a single message, possibly a wrapper */
    int32_t leaves_wrappers; /* whether the caller must decompress wrappers even to read their headers */
    int32_t is_relative;     /* whether a wrapper's offset is the offset of its last message */
    int32_t base_offset, attributes;
    /* slots of the batch header that contain these numbers, or -1 */
    int32_t last_delta, base_timestamp, max_timestamp, max_relative_to, count, packed;
    int32_t offset_base, timestamp_base, timestamp_scale; /* registers that contain these numbers, or -1 */
    int64_t codec_mask, append_mask;
    int64_t no_wrapper_mask; /* attribute bits that must not be set in a wrapper */
    int64_t least;           /* minimum size of a record in bytes */
} tw_record_plan;

typedef struct {
    tw_record_reader w;
    int64_t known[TW_REGISTERS], head_known[TW_REGISTERS];
    int64_t head[TW_SLOTS];  /* slots of the open batch's header */
    const uint8_t *data;     /* the bytes of the whole file */
    int64_t size, end;       /* size of the file; position at which no more batches are read */
    int64_t position;        /* position of the open batch, or of the next batch */
    int64_t next;            /* position of the batch after the open batch */
    const tw_record_plan *alone;    /* plan for all batches whatever their magic byte, or NULL */
    const tw_record_plan *plans[TW_MAGICS]; /* plans by magic byte; NULL for magic bytes without a plan */
    const tw_record_plan *tried;    /* plan for a format whose magic byte follows a length of variable size, or NULL */
    int32_t tried_magic, tried_zigzag;
    const tw_record_plan *plan;     /* plan of the open batch */
    int is_open;
    int has_attributes;      /* whether the records of the open batch have an attributes byte */
    int64_t left;            /* number of records left in the open batch; negative: read to the end */
    int64_t index;           /* number of records read from the open batch */
    int64_t first_offset;    /* records with lower offsets are dropped */
    int64_t last_offset;     /* last offset of the last completely read batch */
    int is_ordered;          /* whether the caller handles batches whose offsets are not above `last_offset` */
    int64_t most_rows, most_bytes, bytes; /* limits for a frame; number of bytes in the current frame */
} tw_batches;

/* Return whether the records of a struct have the form of magic 2. Their attributes may have named bits, or be absent
 * in some batches. */
int tw_is_magic2(const tw_struct *s);

/* Prepare to read the decompressed records at `p`. If the batch header has a count, read that many records, otherwise
 * read to the end. Return 0 or an error code. */
int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size);

/* Prepare to read the decompressed messages of a wrapper at `p`. All of them are checked first, because no row may be
 * stored for an invalid wrapper. */
int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size);

/* Read batches until the loop must stop. Return a tw_halt, or an error code for the batch at `position`. */
int tw_walk_batches(tw_batches *b);

#endif
