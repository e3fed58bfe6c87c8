/* Read through a message without creating objects, to find the position of an error, to record a trace (spans.h), or to
 * collect selected fields (collect.h).
 *
 * decode.h does not track positions, so that it is fast for valid messages. The functions here record the error's
 * position and path, and the remaining limits. The layout interpreter continues at that position and raises the error
 * (tagwire.interpreter.error_positions).
 *
 * Functions return 0, or -1 if the message has an error or an exception was raised.
 */
#ifndef TAGWIRE_WALK_H
#define TAGWIRE_WALK_H

#include "engine/collect.h"
#include "engine/spans.h"

/* Where the layout interpreter must continue to raise the error. tagwire.interpreter.error_positions uses these names.
 *
 * TW_AT_VALUE: at the first byte of the value to which `path` leads
 * TW_AT_SECTION: at the start of a tag section
 * TW_AT_ENTRY: at the entry after tag `last` in a tag section or optional buffer
 * TW_AT_ELEMENT: at the next element of an array without a count
 * TW_AT_TAG_END: after the value of tag `last`, which is shorter than its stated `size`
 * TW_AT_STRUCT_END: after the last field of a struct that is shorter than its stated length
 * TW_AT_MESSAGE_END: at the bytes that follow the message */
enum tw_stage {
    TW_NO_ERROR,
    TW_AT_VALUE, TW_AT_SECTION, TW_AT_ENTRY, TW_AT_ELEMENT, TW_AT_TAG_END, TW_AT_STRUCT_END, TW_AT_MESSAGE_END,
};

typedef struct {
    tw_reader r;           /* the position and the remaining limits; after an error, those at the error */
    int64_t depth;         /* how many more levels of nested structs the limits allow */
    tw_spans spans;
    int has_known_tags;    /* whether a known tagged field was read, even if it had its default value */
    int stage;
    int64_t last, size;
    PyObject *path, *open; /* lists, innermost first. `path`: field names and indexes that lead to the error; `open`:
                            * row numbers of the spans that contain the error */
    tw_collect *c;         /* receives the selected fields; NULL if the plan is not for a selection */
} tw_walk;

static int tw_walk_value(const tw_field *f, tw_walk *w, int role, int64_t step);
static int tw_collect_field(const tw_field *f, tw_walk *w);

/* Record an error at `from`. Discard span number `span` and all spans after it. Return -1. */
static TW_RARE int tw_reject(tw_walk *w, int stage, const uint8_t *from, int64_t span)
{
    w->stage = stage;
    w->r.p = from;
    w->spans.count = span;
    return -1;
}

static TW_RARE int tw_reject_entry(tw_walk *w, const uint8_t *from, int64_t last)
{
    w->last = last;
    return tw_reject(w, TW_AT_ENTRY, from, w->spans.count);
}

static int tw_append(PyObject *list, PyObject *item)
{
    if (item != NULL && !PyErr_Occurred())
        PyList_Append(list, item);
    Py_XDECREF(item);
    return -1;
}

/* Record the field, element or trace span that contains an error. Always return -1. */
static TW_RARE int tw_in_field(tw_walk *w, const tw_field *f) { return tw_append(w->path, Py_NewRef(f->name)); }
static TW_RARE int tw_in_element(tw_walk *w, int64_t index) { return tw_append(w->path, PyLong_FromLongLong(index)); }
static TW_RARE int tw_in_span(tw_walk *w, int64_t span)
{
    return w->spans.rows == NULL ? -1 : tw_append(w->open, PyLong_FromLongLong(span));
}

static int tw_walk_unknown_tag(tw_walk *w, int64_t tag, int64_t size, const uint8_t *entry, int64_t last)
{
    tw_reader *r = &w->r;
    const uint8_t *data = r->p;
    int64_t span, raw;
    if (r->unknown_tags < 1 || r->unknown_tag_bytes < size)
        return tw_reject_entry(w, entry, last);
    r->unknown_tags--;
    r->unknown_tag_bytes -= size;
    r->p += size;
    span = tw_open_span(&w->spans, TW_SPAN_UNKNOWN, tag, entry);
    raw = span < 0 ? -1 : tw_open_span(&w->spans, TW_SPAN_RAW, 0, data);
    if (raw < 0)
        return -1;
    tw_close_span(&w->spans, raw, 0, r->p);
    return tw_close_span(&w->spans, span, size, r->p);
}

