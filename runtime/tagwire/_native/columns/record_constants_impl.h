/* Fill columns that have the same value for all records of a batch, such as the codec. */
#ifndef TAGWIRE_RECORD_CONSTANTS_IMPL_H
#define TAGWIRE_RECORD_CONSTANTS_IMPL_H

#include "columns/record_walk_impl.h"

/* Compute the value of a constant column for the open batch. Return 1, or 0 if the value is null. */
static inline int tw_constant_value(const tw_constant *c, const int64_t *slots, int64_t *x)
{
    *x = c->slot < 0 ? c->number : slots[c->slot];
    if (c->mask)
        *x = (*x & c->mask) >> c->shift;
    if (c->indexes != NULL)
        *x = c->indexes[*x]; /* valid, because the header's bits were checked */
    if (c->test >= 0 && (((slots[c->test] & c->needed) != c->needed) || (slots[c->test] & c->unless)))
        return 0;
    return !(c->null_number && *x == -1);
}

static void tw_put_bits(uint8_t *bits, int64_t first, int64_t end, int bit)
{
    for (; first < end && first & 7; first++)
        tw_put_bit(bits, first, bit);
    if (end - first >= 8) {
        memset(bits + (first >> 3), bit ? 0xFF : 0, (size_t)((end - first) >> 3));
        first += (end - first) & ~(int64_t)7;
    }
    for (; first < end; first++)
        tw_put_bit(bits, first, bit);
}

/* Store the value of a constant column in the rows from `first` up to `end`. The caller must have made room. */
static TW_MAYBE_UNUSED int tw_put_constant(tw_frame *frame, const tw_constant *c, const int64_t *slots, int64_t first, int64_t end)
{
    const tw_buffers *b = frame->buffers + c->column;
    size_t width = frame->columns[c->column].width, count = (size_t)(end - first), done = 1;
    uint8_t *values = b->values + width * (size_t)first;
    int64_t x;
    if (first == end)
        return 0;
    if (!tw_constant_value(c, slots, &x)) {
        tw_put_bits(b->valid, first, end, 0);
        x = 0;
    }
    if (frame->columns[c->column].kind == TW_COLUMN_BITS) {
        tw_put_bits(b->values, first, end, x != 0);
        return 0;
    }
    TW_TRY(tw_put_number(frame, c->column, first, x));
    for (; done < count; done *= 2)
        memcpy(values + done * width, values, (done < count - done ? done : count - done) * width);
    return 0;
}

#endif
