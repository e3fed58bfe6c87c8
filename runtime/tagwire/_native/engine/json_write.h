/* Write messages as JSON text, exactly as `json.dumps` would, but without creating JSON values first. */
#ifndef TAGWIRE_JSON_WRITE_H
#define TAGWIRE_JSON_WRITE_H

#include "engine/json_values.h"

typedef struct {
    const tw_shared *shared;
    int lossless;
    int indent;      /* number of spaces per nesting level, or -1 to write everything on one line */
    int depth;
    tw_writer w;     /* the text in UTF-8 */
} tw_json_text_output;

/* Whether an array or object is still empty. */
typedef int tw_json_text_container;

/* Return the text that `json.dumps` writes for a value at this nesting depth. Defined in json.pxi. */
PyObject *tw_json_dumped(PyObject *value, int indent, int depth);

/* Write a comma unless `is_first` is set, and a line break if the text is indented. */
static inline int tw_json_break(tw_json_text_output *out, int is_first)
{
    size_t spaces = (size_t)out->indent * out->depth;
    if (out->indent < 0)
        return is_first ? 0 : tw_put(&out->w, ", ", 2);
    TW_TRY(tw_make_room(&out->w, 2 + (Py_ssize_t)spaces));
    if (!is_first)
        *out->w.p++ = ',';
    *out->w.p++ = '\n';
    memset(out->w.p, ' ', spaces);
    out->w.p += spaces;
    return 0;
}

static int tw_json_text_open(tw_json_text_output *out, int *is_empty, char bracket, Py_ssize_t size)
{
    (void)size;
    out->depth++;
    *is_empty = 1;
    return tw_put(&out->w, &bracket, 1);
}

static int tw_json_text_close(tw_json_text_output *out, const int *is_empty, char bracket, int failed)
{
    out->depth--;
    if (failed)
        return -1;
    if (!*is_empty && out->indent >= 0)
        TW_TRY(tw_json_break(out, 1));
    return tw_put(&out->w, &bracket, 1);
}

static inline int tw_json_text_begin(tw_json_text_output *out, int *is_empty, const tw_json_field *j)
{
    TW_TRY(tw_json_break(out, *is_empty));
    *is_empty = 0;
    return j == NULL ? 0 : tw_put(&out->w, j->text, j->text_size);
}

static int tw_json_text_null(tw_json_text_output *out) { return tw_put(&out->w, "null", 4); }

static int tw_json_text_bool(tw_json_text_output *out, PyObject *value)
{
    return value == Py_True ? tw_put(&out->w, "true", 4) : tw_put(&out->w, "false", 5);
}

static int tw_json_text_number(tw_json_text_output *out, int64_t x)
{
    TW_TRY(tw_make_room(&out->w, TW_MOST_DIGITS));
    out->w.p = (uint8_t *)tw_put_digits((char *)out->w.p, x);
    return 0;
}

static int tw_json_text_utf8(tw_json_text_output *out, const uint8_t *p, Py_ssize_t size)
{
    TW_TRY(tw_make_room(&out->w, TW_MOST_ESCAPED * size + 2));
    out->w.p = (uint8_t *)tw_put_json_text((char *)out->w.p, p, size);
    return 0;
}

static int tw_json_text_string(tw_json_text_output *out, PyObject *value)
{
    PyObject *data;
    int failed;
#ifndef Py_LIMITED_API
    if (PyUnicode_IS_COMPACT_ASCII(value))
        return tw_json_text_utf8(out, PyUnicode_1BYTE_DATA(value), PyUnicode_GET_LENGTH(value));
#endif
    data = PyUnicode_AsUTF8String(value);
    if (data == NULL) {
        PyErr_Clear(); /* the string has a lone surrogate */
        return -1;
    }
    failed = tw_json_text_utf8(out, TW_BYTES_DATA(data), TW_BYTES_SIZE(data));
    Py_DECREF(data);
    return failed;
}

static int tw_json_text_bytes(tw_json_text_output *out, PyObject *value)
{
    Py_ssize_t size = TW_BYTES_SIZE(value);
    TW_TRY(tw_make_room(&out->w, TW_BASE64_SIZE(size) + 2));
    out->w.p = (uint8_t *)tw_put_json_bytes((char *)out->w.p, TW_BYTES_DATA(value), size);
    return 0;
}

static int tw_json_text_uuid(tw_json_text_output *out, PyObject *value)
{
    uint8_t bytes[16];
    char letters[TW_UUID_TEXT + 2] = {'"'};
    TW_TRY(tw_put_uuid(out->shared, bytes, value));
    *tw_put_base64(letters + 1, bytes, 16, tw_base64_url) = '"';
    return tw_put(&out->w, letters, sizeof letters);
}

static int tw_json_text_float(tw_json_text_output *out, PyObject *value)
{
    char *digits = PyOS_double_to_string(PyFloat_AsDouble(value), 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    int failed = digits == NULL ? -1 : tw_put(&out->w, digits, (Py_ssize_t)strlen(digits));
    PyMem_Free(digits);
    return failed;
}

/* Write a JSON value as `json.dumps` does, and release it. Return -1 if `value` is NULL because creating it failed. */
static int tw_json_text_converted(tw_json_text_output *out, PyObject *value)
{
    PyObject *text = value == NULL ? NULL : tw_json_dumped(value, out->indent, out->depth), *data;
    int failed = -1;
    data = text == NULL ? NULL : PyUnicode_AsUTF8String(text);
    if (data != NULL)
        failed = tw_put(&out->w, TW_BYTES_DATA(data), TW_BYTES_SIZE(data));
    Py_XDECREF(value);
    Py_XDECREF(text);
    Py_XDECREF(data);
    return failed;
}

static int tw_json_text_int(tw_json_text_output *out, PyObject *value)
{
    int64_t x;
    return tw_exact_int(value, &x) ? tw_json_text_number(out, x) : tw_json_text_converted(out, Py_NewRef(value));
}

#define TW_JSON(name) tw_json_text_##name /* the prefix of the template's functions, and of those that they call */
#include "engine/json_write_impl.h"
#undef TW_JSON

#endif
