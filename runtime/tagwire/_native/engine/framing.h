/* Properties that only fields of record formats have. They are part of the plan, next to tw_field.
 *
 * A register holds a number that other fields depend on: presence bits, a length, a count, or the base of deltas. Each
 * such field of the plan has its own register, so nothing is looked up by name. Register 0 holds all other numbers.
 */
#ifndef TAGWIRE_FRAMING_H
#define TAGWIRE_FRAMING_H

#include "engine/compat.h"

#define TW_REGISTERS 32
/* The most lengths, counts and checksums that a struct can have. */
#define TW_FRAMES 8
/* The slot of a field that is not stored in objects. */
#define TW_NOWHERE (-1)

enum tw_shape { TW_OBJECT, TW_TUPLE, TW_DICT };
enum tw_frame { TW_VALUE, TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM };
enum tw_algorithm { TW_CRC32, TW_CRC32C };
enum tw_follows { TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED };

/* Fast paths for the items that most records consist of. tw_way_of chooses an item's fast path when the plan is
 * made. */
enum tw_way {
    TW_ANY_WAY,
    TW_PASS,    /* a number of fixed width */
    TW_NUMBER,  /* a zig-zag varint */
    TW_BYTES,   /* bytes or null, after a zig-zag varint with the size */
    TW_LIST,    /* an array of structs, usually empty, after a zig-zag varint with the count */
    TW_BOUNDS,  /* a zig-zag varint that is the size of the rest of the struct */
};

/* A group of bits within a number. */
typedef struct {
    int64_t mask;
    uint8_t shift;
    int64_t values;       /* number of allowed values; 0: any value is allowed */
} tw_bits;

/* A bit that encoding derives from another attribute of the object: from the attribute's value, or from a flag. */
typedef struct {
    int64_t mask;
    uint8_t how;
    Py_ssize_t slot;      /* slot of the attribute whose value is tested for None or emptiness */
    Py_ssize_t flag;      /* TW_IF_FLAGGED: slot of the bool; if the bool is None, `slot` decides */
} tw_follow;

struct tw_framing {
    uint8_t frame;
    uint8_t way;          /* items of objects: the fast path, a tw_way */
    uint8_t is_usual;     /* a value that depends on no other item except its base, and on which no item depends */
    uint8_t is_number;    /* lengths, counts, checksums, and all integers that fit in 64 bits */
    uint8_t counts_itself;
    uint8_t algorithm;    /* algorithm of this checksum, or of the checksum that covers everything from here on */
    uint8_t has_equals;
    uint8_t is_checked;   /* whether the number must be compared with `equals`, `bits` or `last` */
    uint8_t is_guarded;
    uint8_t unsigned_order;
    uint8_t filled;       /* arrays: at least one element is required */
    uint8_t keep;         /* register for this field's number; for an absent field, it holds `absent` */
    uint8_t guard;        /* register of the number that decides whether this field is present */
    /* registers: the attribute's value is base + scale * number; register 1 holds 0, register 2 holds 1 */
    uint8_t base, scale;
    uint8_t extent;       /* register of the field's size in bytes */
    uint8_t counted_by;   /* register of the number of elements; 0 if the array has its own count */
    uint8_t last;         /* register of the last element's number, if the elements must ascend */
    uint8_t ordered;      /* arrays: the register `last` of the elements */
    uint8_t sum;          /* register of the checksum that covers everything from here on */
    uint8_t packing;      /* register of the number that contains the compression codec */
    int8_t place;         /* lengths, counts, checksums: index among those of the struct; otherwise -1 */
    int8_t of;            /* counts: index of the counted item */
    int8_t measured;      /* `place` of the length that covers only this item, or -1 */
    int8_t covered;       /* `place` of the checksum that covers everything from here on, or -1 */
    int64_t guard_mask, guard_equals;
    int64_t equals;
    int64_t absent;       /* the number assumed for an absent field */
    int64_t hidden;       /* bits of this number that objects don't store here: they are dropped, or stored as flags */
    int64_t packing_mask;
    uint8_t packing_shift;
    PyObject *codecs;     /* tuple of codec names; the first name means uncompressed */
    Py_ssize_t flag_slot; /* slot of the bool that holds one bit of this number */
    int64_t flag_mask;
    Py_ssize_t bits_count, follows_count;
    const tw_bits *bits;
    const tw_follow *follows;
};

#endif
