/* Encode single values from columns.
 *
 * The bytes are appended to the buffer of the output column. The width of a length prefix depends on the length, so the
 * bytes are written first, and then moved to make room for the prefix. */
#ifndef TAGWIRE_COLUMN_EMIT_IMPL_H
#define TAGWIRE_COLUMN_EMIT_IMPL_H

#include "columns/column_rows.h"
#include "engine/utf8.h"

static inline int tw_room(tw_emitter *e, int64_t size)
{
    return TW_LIKELY(size <= e->out->room - e->out->size) ? 0 : tw_grow_data(e->frame, e->out, e->out->size + size);
}

static inline uint8_t *tw_here(tw_emitter *e) { return e->out->data + e->out->size; }

static int tw_give_length(tw_emitter *e, int code, int64_t size)
{
    int error = tw_room(e, TW_LENGTH_WIDTH);
    uint8_t *end;
    if (error < 0)
        return error;
    end = tw_put_length(tw_here(e), code, size);
    if (end == NULL)
        return TW_REJECTED;
    e->out->size = end - e->out->data;
    return 0;
}

static int tw_give_block(tw_emitter *e, const uint8_t *data, int64_t size)
{
    int error = tw_room(e, size);
    if (error < 0)
        return error;
    if (size)
        memcpy(tw_here(e), data, (size_t)size);
    e->out->size += size;
    return 0;
}

/* Insert a length before the bytes written since `start`. The length excludes the first `uncounted` bytes, such as the
 * tag in some optional buffers (KIP-482 draft). */
static TW_MAYBE_UNUSED int tw_enclose(tw_emitter *e, int code, int64_t start, int uncounted)
{
    uint8_t length[TW_LENGTH_WIDTH + 1];
    int64_t size = e->out->size - start;
    uint8_t *end = tw_put_length(length, code, size - uncounted);
    int error;
    if (end == NULL)
        return TW_REJECTED;
    error = tw_room(e, end - length);
    if (error < 0)
        return error;
    memmove(e->out->data + start + (end - length), e->out->data + start, (size_t)size);
    memcpy(e->out->data + start, length, (size_t)(end - length));
    e->out->size += end - length;
    return 0;
}

static inline int tw_give_int(const tw_field *s, const tw_source *source, uint8_t *p, int64_t at)
{
    int64_t x;
    int above = tw_source_int(source, at, &x);
    if (above < 0)
        return s->kind == TW_UINT64 ? (tw_put64(p, (uint64_t)x), 0) : TW_REJECTED;
    return tw_put_int(s->kind, p, x) < 0 ? TW_REJECTED : 0;
}

/* Write a float; for a float32, the nearest one. Return TW_REJECTED if the number is too large for a float32. */
static int tw_give_float(const tw_field *s, const tw_source *source, uint8_t *p, int64_t at)
{
    double number = tw_source_float(source, at);
    if (s->kind == TW_FLOAT64)
        return tw_put_float64(p, number);
    return tw_fits_float32(number) ? tw_put_float32(p, (float)number) : TW_REJECTED;
}

static int tw_give_uuid(const tw_source *source, uint8_t *p, int64_t at)
{
    const uint8_t *data;
    int64_t size;
    int error = tw_source_bytes(source, at, &data, &size);
    if (error < 0 || size != 16)
        return error < 0 ? error : TW_REJECTED;
    memcpy(p, data, 16);
    return 0;
}

static TW_MAYBE_UNUSED int tw_give_fixed(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    int error = tw_room(e, 16);
    uint8_t *p;
    if (error < 0)
        return error;
    if (TW_UNLIKELY(!tw_is_there(source, at)))
        return TW_REJECTED;
    p = tw_here(e);
    if (s->kind == TW_BOOL)
        *p = (uint8_t)tw_get_bit(source->values, tw_source_index(source, at));
    else if (s->kind == TW_FLOAT64 || s->kind == TW_FLOAT32)
        error = tw_give_float(s, source, p, at);
    else if (s->kind == TW_UUID)
        error = tw_give_uuid(source, p, at);
    else
        error = tw_give_int(s, source, p, at);
    e->out->size += tw_width[s->kind];
    return error;
}

static TW_MAYBE_UNUSED int tw_give_varint(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    int64_t x;
    uint64_t bits;
    int above, error = tw_room(e, 10);
    if (error < 0)
        return error;
    if (!tw_is_there(source, at))
        return TW_REJECTED;
    above = tw_source_int(source, at, &x);
    bits = s->zigzag ? tw_to_zigzag(x) : (uint64_t)x;
    if (s->zigzag ? above < 0 : above == 0 && x < 0)
        return TW_REJECTED;
    if (s->bits == 32 && (above < 0 || bits >> 32))
        return TW_REJECTED;
    e->out->size = tw_put_varint(tw_here(e), bits) - e->out->data;
    return 0;
}

static int tw_give_null(const tw_field *s, tw_emitter *e)
{
    int error = s->nullable ? tw_room(e, 4) : TW_REJECTED;
    if (error == 0)
        e->out->size = tw_put_null_length(tw_here(e), s->length) - e->out->data;
    return error;
}

/* Write a string or bytes, preceded by the length unless the field has a fixed size. */
static TW_MAYBE_UNUSED int tw_give_sized(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    const uint8_t *data;
    int64_t size;
    int error;
    if (!tw_is_there(source, at))
        return tw_give_null(s, e);
    error = tw_source_bytes(source, at, &data, &size);
    if (error < 0)
        return error;
    if (size > s->longest || (s->kind == TW_STRING && !tw_is_utf8(data, size)))
        return TW_REJECTED;
    if (s->kind != TW_BLOCK)
        error = tw_give_length(e, s->length, size);
    else if (size != s->longest)
        error = TW_REJECTED;
    return error < 0 ? error : tw_give_block(e, data, size);
}

#endif
