/* New values in old bytes: what is not on the way to a change is copied as it stands.
 *
 * collect.h has read the message and left marks. Here the tree of what is chosen is gone through once more, by the marks
 * alone: the bytes between them are not looked at again. tagwire.selection.splicing says what must come out.
 *
 * A function returns 0, or -1 for a value that is refused, and for what is rare: then the walk by layout is asked, which
 * says what is wrong or does it.
 */
#ifndef TAGWIRE_SPLICE_H
#define TAGWIRE_SPLICE_H

#include "engine/choice.h"
#include "engine/decode.h"
#include "engine/encode.h"

typedef struct {
    tw_writer w;
    const uint8_t *start;  /* of the old bytes */
    Py_ssize_t size;
    int64_t copied;        /* the new bytes have everything before it */
    const int64_t *marks, *mark;
    PyObject *rows, *changed; /* lists: of each row its values, and its new ones or `drop` */
    Py_ssize_t row;
    PyObject *drop, *appended; /* appended: a tuple of elements */
    PyObject *old[TW_MOST_COLUMNS], *new[TW_MOST_COLUMNS]; /* cells: borrowed from the rows */
} tw_splice;

static int tw_splice_struct(const tw_choice *ch, tw_splice *x);
static int tw_splice_field(const tw_chosen *s, tw_splice *x);

static inline int tw_copy_to(tw_splice *x, int64_t to)
{
    int64_t from = x->copied;
    x->copied = to;
    return from == to ? 0 : tw_put(&x->w, x->start + from, (Py_ssize_t)(to - from));
}

/* ---------------------------------------------------------------- cells */

/* Whether cells changed that have no bytes: what is absent or null. A list of such a cell is empty. */
static int tw_is_changed(const tw_chosen *s, const tw_splice *x)
{
    for (Py_ssize_t index = 0; index < s->columns_count; index++) {
        PyObject *old = x->old[s->columns[index]], *new = x->new[s->columns[index]];
        if (old != new && !(PyList_CheckExact(old) && PyTuple_CheckExact(new) && TW_TUPLE_SIZE(new) == 0))
            return 1;
    }
    return s->has_row && TW_TUPLE_SIZE(x->appended) > 0;
}

static int tw_next_row(tw_splice *x)
{
    PyObject *old = PyList_GetItem(x->rows, x->row), *new = PyList_GetItem(x->changed, x->row);
    Py_ssize_t width = TW_TUPLE_SIZE(old);
    x->row++;
    for (Py_ssize_t column = 0; column < width; column++) {
        x->old[column] = TW_TUPLE_GET(old, column);
        x->new[column] = TW_TUPLE_GET(new, column);
    }
    return 0;
}

/* Whether a value that holds structs is what the bytes say: a function may have changed it in its place. */
static int tw_is_as_read(const tw_field *f, int64_t from, int64_t to, PyObject *value, tw_splice *x)
{
    tw_reader r;
    PyObject *read;
    int same;
    memset(&r, 0, sizeof(r));
    r.start = x->start;
    r.p = x->start + from;
    r.end = x->start + to;
    r.shared = x->w.shared;
    r.elements = r.unknown_tags = r.unknown_tag_bytes = INT64_MAX;
    read = tw_read_value(f, &r);
    tw_remember_numbers(&r, NULL, NULL);
    if (read == NULL)
        return -1;
    same = PyObject_RichCompareBool(read, value, Py_EQ);
    Py_DECREF(read);
    return same;
}

static int tw_splice_leaf(const tw_chosen *s, const tw_field *f, tw_splice *x)
{
    int64_t from = *x->mark++, to = *x->mark++;
    PyObject *new = x->new[s->column];
    if (x->old[s->column] == new) {
        int same = s->has_structs ? tw_is_as_read(f, from, to, new, x) : 1;
        if (same)
            return same < 0 ? -1 : 0;
    }
    if (tw_copy_to(x, from) < 0 || tw_write_value(f, new, &x->w) < 0)
        return -1;
    x->copied = to;
    return 0;
}

/* ---------------------------------------------------------------- arrays */

