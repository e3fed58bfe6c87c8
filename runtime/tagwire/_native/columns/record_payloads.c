#include "columns/record_payloads.h"

#define TW_METADATA_FRAME 1 /* the frame version before each metadata record (KIP-631) */
/* Returned instead of a version if a payload does not have the requested type. */
#define TW_NO_TYPE INT64_MIN

static const uint8_t *tw_bytes_at(const tw_frame *frame, int32_t column, int64_t row, int64_t *size)
{
    const tw_buffers *b = frame->buffers + column;
    int32_t start = tw_get_offset(b, row);
    if (b->valid != NULL && !tw_get_bit(b->valid, row))
        return NULL;
    *size = tw_get_offset(b, row + 1) - start;
    return b->data + start;
}

/* Skip the record type and the version, which precede the message. Return the version, or TW_NO_TYPE if the record type
 * isn't `type`. */
static int64_t tw_open_payload(int how, int64_t type, const uint8_t *key, int64_t key_size, tw_reader *r)
{
    if (how == TW_METADATA_RECORD) {
        int64_t version = tw_read_uvarint(r) == TW_METADATA_FRAME && tw_read_uvarint(r) == type ? tw_read_uvarint(r) : -1;
        return version < 0 ? TW_NO_TYPE : version;
    }
    if (key == NULL || key_size < 2 || (int16_t)tw_get16(key) != type)
        return TW_NO_TYPE;
    if (r->end - r->p < 2) {
        r->p = r->end;
        return -1; /* too short to contain a version; the decoder rejects -1 */
    }
    r->p += 2;
    return how == TW_COORDINATOR_KEY ? 0 : (int16_t)tw_get16(r->p - 2);
}

int tw_split_payloads(
    tw_frame *from, int32_t control, int32_t key, int32_t value, int how, int64_t type, tw_frame *to)
{
    int64_t rows = from->levels[0].length;
    int error = 0;
    for (int64_t row = 0; row < rows && error == 0; row++) {
        int64_t key_size = 0, size = 0, version = TW_NO_TYPE;
        const uint8_t *named = key < 0 ? NULL : tw_bytes_at(from, key, row, &key_size);
        tw_reader r;
        r.p = tw_bytes_at(from, value < 0 ? key : value, row, &size);
        r.end = r.p + size;
        to->levels[0].touched = row + 1;
        if (r.p != NULL && !tw_get_bit(from->buffers[control].values, row))
            version = tw_open_payload(how, type, named, key_size, &r);
        if (version == TW_NO_TYPE) {
            tw_put_null(to, 1, row);
            tw_put_null(to, 2, row);
        } else {
            tw_put_int32(to->buffers + 2, row, version);
            error = tw_put_bytes(to, 1, row, r.p, r.end - r.p);
        }
        to->levels[0].length = row + 1;
    }
    return error;
}
