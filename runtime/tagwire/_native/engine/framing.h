/* Properties that only fields of record formats have. They extend a field's tw_field in the plan.
 *
 * A register is a numbered variable for a number that other fields depend on: presence bits, a length, a count, or the
 * base of deltas. Each such field has its own register, so nothing is looked up by name. Register 0 receives the
 * numbers that nothing depends on.
 */
#ifndef TAGWIRE_FRAMING_H
#define TAGWIRE_FRAMING_H

#include "engine/compat.h"

#define TW_REGISTERS 32
/* The maximum number of lengths, counts and checksums in a struct. */
#define TW_FRAMES 8
/* The value of `slot` for a field that objects don't store. */
#define TW_NOWHERE (-1)

enum tw_shape { TW_OBJECT, TW_TUPLE, TW_DICT };
enum tw_frame { TW_VALUE, TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM };
enum tw_algorithm { TW_CRC32, TW_CRC32C };
enum tw_follows { TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED };

/* Fast paths for the kinds of items that make up most records. tw_way_of chooses each item's fast path when the plan is
 * created. */
enum tw_way {
    TW_ANY_WAY,
    TW_PASS,    /* number of fixed width */
    TW_NUMBER,  /* number encoded as a zig-zag varint */
    TW_BYTES,   /* bytes or null, preceded by their size as a zig-zag varint */
    TW_LIST,    /* array of structs, usually empty, preceded by its count as a zig-zag varint */
    TW_BOUNDS,  /* the size in bytes of the rest of the struct, as a zig-zag varint */
};

/* A group of bits within a number. */
typedef struct {
    int64_t mask;
    uint8_t shift;
    int64_t values;       /* how many values of these bits are allowed; 0 means all */
} tw_bits;

/* A bit of a number that encoding derives from another attribute: from the attribute's value or from a flag. */
typedef struct {
    int64_t mask;
    uint8_t how;
    Py_ssize_t slot;      /* slot of the other attribute, which is tested for None or emptiness */
    Py_ssize_t flag;      /* for TW_IF_FLAGGED: slot of a bool attribute; if that is None, use `slot` */
} tw_follow;

struct tw_framing {
    uint8_t frame;
    uint8_t way;          /* the item's fast path in objects, a tw_way */
    uint8_t is_usual;     /* whether the item depends on no item except its base, and no item depends on it */
    uint8_t is_number;    /* whether this is a length, count, checksum, or integer of up to 64 bits */
    uint8_t counts_itself;
    uint8_t algorithm;    /* algorithm, if this is a checksum or the first item that a checksum covers */
    uint8_t has_equals;
    uint8_t is_checked;   /* whether the number must be checked against `equals`, `bits` or `last` */
    uint8_t is_guarded;
    uint8_t unsigned_order;
    uint8_t filled;       /* for arrays: whether at least one element is required */
    uint8_t keep;         /* register that gets the item's number; if the item is absent, it gets `absent` */
    uint8_t guard;        /* register with the bits that decide whether the item is present */
    /* Registers for computing an attribute: base + scale * number. By default, `base` is register 1, which is always 0,
     * and `scale` is register 2, which is always 1. */
    uint8_t base, scale;
    uint8_t extent;       /* register with the item's size in bytes */
    uint8_t counted_by;   /* for arrays: register with the number of elements; 0 if the count is in the array */
    uint8_t last;         /* register with the previous element's number, if numbers must ascend */
    uint8_t ordered;      /* for arrays: the register `last` of their elements */
    uint8_t sum;          /* register with the checksum that covers all bytes from this item on */
    uint8_t packing;      /* register with the number that contains the compression codec */
    int8_t place;         /* for lengths, counts and checksums: their index in the struct; otherwise -1 */
    int8_t of;            /* for counts: index of the item whose elements are counted */
    int8_t measured;      /* `place` of the length that measures only this item, or -1 */
    int8_t covered;       /* `place` of the checksum that covers all bytes from this item on, or -1 */
    int64_t guard_mask, guard_equals;
    int64_t equals;
    int64_t absent;       /* the number to assume for the item if it is absent */
    int64_t hidden;       /* bits of the number that aren't part of the attribute's value */
    int64_t packing_mask;
    uint8_t packing_shift;
    PyObject *codecs;     /* tuple of codec names by number; the first one means uncompressed */
    Py_ssize_t flag_slot; /* slot of the bool attribute that stores one bit of the number */
    int64_t flag_mask;
    Py_ssize_t bits_count, follows_count;
    const tw_bits *bits;
    const tw_follow *follows;
};

#endif
