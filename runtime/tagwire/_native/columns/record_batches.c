#include "columns/record_batches.h"
#include "columns/magic2_columns_impl.h"

/* Return whether the batch at `p` can be in the format whose batch length is a varint. */
static int tw_may_be_tried(const tw_batches *b, const uint8_t *p, int64_t left)
{
    tw_reader r;
    uint64_t bits;
    int64_t length;
    if (b->tried == NULL || left < 8)
        return 0;
    r.p = p + 8;
    r.end = p + left;
    if (tw_read_varint(&r, 5, &bits) == -1)
        return 0;
    length = b->tried_zigzag ? tw_from_zigzag(bits) : (int64_t)bits;
    return r.end - r.p > 4 && r.p[4] == b->tried_magic && length <= r.end - r.p;
}

/* Return the plan for the batch at `p`, or NULL if only Python can determine the batch's format. */
static const tw_record_plan *tw_plan_at(const tw_batches *b, const uint8_t *p, int64_t left)
{
    static const uint8_t zeros[17];
    const tw_record_plan *usual;
    if (left < (int64_t)sizeof zeros || memcmp(p, zeros, sizeof zeros) == 0)
        return NULL;
    if (b->alone != NULL)
        return b->alone;
    usual = p[16] < TW_MAGICS ? b->plans[p[16]] : NULL;
    if (!tw_may_be_tried(b, p, left))
        return usual;
    return usual == NULL ? b->tried : NULL;
}

/* Compute a number for each tw_batch_slot from a batch header, and store it in the slots after the header's fields.
 * Return TW_UNTRIED if a number needs more than 64 bits; Python then handles the batch. */
static int tw_work_out(const tw_record_plan *plan, int64_t *slots, int64_t position, int64_t size)
{
    int64_t *derived = slots + plan->header->items_count;
    int64_t highest = plan->max_timestamp >= 0    ? slots[plan->max_timestamp]
                      : plan->base_timestamp >= 0 ? slots[plan->base_timestamp]
                                                  : -1;
    derived[TW_SLOT_POSITION] = position;
    derived[TW_SLOT_SIZE] = size;
    derived[TW_SLOT_BASE_OFFSET] = slots[plan->base_offset];
    if (!tw_add(slots[plan->base_offset], plan->last_delta < 0 ? 0 : slots[plan->last_delta],
                derived + TW_SLOT_LAST_OFFSET))
        return TW_UNTRIED;
    return tw_add(highest, plan->max_relative_to < 0 ? 0 : slots[plan->max_relative_to],
                  derived + TW_SLOT_MAX_TIMESTAMP) ? 0 : TW_UNTRIED;
}

/* Return whether a batch's base offset is not above the last offset of the previous batch. The base offset may be
 * corrupt, because no checksum covers it. */
static inline int tw_is_out_of_order(const tw_batches *b)
{
    return TW_UNLIKELY(b->is_ordered && b->header[b->plan->header->items_count + TW_SLOT_BASE_OFFSET] <= b->last_offset);
}

static void tw_start_registers(int64_t *known)
{
    memset(known, 0, TW_REGISTERS * sizeof *known);
    known[2] = 1; /* register 2 contains the constant 1 (framing.h) */
}

/* Read the batch header at `position` into `header`, and set `next` to the end of the batch. */
static int tw_walk_header(tw_batches *b)
{
    tw_record_reader *w = &b->w;
    tw_start_registers(b->header_known);
    w->r.known = b->header_known;
    w->r.start = w->r.p = b->data + b->position;
    w->r.end = b->data + b->size;
    w->r.trusted = 0;
    TW_TRY(tw_walk_record_struct(b->plan->header, b->plan->header_sinks, w, 0));
    b->next = w->r.p - b->data;
    memcpy(b->header, w->slots, sizeof b->header);
    return tw_work_out(b->plan, b->header, b->position, b->next - b->position);
}

/* Compute the value of a constant column for the open batch. Return 1, or 0 if the value is null. */
static inline int tw_constant_value(const tw_constant *c, const int64_t *slots, int64_t *x)
{
    *x = c->slot < 0 ? c->number : slots[c->slot];
    if (c->mask)
        *x = (*x & c->mask) >> c->shift;
    if (c->indexes != NULL)
        *x = c->indexes[*x]; /* valid, because the header's bits were checked */
    if (c->test >= 0 && (((slots[c->test] & c->needed) != c->needed) || (slots[c->test] & c->unless)))
        return 0;
    return !(c->null_number && *x == -1);
}

static void tw_put_bits(uint8_t *bits, int64_t first, int64_t end, int bit)
{
    for (; first < end && first & 7; first++)
        tw_put_bit(bits, first, bit);
    if (end - first >= 8) {
        memset(bits + (first >> 3), bit ? 0xFF : 0, (size_t)((end - first) >> 3));
        first += (end - first) & ~(int64_t)7;
    }
    for (; first < end; first++)
        tw_put_bit(bits, first, bit);
}

