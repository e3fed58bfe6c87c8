/* Growable Arrow columns: rows are appended, and a rejected row is removed again.
 *
 * A frame owns a table of columns and their buffers. Each column precedes its children in the table. Columns that
 * always have the same number of values form a level: level 0 has one value per row, and each list column adds a level
 * for its elements. The caller makes room in a level with tw_reserve.
 *
 * Each level stores its length; the length of level 0 is the number of rows. To remove rows, tw_truncate reads the new
 * lengths of the other levels and of the string data from the offsets. Validity bitmaps start with all bits set, so a
 * bit is written only for a null.
 *
 * This code runs without the GIL. Functions return 0 or an error code. */
#ifndef TAGWIRE_COLUMNS_H
#define TAGWIRE_COLUMNS_H

#include "engine/writer.h"

enum tw_column_kind { TW_COLUMN_BITS, TW_COLUMN_FIXED, TW_COLUMN_BYTES, TW_COLUMN_LIST, TW_COLUMN_STRUCT };

enum tw_column_error {
    TW_REJECTED = -1,   /* the bytes or the value are invalid according to the layout */
    TW_NO_MEMORY = -2,
    TW_TOO_LONG = -3,  /* a column has more elements or bytes than int32 offsets can express */
    TW_NO_VERSION = -4,
    TW_BAD_INPUT = -5, /* the input is an inconsistent Arrow array */
    TW_UNTRIED = -6,   /* not supported in C; the interpreter must try the row */
};

/* Use Python's raw allocator, which tracemalloc can observe. The limited API lacks this allocator before Python
 * 3.13. */
#ifdef Py_LIMITED_API
#  include <stdlib.h>
#  define tw_realloc realloc
#  define tw_free free
#else
#  define tw_realloc PyMem_RawRealloc
#  define tw_free PyMem_RawFree
#endif

/* The type and the default of a column. This struct never changes, so threads can share it. */
typedef struct {
    uint8_t kind;
    uint8_t nullable;
    uint8_t is_signed;
    uint8_t null_default;
    int32_t width;       /* width of a value in bytes, or 0 if it varies */
    int32_t end;         /* index after the column's last descendant */
    int32_t level;
    int32_t inner;       /* for list columns: index of the elements' level */
    int64_t size;        /* size of `value` in bytes */
    const uint8_t *value; /* the default, as stored in the column's buffers */
} tw_column;

typedef struct {
    int64_t length;
    int64_t capacity;
    int64_t touched;     /* validity bits from this index on are all 1 */
    int32_t first, end;  /* range that contains all columns of this level */
} tw_level;

typedef struct {
    /* validity bits, or NULL if the column can't have nulls or, after tw_complete, has none */
    uint8_t *valid;
    uint8_t *values;     /* the main Arrow buffer: values, bits, or int32 offsets */
    uint8_t *data;       /* for strings and bytes: the contents to which the offsets refer */
    int64_t size, room;  /* `size`: bytes used in `data`; `room`: bytes allocated */
    int64_t nulls;       /* number of nulls, set when the frame is completed */
} tw_buffers;

typedef struct tw_column_frame tw_frame;
typedef struct tw_frame_pool tw_pool;
struct tw_column_frame {
    int64_t holders;     /* reference count: one for each exported array, and one for the frame's creator */
    int32_t columns_count, levels_count;
    /* These arrays follow the frame in its memory. `columns` is a copy, because the frame outlives the plan. */
    tw_column *columns;
    tw_level *levels;
    tw_buffers *buffers;
    tw_frame **dictionaries; /* for each column: a frame with its strings if it has a dictionary, otherwise NULL */
    int64_t most;        /* maximum number of elements in a list column, or of bytes in a string column */
    tw_pool *pool;       /* the pool to which the frame returns after its last release, or NULL */
    tw_frame *next;      /* linked list of the frames in the pool */
    int64_t bytes;       /* total size of the buffers, set while the frame is in the pool */
};

#if defined(_MSC_VER)
#  include <intrin.h>
#  define tw_hold(frame) ((void)_InterlockedIncrement64(&(frame)->holders))
#  define tw_let_go(frame) _InterlockedDecrement64(&(frame)->holders)
#else
#  define tw_hold(frame) ((void)__atomic_add_fetch(&(frame)->holders, 1, __ATOMIC_RELAXED))
#  define tw_let_go(frame) __atomic_sub_fetch(&(frame)->holders, 1, __ATOMIC_ACQ_REL)
#endif

