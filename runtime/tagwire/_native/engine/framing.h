/* What only record formats say of a field: part of the plan, beside tw_field.
 *
 * Numbers that others depend on (bits that say what is there, lengths, counts, bases of deltas) are kept in registers,
 * one for each such field of the whole plan, so that nothing is looked up by name. Register 0 is for what nobody asks.
 */
#ifndef TAGWIRE_FRAMING_H
#define TAGWIRE_FRAMING_H

#include "engine/compat.h"

#define TW_REGISTERS 32
#define TW_FRAMES 8       /* lengths, counts and checksums of one struct */
#define TW_NOWHERE (-1)   /* the slot of what objects do not have */

enum tw_shape { TW_OBJECT, TW_TUPLE, TW_DICT };
enum tw_frame { TW_VALUE, TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM };
enum tw_algorithm { TW_CRC32, TW_CRC32C };
enum tw_follows { TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED };

/* Items that most records are made of have a short way, which is chosen when the plan is made: see tw_way_of. */
enum tw_way {
    TW_ANY_WAY,
    TW_PASS,    /* fixed width */
    TW_NUMBER,  /* a zig-zag varint */
    TW_BYTES,   /* bytes or null behind a zig-zag varint */
    TW_LIST,    /* structs behind a zig-zag varint, most often none */
    TW_BOUNDS,  /* a zig-zag varint that says where the struct ends */
};

/* A group of bits of a number. */
typedef struct {
    int64_t mask;
    uint8_t shift;
    int64_t values;       /* how many values it may have; 0 for any */
} tw_bits;

/* A bit that follows from another attribute of the object: from what it holds, or from a flag. */
typedef struct {
    int64_t mask;
    uint8_t how;
    Py_ssize_t slot;      /* what tells, by being None or empty */
    Py_ssize_t flag;      /* TW_IF_FLAGGED: True or False; where it is None, the other one tells */
} tw_follow;

struct tw_framing {
    uint8_t frame;
    uint8_t way;          /* of objects' items: a tw_way */
    uint8_t is_usual;     /* a value that nothing else depends on, or it on anything, but its base */
    uint8_t is_number;    /* read as a number first: all of integer types that fit 64 bits, and framing */
    uint8_t counts_itself;
    uint8_t algorithm;    /* of a checksum, and of the one that covers everything from here on */
    uint8_t has_equals;
    uint8_t is_checked;   /* whether the number is held against `equals`, `bits` or `last` */
    uint8_t is_guarded;
    uint8_t unsigned_order;
    uint8_t filled;       /* of arrays: one element at least */
    uint8_t keep;         /* the register of this number; it has that of the default where it is absent */
    uint8_t guard;        /* the register on which its presence depends */
    uint8_t base, scale;  /* objects hold base + scale * number; register 1 is always 0, register 2 always 1 */
    uint8_t extent;       /* the register with the bytes that it takes */
    uint8_t counted_by;   /* the register with the number of elements; of a count, 0 */
    uint8_t last;         /* the register with the last element's number, where they ascend */
    uint8_t ordered;      /* of arrays: the register `last` of its elements */
    uint8_t sum;          /* the register with the checksum that covers everything from here on */
    uint8_t packing;      /* the register that says how it is packed */
    int8_t place;         /* of framing: its number in the struct, else -1 */
    int8_t of;            /* of a count: the item that it counts, by its index */
    int8_t measured;      /* the place of the length that measures this item alone, else -1 */
    int8_t covered;       /* the place of the checksum that covers everything from here on, else -1 */
    int64_t guard_mask, guard_equals;
    int64_t equals;
    int64_t absent;       /* the number where it is absent */
    int64_t hidden;       /* bits that objects do not have in this number: they have them as flags, or not at all */
    int64_t packing_mask;
    uint8_t packing_shift;
    PyObject *codecs;     /* a tuple of names; the first means that it is not packed */
    Py_ssize_t flag_slot; /* where objects have a bit of this number as True or False */
    int64_t flag_mask;
    Py_ssize_t bits_count, follows_count;
    const tw_bits *bits;
    const tw_follow *follows;
};

#endif
