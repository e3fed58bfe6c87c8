/* Write a message as JSON.
 *
 * This template is included twice, so that each output gets functions of its own: json_values.h creates dicts, and
 * json_write.h writes text. TW_JSON(name) adds the prefix of the output to a name. The output defines two types:
 * TW_JSON(output) has the members `shared` and `lossless`, and TW_JSON(container) is the state of an open array or
 * object. It also defines these functions, which return 0, or -1 for an error:
 *
 *   open, close         start and end a container; they get its bracket, '[' or '{', or ']' or '}'. After an error,
 *                       `close` is called too, with `failed` set, and returns -1.
 *   begin               called before each value in an array (`j` is NULL) or object (`j` is the value's field)
 *   null, bool, int, float, string, bytes, uuid      write a value of the type that decoding creates
 *   number              writes a C integer
 *   converted           writes a new JSON value and releases it, or returns -1 if it is NULL */

static int TW_JSON(struct)(TW_JSON(output) *out, const tw_json_struct *j, PyObject *object);
static int TW_JSON(elements)(TW_JSON(output) *out, const tw_json_field *j, const tw_field *element, PyObject *value);

/* Write the name of an enum value, or its number if it has no name. */
static int TW_JSON(enum)(TW_JSON(output) *out, const tw_field *f, PyObject *value)
{
    int64_t x = 0;
    PyObject *name = tw_enum_name(f, value, &x);
    if (name != NULL)
        return TW_JSON(string)(out, name);
    return PyErr_Occurred() ? -1 : TW_JSON(number)(out, x);
}

/* Write a field's value or an array element. The caller holds a reference to `value`. */
static int TW_JSON(value)(TW_JSON(output) *out, const tw_json_field *j, const tw_field *f, PyObject *value)
{
    if (value == Py_None)
        return TW_JSON(null)(out);
    switch (f->kind) {
    case TW_STRUCT:
        return TW_JSON(struct)(out, j->child, value);
    case TW_ARRAY:
        return TW_JSON(elements)(out, j, f->element, value);
    case TW_OPTIONAL:
        return TW_JSON(value)(out, j, f->element, value);
    case TW_ENUM:
        return TW_JSON(enum)(out, f, value);
    case TW_UUID:
        if (Py_TYPE(value) == out->shared->uuid)
            return TW_JSON(uuid)(out, value);
        break;
    case TW_BLOCK:
    case TW_BINARY:
        if (j->records && !out->lossless)
            return TW_JSON(string)(out, out->shared->empty_string);
        if (PyBytes_CheckExact(value))
            return TW_JSON(bytes)(out, value);
        break;
    case TW_STRING:
        if (PyUnicode_CheckExact(value))
            return TW_JSON(string)(out, value);
        break;
    case TW_FLOAT32:
    case TW_FLOAT64:
        if (PyFloat_CheckExact(value) && Py_IS_FINITE(PyFloat_AsDouble(value)))
            return TW_JSON(float)(out, value);
        break;
    case TW_BOOL:
        if (PyBool_Check(value))
            return TW_JSON(bool)(out, value);
        break;
    default:
        if (PyLong_CheckExact(value))
            return TW_JSON(int)(out, value);
    }
    return TW_JSON(converted)(out, tw_json_odd(f, value, out->lossless));
}

static int TW_JSON(elements)(TW_JSON(output) *out, const tw_json_field *j, const tw_field *element, PyObject *value)
{
    TW_JSON(container) array;
    PyObject *elements = PySequence_Tuple(value); /* a copy, because converting an element may change the list */
    int failed;
    if (elements == NULL)
        return -1;
    failed = TW_JSON(open)(out, &array, '[', TW_TUPLE_SIZE(elements));
    for (Py_ssize_t index = 0; !failed && index < TW_TUPLE_SIZE(elements); index++)
        failed = TW_JSON(begin)(out, &array, NULL) < 0 ||
                 TW_JSON(value)(out, j, element, TW_TUPLE_GET(elements, index)) < 0;
    Py_DECREF(elements);
    return TW_JSON(close)(out, &array, ']', failed);
}

/* Write a field of `owner`. Skip a tagged field that has its default. */
static int TW_JSON(field)(TW_JSON(output) *out, TW_JSON(container) *object, const tw_json_field *j, PyObject *owner)
{
    const tw_field *f = j->field;
    PyObject *value = tw_new_slot(owner, f->slot);
    int has = f->tag < 0 ? 1 : tw_differs(f, value);
    if (has > 0 && value == NULL)
        value = PyObject_GetAttr(owner, f->name); /* the default */
    if (has > 0 && (value == NULL || TW_JSON(begin)(out, object, j) < 0 || TW_JSON(value)(out, j, f, value) < 0))
        has = -1;
    Py_XDECREF(value);
    return has < 0 ? -1 : 0;
}

/* Write the unknown tags of `owner` in the lossless style, unless there are none. */
static int TW_JSON(tags)(TW_JSON(output) *out, TW_JSON(container) *object, const tw_json_struct *j, PyObject *owner)
{
    TW_HELD PyObject *tags = out->lossless ? tw_slot(owner, j->unknown_slot) : NULL;
    Py_ssize_t count;
    int failed;
    if (tags == out->shared->no_tags || tags == NULL)
        return 0;
    Py_INCREF(tags);
    count = PyObject_Size(tags);
    failed = count < 0 ? -1 : 0;
    if (count > 0)
        failed = TW_JSON(begin)(out, object, &j->tags) < 0 || TW_JSON(converted)(out, tw_json_unknown_tags(tags)) < 0;
    Py_DECREF(tags);
    return failed ? -1 : 0;
}

static int TW_JSON(struct)(TW_JSON(output) *out, const tw_json_struct *j, PyObject *owner)
{
    TW_JSON(container) object;
    int failed;
    if (Py_TYPE(owner) != j->cls && !PyObject_TypeCheck(owner, j->cls))
        return -1;
    failed = TW_JSON(open)(out, &object, '{', j->written);
    for (Py_ssize_t index = 0; !failed && index < j->written; index++)
        failed = TW_JSON(field)(out, &object, &j->fields[index], owner);
    if (!failed)
        failed = TW_JSON(tags)(out, &object, j, owner);
    return TW_JSON(close)(out, &object, '}', failed);
}