static int tw_put_count(const tw_field *f, int64_t count, tw_splice *x)
{
    uint8_t *p;
    if (tw_make_room(&x->w, TW_LENGTH_WIDTH) < 0 || (p = tw_put_length(x->w.p, f->length, count)) == NULL)
        return -1;
    x->w.p = p;
    return 0;
}

static int tw_splice_appended(const tw_field *f, tw_splice *x)
{
    for (Py_ssize_t index = 0, count = TW_TUPLE_SIZE(x->appended); index < count; index++)
        if (tw_write_value(f->element, TW_TUPLE_GET(x->appended, index), &x->w) < 0)
            return -1;
    return 0;
}

static int tw_splice_element(const tw_chosen *s, tw_splice *x)
{
    return s->inside == NULL ? tw_splice_leaf(s, s->field->element, x) : tw_splice_struct(s->inside, x);
}

/* The elements that are rows; `end` is where they begin, and then where they end. */
static int tw_splice_rows(const tw_chosen *s, tw_splice *x, int64_t count, int64_t *end)
{
    for (; count > 0; count--) {
        int64_t from = *x->mark++, next;
        *end = *x->mark++;
        next = *x->mark++;
        if (PyList_GetItem(x->changed, x->row) == x->drop) {
            x->row++;
            if (tw_copy_to(x, from) < 0)
                return -1;
            x->copied = *end;
            x->mark = x->marks + next;
        } else if (tw_next_row(x) < 0 || tw_splice_element(s, x) < 0)
            return -1;
    }
    return 0;
}

static int tw_splice_row_array(const tw_chosen *s, tw_splice *x, int64_t from, int64_t behind, int64_t count)
{
    int64_t more = TW_TUPLE_SIZE(x->appended), kept = more, end = behind;
    for (int64_t index = 0; index < count; index++)
        kept += PyList_GetItem(x->changed, x->row + (Py_ssize_t)index) != x->drop;
    if (kept != (count < 0 ? 0 : count)) {
        if (tw_copy_to(x, from) < 0 || tw_put_count(s->field, kept, x) < 0)
            return -1;
        x->copied = behind;
    }
    if (tw_splice_rows(s, x, count, &end) < 0)
        return -1;
    if (more == 0)
        return 0;
    return tw_copy_to(x, end) < 0 ? -1 : tw_splice_appended(s->field, x);
}

/* An array within a row: a list of old values and as many new ones for each column. */
static int tw_splice_lists(const tw_chosen *s, tw_splice *x, int64_t count)
{
    PyObject *old[TW_MOST_COLUMNS], *new[TW_MOST_COLUMNS];
    Py_ssize_t index;
    int failed = 0;
    for (index = 0; index < s->columns_count; index++) {
        old[index] = x->old[s->columns[index]];
        new[index] = x->new[s->columns[index]];
        if (!PyTuple_CheckExact(new[index]) || TW_TUPLE_SIZE(new[index]) != count)
            return -1;
    }
    for (int64_t at = 0; at < count && !failed; at++) {
        for (index = 0; index < s->columns_count; index++) {
            x->old[s->columns[index]] = PyList_GetItem(old[index], (Py_ssize_t)at);
            x->new[s->columns[index]] = TW_TUPLE_GET(new[index], (Py_ssize_t)at);
        }
        failed = tw_splice_element(s, x) < 0;
    }
    for (index = 0; index < s->columns_count; index++) {
        x->old[s->columns[index]] = old[index];
        x->new[s->columns[index]] = new[index];
    }
    return failed ? -1 : 0;
}

static int tw_splice_array(const tw_chosen *s, tw_splice *x)
{
    int64_t from = *x->mark++, behind = *x->mark++, count = *x->mark++;
    if (s->is_row)
        return tw_splice_row_array(s, x, from, behind, count);
    if (count < 0)
        return tw_is_changed(s, x) ? -1 : 0;
    if (!s->has_row)
        return tw_splice_lists(s, x, count);
    for (; count > 0; count--)
        if (tw_splice_element(s, x) < 0)
            return -1;
    return 0;
}

/* ---------------------------------------------------------------- tagged fields */

