/* Read values by index from imported Arrow arrays of any supported encoding.
 *
 * The C data interface does not specify buffer sizes, so offsets can't be checked completely. They are checked against
 * each other and, if it is known, against the length of the child or buffer. Beyond that, they are trusted, because the
 * arrays come from the same process. */
#ifndef TAGWIRE_COLUMN_SOURCE_H
#define TAGWIRE_COLUMN_SOURCE_H

#include "columns/arrow_abi.h"
#include "columns/columns.h"

enum tw_source_kind {
    TW_SOURCE_NULL, TW_SOURCE_BOOL, TW_SOURCE_INT, TW_SOURCE_FLOAT,
    TW_SOURCE_BYTES,      /* strings or bytes: `values` contains offsets into `data`, each `width` bytes long */
    TW_SOURCE_VIEWS,      /* strings or bytes: 16-byte views, which contain the value or point into a buffer */
    TW_SOURCE_BLOCKS,     /* bytes of fixed size: `width` bytes for each value */
    TW_SOURCE_LIST,       /* lists: `values` contains offsets into the child, each `width` bytes long */
    TW_SOURCE_BLOCK_LIST, /* lists of fixed size: `width` child elements for each value */
    TW_SOURCE_STRUCT
};

typedef struct tw_source tw_source;
struct tw_source {
    uint8_t kind, is_signed, is_text;
    uint8_t constant;       /* whether all rows have the field's default */
    int64_t width;
    int64_t length, offset;
    const uint8_t *valid;   /* validity bits, one for each value, or NULL if no value is null */
    const uint8_t *values;  /* main buffer of the array: its values, bits, offsets or views */
    const uint8_t *data;
    const void **buffers;   /* for string views: all buffers; data buffers begin at index 2 */
    int64_t data_count;     /* number of data buffers of an array of string views */
    const tw_source *child;
};

/* Convert a value's index in the source to its index in the array's buffers. */
static inline int64_t tw_source_index(const tw_source *s, int64_t at) { return s->constant ? 0 : s->offset + at; }

static inline int tw_is_there(const tw_source *s, int64_t at)
{
    return s->kind != TW_SOURCE_NULL && (s->valid == NULL || tw_get_bit(s->valid, tw_source_index(s, at)));
}

static inline int64_t tw_source_number(const uint8_t *values, int64_t at, int64_t width, int is_signed)
{
    int64_t number8;
    int32_t number4;
    int16_t number2;
    switch (width) {
    case 1:
        return is_signed ? (int8_t)values[at] : values[at];
    case 2:
        memcpy(&number2, values + 2 * at, 2);
        return is_signed ? number2 : (uint16_t)number2;
    case 4:
        memcpy(&number4, values + 4 * at, 4);
        return is_signed ? number4 : (int64_t)(uint32_t)number4;
    default:
        memcpy(&number8, values + 8 * at, 8);
        return number8; /* a uint64 above INT64_MAX becomes negative (see tw_source_int) */
    }
}

/* Read an integer into `number`. Return 0, or -1 if a uint64 value does not fit in an int64. */
static inline int tw_source_int(const tw_source *s, int64_t at, int64_t *number)
{
    *number = tw_source_number(s->values, tw_source_index(s, at), s->width, s->is_signed);
    return s->width == 8 && !s->is_signed && *number < 0 ? -1 : 0;
}

static inline double tw_float_at(const uint8_t *values, int64_t at, int64_t width)
{
    double wide;
    float narrow;
    if (width == 8) {
        memcpy(&wide, values + 8 * at, 8);
        return wide;
    }
    memcpy(&narrow, values + 4 * at, 4);
    return narrow;
}

static inline double tw_source_float(const tw_source *s, int64_t at)
{
    return tw_float_at(s->values, tw_source_index(s, at), s->width);
}

/* Get the start and size of a value in `data` or in the child array. Return 0, or TW_BAD_INPUT if the value's offsets
 * are negative or descend. */
static inline int tw_source_range(const tw_source *s, int64_t at, int64_t *from, int64_t *size)
{
    int64_t to;
    at = tw_source_index(s, at);
    *from = tw_source_number(s->values, at, s->width, 1);
    to = tw_source_number(s->values, at + 1, s->width, 1);
    *size = to - *from;
    return *from < 0 || to < *from ? TW_BAD_INPUT : 0;
}

static TW_RARE int tw_source_view(const tw_source *s, int64_t at, const uint8_t **data, int64_t *size)
{
    const uint8_t *view = s->values + 16 * tw_source_index(s, at);
    int64_t buffer = tw_source_number(view, 2, 4, 1), from = tw_source_number(view, 3, 4, 1);
    *size = tw_source_number(view, 0, 4, 1);
    *data = view + 4;
    if (*size <= 12)
        return *size < 0 ? TW_BAD_INPUT : 0;
    if (buffer < 0 || buffer >= s->data_count || from < 0)
        return TW_BAD_INPUT;
    /* The last buffer of a view array contains the sizes of the data buffers. */
    if (from + *size > tw_source_number(s->buffers[2 + s->data_count], buffer, 8, 1))
        return TW_BAD_INPUT;
    *data = (const uint8_t *)s->buffers[2 + buffer] + from;
    return 0;
}

static inline int tw_source_bytes(const tw_source *s, int64_t at, const uint8_t **data, int64_t *size)
{
    int64_t from;
    if (TW_LIKELY(s->kind == TW_SOURCE_BYTES)) {
        if (tw_source_range(s, at, &from, size) < 0)
            return TW_BAD_INPUT;
        *data = s->data + from;
        return 0;
    }
    if (s->kind == TW_SOURCE_VIEWS)
        return tw_source_view(s, at, data, size);
    *data = s->values + s->width * tw_source_index(s, at);
    *size = s->width;
    return 0;
}

/* Get the range of the child array that contains a list's elements. Return 0 or TW_BAD_INPUT. */
static inline int tw_source_elements(const tw_source *s, int64_t at, int64_t *from, int64_t *count)
{
    if (s->kind == TW_SOURCE_BLOCK_LIST) {
        *from = tw_source_index(s, at) * s->width;
        *count = s->width;
    } else if (tw_source_range(s, at, from, count) < 0)
        return TW_BAD_INPUT;
    return *count && *from > s->child->length - *count ? TW_BAD_INPUT : 0;
}

#endif
