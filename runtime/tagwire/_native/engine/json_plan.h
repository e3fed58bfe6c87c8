/* The JSON plan of a message: its fields with their keys, in spec order. json.pxi creates each plan once.
 *
 * The functions that use the plan return NULL or -1 without an exception if Python must repeat the conversion: when
 * writing, for values of types that decoding never creates; when reading, for any invalid input. Python then reports
 * the error, if there is one.
 */
#ifndef TAGWIRE_JSON_PLAN_H
#define TAGWIRE_JSON_PLAN_H

#include "engine/data_class.h"
#include "engine/enums.h"
#include "engine/values.h"

/* ---------------------------------------------------------------- plans for writing */

typedef struct tw_json_struct tw_json_struct;

typedef struct {
    const tw_field *field;
    PyObject *key;
    const char *text;             /* the key as JSON text, including quotes and colon */
    Py_ssize_t text_size;
    const tw_json_struct *child;  /* for structs and arrays of structs: the struct's plan; otherwise NULL */
    uint8_t records;              /* whether the field has record bytes, which Kafka prints as "" */
} tw_json_field;

struct tw_json_struct {
    PyTypeObject *cls;
    Py_ssize_t count;
    const tw_json_field *fields;
    Py_ssize_t unknown_slot;
};

/* ---------------------------------------------------------------- plans for reading */

typedef struct tw_json_reading tw_json_reading;

typedef struct {
    PyObject *key;
    const char *text;             /* the key, encoded in UTF-8 */
    Py_ssize_t text_size;
    const tw_json_reading *child;
    Py_ssize_t attribute;         /* the attribute's index in the data class */
    Py_ssize_t longest;           /* maximum size of a string, or exact size of bytes[N], in bytes; otherwise 0 */
    uint8_t kind;                 /* the value's kind; for arrays, the kind of the elements */
    uint8_t number;               /* for enums: the kind of integer on the wire */
    uint8_t dimensions;           /* for arrays: number of dimensions; otherwise 0 */
    uint8_t nullable, required;
    const tw_enum *members;       /* for enums: the members; otherwise NULL */
} tw_json_row;

struct tw_json_reading {
    const tw_data_class *c;
    Py_ssize_t count;
    const tw_json_row *rows;
};

/* Create an object from the new references in `placed`, where NULL means no argument. Always release these references.
 * If `made` is 0, only release them and return NULL. */
static TW_MAYBE_UNUSED PyObject *tw_json_object(const tw_data_class *c, PyObject **placed, int made)
{
    PyObject *object = made ? tw_object_of(c, placed) : NULL;
    for (Py_ssize_t index = 0; index < c->count; index++)
        Py_XDECREF(placed[index]);
    return object;
}

#endif
