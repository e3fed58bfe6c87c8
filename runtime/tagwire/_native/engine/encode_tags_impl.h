/* Write tagged fields in tag order, each preceded by its tag and size. */
#ifndef TAGWIRE_ENCODE_TAGS_IMPL_H
#define TAGWIRE_ENCODE_TAGS_IMPL_H

/* Set a bit in `bits` for each tagged field that must be written because its value differs from its default. Return the
 * number of such fields, or -1 for an error. */
static int tw_tagged_to_write(const tw_struct *s, PyObject *object, uint64_t *bits)
{
    int count = 0;
    *bits = 0;
    for (Py_ssize_t index = 0; index < s->tagged_count; index++) {
        const tw_field *f = s->tagged + index;
        TW_HELD PyObject *value = tw_slot(object, f->slot);
        int differs = tw_differs(f, value);
        if (differs < 0)
            return -1;
        *bits |= (uint64_t)differs << index;
        count += differs;
    }
    return count;
}

static int tw_write_known_tag(const tw_struct *s, const tw_field *f, PyObject *object, tw_writer *w)
{
    TW_HELD PyObject *value = tw_slot(object, f->slot);
    int64_t start;
    if (value == NULL || tw_open_tag(s, w, f->tag, &start) < 0 || tw_write_value(f, value, w) < 0)
        return -1;
    return tw_close_tag(s, w, start);
}

/* Write an unknown tagged field. `pair` is a tuple (tag, data), where the data is bytes or a memoryview of bytes. */
static int tw_write_other_tag(const tw_struct *s, PyObject *pair, tw_writer *w)
{
    Py_buffer data;
    int64_t start;
    int failed;
    if (PyObject_GetBuffer(TW_TUPLE_GET(pair, 1), &data, PyBUF_SIMPLE) < 0)
        return -1;
    failed = tw_open_tag(s, w, PyLong_AsLong(TW_TUPLE_GET(pair, 0)), &start) < 0 ||
             tw_put(w, data.buf, data.len) < 0 || tw_close_tag(s, w, start) < 0;
    PyBuffer_Release(&data);
    return failed ? -1 : 0;
}

/* Merge known and unknown tagged fields in tag order and write them. `bits` has a bit set for each known field to
 * write. `others` is a tuple of the unknown fields in tag order, or NULL if there are none. */
static int tw_write_tags(const tw_struct *s, PyObject *object, uint64_t bits, PyObject *others, tw_writer *w)
{
    Py_ssize_t next = 0, count = others == NULL ? 0 : TW_TUPLE_SIZE(others);
    for (Py_ssize_t index = 0; index < s->tagged_count; index++) {
        const tw_field *f = s->tagged + index;
        if (!(bits >> index & 1))
            continue;
        for (; next < count && PyLong_AsLong(TW_TUPLE_GET(TW_TUPLE_GET(others, next), 0)) < f->tag; next++)
            if (tw_write_other_tag(s, TW_TUPLE_GET(others, next), w) < 0)
                return -1;
        if (tw_write_known_tag(s, f, object, w) < 0)
            return -1;
    }
    for (; next < count; next++)
        if (tw_write_other_tag(s, TW_TUPLE_GET(others, next), w) < 0)
            return -1;
    return 0;
}

static int tw_write_section(const tw_struct *s, PyObject *object, tw_writer *w)
{
    TW_HELD PyObject *unknown = tw_slot(object, s->unknown_slot);
    PyObject *others = NULL;
    uint64_t bits;
    int count, failed;
    if (unknown == NULL || tw_make_room(w, TW_LENGTH_WIDTH) < 0)
        return -1;
    if (unknown != w->shared->no_tags) {
        Py_INCREF(unknown);
        others = tw_other_tags(s, unknown);
        Py_DECREF(unknown);
        if (others == NULL)
            return -1;
    }
    count = tw_tagged_to_write(s, object, &bits);
    failed = count < 0;
    if (!failed && s->section == TW_TAGGED_SECTION)
        w->p = tw_put_varint(w->p, (uint64_t)count + (others == NULL ? 0 : (uint64_t)TW_TUPLE_SIZE(others)));
    if (!failed && (count || others != NULL))
        failed = tw_write_tags(s, object, bits, others, w) < 0;
    if (!failed && s->section == TW_OPTIONAL_BUFFER) {
        failed = tw_make_room(w, 1) < 0;
        if (!failed)
            *w->p++ = 0;
    }
    Py_XDECREF(others);
    return failed ? -1 : 0;
}

#endif
