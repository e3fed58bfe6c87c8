/* Convert numbers, varints and lengths between bytes and C values, without Python objects.
 *
 * Sources: Kafka's protocol guide (big-endian numbers), KIP-482 (unsigned varints, compact lengths of n + 1), Kafka's
 * documentation of record batches (zig-zag varints). Varints that are longer than necessary are rejected. */
#ifndef TAGWIRE_WIRE_H
#define TAGWIRE_WIRE_H

#include "engine/plan.h"

static inline uint16_t tw_get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t tw_get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
/* Return 0 for a finite number that a float32 would round to an infinity, else 1. */
static inline int tw_fits_float32(double number)
{
    return !(number >= 3.4028235677973366e38 || number <= -3.4028235677973366e38) || number - number != 0;
}

static inline uint64_t tw_get64(const uint8_t *p) { return (uint64_t)tw_get32(p) << 32 | tw_get32(p + 4); }

static inline void tw_put16(uint8_t *p, uint16_t x)
{
    p[0] = (uint8_t)(x >> 8);
    p[1] = (uint8_t)x;
}
static inline void tw_put32(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)(x >> 24);
    p[1] = (uint8_t)(x >> 16);
    p[2] = (uint8_t)(x >> 8);
    p[3] = (uint8_t)x;
}
static inline void tw_put64(uint8_t *p, uint64_t x)
{
    tw_put32(p, (uint32_t)(x >> 32));
    tw_put32(p + 4, (uint32_t)x);
}
static inline int tw_put_float64(uint8_t *p, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, 8);
    tw_put64(p, bits);
    return 0;
}
static inline int tw_put_float32(uint8_t *p, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, 4);
    tw_put32(p, bits);
    return 0;
}

static inline int tw_fits(int kind, int64_t x)
{
    switch (kind) {
    case TW_INT8:
        return x == (int8_t)x;
    case TW_UINT8:
        return x == (uint8_t)x;
    case TW_INT16:
        return x == (int16_t)x;
    case TW_UINT16:
        return x == (uint16_t)x;
    case TW_INT32:
        return x == (int32_t)x;
    case TW_UINT32:
        return x == (uint32_t)x;
    case TW_UINT64:
        return x >= 0;
    default:
        return kind == TW_INT64;
    }
}

/* Read an integer of this kind. A uint64 is returned as the int64 with the same bits. */
static inline int64_t tw_get_int(int kind, const uint8_t *p)
{
    switch (kind) {
    case TW_INT8:
        return (int8_t)*p;
    case TW_UINT8:
        return *p;
    case TW_INT16:
        return (int16_t)tw_get16(p);
    case TW_UINT16:
        return tw_get16(p);
    case TW_INT32:
        return (int32_t)tw_get32(p);
    case TW_UINT32:
        return tw_get32(p);
    default:
        return (int64_t)tw_get64(p);
    }
}

/* Write an integer of this kind at `p`. Return 0, or -1 if the number is out of range. */
static inline int tw_put_int(int kind, uint8_t *p, int64_t x)
{
    switch (kind) { /* a single switch, for speed */
    case TW_INT8:
        *p = (uint8_t)x;
        return x == (int8_t)x ? 0 : -1;
    case TW_UINT8:
        *p = (uint8_t)x;
        return x == (uint8_t)x ? 0 : -1;
    case TW_INT16:
        tw_put16(p, (uint16_t)x);
        return x == (int16_t)x ? 0 : -1;
    case TW_UINT16:
        tw_put16(p, (uint16_t)x);
        return x == (uint16_t)x ? 0 : -1;
    case TW_INT32:
        tw_put32(p, (uint32_t)x);
        return x == (int32_t)x ? 0 : -1;
    case TW_UINT32:
        tw_put32(p, (uint32_t)x);
        return x == (uint32_t)x ? 0 : -1;
    default:
        tw_put64(p, (uint64_t)x);
        return kind == TW_INT64 || (kind == TW_UINT64 && x >= 0) ? 0 : -1;
    }
}

/* The maximum value of a length, count or tag. */
#define TW_UVARINT_MAX 0x7FFFFFFF
#define TW_NULL (-1)              /* the length that means null */
#define TW_INVALID (-2)
#define TW_PADDED (-3)

