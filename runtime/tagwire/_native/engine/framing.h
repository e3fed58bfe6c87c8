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
    Py_ssize_t slot;      /* slot of the attribute that is tested for None or emptiness */
    Py_ssize_t flag;      /* TW_IF_FLAGGED: slot of a bool attribute; if it is None, `slot` decides */
} tw_follow;

struct tw_framing {
    uint8_t frame;
    uint8_t way;          /* fast path for items of objects, a tw_way */
    uint8_t is_usual;     /* whether no item depends on this value, and the value depends on no item except its base */
    uint8_t is_number;    /* whether the item is a length, count, checksum, or integer of up to 64 bits */
    uint8_t counts_itself;
    uint8_t algorithm;    /* algorithm of this checksum, or of the checksum that begins to cover bytes here */
    uint8_t has_equals;
    uint8_t is_checked;   /* whether the number must be compared with `equals`, `bits` or `last` */
    uint8_t is_guarded;
    uint8_t unsigned_order;
    uint8_t filled;       /* whether the array must have at least one element */
    uint8_t keep;         /* register that stores this item's number, or `absent` if the item is absent */
    uint8_t guard;        /* register whose bits decide whether this item is present */
    /* Registers for converting a number to an attribute: base + scale * number. Register 1 is always 0, register 2
     * always 1. */
    uint8_t base, scale;
    uint8_t extent;       /* register that holds this item's size in bytes */
    uint8_t counted_by;   /* register that holds the number of elements; 0 if the array has its own count */
    uint8_t last;         /* register that holds the last element's number, if elements must ascend */
    uint8_t ordered;      /* arrays: the elements' register `last` */
    uint8_t sum;          /* register that holds the checksum of all bytes from this item on */
    uint8_t packing;      /* register that holds the number with the compression codec */
    int8_t place;         /* for lengths, counts and checksums: index among these in the struct; otherwise -1 */
    int8_t of;            /* for counts: index of the counted item */
    int8_t measured;      /* `place` of the length that covers only this item; -1 if none */
    int8_t covered;       /* `place` of the checksum that covers all bytes from this item on; -1 if none */
    int64_t guard_mask, guard_equals;
    int64_t equals;
    int64_t absent;       /* the number that is assumed if the item is absent */
    int64_t hidden;       /* bits of this number that are not part of the attribute's value */
    int64_t packing_mask;
    uint8_t packing_shift;
    PyObject *codecs;     /* tuple of codec names; the first name means uncompressed */
    Py_ssize_t flag_slot; /* slot of a bool attribute that holds one bit of this number */
    int64_t flag_mask;
    Py_ssize_t bits_count, follows_count;
    const tw_bits *bits;
    const tw_follow *follows;
};

#endif
