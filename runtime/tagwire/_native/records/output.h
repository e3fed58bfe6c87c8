/* Bytes that are written one behind the other, in memory that grows. */
#ifndef TAGWIRE_OUTPUT_H
#define TAGWIRE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

/* What is written. `failed` once memory has run out. */
typedef struct {
    uint8_t *data;
    size_t size, room;
    int failed;
} tw_output;

int tw_grow_output(tw_output *out, size_t more);

/* Room for `more` bytes: 1, or 0 where there is no memory for them. */
static inline int tw_reserve_output(tw_output *out, size_t more)
{
    return more <= out->room - out->size || tw_grow_output(out, more);
}

#endif
