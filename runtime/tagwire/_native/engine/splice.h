/* Write new values into the bytes of a message, and copy all other bytes unchanged.
 *
 * walk.h has read the message and recorded the positions of the selected values as marks. The functions here must
 * produce the same bytes as the Python implementation in tagwire.selection.splicing.
 *
 * Functions return 0, or -1 if Python must rewrite the message or raise an error.
 */
#ifndef TAGWIRE_SPLICE_H
#define TAGWIRE_SPLICE_H

#include "engine/choice.h"
#include "engine/decode.h"
#include "engine/encode.h"

typedef struct {
    tw_writer w;
    const uint8_t *start;  /* start of the old message's bytes */
    Py_ssize_t size;
    int64_t copied;        /* the old bytes before this offset have been copied or replaced */
    const int64_t *marks, *mark;
    /* Lists with one entry per row. `rows`: tuples of old values. `changed`: tuples of new values, or `drop` for a
     * removed row. */
    PyObject *rows, *changed;
    Py_ssize_t row;
    /* `drop`: marks removed rows. `appended`: a tuple of elements to append to the array of rows. */
    PyObject *drop, *appended;
    PyObject *old[TW_MOST_COLUMNS], *new[TW_MOST_COLUMNS]; /* old and new values of the current row, borrowed */
} tw_splice;

static int tw_splice_struct(const tw_struct *s, tw_splice *x);

static inline int tw_copy_to(tw_splice *x, int64_t to)
{
    int64_t from = x->copied;
    x->copied = to;
    return from == to ? 0 : tw_put(&x->w, x->start + from, (Py_ssize_t)(to - from));
}

/* Return whether the user's function has set a field that is absent or null in the old message. An empty tuple
 * leaves an absent array absent. */
static int tw_is_changed(const tw_chosen *s, const tw_splice *x)
{
    for (Py_ssize_t index = 0; index < s->columns_count; index++) {
        PyObject *old = x->old[s->columns[index]], *new = x->new[s->columns[index]];
        if (old != new && !(PyList_CheckExact(old) && PyTuple_CheckExact(new) && TW_TUPLE_SIZE(new) == 0))
            return 1;
    }
    return s->has_row && TW_TUPLE_SIZE(x->appended) > 0;
}

static void tw_next_row(tw_splice *x)
{
    PyObject *old = PyList_GetItem(x->rows, x->row), *new = PyList_GetItem(x->changed, x->row);
    Py_ssize_t width = TW_TUPLE_SIZE(old);
    x->row++;
    for (Py_ssize_t column = 0; column < width; column++) {
        x->old[column] = TW_TUPLE_GET(old, column);
        x->new[column] = TW_TUPLE_GET(new, column);
    }
}

/* Return whether a value still equals its old bytes. Values that contain structs need this check, because the user's
 * function may have modified the structs in place. */
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

/* Write the new value of a selected field or, if `f` is an array's element type, of one of its elements. */
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

static int tw_splice_appended(const tw_chosen *s, tw_splice *x)
{
    for (Py_ssize_t index = 0, count = TW_TUPLE_SIZE(x->appended); index < count; index++)
        TW_TRY(tw_write_value(s->field->element, TW_TUPLE_GET(x->appended, index), &x->w));
    return 0;
}

static int tw_splice_element(const tw_field *f, tw_splice *x)
{
    return f->chosen->column >= 0 ? tw_splice_leaf(f->chosen, f->element, x) : tw_splice_struct(f->element->child, x);
}

/* Write `count` array elements that are rows. Set `*end` to the end of the last element in the old message, if any. */
static int tw_splice_rows(const tw_field *f, tw_splice *x, int64_t count, int64_t *end)
{
    for (; count > 0; count--) {
        int64_t from = *x->mark++, next;
        *end = *x->mark++;
        next = *x->mark++;
        if (PyList_GetItem(x->changed, x->row) == x->drop) {
            x->row++;
            TW_TRY(tw_copy_to(x, from));
            x->copied = *end;
            x->mark = x->marks + next;
            continue;
        }
        tw_next_row(x);
        TW_TRY(tw_splice_element(f, x));
    }
    return 0;
}

