/* Read magic 2 records: length, optional attributes byte, two deltas, key, value and headers.
 *
 * If C rejects a record, Python reads it again, and accepts it or raises the error.
 *
 * Source: Kafka's documentation of the record format. All numbers except the attributes are zig-zag varints. */
#ifndef TAGWIRE_MAGIC2_IMPL_H
#define TAGWIRE_MAGIC2_IMPL_H

#include "engine/number_reading.h"
#include "engine/utf8.h"
#include "records/batch.h"

/* The unread headers of a record. Functions take this struct by value for speed: the record's other members can stay
 * in CPU registers. */
typedef struct {
    const uint8_t *p, *end;
    int64_t count;
} tw_magic2_headers;

/* A record. Its pointers refer to the bytes that it was read from. */
typedef struct {
    int64_t timestamp, offset; /* deltas from the batch's base timestamp and base offset */
    const uint8_t *body;       /* start of the key's length */
    const uint8_t *key, *value;
    int64_t key_size, value_size; /* sizes of key and value in bytes; TW_NULL for null */
    tw_magic2_headers headers;
    const uint8_t *end;
    uint8_t attributes;        /* the attributes byte, or 0 if the record has none */
} tw_magic2_record;

typedef struct {
    const uint8_t *key, *value;
    int64_t key_size, value_size; /* sizes of key and value in bytes; TW_NULL for a null value */
} tw_magic2_header;

/* The next two functions return the end of the bytes that they read, or NULL if the bytes are invalid. */

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

/* Read the next header of a record. Return 1, or 0 if the header is invalid. */
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

/* Read the record at `p`, except for its headers. Return 1, or 0 if the record is invalid. The caller must check that
 * the headers end where the record ends. */
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

/* Read the next record of a batch, and compute its offset and timestamp. Return 1, or 0 if Python must read the record.
 * Does not advance `batch`. */
static inline int tw_next_record(const tw_batch *batch, tw_magic2_record *record, int64_t *offset, int64_t *timestamp)
{
    *timestamp = batch->base_timestamp;
    return tw_read_magic2(batch->p, batch->end, batch->has_attributes, record) &&
           tw_add(batch->base_offset, record->offset, offset) &&
           (batch->is_appended || tw_add(*timestamp, record->timestamp, timestamp));
}

#endif
