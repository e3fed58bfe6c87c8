/* Convert messages to and from the values that Python's `json` module uses: dicts, lists, numbers and strings. */
#ifndef TAGWIRE_JSON_VALUES_H
#define TAGWIRE_JSON_VALUES_H

#include "engine/json_letters.h"
#include "engine/json_plan.h"

/* Options for writing JSON. */
typedef struct {
    const tw_shared *shared;
    int lossless;
} tw_json_style;

/* Convert values of types that decoding never creates, and unknown tags, to JSON values. Defined in json.pxi. */
PyObject *tw_json_odd(const tw_field *f, PyObject *value, int lossless);
PyObject *tw_json_unknown_tags(PyObject *tags);

static PyObject *tw_json_of_struct(const tw_json_style *s, const tw_json_struct *j, PyObject *object);
static PyObject *tw_json_of_elements(const tw_json_style *s, const tw_json_field *j, const tw_field *f, PyObject *value);

static PyObject *tw_json_of_bytes(PyObject *value)
{
    Py_ssize_t size = TW_BYTES_SIZE(value);
#ifndef Py_LIMITED_API
    PyObject *text = PyUnicode_New(TW_BASE64_SIZE(size), 127);
    if (text != NULL && size)
        tw_put_padded_base64((char *)PyUnicode_1BYTE_DATA(text), TW_BYTES_DATA(value), size);
    return text;
#else
    PyObject *text = NULL;
    char *letters = PyMem_Malloc(TW_BASE64_SIZE(size) + 1);
    if (letters == NULL)
        return PyErr_NoMemory();
    tw_put_padded_base64(letters, TW_BYTES_DATA(value), size);
    text = PyUnicode_FromStringAndSize(letters, TW_BASE64_SIZE(size));
    PyMem_Free(letters);
    return text;
#endif
}

static PyObject *tw_json_of_uuid(const tw_json_style *s, PyObject *value)
{
    uint8_t bytes[16];
    char letters[TW_UUID_TEXT];
    if (tw_put_uuid(s->shared, bytes, value) < 0)
        return NULL;
    tw_put_base64(letters, bytes, 16, tw_base64_url);
    return PyUnicode_FromStringAndSize(letters, TW_UUID_TEXT);
}

/* Return the name of an enum value in JSON, or its number if it has no name. The result is a new reference. */
static PyObject *tw_json_of_enum(const tw_field *f, PyObject *value)
{
    int64_t x = 0;
    PyObject *text = tw_enum_name(f, value, &x);
    if (text != NULL)
        return Py_NewRef(text);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(x);
}

/* Convert a value to a JSON value. The caller holds a reference to `value`. */
static PyObject *tw_json_of_value(const tw_json_style *s, const tw_json_field *j, const tw_field *f, PyObject *value)
{
    if (value == Py_None)
        Py_RETURN_NONE;
    switch (f->kind) {
    case TW_STRUCT:
        return tw_json_of_struct(s, j->child, value);
    case TW_ARRAY:
        return tw_json_of_elements(s, j, f, value);
    case TW_OPTIONAL:
        return tw_json_of_value(s, j, f->element, value);
    case TW_ENUM:
        return tw_json_of_enum(f, value);
    case TW_UUID:
        if (Py_TYPE(value) == s->shared->uuid)
            return tw_json_of_uuid(s, value);
        break;
    case TW_BLOCK:
    case TW_BINARY:
        if (j->records && !s->lossless)
            return PyUnicode_FromStringAndSize("", 0);
        if (PyBytes_CheckExact(value))
            return tw_json_of_bytes(value);
        break;
    case TW_STRING:
        if (PyUnicode_CheckExact(value))
            return Py_NewRef(value);
        break;
    case TW_FLOAT32:
    case TW_FLOAT64:
        if (PyFloat_CheckExact(value) && Py_IS_FINITE(PyFloat_AsDouble(value)))
            return Py_NewRef(value);
        break;
    case TW_BOOL:
        if (PyBool_Check(value))
            return Py_NewRef(value);
        break;
    default:
        if (PyLong_CheckExact(value))
            return Py_NewRef(value);
    }
    return tw_json_odd(f, value, s->lossless);
}

static PyObject *tw_json_of_elements(const tw_json_style *s, const tw_json_field *j, const tw_field *f, PyObject *value)
{
    PyObject *array, *elements;
    elements = PySequence_Tuple(value); /* a copy, because converting an element may run code that changes the list */
    if (elements == NULL)
        return NULL;
    array = PyList_New(TW_TUPLE_SIZE(elements));
    for (Py_ssize_t index = 0; array != NULL && index < TW_TUPLE_SIZE(elements); index++) {
        PyObject *element = tw_json_of_value(s, j, f->element, TW_TUPLE_GET(elements, index));
        if (element == NULL)
            Py_CLEAR(array);
        else
            PyList_SetItem(array, index, element);
    }
    Py_DECREF(elements);
    return array;
}

/* Return 1 if an object's JSON contains the field, 0 for a tagged field that has its default, or -1 for an error. */
static inline int tw_json_has(const tw_field *f, PyObject *object)
{
    TW_HELD PyObject *value = f->tag < 0 ? NULL : tw_slot(object, f->slot);
    return f->tag < 0 ? 1 : tw_differs(f, value);
}

/* Return a new reference to a field's value, which is the default if the slot is empty. */
static inline PyObject *tw_json_field_of(PyObject *object, const tw_field *f)
{
    PyObject *value = tw_new_slot(object, f->slot);
    return TW_LIKELY(value != NULL) ? value : PyObject_GetAttr(object, f->name);
}

static int tw_json_put_field(const tw_json_style *s, const tw_json_field *j, PyObject *object, PyObject *out)
{
    const tw_field *f = j->field;
    int failed = tw_json_has(f, object);
    PyObject *value, *converted;
    if (failed <= 0)
        return failed;
    value = tw_json_field_of(object, f);
    if (value == NULL)
        return -1;
    converted = tw_json_of_value(s, j, f, value);
    failed = converted == NULL ? -1 : PyDict_SetItem(out, j->key, converted);
    Py_DECREF(value);
    Py_XDECREF(converted);
    return failed;
}

/* Return an object's unknown tags as a new dict of JSON values. Return NULL without an exception if there are none, or
 * if the JSON style isn't lossless. */
static PyObject *tw_json_tags_of(const tw_json_style *s, const tw_json_struct *j, PyObject *object)
{
    TW_HELD PyObject *tags = s->lossless ? tw_slot(object, j->unknown_slot) : NULL;
    PyObject *converted;
    if (tags == s->shared->no_tags || tags == NULL)
        return NULL;
    Py_INCREF(tags);
    converted = PyObject_Size(tags) > 0 ? tw_json_unknown_tags(tags) : NULL;
    Py_DECREF(tags);
    return converted;
}

static PyObject *tw_json_of_struct(const tw_json_style *s, const tw_json_struct *j, PyObject *object)
{
    PyObject *out, *tags;
    int failed = 0;
    if (Py_TYPE(object) != j->cls && !PyObject_TypeCheck(object, j->cls))
        return NULL;
    out = PyDict_New();
    if (out == NULL)
        return NULL;
    for (Py_ssize_t index = 0; !failed && index < j->written; index++)
        failed = tw_json_put_field(s, &j->fields[index], object, out);
    if (!failed && (tags = tw_json_tags_of(s, j, object)) != NULL) {
        failed = PyDict_SetItemString(out, "_unknownTags", tags);
        Py_DECREF(tags);
    }
    if (failed || PyErr_Occurred())
        Py_CLEAR(out);
    return out;
}

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
