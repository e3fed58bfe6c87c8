/* Write integers, escaped strings, and bytes as base64 in JSON text. Each function writes to a buffer that has enough
 * room, and returns the end of the output. */
#ifndef TAGWIRE_JSON_LETTERS_H
#define TAGWIRE_JSON_LETTERS_H

#include <string.h>

#include "engine/base64.h"

/* The maximum number of characters in a 64-bit integer, including its sign. */
#define TW_MOST_DIGITS 20
/* The maximum number of characters in the JSON escape of one byte. */
#define TW_MOST_ESCAPED 6

static inline char *tw_put_digits(char *out, int64_t x)
{
    char digits[TW_MOST_DIGITS], *first = digits + sizeof digits;
    uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    size_t size;
    do {
        *--first = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (x < 0)
        *--first = '-';
    size = (size_t)(digits + sizeof digits - first);
    memcpy(out, first, size);
    return out + size;
}

/* Return the character that follows the backslash in the JSON escape of a character, or 0 if it needs no escape. */
static inline char tw_json_escape(uint8_t letter)
{
    switch (letter) {
    case '"':
    case '\\':
        return (char)letter;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    }
    return letter < 0x20 ? 'u' : 0;
}

/* Write a string, given in UTF-8, as a JSON string with quotes and escapes. */
static inline char *tw_put_json_text(char *out, const uint8_t *p, int64_t size)
{
    *out++ = '"';
    for (const uint8_t *end = p + size; p < end; p++) {
        char escape = tw_json_escape(*p);
        if (TW_LIKELY(!escape)) {
            *out++ = (char)*p;
            continue;
        }
        *out++ = '\\';
        *out++ = escape;
        if (escape == 'u') {
            *out++ = '0';
            *out++ = '0';
            *out++ = (char)('0' + (*p >> 4));
            *out++ = "0123456789abcdef"[*p & 15];
        }
    }
    *out++ = '"';
    return out;
}

static inline char *tw_put_json_bytes(char *out, const uint8_t *p, int64_t size)
{
    *out++ = '"';
    out = tw_put_padded_base64(out, p, size);
    *out++ = '"';
    return out;
}

#endif
