/* Convert messages to and from the values that Python's `json` module uses: dicts, lists, numbers and strings. */
#ifndef TAGWIRE_JSON_VALUES_H
#define TAGWIRE_JSON_VALUES_H

#include "engine/json_letters.h"
#include "engine/json_plan.h"

/* Convert values of types that decoding never creates, and unknown tags, to JSON values. Defined in json.pxi. */
PyObject *tw_json_odd(const tw_field *f, PyObject *value, int lossless);
PyObject *tw_json_unknown_tags(PyObject *tags);

/* Options, and where to store the next value. */
typedef struct {
    const tw_shared *shared;
    int lossless;
    PyObject *into;         /* a list or dict */
    PyObject *key;          /* the value's key in a dict; NULL for a list */
    Py_ssize_t index;       /* the value's index in a list */
} tw_json_dict_output;

/* A list or dict whose values are not all stored yet. `value` is a reference of its own, because converting a value may
 * run code that removes the list or dict from where it is stored. */
typedef struct {
    PyObject *value;
    Py_ssize_t count;       /* number of values that have begun */
} tw_json_dict_container;

/* Store a JSON value, such as None or a string. */
static int tw_json_dict_put(tw_json_dict_output *out, PyObject *value)
{
    if (out->key != NULL)
        return PyDict_SetItem(out->into, out->key, value);
    return PyList_SetItem(out->into, out->index, Py_NewRef(value));
}

/* Store a new JSON value and release it. Return -1 if `value` is NULL because creating it failed. */
static int tw_json_dict_converted(tw_json_dict_output *out, PyObject *value)
{
    int failed = value == NULL ? -1 : tw_json_dict_put(out, value);
    Py_XDECREF(value);
    return failed;
}

static int tw_json_dict_number(tw_json_dict_output *out, int64_t x)
{
    return tw_json_dict_converted(out, PyLong_FromLongLong(x));
}

