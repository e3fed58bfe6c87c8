/* The JSON plan of a message: its fields in spec order, with their keys. json.pxi makes each plan once.
 *
 * The functions that use the plan return NULL or -1 without an exception for values of unusual types (when writing) and
 * for any invalid input (when reading). Python then repeats the conversion and reports the error.
 */
#ifndef TAGWIRE_JSON_PLAN_H
#define TAGWIRE_JSON_PLAN_H

#include "engine/data_class.h"
#include "engine/enums.h"
#include "engine/values.h"

/* ---------------------------------------------------------------- writing: a layout's struct */

typedef struct tw_json_struct tw_json_struct;

typedef struct {
    const tw_field *field;
    PyObject *key;
    const char *text;             /* the key as JSON text, with quotes and colon */
    Py_ssize_t text_size;
    const tw_json_struct *child;  /* the plan of a struct or of an array's structs; otherwise NULL */
    uint8_t records;              /* whether the field holds records, which Kafka prints as "" */
} tw_json_field;

struct tw_json_struct {
    PyTypeObject *cls;
    Py_ssize_t count;
    const tw_json_field *fields;
    Py_ssize_t unknown_slot;
};

/* ---------------------------------------------------------------- reading: a class's field rows in a version */

typedef struct tw_json_reading tw_json_reading;

typedef struct {
    PyObject *key;
    const char *text;             /* the key in UTF-8 */
    Py_ssize_t text_size;
    const tw_json_reading *child;
    Py_ssize_t attribute;         /* index of the attribute in the data class */
    Py_ssize_t longest;           /* maximum size of a string in bytes; exact size of bytes[N]; otherwise 0 */
    uint8_t kind;                 /* kind of the value, or of an array's elements */
    uint8_t number;               /* for enums: kind of the number */
    uint8_t dimensions;           /* number of array dimensions; 0 if the value isn't an array */
    uint8_t nullable, required;
    const tw_enum *members;       /* members of an enum; otherwise NULL */
} tw_json_row;

struct tw_json_reading {
    const tw_data_class *c;
    Py_ssize_t count;
    const tw_json_row *rows;
};

/* Create an object from the arguments in `placed`, which are new references or NULL. Always release the arguments. If
 * `made` is 0, create nothing and return NULL. */
static TW_MAYBE_UNUSED PyObject *tw_json_object(const tw_data_class *c, PyObject **placed, int made)
{
    PyObject *object = made ? tw_object_of(c, placed) : NULL;
    for (Py_ssize_t index = 0; index < c->count; index++)
        Py_XDECREF(placed[index]);
    return object;
}

#endif