static int tw_walk_known_tag(const tw_field *f, tw_walk *w, int64_t size, const uint8_t *entry)
{
    tw_reader *r = &w->r;
    const uint8_t *around = r->end;
    int64_t span = tw_open_span(&w->spans, tw_span_kind(f, TW_TAG_OF_FIELD), f->tag, entry);
    if (span < 0)
        return -1;
    tw_note_span(&w->spans, span, size);
    w->has_known_tags = 1;
    r->end = r->p + size;
    if ((f->chosen != NULL ? tw_collect_field(f, w) : tw_walk_value(f, w, TW_VALUE_OF_TAG, 0)) < 0)
        return tw_in_span(w, span), tw_in_field(w, f);
    if (r->p != r->end) {
        w->last = f->tag;
        w->size = size;
        tw_reject(w, TW_AT_TAG_END, r->p, w->spans.count);
        return tw_in_span(w, span), tw_in_field(w, f);
    }
    r->end = around;
    return tw_close_span(&w->spans, span, size, r->p);
}

/* Read through all entries of a tag section or an optional buffer (KIP-482 draft). Set bit N of `*seen` for known tag
 * number N. Return the number of entries, or -1 for an error. */
static int64_t tw_walk_entries(const tw_struct *s, tw_walk *w, int64_t left, uint64_t *seen)
{
    int64_t tag = -1, size;
    for (int64_t count = 0;; count++) {
        const tw_field *f;
        const uint8_t *entry = w->r.p;
        int64_t last = tag;
        int more = tw_next_entry(s, &w->r, &left, &tag, &size);
        if (more == 0)
            return count;
        if (more < 0)
            return tw_reject_entry(w, entry, last);
        f = tw_find_tag(s, tag);
        if (f != NULL)
            *seen |= (uint64_t)1 << (f - s->tagged);
        TW_TRY(f == NULL ? tw_walk_unknown_tag(w, tag, size, entry, last) : tw_walk_known_tag(f, w, size, entry));
    }
}

static int tw_walk_section(const tw_struct *s, tw_walk *w)
{
    const uint8_t *start = w->r.p;
    int is_buffer = s->section == TW_OPTIONAL_BUFFER;
    int64_t count, span;
    uint64_t seen = 0;
    if (!is_buffer && w->spans.rows == NULL && start < w->r.end && *start == 0 && !s->has_chosen_tags) {
        w->r.p++;
        return 0;
    }
    if (s->has_chosen_tags)
        TW_TRY(tw_note_position(w->c, &w->r));
    span = tw_open_span(&w->spans, is_buffer ? TW_SPAN_BUFFER : TW_SPAN_SECTION, 0, start);
    if (span < 0)
        return -1;
    count = tw_read_entries(s, &w->r);
    if (count < 0 || count * 2 > w->r.end - w->r.p)
        return tw_reject(w, TW_AT_SECTION, start, span);
    if (!is_buffer)
        tw_note_span(&w->spans, span, count);
    count = tw_walk_entries(s, w, count, &seen);
    if (count >= 0 && s->has_chosen_tags)
        TW_TRY(tw_fill_holes(s->tagged, s->tagged_count, seen, w->c));
    return count < 0 ? tw_in_span(w, span) : tw_close_span(&w->spans, span, count, w->r.p);
}

/* Read the length that precedes a struct, and set the reader's end to the end of the struct. */
static int tw_walk_extent(const tw_struct *s, tw_walk *w)
{
    const uint8_t *start = w->r.p;
    int64_t size = tw_read_length(&w->r, s->length), span;
    if (size < 0 || size > w->r.end - w->r.p)
        return tw_reject(w, TW_AT_VALUE, start, w->spans.count), tw_in_field(w, s->enclosing);
    w->r.end = w->r.p + size;
    span = tw_open_span(&w->spans, tw_span_kind(s->enclosing, TW_FIELD), 0, start);
    return span < 0 ? -1 : tw_close_span(&w->spans, span, 0, w->r.p);
}

