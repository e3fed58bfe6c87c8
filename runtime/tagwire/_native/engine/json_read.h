/* Read messages from JSON text, without creating the values that Python's `json` module would return.
 *
 * This parser fails for invalid or unusual text, for example if a key is unknown, missing or escaped. Python then reads
 * the text again, and converts it or raises the error.
 */
#ifndef TAGWIRE_JSON_READ_H
#define TAGWIRE_JSON_READ_H

#include "engine/json_values.h"

typedef struct {
    const uint8_t *p, *end;
    const tw_reader *r;
} tw_json_reader;

static inline void tw_json_blanks(tw_json_reader *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\r' || *t->p == '\t'))
        t->p++;
}

/* Skip whitespace. If this character follows, skip it too, and return 1; otherwise return 0. */
static inline int tw_json_takes(tw_json_reader *t, uint8_t letter)
{
    tw_json_blanks(t);
    if (t->p == t->end || *t->p != letter)
        return 0;
    t->p++;
    return 1;
}

static int tw_json_takes_word(tw_json_reader *t, const char *word, Py_ssize_t size)
{
    if (t->end - t->p < size || memcmp(t->p, word, size) != 0)
        return 0;
    t->p += size;
    return 1;
}

static PyObject *tw_json_read_int(tw_json_reader *t, int kind)
{
    const uint8_t *p = t->p, *first;
    int negative = p < t->end && *p == '-';
    uint64_t x = 0;
    first = p += negative;
    for (; p < t->end && *p >= '0' && *p <= '9' && p - first < 19; p++)
        x = x * 10 + (*p - '0');
    if (p == first || (*first == '0' && p - first > 1) || x > (uint64_t)INT64_MAX + negative)
        return NULL;
    if (p < t->end && ((*p >= '0' && *p <= '9') || *p == '.' || *p == 'e' || *p == 'E'))
        return NULL; /* the number has too many digits, or isn't an integer */
    x = negative ? 0 - x : x;
    if (!tw_fits(kind, (int64_t)x))
        return NULL;
    t->p = p;
    return tw_new_int(t->r->shared, (int64_t)x);
}

static PyObject *tw_json_read_float(tw_json_reader *t, int kind)
{
    char digits[64], *stop;
    Py_ssize_t size = 0;
    double number;
    int is_integer = 1;
    for (const uint8_t *p = t->p; p < t->end && size < 63 && strchr("+-.eE0123456789", *p) != NULL && *p; p++) {
        is_integer &= *p == '-' || (*p >= '0' && *p <= '9');
        digits[size++] = (char)*p;
    }
    digits[size] = 0;
    if (size == 0 || size == 63 || is_integer || digits[0] == '+' || digits[0] == '.' || digits[size - 1] == '.')
        return NULL; /* the number is an integer or invalid */
    if ((digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') || strstr(digits, ".e") || strstr(digits, ".E") ||
        (digits[0] == '-' && (digits[1] == '.' || (digits[1] == '0' && digits[2] >= '0' && digits[2] <= '9'))))
        return NULL;
    number = PyOS_string_to_double(digits, &stop, NULL);
    if (stop != digits + size || PyErr_Occurred() || !Py_IS_FINITE(number) ||
        (kind == TW_FLOAT32 && !tw_fits_float32(number))) {
        PyErr_Clear();
        return NULL;
    }
    t->p += size;
    return PyFloat_FromDouble(number);
}

/* Return the position of the quote that closes the string at t->p, or NULL if the string contains an escape or control
 * character before the quote, or isn't closed. */
static const uint8_t *tw_json_plain_end(const tw_json_reader *t)
{
    const uint8_t *p = t->p;
    while (p < t->end && *p != '"') {
        if (*p == '\\' || *p < 0x20)
            return NULL;
        p++;
    }
    return p < t->end ? p : NULL;
}

static int tw_json_hex(const uint8_t *p, uint32_t *code)
{
    *code = 0;
    for (int index = 0; index < 4; index++) {
        uint8_t letter = p[index] | 0x20;
        int digit = p[index] >= '0' && p[index] <= '9' ? p[index] - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
        if (digit < 0)
            return 0;
        *code = *code << 4 | (uint32_t)digit;
    }
    return 1;
}

/* Read the code point after `\u`, which may be encoded as a surrogate pair. Return 1, or 0 for invalid digits or a lone
 * surrogate. */
static int tw_json_code(tw_json_reader *t, uint32_t *code)
{
    uint32_t low;
    if (t->end - t->p < 4 || !tw_json_hex(t->p, code))
        return 0;
    t->p += 4;
    if (*code < 0xD800 || *code > 0xDFFF)
        return 1;
    if (*code > 0xDBFF || t->end - t->p < 6 || t->p[0] != '\\' || t->p[1] != 'u' || !tw_json_hex(t->p + 2, &low) ||
        low < 0xDC00 || low > 0xDFFF)
        return 0;
    t->p += 6;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return 1;
}

static uint8_t *tw_json_put_code(uint8_t *out, uint32_t code)
{
    static const uint8_t first_bits[] = {0, 0xC0, 0xE0, 0xF0};
    int more = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    for (int index = more; index > 0; index--, code >>= 6)
        out[index] = (uint8_t)(0x80 | (code & 0x3F));
    out[0] = (uint8_t)(first_bits[more] | code);
    return out + more + 1;
}

/* Unescape the string at t->p into `out`. Stop at the closing quote. Return the end of the output, or NULL if the
 * string is invalid. `out` must have room for the escaped string. */
static uint8_t *tw_json_unescaped(tw_json_reader *t, uint8_t *out)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    while (t->p < t->end && *t->p != '"') {
        const char *found;
        uint32_t code;
        if (*t->p < 0x20)
            return NULL;
        if (*t->p != '\\') {
            *out++ = *t->p++;
            continue;
        }
        if (t->end - t->p < 2)
            return NULL;
        t->p += 2;
        if (t->p[-1] == 'u') {
            if (!tw_json_code(t, &code))
                return NULL;
            out = tw_json_put_code(out, code);
        } else if (t->p[-1] && (found = strchr(letters, t->p[-1])) != NULL)
            *out++ = (uint8_t)meanings[found - letters];
        else
            return NULL;
    }
    return t->p < t->end ? out : NULL;
}

