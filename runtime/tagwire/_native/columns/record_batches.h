/* Read the record batches of a segment into columns, without the GIL.
 *
 * The loop stops when a frame (see columns.h) is full, and when Python must decompress records, determine a batch's
 * format, or report an error. A batch can continue in the next frame. */
#ifndef TAGWIRE_RECORD_BATCHES_H
#define TAGWIRE_RECORD_BATCHES_H

#include "columns/columns.h"

#define TW_SLOTS 64

/* The destination of a field of a batch header or record: a column, one of the `slots` of tw_record_reader, both, or
 * neither. The index of a missing column or slot is -1. If `null_number` is set, -1 is stored as null. For an array,
 * `inner` has the sinks for the fields of the elements. */
typedef struct tw_sink tw_sink;
struct tw_sink {
    int32_t column;
    int32_t slot;
    int32_t null_number;
    const tw_sink *inner;
};

/* The state of reading batch headers and records.
 *
 * A sink with slot N stores a number in `slots[N]`, and a string or bytes value as a size in `slots[N]` and an address
 * in `spans[N]`. `r.known` contains the registers (framing.h). `flag` is the last record's tombstone bit, in formats
 * with this bit. */
typedef struct {
    tw_reader r;
    tw_frame *frame;
    const tw_crc32c_tables *crc32c, *crc32;
    int64_t slots[TW_SLOTS];
    const uint8_t *spans[TW_SLOTS];
    int flag;
} tw_record_reader;

/* A column with the same value for all records of a batch.
 *
 * The value is `number` or, if `slot` isn't -1, the number in that slot. If `mask` isn't 0, the value is masked and
 * then shifted right by `shift`. If `indexes` isn't NULL, it maps the value to an index into the column's dictionary.
 *
 * The column is null if `null_number` is set and the value is -1. If `test` isn't -1, the column is also null unless
 * the number in slot `test` has all bits of `needed` and no bit of `unless`. */
typedef struct {
    int32_t column;
    int32_t slot;
    int32_t test;
    int32_t null_number;
    int64_t number;
    int64_t mask;
    uint8_t shift;
    int64_t needed, unless;
    const int32_t *indexes;
} tw_constant;

enum tw_halt {
    TW_DONE = 0,
    TW_FULL = 1,      /* the frame has reached its limit for rows or bytes */
    TW_COMPRESSED = 2,    /* Python must decompress the bytes at `spans[payload]` and continue */
    TW_UNCLEAR = 3,   /* Python must read the next batch, for example because two formats fit its first bytes */
};

/* Slots of a record: its offset, and the size of its value. */
enum tw_record_slot { TW_SLOT_OFFSET, TW_SLOT_VALUE };
/* Slots for numbers computed from a batch header. They follow the slots of the header's fields. */
enum tw_batch_slot {
    TW_SLOT_POSITION, TW_SLOT_SIZE, TW_SLOT_BASE_OFFSET, TW_SLOT_LAST_OFFSET, TW_SLOT_MAX_TIMESTAMP, TW_BATCH_SLOTS
};
#define TW_MAGICS 16
#define TW_MOST_HEADER_ITEMS (TW_SLOTS - TW_BATCH_SLOTS)

/* A batch header field that is needed to decode records. It is copied from slot `slot` to register `register_index`. */
typedef struct {
    int32_t register_index, slot;
} tw_input;

typedef struct {
    const tw_struct *header, *record; /* plans for batch headers and records; `record` is NULL if only headers are read */
    const tw_sink *header_sinks, *sinks, *no_sinks;
    const tw_constant *constants;
    const tw_input *inputs;
    const int32_t *idle;     /* columns for which this record format has no field */
    int32_t constants_count, inputs_count, idle_count;
    int32_t tombstone;       /* index of the column that marks tombstones, or -1 if it was not requested */
    int32_t has_flag;        /* whether the format marks tombstones with a bit instead of a null value */
    int32_t is_magic2;
    /* whether a batch is a single message, as in magic 0 and 1; a compressed message wraps other messages */
    int32_t is_message;
    int32_t leaves_wrappers; /* whether wrappers are left to Python, which verifies the messages inside */
    int32_t is_relative;     /* whether a wrapper's messages have relative offsets, as in magic 1 */
    int32_t base_offset, attributes;
    /* the slots of these batch header fields, or -1 for a missing field */
    int32_t last_delta, base_timestamp, max_timestamp, max_relative_to, count, payload;
    /* the registers (framing.h) for these numbers, or -1 for a number that is not needed */
    int32_t offset_base, timestamp_base, timestamp_scale;
    int64_t codec_mask, append_mask;
    int64_t no_wrapper_mask; /* attribute bits that must be 0 in a wrapper */
    int64_t least;           /* minimum size of an encoded record, in bytes */
} tw_record_plan;

typedef struct {
    tw_record_reader w;
    int64_t known[TW_REGISTERS], header_known[TW_REGISTERS];
    int64_t header[TW_SLOTS];  /* the numbers in the open batch's header */
    const uint8_t *data;     /* the file's bytes, indexed by file position */
    int64_t size, end;       /* `size`: file position where `data` ends; `end`: file position where reading stops */
    int64_t position;        /* file position of the open batch, or of the next batch if none is open */
    int64_t next;            /* file position of the batch after the open batch */
    const tw_record_plan *alone;    /* the plan for all batches if there is only one format, otherwise NULL */
    const tw_record_plan *plans[TW_MAGICS]; /* plans by magic byte, or NULL if no format has that magic byte */
    const tw_record_plan *tried;    /* plan of the format whose batch length is a varint, or NULL if there is none */
    int32_t tried_magic, tried_zigzag;
    const tw_record_plan *plan;
    int is_open;
    int has_attributes;      /* whether records in the open batch have an attributes byte */
    int64_t left;            /* number of unread records in the open batch; negative if the header has no count */
    int64_t index;           /* number of records already read from the open batch */
    int64_t first_offset;    /* records below this offset are dropped */
    int64_t last_offset;     /* last offset of the previous batch */
    int is_ordered;          /* whether Python handles a batch whose offsets aren't above `last_offset` */
    int64_t most_rows, most_bytes, bytes; /* the limits of a frame, and the bytes read for the current one */
} tw_batches;

/* Prepare to read the open batch's decompressed records from `p`. Return 0 or an error code. */
int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size);

/* Prepare to read messages from `p`: the decompressed content of a wrapper message. All messages are checked first,
 * because an invalid wrapper must not produce any rows. Return 0, TW_UNCLEAR, or an error code. */
int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size);

/* Read batches until the loop must stop. Return a tw_halt value, or an error code for the batch at `position`. */
int tw_walk_batches(tw_batches *b);

#endif
