/* Read the selected fields of a message into rows, and skip all other fields.
 *
 * Skipped fields are also validated, so this code rejects the same messages as decoding. Functions return 0, or -1 for
 * an error; walk.h then finds the position of the error. For a rewrite, marks record the byte positions of the selected
 * values, in the order in which splice.h needs them. */
#ifndef TAGWIRE_COLLECT_H
#define TAGWIRE_COLLECT_H

#include "engine/choice.h"
#include "engine/walk.h"

typedef struct {
    tw_walk w;
    PyObject *rows;  /* list of all rows so far, including the current row */
    PyObject *row;   /* the current row, a tuple that `rows` owns; NULL between rows */
    Py_ssize_t width;
    PyObject *lists[TW_MOST_COLUMNS]; /* for each column: the list in which its values are collected, or NULL */
    int marking;
    int64_t *marks;
    Py_ssize_t marks_count, marks_size;
} tw_collect;

static int tw_collect_struct(const tw_choice *ch, tw_collect *c);

static TW_RARE int tw_grow_marks(tw_collect *c)
{
    Py_ssize_t size = c->marks_size ? 2 * c->marks_size : 256;
    int64_t *marks = PyMem_Realloc(c->marks, size * sizeof(int64_t));
    if (marks == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    c->marks = marks;
    c->marks_size = size;
    return 0;
}

static inline int tw_note(tw_collect *c, int64_t what)
{
    if (!c->marking)
        return 0;
    if (TW_UNLIKELY(c->marks_count == c->marks_size) && tw_grow_marks(c) < 0)
        return -1;
    c->marks[c->marks_count++] = what;
    return 0;
}

static inline int tw_note_position(tw_collect *c) { return tw_note(c, c->w.r.p - c->w.r.start); }

/* Store a value in a column of the current row, or append it to the column's list. Steals the reference to `value`.
 * Return -1 if `value` is NULL. */
static int tw_put_cell(tw_collect *c, int column, PyObject *value)
{
    int failed;
    if (value == NULL)
        return -1;
    if (c->lists[column] == NULL) {
        TW_TUPLE_SET(c->row, column, value);
        return 0;
    }
    failed = PyList_Append(c->lists[column], value);
    Py_DECREF(value);
    return failed;
}

static int tw_begin_row(tw_collect *c)
{
    PyObject *row = PyTuple_New(c->width);
    int failed = row == NULL || PyList_Append(c->rows, row) < 0;
    Py_XDECREF(row);
    c->row = row;
    return failed ? -1 : 0;
}

static int tw_put_nulls(const tw_chosen *s, tw_collect *c)
{
    for (Py_ssize_t index = 0; c->row != NULL && index < s->columns_count; index++)
        TW_TRY(tw_put_cell(c, s->columns[index], Py_NewRef(Py_None)));
    return 0;
}

static int tw_fill_holes(const tw_chosen *s, tw_collect *c)
{
    if (c->row == NULL)
        return 0;
    for (const tw_hole *hole = s->holes, *end = hole + s->holes_count; hole < end; hole++) {
        PyObject *value = hole->is_list ? PyList_New(0) : hole->field ? tw_default(hole->field, 0) : Py_NewRef(hole->value);
        TW_TRY(tw_put_cell(c, hole->column, value));
    }
    return 0;
}

static int tw_collect_leaf(int column, const tw_field *f, tw_collect *c)
{
    PyObject *value;
    TW_TRY(tw_note_position(c));
    value = tw_read_value(f, &c->w.r);
    return tw_put_cell(c, column, value) < 0 ? -1 : tw_note_position(c);
}

static int tw_collect_element(const tw_chosen *s, tw_collect *c)
{
    if (s->inside == NULL)
        return tw_collect_leaf(s->column, s->field->element, c);
    return tw_collect_struct(s->inside, c);
}

/* Read an array element that becomes a row. For a rewrite, also record where the element and its marks end, so that
 * splice.h can skip the row. */
static int tw_collect_row(const tw_chosen *s, tw_collect *c)
{
    Py_ssize_t end;
    if (tw_begin_row(c) < 0 || tw_note_position(c) < 0)
        return -1;
    end = c->marks_count;
    if (tw_note(c, 0) < 0 || tw_note(c, 0) < 0 || tw_collect_element(s, c) < 0)
        return -1;
    if (c->marking) {
        c->marks[end] = c->w.r.p - c->w.r.start;
        c->marks[end + 1] = c->marks_count;
    }
    return 0;
}

/* Read an array inside a row. For each selected column in the array, the row gets a list with one value per element. */
static int tw_collect_lists(const tw_chosen *s, tw_collect *c, int64_t count)
{
    PyObject *around[TW_MOST_COLUMNS];
    for (Py_ssize_t index = 0; index < s->columns_count; index++) {
        int column = s->columns[index];
        PyObject *list = PyList_New(0);
        around[index] = c->lists[column];
        TW_TRY(tw_put_cell(c, column, list));
        c->lists[column] = list; /* borrowed: the row or the enclosing list owns this list */
    }
    for (; count > 0; count--)
        TW_TRY(tw_collect_element(s, c));
    for (Py_ssize_t index = 0; index < s->columns_count; index++)
        c->lists[s->columns[index]] = around[index];
    return 0;
}

static int tw_collect_elements(const tw_chosen *s, tw_collect *c, int64_t count)
{
    if (c->row != NULL)
        return tw_collect_lists(s, c, count);
    for (; count > 0; count--)
        if ((s->is_row ? tw_collect_row(s, c) : tw_collect_element(s, c)) < 0)
            return -1;
    if (s->is_row)
        c->row = NULL;
    return 0;
}

static int tw_collect_array(const tw_chosen *s, tw_collect *c)
{
    const tw_field *f = s->field;
    tw_reader *r = &c->w.r;
    int64_t count;
    TW_TRY(tw_note_position(c));
    count = tw_read_length(r, f->length);
    if (tw_note_position(c) < 0 || tw_note(c, count) < 0)
        return -1;
    if (count == TW_NULL && f->nullable)
        return tw_put_nulls(s, c);
    if (count < 0 || count * f->element->minimum > r->end - r->p || r->elements < count)
        return -1;
    r->elements -= count;
    return tw_collect_elements(s, c, count);
}

static int tw_collect_nested(const tw_chosen *s, tw_collect *c)
{
    int present = tw_is_present(s->field, &c->w.r);
    if (present < 0 || tw_note(c, present) < 0)
        return -1;
    return present ? tw_collect_struct(s->inside, c) : tw_put_nulls(s, c);
}

static int tw_collect_field(const tw_chosen *s, tw_collect *c)
{
    if (s->each)
        return tw_collect_array(s, c);
    return s->inside == NULL ? tw_collect_leaf(s->column, s->field, c) : tw_collect_nested(s, c);
}

static int tw_collect_tag(const tw_chosen *s, tw_collect *c, int64_t size)
{
    tw_reader *r = &c->w.r;
    const uint8_t *around = r->end;
    r->end = r->p + size;
    if (tw_collect_field(s, c) < 0 || r->p != r->end)
        return -1;
    r->end = around;
    return 0;
}

static int tw_collect_entries(const tw_choice *ch, tw_collect *c, int64_t count)
{
    tw_reader *r = &c->w.r;
    const tw_chosen *s = ch->tagged, *end = s + ch->tagged_count;
    int64_t tag = -1, size;
    int more;
    while ((more = tw_next_entry(ch->plan, r, &count, &tag, &size)) > 0) {
        for (; s < end && s->field->tag < tag; s++)
            TW_TRY(tw_fill_holes(s, c));
        if (s < end && s->field->tag == tag) {
            TW_TRY(tw_collect_tag(s++, c, size));
        } else if (tw_walk_tag(ch->plan, &c->w, tag, size, r->p, -1) < 0) /* walk.h finds the error's position */
            return -1;
    }
    if (more < 0)
        return -1;
    for (; s < end; s++)
        TW_TRY(tw_fill_holes(s, c));
    return 0;
}

static int tw_collect_section(const tw_choice *ch, tw_collect *c)
{
    tw_reader *r = &c->w.r;
    int64_t count;
    if (ch->tagged_count == 0)
        return tw_walk_section(ch->plan, &c->w);
    TW_TRY(tw_note_position(c));
    count = tw_read_uvarint(r);
    if (count < 0 || count * 2 > r->end - r->p)
        return -1;
    return tw_collect_entries(ch, c, count);
}

static int tw_collect_struct(const tw_choice *ch, tw_collect *c)
{
    tw_reader *r = &c->w.r;
    for (Py_ssize_t index = 0; index < ch->missing_count; index++)
        TW_TRY(tw_fill_holes(ch->missing + index, c));
    if (ch->plan->section == TW_OPTIONAL_BUFFER && tw_walk_section(ch->plan, &c->w) < 0)
        return -1;
    for (Py_ssize_t index = 0; index < ch->items_count; index++) {
        const tw_field *f = ch->items + index;
        int passed;
        if (ch->chosen[index] != NULL) {
            TW_TRY(tw_collect_field(ch->chosen[index], c));
        } else if ((passed = tw_pass(f, r)) != 0)
            index += passed - 1;
        else if (tw_walk_value(f, &c->w, TW_FIELD, 0) < 0)
            return -1;
    }
    return ch->plan->section == TW_TAGGED_SECTION ? tw_collect_section(ch, c) : 0;
}

/* Read the selected rows of the message from r.p to r.end. If `whole` is set, the entire message is one row. */
static TW_MAYBE_UNUSED int tw_collect_message(const tw_choice *root, tw_collect *c, int whole)
{
    int failed = (whole && tw_begin_row(c) < 0) || tw_collect_struct(root, c) < 0;
    tw_remember_numbers(&c->w.r, NULL, NULL);
    return failed || c->w.r.p != c->w.r.end ? -1 : 0;
}

#endif
