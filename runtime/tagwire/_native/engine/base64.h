/* Base64 as JSON has it: the standard alphabet with padding for bytes, the URL-safe one without for UUIDs. */
#ifndef TAGWIRE_BASE64_H
#define TAGWIRE_BASE64_H

#include "engine/compat.h"

static const char tw_base64_standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char tw_base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define TW_BASE64_SIZE(size) (((size) + 2) / 3 * 4)
#define TW_UUID_TEXT 22

/* Write whole groups of three bytes, and what is left of them without padding; what is behind the last letter. */
static char *tw_put_base64(char *out, const uint8_t *p, Py_ssize_t size, const char *alphabet)
{
    uint32_t bits;
    for (; size >= 3; p += 3, size -= 3) {
        bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        *out++ = alphabet[bits >> 6 & 63];
        *out++ = alphabet[bits & 63];
    }
    if (size) {
        bits = (uint32_t)p[0] << 16 | (size == 2 ? (uint32_t)p[1] << 8 : 0);
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        if (size == 2)
            *out++ = alphabet[bits >> 6 & 63];
    }
    return out;
}

static char *tw_put_padded_base64(char *out, const uint8_t *p, Py_ssize_t size)
{
    char *end = out + TW_BASE64_SIZE(size);
    out = tw_put_base64(out, p, size, tw_base64_standard);
    while (out < end)
        *out++ = '=';
    return out;
}

/* The six bits of a letter of the standard alphabet, or of the URL-safe one; -1 for any other character. */
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

/* Read letters without padding: the bytes written, or -1. */
static Py_ssize_t tw_get_base64(uint8_t *out, const uint8_t *p, Py_ssize_t size, int url)
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

/* The bytes of padded base64; NULL without an exception where it is none. */
static PyObject *tw_bytes_of_base64(const uint8_t *p, Py_ssize_t size)
{
    PyObject *bytes;
    Py_ssize_t letters = size;
    if (size % 4)
        return NULL;
    for (int padding = 0; padding < 2 && letters && p[letters - 1] == '='; padding++)
        letters--;
    bytes = PyBytes_FromStringAndSize(NULL, letters / 4 * 3 + (letters % 4 ? letters % 4 - 1 : 0));
    if (bytes != NULL && tw_get_base64(TW_BYTES_DATA(bytes), p, letters, 0) < 0)
        Py_CLEAR(bytes);
    return bytes;
}

/* The UUID of 22 letters; NULL without an exception where they are none. */
static PyObject *tw_uuid_of_base64(const tw_reader *r, const uint8_t *p, Py_ssize_t size)
{
    uint8_t bytes[18];
    if (size != TW_UUID_TEXT || tw_get_base64(bytes, p, size, 1) != 16)
        return NULL;
    return tw_new_uuid(r, bytes);
}

#endif
