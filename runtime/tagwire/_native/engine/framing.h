/* Field properties that only record formats have: part of the plan, next to tw_field.
 *
 * Numbers that other fields depend on (presence bits, lengths, counts, bases of deltas) are kept in registers, one for
 * each such field of the whole plan, so nothing is looked up by name. Register 0 is for all other numbers.
 */
#ifndef TAGWIRE_FRAMING_H
#define TAGWIRE_FRAMING_H

#include "engine/compat.h"

#define TW_REGISTERS 32
#define TW_FRAMES 8       /* lengths, counts and checksums of one struct */
#define TW_NOWHERE (-1)   /* the slot of a field that objects don't have */

enum tw_shape { TW_OBJECT, TW_TUPLE, TW_DICT };
enum tw_frame { TW_VALUE, TW_EXTENT, TW_EXTENT_OF, TW_COUNT, TW_CHECKSUM };
enum tw_algorithm { TW_CRC32, TW_CRC32C };
enum tw_follows { TW_IF_EMPTY, TW_IF_GIVEN, TW_IF_FLAGGED };

/* The items that most records consist of have fast paths, chosen when the plan is made: see tw_way_of. */
enum tw_way {
    TW_ANY_WAY,
    TW_PASS,    /* fixed width */
    TW_NUMBER,  /* zig-zag varint */
    TW_BYTES,   /* bytes or null after a zig-zag varint */
    TW_LIST,    /* structs after a zig-zag varint, usually none */
    TW_BOUNDS,  /* zig-zag varint that gives the end of the struct */
};

/* A bit group of a number. */
typedef struct {
    int64_t mask;
    uint8_t shift;
    int64_t values;       /* number of allowed values; 0 if all are allowed */
} tw_bits;

/* A bit derived from another attribute of the object: from its value, or from a flag. */
typedef struct {
    int64_t mask;
    uint8_t how;
    Py_ssize_t slot;      /* the attribute that is tested for None or emptiness */
    Py_ssize_t flag;      /* TW_IF_FLAGGED: True or False; if it is None, `slot` decides */
} tw_follow;

struct tw_framing {
    uint8_t frame;
    uint8_t way;          /* items of objects: a tw_way */
    uint8_t is_usual;     /* a value without dependencies in either direction, except on its base */
    uint8_t is_number;    /* read as a number first: framing, and all integer types that fit 64 bits */
    uint8_t counts_itself;
    uint8_t algorithm;    /* of a checksum, or of the checksum that covers everything from here on */
    uint8_t has_equals;
    uint8_t is_checked;   /* whether the number is compared with `equals`, `bits` or `last` */
    uint8_t is_guarded;
    uint8_t unsigned_order;
    uint8_t filled;       /* arrays: at least one element */
    uint8_t keep;         /* register of this number, or of its default if the field is absent */
    uint8_t guard;        /* register that decides whether the field is present */
    uint8_t base, scale;  /* registers: objects hold base + scale * number; register 1 is 0, register 2 is 1 */
    uint8_t extent;       /* register of the size in bytes */
    uint8_t counted_by;   /* register of the number of elements; 0 for a count */
    uint8_t last;         /* register of the last element's number, if the elements ascend */
    uint8_t ordered;      /* arrays: the register `last` of the elements */
    uint8_t sum;          /* register of the checksum that covers everything from here on */
    uint8_t packing;      /* register of the compression */
    int8_t place;         /* framing: its number in the struct, else -1 */
    int8_t of;            /* counts: index of the counted item */
    int8_t measured;      /* `place` of the length of this item alone, else -1 */
    int8_t covered;       /* `place` of the checksum that covers everything from here on, else -1 */
    int64_t guard_mask, guard_equals;
    int64_t equals;
    int64_t absent;       /* the number of an absent field */
    int64_t hidden;       /* bits of this number that objects don't have, or have as flags */
    int64_t packing_mask;
    uint8_t packing_shift;
    PyObject *codecs;     /* tuple of names; the first means uncompressed */
    Py_ssize_t flag_slot; /* slot of the bool for one bit of this number */
    int64_t flag_mask;
    Py_ssize_t bits_count, follows_count;
    const tw_bits *bits;
    const tw_follow *follows;
};

#endif