/* Read a varint of at most `size` bytes. Return 0 on success, -1 if the varint is invalid, or TW_PADDED if it is longer
 * than necessary. */
static int tw_read_long_varint(tw_reader *r, int size, uint64_t *value)
{
    uint64_t x = 0;
    for (int index = 0; index < size; index++) {
        uint8_t byte;
        if (r->p == r->end)
            return -1;
        byte = *r->p++;
        if (index == 9 && byte > 1)
            return -1; /* the encoded number exceeds 64 bits */
        x |= (uint64_t)(byte & 0x7F) << 7 * index;
        if (byte < 0x80) {
            *value = x;
            return byte == 0 && index ? TW_PADDED : 0;
        }
    }
    return -1;
}

static inline int tw_read_varint(tw_reader *r, int size, uint64_t *value)
{
    if (TW_LIKELY(r->p < r->end && *r->p < 0x80)) {
        *value = *r->p++;
        return 0;
    }
    return tw_read_long_varint(r, size, value);
}

/* Read a length, count or tag: an unsigned varint of at most TW_UVARINT_MAX. Return TW_INVALID if it is invalid. */
static inline int64_t tw_read_uvarint(tw_reader *r)
{
    uint64_t value;
    if (tw_read_varint(r, 5, &value) < 0 || value > TW_UVARINT_MAX)
        return TW_INVALID;
    return (int64_t)value;
}

static inline int64_t tw_from_zigzag(uint64_t x) { return (int64_t)(x >> 1) ^ -(int64_t)(x & 1); }
static inline uint64_t tw_to_zigzag(int64_t x) { return (uint64_t)x << 1 ^ (uint64_t)(x >> 63); }

/* Convert a varint's bits to the number that they encode. The field specifies how the sign is encoded. */
static inline int64_t tw_signed(const tw_field *f, uint64_t x)
{
    if (f->zigzag == TW_ZIGZAG)
        return tw_from_zigzag(x);
    return f->zigzag == TW_TWOS_COMPLEMENT && f->bits == 32 ? (int32_t)x : (int64_t)x;
}

static inline int tw_varint_width(uint64_t x)
{
    int width = 1;
    while (x >>= 7)
        width++;
    return width;
}

static inline uint8_t *tw_put_varint(uint8_t *p, uint64_t x)
{
    while (x >= 0x80) {
        *p++ = (uint8_t)(x | 0x80);
        x >>= 7;
    }
    *p++ = (uint8_t)x;
    return p;
}

/* Read a length that is encoded as `code` specifies. Return TW_NULL for null, or TW_INVALID for invalid bytes. */
static inline int64_t tw_read_length(tw_reader *r, int code)
{
    int64_t n;
    uint64_t x;
    switch (code) {
    case TW_NO_LENGTH:
        return r->end - r->p; /* without a length, the value extends to the end of the data */
    case TW_COMPACT:
        n = tw_read_uvarint(r);
        return n < 0 ? TW_INVALID : n - 1;
    case TW_LENGTH_INT16:
        if (r->end - r->p < 2)
            return TW_INVALID;
        n = (int16_t)tw_get16(r->p);
        r->p += 2;
        break;
    case TW_LENGTH_INT32:
        if (r->end - r->p < 4)
            return TW_INVALID;
        n = (int32_t)tw_get32(r->p);
        r->p += 4;
        break;
    case TW_LENGTH_VARINT:
        if (tw_read_varint(r, 5, &x) < 0)
            return TW_INVALID;
        n = tw_from_zigzag(x);
        break;
    default:
        return tw_read_uvarint(r);
    }
    return n < TW_NULL ? TW_INVALID : n;
}

/* Skip a string or bytes value and the length before it. Set `data` to the start of the value. Return its size, TW_NULL
 * for null, or TW_INVALID. */
static inline int64_t tw_pass_sized(const tw_field *f, tw_reader *r, const uint8_t **data)
{
    int64_t size = tw_read_length(r, f->length);
    *data = r->p;
    if (TW_UNLIKELY(size < 0))
        return size == TW_NULL && f->nullable ? TW_NULL : TW_INVALID;
    if (TW_UNLIKELY(size > f->longest || size > r->end - r->p))
        return TW_INVALID;
    r->p += size;
    return size;
}

