/* Growing columns: the buffers of an Arrow array while rows are added, and removal of a rejected row.
 *
 * All columns are in one table, each before its children. Columns that grow together form a level: the rows are level
 * 0, and the elements of each list are another level. So a value is written at an index given by its level, room is
 * made for a whole array at once, and a row is removed using only the offsets of lists: columns have no counts of their
 * own. Validity bitmaps start as ones, and only nulls change them.
 *
 * No Python objects and no locks: the GIL is released while these functions run. They return 0 or an error code.
 */
#ifndef TAGWIRE_COLUMNS_H
#define TAGWIRE_COLUMNS_H

#include "engine/wire.h"

enum tw_column_kind { TW_COLUMN_BITS, TW_COLUMN_FIXED, TW_COLUMN_BYTES, TW_COLUMN_LIST, TW_COLUMN_STRUCT };

enum tw_column_fault {
    TW_REFUSED = -1,   /* the layout rejects the bytes or the value */
    TW_NO_MEMORY = -2,
    TW_TOO_LONG = -3,  /* more than a column's offsets can express */
    TW_NO_VERSION = -4,
    TW_BAD_INPUT = -5, /* an inconsistent Arrow array */
    TW_UNTRIED = -6,   /* left to the interpreter, which may accept the row */
};

/* Memory that Python's own tools track; the limited API has no such functions before 3.13. */
#ifdef Py_LIMITED_API
#  include <stdlib.h>
#  define tw_realloc realloc
#  define tw_free free
#else
#  define tw_realloc PyMem_RawRealloc
#  define tw_free PyMem_RawFree
#endif

/* A column's type and default. It never changes, so threads share it. */
typedef struct {
    uint8_t kind;
    uint8_t nullable;
    uint8_t is_signed;   /* only for integers */
    uint8_t null_default;
    int32_t width;       /* bytes per value of fixed width */
    int32_t end;         /* index after the last descendant */
    int32_t level;
    int32_t inner;       /* only for lists: level of the elements */
    int64_t size;        /* size of the default in bytes */
    const uint8_t *value; /* the default, encoded as in the buffer */
} tw_column;

typedef struct {
    int64_t length;
    int64_t capacity;
    int64_t touched;     /* end of the range whose validity bits may have changed */
    int32_t first, end;  /* range that includes the level's columns */
} tw_level;

typedef struct {
    uint8_t *valid;      /* NULL if nothing may be null; NULL in the end if nothing is */
    uint8_t *values;     /* values, bits, or int32 offsets */
    uint8_t *data;       /* contents of strings and bytes */
    int64_t size, room;  /* of `data` */
    int64_t nulls;       /* counted at the end */
} tw_buffers;

typedef struct tw_column_frame tw_frame;
typedef struct tw_frame_pool tw_pool;
struct tw_column_frame {
    int64_t holders;     /* exported arrays, and the code that fills the frame */
    int32_t columns_count, levels_count;
    tw_column *columns;  /* a copy: the frame outlives the plan that filled it */
    tw_level *levels;
    tw_buffers *buffers;
    tw_frame **words;    /* by column: the dictionary that its numbers index, or NULL */
    int64_t most;        /* limit for elements of a list column and bytes of a string column */
    tw_pool *pool;       /* receives the frame when nobody holds it any more; or NULL */
    tw_frame *next;      /* next frame in the pool */
    int64_t bytes;       /* size of the buffers, while in the pool */
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

/* Return 0, or TW_NO_MEMORY with an unchanged buffer. */
int tw_resize(uint8_t **buffer, int64_t size);

/* Return the size of a column's main buffer for `count` values. */
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

/* The slow paths of tw_reserve and tw_put_bytes. */
TW_RARE int tw_grow_level(tw_frame *frame, int32_t index, int64_t needed);

/* Make room for `needed` values in all columns of a level. */
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

/* Make room for `size` bytes of strings, plus some reserve: growing step by step would copy them. */
static inline int tw_make_room_for(tw_frame *frame, int32_t column, int64_t size)
{
    return tw_grow_data(frame, frame->buffers + column, size < frame->most / 2 ? size + size / 8 : size);
}

/* ---------------------------------------------------------------- values */

/* Copy a few bytes as two overlapping words: most strings are short, and a call to memcpy would cost more. */
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

/* Store null if the column is nullable; else a placeholder, because an enclosing column is null. */
void tw_put_null(tw_frame *frame, int32_t column, int64_t at);

/* Store the default of a field. */
int tw_put_default(tw_frame *frame, int32_t column, int64_t at);

/* ---------------------------------------------------------------- removing a row */

/* Remove all rows from `rows` on, with everything in them. */
TW_RARE void tw_truncate(tw_frame *frame, int64_t rows);

#endif