static PyObject *tw_json_read_escaped(tw_json_reader *t, Py_ssize_t longest)
{
    PyObject *text = NULL;
    const uint8_t *close = t->p;
    uint8_t *out, *end;
    while (close < t->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= t->end)
        return NULL;
    out = PyMem_Malloc(close - t->p + 1);
    if (out == NULL)
        return PyErr_NoMemory();
    end = tw_json_unescaped(t, out);
    if (end != NULL && end - out <= longest) {
        t->p++;
        text = tw_new_string(t->r, out, end - out);
    }
    PyMem_Free(out);
    return text;
}

/* Read a JSON string. Return the string, bytes or UUID that it represents, depending on `kind`. `longest` is the
 * maximum size of a string in bytes, or the exact size of bytes[N]. */
static PyObject *tw_json_read_letters(tw_json_reader *t, int kind, Py_ssize_t longest)
{
    const uint8_t *first, *close;
    if (t->p == t->end || *t->p != '"')
        return NULL;
    first = ++t->p;
    close = tw_json_plain_end(t);
    if (close == NULL)
        return kind == TW_STRING ? tw_json_read_escaped(t, longest) : NULL;
    t->p = close + 1;
    if (kind == TW_STRING)
        return close - first > longest ? NULL : tw_new_string(t->r, first, close - first);
    return kind == TW_UUID ? tw_uuid_of_base64(t->r, first, close - first) : tw_json_block(tw_bytes_of_base64(first, close - first), longest);
}

static PyObject *tw_json_read_struct(tw_json_reader *t, const tw_json_struct *j);

static PyObject *tw_json_read_enum(tw_json_reader *t, const tw_json_field *field)
{
    int is_text = t->p < t->end && *t->p == '"';
    PyObject *value = is_text ? tw_json_read_letters(t, TW_STRING, PY_SSIZE_T_MAX) : tw_json_read_int(t, field->number), *member = NULL;
    if (value != NULL)
        member = is_text ? tw_member_of_name(field, value) : tw_member_of_number(t->r, field, PyLong_AsLongLong(value));
    Py_XDECREF(value);
    return member;
}

