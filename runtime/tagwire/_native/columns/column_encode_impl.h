/* Encode one row of Arrow columns as a message, without the GIL.
 *
 * Each field has a source: an Arrow array or a constant. The checks and their order are the same as in encode.h, which
 * encodes objects. Functions return 0 or an error code. After an error, the caller removes the bytes written for the
 * row.
 *
 * The bytes are appended to the buffer of the output column. The width of a length prefix depends on the length, so the
 * bytes are written first, and then moved to make room for the prefix. */
#ifndef TAGWIRE_COLUMN_ENCODE_IMPL_H
#define TAGWIRE_COLUMN_ENCODE_IMPL_H

#include "columns/column_source.h"
#include "engine/utf8.h"

typedef struct {
    tw_frame *frame;
    tw_buffers *out;           /* the output column's buffer, which receives the encoded bytes */
    const tw_column *columns;
    const tw_source *sources;  /* the array or constant for each column of the message */
} tw_emitter;

static inline int tw_room(tw_emitter *e, int64_t size)
{
    return TW_LIKELY(size <= e->out->room - e->out->size) ? 0 : tw_grow_data(e->frame, e->out, e->out->size + size);
}

static inline uint8_t *tw_here(tw_emitter *e) { return e->out->data + e->out->size; }

static int tw_give_length(tw_emitter *e, int code, int64_t size)
{
    uint8_t *end;
    TW_TRY(tw_room(e, TW_LENGTH_WIDTH));
    end = tw_put_length(tw_here(e), code, size);
    if (end == NULL)
        return TW_REJECTED;
    e->out->size = end - e->out->data;
    return 0;
}

static int tw_give_block(tw_emitter *e, const uint8_t *data, int64_t size)
{
    TW_TRY(tw_room(e, size));
    if (size)
        memcpy(tw_here(e), data, (size_t)size);
    e->out->size += size;
    return 0;
}

/* Insert a length before the bytes written since `start`. The length excludes the first `uncounted` bytes, such as the
 * tag in some optional buffers (KIP-482 draft). */
static int tw_enclose(tw_emitter *e, int code, int64_t start, int uncounted)
{
    uint8_t length[TW_LENGTH_WIDTH + 1];
    int64_t size = e->out->size - start;
    uint8_t *end = tw_put_length(length, code, size - uncounted);
    if (end == NULL)
        return TW_REJECTED;
    TW_TRY(tw_room(e, end - length));
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
    TW_TRY(tw_source_bytes(source, at, &data, &size));
    if (size != 16)
        return TW_REJECTED;
    memcpy(p, data, 16);
    return 0;
}

static int tw_give_fixed(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    uint8_t *p;
    TW_TRY(tw_room(e, 16));
    if (TW_UNLIKELY(!tw_is_there(source, at)))
        return TW_REJECTED;
    p = tw_here(e);
    e->out->size += tw_width[s->kind];
    if (s->kind == TW_BOOL)
        *p = (uint8_t)tw_get_bit(source->values, tw_source_index(source, at));
    else if (s->kind == TW_FLOAT64 || s->kind == TW_FLOAT32)
        return tw_give_float(s, source, p, at);
    else if (s->kind == TW_UUID)
        return tw_give_uuid(source, p, at);
    else
        return tw_give_int(s, source, p, at);
    return 0;
}

static int tw_give_varint(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    int64_t x;
    uint64_t bits;
    int above;
    TW_TRY(tw_room(e, 10));
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
    TW_TRY(s->nullable ? tw_room(e, 4) : TW_REJECTED);
    e->out->size = tw_put_null_length(tw_here(e), s->length) - e->out->data;
    return 0;
}

/* Write a string or bytes, preceded by the length unless the field has a fixed size. */
static int tw_give_sized(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    const uint8_t *data;
    int64_t size;
    if (!tw_is_there(source, at))
        return tw_give_null(s, e);
    TW_TRY(tw_source_bytes(source, at, &data, &size));
    if (size > s->longest || (s->kind == TW_STRING && !tw_is_utf8(data, size)))
        return TW_REJECTED;
    if (s->kind != TW_BLOCK)
        TW_TRY(tw_give_length(e, s->length, size));
    else if (size != s->longest)
        return TW_REJECTED;
    return tw_give_block(e, data, size);
}

static int tw_give_value(const tw_field *s, tw_emitter *e, int64_t at);

