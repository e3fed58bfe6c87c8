#include "records/json_lines.h"

#include "engine/json_letters.h"
#include "records/magic2_impl.h"

#define TW_LETTERS(out, literal) (memcpy(out, literal, sizeof(literal) - 1), (out) + sizeof(literal) - 1)
/* The maximum number of characters in a line, not counting the key, value, headers, and the text that all lines
 * share. */
#define TW_LINE_LETTERS 192

static inline char *tw_put_line_bytes(char *out, const uint8_t *data, int64_t size)
{
    return size < 0 ? TW_LETTERS(out, "null") : tw_put_json_bytes(out, data, size);
}

/* Write a record's headers as a JSON array. Return the end of the output, or NULL if the headers are invalid. */
static char *tw_put_line_headers(char *out, tw_magic2_headers headers)
{
    tw_magic2_header header;
    *out++ = '[';
    for (int64_t all = headers.count; headers.count > 0;) {
        if (headers.count < all)
            out = TW_LETTERS(out, ", ");
        if (!tw_next_magic2_header(&headers, &header))
            return NULL;
        *out++ = '[';
        out = TW_LETTERS(tw_put_json_text(out, header.key, header.key_size), ", ");
        out = tw_put_line_bytes(out, header.value, header.value_size);
        *out++ = ']';
    }
    *out++ = ']';
    return headers.p == headers.end ? out : NULL;
}

static inline char *tw_put_truth(char *out, int is_so) { return is_so ? TW_LETTERS(out, "true") : TW_LETTERS(out, "false"); }

/* Write a record as a JSON line. Return the end of the output, or NULL if the record is invalid. */
static inline char *tw_put_json_line(
    char *out, const tw_magic2_record *record, int64_t offset, int64_t timestamp, tw_common_text common)
{
    memcpy(out, common.data, common.size);
    out = tw_put_digits(TW_LETTERS(out + common.size, ", \"offset\": "), offset);
    out = tw_put_digits(TW_LETTERS(out, ", \"timestamp\": "), timestamp);
    out = tw_put_line_bytes(TW_LETTERS(out, ", \"key\": "), record->key, record->key_size);
    out = tw_put_line_bytes(TW_LETTERS(out, ", \"value\": "), record->value, record->value_size);
    out = tw_put_line_headers(TW_LETTERS(out, ", \"headers\": "), record->headers);
    if (out == NULL)
        return NULL;
    out = tw_put_truth(TW_LETTERS(out, ", \"hasHeaders\": "), record->headers.count > 0);
    out = tw_put_truth(TW_LETTERS(out, ", \"isTombstone\": "), record->value_size < 0);
    return TW_LETTERS(out, "}\n");
}

/* Write a key or value as text, or as hex in angle brackets if it contains control characters. Return the end of the
 * output, or NULL if Python must write the value. */
static char *tw_put_text_cell(char *out, const uint8_t *data, int64_t size)
{
    static const char digits[] = "0123456789abcdef";
    int is_plain = 1;
    if (size < 0)
        return TW_LETTERS(out, "<null>");
    for (int64_t at = 0; at < size; at++) {
        if (data[at] >= 0x80)
            return NULL;
        is_plain &= data[at] >= 0x20 && data[at] != 0x7F;
    }
    if (size && is_plain && data[0] == '<' && data[size - 1] == '>')
        return NULL;
    if (is_plain) {
        memcpy(out, data, (size_t)size);
        return out + size;
    }
    *out++ = '<';
    for (int64_t at = 0; at < size; at++) {
        *out++ = digits[data[at] >> 4];
        *out++ = digits[data[at] & 15];
    }
    *out++ = '>';
    return out;
}

/* Write a record's headers as text: `key=value`, separated by commas. Return the end of the output, or NULL if Python
 * must write the headers. */
static char *tw_put_text_headers(char *out, tw_magic2_headers headers)
{
    tw_magic2_header header;
    for (int64_t all = headers.count; headers.count > 0;) {
        if (headers.count < all)
            out = TW_LETTERS(out, ", ");
        if (!tw_next_magic2_header(&headers, &header) || (out = tw_put_text_cell(out, header.key, header.key_size)) == NULL)
            return NULL;
        *out++ = '=';
        out = tw_put_text_cell(out, header.value, header.value_size);
        if (out == NULL)
            return NULL;
    }
    return headers.p == headers.end ? out : NULL;
}

/* Write a record as tab-separated text: offset, timestamp, key, value, headers and attributes. Return the end of the
 * output, or NULL if Python must write the line. */
static inline char *tw_put_text_line(
    char *out, const tw_magic2_record *record, int64_t offset, int64_t timestamp, tw_common_text common)
{
    size_t size = common.size;
    out = tw_put_digits(out, offset);
    *out++ = '\t';
    out = tw_put_digits(out, timestamp);
    *out++ = '\t';
    if ((out = tw_put_text_cell(out, record->key, record->key_size)) == NULL)
        return NULL;
    *out++ = '\t';
    if ((out = tw_put_text_cell(out, record->value, record->value_size)) == NULL)
        return NULL;
    *out++ = '\t';
    if ((out = tw_put_text_headers(out, record->headers)) == NULL)
        return NULL;
    *out++ = '\t';
    memcpy(out, common.data, common.size);
    out += common.size;
    if (record->headers.count > 0)
        out = size++ ? TW_LETTERS(out, ", has headers") : TW_LETTERS(out, "has headers");
    if (record->value_size < 0)
        out = size ? TW_LETTERS(out, ", tombstone") : TW_LETTERS(out, "tombstone");
    while (out[-1] == '\t')
        out--;
    *out++ = '\n';
    return out;
}

/* Write the next record as a line, remove it from `batch`, and return 1. Return 0 and write nothing if memory has run
 * out, or if C can't convert the record. */
static int tw_write_line(tw_output *to, tw_batch *batch, tw_common_text common)
{
    tw_magic2_record record;
    int64_t offset, timestamp;
    /* An upper limit for the size of the headers in JSON. The shortest header has two bytes, and becomes
     * `, ["", null]`. */
    size_t headers_room, room;
    char *out;
    if (!tw_next_record(batch, &record, &offset, &timestamp))
        return 0;
    headers_room = (size_t)(record.headers.end - record.headers.p) * TW_MOST_ESCAPED;
    room = common.is_text ? 2 * (size_t)(record.end - batch->p)
                          : (size_t)(TW_BASE64_SIZE(record.key_size) + TW_BASE64_SIZE(record.value_size));
    if (!tw_reserve_output(to, common.size + TW_LINE_LETTERS + headers_room + room))
        return 0;
    out = (char *)to->data + to->size;
    out = common.is_text ? tw_put_text_line(out, &record, offset, timestamp, common)
                         : tw_put_json_line(out, &record, offset, timestamp, common);
    if (out == NULL)
        return 0;
    to->size = (size_t)(out - (char *)to->data);
    batch->p = record.end;
    batch->left--;
    return 1;
}

void tw_write_lines(tw_output *out, tw_batch *batch, tw_common_text common, size_t most)
{
    while (batch->left > 0 && out->size < most)
        if (!tw_write_line(out, batch, common))
            return;
}
