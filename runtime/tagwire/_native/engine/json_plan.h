/* What the JSON form of a message is made by: its fields in spec order, with their keys. Made once by json.pxi.
 *
 * Functions of these files return NULL or -1 without an exception for what Python must look at: values of odd types when
 * writing, and all that is to be refused when reading. Python then does the whole, and says what is wrong.
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
    const tw_json_struct *child;  /* of a struct, or of an array of structs */
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
    Py_ssize_t attribute;         /* which of the data class's */
    Py_ssize_t longest;           /* the most bytes of a string, the size of bytes[N]; else 0 */
    uint8_t kind;                 /* of the value, or of an array's elements */
    uint8_t number;               /* of an enum: the kind of its numbers */
    uint8_t dimensions;           /* how many arrays are around that */
    uint8_t nullable, required;
    const tw_enum *members;       /* of an enum */
} tw_json_row;

struct tw_json_reading {
    const tw_data_class *c;
    Py_ssize_t count;
    const tw_json_row *rows;
};

/* The object of these arguments, which are new references or NULL; all are taken. NULL where `made` says no. */
static TW_MAYBE_UNUSED PyObject *tw_json_object(const tw_data_class *c, PyObject **placed, int made)
{
    PyObject *object = made ? tw_object_of(c, placed) : NULL;
    for (Py_ssize_t index = 0; index < c->count; index++)
        Py_XDECREF(placed[index]);
    return object;
}

#endif
