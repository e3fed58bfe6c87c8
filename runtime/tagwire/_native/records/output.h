/* An output buffer that grows as needed. */
#ifndef TAGWIRE_OUTPUT_H
#define TAGWIRE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *data;
    size_t size, room; /* `size`: number of bytes written; `room`: number of bytes allocated */
    int failed;        /* whether memory has run out */
} tw_output;

int tw_grow_output(tw_output *out, size_t more);

/* Make room for `more` bytes. Return 1, or 0 if memory has run out. */
static inline int tw_reserve_output(tw_output *out, size_t more)
{
    return more <= out->room - out->size || tw_grow_output(out, more);
}

#endif