/* Return 1 if a value is its field's default, 0 if not, or an error code. Floats are compared bit by bit. */
static int tw_is_column_default(const tw_emitter *e, int32_t column, int64_t at)
{
    const tw_column *c = e->columns + column;
    const tw_source *source = e->sources + column;
    const uint8_t *data;
    int64_t number, size;
    double value, fresh;
    if (source->constant)
        return 1;
    if (!tw_is_there(source, at))
        return c->null_default;
    if (c->null_default)
        return 0;
    switch (source->kind) {
    case TW_SOURCE_BOOL:
        return tw_get_bit(source->values, tw_source_index(source, at)) == *c->value;
    case TW_SOURCE_INT:
        if (tw_source_int(source, at, &number) < 0 && c->is_signed)
            return 0;
        return number == tw_source_number(c->value, 0, c->width, c->is_signed);
    case TW_SOURCE_FLOAT:
        value = tw_source_float(source, at);
        fresh = tw_float_at(c->value, 0, c->width);
        return memcmp(&value, &fresh, sizeof value) == 0;
    case TW_SOURCE_LIST:
    case TW_SOURCE_BLOCK_LIST:
        TW_TRY(tw_source_elements(source, at, &number, &size));
        return size == 0;
    case TW_SOURCE_STRUCT:
        for (int32_t child = column + 1; child < c->end; child = e->columns[child].end) {
            int same = tw_is_column_default(e, child, at);
            if (same != 1)
                return same;
        }
        return 1;
    default:
        TW_TRY(tw_source_bytes(source, at, &data, &size));
        return size == c->size && (size == 0 || memcmp(data, c->value, (size_t)size) == 0);
    }
}

/* Return TW_REJECTED if a field that this version lacks isn't ignorable and has a value other than its default. */
static int tw_reject_losses(const tw_struct *s, tw_emitter *e, int64_t at)
{
    for (int32_t index = 0; index < s->missing_count; index++) {
        int same = s->missing[index].ignorable ? 1 : tw_is_column_default(e, s->missing[index].slot, at);
        if (same != 1)
            return same == 0 ? TW_REJECTED : same;
    }
    return 0;
}

/* Write an entry of a tag section or optional buffer (KIP-482 draft). A known tag's value is in row `at` of the field
 * `step`. For an unknown tag, `step` is NULL, and `data` points to the `size` bytes of the value. */
static int tw_give_entry(
    const tw_struct *s, tw_emitter *e, int64_t tag, const tw_field *step, int64_t at, const uint8_t *data, int64_t size)
{
    int draft = s->section == TW_OPTIONAL_BUFFER;
    int64_t start;
    TW_TRY(tw_room(e, TW_LENGTH_WIDTH));
    if (!draft)
        e->out->size = tw_put_varint(tw_here(e), (uint64_t)tag) - e->out->data;
    start = e->out->size;
    if (draft) {
        tw_put16(tw_here(e), (uint16_t)tag);
        e->out->size += 2;
    }
    TW_TRY(step != NULL ? tw_give_value(step, e, at) : tw_give_block(e, data, size));
    if (draft && !s->counts_tag && e->out->size == start + 2)
        return TW_REJECTED; /* length 0 would mark the end of the buffer */
    return tw_enclose(e, draft ? s->entry_length : TW_LENGTH_UVARINT, start, draft && !s->counts_tag ? 2 : 0);
}

/* Get the tag and data of an entry in the map of unknown tags. Return TW_REJECTED if the tag is invalid or belongs to a
 * known field. */
static int tw_unknown_at(const tw_struct *s, const tw_emitter *e, int64_t at, int64_t *tag, const uint8_t **data, int64_t *size)
{
    const tw_source *entries = e->sources + s->unknown_slot + 1;
    int64_t highest = s->section == TW_TAGGED_SECTION ? TW_UVARINT_MAX : 0xFFFF;
    if (!tw_is_there(entries, at) || !tw_is_there(entries + 1, at) || !tw_is_there(entries + 2, at))
        return TW_REJECTED;
    if (tw_source_int(entries + 1, at, tag) < 0 || *tag < 0 || *tag > highest)
        return TW_REJECTED;
    for (int32_t index = 0; index < s->tagged_count; index++)
        if (s->tagged[index].tag == *tag)
            return TW_REJECTED;
    return tw_source_bytes(entries + 2, at, data, size);
}

/* Write known tagged fields from index `*next` on, up to the first field whose tag is `before` or higher. Advance
 * `*next` past these fields. Field i is skipped if bit i of `bits` is 0. */
