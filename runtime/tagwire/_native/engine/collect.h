/* Store the selected fields of a message in rows.
 *
 * walk.h reads the plan of a selection (choice.h), and calls these functions for the selected fields. For a rewrite,
 * marks record the byte positions of the selected values, in the order in which splice.h needs them. Functions return 0,
 * or -1 for an error. */
#ifndef TAGWIRE_COLLECT_H
#define TAGWIRE_COLLECT_H

#include "engine/choice.h"
#include "engine/decode.h"

typedef struct {
    PyObject *rows;  /* list of all rows so far, including the current row */
    PyObject *row;   /* the current row, a tuple that `rows` owns; NULL between rows */
    Py_ssize_t width;
    PyObject *lists[TW_MOST_COLUMNS]; /* for each column: the list in which its values are collected, or NULL */
    int marking;
    int64_t *marks;
    Py_ssize_t marks_count, marks_size;
} tw_collect;

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

static inline int tw_note_position(tw_collect *c, const tw_reader *r) { return tw_note(c, r->p - r->start); }

/* Note where an array and its elements begin, and the number of elements. */
static inline int tw_note_array(tw_collect *c, const uint8_t *start, const tw_reader *r, int64_t count)
{
    TW_TRY(tw_note(c, start - r->start));
    TW_TRY(tw_note_position(c, r));
    return tw_note(c, count);
}

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

static TW_MAYBE_UNUSED int tw_begin_row(tw_collect *c)
{
    PyObject *row = PyTuple_New(c->width);
    int failed = row == NULL || PyList_Append(c->rows, row) < 0;
    Py_XDECREF(row);
    c->row = row;
    return failed ? -1 : 0;
}

static TW_MAYBE_UNUSED int tw_put_nulls(const tw_chosen *s, tw_collect *c)
{
    for (Py_ssize_t index = 0; c->row != NULL && index < s->columns_count; index++)
        TW_TRY(tw_put_cell(c, s->columns[index], Py_NewRef(Py_None)));
    return 0;
}

/* Store what selected fields get that the message does not contain. Skip field N if bit N of `seen` is 1. */
static TW_MAYBE_UNUSED int tw_fill_holes(const tw_field *fields, Py_ssize_t count, uint64_t seen, tw_collect *c)
{
    for (Py_ssize_t index = 0; c->row != NULL && index < count; index++) {
        const tw_chosen *s = index < TW_MOST_TAGGED && seen >> index & 1 ? NULL : fields[index].chosen;
        for (Py_ssize_t at = 0; s != NULL && at < s->holes_count; at++) {
            const tw_hole *hole = s->holes + at;
            PyObject *value = hole->is_list ? PyList_New(0) : hole->field ? tw_default(hole->field, 0) : Py_NewRef(hole->value);
            TW_TRY(tw_put_cell(c, hole->column, value));
        }
    }
    return 0;
}

/* Read a whole value into a column. */
static TW_MAYBE_UNUSED int tw_collect_leaf(int column, const tw_field *f, tw_collect *c, tw_reader *r)
{
    PyObject *value;
    TW_TRY(tw_note_position(c, r));
    value = tw_read_value(f, r);
    return tw_put_cell(c, column, value) < 0 ? -1 : tw_note_position(c, r);
}

#endif
