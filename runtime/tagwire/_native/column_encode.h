/* The hot loop of encoding from columns: rows of Arrow arrays to bytes, without the interpreter.
 *
 * Each column of the message's shape has a source, be it a constant one. The same refusals as encode.h, in the same
 * order. A function returns 0 or a fault; after a fault the row's bytes are taken back.
 */
#ifndef TAGWIRE_COLUMN_ENCODE_H
#define TAGWIRE_COLUMN_ENCODE_H

#include "column_steps.h"
#include "utf8.h"

typedef struct {
    tw_frame *frame;           /* of the results */
    tw_buffers *out;           /* the column of bytes in it */
    const tw_column *columns;  /* of the message */
    const tw_source *sources;  /* a source for each of them */
} tw_emitter;

static int tw_give_value(const tw_step *s, tw_emitter *e, int64_t at);
static int tw_give_struct(const tw_steps *s, tw_emitter *e, int64_t at);

/* ---------------------------------------------------------------- bytes */

static inline int tw_room(tw_emitter *e, int64_t size)
{
    return TW_LIKELY(size <= e->out->room - e->out->size) ? 0 : tw_grow_data(e->frame, e->out, e->out->size + size);
}

static inline uint8_t *tw_here(tw_emitter *e) { return e->out->data + e->out->size; }

static int tw_give_length(tw_emitter *e, int code, int64_t size)
{
    int fault = tw_room(e, TW_LENGTH_WIDTH);
    uint8_t *end;
    if (fault < 0)
        return fault;
    end = tw_put_length(tw_here(e), code, size);
    if (end == NULL)
        return TW_REFUSED;
    e->out->size = end - e->out->data;
    return 0;
}

static int tw_give_block(tw_emitter *e, const uint8_t *data, int64_t size)
{
    int fault = tw_room(e, size);
    if (fault < 0)
        return fault;
    if (size)
        memcpy(tw_here(e), data, (size_t)size);
    e->out->size += size;
    return 0;
}

/* Puts the length of what was written since `place` before it, less `uncounted`. */
static int tw_enclose(tw_emitter *e, int code, int64_t place, int uncounted)
{
    uint8_t length[TW_LENGTH_WIDTH + 1];
    int64_t size = e->out->size - place;
    uint8_t *end = tw_put_length(length, code, size - uncounted);
    int fault;
    if (end == NULL)
        return TW_REFUSED;
    fault = tw_room(e, end - length);
    if (fault < 0)
        return fault;
    memmove(e->out->data + place + (end - length), e->out->data + place, (size_t)size);
    memcpy(e->out->data + place, length, (size_t)(end - length));
    e->out->size += end - length;
    return 0;
}

/* ---------------------------------------------------------------- single values */

/* An integer that is there; its bits where both sides are unsigned. */
static inline int tw_give_int(const tw_step *s, const tw_source *source, uint8_t *p, int64_t at)
{
    int64_t x;
    int above = tw_source_int(source, at, &x);
    if (above < 0)
        return s->kind == TW_UINT64 ? (tw_put64(p, (uint64_t)x), 0) : TW_REFUSED;
    switch (s->kind) {
    case TW_INT8:
        *p = (uint8_t)x;
        return x == (int8_t)x ? 0 : TW_REFUSED;
    case TW_UINT8:
        *p = (uint8_t)x;
        return x == (uint8_t)x ? 0 : TW_REFUSED;
    case TW_INT16:
        tw_put16(p, (uint16_t)x);
        return x == (int16_t)x ? 0 : TW_REFUSED;
    case TW_UINT16:
        tw_put16(p, (uint16_t)x);
        return x == (uint16_t)x ? 0 : TW_REFUSED;
    case TW_INT32:
        tw_put32(p, (uint32_t)x);
        return x == (int32_t)x ? 0 : TW_REFUSED;
    case TW_UINT32:
        tw_put32(p, (uint32_t)x);
        return x == (uint32_t)x ? 0 : TW_REFUSED;
    default:
        tw_put64(p, (uint64_t)x);
        return s->kind == TW_UINT64 && x < 0 ? TW_REFUSED : 0;
    }
}

static int tw_give_float(const tw_source *source, uint8_t *p, int64_t at)
{
    double number = tw_source_float(source, at);
    uint64_t bits;
    memcpy(&bits, &number, 8);
    tw_put64(p, bits);
    return 0;
}

