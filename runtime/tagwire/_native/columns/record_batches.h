/* The loop over the batches of a segment: heads, then records, into columns, without the interpreter.
 *
 * It stops where a frame is full, and wherever Python has to do something: unpack, decide what bytes are that could be
 * two formats, or say what is wrong. A batch may be left open in its middle, and is gone on with in the next frame; so
 * a batch that unpacks to millions of records takes no more memory than any other.
 */
#ifndef TAGWIRE_RECORD_BATCHES_H
#define TAGWIRE_RECORD_BATCHES_H

#include "columns/columns.h"

#define TW_SLOTS 64

typedef struct tw_sink tw_sink;
struct tw_sink {
    int32_t column;       /* or -1 */
    int32_t slot;         /* or -1 */
    int32_t null_number;  /* whether -1 is a null of the column */
    const tw_sink *inner; /* of an array: the sinks of its elements' items */
};

typedef struct {
    tw_reader r;          /* its registers are those of the struct that is being read */
    tw_frame *frame;
    const tw_crc32c_tables *crc32c, *crc32;
    int64_t slots[TW_SLOTS];
    const uint8_t *spans[TW_SLOTS]; /* where bytes are whose length is in the slot, -1 for null */
    int flag;             /* the bit of the last number that has one of its own: a tombstone */
} tw_record_reader;

typedef struct {
    int32_t column;
    int32_t slot;           /* of the number; -1 where `number` is it */
    int32_t test;           /* the slot of the bits that say whether it is null; -1 for never */
    int32_t null_number;    /* whether -1 is null */
    int64_t number;
    int64_t mask;           /* of the number's bits; 0 for the number itself */
    uint8_t shift;
    int64_t needed, unless; /* null without the one bit, or with one of the others */
    const int32_t *words;   /* of named bits: the number of each name among the column's words */
} tw_constant;

enum tw_halt {
    TW_DONE = 0,
    TW_FULL = 1,      /* of rows or bytes */
    TW_PACKED = 2,    /* `spans[packed]` has the bytes to unpack */
    TW_UNCLEAR = 3,   /* left to Python: the end of the data, or a format that only trying tells */
};

/* Slots that are the same for all formats: of a record, and of a batch behind the items of its head. */
enum tw_record_slot { TW_SLOT_OFFSET, TW_SLOT_VALUE };
enum tw_batch_slot {
    TW_SLOT_POSITION, TW_SLOT_SIZE, TW_SLOT_BASE_OFFSET, TW_SLOT_LAST_OFFSET, TW_SLOT_MAX_TIMESTAMP, TW_BATCH_SLOTS
};
#define TW_MAGICS 16
#define TW_MOST_HEAD_ITEMS (TW_SLOTS - TW_BATCH_SLOTS)

/* A register of the record's plan, and the slot of the head that it gets. */
typedef struct {
    int32_t place, slot;
} tw_input;

typedef struct {
    const tw_struct *head, *record; /* record: NULL where only heads are wanted */
    const tw_sink *head_sinks, *sinks, *no_sinks;
    const tw_constant *constants;
    const tw_input *inputs;
    const int32_t *idle;     /* columns that records of this format have no field for */
    int32_t constants_count, inputs_count, idle_count;
    int32_t tombstone;       /* its column, or -1 */
    int32_t has_flag;        /* whether a bit says so, not the null value */
    int32_t is_magic2;       /* its records have that shape */
    int32_t is_message;      /* a record itself, or a wrapper */
    int32_t leaves_wrappers; /* a head alone does not do for a wrapper: who calls unpacks it */
    int32_t is_relative;     /* offsets in a wrapper count up to the wrapper's own */
    int32_t base_offset, attributes;
    int32_t last_delta, base_timestamp, max_timestamp, max_relative_to, count, packed; /* slots of the head, or -1 */
    int32_t offset_base, timestamp_base, timestamp_scale; /* registers, or -1 */
    int64_t codec_mask, append_mask;
    int64_t no_wrapper_mask; /* bits that a wrapper can't have */
    int64_t least;           /* bytes of a record */
} tw_record_plan;

typedef struct {
    tw_record_reader w;
    int64_t known[TW_REGISTERS], head_known[TW_REGISTERS];
    int64_t head[TW_SLOTS];  /* the slots of the open batch's head */
    const uint8_t *data;     /* of the whole file */
    int64_t size, end;       /* of the file; where no batch may begin any more */
    int64_t position;        /* of the open batch, or the next one */
    int64_t next;            /* behind the open batch */
    const tw_record_plan *alone;    /* of all batches, whatever their magic byte; or NULL */
    const tw_record_plan *plans[TW_MAGICS]; /* by magic byte; NULL for none */
    const tw_record_plan *tried;    /* whose magic byte is behind a length of varying size; or NULL */
    int32_t tried_magic, tried_zigzag;
    const tw_record_plan *plan;     /* of the open batch */
    int is_open;
    int has_attributes;      /* of records of magic 2's shape */
    int64_t left;            /* records of the open batch that are still to come; negative: up to the end */
    int64_t index;           /* records of the open batch that have been read */
    int64_t first_offset;    /* rows below it are dropped */
    int64_t last_offset;     /* of the last batch that was read to its end */
    int is_ordered;          /* whether batches up to that offset are left to whoever calls */
    int64_t most_rows, most_bytes, bytes; /* of a frame; bytes that went into this one */
} tw_batches;

/* Whether records have the shape of magic 2. The attributes may have bits of their own, or depend on the batch. */
int tw_is_magic2(const tw_struct *s);

/* Sets out to read the records at p, which are unpacked: as many as the head says, or all up to the end. */
int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size);

/* The same of what a wrapper holds. All of it is read before, so that a wrapper at fault has no records. */
int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size);

/* Goes on until there is a reason not to: a tw_halt, or a fault in the batch at `position`. */
int tw_walk_batches(tw_batches *b);

#endif
