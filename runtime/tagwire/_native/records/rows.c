#include "records/rows.h"

#include "engine/crc32c.h"
#include "engine/number_reading.h"

static tw_crc32c_tables tw_tables; /* filled once, when the module is loaded */

void tw_prepare_rows(void) { tw_crc32c_prepare(&tw_tables); }

static int tw_is_null(const tw_arrow_column *column, int64_t row)
{
    int64_t at = column->first + row;
    return (column->ends == NULL && column->numbers == NULL) ||
           (column->valid != NULL && !(column->valid[at >> 3] >> (at & 7) & 1));
}

/* Return the size of a row's bytes value, and set `data` to its start. Return -1 for null. */
static int64_t tw_arrow_bytes_at(const tw_arrow_column *column, int64_t row, const uint8_t **data)
{
    const int32_t *ends;
    if (tw_is_null(column, row))
        return -1;
    ends = column->ends + column->first + row;
    *data = column->data + ends[0];
    return (int64_t)ends[1] - ends[0];
}

static int64_t tw_width_of(int64_t size) { return tw_varint_width(tw_to_zigzag(size)) + (size > 0 ? size : 0); }

/* Get the range of a row's headers in the columns header_keys and header_values. */
static void tw_headers_at(const tw_rows *rows, int64_t row, int64_t *start, int64_t *stop)
{
    const int32_t *ends;
    *start = *stop = 0;
    if (tw_is_null(&rows->headers, row))
        return;
    ends = rows->headers.ends + rows->headers.first + row;
    *start = ends[0];
    *stop = ends[1];
}

static int64_t tw_headers_width(const tw_rows *rows, int64_t start, int64_t stop)
{
    int64_t size = tw_varint_width(tw_to_zigzag(stop - start));
    const uint8_t *data;
    for (; start < stop; start++)
        size += tw_width_of(tw_arrow_bytes_at(&rows->header_keys, start, &data)) +
                tw_width_of(tw_arrow_bytes_at(&rows->header_values, start, &data));
    return size;
}

/* Return a row's timestamp in milliseconds, rounded down, or -1 for null. */
static int64_t tw_timestamp_at(const tw_arrow_column *column, int64_t row)
{
    int64_t micros, millis;
    if (tw_is_null(column, row))
        return -1;
    micros = column->numbers[column->first + row];
    millis = micros / 1000;
    return millis * 1000 > micros ? millis - 1 : millis;
}

static uint8_t *tw_put_column(uint8_t *p, const tw_arrow_column *column, int64_t row)
{
    const uint8_t *data = NULL;
    int64_t size = tw_arrow_bytes_at(column, row, &data);
    p = tw_put_varint(p, tw_to_zigzag(size));
    if (size <= 0)
        return p;
    memcpy(p, data, (size_t)size);
    return p + size;
}

int tw_append_rows(tw_run *run, tw_rows *rows, int64_t *row, int64_t stop, int64_t most_bytes, int64_t most_records)
{
    for (; *row < stop && (run->count == 0 || run->count < most_records); ++*row) {
        const uint8_t *data;
        int64_t size = tw_width_of(tw_arrow_bytes_at(&rows->keys, *row, &data)) + tw_width_of(tw_arrow_bytes_at(&rows->values, *row, &data));
        int64_t offset = rows->next_offset, header, last;
        uint8_t *body, *p;
        int taken;
        tw_headers_at(rows, *row, &header, &last);
        size += tw_headers_width(rows, header, last);
        if (rows->offsets.numbers != NULL)
            offset = rows->offsets.numbers[rows->offsets.first + *row];
        if (offset < rows->next_offset || offset == INT64_MAX) /* INT64_MAX has no next offset */
            return 0;
        if (run->count && offset - run->base_offset > INT32_MAX)
            return 1;
        taken = tw_begin_record(run, 0, offset, tw_timestamp_at(&rows->timestamps, *row), size, most_bytes, &body);
        if (taken <= 0)
            return run->count > 0 && taken == 0;
        p = tw_put_column(body, &rows->keys, *row);
        p = tw_put_column(p, &rows->values, *row);
        p = tw_put_varint(p, tw_to_zigzag(last - header));
        for (; header < last; header++) {
            p = tw_put_column(p, &rows->header_keys, header);
            p = tw_put_column(p, &rows->header_values, header);
        }
        rows->content += tw_crc32c(&tw_tables, body, size);
        rows->next_offset = offset + 1;
    }
    return 1;
}
