/* The JSON plan of a message: its fields in spec order, with their keys. Made once by json.pxi.
 *
 * Functions of these files return NULL or -1 without an exception for values of unusual types when writing, and for
 * everything invalid when reading. Python then repeats the conversion and reports the error.
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
    const char *text;             /* the key as JSON text with its colon */
    Py_ssize_t text_size;
    const tw_json_struct *child;  /* only for structs and arrays of structs */
    uint8_t records;              /* Kafka prints "" for these */
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
    Py_ssize_t attribute;         /* index in the data class */
    Py_ssize_t longest;           /* strings: maximum size in bytes; bytes[N]: N; else 0 */
    uint8_t kind;                 /* kind of the value, or of an array's elements */
    uint8_t number;               /* only for enums: kind of the number */
    uint8_t dimensions;           /* number of array dimensions */
    uint8_t nullable, required;
    const tw_enum *members;       /* only for enums */
} tw_json_row;

struct tw_json_reading {
    const tw_data_class *c;
    Py_ssize_t count;
    const tw_json_row *rows;
};

/* Create an object from arguments that are new references or NULL; steals them. Return NULL if `made` is 0. */
static TW_MAYBE_UNUSED PyObject *tw_json_object(const tw_data_class *c, PyObject **placed, int made)
{
    PyObject *object = made ? tw_object_of(c, placed) : NULL;
    for (Py_ssize_t index = 0; index < c->count; index++)
        Py_XDECREF(placed[index]);
    return object;
}

#endif
