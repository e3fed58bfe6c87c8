/* Bytes that are written one behind the other, in memory that grows. */
#ifndef TAGWIRE_GROWING_H
#define TAGWIRE_GROWING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is written. `failed` once memory has run out. */
typedef struct {
    uint8_t *data;
    size_t size, room;
    int failed;
} tw_text;

static int tw_text_reserve(tw_text *text, size_t more)
{
    uint8_t *data;
    size_t room = text->room ? text->room : 1 << 16;
    if (text->failed || more > (SIZE_MAX >> 2) - text->size)
        return !(text->failed = 1);
    if (text->size + more <= text->room)
        return 1;
    while (room < text->size + more)
        room *= 2;
    data = realloc(text->data, room);
    if (data == NULL)
        return !(text->failed = 1);
    text->data = data;
    text->room = room;
    return 1;
}

/* These take room that was reserved. */

static inline void tw_text_put(tw_text *text, const void *data, size_t size)
{
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

#endif