/* Whether the bytes from `place` on are not the default of a tagged field. */
static int tw_data_differ(const tw_field *f, tw_splice *x, int64_t place)
{
    tw_reader r;
    PyObject *value;
    int differs;
    memset(&r, 0, sizeof(r));
    r.start = r.p = x->w.start + place;
    r.end = x->w.p;
    r.shared = x->w.shared;
    r.elements = r.unknown_tags = r.unknown_tag_bytes = INT64_MAX;
    if (f->kind == TW_ARRAY && f->value != NULL && f->value != Py_None)
        return tw_read_length(&r, f->length) != 0; /* the only default of an array is an empty one */
    value = tw_read_value(f, &r);
    tw_remember_numbers(&r, NULL, NULL);
    if (value == NULL)
        return -1;
    differs = tw_differs(f, value);
    Py_DECREF(value);
    return differs;
}

static int tw_open_entry(tw_splice *x, const tw_field *f, int64_t *place)
{
    if (tw_make_room(&x->w, TW_LENGTH_WIDTH) < 0)
        return -1;
    x->w.p = tw_put_varint(x->w.p, (uint64_t)f->tag);
    return tw_open(&x->w, TW_LENGTH_UVARINT, place);
}

/* A field that was absent, and gets a value: 1, 0 where it stays absent. */
static int tw_add_entry(const tw_chosen *s, tw_splice *x)
{
    const tw_field *f = s->field;
    int64_t place;
    int differs;
    if (s->column < 0 || s->each) {
        if (!s->is_row)
            return tw_is_changed(s, x) ? -1 : 0;
        if (TW_TUPLE_SIZE(x->appended) == 0)
            return 0;
        if (tw_open_entry(x, f, &place) < 0 || tw_put_count(f, TW_TUPLE_SIZE(x->appended), x) < 0 ||
            tw_splice_appended(f, x) < 0)
            return -1;
        return tw_close(&x->w, TW_LENGTH_UVARINT, place, 0) < 0 ? -1 : 1;
    }
    differs = tw_differs(f, x->new[s->column]);
    if (differs <= 0)
        return differs;
    if (tw_open_entry(x, f, &place) < 0 || tw_write_value(f, x->new[s->column], &x->w) < 0)
        return -1;
    return tw_close(&x->w, TW_LENGTH_UVARINT, place, 0) < 0 ? -1 : 1;
}

/* A path's end that is a tagged field: 1, 0 where it is left out, 2 where its bytes stay as they are. */
static int tw_splice_tagged_leaf(const tw_chosen *s, tw_splice *x)
{
    const tw_field *f = s->field;
    int64_t from = *x->mark++, to = *x->mark++, place;
    PyObject *old = x->old[s->column], *new = x->new[s->column];
    int differs;
    if (old == new) {
        int same = s->has_structs ? tw_is_as_read(f, from, to, new, x) : 1;
        if (same)
            return same < 0 ? -1 : 2;
    }
    differs = tw_differs(f, new);
    if (differs == 0)
        differs = tw_differs(f, old) == 0 ? 2 : 0;
    if (differs != 1)
        return differs;
    if (tw_open_entry(x, f, &place) < 0 || tw_write_value(f, new, &x->w) < 0)
        return -1;
    return tw_close(&x->w, TW_LENGTH_UVARINT, place, 0) < 0 ? -1 : 1;
}

/* A tagged field of `size` bytes from `from` on, with chosen fields in it: 1, or 0 where it is left out. */
static int tw_splice_entry(const tw_chosen *s, tw_splice *x, int64_t from, int64_t size)
{
    int64_t begin = tw_written(&x->w), place;
    int differs = 1;
    x->copied = from;
    if (tw_open_entry(x, s->field, &place) < 0 || tw_splice_field(s, x) < 0 || tw_copy_to(x, from + size) < 0)
        return -1;
    place += 1; /* the gap: the data begin behind it */
    if (tw_written(&x->w) - place != size || memcmp(x->w.start + place, x->start + from, size) != 0)
        differs = tw_data_differ(s->field, x, place);
    if (differs == 0)
        x->w.p = x->w.start + begin;
    if (differs <= 0)
        return differs;
    return tw_close(&x->w, TW_LENGTH_UVARINT, place - 1, 0) < 0 ? -1 : 1;
}