static PyObject *tw_json_read_value(tw_json_reader *t, const tw_json_field *field)
{
    tw_json_blanks(t);
    switch (field->kind) {
    case TW_ENUM:
        return tw_json_read_enum(t, field);
    case TW_STRUCT:
        return tw_json_read_struct(t, field->child);
    case TW_STRING:
    case TW_UUID:
    case TW_BLOCK:
    case TW_BINARY:
        return tw_json_read_letters(t, field->kind, field->longest);
    case TW_FLOAT32:
    case TW_FLOAT64:
        return tw_json_read_float(t, field->kind);
    case TW_BOOL:
        if (tw_json_takes_word(t, "true", 4))
            Py_RETURN_TRUE;
        if (tw_json_takes_word(t, "false", 5))
            Py_RETURN_FALSE;
        return NULL;
    }
    return tw_json_read_int(t, field->kind);
}

static PyObject *tw_json_read_array(tw_json_reader *t, const tw_json_field *field, int depth)
{
    PyObject *list, *array = NULL;
    if (!tw_json_takes(t, '['))
        return NULL;
    list = PyList_New(0);
    if (list == NULL || tw_json_takes(t, ']'))
        goto done;
    do {
        PyObject *element = depth > 1 ? tw_json_read_array(t, field, depth - 1) : tw_json_read_value(t, field);
        int failed = element == NULL || PyList_Append(list, element) < 0;
        Py_XDECREF(element);
        if (failed)
            Py_CLEAR(list);
    } while (list != NULL && tw_json_takes(t, ','));
    if (list != NULL && !tw_json_takes(t, ']'))
        Py_CLEAR(list);
done:
    if (list != NULL)
        array = PyList_AsTuple(list);
    Py_XDECREF(list);
    return array;
}

static PyObject *tw_json_read_field(tw_json_reader *t, const tw_json_field *field)
{
    tw_json_blanks(t);
    if (field->nullable && tw_json_takes_word(t, "null", 4))
        Py_RETURN_NONE;
    return field->dimensions ? tw_json_read_array(t, field, field->dimensions) : tw_json_read_value(t, field);
}

/* Read an object key and the colon. Return the field of plan `j` that has this key, or NULL if there is none. The search
 * begins at field number `next`, because keys are usually in field order. */
static const tw_json_field *tw_json_key(tw_json_reader *t, const tw_json_struct *j, Py_ssize_t next)
{
    const uint8_t *first, *close;
    if (!tw_json_takes(t, '"'))
        return NULL;
    first = t->p;
    close = tw_json_plain_end(t);
    if (close == NULL)
        return NULL;
    t->p = close + 1;
    if (!tw_json_takes(t, ':'))
        return NULL;
    for (Py_ssize_t tried = 0; tried < j->count; tried++, next++) {
        const tw_json_field *field = &j->fields[next < j->count ? next : (next = 0)];
        if (field->text_size == close - first + 4 && memcmp(field->text + 1, first, close - first) == 0)
            return field;
    }
    return NULL;
}

/* Read the fields of a JSON object and the closing brace. Store the values in `bound` as new references. Return 1, or
 * 0 if Python must read the text. */
static int tw_json_read_fields(tw_json_reader *t, const tw_json_struct *j, PyObject **bound)
{
    Py_ssize_t next = 0;
    if (tw_json_takes(t, '}'))
        return 1;
    do {
        const tw_json_field *field = tw_json_key(t, j, next);
        if (field == NULL || bound[field->attribute] != NULL)
            return 0; /* the key is unknown or occurs twice */
        bound[field->attribute] = tw_json_read_field(t, field);
        if (bound[field->attribute] == NULL)
            return 0;
        next = field - j->fields + 1;
    } while (tw_json_takes(t, ','));
    return tw_json_takes(t, '}');
}

static PyObject *tw_json_read_struct(tw_json_reader *t, const tw_json_struct *j)
{
    PyObject *bound[TW_MOST_ATTRIBUTES];
    int is_valid;
    if (!tw_json_takes(t, '{'))
        return NULL;
    memset(bound, 0, j->c->count * sizeof(PyObject *));
    is_valid = tw_json_read_fields(t, j, bound);
    for (Py_ssize_t index = 0; is_valid && index < j->count; index++)
        is_valid = !j->fields[index].required || bound[j->fields[index].attribute] != NULL;
    return tw_json_object(j->c, bound, is_valid);
}

/* Read a message that takes up the whole text. Return NULL if Python must read the text again. */
static TW_MAYBE_UNUSED PyObject *tw_json_read_all(tw_json_reader *t, const tw_json_struct *j)
{
    PyObject *message = tw_json_read_struct(t, j);
    if (message != NULL) {
        tw_json_blanks(t);
        if (t->p != t->end)
            Py_CLEAR(message);
    }
    return message;
}

#endif