static int tw_give_uuid(const tw_source *source, uint8_t *p, int64_t at)
{
    const uint8_t *data;
    int64_t size;
    int fault = tw_source_bytes(source, at, &data, &size);
    if (fault < 0 || size != 16)
        return fault < 0 ? fault : TW_REFUSED;
    memcpy(p, data, 16);
    return 0;
}

static int tw_give_fixed(const tw_step *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->column;
    int fault = tw_room(e, 16);
    uint8_t *p;
    if (fault < 0)
        return fault;
    if (TW_UNLIKELY(!tw_is_there(source, at)))
        return TW_REFUSED;
    p = tw_here(e);
    if (s->kind == TW_BOOL)
        *p = (uint8_t)tw_get_bit(source->values, tw_source_index(source, at));
    else if (s->kind == TW_FLOAT64)
        fault = tw_give_float(source, p, at);
    else if (s->kind == TW_UUID)
        fault = tw_give_uuid(source, p, at);
    else
        fault = tw_give_int(s, source, p, at);
    e->out->size += tw_width[s->kind];
    return fault;
}

static int tw_give_varint(const tw_step *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->column;
    int64_t x;
    uint64_t bits;
    int above, fault = tw_room(e, 10);
    if (fault < 0)
        return fault;
    if (!tw_is_there(source, at))
        return TW_REFUSED;
    above = tw_source_int(source, at, &x);
    bits = s->zigzag ? tw_to_zigzag(x) : (uint64_t)x;
    if (s->zigzag ? above < 0 : above == 0 && x < 0)
        return TW_REFUSED;
    if (s->bits == 32 && (above < 0 || bits >> 32))
        return TW_REFUSED;
    e->out->size = tw_put_varint(tw_here(e), bits) - e->out->data;
    return 0;
}

static int tw_give_null(const tw_step *s, tw_emitter *e)
{
    int fault = s->nullable ? tw_room(e, 4) : TW_REFUSED;
    uint8_t *p;
    if (fault < 0)
        return fault;
    p = tw_here(e);
    switch (s->length) {
    case TW_COMPACT:
        *p++ = 0;
        break;
    case TW_LENGTH_INT16:
        tw_put16(p, 0xFFFF);
        p += 2;
        break;
    case TW_LENGTH_INT32:
        tw_put32(p, 0xFFFFFFFF);
        p += 4;
        break;
    default: /* a zig-zag varint */
        *p++ = 1;
    }
    e->out->size = p - e->out->data;
    return 0;
}

static int tw_give_sized(const tw_step *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->column;
    const uint8_t *data;
    int64_t size;
    int fault;
    if (!tw_is_there(source, at))
        return tw_give_null(s, e);
    fault = tw_source_bytes(source, at, &data, &size);
    if (fault < 0)
        return fault;
    if (size > s->longest || (s->kind == TW_TEXT && !tw_is_utf8(data, size)))
        return TW_REFUSED;
    fault = tw_give_length(e, s->length, size);
    return fault < 0 ? fault : tw_give_block(e, data, size);
}

/* ---------------------------------------------------------------- defaults */

/* Whether a value is its field's default: 1, 0 or a fault. Floats compare as in Java: a NaN differs from itself. */
static int tw_is_default(const tw_emitter *e, int32_t column, int64_t at)
{
    const tw_column *c = e->columns + column;
    const tw_source *source = e->sources + column;
    const uint8_t *data;
    int64_t number, size;
    double fresh;
    int fault;
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
        memcpy(&fresh, c->value, 8);
        return tw_source_float(source, at) == fresh;
    case TW_SOURCE_LIST:
    case TW_SOURCE_BLOCK_LIST:
        fault = tw_source_elements(source, at, &number, &size);
        return fault < 0 ? fault : size == 0;
    case TW_SOURCE_STRUCT:
        for (int32_t child = column + 1; child < c->end; child = e->columns[child].end) {
            int same = tw_is_default(e, child, at);
            if (same != 1)
                return same;
        }
        return 1;
    default:
        fault = tw_source_bytes(source, at, &data, &size);
        if (fault < 0)
            return fault;
        return size == c->size && (size == 0 || memcmp(data, c->value, (size_t)size) == 0);
    }
}

/* Refuses values that this version would lose. */
static int tw_refuse_losses(const tw_steps *s, tw_emitter *e, int64_t at)
{
    for (int32_t index = 0; index < s->absent_count; index++) {
        int same = s->absent[index].ignorable ? 1 : tw_is_default(e, s->absent[index].column, at);
        if (same != 1)
            return same == 0 ? TW_REFUSED : same;
    }
    return 0;
}

