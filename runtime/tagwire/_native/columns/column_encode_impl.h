/* Encode one row of Arrow columns as a message, without the GIL.
 *
 * Each field has a source: an Arrow array or a constant. The checks and their order are the same as in encode.h, which
 * encodes objects with the same writer. Functions return 0 or an error code. After an error, the caller removes the
 * bytes written for the row. */
#ifndef TAGWIRE_COLUMN_ENCODE_IMPL_H
#define TAGWIRE_COLUMN_ENCODE_IMPL_H

#include "columns/column_source.h"
#include "engine/utf8.h"

typedef struct {
    tw_writer w;               /* writes into `out` */
    tw_frame *frame;
    tw_buffers *out;           /* the buffer of the output column */
    const tw_column *columns;
    const tw_source *sources;  /* the array or constant for each column of the message */
} tw_emitter;

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
    TW_TRY(tw_make_room(&e->w, 16));
    if (TW_UNLIKELY(!tw_is_there(source, at)))
        return TW_REJECTED;
    p = e->w.p;
    e->w.p += tw_width[s->kind];
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
    TW_TRY(tw_make_room(&e->w, 10));
    if (!tw_is_there(source, at))
        return TW_REJECTED;
    above = tw_source_int(source, at, &x);
    bits = s->zigzag ? tw_to_zigzag(x) : (uint64_t)x;
    if (s->zigzag ? above < 0 : above == 0 && x < 0)
        return TW_REJECTED;
    if (s->bits == 32 && (above < 0 || bits >> 32))
        return TW_REJECTED;
    e->w.p = tw_put_varint(e->w.p, bits);
    return 0;
}

/* Write a string or bytes, preceded by the length unless the field has a fixed size. */
static int tw_give_sized(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    const uint8_t *data;
    int64_t size;
    if (!tw_is_there(source, at))
        return tw_write_null(s, &e->w);
    TW_TRY(tw_source_bytes(source, at, &data, &size));
    if (s->kind == TW_STRING && !tw_is_utf8(data, size))
        return TW_REJECTED;
    return tw_write_block(s, data, size, &e->w);
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
    int64_t start;
    for (; *next < s->tagged_count && s->tagged[*next].tag < before; ++*next) {
        const tw_field *f = s->tagged + *next;
        if (!(bits >> *next & 1))
            continue;
        TW_TRY(tw_open_tag(s, &e->w, f->tag, &start));
        TW_TRY(tw_give_value(f, e, at));
        TW_TRY(tw_close_tag(s, &e->w, start));
    }
    return 0;
}

static int tw_give_entries(const tw_struct *s, tw_emitter *e, int64_t at, uint64_t bits, int64_t from, int64_t count)
{
    int64_t last = -1, tag, size, start;
    const uint8_t *data;
    int32_t next = 0;
    for (int64_t index = from; index < from + count; index++) {
        TW_TRY(tw_unknown_at(s, e, index, &tag, &data, &size));
        if (tag <= last)
            return TW_UNTRIED; /* tags out of order: leave the row to Python */
        last = tag;
        TW_TRY(tw_give_known(s, e, at, bits, &next, tag));
        TW_TRY(tw_open_tag(s, &e->w, tag, &start));
        TW_TRY(tw_put(&e->w, data, size));
        TW_TRY(tw_close_tag(s, &e->w, start));
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
        TW_TRY(tw_write_length(TW_LENGTH_UVARINT, known + others, &e->w));
    if (known || others)
        TW_TRY(tw_give_entries(s, e, at, bits, from, others));
    return s->section == TW_OPTIONAL_BUFFER ? tw_put(&e->w, "", 1) : 0;
}

static int tw_give_fields(const tw_struct *s, tw_emitter *e, int64_t at)
{
    TW_TRY(tw_reject_losses(s, e, at));
    if (s->section == TW_OPTIONAL_BUFFER)
        TW_TRY(tw_give_section(s, e, at));
    for (int32_t index = 0; index < s->items_count; index++)
        TW_TRY(tw_give_value(s->items + index, e, at));
    return s->section == TW_TAGGED_SECTION ? tw_give_section(s, e, at) : 0;
}

static int tw_give_struct(const tw_struct *s, tw_emitter *e, int64_t at)
{
    int64_t start;
    if (TW_LIKELY(s->length == TW_NO_LENGTH))
        return tw_give_fields(s, e, at);
    TW_TRY(tw_open(&e->w, s->length, &start));
    TW_TRY(tw_give_fields(s, e, at));
    return tw_close(&e->w, s->length, start, 0);
}

static int tw_give_nested(const tw_field *s, tw_emitter *e, int64_t at)
{
    int present = tw_is_there(e->sources + s->slot, at);
    TW_TRY(tw_write_marker(s, present, &e->w));
    if (!present)
        return 0;
    return s->kind == TW_STRUCT ? tw_give_struct(s->child, e, at) : tw_give_value(s->element, e, at);
}

static int tw_give_array(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    int64_t from, count;
    if (!tw_is_there(source, at))
        return tw_write_null(s, &e->w);
    TW_TRY(tw_source_elements(source, at, &from, &count));
    TW_TRY(tw_write_length(s->length, count, &e->w));
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
