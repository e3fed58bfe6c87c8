/* The fields that the user chose to read from a message: a tree parallel to the plan, made once by choosing.pxi and
 * never changed.
 *
 * Pointers to Python objects are borrowed: the `Choosing` that owns these structs keeps the objects alive.
 */
#ifndef TAGWIRE_CHOICE_H
#define TAGWIRE_CHOICE_H

#include "engine/plan.h"

/* The maximum number of chosen paths. It is fixed because arrays with an entry per path are on the C stack. */
#define TW_MOST_COLUMNS 64

typedef struct tw_choice tw_choice;

/* A chosen column with no value in the message, because its field is absent or does not exist in this version. */
typedef struct {
    int column;
    int is_list;          /* whether the value is a new empty list */
    const tw_field *field; /* if not NULL, the value is the default of this field */
    PyObject *value;
} tw_hole;

/* A field on at least one chosen path. Mirrors tagwire.selection.paths.Step. */
typedef struct {
    const tw_field *field;
    const tw_choice *inside; /* the chosen fields of its struct or elements; NULL if a path ends here */
    int column;              /* column for the path that ends at this field; -1 if no path ends here */
    uint8_t each, is_row, has_row, has_structs;
    Py_ssize_t columns_count, holes_count;
    const int *columns;      /* columns of all paths that lead through this field */
    const tw_hole *holes;    /* values that these columns get if the field is absent */
} tw_chosen;

/* The chosen fields of one struct. */
struct tw_choice {
    const tw_struct *plan;
    const tw_field *items;    /* copy of the plan's items, in which no `run` includes a chosen field */
    const tw_chosen **chosen; /* for each item, what is chosen of it; NULL if the item is skipped */
    Py_ssize_t items_count, tagged_count, missing_count;
    const tw_chosen *tagged;  /* chosen tagged fields in ascending order of tags */
    const tw_chosen *missing;
};

#endif