/* ---------------------------------------------------------------- tag sections */

/* One entry of a section: `step` or, where that is NULL, bytes of an unknown tag. */
static int tw_give_entry(
    const tw_steps *s, tw_emitter *e, int64_t tag, const tw_step *step, int64_t at, const uint8_t *data, int64_t size)
{
    int draft = s->section == TW_OPTIONAL_BUFFER, fault = tw_room(e, TW_LENGTH_WIDTH);
    int64_t place;
    if (fault < 0)
        return fault;
    if (!draft)
        e->out->size = tw_put_varint(tw_here(e), (uint64_t)tag) - e->out->data;
    place = e->out->size;
    if (draft) {
        tw_put16(tw_here(e), (uint16_t)tag);
        e->out->size += 2;
    }
    fault = step != NULL ? tw_give_value(step, e, at) : tw_give_block(e, data, size);
    if (fault < 0)
        return fault;
    if (draft && !s->counts_tag && e->out->size == place + 2)
        return TW_REFUSED; /* a length of zero would read as the end of the buffer */
    return tw_enclose(e, draft ? s->entry_length : TW_LENGTH_UVARINT, place, draft && !s->counts_tag ? 2 : 0);
}

/* The unknown tag at an index of the map's entries. */
static int tw_unknown_at(const tw_steps *s, const tw_emitter *e, int64_t at, int64_t *tag, const uint8_t **data, int64_t *size)
{
    const tw_source *entries = e->sources + s->unknown + 1;
    int64_t highest = s->section == TW_TAGGED_SECTION ? TW_UVARINT_MAX : 0xFFFF;
    if (!tw_is_there(entries, at) || !tw_is_there(entries + 1, at) || !tw_is_there(entries + 2, at))
        return TW_REFUSED;
    if (tw_source_int(entries + 1, at, tag) < 0 || *tag < 0 || *tag > highest)
        return TW_REFUSED;
    for (int32_t index = 0; index < s->tagged_count; index++)
        if (s->tagged[index].tag == *tag)
            return TW_REFUSED;
    return tw_source_bytes(entries + 2, at, data, size);
}

/* Known tagged fields up to a tag, from the `next`th on. */
static int tw_give_known(const tw_steps *s, tw_emitter *e, int64_t at, uint64_t bits, int32_t *next, int64_t before)
{
    for (; *next < s->tagged_count && s->tagged[*next].tag < before; ++*next) {
        int fault = bits >> *next & 1 ? tw_give_entry(s, e, s->tagged[*next].tag, s->tagged + *next, at, NULL, 0) : 0;
        if (fault < 0)
            return fault;
    }
    return 0;
}

static int tw_give_entries(const tw_steps *s, tw_emitter *e, int64_t at, uint64_t bits, int64_t from, int64_t count)
{
    int64_t last = -1, tag, size;
    const uint8_t *data;
    int32_t next = 0;
    for (int64_t index = from; index < from + count; index++) {
        int fault = tw_unknown_at(s, e, index, &tag, &data, &size);
        if (fault == 0 && tag <= last)
            return TW_UNTRIED; /* not in order */
        last = tag;
        if (fault == 0)
            fault = tw_give_known(s, e, at, bits, &next, tag);
        if (fault == 0)
            fault = tw_give_entry(s, e, tag, NULL, at, data, size);
        if (fault < 0)
            return fault;
    }
    return tw_give_known(s, e, at, bits, &next, INT64_MAX);
}

static int tw_give_section(const tw_steps *s, tw_emitter *e, int64_t at)
{
    const tw_source *unknown = e->sources + s->unknown;
    uint64_t bits = 0;
    int64_t from = 0, others = 0, known = 0;
    int fault;
    if (!tw_is_there(unknown, at))
        return TW_REFUSED;
    fault = tw_source_elements(unknown, at, &from, &others);
    for (int32_t index = 0; index < s->tagged_count && fault == 0; index++) {
        int same = tw_is_default(e, s->tagged[index].column, at);
        if (same < 0)
            return same;
        bits |= (uint64_t)!same << index;
        known += !same;
    }
    if (fault == 0 && s->section == TW_TAGGED_SECTION)
        fault = tw_give_length(e, TW_LENGTH_UVARINT, known + others);
    if (fault == 0 && (known || others))
        fault = tw_give_entries(s, e, at, bits, from, others);
    if (fault == 0 && s->section == TW_OPTIONAL_BUFFER)
        fault = tw_give_block(e, (const uint8_t *)"", 1);
    return fault;
}

