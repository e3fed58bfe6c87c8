/* The message fields that the user selected, as a tree with the same structure as the plan. Each selected path becomes
 * a column of the result. Trees never change.
 *
 * Pointers to Python objects are borrowed: the `Choosing` that owns these structs keeps the objects alive. */
#ifndef TAGWIRE_CHOICE_H
#define TAGWIRE_CHOICE_H

#include "engine/plan.h"

/* The maximum number of selected paths, because the C stack holds arrays with one entry per path. */
#define TW_MOST_COLUMNS 64

typedef struct tw_choice tw_choice;

/* The value that a column gets if the message does not contain the column's field. */
typedef struct {
    int column;
    int is_list;          /* if set, the column's value is a new empty list */
    const tw_field *field; /* if not NULL, the column's value is this field's default */
    PyObject *value;
} tw_hole;

/* A field on at least one selected path (see tagwire.selection.paths.Step). */
typedef struct {
    const tw_field *field;
    const tw_choice *inside; /* selected fields inside the struct or the array's elements; NULL if a path ends here */
    int column;              /* index of the column if a path ends at this field; otherwise -1 */
    uint8_t each, is_row, has_row, has_structs;
    Py_ssize_t columns_count, holes_count;
    const int *columns;      /* indexes of the columns of all selected paths through this field */
    const tw_hole *holes;    /* the values of `columns` if the field is absent */
} tw_chosen;

/* The selected fields of one struct. */
struct tw_choice {
    const tw_struct *plan;
    /* Copies of the plan's fields, with runs of fixed-width fields (tw_field.run) split at the selected fields. */
    const tw_field *items;
    const tw_chosen **chosen; /* for each field: its selection, or NULL if the field is skipped */
    Py_ssize_t items_count, tagged_count, missing_count;
    const tw_chosen *tagged;  /* selected tagged fields, in ascending order of tags */
    const tw_chosen *missing;
};

#endif
