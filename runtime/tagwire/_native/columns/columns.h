/* Growing columns: the buffers of an Arrow array, to which rows are added and from which a rejected row is removed.
 *
 * All columns are in one table, each before its children. Columns that grow together form a level: level 0 has the
 * rows, and each list column has another level for its elements. A value is written at its index within the level, and
 * room is made for a whole array at once. Columns have no counts of their own, so the offsets of lists suffice to
 * remove a row. Validity bitmaps start with all bits set, and only nulls change them.
 *
 * This code uses no Python objects and no locks, and runs without the GIL. Functions return 0 or an error code.
 */
#ifndef TAGWIRE_COLUMNS_H
#define TAGWIRE_COLUMNS_H

#include "engine/wire.h"

enum tw_column_kind { TW_COLUMN_BITS, TW_COLUMN_FIXED, TW_COLUMN_BYTES, TW_COLUMN_LIST, TW_COLUMN_STRUCT };

enum tw_column_fault {
    TW_REFUSED = -1,   /* the layout rejects the bytes or the value */
    TW_NO_MEMORY = -2,
    TW_TOO_LONG = -3,  /* a column has more elements or bytes than its offsets can express */
    TW_NO_VERSION = -4,
    TW_BAD_INPUT = -5, /* an inconsistent Arrow array */
    TW_UNTRIED = -6,   /* left to the interpreter, which may accept the row */
};

/* Memory functions that Python's tools can trace. The limited API has them only since 3.13. */
#ifdef Py_LIMITED_API
#  include <stdlib.h>
#  define tw_realloc realloc
#  define tw_free free
#else
#  define tw_realloc PyMem_RawRealloc
#  define tw_free PyMem_RawFree
#endif

/* The type and default of a column. It never changes, so threads can share it. */
typedef struct {
    uint8_t kind;
    uint8_t nullable;
    uint8_t is_signed;   /* for integers: whether the type is signed */
    uint8_t null_default;
    int32_t width;       /* bytes per value; 0 if the width is not fixed */
    int32_t end;         /* index in the table after the column's last descendant */
    int32_t level;
    int32_t inner;       /* for lists: level of their elements */
    int64_t size;        /* size of the default in bytes */
    const uint8_t *value; /* the default, encoded as in the column's buffers */
} tw_column;

typedef struct {
    int64_t length;
    int64_t capacity;
    int64_t touched;     /* values from this index on have unchanged validity bits */
    int32_t first, end;  /* range of columns that contains all columns of the level */
} tw_level;

typedef struct {
    /* validity bits; NULL if the column can't have nulls, or if a complete column has none */
    uint8_t *valid;
    uint8_t *values;     /* the values, bits, or int32 offsets */
    uint8_t *data;       /* contents of strings and bytes, to which the offsets refer */
    int64_t size, room;  /* used and allocated size of `data` */
    int64_t nulls;       /* number of nulls, counted when the frame is complete */
} tw_buffers;

typedef struct tw_column_frame tw_frame;
typedef struct tw_frame_pool tw_pool;
struct tw_column_frame {
    int64_t holders;     /* number of references: exported arrays, and the code that fills the frame */
    int32_t columns_count, levels_count;
    tw_column *columns;  /* a copy, since the frame outlives the plan */
    tw_level *levels;
    tw_buffers *buffers;
    tw_frame **words;    /* for each column: the dictionary that its values index, or NULL */
    int64_t most;        /* limit for the elements of a list column, and for the bytes of a string column */
    tw_pool *pool;       /* pool to which the last holder returns the frame, or NULL */
    tw_frame *next;      /* next frame in the pool */
    int64_t bytes;       /* total size of the buffers while the frame is in the pool */
};

#if defined(_MSC_VER)
#  include <intrin.h>
#  define tw_hold(frame) ((void)_InterlockedIncrement64(&(frame)->holders))
#  define tw_let_go(frame) _InterlockedDecrement64(&(frame)->holders)
#else
#  define tw_hold(frame) ((void)__atomic_add_fetch(&(frame)->holders, 1, __ATOMIC_RELAXED))
#  define tw_let_go(frame) __atomic_sub_fetch(&(frame)->holders, 1, __ATOMIC_ACQ_REL)
#endif

/* ---------------------------------------------------------------- bits and offsets */

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

static inline void tw_put_offset(tw_buffers *b, int64_t at, int64_t offset)
{
    int32_t narrow = (int32_t)offset;
    memcpy(b->values + 4 * at, &narrow, 4);
}

/* ---------------------------------------------------------------- growing */

/* Change the size of a buffer. Return 0, or TW_NO_MEMORY with the buffer unchanged. */
int tw_resize(uint8_t **buffer, int64_t size);

/* Return the size in bytes of a column's main buffer for `count` values. */
static inline int64_t tw_values_size(const tw_column *c, int64_t count)
{
    switch (c->kind) {
    case TW_COLUMN_BITS:
        return (count + 7) / 8;
    case TW_COLUMN_FIXED:
        return count * c->width;
    case TW_COLUMN_STRUCT:
        return 0;
    default:
        return 4 * (count + 1);
    }
}

/* The slow paths of tw_reserve and tw_put_bytes. They allocate memory. */
TW_RARE int tw_grow_level(tw_frame *frame, int32_t index, int64_t needed);

/* Make room for `needed` values, including the existing values, in all columns of a level. */
static inline int tw_reserve(tw_frame *frame, int32_t index, int64_t needed)
{
    tw_level *level = frame->levels + index;
    if (TW_UNLIKELY(needed > level->capacity)) {
        int fault = tw_grow_level(frame, index, needed);
        if (fault < 0)
            return fault;
    }
    if (needed > level->touched)
        level->touched = needed;
    return 0;
}

TW_RARE int tw_grow_data(tw_frame *frame, tw_buffers *b, int64_t needed);

/* Make room for `size` bytes of strings in a column, and some more, since growing again would copy the strings. */
static inline int tw_make_room_for(tw_frame *frame, int32_t column, int64_t size)
{
    return tw_grow_data(frame, frame->buffers + column, size < frame->most / 2 ? size + size / 8 : size);
}

/* ---------------------------------------------------------------- values */

/* Copy a few bytes as two overlapping words. Most strings are short, so that a call to memcpy would take longer. */
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
    if (TW_UNLIKELY(size > b->room - begin)) {
        int fault = tw_grow_data(frame, b, begin + size);
        if (fault < 0)
            return fault;
    }
    if (size > 0 && size <= 16)
        tw_copy_short(b->data + begin, data, size);
    else if (size)
        memcpy(b->data + begin, data, (size_t)size);
    b->size = begin + size;
    tw_put_offset(b, at + 1, begin + size);
    return 0;
}

/* Store a null. A column that isn't nullable gets a placeholder instead; one of its parents is then null. */
void tw_put_null(tw_frame *frame, int32_t column, int64_t at);

/* Store the default of a column. */
int tw_put_default(tw_frame *frame, int32_t column, int64_t at);

/* ---------------------------------------------------------------- removing a row */

/* Remove all rows from row `rows` on, and their contents in all columns. */
TW_RARE void tw_truncate(tw_frame *frame, int64_t rows);

#endif