/* Store the value of a constant column in the rows from `first` up to `end`. The caller must have made room. */
static int tw_put_constant(tw_frame *frame, const tw_constant *c, const int64_t *slots, int64_t first, int64_t end)
{
    const tw_buffers *b = frame->buffers + c->column;
    size_t width = frame->columns[c->column].width, count = (size_t)(end - first), done = 1;
    uint8_t *values = b->values + width * (size_t)first;
    int64_t x;
    if (first == end)
        return 0;
    if (!tw_constant_value(c, slots, &x)) {
        tw_put_bits(b->valid, first, end, 0);
        x = 0;
    }
    if (frame->columns[c->column].kind == TW_COLUMN_BITS) {
        tw_put_bits(b->values, first, end, x != 0);
        return 0;
    }
    TW_TRY(tw_put_number(frame, c->column, first, x));
    for (; done < count; done *= 2)
        memcpy(values + done * width, values, (done < count - done ? done : count - done) * width);
    return 0;
}

/* Complete the rows of a batch from `first` up to `end`: fill the constant columns, and set the frame's number of rows
 * to `end`. After an error, remove these rows. */
static int tw_end_rows(tw_batches *b, int64_t first, int64_t end)
{
    int error = 0;
    for (int32_t index = 0; index < b->plan->constants_count && error == 0; index++)
        error = tw_put_constant(b->w.frame, b->plan->constants + index, b->header, first, end);
    b->w.frame->levels[0].length = error < 0 ? first : end;
    return error;
}

static inline int tw_take_record(tw_batches *b, int64_t row)
{
    const tw_record_plan *plan = b->plan;
    tw_record_reader *w = &b->w;
    TW_TRY(plan->is_magic2 ? tw_take_magic2(plan->record, plan->sinks, w, row, b->has_attributes)
                           : tw_walk_record_struct(plan->record, plan->sinks, w, row));
    for (int32_t index = 0; index < plan->idle_count; index++)
        tw_put_null(w->frame, plan->idle[index], row);
    if (plan->tombstone >= 0)
        tw_put_bit(w->frame->buffers[plan->tombstone].values, row,
                   plan->has_flag ? w->flag : w->slots[TW_SLOT_VALUE] < 0);
    return 0;
}

static inline int tw_is_full(const tw_batches *b, int64_t rows, const uint8_t *from)
{
    return rows >= b->most_rows || b->bytes + (b->w.r.p - from) >= b->most_bytes;
}

/* Read records of the open batch until the batch ends or the frame is full. After an error, the frame contains all
 * records before the invalid one. Not inlined, because inlining makes the loop over batches about 5 %
 * slower. */
static TW_NOINLINE int tw_read_batch_records(tw_batches *b)
{
    tw_frame *frame = b->w.frame;
    tw_reader *r = &b->w.r;
    const uint8_t *from = r->p, *start = from, *end = r->end;
    int64_t first = frame->levels[0].length, row = first;
    int error = 0, ended;
    r->known = b->known;
    while (b->left ? b->left > 0 || r->p < r->end : 0) {
        if (row && tw_is_full(b, row, from))
            break;
        start = r->p;
        error = tw_reserve(frame, 0, row + 1);
        if (error == 0)
            error = tw_take_record(b, row);
        if (TW_UNLIKELY(error < 0 || b->w.slots[TW_SLOT_OFFSET] < b->first_offset)) {
            ended = tw_end_rows(b, first, row);
            first = row;
            tw_truncate(frame, row);
            if (error < 0 || ended < 0) {
                r->p = start;
                r->end = end;
                return error < 0 ? error : ended;
            }
        } else
            row++;
        b->index++;
        b->left -= b->left > 0;
    }
    b->bytes += r->p - from;
    TW_TRY(tw_end_rows(b, first, row));
    if (b->left > 0 || (b->left < 0 && r->p < r->end))
        return TW_FULL;
    return r->p == r->end ? 0 : TW_REJECTED;
}

int tw_open_records(tw_batches *b, const uint8_t *p, int64_t size)
{
    const tw_record_plan *plan = b->plan;
    int is_appended = !plan->is_message && (b->header[plan->attributes] & plan->append_mask) != 0;
    int64_t left = plan->count < 0 ? -1 : b->header[plan->count];
    b->w.r.start = b->w.r.p = p;
    b->w.r.end = p + size;
    b->left = left;
    if (plan->count >= 0 && (left < 0 || left > size / plan->least))
        return TW_REJECTED;
    tw_start_registers(b->known);
    for (int32_t index = 0; index < plan->inputs_count; index++)
        b->known[plan->inputs[index].register_index] = b->header[plan->inputs[index].slot];
    if (plan->offset_base >= 0)
        b->known[plan->offset_base] = plan->is_message ? 0 : b->header[plan->base_offset];
    if (plan->timestamp_base >= 0)
        b->known[plan->timestamp_base] = plan->is_message ? 0
                                         : is_appended    ? b->header[plan->header->items_count + TW_SLOT_MAX_TIMESTAMP]
                                                          : b->header[plan->base_timestamp];
    if (plan->timestamp_scale >= 0)
        b->known[plan->timestamp_scale] = !is_appended;
    b->has_attributes = plan->is_magic2 && tw_magic2_has_attributes(plan->record, b->known);
    b->index = 0;
    b->is_open = 1;
    return left > 0 ? tw_reserve(b->w.frame, 0, b->w.frame->levels[0].length + (left < 4096 ? left : 4096)) : 0;
}

