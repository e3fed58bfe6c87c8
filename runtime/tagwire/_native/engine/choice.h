/* The chosen fields of a message: a tree parallel to the plan, made once by choosing.pxi and never changed.
 *
 * Pointers to Python objects are borrowed: the `Choosing` that owns these structs keeps the objects alive.
 */
#ifndef TAGWIRE_CHOICE_H
#define TAGWIRE_CHOICE_H

#include "engine/plan.h"

#define TW_MOST_COLUMNS 64 /* the most paths: cells are on the stack */

typedef struct tw_choice tw_choice;

/* The value of a column whose field is absent, or missing in this version. */
typedef struct {
    int column;
    int is_list;          /* a new empty list each time */
    const tw_field *field; /* the value is its default; if NULL, the value is `value` */
    PyObject *value;
} tw_hole;

/* A field on at least one path: tagwire.selection.paths.Step. */
typedef struct {
    const tw_field *field;
    const tw_choice *inside; /* chosen fields of its struct or elements; NULL where a path ends */
    int column;              /* the path that ends here, or -1 */
    uint8_t each, is_row, has_row, has_structs;
    Py_ssize_t columns_count, holes_count;
    const int *columns;      /* columns of all paths through this field */
    const tw_hole *holes;    /* the values of these columns if the field is absent */
} tw_chosen;

/* The chosen fields of one struct. */
struct tw_choice {
    const tw_struct *plan;
    const tw_field *items;    /* the plan's items, but runs end before chosen fields */
    const tw_chosen **chosen; /* the chosen part of each item, or NULL */
    Py_ssize_t items_count, tagged_count, missing_count;
    const tw_chosen *tagged;  /* in ascending order of tags */
    const tw_chosen *missing;
};

#endif
