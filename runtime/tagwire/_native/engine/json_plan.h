/* The JSON plan of a message: its fields with their JSON keys. json.pxi creates each plan once.
 *
 * If a function returns NULL or -1 without an exception, Python repeats the conversion, or raises
 * the error. This happens for invalid input, and for values of types that decoding never creates.
 */
#ifndef TAGWIRE_JSON_PLAN_H
#define TAGWIRE_JSON_PLAN_H

#include "engine/data_class.h"
#include "engine/enums.h"
#include "engine/values.h"

typedef struct tw_json_struct tw_json_struct;

typedef struct {
    PyObject *key;
    const char *text;             /* the key as JSON text, followed by a colon and a space */
    Py_ssize_t text_size;
    const tw_json_struct *child;  /* the plan of a nested struct or of an array's elements; or NULL */
    /* for writing; only fields of this version */
    const tw_field *field;
    uint8_t records;              /* whether the field contains record batches, which Kafka's JSON shows as "" */
    /* for reading */
    Py_ssize_t attribute;         /* the attribute's index in the data class */
    Py_ssize_t longest;           /* in bytes: a string's maximum size, or N for the type bytes[N]; otherwise 0 */
    uint8_t kind;                 /* the tw_kind of the value, or of an array's elements */
    uint8_t number;               /* for enums: the tw_kind of the integer */
    uint8_t dimensions;           /* number of dimensions of an array; otherwise 0 */
    uint8_t nullable, required;
    const tw_enum *members;
} tw_json_field;

struct tw_json_struct {
    PyTypeObject *cls;
    const tw_data_class *c;
    Py_ssize_t count, written;    /* the first `written` fields belong to this version; others are only read */
    const tw_json_field *fields;
    Py_ssize_t unknown_slot;
    tw_json_field tags;           /* the JSON key of unknown tags, "_unknownTags" */
};

/* Create an object from the attribute values in `bound` (NULL means the default), and release these references. If
 * `is_valid` is 0, only release them and return NULL. */
static TW_MAYBE_UNUSED PyObject *tw_json_object(const tw_data_class *c, PyObject **bound, int is_valid)
{
    PyObject *object = is_valid ? tw_object_of(c, NULL, bound) : NULL;
    for (Py_ssize_t index = 0; index < c->count; index++)
        Py_XDECREF(bound[index]);
    return object;
}

#endif
