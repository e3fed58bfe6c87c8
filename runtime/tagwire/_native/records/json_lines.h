/* Records as lines of JSON: from the bytes of a batch to the bytes of its lines, with no object in between.
 *
 * Records of the shape of magic 2 and 3: a length, perhaps an attributes byte, two deltas, key, value and headers, all
 * lengths zig-zag varints. Only yes or no: a record that is not exactly right stops the loop before it, and whoever
 * called reads it with Python, which says what is wrong, or what was only unusual.
 */
#ifndef TAGWIRE_JSON_LINES_H
#define TAGWIRE_JSON_LINES_H

#include "records/growing.h"
#include "records/magic2.h"

/* The records that are left of a batch, and what all of their lines have in common. */
typedef struct {
    const uint8_t *data;
    int64_t pos, end, left;
    int64_t base_offset, base_timestamp;
    int appended; /* the timestamps are base_timestamp, whatever the deltas say */
    int has_attributes;
    const uint8_t *head; /* what each line begins with */
    size_t head_size;
} tw_lines;

#define TW_TEXT_PUT(text, literal) tw_text_put(text, literal, sizeof(literal) - 1)

static void tw_text_number(tw_text *text, int64_t value)
{
    uint8_t digits[20];
    int at = 20;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (uint8_t)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0)
        digits[--at] = '-';
    tw_text_put(text, digits + at, (size_t)(20 - at));
}

static inline uint32_t tw_get24(const uint8_t *p) { return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]; }

static const char tw_base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The eight letters of six bytes, the first in the lowest byte: all at once, with one number of six bits in each byte.
 * From a letter's place in the alphabet to its code is 65 more, with a step where the capitals, the small letters, the
 * digits and + end.
 */
static inline uint64_t tw_base64_of_six(const uint8_t *p)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t three = (uint64_t)tw_get24(p) | (uint64_t)tw_get24(p + 3) << 32;
    uint64_t six = (three >> 18 & 0x0000003F0000003Fu) | (three >> 4 & 0x00003F0000003F00u) |
                   (three << 10 & 0x003F0000003F0000u) | (three << 24 & 0x3F0000003F000000u);
    uint64_t from26 = (six + (128 - 26) * each) >> 7 & each, from52 = (six + (128 - 52) * each) >> 7 & each;
    uint64_t from62 = (six + (128 - 62) * each) >> 7 & each, from63 = (six + (128 - 63) * each) >> 7 & each;
    return six + 'A' * each + from26 * 6 + from63 * 3 - from52 * 75 - from62 * 15;
}

static void tw_text_base64(tw_text *text, const uint8_t *p, int64_t size)
{
    uint8_t *out = text->data + text->size;
    for (; size >= 6; size -= 6, p += 6) {
        uint64_t letters = tw_base64_of_six(p);
        for (int index = 0; index < 8; index++, letters >>= 8)
            *out++ = (uint8_t)letters;
    }
    for (; size >= 3; size -= 3, p += 3) {
        uint32_t three = tw_get24(p);
        *out++ = (uint8_t)tw_base64_digits[three >> 18];
        *out++ = (uint8_t)tw_base64_digits[three >> 12 & 63];
        *out++ = (uint8_t)tw_base64_digits[three >> 6 & 63];
        *out++ = (uint8_t)tw_base64_digits[three & 63];
    }
    if (size) {
        uint32_t rest = (uint32_t)p[0] << 16 | (size == 2 ? (uint32_t)p[1] << 8 : 0);
        *out++ = (uint8_t)tw_base64_digits[rest >> 18];
        *out++ = (uint8_t)tw_base64_digits[rest >> 12 & 63];
        *out++ = size == 2 ? (uint8_t)tw_base64_digits[rest >> 6 & 63] : '=';
        *out++ = '=';
    }
    text->size = (size_t)(out - text->data);
}

/* Bytes with their length, as base64 in quotes; null for a length of -1. */
static int tw_lines_bytes(tw_text *text, const uint8_t *data, int64_t *pos, int64_t end)
{
    int64_t size;
    if (!tw_magic2_int(data, pos, end, &size) || size < -1 || size > end - *pos)
        return 0;
    if (!tw_text_reserve(text, size < 0 ? 4 : (size_t)(size / 3 + 1) * 4 + 2))
        return 0;
    if (size < 0) {
        TW_TEXT_PUT(text, "null");
        return 1;
    }
    TW_TEXT_PUT(text, "\"");
    tw_text_base64(text, data + *pos, size);
    TW_TEXT_PUT(text, "\"");
    *pos += size;
    return 1;
}