/* The entry that `r` stands at: 1, 0 where it is left out. */
static int tw_splice_any_entry(const tw_chosen *s, tw_splice *x, int64_t entry, int64_t from, int64_t size)
{
    int kept = 2;
    if (s != NULL)
        kept = s->column >= 0 && !s->each ? tw_splice_tagged_leaf(s, x) : tw_splice_entry(s, x, from, size);
    if (kept == 2) {
        x->copied = entry;
        if (tw_copy_to(x, from + size) < 0)
            return -1;
        kept = 1;
    }
    x->copied = from + size;
    return kept;
}

/* Fills the gap of one byte at `place` with the number of entries behind it. */
static int tw_close_count(tw_splice *x, int64_t place, int64_t count)
{
    int width = tw_varint_width((uint64_t)count);
    if (tw_make_room(&x->w, width - 1) < 0)
        return -1;
    memmove(x->w.start + place + width, x->w.start + place + 1, tw_written(&x->w) - place - 1);
    x->w.p += width - 1;
    tw_put_varint(x->w.start + place, (uint64_t)count);
    return 0;
}

static int tw_splice_section(const tw_choice *ch, tw_splice *x)
{
    const tw_chosen *s = ch->tagged, *end = s + ch->tagged_count;
    int64_t section = *x->mark++, left, count = 0, place;
    int kept;
    tw_reader r;
    r.start = x->start;
    r.p = x->start + section;
    r.end = x->start + x->size;
    if (tw_copy_to(x, section) < 0 || tw_open(&x->w, TW_LENGTH_UVARINT, &place) < 0)
        return -1;
    for (left = tw_read_uvarint(&r); left > 0; left--) {
        int64_t entry = r.p - r.start, tag = tw_read_uvarint(&r), size = tw_read_uvarint(&r);
        for (; s < end && s->field->tag < tag; s++, count += kept)
            if ((kept = tw_add_entry(s, x)) < 0)
                return -1;
        kept = tw_splice_any_entry(s < end && s->field->tag == tag ? s++ : NULL, x, entry, r.p - r.start, size);
        if (kept < 0)
            return -1;
        count += kept;
        r.p += size;
    }
    for (; s < end; s++, count += kept)
        if ((kept = tw_add_entry(s, x)) < 0)
            return -1;
    x->copied = r.p - r.start;
    return tw_close_count(x, place, count);
}

/* ---------------------------------------------------------------- structs */

/* Refuses new values of fields that this version lacks, unless they may be dropped. */
static int tw_refuse_new_missing(const tw_choice *ch, tw_splice *x)
{
    for (const tw_chosen *s = ch->missing, *end = s + ch->missing_count; s < end; s++) {
        if (s->column >= 0 && !s->each) {
            if (!s->field->ignorable && tw_differs(s->field, x->new[s->column]) != 0)
                return -1;
        } else if (tw_is_changed(s, x))
            return -1;
    }
    return 0;
}

static int tw_splice_field(const tw_chosen *s, tw_splice *x)
{
    if (s->each)
        return tw_splice_array(s, x);
    if (s->inside == NULL)
        return tw_splice_leaf(s, s->field, x);
    if (*x->mark++)
        return tw_splice_struct(s->inside, x);
    return tw_is_changed(s, x) ? -1 : 0;
}

static int tw_splice_struct(const tw_choice *ch, tw_splice *x)
{
    if (tw_refuse_new_missing(ch, x) < 0)
        return -1;
    for (Py_ssize_t index = 0; index < ch->items_count; index++)
        if (ch->chosen[index] != NULL && tw_splice_field(ch->chosen[index], x) < 0)
            return -1;
    return ch->plan->section == TW_TAGGED_SECTION && ch->tagged_count ? tw_splice_section(ch, x) : 0;
}

static TW_MAYBE_UNUSED int tw_splice_message(const tw_choice *root, tw_splice *x, int whole)
{
    x->mark = x->marks;
    x->row = 0;
    x->copied = 0;
    if ((whole && tw_next_row(x) < 0) || tw_splice_struct(root, x) < 0)
        return -1;
    return tw_copy_to(x, x->size);
}

#endif
