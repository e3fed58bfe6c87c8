#include "records/output.h"

#include <stdlib.h>

int tw_grow_output(tw_output *out, size_t more)
{
    uint8_t *data;
    size_t room = out->room ? out->room : 1 << 16;
    if (out->failed || more > (SIZE_MAX >> 2) - out->size)
        return !(out->failed = 1);
    while (room < out->size + more)
        room *= 2;
    data = realloc(out->data, room);
    if (data == NULL)
        return !(out->failed = 1);
    out->data = data;
    out->room = room;
    return 1;
}