/* Fast path, used if no spans are recorded: skip a run of fixed-width fields, or a short string, bytes value or array.
 * Return the number of skipped fields, or 0 if the next field must be read normally. */
static inline int tw_pass(const tw_field *f, tw_reader *r)
{
    int64_t left = r->end - r->p, size;
    if (f->run_count) {
        if (left < f->run)
            return 0;
        r->p += f->run;
        return f->run_count;
    }
    if (f->length != TW_COMPACT || left < 1 || (uint8_t)(*r->p - 1) >= 0x7F)
        return 0;
    size = *r->p - 1; /* a one-byte compact length, from 0 to 126 */
    if (f->kind == TW_ARRAY && (f->element->kind == TW_INT32 || size == 0) && 4 * size < left && size <= r->elements) {
        r->elements -= size;
        r->p += 1 + 4 * size;
        return 1;
    }
    if (f->kind == TW_ARRAY || size >= left || (f->kind == TW_STRING && !tw_is_ascii(r->p + 1, size)))
        return 0;
    r->p += 1 + size;
    return 1;
}

static int tw_walk_items(const tw_struct *s, tw_walk *w)
{
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        if (w->spans.rows == NULL) {
            int passed = tw_pass(f, &w->r);
            if (TW_LIKELY(passed)) {
                f += passed - 1;
                continue;
            }
        }
        if (TW_UNLIKELY(tw_walk_value(f, w, TW_FIELD, 0) < 0))
            return tw_in_field(w, f);
    }
    return 0;
}

static int tw_collect_field(const tw_field *f, tw_walk *w)
{
    if (tw_is_leaf(f->chosen))
        return tw_collect_leaf(f->chosen->column, f, w->c, &w->r);
    return tw_walk_value(f, w, TW_FIELD, 0);
}

static TW_NOINLINE int tw_collect_items(const tw_struct *s, tw_walk *w)
{
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++) {
        int passed;
        if (f->chosen != NULL)
            TW_TRY(tw_collect_field(f, w));
        else if ((passed = tw_pass(f, &w->r)) != 0)
            f += passed - 1;
        else
            TW_TRY(tw_walk_value(f, w, TW_FIELD, 0));
    }
    return s->has_chosen_missing ? tw_fill_holes(s->missing, s->missing_count, 0, w->c) : 0;
}

static int tw_walk_fields(const tw_struct *s, tw_walk *w)
{
    if (s->section == TW_OPTIONAL_BUFFER && tw_walk_section(s, w) < 0)
        return -1;
    TW_TRY(TW_UNLIKELY(s->has_chosen) ? tw_collect_items(s, w) : tw_walk_items(s, w));
    return s->section == TW_TAGGED_SECTION ? tw_walk_section(s, w) : 0;
}

static int tw_walk_struct(const tw_struct *s, tw_walk *w)
{
    const uint8_t *around = w->r.end;
    if (s->length != TW_NO_LENGTH && tw_walk_extent(s, w) < 0)
        return -1;
    TW_TRY(tw_walk_fields(s, w));
    if (s->length != TW_NO_LENGTH && w->r.p != w->r.end)
        return tw_reject(w, TW_AT_STRUCT_END, w->r.p, w->spans.count);
    w->r.end = around;
    return 0;
}

static int tw_walk_nested(const tw_field *f, tw_walk *w, int64_t span)
{
    const uint8_t *start = w->r.p;
    int present = tw_is_present(f, &w->r);
    if (present < 0 || (present && w->depth < 1))
        return tw_reject(w, TW_AT_VALUE, start, span);
    if (f->chosen != NULL && tw_note(w->c, present) < 0)
        return -1;
    if (!present)
        return f->chosen != NULL ? tw_put_nulls(f->chosen, w->c) : tw_close_span(&w->spans, span, TW_SPAN_NULL, w->r.p);
    tw_note_span(&w->spans, span, 1);
    w->depth--;
    if (tw_walk_struct(f->child, w) < 0)
        return tw_in_span(w, span);
    w->depth++;
    return tw_close_span(&w->spans, span, 1, w->r.p);
}

