/* The walk over records of the shape of magic 2: a length, perhaps an attributes byte, two deltas, key, value and headers.
 *
 * Everything native that reads such records without making objects goes through this: lines of JSON, records moved to
 * other batches, and columns. It only says yes or no. A record that is not exactly right is left to Python, which
 * reports what is wrong, or accepts what is only unusual.
 *
 * Source: Kafka's documentation of the record format; all numbers but the attributes are zig-zag varints.
 */
#ifndef TAGWIRE_MAGIC2_IMPL_H
#define TAGWIRE_MAGIC2_IMPL_H

#include "engine/number_reading.h"
#include "engine/utf8.h"

/* The headers of a record that are left: by value, so that a record's other parts can stay in registers. */
typedef struct {
    const uint8_t *p, *end;
    int64_t count;
} tw_magic2_headers;

/* One record; pointers are into the bytes that it was read from. */
typedef struct {
    int64_t timestamp, offset; /* as deltas */
    const uint8_t *body;       /* behind the deltas: the key with its length, and all that follows */
    const uint8_t *key, *value;
    int64_t key_size, value_size; /* TW_NULL for null */
    tw_magic2_headers headers;
    const uint8_t *end;
    uint8_t attributes;        /* 0 in records without them */
} tw_magic2_record;

typedef struct {
    const uint8_t *key, *value;
    int64_t key_size, value_size; /* of the value: TW_NULL for null */
} tw_magic2_header;

/* These return where they stopped, or NULL. */

static inline const uint8_t *tw_magic2_int(const uint8_t *p, const uint8_t *end, int64_t *x)
{
    uint64_t bits = 0;
    p = tw_pass_varint(p, end, 5, &bits);
    if (TW_UNLIKELY(p == NULL || bits >> 32))
        return NULL;
    *x = tw_from_zigzag(bits);
    return p;
}

static inline const uint8_t *tw_magic2_bytes(const uint8_t *p, const uint8_t *end, const uint8_t **data, int64_t *size)
{
    p = tw_magic2_int(p, end, size);
    if (TW_UNLIKELY(p == NULL || *size < TW_NULL || *size > end - p))
        return NULL;
    *data = p;
    return *size < 0 ? p : p + *size;
}

/* The next of the headers that are left: 1, or 0 for one that is not right. */
static inline int tw_next_magic2_header(tw_magic2_headers *headers, tw_magic2_header *header)
{
    const uint8_t *p = tw_magic2_bytes(headers->p, headers->end, &header->key, &header->key_size);
    if (TW_UNLIKELY(p == NULL || header->key_size < 0 || !tw_is_utf8(header->key, header->key_size)))
        return 0;
    p = tw_magic2_bytes(p, headers->end, &header->value, &header->value_size);
    if (TW_UNLIKELY(p == NULL))
        return 0;
    headers->p = p;
    headers->count--;
    return 1;
}

/* The record at p: 1, or 0 for one that is not right. Its headers are read one by one: the last
 * must end where they do. */
static inline int tw_read_magic2(const uint8_t *p, const uint8_t *end, int has_attributes, tw_magic2_record *record)
{
    uint64_t bits = 0;
    int64_t size = 0;
    p = tw_magic2_int(p, end, &size);
    if (TW_UNLIKELY(p == NULL || size < has_attributes || size > end - p))
        return 0;
    record->end = end = p + size;
    record->attributes = has_attributes ? *p++ : 0;
    p = tw_pass_varint(p, end, 10, &bits);
    if (TW_UNLIKELY(p == NULL))
        return 0;
    record->timestamp = tw_from_zigzag(bits);
    record->body = p = tw_magic2_int(p, end, &record->offset);
    if (TW_UNLIKELY(p == NULL))
        return 0;
    p = tw_magic2_bytes(p, end, &record->key, &record->key_size);
    if (TW_UNLIKELY(p == NULL))
        return 0;
    p = tw_magic2_bytes(p, end, &record->value, &record->value_size);
    if (TW_UNLIKELY(p == NULL))
        return 0;
    record->headers.p = p = tw_magic2_int(p, end, &record->headers.count);
    record->headers.end = end;
    if (TW_UNLIKELY(p == NULL || record->headers.count < 0 || record->headers.count > (end - p) / 2))
        return 0;
    return record->headers.count > 0 || p == end;
}

#endif
