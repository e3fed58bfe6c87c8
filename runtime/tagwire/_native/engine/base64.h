/* Encode and decode base64 for JSON: bytes use the standard alphabet with padding, UUIDs the URL-safe alphabet without
 * padding. */
#ifndef TAGWIRE_BASE64_H
#define TAGWIRE_BASE64_H

#include "engine/compat.h"

static TW_MAYBE_UNUSED const char tw_base64_standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static TW_MAYBE_UNUSED const char tw_base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define TW_BASE64_SIZE(size) (((size) + 2) / 3 * 4)
#define TW_UUID_TEXT 22

static inline uint32_t tw_get24(const uint8_t *p) { return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]; }

/* Encode six bytes as eight characters of the standard alphabet. The first character is the lowest byte of the result.
 *
 * Each byte of `six` contains one six-bit index. For indexes below 26, the character is an uppercase letter, and its
 * code is the index plus 65. For higher indexes, this sum is corrected. All eight characters are computed at once. */
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

/* Write bytes as base64 without padding to `out`. Return the end of the output. */
static inline char *tw_put_base64(char *out, const uint8_t *p, int64_t size, const char *alphabet)
{
    for (; size >= 3; p += 3, size -= 3) {
        uint32_t bits = tw_get24(p);
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        *out++ = alphabet[bits >> 6 & 63];
        *out++ = alphabet[bits & 63];
    }
    if (size) {
        uint32_t bits = (uint32_t)p[0] << 16 | (size == 2 ? (uint32_t)p[1] << 8 : 0);
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        if (size == 2)
            *out++ = alphabet[bits >> 6 & 63];
    }
    return out;
}

static inline char *tw_put_padded_base64(char *out, const uint8_t *p, int64_t size)
{
    char *end = out + TW_BASE64_SIZE(size);
    for (; size >= 6; size -= 6, p += 6) {
        uint64_t letters = tw_base64_of_six(p);
        for (int index = 0; index < 8; index++, letters >>= 8)
            *out++ = (char)letters;
    }
    out = tw_put_base64(out, p, size, tw_base64_standard);
    while (out < end)
        *out++ = '=';
    return out;
}

static inline int tw_base64_bits(uint8_t letter, int url)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == (url ? '-' : '+') ? 62 : letter == (url ? '_' : '/') ? 63 : -1;
}

/* Decode base64 without padding; `url` selects the URL-safe alphabet. Return the number of bytes, or -1 if invalid. */
static inline Py_ssize_t tw_get_base64(uint8_t *out, const uint8_t *p, Py_ssize_t size, int url)
{
    uint32_t bits = 0;
    uint8_t *start = out;
    if (size % 4 == 1)
        return -1;
    for (Py_ssize_t index = 0; index < size; index++) {
        int letter = tw_base64_bits(p[index], url);
        if (letter < 0)
            return -1;
        bits = bits << 6 | (uint32_t)letter;
        if (index % 4 == 3) {
            *out++ = (uint8_t)(bits >> 16);
            *out++ = (uint8_t)(bits >> 8);
            *out++ = (uint8_t)bits;
        }
    }
    if (size % 4 >= 2)
        *out++ = (uint8_t)(size % 4 == 2 ? bits >> 4 : bits >> 10);
    if (size % 4 == 3)
        *out++ = (uint8_t)(bits >> 2);
    return out - start;
}

#endif