static int tw_splice_row_array(const tw_field *f, tw_splice *x, int64_t from, int64_t after, int64_t count)
{
    int64_t more = TW_TUPLE_SIZE(x->appended), kept = more, end = after;
    for (int64_t index = 0; index < count; index++)
        kept += PyList_GetItem(x->changed, x->row + (Py_ssize_t)index) != x->drop;
    if (kept != (count < 0 ? 0 : count)) {
        if (tw_copy_to(x, from) < 0 || tw_write_length(f->length, kept, &x->w) < 0)
            return -1;
        x->copied = after;
    }
    TW_TRY(tw_splice_rows(f, x, count, &end));
    if (more == 0)
        return 0;
    return tw_copy_to(x, end) < 0 ? -1 : tw_splice_appended(f->chosen, x);
}

/* Write the new values of an array with `count` elements inside a row. Return -1 if a column's new value
 * isn't a tuple of `count` values. */
static int tw_splice_lists(const tw_field *f, tw_splice *x, int64_t count)
{
    const tw_chosen *s = f->chosen;
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
        failed = tw_splice_element(f, x) < 0;
    }
    for (index = 0; index < s->columns_count; index++) {
        x->old[s->columns[index]] = old[index];
        x->new[s->columns[index]] = new[index];
    }
    return failed ? -1 : 0;
}

static int tw_splice_array(const tw_field *f, tw_splice *x)
{
    const tw_chosen *s = f->chosen;
    int64_t from = *x->mark++, after = *x->mark++, count = *x->mark++;
    if (s->is_row)
        return tw_splice_row_array(f, x, from, after, count);
    if (count < 0)
        return tw_is_changed(s, x) ? -1 : 0;
    if (!s->has_row)
        return tw_splice_lists(f, x, count);
    for (; count > 0; count--)
        TW_TRY(tw_splice_element(f, x));
    return 0;
}

/* Return whether the new row sets a field that was absent in the old message. */
static int tw_is_set(const tw_field *f, const tw_splice *x)
{
    return tw_is_leaf(f->chosen) ? tw_differs(f, x->new[f->chosen->column]) != 0 : tw_is_changed(f->chosen, x);
}

/* Return 0 if a tag section can be copied unchanged. Return -1 if it contains a selected field, or if one must be added
 * to it. */
static int tw_keep_section(const tw_struct *s, tw_splice *x)
{
    tw_reader r;
    r.p = x->start + *x->mark++;
    r.end = x->start + x->size;
    for (int64_t left = tw_read_uvarint(&r); left > 0; left--) {
        int64_t tag = tw_read_uvarint(&r), size = tw_read_uvarint(&r);
        const tw_field *f = tw_find_tag(s, tag);
        if (f != NULL && f->chosen != NULL)
            return -1;
        r.p += size;
    }
    for (const tw_field *f = s->tagged, *end = f + s->tagged_count; f < end; f++)
        if (f->chosen != NULL && tw_is_set(f, x))
            return -1;
    return 0;
}

/* Return -1 if a row sets a field that this version does not have, unless the field is ignorable. */
static int tw_reject_new_missing(const tw_struct *s, tw_splice *x)
{
    for (const tw_field *f = s->missing, *end = f + s->missing_count; f < end; f++)
        if (f->chosen != NULL && !(f->ignorable && tw_is_leaf(f->chosen)) && tw_is_set(f, x))
            return -1;
    return 0;
}

static int tw_splice_field(const tw_field *f, tw_splice *x)
{
    if (f->chosen->each)
        return tw_splice_array(f, x);
    if (tw_is_leaf(f->chosen))
        return tw_splice_leaf(f->chosen, f, x);
    if (*x->mark++)
        return tw_splice_struct(f->child, x);
    return tw_is_changed(f->chosen, x) ? -1 : 0;
}

static int tw_splice_struct(const tw_struct *s, tw_splice *x)
{
    if (s->has_chosen_missing && tw_reject_new_missing(s, x) < 0)
        return -1;
    for (const tw_field *f = s->items, *end = f + s->items_count; f < end; f++)
        if (f->chosen != NULL && tw_splice_field(f, x) < 0)
            return -1;
    return s->has_chosen_tags ? tw_keep_section(s, x) : 0;
}

static TW_MAYBE_UNUSED int tw_splice_message(const tw_struct *root, tw_splice *x, int whole)
{
    x->mark = x->marks;
    x->row = 0;
    x->copied = 0;
    if (whole)
        tw_next_row(x);
    TW_TRY(tw_splice_struct(root, x));
    return tw_copy_to(x, x->size);
}

#endif
