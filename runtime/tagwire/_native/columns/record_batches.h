/* Read the batches of a segment into columns: batch headers, then records, without the GIL.
 *
 * The loop stops when a frame is full, and whenever Python must take over: to decompress, to choose between two
 * possible formats, or to report an error. A batch may stay open and continue in the next frame, so a batch that
 * decompresses to millions of records takes no more memory than any other.
 */
#ifndef TAGWIRE_RECORD_BATCHES_H
#define TAGWIRE_RECORD_BATCHES_H

#include "columns/columns.h"

#define TW_SLOTS 64

typedef struct tw_sink tw_sink;
struct tw_sink {
    int32_t column;       /* or -1 */
    int32_t slot;         /* or -1 */
    int32_t null_number;  /* whether -1 is null in the column */
    const tw_sink *inner; /* arrays: the sinks of the items of an element */
};

typedef struct {
    tw_reader r;          /* its registers belong to the struct that is being read */
    tw_frame *frame;
    const tw_crc32c_tables *crc32c, *crc32;
    int64_t slots[TW_SLOTS];
    const uint8_t *spans[TW_SLOTS]; /* start of the bytes whose length is in the slot (-1 for null) */
    int flag;             /* the tombstone bit, if the last number has such a bit */
} tw_record_reader;

typedef struct {
    int32_t column;
    int32_t slot;           /* slot of the number; -1 if `number` is the value */
    int32_t test;           /* slot of the bits that decide whether the value is null; -1 for never */
    int32_t null_number;    /* whether -1 is null */
    int64_t number;
    int64_t mask;           /* bits of the number; 0 for all */
    uint8_t shift;
    int64_t needed, unless; /* null without the bits `needed`, or with any of `unless` */
    const int32_t *words;   /* named bits: the dictionary index of each name */
} tw_constant;

enum tw_halt {
    TW_DONE = 0,
    TW_FULL = 1,      /* rows or bytes have reached their limit */
    TW_PACKED = 2,    /* `spans[packed]` has the bytes to decompress */
    TW_UNCLEAR = 3,   /* left to Python: the end of the data, or a format that can only be determined by trying */
};

/* Slots used for all formats: of a record, and of a batch (after the items of its header). */
enum tw_record_slot { TW_SLOT_OFFSET, TW_SLOT_VALUE };
enum tw_batch_slot {
    TW_SLOT_POSITION, TW_SLOT_SIZE, TW_SLOT_BASE_OFFSET, TW_SLOT_LAST_OFFSET, TW_SLOT_MAX_TIMESTAMP, TW_BATCH_SLOTS
};
#define TW_MAGICS 16
#define TW_MOST_HEAD_ITEMS (TW_SLOTS - TW_BATCH_SLOTS)

/* A register of the record plan, and the slot of the batch header that provides its number. */
typedef struct {
    int32_t place, slot;
} tw_input;

typedef struct {
    const tw_struct *head, *record; /* `record`: NULL if only batch headers are read */
    const tw_sink *head_sinks, *sinks, *no_sinks;
    const tw_constant *constants;
    const tw_input *inputs;
    const int32_t *idle;     /* columns for which this format's records have no field */
    int32_t constants_count, inputs_count, idle_count;
    int32_t tombstone;       /* its column, or -1 */
    int32_t has_flag;        /* whether a bit marks tombstones, instead of a null value */
    int32_t is_magic2;       /* its records have the form of magic 2 */
    int32_t is_message;      /* the batch is a single record or a wrapper */
    int32_t leaves_wrappers; /* a wrapper needs more than its header; the caller decompresses it */
    int32_t is_relative;     /* the last offset inside a wrapper corresponds to the wrapper's own offset */
    int32_t base_offset, attributes;
    int32_t last_delta, base_timestamp, max_timestamp, max_relative_to, count, packed; /* batch header slots, or -1 */
    int32_t offset_base, timestamp_base, timestamp_scale; /* registers, or -1 */
    int64_t codec_mask, append_mask;
    int64_t no_wrapper_mask; /* bits that a wrapper can't have */
    int64_t least;           /* minimum size of a record */
} tw_record_plan;

typedef struct {
    tw_record_reader w;
    int64_t known[TW_REGISTERS], head_known[TW_REGISTERS];
    int64_t head[TW_SLOTS];  /* the slots of the open batch's header */
    const uint8_t *data;     /* the whole file */
    int64_t size, end;       /* size of the file; position from which on no batch may begin */
    int64_t position;        /* start of the open batch, or of the next batch */
    int64_t next;            /* end of the open batch */
    const tw_record_plan *alone;    /* the plan of all batches, whatever their magic byte; or NULL */
    const tw_record_plan *plans[TW_MAGICS]; /* by magic byte; NULL if there is none */
    const tw_record_plan *tried;    /* a plan whose magic byte follows a length of variable size; or NULL */
    int32_t tried_magic, tried_zigzag;
    const tw_record_plan *plan;     /* plan of the open batch */
    int is_open;
    int has_attributes;      /* whether records have an attributes byte */
    int64_t left;            /* records left in the open batch; negative: until its end */
    int64_t index;           /* records read from the open batch */
    int64_t first_offset;    /* rows below this offset are dropped */
    int64_t last_offset;     /* last offset of the last batch that was read completely */
    int is_ordered;          /* whether batches up to `last_offset` are left to the caller */
    int64_t most_rows, most_bytes, bytes; /* limits of a frame; bytes stored in the current frame */
} tw_batches;

/* Whether records have the form of magic 2. Their attributes may have named bits, or depend on the batch. */
int tw_is_magic2(const tw_struct *s);

/* Prepare to read the decompressed records at p: as many as the batch header says, or until the end. */
int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size);

/* Like tw_open_records, for a wrapper. All its contents are checked first: an invalid wrapper has no records. */
int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size);

/* Continue until a tw_halt, or an error code for the batch at `position`. */
int tw_walk_batches(tw_batches *b);

#endif
