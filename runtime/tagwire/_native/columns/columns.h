/* Columns that grow: the buffers of an Arrow array while rows are added, and the way back where a row is refused.
 *
 * Columns stand in one table, each before what is in it. All columns that grow together are one level: the rows are
 * level 0, and the elements of each list another one. So a value is written at an index that its level knows, room is
 * made for a whole array at once, and a row is taken back by the offsets of the lists alone: no column counts for
 * itself. Bitmaps of validity begin as ones, and only nulls touch them.
 *
 * No Python objects here, and no lock: the interpreter is let go while these run. Functions return 0 or a fault.
 */
#ifndef TAGWIRE_COLUMNS_H
#define TAGWIRE_COLUMNS_H

#include "engine/wire.h"

enum tw_column_kind { TW_COLUMN_BITS, TW_COLUMN_FIXED, TW_COLUMN_BYTES, TW_COLUMN_LIST, TW_COLUMN_STRUCT };

enum tw_column_fault {
    TW_REFUSED = -1,   /* bytes or a value that the layout refuses */
    TW_NO_MEMORY = -2,
    TW_TOO_LONG = -3,  /* more than the offsets of a column can say */
    TW_NO_VERSION = -4,
    TW_BAD_INPUT = -5, /* an Arrow array that contradicts itself */
    TW_UNTRIED = -6,   /* left to the interpreter, which may well accept it */
};

/* Memory that Python's own tools see; the limited API has no such functions before 3.13. */
#ifdef Py_LIMITED_API
#  include <stdlib.h>
#  define tw_realloc realloc
#  define tw_free free
#else
#  define tw_realloc PyMem_RawRealloc
#  define tw_free PyMem_RawFree
#endif

/* A column's type and default: never changed, so threads share it. */
typedef struct {
    uint8_t kind;
    uint8_t nullable;
    uint8_t is_signed;   /* of integers */
    uint8_t null_default;
    int32_t width;       /* bytes of a value of fixed width */
    int32_t end;         /* the index behind the last column within this one */
    int32_t level;
    int32_t inner;       /* of lists: the level of their elements */
    int64_t size;        /* bytes of the default */
    const uint8_t *value; /* the default, as it stands in the buffer */
} tw_column;

typedef struct {
    int64_t length;
    int64_t capacity;
    int64_t touched;     /* up to where validity may have been changed */
    int32_t first, end;  /* its columns are among these */
} tw_level;

typedef struct {
    uint8_t *valid;      /* NULL where nothing may be null, and in the end where nothing is */
    uint8_t *values;     /* values, bits, or offsets of int32 */
    uint8_t *data;       /* what the offsets of texts and bytes point into */
    int64_t size, room;  /* of `data` */
    int64_t nulls;       /* counted in the end */
} tw_buffers;

typedef struct tw_column_frame tw_frame;
typedef struct tw_frame_pool tw_pool;
struct tw_column_frame {
    int64_t holders;     /* exported arrays, and whoever fills it */
    int32_t columns_count, levels_count;
    tw_column *columns;  /* a copy: the frame outlives the plan that it was filled by */
    tw_level *levels;
    tw_buffers *buffers;
    tw_frame **words;    /* by column: the texts that its numbers stand for, or NULL */
    int64_t most;        /* elements of a list column, bytes of a text column */
    tw_pool *pool;       /* where it goes when nobody holds it any more; or NULL */
    tw_frame *next;      /* the one behind it in the pool */
    int64_t bytes;       /* of its buffers, while it is in the pool */
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

/* 0 or TW_NO_MEMORY; the buffer stays as it is then. */
int tw_resize(uint8_t **buffer, int64_t size);

/* The bytes of a column's main buffer for so many values. */
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

/* What tw_reserve and tw_put_bytes do where there is no room. */
TW_RARE int tw_grow_level(tw_frame *frame, int32_t index, int64_t needed);

/* Room for `needed` values in all columns of a level. */
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

/* Room for so many bytes of texts, and some more: growing step by step would copy them. */
static inline int tw_make_room_for(tw_frame *frame, int32_t column, int64_t size)
{
    return tw_grow_data(frame, frame->buffers + column, size < frame->most / 2 ? size + size / 8 : size);
}

/* ---------------------------------------------------------------- values */

/* Few bytes, by two words that overlap: most texts are short, and a call costs more than copying them. */
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

/* Something of no meaning, where a column around this one is null; and null where this one may be. */
void tw_put_null(tw_frame *frame, int32_t column, int64_t at);

/* The default of a field. */
int tw_put_default(tw_frame *frame, int32_t column, int64_t at);

/* ---------------------------------------------------------------- a row taken back */

/* Forgets all rows from `rows` on, and what belongs to them. */
TW_RARE void tw_truncate(tw_frame *frame, int64_t rows);

#endif
