/* Write messages as JSON text, exactly as `json.dumps` would, but without creating JSON values first. */
#ifndef TAGWIRE_JSON_WRITE_H
#define TAGWIRE_JSON_WRITE_H

#include "engine/json_values.h"

typedef struct {
    tw_json_style style;
    char *p, *end, *start;
    int indent;      /* number of spaces per nesting level, or -1 to write everything on one line */
    int depth;
    int is_ascii;
} tw_json_writer;

/* Return the text that `json.dumps` writes for a value at this nesting depth. Defined in json.pxi. */
PyObject *tw_json_dumped(PyObject *value, int indent, int depth);

static TW_RARE int tw_json_grow(tw_json_writer *w, Py_ssize_t size)
{
    Py_ssize_t used = w->p - w->start, room = (w->end - w->start) * 2 + size;
    char *moved = PyMem_Realloc(w->start, room);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    w->start = moved;
    w->p = moved + used;
    w->end = moved + room;
    return 0;
}

static inline int tw_json_room(tw_json_writer *w, Py_ssize_t size)
{
    return TW_LIKELY(w->end - w->p >= size) ? 0 : tw_json_grow(w, size);
}

static inline int tw_json_put(tw_json_writer *w, const char *text, Py_ssize_t size)
{
    TW_TRY(tw_json_room(w, size));
    memcpy(w->p, text, size);
    w->p += size;
    return 0;
}

/* Before an array element or an object key, write a comma unless `is_first` is set, and a line break if the text is
 * indented. */
static inline int tw_json_break(tw_json_writer *w, int is_first)
{
    if (w->indent < 0)
        return is_first ? 0 : tw_json_put(w, ", ", 2);
    TW_TRY(tw_json_room(w, 2 + (Py_ssize_t)w->indent * w->depth));
    if (!is_first)
        *w->p++ = ',';
    *w->p++ = '\n';
    memset(w->p, ' ', (size_t)w->indent * w->depth);
    w->p += (Py_ssize_t)w->indent * w->depth;
    return 0;
}

static int tw_json_open(tw_json_writer *w, char bracket)
{
    w->depth++;
    return tw_json_put(w, &bracket, 1);
}

static int tw_json_close(tw_json_writer *w, char bracket, int is_empty)
{
    w->depth--;
    if (!is_empty && w->indent >= 0 && tw_json_break(w, 1) < 0)
        return -1;
    return tw_json_put(w, &bracket, 1);
}

static int tw_json_write_int(tw_json_writer *w, int64_t x)
{
    TW_TRY(tw_json_room(w, TW_MOST_DIGITS));
    w->p = tw_put_digits(w->p, x);
    return 0;
}

static int tw_json_write_letters(tw_json_writer *w, const uint8_t *p, Py_ssize_t size)
{
    TW_TRY(tw_json_room(w, TW_MOST_ESCAPED * size + 2));
    w->p = tw_put_json_text(w->p, p, size);
    w->is_ascii &= tw_is_ascii(p, size);
    return 0;
}

static int tw_json_write_text(tw_json_writer *w, PyObject *value)
{
    PyObject *data;
    int failed;
#ifndef Py_LIMITED_API
    if (PyUnicode_IS_COMPACT_ASCII(value))
        return tw_json_write_letters(w, PyUnicode_1BYTE_DATA(value), PyUnicode_GET_LENGTH(value));
#endif
    data = PyUnicode_AsUTF8String(value);
    if (data == NULL) {
        PyErr_Clear(); /* the string has a lone surrogate */
        return -1;
    }
    failed = tw_json_write_letters(w, TW_BYTES_DATA(data), TW_BYTES_SIZE(data));
    Py_DECREF(data);
    return failed;
}

static int tw_json_write_bytes(tw_json_writer *w, PyObject *value)
{
    Py_ssize_t size = TW_BYTES_SIZE(value);
    TW_TRY(tw_json_room(w, TW_BASE64_SIZE(size) + 2));
    w->p = tw_put_json_bytes(w->p, TW_BYTES_DATA(value), size);
    return 0;
}

static int tw_json_write_uuid(tw_json_writer *w, PyObject *value)
{
    uint8_t bytes[16];
    if (tw_put_uuid(w->style.shared, bytes, value) < 0 || tw_json_room(w, TW_UUID_TEXT + 2) < 0)
        return -1;
    *w->p++ = '"';
    w->p = tw_put_base64(w->p, bytes, 16, tw_base64_url);
    *w->p++ = '"';
    return 0;
}

