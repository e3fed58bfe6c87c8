/* Records of the shape of magic 2 and 3: a length, perhaps an attributes byte, two deltas, key, value and headers, all
 * lengths zig-zag varints.
 *
 * For loops that only say yes or no: a record that is not exactly right is left to Python, which says what is wrong, or
 * what was only unusual.
 */
#ifndef TAGWIRE_MAGIC2_H
#define TAGWIRE_MAGIC2_H

#include <stdint.h>
#include <string.h>

#include "engine/utf8.h"

/* A varint in its shortest form, of up to `most` bytes and `bits` bits; 0 if there is none. */
static inline int tw_magic2_varint(const uint8_t *data, int64_t *pos, int64_t end, int most, int bits, int64_t *value)
{
    uint64_t number = 0;
    int64_t at = *pos;
    for (int index = 0; index < most; index++, at++) {
        uint64_t byte;
        if (at >= end)
            return 0;
        byte = data[at];
        if (index == 9 && byte > 1)
            return 0;
        number |= (byte & 0x7F) << (7 * index);
        if (byte < 0x80) {
            if ((byte == 0 && index) || (bits < 64 && number >> bits))
                return 0;
            *value = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
            *pos = at + 1;
            return 1;
        }
    }
    return 0;
}

static inline int tw_magic2_int(const uint8_t *data, int64_t *pos, int64_t end, int64_t *value)
{
    return tw_magic2_varint(data, pos, end, 5, 32, value);
}

/* a + b where that is an int64; else 0 */
static inline int tw_magic2_sum(int64_t a, int64_t b, int64_t *sum)
{
    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b))
        return 0;
    *sum = a + b;
    return 1;
}

/* A record of magic 2, which always has attributes. */
typedef struct {
    int64_t time, offset;   /* as deltas */
    int key_is_null, value_is_null;
    uint8_t attributes;
    int64_t rest, end;      /* where key, value and headers stand */
} tw_magic2_record;

/* Goes past bytes with their length, which is -1 for null. */
static inline int tw_magic2_pass(const uint8_t *data, int64_t *pos, int64_t end, int64_t *size)
{
    if (!tw_magic2_int(data, pos, end, size) || *size < -1 || *size > end - *pos)
        return 0;
    *pos += *size < 0 ? 0 : *size;
    return 1;
}

static int tw_magic2_headers(const uint8_t *data, int64_t *pos, int64_t end)
{
    int64_t count, size;
    if (!tw_magic2_int(data, pos, end, &count) || count < 0 || count > (end - *pos) / 2)
        return 0;
    for (int64_t index = 0; index < count; index++) {
        if (!tw_magic2_pass(data, pos, end, &size) || size < 0 || !tw_is_utf8(data + *pos - size, size))
            return 0;
        if (!tw_magic2_pass(data, pos, end, &size))
            return 0;
    }
    return 1;
}

/* The record at `pos`, which ends where it says; 0 for one that is not exactly right. */
static int tw_magic2_read(const uint8_t *data, int64_t pos, int64_t end, tw_magic2_record *record)
{
    int64_t size;
    if (!tw_magic2_int(data, &pos, end, &size) || size < 1 || size > end - pos)
        return 0;
    record->end = end = pos + size;
    record->attributes = data[pos++];
    if (!tw_magic2_varint(data, &pos, end, 10, 64, &record->time) || !tw_magic2_int(data, &pos, end, &record->offset))
        return 0;
    record->rest = pos;
    if (!tw_magic2_pass(data, &pos, end, &size))
        return 0;
    record->key_is_null = size < 0;
    if (!tw_magic2_pass(data, &pos, end, &size))
        return 0;
    record->value_is_null = size < 0;
    return tw_magic2_headers(data, &pos, end) && pos == end;
}

#endif