static inline int tw_get_bit(const uint8_t *bits, int64_t at) { return bits[at >> 3] >> (at & 7) & 1; }

static inline void tw_put_bit(uint8_t *bits, int64_t at, int bit)
{
    uint8_t mask = (uint8_t)(1 << (at & 7));
    bits[at >> 3] = bit ? bits[at >> 3] | mask : bits[at >> 3] & (uint8_t)~mask;
}

static inline int32_t tw_get_offset(const tw_buffers *b, int64_t at)
{
    int32_t offset;
    memcpy(&offset, b->values + 4 * at, 4);
    return offset;
}

/* Store an offset, or a value of a column of int32. */
static inline void tw_put_int32(tw_buffers *b, int64_t at, int64_t x)
{
    int32_t narrow = (int32_t)x;
    memcpy(b->values + 4 * at, &narrow, 4);
}

/* End the list in row `at` of a column. Its elements' level, `level`, now has `length` values. */
static inline void tw_end_list(tw_frame *frame, int32_t column, int32_t level, int64_t at, int64_t length)
{
    frame->levels[level].length = length;
    tw_put_int32(frame->buffers + column, at + 1, length);
}

/* Reallocate a buffer. Return 0, or TW_NO_MEMORY if this fails, which leaves the buffer unchanged. */
int tw_resize(uint8_t **buffer, int64_t size);

int64_t tw_values_size(const tw_column *c, int64_t count);

TW_RARE int tw_grow_level(tw_frame *frame, int32_t index, int64_t needed);

/* Make room for a total of `needed` values in each column of a level. */
static inline int tw_reserve(tw_frame *frame, int32_t index, int64_t needed)
{
    tw_level *level = frame->levels + index;
    if (TW_UNLIKELY(needed > level->capacity))
        TW_TRY(tw_grow_level(frame, index, needed));
    if (needed > level->touched)
        level->touched = needed;
    return 0;
}

TW_RARE int tw_grow_data(tw_frame *frame, tw_buffers *b, int64_t needed);

/* Make room for a total of `size` bytes of string data in a column, and for an eighth more. */
static inline int tw_make_room_for(tw_frame *frame, int32_t column, int64_t size)
{
    return tw_grow_data(frame, frame->buffers + column, size < frame->most / 2 ? size + size / 8 : size);
}

/* Copy 1 to 16 bytes as two words, which can overlap. This is faster than calling memcpy. */
static inline void tw_copy_short(uint8_t *to, const uint8_t *from, int64_t size)
{
    uint64_t first, last;
    uint32_t half, other;
    if (size >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        memcpy(&half, from, 4);
        memcpy(&other, from + size - 4, 4);
        memcpy(to, &half, 4);
        memcpy(to + size - 4, &other, 4);
    } else
        for (int64_t index = 0; index < size; index++)
            to[index] = from[index];
}

static inline int tw_put_bytes(tw_frame *frame, int32_t column, int64_t at, const uint8_t *data, int64_t size)
{
    tw_buffers *b = frame->buffers + column;
    int64_t begin = b->size;
    if (TW_UNLIKELY(size > b->room - begin))
        TW_TRY(tw_grow_data(frame, b, begin + size));
    if (size > 0 && size <= 16)
        tw_copy_short(b->data + begin, data, size);
    else if (size)
        memcpy(b->data + begin, data, (size_t)size);
    b->size = begin + size;
    tw_put_int32(b, at + 1, begin + size);
    return 0;
}

/* Store the default of a column, or a null if `is_null` is set. If the column isn't nullable, a null is a placeholder,
 * which is never read. */
int tw_fill_column(tw_frame *frame, int32_t column, int64_t at, int is_null);

static inline int tw_put_default(tw_frame *frame, int32_t column, int64_t at) { return tw_fill_column(frame, column, at, 0); }
static inline void tw_put_null(tw_frame *frame, int32_t column, int64_t at) { (void)tw_fill_column(frame, column, at, 1); }

/* Remove row `rows` and all rows after it. */
TW_RARE void tw_truncate(tw_frame *frame, int64_t rows);

#endif
