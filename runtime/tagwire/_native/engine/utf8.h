/* Validate UTF-8 without calling Python. Accepts exactly the bytes that Python's strict decoder accepts. Source: the
 * table of well-formed byte sequences in the Unicode standard (3.9, table 3-7). */
#ifndef TAGWIRE_UTF8_H
#define TAGWIRE_UTF8_H

#include "engine/compat.h"

/* Return the size in bytes of the UTF-8 sequence at `p`; 0 if it is not well-formed. `left` is the number of bytes from
 * `p` to the end of the string. */
static int tw_utf8_sequence(const uint8_t *p, int64_t left)
{
    uint8_t low = 0x80, high = 0xBF; /* the allowed values of the second byte */
    int size;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    size = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (left < size)
        return 0;
    if (p[0] == 0xE0)
        low = 0xA0;
    else if (p[0] == 0xED)
        high = 0x9F;
    else if (p[0] == 0xF0)
        low = 0x90;
    else if (p[0] == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (int index = 2; index < size; index++)
        if ((p[index] & 0xC0) != 0x80)
            return 0;
    return size;
}

/* Return whether all bytes are ASCII. Tests eight bytes at once. */
static inline int tw_is_ascii(const uint8_t *p, int64_t size)
{
    const uint8_t *end = p + size;
    uint64_t word = 0, last;
    uint32_t half, other;
    if (size >= 8) {
        for (; end - p > 8; p += 8) {
            memcpy(&last, p, 8);
            word |= last;
        }
        memcpy(&last, end - 8, 8);
        return !((word | last) & 0x8080808080808080u);
    }
    if (size >= 4) {
        memcpy(&half, p, 4);
        memcpy(&other, end - 4, 4);
        return !((half | other) & 0x80808080u);
    }
    return size == 0 || !((p[0] | p[size / 2] | end[-1]) & 0x80);
}

static inline int tw_is_utf8(const uint8_t *p, int64_t size)
{
    const uint8_t *end = p + size;
    if (TW_LIKELY(tw_is_ascii(p, size)))
        return 1;
    while (p < end) {
        int step = tw_utf8_sequence(p, end - p);
        if (step == 0)
            return 0;
        p += step;
    }
    return 1;
}

#ifndef Py_LIMITED_API
/* Return the size in UTF-8 of a string that isn't ASCII, or -1 if Python must encode the string. */
static TW_MAYBE_UNUSED int64_t tw_counted_utf8(PyObject *text)
{
    Py_ssize_t count;
    int64_t size;
    if (!PyUnicode_IS_COMPACT(text))
        return -1;
    size = count = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND) {
        const Py_UCS1 *p = PyUnicode_1BYTE_DATA(text), *end = p + count;
        for (; p < end; p++)
            size += *p >> 7;
    } else if (PyUnicode_KIND(text) == PyUnicode_2BYTE_KIND) {
        const Py_UCS2 *p = PyUnicode_2BYTE_DATA(text), *end = p + count;
        for (; p < end; p++) {
            if (TW_UNLIKELY((*p & 0xF800) == 0xD800))
                return -1;
            size += (*p >= 0x80) + (*p >= 0x800);
        }
    } else {
        const Py_UCS4 *p = PyUnicode_4BYTE_DATA(text), *end = p + count;
        for (; p < end; p++) {
            if (TW_UNLIKELY((*p & 0xFFFFF800) == 0xD800))
                return -1;
            size += (*p >= 0x80) + (*p >= 0x800) + (*p >= 0x10000);
        }
    }
    return size;
}
#endif

/* Return the size of a string in UTF-8; -1 with an exception if the string contains a lone surrogate. */
static inline int64_t tw_utf8_size(PyObject *text)
{
    PyObject *data;
    int64_t size;
#ifndef Py_LIMITED_API
    if (TW_LIKELY(PyUnicode_IS_COMPACT_ASCII(text)))
        return PyUnicode_GET_LENGTH(text);
    if (TW_LIKELY((size = tw_counted_utf8(text)) >= 0))
        return size;
#endif
    data = PyUnicode_AsUTF8String(text); /* PyUnicode_AsUTF8AndSize would cache a copy in the string */
    if (data == NULL)
        return -1;
    size = TW_BYTES_SIZE(data);
    Py_DECREF(data);
    return size;
}

#endif
