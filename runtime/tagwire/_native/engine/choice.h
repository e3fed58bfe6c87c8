/* What is chosen of a message: a tree beside the plan, made once by choosing.pxi and never changed after.
 *
 * Pointers to Python objects are borrowed: the `Choosing` that owns these structs keeps what they point to.
 */
#ifndef TAGWIRE_CHOICE_H
#define TAGWIRE_CHOICE_H

#include "engine/plan.h"

#define TW_MOST_COLUMNS 64 /* the most paths: cells stand on the stack */

typedef struct tw_choice tw_choice;

/* The value that a column has where its field is absent, or missing in this version. */
typedef struct {
    int column;
    int is_list;          /* an empty list, a new one each time */
    const tw_field *field; /* its default; or NULL, and then it is `value` */
    PyObject *value;
} tw_hole;

/* A field that paths come by: tagwire.selection.paths.Step. */
typedef struct {
    const tw_field *field;
    const tw_choice *inside; /* of its struct or of its elements; NULL where a path ends */
    int column;              /* the path that ends here, or -1 */
    uint8_t each, is_row, has_row, has_structs;
    Py_ssize_t columns_count, holes_count;
    const int *columns;      /* of all paths that come by */
    const tw_hole *holes;    /* what these columns have where the field is absent */
} tw_chosen;

/* Of one struct. */
struct tw_choice {
    const tw_struct *plan;
    const tw_field *items;    /* as the plan's, but runs end before chosen ones */
    const tw_chosen **chosen; /* for each item what is chosen of it, or NULL */
    Py_ssize_t items_count, tagged_count, missing_count;
    const tw_chosen *tagged;  /* ascending by tag */
    const tw_chosen *missing;
};

#endif