static int tw_json_write_float(tw_json_writer *w, PyObject *value)
{
    char *digits = PyOS_double_to_string(PyFloat_AsDouble(value), 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    int failed = digits == NULL ? -1 : tw_json_put(w, digits, (Py_ssize_t)strlen(digits));
    PyMem_Free(digits);
    return failed;
}

/* Write a JSON value as `json.dumps` does. Return -1 if `value` is NULL because creating it failed. */
static int tw_json_write_dumped(tw_json_writer *w, PyObject *value)
{
    PyObject *text = value == NULL ? NULL : tw_json_dumped(value, w->indent, w->depth), *data;
    int failed = -1;
    data = text == NULL ? NULL : PyUnicode_AsUTF8String(text);
    if (data != NULL) {
        w->is_ascii = 0;
        failed = tw_json_put(w, (char *)TW_BYTES_DATA(data), TW_BYTES_SIZE(data));
    }
    Py_XDECREF(text);
    Py_XDECREF(data);
    return failed;
}

static int tw_json_write_odd(tw_json_writer *w, const tw_field *f, PyObject *value)
{
    PyObject *odd = tw_json_odd(f, value, w->style.lossless);
    int failed = tw_json_write_dumped(w, odd);
    Py_XDECREF(odd);
    return failed;
}

static int tw_json_write_struct(tw_json_writer *w, const tw_json_struct *j, PyObject *object);
static int tw_json_write_elements(tw_json_writer *w, const tw_json_field *j, const tw_field *f, PyObject *value);

static int tw_json_write_enum(tw_json_writer *w, const tw_field *f, PyObject *value)
{
    int64_t x = 0;
    PyObject *text = tw_enum_name(f, value, &x);
    if (text != NULL)
        return tw_json_write_text(w, text);
    return PyErr_Occurred() ? -1 : tw_json_write_int(w, x);
}

/* Write a field's value or an array element as JSON. The caller holds a reference to `value`. */
static int tw_json_write_value(tw_json_writer *w, const tw_json_field *j, const tw_field *f, PyObject *value)
{
    int64_t x;
    if (value == Py_None)
        return tw_json_put(w, "null", 4);
    switch (f->kind) {
    case TW_STRUCT:
        return tw_json_write_struct(w, j->child, value);
    case TW_ARRAY:
        return tw_json_write_elements(w, j, f, value);
    case TW_OPTIONAL:
        return tw_json_write_value(w, j, f->element, value);
    case TW_ENUM:
        return tw_json_write_enum(w, f, value);
    case TW_UUID:
        if (Py_TYPE(value) == w->style.shared->uuid)
            return tw_json_write_uuid(w, value);
        break;
    case TW_BLOCK:
    case TW_BINARY:
        if (j->records && !w->style.lossless)
            return tw_json_put(w, "\"\"", 2);
        if (PyBytes_CheckExact(value))
            return tw_json_write_bytes(w, value);
        break;
    case TW_STRING:
        if (PyUnicode_CheckExact(value))
            return tw_json_write_text(w, value);
        break;
    case TW_FLOAT32:
    case TW_FLOAT64:
        if (PyFloat_CheckExact(value) && Py_IS_FINITE(PyFloat_AsDouble(value)))
            return tw_json_write_float(w, value);
        break;
    case TW_BOOL:
        if (PyBool_Check(value))
            return value == Py_True ? tw_json_put(w, "true", 4) : tw_json_put(w, "false", 5);
        break;
    default:
        if (tw_exact_int(value, &x))
            return tw_json_write_int(w, x);
    }
    return tw_json_write_odd(w, f, value);
}

static int tw_json_write_elements(tw_json_writer *w, const tw_json_field *j, const tw_field *f, PyObject *value)
{
    PyObject *elements;
    Py_ssize_t index = 0;
    int failed;
    elements = PySequence_Tuple(value); /* a copy, because converting an element may run code that changes the list */
    if (elements == NULL)
        return -1;
    failed = tw_json_open(w, '[');
    for (; !failed && index < TW_TUPLE_SIZE(elements); index++)
        failed = tw_json_break(w, index == 0) < 0 ||
                 tw_json_write_value(w, j, f->element, TW_TUPLE_GET(elements, index)) < 0;
    Py_DECREF(elements);
    return failed ? -1 : tw_json_close(w, ']', index == 0);
}

static int tw_json_write_field(tw_json_writer *w, const tw_json_field *j, PyObject *object, int is_first)
{
    PyObject *value = tw_json_field_of(object, j->field);
    int failed = value == NULL || tw_json_break(w, is_first) < 0 || tw_json_put(w, j->text, j->text_size) < 0;
    if (!failed)
        failed = tw_json_write_value(w, j, j->field, value);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static int tw_json_write_tags(tw_json_writer *w, const tw_json_struct *j, PyObject *object, int is_first)
{
    PyObject *tags = tw_json_tags_of(&w->style, j, object);
    int failed;
    if (tags == NULL)
        return PyErr_Occurred() ? -1 : is_first;
    failed = tw_json_break(w, is_first) < 0 || tw_json_put(w, "\"_unknownTags\": ", 16) < 0 || tw_json_write_dumped(w, tags) < 0;
    Py_DECREF(tags);
    return failed ? -1 : 0;
}

static int tw_json_write_struct(tw_json_writer *w, const tw_json_struct *j, PyObject *object)
{
    int is_first = 1;
    if ((Py_TYPE(object) != j->cls && !PyObject_TypeCheck(object, j->cls)) || tw_json_open(w, '{') < 0)
        return -1;
    for (Py_ssize_t index = 0; index < j->written; index++) {
        int has = tw_json_has(j->fields[index].field, object);
        if (has < 0 || (has && tw_json_write_field(w, &j->fields[index], object, is_first) < 0))
            return -1;
        is_first &= !has;
    }
    is_first = tw_json_write_tags(w, j, object, is_first);
    return is_first < 0 ? -1 : tw_json_close(w, '}', is_first);
}

#endif