static int tw_walk_to_end(const tw_field *f, tw_walk *w, int64_t span)
{
    int64_t count = 0;
    for (; w->r.p < w->r.end; count++) {
        if (w->r.elements < 1) {
            tw_reject(w, TW_AT_ELEMENT, w->r.p, w->spans.count);
            return tw_in_span(w, span);
        }
        w->r.elements--;
        if (tw_walk_value(f->element, w, TW_ELEMENT, count) < 0)
            return tw_in_span(w, span), tw_in_element(w, count);
    }
    return tw_close_span(&w->spans, span, count, w->r.p);
}

static int tw_walk_elements(const tw_field *e, tw_walk *w, int64_t count)
{
    int64_t unseen = e->kind == TW_BLOCK ? e->longest : tw_width_unseen(e);
    /* A fast path for non-nullable structs, used if no spans are recorded. */
    int direct = e->kind == TW_STRUCT && e->marker == TW_NO_MARKER && w->spans.rows == NULL && w->depth > 0;
    if (unseen) { /* the array's span describes fixed-width elements (spans.h) */
        w->r.p += count * unseen;
        return 0;
    }
    w->depth -= direct;
    for (int64_t index = 0; index < count; index++)
        if (TW_UNLIKELY((direct ? tw_walk_struct(e->child, w) : tw_walk_value(e, w, TW_ELEMENT, index)) < 0))
            return tw_in_element(w, index);
    w->depth += direct;
    return 0;
}

static inline int tw_collect_element(const tw_field *f, tw_walk *w)
{
    if (f->chosen->column >= 0)
        return tw_collect_leaf(f->chosen->column, f->element, w->c, &w->r);
    return tw_walk_struct(f->element->child, w);
}

/* Read an array element that becomes a row. For a rewrite, also record where the element and its marks end, so that
 * splice.h can skip the row. */
static int tw_collect_row(const tw_field *f, tw_walk *w)
{
    tw_collect *c = w->c;
    Py_ssize_t end;
    if (tw_begin_row(c) < 0 || tw_note_position(c, &w->r) < 0)
        return -1;
    end = c->marks_count;
    if (tw_note(c, 0) < 0 || tw_note(c, 0) < 0 || tw_collect_element(f, w) < 0)
        return -1;
    if (c->marking) {
        c->marks[end] = w->r.p - w->r.start;
        c->marks[end + 1] = c->marks_count;
    }
    return 0;
}

/* Read an array inside a row. For each selected column in the array, the row gets a list with one value per element. */
static int tw_collect_lists(const tw_field *f, tw_walk *w, int64_t count)
{
    const tw_chosen *s = f->chosen;
    PyObject *around[TW_MOST_COLUMNS];
    for (Py_ssize_t index = 0; index < s->columns_count; index++) {
        int column = s->columns[index];
        PyObject *list = PyList_New(0);
        around[index] = w->c->lists[column];
        TW_TRY(tw_put_cell(w->c, column, list));
        w->c->lists[column] = list; /* borrowed: the row or the enclosing list owns this list */
    }
    for (; count > 0; count--)
        TW_TRY(tw_collect_element(f, w));
    for (Py_ssize_t index = 0; index < s->columns_count; index++)
        w->c->lists[s->columns[index]] = around[index];
    return 0;
}

static int tw_collect_elements(const tw_field *f, tw_walk *w, int64_t count)
{
    int is_row = f->chosen->is_row;
    if (w->c->row != NULL)
        return tw_collect_lists(f, w, count);
    for (; count > 0; count--)
        TW_TRY(is_row ? tw_collect_row(f, w) : tw_collect_element(f, w));
    if (is_row)
        w->c->row = NULL;
    return 0;
}