/* A header's key as a string of JSON. */
static int tw_lines_key(tw_text *text, const uint8_t *data, int64_t *pos, int64_t end)
{
    static const char hex[] = "0123456789abcdef";
    int64_t size;
    if (!tw_magic2_int(data, pos, end, &size) || size < 0 || size > end - *pos || !tw_is_utf8(data + *pos, size))
        return 0;
    if (!tw_text_reserve(text, (size_t)size * 6 + 2))
        return 0;
    TW_TEXT_PUT(text, "\"");
    for (const uint8_t *p = data + *pos, *stop = p + size; p < stop; p++) {
        const char *letters = "btn?fr", *found; /* of \b at 8 to \r at 13; \v has none */
        uint8_t escape[6] = {'\\', 'u', '0', '0', (uint8_t)hex[*p >> 4 & 15], (uint8_t)hex[*p & 15]};
        found = *p >= 8 && *p <= 13 && *p != 11 ? letters + (*p - 8) : NULL;
        if (*p == '"' || *p == '\\') {
            escape[1] = *p;
            tw_text_put(text, escape, 2);
        } else if (found) {
            escape[1] = (uint8_t)*found;
            tw_text_put(text, escape, 2);
        } else if (*p < 0x20) {
            tw_text_put(text, escape, 6);
        } else {
            tw_text_put(text, p, 1);
        }
    }
    TW_TEXT_PUT(text, "\"");
    *pos += size;
    return 1;
}

static int tw_lines_headers(tw_text *text, const uint8_t *data, int64_t *pos, int64_t end)
{
    int64_t count;
    if (!tw_magic2_int(data, pos, end, &count) || count < 0 || count > (end - *pos) / 2)
        return 0;
    if (!tw_text_reserve(text, 1))
        return 0;
    TW_TEXT_PUT(text, "[");
    for (int64_t index = 0; index < count; index++) {
        if (!tw_text_reserve(text, 8))
            return 0;
        if (index)
            TW_TEXT_PUT(text, ", ");
        TW_TEXT_PUT(text, "[");
        if (!tw_lines_key(text, data, pos, end) || !tw_text_reserve(text, 2))
            return 0;
        TW_TEXT_PUT(text, ", ");
        if (!tw_lines_bytes(text, data, pos, end) || !tw_text_reserve(text, 1))
            return 0;
        TW_TEXT_PUT(text, "]");
    }
    if (!tw_text_reserve(text, 1))
        return 0;
    TW_TEXT_PUT(text, "]");
    return 1;
}

static inline void tw_text_truth(tw_text *text, int is_so)
{
    if (is_so)
        TW_TEXT_PUT(text, "true");
    else
        TW_TEXT_PUT(text, "false");
}

/* The line of the next record; 0, with text and lines as they were, for one that is not exactly right. */
static int tw_lines_one(tw_text *text, tw_lines *lines)
{
    const uint8_t *data = lines->data;
    size_t begun = text->size;
    int64_t pos = lines->pos, size, time, offset, stop;
    int is_tombstone, has_headers;
    if (!tw_magic2_int(data, &pos, lines->end, &size) || size < 0 || size > lines->end - pos)
        return 0;
    stop = pos + size;
    pos += lines->has_attributes;
    if (!tw_magic2_varint(data, &pos, stop, 10, 64, &time) || !tw_magic2_int(data, &pos, stop, &offset))
        return 0;
    if (!tw_magic2_sum(lines->base_offset, offset, &offset))
        return 0;
    if (lines->appended)
        time = lines->base_timestamp;
    else if (!tw_magic2_sum(lines->base_timestamp, time, &time))
        return 0;
    if (!tw_text_reserve(text, lines->head_size + 128))
        return 0;
    tw_text_put(text, lines->head, lines->head_size);
    TW_TEXT_PUT(text, ", \"offset\": ");
    tw_text_number(text, offset);
    TW_TEXT_PUT(text, ", \"timestamp\": ");
    tw_text_number(text, time);
    TW_TEXT_PUT(text, ", \"key\": ");
    if (!tw_lines_bytes(text, data, &pos, stop) || !tw_text_reserve(text, 16))
        goto refused;
    TW_TEXT_PUT(text, ", \"value\": ");
    if (!tw_lines_bytes(text, data, &pos, stop) || !tw_text_reserve(text, 16))
        goto refused;
    is_tombstone = text->data[text->size - 1] != '"'; /* it is null, and no text in quotes */
    TW_TEXT_PUT(text, ", \"headers\": ");
    if (!tw_lines_headers(text, data, &pos, stop) || pos != stop || !tw_text_reserve(text, 64))
        goto refused;
    has_headers = text->data[text->size - 2] != '['; /* it is more than [] */
    TW_TEXT_PUT(text, ", \"hasHeaders\": ");
    tw_text_truth(text, has_headers);
    TW_TEXT_PUT(text, ", \"isTombstone\": ");
    tw_text_truth(text, is_tombstone);
    TW_TEXT_PUT(text, "}\n");
    lines->pos = pos;
    lines->left--;
    return 1;
refused:
    text->size = begun;
    return 0;
}

/* Lines until `most` bytes are written, the records are at their end, or one is refused. */
static void tw_lines_write(tw_text *text, tw_lines *lines, size_t most)
{
    while (lines->left > 0 && text->size < most)
        if (!tw_lines_one(text, lines))
            return;
}

#endif