/* ---------------------------------------------------------------- structs and arrays */

static int tw_give_fields(const tw_steps *s, tw_emitter *e, int64_t at)
{
    int fault = tw_refuse_losses(s, e, at);
    if (fault == 0 && s->section == TW_OPTIONAL_BUFFER)
        fault = tw_give_section(s, e, at);
    for (int32_t index = 0; index < s->items_count && fault == 0; index++)
        fault = tw_give_value(s->items + index, e, at);
    if (fault == 0 && s->section == TW_TAGGED_SECTION)
        fault = tw_give_section(s, e, at);
    return fault;
}

static int tw_give_struct(const tw_steps *s, tw_emitter *e, int64_t at)
{
    int64_t place = e->out->size;
    int fault = tw_give_fields(s, e, at);
    return fault < 0 || s->length == TW_NO_LENGTH ? fault : tw_enclose(e, s->length, place, 0);
}

static int tw_give_nested(const tw_step *s, tw_emitter *e, int64_t at)
{
    int present = tw_is_there(e->sources + s->column, at);
    uint8_t marker = present ? 1 : s->marker == TW_MARKER_INT8 ? 0xFF : 0;
    int fault = 0;
    if (s->marker != TW_NO_MARKER)
        fault = tw_give_block(e, &marker, 1);
    else if (!present)
        return TW_REFUSED;
    return fault < 0 || !present ? fault : tw_give_struct(s->child, e, at);
}

static int tw_give_array(const tw_step *s, tw_emitter *e, int64_t at)
{
    const tw_source *source = e->sources + s->column;
    int64_t from, count;
    int fault;
    if (!tw_is_there(source, at))
        return s->length == TW_NO_LENGTH ? TW_REFUSED : tw_give_null(s, e);
    fault = tw_source_elements(source, at, &from, &count);
    if (fault == 0 && s->length != TW_NO_LENGTH)
        fault = tw_give_length(e, s->length, count);
    for (int64_t index = from; index < from + count && fault == 0; index++)
        fault = tw_give_value(s->element, e, index);
    return fault;
}

static int tw_give_value(const tw_step *s, tw_emitter *e, int64_t at)
{
    switch (s->kind) {
    case TW_VARINT:
        return tw_give_varint(s, e, at);
    case TW_TEXT:
    case TW_BINARY:
        return tw_give_sized(s, e, at);
    case TW_ARRAY:
        return tw_give_array(s, e, at);
    case TW_STRUCT:
        return tw_give_nested(s, e, at);
    default:
        return tw_give_fixed(s, e, at);
    }
}

/* ---------------------------------------------------------------- rows */

/* What all rows of a call have in common. */
typedef struct {
    const tw_source *rows;
    const tw_source *versions;     /* NULL where all rows have the one version of the first table */
    const tw_steps *const *tables;
    int64_t low, tables_count;
    int32_t value, error;          /* columns of the result; `error` is -1 where there is none */
    int nulls_bad;                 /* a row that is refused becomes null at once */
} tw_encoding;

static inline int tw_encode_row(const tw_encoding *d, tw_emitter *e, int64_t row)
{
    const tw_steps *steps = tw_steps_of(d->versions, d->tables, d->low, d->tables_count, row);
    int fault = steps == NULL ? TW_NO_VERSION : tw_give_struct(steps, e, row);
    if (fault == 0)
        tw_put_offset(e->out, row + 1, e->out->size);
    return fault;
}

/* Rows from *row on, up to the first that is refused; then *row is that one, and the frame ends before it. */
static int tw_encode_rows(const tw_encoding *d, tw_emitter *e, int64_t *row, int64_t count)
{
    tw_frame *frame = e->frame;
    for (; *row < count; ++*row) {
        int fault = 0;
        frame->levels[0].touched = *row + 1;
        if (!tw_is_there(d->rows, *row) || (d->versions != NULL && !tw_is_there(d->versions, *row)))
            tw_put_null(frame, d->value, *row);
        else
            fault = tw_encode_row(d, e, *row);
        if (TW_UNLIKELY(fault < 0)) {
            tw_truncate(frame, *row);
            if (!d->nulls_bad || (fault != TW_REFUSED && fault != TW_NO_VERSION))
                return fault;
            tw_put_null(frame, d->value, *row);
        }
        if (d->error >= 0)
            tw_put_null(frame, d->error, *row);
        frame->levels[0].length = *row + 1;
    }
    return 0;
}

#endif