/* Read the varint of a field. Return 0, or -1 if it is invalid or has too many bits. */
static inline int tw_read_bits(const tw_field *f, tw_reader *r, uint64_t *bits)
{
    return tw_read_varint(r, f->bits == 32 ? 5 : 10, bits) < 0 || (f->bits == 32 && *bits >> 32) ? -1 : 0;
}

/* Read the marker byte of a nullable value, if there is one. Return 1 if a value follows, 0 for null, or -1 for an
 * error. */
static inline int tw_is_present(const tw_field *f, tw_reader *r)
{
    int64_t marker;
    if (f->marker == TW_NO_MARKER)
        return 1;
    if (f->marker == TW_MARKER_UVARINT) {
        marker = tw_read_uvarint(r);
        return marker == 0 || marker == 1 ? (int)marker : -1;
    }
    if (r->p == r->end)
        return -1;
    marker = (int8_t)*r->p++;
    return marker == 1 ? 1 : marker == -1 ? 0 : -1;
}

static inline const tw_field *tw_find_tag(const tw_struct *s, int64_t tag)
{
    for (const tw_field *f = s->tagged, *end = f + s->tagged_count; f < end; f++)
        if (f->tag == tag)
            return f;
    return NULL;
}

/* Read the number of entries in a tag section. Return 0 for an optional buffer (KIP-482 draft), which does not store
 * its number of entries. */
static inline int64_t tw_read_entries(const tw_struct *s, tw_reader *r)
{
    return s->section == TW_TAGGED_SECTION ? tw_read_uvarint(r) : 0;
}

/* Read the tag and the size of the next entry in a tag section, or in an optional buffer (KIP-482 draft). In a tag
 * section, `*left` is the number of entries left. Callers set `*tag` to -1 before the first entry. Return 1 for an
 * entry, 0 if there are no more, or -1 for an error. */
static inline int tw_next_entry(const tw_struct *s, tw_reader *r, int64_t *left, int64_t *tag, int64_t *size)
{
    int64_t last = *tag;
    if (s->section == TW_TAGGED_SECTION) {
        if ((*left)-- == 0)
            return 0;
        *tag = tw_read_uvarint(r);
        *size = *tag <= last ? TW_INVALID : tw_read_uvarint(r);
    } else {
        *size = tw_read_length(r, s->entry_length);
        if (*size == 0)
            return 0;
        if (*size < 0 || r->end - r->p < 2)
            return -1;
        *tag = tw_get16(r->p);
        r->p += 2;
        *size -= s->counts_tag ? 2 : 0;
        if (*size < 1 || *tag <= last)
            return -1;
    }
    return *size < 0 || *size > r->end - r->p ? -1 : 1;
}

/* The maximum number of bytes in an encoded length. */
#define TW_LENGTH_WIDTH 5

/* Write a length that isn't a single byte in TW_COMPACT; see tw_put_length. */
static TW_NOINLINE TW_MAYBE_UNUSED uint8_t *tw_put_other_length(uint8_t *p, int code, int64_t n)
{
    switch (code) {
    case TW_COMPACT:
        return n >= TW_UVARINT_MAX ? NULL : tw_put_varint(p, (uint64_t)(n + 1));
    case TW_LENGTH_INT16:
        tw_put16(p, (uint16_t)n);
        return n > INT16_MAX ? NULL : p + 2;
    case TW_LENGTH_INT32:
        tw_put32(p, (uint32_t)n);
        return n > INT32_MAX ? NULL : p + 4;
    case TW_LENGTH_VARINT:
        return n > TW_UVARINT_MAX ? NULL : tw_put_varint(p, tw_to_zigzag(n));
    case TW_LENGTH_UVARINT:
        return n > TW_UVARINT_MAX ? NULL : tw_put_varint(p, (uint64_t)n);
    default:
        return p; /* arrays that extend to the end of the data have no length */
    }
}

/* Write a length at `p`; the caller has made room. Return the end of the output, or NULL if the length is out of
 * range. */
static inline uint8_t *tw_put_length(uint8_t *p, int code, int64_t n)
{
    if (TW_UNLIKELY(code != TW_COMPACT || n >= 0x7F))
        return tw_put_other_length(p, code, n);
    *p = (uint8_t)(n + 1);
    return p + 1;
}

#endif