static int tw_give_known(const tw_struct *s, tw_emitter *e, int64_t at, uint64_t bits, int32_t *next, int64_t before)
{
    for (; *next < s->tagged_count && s->tagged[*next].tag < before; ++*next)
        if (bits >> *next & 1)
            TW_TRY(tw_give_entry(s, e, s->tagged[*next].tag, s->tagged + *next, at, NULL, 0));
    return 0;
}

static int tw_give_entries(const tw_struct *s, tw_emitter *e, int64_t at, uint64_t bits, int64_t from, int64_t count)
{
    int64_t last = -1, tag, size;
    const uint8_t *data;
    int32_t next = 0;
    for (int64_t index = from; index < from + count; index++) {
        TW_TRY(tw_unknown_at(s, e, index, &tag, &data, &size));
        if (tag <= last)
            return TW_UNTRIED; /* tags out of order: leave the row to Python */
        last = tag;
        TW_TRY(tw_give_known(s, e, at, bits, &next, tag));
        TW_TRY(tw_give_entry(s, e, tag, NULL, at, data, size));
    }
    return tw_give_known(s, e, at, bits, &next, INT64_MAX);
}

static int tw_give_section(const tw_struct *s, tw_emitter *e, int64_t at)
{
    const tw_source *unknown = e->sources + s->unknown_slot;
    uint64_t bits = 0;
    int64_t from, others, known = 0;
    if (!tw_is_there(unknown, at))
        return TW_REJECTED;
    TW_TRY(tw_source_elements(unknown, at, &from, &others));
    for (int32_t index = 0; index < s->tagged_count; index++) {
        int same = tw_is_column_default(e, s->tagged[index].slot, at);
        TW_TRY(same);
        bits |= (uint64_t)!same << index;
        known += !same;
    }
    if (s->section == TW_TAGGED_SECTION)
        TW_TRY(tw_give_length(e, TW_LENGTH_UVARINT, known + others));
    if (known || others)
        TW_TRY(tw_give_entries(s, e, at, bits, from, others));
    return s->section == TW_OPTIONAL_BUFFER ? tw_give_block(e, (const uint8_t *)"", 1) : 0;
}

static int tw_give_struct(const tw_struct *s, tw_emitter *e, int64_t at)
{
    int64_t start = e->out->size;
    TW_TRY(tw_reject_losses(s, e, at));
    if (s->section == TW_OPTIONAL_BUFFER)
        TW_TRY(tw_give_section(s, e, at));
    for (int32_t index = 0; index < s->items_count; index++)
        TW_TRY(tw_give_value(s->items + index, e, at));
    if (s->section == TW_TAGGED_SECTION)
        TW_TRY(tw_give_section(s, e, at));
    return s->length == TW_NO_LENGTH ? 0 : tw_enclose(e, s->length, start, 0);
}

/* Write a nested struct or optional value, after a marker byte if its type has one. Return TW_REJECTED for a null whose
 * type has no marker byte. */
static int tw_give_nested(const tw_field *s, tw_emitter *e, int64_t at)
{
    int present = tw_is_there(e->sources + s->slot, at);
    uint8_t marker = present ? 1 : s->marker == TW_MARKER_INT8 ? 0xFF : 0;
    if (s->marker != TW_NO_MARKER)
        TW_TRY(tw_give_block(e, &marker, 1));
    else if (!present)
        return TW_REJECTED;
    if (!present)
        return 0;
    return s->kind == TW_STRUCT ? tw_give_struct(s->child, e, at) : tw_give_value(s->element, e, at);
}

static int tw_give_array(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    int64_t from, count;
    if (!tw_is_there(source, at))
        return s->length == TW_NO_LENGTH ? TW_REJECTED : tw_give_null(s, e);
    TW_TRY(tw_source_elements(source, at, &from, &count));
    if (s->length != TW_NO_LENGTH)
        TW_TRY(tw_give_length(e, s->length, count));
    for (int64_t index = from; index < from + count; index++)
        TW_TRY(tw_give_value(s->element, e, index));
    return 0;
}

static int tw_give_value(const tw_field *s, tw_emitter *e, int64_t at)
{
    switch (s->kind) {
    case TW_VARINT:
        return tw_give_varint(s, e, at);
    case TW_STRING:
    case TW_BINARY:
    case TW_BLOCK:
        return tw_give_sized(s, e, at);
    case TW_ARRAY:
        return tw_give_array(s, e, at);
    case TW_STRUCT:
    case TW_OPTIONAL:
        return tw_give_nested(s, e, at);
    default:
        return tw_give_fixed(s, e, at);
    }
}

#endif
