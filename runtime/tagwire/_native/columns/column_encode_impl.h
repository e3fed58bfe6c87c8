/* Encode one row of Arrow columns as a message, without the GIL.
 *
 * Each field has a source: an Arrow array or a constant. The checks and their order are the same as in encode.h, which
 * encodes objects. Functions return 0 or an error code. After an error, the caller removes the bytes written for the
 * row. */
#ifndef TAGWIRE_COLUMN_ENCODE_IMPL_H
#define TAGWIRE_COLUMN_ENCODE_IMPL_H

#include "columns/column_emit_impl.h"

static int tw_give_value(const tw_field *s, tw_emitter *e, int64_t at);
static int tw_give_struct(const tw_struct *s, tw_emitter *e, int64_t at);

/* Return 1 if a value is its field's default, 0 if not, or an error code. Floats are compared bit by bit. */
static int tw_is_column_default(const tw_emitter *e, int32_t column, int64_t at)
{
    const tw_column *c = e->columns + column;
    const tw_source *source = e->sources + column;
    const uint8_t *data;
    int64_t number, size;
    double value, fresh;
    int error;
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
        error = tw_source_elements(source, at, &number, &size);
        return error < 0 ? error : size == 0;
    case TW_SOURCE_STRUCT:
        for (int32_t child = column + 1; child < c->end; child = e->columns[child].end) {
            int same = tw_is_column_default(e, child, at);
            if (same != 1)
                return same;
        }
        return 1;
    default:
        error = tw_source_bytes(source, at, &data, &size);
        if (error < 0)
            return error;
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
    int draft = s->section == TW_OPTIONAL_BUFFER, error = tw_room(e, TW_LENGTH_WIDTH);
    int64_t start;
    if (error < 0)
        return error;
    if (!draft)
        e->out->size = tw_put_varint(tw_here(e), (uint64_t)tag) - e->out->data;
    start = e->out->size;
    if (draft) {
        tw_put16(tw_here(e), (uint16_t)tag);
        e->out->size += 2;
    }
    error = step != NULL ? tw_give_value(step, e, at) : tw_give_block(e, data, size);
    if (error < 0)
        return error;
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
    for (; *next < s->tagged_count && s->tagged[*next].tag < before; ++*next) {
        int error = bits >> *next & 1 ? tw_give_entry(s, e, s->tagged[*next].tag, s->tagged + *next, at, NULL, 0) : 0;
        if (error < 0)
            return error;
    }
    return 0;
}

static int tw_give_entries(const tw_struct *s, tw_emitter *e, int64_t at, uint64_t bits, int64_t from, int64_t count)
{
    int64_t last = -1, tag, size;
    const uint8_t *data;
    int32_t next = 0;
    for (int64_t index = from; index < from + count; index++) {
        int error = tw_unknown_at(s, e, index, &tag, &data, &size);
        if (error == 0 && tag <= last)
            return TW_UNTRIED; /* tags out of order: leave the row to Python */
        last = tag;
        if (error == 0)
            error = tw_give_known(s, e, at, bits, &next, tag);
        if (error == 0)
            error = tw_give_entry(s, e, tag, NULL, at, data, size);
        if (error < 0)
            return error;
    }
    return tw_give_known(s, e, at, bits, &next, INT64_MAX);
}

static int tw_give_section(const tw_struct *s, tw_emitter *e, int64_t at)
{
    const tw_source *unknown = e->sources + s->unknown_slot;
    uint64_t bits = 0;
    int64_t from = 0, others = 0, known = 0;
    int error;
    if (!tw_is_there(unknown, at))
        return TW_REJECTED;
    error = tw_source_elements(unknown, at, &from, &others);
    for (int32_t index = 0; index < s->tagged_count && error == 0; index++) {
        int same = tw_is_column_default(e, s->tagged[index].slot, at);
        if (same < 0)
            return same;
        bits |= (uint64_t)!same << index;
        known += !same;
    }
    if (error == 0 && s->section == TW_TAGGED_SECTION)
        error = tw_give_length(e, TW_LENGTH_UVARINT, known + others);
    if (error == 0 && (known || others))
        error = tw_give_entries(s, e, at, bits, from, others);
    if (error == 0 && s->section == TW_OPTIONAL_BUFFER)
        error = tw_give_block(e, (const uint8_t *)"", 1);
    return error;
}

static int tw_give_fields(const tw_struct *s, tw_emitter *e, int64_t at)
{
    int error = tw_reject_losses(s, e, at);
    if (error == 0 && s->section == TW_OPTIONAL_BUFFER)
        error = tw_give_section(s, e, at);
    for (int32_t index = 0; index < s->items_count && error == 0; index++)
        error = tw_give_value(s->items + index, e, at);
    if (error == 0 && s->section == TW_TAGGED_SECTION)
        error = tw_give_section(s, e, at);
    return error;
}

static int tw_give_struct(const tw_struct *s, tw_emitter *e, int64_t at)
{
    int64_t start = e->out->size;
    int error = tw_give_fields(s, e, at);
    return error < 0 || s->length == TW_NO_LENGTH ? error : tw_enclose(e, s->length, start, 0);
}

/* Write a nested struct or optional value, after a marker byte if its type has one. Return TW_REJECTED for a null whose
 * type has no marker byte. */
static int tw_give_nested(const tw_field *s, tw_emitter *e, int64_t at)
{
    int present = tw_is_there(e->sources + s->slot, at);
    uint8_t marker = present ? 1 : s->marker == TW_MARKER_INT8 ? 0xFF : 0;
    int error = 0;
    if (s->marker != TW_NO_MARKER)
        error = tw_give_block(e, &marker, 1);
    else if (!present)
        return TW_REJECTED;
    if (error < 0 || !present)
        return error;
    return s->kind == TW_STRUCT ? tw_give_struct(s->child, e, at) : tw_give_value(s->element, e, at);
}

static int tw_give_array(const tw_field *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->slot;
    int64_t from, count;
    int error;
    if (!tw_is_there(source, at))
        return s->length == TW_NO_LENGTH ? TW_REJECTED : tw_give_null(s, e);
    error = tw_source_elements(source, at, &from, &count);
    if (error == 0 && s->length != TW_NO_LENGTH)
        error = tw_give_length(e, s->length, count);
    for (int64_t index = from; index < from + count && error == 0; index++)
        error = tw_give_value(s->element, e, index);
    return error;
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
