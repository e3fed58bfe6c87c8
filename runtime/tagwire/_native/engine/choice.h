/* The message fields that the user selected. Each selected path becomes a column of the result.
 *
 * A selection has its own plan: copies of the message's C structs along the selected paths, in which the selected fields
 * have a tw_chosen. Encoding must not follow these copies. Pointers to Python objects are borrowed: the `Choosing` that
 * owns these structs keeps the objects alive. */
#ifndef TAGWIRE_CHOICE_H
#define TAGWIRE_CHOICE_H

#include "engine/plan.h"

/* The maximum number of selected paths, because the C stack holds arrays with one entry per path. */
#define TW_MOST_COLUMNS 64

/* The value that a column gets if the message does not contain the column's field. */
typedef struct {
    int column;
    int is_list;          /* if set, the column's value is a new empty list */
    const tw_field *field; /* if not NULL, the column's value is this field's default */
    PyObject *value;
} tw_hole;

/* What to do with a field on at least one selected path (see tagwire.selection.paths.Step). */
struct tw_chosen {
    const tw_field *field;   /* the field in the message's own plan, which appended elements are written with */
    int column;              /* index of the column if a path ends at this field or at its elements; otherwise -1 */
    uint8_t each, is_row, has_row, has_structs;
    Py_ssize_t columns_count, holes_count;
    const int *columns;      /* indexes of the columns of all selected paths through this field */
    const tw_hole *holes;    /* the values of `columns` if the field is absent */
};

/* Return whether a selected path ends at this field, so that its value is read as a whole. */
static inline int tw_is_leaf(const tw_chosen *s) { return s->column >= 0 && !s->each; }

#endif
