/* The spans of a trace show where each value of a message is in the message's bytes. Each span is a row of 32 bytes.
 * The rows are sorted by position.
 *
 * tagwire.explain.spans reads and writes the same rows. Fixed-width array elements have no rows, because their array's
 * row describes them. */
#ifndef TAGWIRE_SPANS_H
#define TAGWIRE_SPANS_H

#include "engine/plan.h"

typedef struct {
    int64_t offset, length;
    int32_t kind;
    int32_t step;  /* index of an array element, or tag of a tagged field */
    /* the number of array elements or tags, the size of a tagged field, 1 for a struct, or TW_SPAN_NULL for null */
    int32_t value;
    int32_t after; /* number of the first row after the nested spans; TW_SPAN_OPEN if the span contains an error */
} tw_span;

#define TW_SPAN_NULL (-1)
#define TW_SPAN_OPEN (-1)

/* Span kinds. The first five are the same in all plans. A span of field number N of a plan has the kind
 * TW_SPAN_FIELDS + TW_ROLES * N + role, where the role is a tw_span_role. */
enum tw_span_kind { TW_SPAN_MESSAGE, TW_SPAN_SECTION, TW_SPAN_BUFFER, TW_SPAN_UNKNOWN, TW_SPAN_RAW, TW_SPAN_FIELDS };
enum tw_span_role { TW_FIELD, TW_ELEMENT = TW_FIELD, TW_TAG_OF_FIELD, TW_VALUE_OF_TAG, TW_ROLES };

typedef struct {
    PyObject *rows;       /* bytearray of the rows, or NULL if no spans are requested */
    tw_span *span;        /* first row; points into the memory of the bytearray `rows` */
    int64_t count, room;
    const uint8_t *start; /* address of the byte at offset 0 */
    int32_t first_kind;   /* where this plan's kinds begin in the trace's list of kinds */
} tw_spans;

static inline int tw_span_kind(const tw_field *f, int role) { return TW_SPAN_FIELDS + TW_ROLES * f->number + role; }

static TW_RARE int tw_more_spans(tw_spans *s)
{
    int64_t room = s->room + s->room / 2 + 64;
    if (room >= INT32_MAX || PyByteArray_Resize(s->rows, (Py_ssize_t)(room * (int64_t)sizeof(tw_span))) < 0) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return -1;
    }
    s->span = (tw_span *)PyByteArray_AsString(s->rows);
    s->room = room;
    return 0;
}

/* Prepare to append spans to the bytearray `rows`, or to discard them if `rows` is NULL. */
static inline void tw_start_spans(tw_spans *s, PyObject *rows, int32_t first_kind, const uint8_t *start)
{
    memset(s, 0, sizeof *s);
    s->rows = rows;
    s->first_kind = first_kind;
    s->start = start;
    if (rows != NULL) {
        s->count = s->room = PyByteArray_Size(rows) / (Py_ssize_t)sizeof(tw_span);
        s->span = (tw_span *)PyByteArray_AsString(rows);
    }
}

static inline int tw_finish_spans(tw_spans *s)
{
    return s->rows == NULL ? 0 : PyByteArray_Resize(s->rows, (Py_ssize_t)(s->count * (int64_t)sizeof(tw_span)));
}

/* Begin a span at `from`. Return its row number, 0 if no spans are requested, or -1 with an exception. */
static inline int64_t tw_open_span(tw_spans *s, int kind, int64_t step, const uint8_t *from)
{
    tw_span *span;
    if (TW_LIKELY(s->rows == NULL))
        return 0;
    if (s->count == s->room && tw_more_spans(s) < 0)
        return -1;
    span = s->span + s->count;
    span->offset = from - s->start;
    span->length = 0;
    span->kind = s->first_kind + kind;
    span->step = (int32_t)step;
    span->value = TW_SPAN_NULL;
    span->after = TW_SPAN_OPEN;
    return s->count++;
}

static inline void tw_note_span(tw_spans *s, int64_t span, int64_t value)
{
    if (s->rows != NULL)
        s->span[span].value = (int32_t)value;
}

static inline int tw_close_span(tw_spans *s, int64_t span, int64_t value, const uint8_t *end)
{
    if (s->rows != NULL) {
        s->span[span].value = (int32_t)value;
        s->span[span].length = end - s->start - s->span[span].offset;
        s->span[span].after = (int32_t)s->count;
    }
    return 0;
}

#endif