int tw_open_wrapped(tw_batches *b, const uint8_t *p, int64_t size)
{
    const tw_record_plan *plan = b->plan;
    tw_reader *r = &b->w.r;
    int64_t first = 0, last, shift = 0;
    if (tw_open_records(b, p, size) < 0 || size == 0 || b->header[plan->attributes] & plan->no_wrapper_mask)
        return TW_REJECTED;
    r->known = b->known;
    r->trusted = 0;
    while (r->p < r->end) {
        int is_first = r->p == p;
        TW_TRY(tw_walk_record_struct(plan->record, plan->no_sinks, &b->w, 0));
        if (is_first)
            first = b->w.slots[TW_SLOT_OFFSET];
    }
    last = b->w.slots[TW_SLOT_OFFSET];
    /* Some clients write wrappers with offset 0 around messages with absolute offsets (KAFKA-5365). Keep these
     * offsets. */
    if (b->header[plan->base_offset] == 0) {
        b->header[plan->header->items_count + TW_SLOT_LAST_OFFSET] = last;
    } else if (plan->is_relative) {
        if (b->header[plan->base_offset] < last)
            return TW_REJECTED;
        if (last == INT64_MIN || !tw_add(b->header[plan->base_offset], -last, &shift))
            return TW_UNTRIED;
    }
    if (!tw_add(first, shift, b->header + plan->header->items_count + TW_SLOT_BASE_OFFSET))
        return TW_UNTRIED;
    if (tw_is_out_of_order(b))
        return TW_UNCLEAR;
    r->p = p;
    r->trusted = 1;
    b->known[plan->offset_base] = shift;
    if (plan->timestamp_base >= 0 && b->header[plan->attributes] & plan->append_mask) {
        b->known[plan->timestamp_base] = b->header[plan->base_timestamp];
        b->known[plan->timestamp_scale] = 0;
    }
    return 0;
}

/* Add one row for the open batch. This is used if only batch headers are read. */
static int tw_take_header(tw_batches *b)
{
    tw_frame *frame = b->w.frame;
    int64_t row = frame->levels[0].length;
    TW_TRY(tw_reserve(frame, 0, row + 1));
    return tw_end_rows(b, row, row + 1);
}

/* Open the batch at `position`: read its header and prepare to read its records. */
static int tw_open_batch(tw_batches *b)
{
    const tw_record_plan *plan = b->plan = tw_plan_at(b, b->data + b->position, b->size - b->position);
    b->index = 0;
    if (plan == NULL)
        return TW_UNCLEAR;
    TW_TRY(tw_walk_header(b));
    if (tw_is_out_of_order(b))
        return TW_UNCLEAR;
    if (plan->leaves_wrappers && b->header[plan->attributes] & plan->codec_mask)
        return TW_UNCLEAR;
    if (plan->record == NULL)
        return 0;
    if (b->header[plan->attributes] & plan->codec_mask) {
        /* A batch that has no records can still have a codec, but there is nothing to decompress. */
        int is_empty = !plan->is_message && b->header[plan->payload] == 0;
        return is_empty ? tw_open_records(b, b->w.spans[plan->payload], 0) : TW_COMPRESSED;
    }
    if (plan->is_message) {
        b->w.r.trusted = 1; /* tw_walk_header has already verified the checksum */
        return tw_open_records(b, b->data + b->position, b->next - b->position);
    }
    return tw_open_records(b, b->w.spans[plan->payload], b->header[plan->payload]);
}

static void tw_close_batch(tw_batches *b)
{
    b->is_open = 0;
    b->last_offset = b->header[b->plan->header->items_count + TW_SLOT_LAST_OFFSET];
    b->position = b->next;
}

int tw_walk_batches(tw_batches *b)
{
    for (;;) {
        int halt = 0;
        if (b->is_open) {
            halt = tw_read_batch_records(b);
            if (halt)
                return halt;
            tw_close_batch(b);
        }
        if (b->w.frame->levels[0].length >= b->most_rows || b->bytes >= b->most_bytes)
            return TW_FULL;
        if (b->position >= b->end)
            return TW_DONE;
        halt = tw_open_batch(b);
        if (halt == 0 && b->plan->record == NULL) {
            halt = tw_take_header(b);
            tw_close_batch(b);
        }
        if (halt)
            return halt;
    }
}