static int tw_json_dict_bytes(tw_json_dict_output *out, PyObject *value)
{
    Py_ssize_t size = TW_BYTES_SIZE(value);
#ifndef Py_LIMITED_API
    PyObject *text = PyUnicode_New(TW_BASE64_SIZE(size), 127);
    if (text != NULL && size)
        tw_put_padded_base64((char *)PyUnicode_1BYTE_DATA(text), TW_BYTES_DATA(value), size);
#else
    PyObject *text;
    char *letters = PyMem_Malloc(TW_BASE64_SIZE(size) + 1);
    if (letters == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    tw_put_padded_base64(letters, TW_BYTES_DATA(value), size);
    text = PyUnicode_FromStringAndSize(letters, TW_BASE64_SIZE(size));
    PyMem_Free(letters);
#endif
    return tw_json_dict_converted(out, text);
}

static int tw_json_dict_uuid(tw_json_dict_output *out, PyObject *value)
{
    uint8_t bytes[16];
    char letters[TW_UUID_TEXT];
    TW_TRY(tw_put_uuid(out->shared, bytes, value));
    tw_put_base64(letters, bytes, 16, tw_base64_url);
    return tw_json_dict_converted(out, PyUnicode_FromStringAndSize(letters, TW_UUID_TEXT));
}

static inline int tw_json_dict_null(tw_json_dict_output *out) { return tw_json_dict_put(out, Py_None); }
static inline int tw_json_dict_bool(tw_json_dict_output *out, PyObject *value) { return tw_json_dict_put(out, value); }
static inline int tw_json_dict_int(tw_json_dict_output *out, PyObject *value) { return tw_json_dict_put(out, value); }
static inline int tw_json_dict_float(tw_json_dict_output *out, PyObject *value) { return tw_json_dict_put(out, value); }
static inline int tw_json_dict_string(tw_json_dict_output *out, PyObject *value) { return tw_json_dict_put(out, value); }

static int tw_json_dict_open(tw_json_dict_output *out, tw_json_dict_container *container, char bracket, Py_ssize_t size)
{
    *container = (tw_json_dict_container){bracket == '[' ? PyList_New(size) : PyDict_New(), 0};
    return container->value == NULL ? -1 : tw_json_dict_put(out, container->value);
}

static inline int tw_json_dict_close(tw_json_dict_output *out, tw_json_dict_container *container, char bracket, int failed)
{
    (void)out, (void)bracket;
    Py_XDECREF(container->value);
    return failed ? -1 : 0;
}

static inline int tw_json_dict_begin(tw_json_dict_output *out, tw_json_dict_container *container, const tw_json_field *j)
{
    out->into = container->value;
    out->key = j == NULL ? NULL : j->key;
    out->index = container->count++;
    return 0;
}

#define TW_JSON(name) tw_json_dict_##name /* the prefix of the template's functions, and of those that they call */
#include "engine/json_write_impl.h"
#undef TW_JSON

/* Decode padded base64 to a new bytes object. Return NULL without an exception if the base64 is invalid. */
static PyObject *tw_bytes_of_base64(const uint8_t *p, Py_ssize_t size)
{
    PyObject *bytes;
    Py_ssize_t letters = size;
    if (size % 4)
        return NULL;
    for (int padding = 0; padding < 2 && letters && p[letters - 1] == '='; padding++)
        letters--;
    bytes = PyBytes_FromStringAndSize(NULL, letters / 4 * 3 + (letters % 4 ? letters % 4 - 1 : 0));
    if (bytes != NULL && tw_get_base64(TW_BYTES_DATA(bytes), p, letters, 0) < 0)
        Py_CLEAR(bytes);
    return bytes;
}

/* Decode the 22 base64 characters of a UUID. Return NULL without an exception if they are invalid. */
static PyObject *tw_uuid_of_base64(const tw_reader *r, const uint8_t *p, Py_ssize_t size)
{
    uint8_t bytes[18];
    if (size != TW_UUID_TEXT || tw_get_base64(bytes, p, size, 1) != 16)
        return NULL;
    return tw_new_uuid(r, bytes);
}

static PyObject *tw_struct_of_json(const tw_reader *r, const tw_json_struct *j, PyObject *value);

/* Return `bytes` if its size is `size`, or if `size` is 0. Otherwise, release `bytes` and return NULL without setting
 * an exception. */
static PyObject *tw_json_block(PyObject *bytes, Py_ssize_t size)
{
    if (bytes != NULL && size && TW_BYTES_SIZE(bytes) != size)
        Py_CLEAR(bytes);
    return bytes;
}

/* Return a new reference to the enum member with this name, or NULL without an exception if there is no such member. */
static PyObject *tw_member_of_name(const tw_json_field *field, PyObject *text)
{
    PyObject *member = PyDict_GetItemWithError(field->members->by_name, text);
    return member == NULL ? NULL : Py_NewRef(member);
}

/* Return a new reference to the enum member with this number. If the enum is open, return an int for a number without a
 * member. Return NULL without an exception if the number is not allowed. */
static PyObject *tw_member_of_number(const tw_reader *r, const tw_json_field *field, int64_t x)
{
    return tw_fits(field->number, x) ? tw_member_of(field->members, r->shared, x) : NULL;
}

static PyObject *tw_value_of_json(const tw_reader *r, const tw_json_field *field, PyObject *value)
{
    Py_ssize_t size;
    const char *text;
    int64_t x;
    switch (field->kind) {
    case TW_STRUCT:
        return tw_struct_of_json(r, field->child, value);
    case TW_BOOL:
        return PyBool_Check(value) ? Py_NewRef(value) : NULL;
    case TW_STRING:
        if (!PyUnicode_CheckExact(value))
            return NULL;
        size = tw_utf8_size(value);
        if (size < 0)
            PyErr_Clear(); /* the string has a lone surrogate */
        return size < 0 || size > field->longest ? NULL : Py_NewRef(value);
    case TW_FLOAT32:
        if (!PyFloat_CheckExact(value) || !tw_fits_float32(PyFloat_AsDouble(value)))
            return NULL;
        return Py_NewRef(value);
    case TW_FLOAT64:
        return PyFloat_CheckExact(value) ? Py_NewRef(value) : NULL;
    case TW_UUID:
    case TW_BLOCK:
    case TW_BINARY:
        if (!PyUnicode_CheckExact(value))
            return NULL;
        text = PyUnicode_AsUTF8AndSize(value, &size);
        if (text == NULL) {
            PyErr_Clear();
            return NULL;
        }
        return field->kind == TW_UUID ? tw_uuid_of_base64(r, (const uint8_t *)text, size)
                                    : tw_json_block(tw_bytes_of_base64((const uint8_t *)text, size), field->longest);
    }
    if (field->kind == TW_ENUM && PyUnicode_CheckExact(value))
        return tw_member_of_name(field, value);
    if (!tw_exact_int(value, &x))
        return NULL;
    if (field->kind == TW_ENUM)
        return tw_member_of_number(r, field, x);
    return tw_fits(field->kind, x) ? Py_NewRef(value) : NULL;
}

/* Convert a JSON list with `depth` dimensions to a tuple. Return NULL if the list is invalid. */
static PyObject *tw_array_of_json(const tw_reader *r, const tw_json_field *field, int depth, PyObject *value)
{
    PyObject *array;
    if (!PyList_CheckExact(value))
        return NULL;
    array = PyTuple_New(PyList_Size(value));
    for (Py_ssize_t index = 0; array != NULL && index < TW_TUPLE_SIZE(array); index++) {
        TW_HELD PyObject *element = tw_list_item(value, index);
        PyObject *converted = NULL;
        if (element != NULL && element != Py_None) {
            Py_INCREF(element); /* garbage collection may run code that removes the element from the list */
            converted = depth > 1 ? tw_array_of_json(r, field, depth - 1, element) : tw_value_of_json(r, field, element);
            Py_DECREF(element);
        }
        if (element == NULL)
            PyErr_Clear(); /* IndexError: the list shrank */
        if (converted == NULL)
            Py_CLEAR(array);
        else
            TW_TUPLE_SET(array, index, converted);
    }
    return array;
}

static PyObject *tw_field_of_json(const tw_reader *r, const tw_json_field *field, PyObject *value)
{
    if (value == Py_None)
        return field->nullable ? Py_NewRef(value) : NULL;
    return field->dimensions ? tw_array_of_json(r, field, field->dimensions, value) : tw_value_of_json(r, field, value);
}

static PyObject *tw_struct_of_json(const tw_reader *r, const tw_json_struct *j, PyObject *value)
{
    PyObject *bound[TW_MOST_ATTRIBUTES];
    Py_ssize_t found = 0, index;
    if (!PyDict_CheckExact(value))
        return NULL;
    memset(bound, 0, j->c->count * sizeof(PyObject *));
    for (index = 0; index < j->count; index++) {
        const tw_json_field *field = &j->fields[index];
        TW_HELD PyObject *given = tw_dict_value(value, field->key);
        PyObject *converted;
        if (given == NULL) {
            if (field->required || PyErr_Occurred())
                break;
            continue;
        }
        Py_INCREF(given);
        converted = tw_field_of_json(r, field, given);
        Py_DECREF(given);
        if (converted == NULL)
            break;
        bound[field->attribute] = converted;
        found++;
    }
    return tw_json_object(j->c, bound, index == j->count && found == PyDict_Size(value));
}

#endif
