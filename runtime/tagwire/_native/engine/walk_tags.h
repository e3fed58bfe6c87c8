/* Read through tagged fields and optional buffers without creating objects. Included by walk.h. */
#ifndef TAGWIRE_WALK_TAGS_H
#define TAGWIRE_WALK_TAGS_H

#include "engine/walk.h"

static int tw_walk_unknown_tag(tw_walk *w, int64_t tag, int64_t size, const uint8_t *entry, int64_t last)
{
    tw_reader *r = &w->r;
    const uint8_t *data = r->p;
    int64_t span, raw;
    if (r->unknown_tags < 1 || r->unknown_tag_bytes < size)
        return tw_refuse_entry(w, entry, last);
    r->unknown_tags--;
    r->unknown_tag_bytes -= size;
    r->p += size;
    span = tw_open_span(&w->spans, TW_SPAN_UNKNOWN, tag, entry);
    raw = span < 0 ? -1 : tw_open_span(&w->spans, TW_SPAN_RAW, 0, data);
    if (raw < 0)
        return -1;
    tw_close_span(&w->spans, raw, 0, r->p);
    return tw_close_span(&w->spans, span, size, r->p);
}

static int tw_walk_known_tag(const tw_field *f, tw_walk *w, int64_t size, const uint8_t *entry)
{
    tw_reader *r = &w->r;
    const uint8_t *around = r->end;
    int64_t span = tw_open_span(&w->spans, tw_span_kind(f, TW_TAG_OF_FIELD), f->tag, entry);
    if (span < 0)
        return -1;
    tw_note_span(&w->spans, span, size);
    w->has_known_tags = 1;
    r->end = r->p + size;
    if (tw_walk_value(f, w, TW_VALUE_OF_TAG, 0) < 0)
        return tw_in_span(w, span), tw_in_field(w, f);
    if (r->p != r->end) {
        w->last = f->tag;
        w->size = size;
        tw_refuse(w, TW_AT_TAG_END, r->p, w->spans.count);
        return tw_in_span(w, span), tw_in_field(w, f);
    }
    r->end = around;
    return tw_close_span(&w->spans, span, size, r->p);
}

/* Read through the value of a tagged field, whose tag and size have been read. The field's entry began at `entry`;
 * `last` is the tag before it. */
static int tw_walk_tag(const tw_struct *s, tw_walk *w, int64_t tag, int64_t size, const uint8_t *entry, int64_t last)
{
    if (size < 0 || size > w->r.end - w->r.p)
        return tw_refuse_entry(w, entry, last);
    for (const tw_field *f = s->tagged, *end = f + s->tagged_count; f < end; f++)
        if (f->tag == tag)
            return tw_walk_known_tag(f, w, size, entry);
    return tw_walk_unknown_tag(w, tag, size, entry, last);
}

static int tw_walk_entries(const tw_struct *s, tw_walk *w, int64_t count)
{
    int64_t last = -1;
    for (; count > 0; count--) {
        const uint8_t *entry = w->r.p;
        int64_t tag = tw_read_uvarint(&w->r), size;
        if (tag <= last || (size = tw_read_uvarint(&w->r)) < 0)
            return tw_refuse_entry(w, entry, last);
        if (tw_walk_tag(s, w, tag, size, entry, last) < 0)
            return -1;
        last = tag;
    }
    return 0;
}

static int tw_walk_tagged_section(const tw_struct *s, tw_walk *w)
{
    const uint8_t *start = w->r.p;
    int64_t count, span;
    if (w->spans.rows == NULL && start < w->r.end && *start == 0) {
        w->r.p++;
        return 0;
    }
    span = tw_open_span(&w->spans, TW_SPAN_SECTION, 0, start);
    if (span < 0)
        return -1;
    count = tw_read_uvarint(&w->r);
    if (count < 0 || count * 2 > w->r.end - w->r.p)
        return tw_refuse(w, TW_AT_SECTION, start, span);
    tw_note_span(&w->spans, span, count);
    if (tw_walk_entries(s, w, count) < 0)
        return tw_in_span(w, span);
    return tw_close_span(&w->spans, span, count, w->r.p);
}

/* Read through an entry of an optional buffer. Return 1, 0 at the end of the buffer, or -1 for an error. */
static int tw_walk_optional_entry(const tw_struct *s, tw_walk *w, int64_t *last)
{
    tw_reader *r = &w->r;
    const uint8_t *entry = r->p;
    int64_t tag, size = tw_read_length(r, s->entry_length);
    if (size == 0)
        return 0;
    if (size < 0 || r->end - r->p < 2)
        return tw_refuse_entry(w, entry, *last);
    tag = tw_get16(r->p);
    r->p += 2;
    size -= s->counts_tag ? 2 : 0;
    if (tag <= *last || size < 1)
        return tw_refuse_entry(w, entry, *last);
    if (tw_walk_tag(s, w, tag, size, entry, *last) < 0)
        return -1;
    *last = tag;
    return 1;
}

static int tw_walk_optional_buffer(const tw_struct *s, tw_walk *w)
{
    int64_t last = -1, count = 0, span = tw_open_span(&w->spans, TW_SPAN_BUFFER, 0, w->r.p);
    int more;
    if (span < 0)
        return -1;
    while ((more = tw_walk_optional_entry(s, w, &last)) > 0)
        count++;
    return more < 0 ? tw_in_span(w, span) : tw_close_span(&w->spans, span, count, w->r.p);
}

#endif
