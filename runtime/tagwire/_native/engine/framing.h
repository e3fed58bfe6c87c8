/* A tw_framing extends a field's tw_field with the properties that only fields of record formats have.
 *
 * A register is a variable for a number that other fields depend on, such as a count or presence bits. Register 0
 * is for numbers that nothing depends on.
 */
#ifndef TAGWIRE_FRAMING_H
#define TAGWIRE_FRAMING_H

#include "engine/compat.h"

#define TW_REGISTERS 32
/* The maximum number of lengths and checksums in a struct. */
#define TW_FRAMES 8
/* The value of `slot` for a field that objects don't store. */
#define TW_NOWHERE (-1)

enum tw_shape { TW_OBJECT, TW_TUPLE, TW_DICT };
enum tw_frame_role { TW_VALUE, TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM };
enum tw_algorithm { TW_CRC32, TW_CRC32C };
/* The condition under which encoding sets a bit (see tw_follow).
 *
 * TW_IF_EMPTY: an attribute is None
 * TW_IF_GIVEN: an attribute is a nonempty array
 * TW_IF_FLAGGED: a second attribute is true, or both attributes are None
 */
enum tw_follows { TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED };

/* Fast paths for the fields of common records. All varints are zig-zag varints.
 *
 * TW_NO_FAST_PATH: the field has no fast path
 * TW_PASS: fixed-width integer
 * TW_NUMBER: integer encoded as a varint
 * TW_BYTES: bytes or null, preceded by their size as a varint
 * TW_LIST: array of structs, usually empty, preceded by its element count as a varint
 * TW_BOUNDS: size of the rest of the struct in bytes, encoded as a varint */
enum tw_fast_path { TW_NO_FAST_PATH, TW_PASS, TW_NUMBER, TW_BYTES, TW_LIST, TW_BOUNDS, };

typedef struct {
    int64_t mask;
    uint8_t shift;
    int64_t values;       /* the number in the bits of `mask` must be less than this limit; 0 means no limit */
} tw_bits;

/* A bit of an encoded number that encoding computes from the values of other attributes. */
typedef struct {
    int64_t mask;
    uint8_t how;          /* a tw_follows: the condition under which encoding sets the bit */
    Py_ssize_t slot;      /* slot of the attribute that `how` tests */
    Py_ssize_t flag;      /* for TW_IF_FLAGGED: slot of the second attribute, a bool or None */
} tw_follow;

struct tw_framing {
    uint8_t frame;
    uint8_t fast_path;
    uint8_t is_usual; /* whether only the members `is_number`, `keep`, `base` and `scale` matter */
    uint8_t is_number;    /* whether the field is an integer (such as a length or count) that fits in an int64 */
    uint8_t counts_itself; /* whether a length includes its own bytes */
    uint8_t algorithm;    /* a tw_algorithm; set for a checksum field and for the first field that it covers */
    uint8_t has_equals;
    uint8_t is_checked;   /* whether the number must be checked against `equals`, `bits` or `last` */
    uint8_t is_guarded;
    uint8_t unsigned_order;
    uint8_t filled;       /* for arrays: whether at least one element is required */
    uint8_t keep;         /* register that receives the field's number, or 0 if nothing depends on it */
    uint8_t guard;        /* if is_guarded: register that decides whether the field is present */
    /* The attribute's value is B + S * number. `base` is the register that contains B (0 for most fields), and `scale`
     * the register that contains S (1 for most fields). */
    uint8_t base, scale;
    uint8_t extent;       /* register that contains the field's size in bytes */
    uint8_t counted_by;   /* for arrays: register that contains the element count; 0 if the array has its own count */
    uint8_t last; /* for the field that determines an array's order: register that contains the previous number */
    uint8_t ordered;      /* for sorted arrays: the same register as `last` in the field that determines the order */
    uint8_t sum;          /* for the first field that a checksum covers: register that contains the checksum */
    uint8_t codec_register;      /* register that contains the number in which the compression codec is encoded */
    int8_t mark;         /* for lengths and checksums: index in the struct's array of tw_mark; otherwise -1 */
    int8_t of;            /* for counts: index of the array field whose elements are counted */
    int8_t measured;      /* index of the tw_mark of the length field that contains this field's size, or -1 */
    int8_t covered;       /* index of the tw_mark of the checksum that covers the bytes from here on, or -1 */
    int64_t guard_mask, guard_equals;
    int64_t equals;
    int64_t absent;       /* the number to use in place of this field if it is absent */
    int64_t hidden;       /* the bits of the encoded number that are not part of the attribute's value */
    int64_t codec_mask;
    uint8_t codec_shift;
    PyObject *codecs;     /* tuple of codec names, indexed by codec number; number 0 means uncompressed */
    Py_ssize_t flag_slot; /* slot of a bool attribute that stores the bit `flag_mask` of the encoded number */
    int64_t flag_mask;
    Py_ssize_t bits_count, follows_count;
    const tw_bits *bits;
    const tw_follow *follows;
};

#endif