static int tw_walk_array(const tw_field *f, tw_walk *w, int64_t span)
{
    tw_reader *r = &w->r;
    const uint8_t *start = r->p;
    int64_t count;
    if (f->length == TW_NO_LENGTH)
        return tw_walk_to_end(f, w, span);
    count = tw_read_length(r, f->length);
    if (f->chosen != NULL && tw_note_array(w->c, start, r, count) < 0)
        return -1;
    if (count == TW_NULL && f->nullable)
        return f->chosen != NULL ? tw_put_nulls(f->chosen, w->c) : tw_close_span(&w->spans, span, TW_SPAN_NULL, r->p);
    if (count < 0 || count * f->element->minimum > r->end - r->p || r->elements < count)
        return tw_reject(w, TW_AT_VALUE, start, span);
    r->elements -= count;
    tw_note_span(&w->spans, span, count);
    if ((f->chosen != NULL ? tw_collect_elements(f, w, count) : tw_walk_elements(f->element, w, count)) < 0)
        return tw_in_span(w, span);
    return tw_close_span(&w->spans, span, count, r->p);
}

static inline int tw_walk_sized(const tw_field *f, tw_reader *r)
{
    const uint8_t *p;
    int64_t size = tw_pass_sized(f, r, &p);
    return size == TW_INVALID || (size > 0 && f->kind == TW_STRING && !tw_is_utf8(p, size)) ? -1 : 0;
}

static int tw_walk_leaf(const tw_field *f, tw_reader *r)
{
    Py_ssize_t width = tw_width[f->kind];
    uint64_t bits;
    if (width) {
        if (TW_UNLIKELY(r->end - r->p < width || (f->kind == TW_BOOL && *r->p > 1)))
            return -1;
        r->p += width;
        return 0;
    }
    if (f->kind == TW_OPTIONAL) {
        int present = tw_is_present(f, r);
        return present > 0 ? tw_walk_leaf(f->element, r) : present;
    }
    if (f->kind == TW_BLOCK) {
        if (f->longest > r->end - r->p)
            return -1;
        r->p += f->longest;
        return 0;
    }
    if (f->kind == TW_ENUM)
        return tw_pass_enum(f, r);
    return f->kind == TW_VARINT ? tw_read_bits(f, r, &bits) : tw_walk_sized(f, r);
}

static int tw_walk_value(const tw_field *f, tw_walk *w, int role, int64_t step)
{
    const uint8_t *start = w->r.p;
    int64_t span = tw_open_span(&w->spans, tw_span_kind(f, role), step, start);
    if (TW_UNLIKELY(span < 0))
        return -1;
    if (f->kind == TW_ARRAY)
        return tw_walk_array(f, w, span);
    if (f->kind == TW_STRUCT)
        return tw_walk_nested(f, w, span);
    if (TW_UNLIKELY(tw_walk_leaf(f, &w->r) < 0))
        return tw_reject(w, TW_AT_VALUE, start, span);
    return tw_close_span(&w->spans, span, 0, w->r.p);
}

/* Read through the message at r.p. If `whole` is set, the message must end at r.end. */
static TW_MAYBE_UNUSED int tw_walk_message(const tw_struct *root, tw_walk *w, int whole)
{
    int64_t span = tw_open_span(&w->spans, TW_SPAN_MESSAGE, 0, w->r.p);
    if (span < 0)
        return -1;
    if (w->depth < 1)
        return tw_reject(w, TW_AT_VALUE, w->r.p, span);
    w->depth--;
    tw_note_span(&w->spans, span, 1);
    if (tw_walk_struct(root, w) < 0)
        return tw_in_span(w, span);
    tw_close_span(&w->spans, span, 1, w->r.p);
    return whole && w->r.p != w->r.end ? tw_reject(w, TW_AT_MESSAGE_END, w->r.p, w->spans.count) : 0;
}

/* Read the selected rows of the message from r.p to r.end. If `whole` is set, the entire message is one row. */
static TW_MAYBE_UNUSED int tw_collect_message(const tw_struct *root, tw_walk *w, int whole)
{
    int failed = (whole && tw_begin_row(w->c) < 0) || tw_walk_struct(root, w) < 0;
    tw_remember_numbers(&w->r, NULL, NULL);
    return failed || w->r.p != w->r.end ? -1 : 0;
}

#endif
