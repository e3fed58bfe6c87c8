/* The fields of a message that the user selected: a tree parallel to the plan. choosing.pxi creates it once, and it
 * never changes.
 *
 * Pointers to Python objects are borrowed: the `Choosing` that owns these structs keeps the objects alive.
 */
#ifndef TAGWIRE_CHOICE_H
#define TAGWIRE_CHOICE_H

#include "engine/plan.h"

/* The maximum number of selected paths. It is fixed because arrays with one entry per path are kept on the C stack. */
#define TW_MOST_COLUMNS 64

typedef struct tw_choice tw_choice;

/* A hole: a column that has no value in the message, because its field is absent or does not exist in this version. */
typedef struct {
    int column;
    int is_list;          /* whether the hole is filled with a new empty list */
    const tw_field *field; /* if not NULL, the hole is filled with this field's default */
    PyObject *value;
} tw_hole;

/* A field that is part of at least one selected path. Mirrors tagwire.selection.paths.Step. */
typedef struct {
    const tw_field *field;
    const tw_choice *inside; /* selected fields inside this struct or its elements; NULL if a path ends here */
    int column;              /* the column, if a path ends at this field; otherwise -1 */
    uint8_t each, is_row, has_row, has_structs;
    Py_ssize_t columns_count, holes_count;
    const int *columns;      /* columns of all paths that contain this field */
    const tw_hole *holes;    /* how to fill these columns if the field is absent */
} tw_chosen;

/* The selected fields of one struct. */
struct tw_choice {
    const tw_struct *plan;
    const tw_field *items;    /* copy of the plan's items, in which runs end before each selected item */
    const tw_chosen **chosen; /* for each item, the selected fields in it; NULL if the item is skipped */
    Py_ssize_t items_count, tagged_count, missing_count;
    const tw_chosen *tagged;  /* selected tagged fields, in ascending order of tags */
    const tw_chosen *missing;
};

#endif
