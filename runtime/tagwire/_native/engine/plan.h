/* The plan: a layout converted to C structs for encoding and decoding. plan.pxi creates it once, and it never changes,
 * so threads can share it.
 *
 * Pointers to Python objects are borrowed: the `Plan` that owns these structs keeps the objects alive.
 */
#ifndef TAGWIRE_PLAN_H
#define TAGWIRE_PLAN_H

#include "engine/crc32c.h"
#include "engine/framing.h"

enum tw_kind {
    TW_BOOL, TW_INT8, TW_UINT8, TW_INT16, TW_UINT16, TW_INT32, TW_UINT32, TW_INT64, TW_UINT64, TW_FLOAT32,
    TW_FLOAT64, TW_UUID,
    /* The kinds from here on have a width that depends on the value or the field. */
    TW_VARINT, TW_ENUM, TW_BLOCK, TW_TEXT, TW_BINARY, TW_ARRAY, TW_STRUCT,
    TW_OPTIONAL /* nullable value of the fixed-width type in `element` */
};

enum tw_length_code { TW_NO_LENGTH, TW_LENGTH_INT16, TW_LENGTH_INT32, TW_COMPACT, TW_LENGTH_VARINT, TW_LENGTH_UVARINT };
enum tw_marker { TW_NO_MARKER, TW_MARKER_INT8, TW_MARKER_UVARINT };
enum tw_sign { TW_UNSIGNED, TW_ZIGZAG, TW_TWOS_COMPLEMENT }; /* how varints encode the sign */
enum tw_section { TW_NO_SECTION, TW_TAGGED_SECTION, TW_OPTIONAL_BUFFER };

typedef struct tw_struct tw_struct;
typedef struct tw_field tw_field;
typedef struct tw_fresh tw_fresh;
typedef struct tw_framing tw_framing;
typedef struct tw_rules tw_rules;

/* The members of an enum, sorted by number: see enums.h. */
typedef struct {
    Py_ssize_t count;
    const int64_t *numbers;
    PyObject **members;
    PyObject **texts;     /* the names of the members in JSON, in the same order */
    PyObject *by_text;    /* dict from the names in JSON to the members */
    int closed;           /* whether the enum is closed, so that numbers without a member are invalid */
} tw_enum;

/* A field of a struct, or the elements of an array. Elements have no slot and no default. */
struct tw_field {
    uint8_t kind;
    uint8_t length;       /* how the length of a string, bytes or array is encoded, a tw_length_code */
    uint8_t nullable;     /* for strings, bytes and arrays: whether null is allowed */
    uint8_t marker;       /* for nullable structs and optional values: how null is marked, a tw_marker */
    uint8_t bits;         /* size of a varint: 32 or 64 bits */
    uint8_t zigzag;       /* how a varint encodes the sign, a tw_sign */
    uint8_t ignorable;    /* for missing fields: whether encoding may silently drop the value */
    uint8_t late;         /* whether an empty slot stands for the default struct: see lazy_struct.pxi */
    uint8_t wide;         /* in column plans: whether an unsigned number is widened to a signed type */
    int32_t tag;
    int32_t run;          /* the total width of the run of fixed-width fields that starts here; otherwise 0 */
    int32_t run_count;    /* number of fields in the run; 0 if one is a bool, whose byte must be checked */
    int32_t number;       /* identifies this field or element in traces; unique within the plan */
    int64_t longest;      /* for strings and bytes, the maximum size; for blocks, the exact size */
    int64_t minimum;      /* minimum size of an encoded value in bytes */
    Py_ssize_t slot;      /* the slot's offset in objects; in column plans, a column index or -1 */
    PyObject *name;       /* the name of the attribute for this field */
    const tw_field *element; /* for arrays, the elements; for enums, the integer on the wire */
    const tw_enum *members;  /* for enums: the members */
    const tw_struct *child;
    PyObject *value;      /* the default; NULL if it is a struct, which is in `fresh` */
    const tw_fresh *fresh; /* the default, if it is a struct; otherwise NULL */
    const tw_framing *framing;  /* properties that only record formats have, or NULL */
};

/* The width of each tw_kind in bytes; 0 if the width depends on the value or the field. */
static TW_MAYBE_UNUSED const uint8_t tw_width[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 0, 0, 0, 0, 0, 0, 0};

/* A data class, and what C needs to allocate its objects. */
typedef struct {
    PyTypeObject *cls;
    allocfunc alloc;
    Py_ssize_t slots_size;  /* total size of the slots, if objects consist of a header and slots; otherwise 0 */
} tw_class;

/* The values of a struct that was constructed without arguments. A default struct is created by copying them slot by
 * slot. */
struct tw_fresh {
    tw_class made;
    Py_ssize_t count;
    const tw_field *fields; /* only the members `slot`, `value` and `fresh` are used */
};

/* How measure.h checks an item. TW_LOOK_WAYS is the number of the other constants. */
enum tw_look_way { TW_LOOK_INT, TW_LOOK_INT32S, TW_LOOK_ONCE, TW_LOOK_CLOSELY, TW_LOOK_WAYS };

typedef struct {
    Py_ssize_t slot;
    const tw_field *item;
} tw_look;

/* The maximum number of known tagged fields in a struct. Encoding represents each field by one bit of a 64-bit
 * number. */
#define TW_MOST_TAGGED 64

struct tw_struct {
    tw_class made;
    uint8_t section;
    uint8_t length;         /* encoding of the length that precedes the struct, or TW_NO_LENGTH */
    uint8_t entry_length;   /* encoding of the lengths of entries in an optional buffer */
    uint8_t counts_tag;     /* whether lengths of entries in an optional buffer include the tag's two bytes */
    const tw_field *enclosing; /* the length that precedes the struct. Used in traces and errors, so only `name` and
                                * `number` are set */
    Py_ssize_t items_count, tagged_count, missing_count, filled_count;
    const tw_field *items;
    const tw_look *looks;   /* items grouped by tw_look_way, for measuring; NULL in structs with framings */
    const tw_look *looks_end[TW_LOOK_WAYS];
    int64_t looks_width;    /* total width of fixed-width items and short lengths, the same for all values */
    const tw_field *tagged; /* tagged fields, in ascending order of tags */
    const tw_field *missing; /* fields of the class that this version does not have */
    const tw_field *filled; /* tagged and missing fields that decoding must set to their defaults; in column plans,
                             * fields that get their defaults if the tag section is empty */
    Py_ssize_t unknown_slot; /* the slot for unknown tags; in column plans, -1 if no column stores them */
    PyObject *known_tags;   /* the known tags, a frozenset */
    const tw_rules *rules;  /* rules that involve several fields (rules.h); NULL if there are none */
    uint8_t framed;         /* whether the items have framings (framing.h) */
    uint8_t shape;          /* Python type of the struct's values, a tw_shape */
    uint8_t enclosed;       /* whether an item of the struct is the struct's length */
    uint8_t leaves;         /* whether values are tuples that contain only numbers, strings and bytes */
    uint8_t marks_count;    /* number of items that are lengths, counts and checksums */
    uint8_t tuple_size;     /* for tuples: the number of elements */
    uint8_t atomic;         /* whether objects without views need no tracking: see tracking.h */
    uint8_t is_short;       /* whether values are objects, and every item has a fast path */
};

/* Data that all plans share. It belongs to the module, because the headers have no mutable global variables. `ints` has
 * preallocated int objects for all numbers from TW_INTS_LOW to TW_INTS_HIGH. */
#define TW_INTS_LOW (-5)
#define TW_INTS_HIGH 1023
typedef struct {
    PyObject *no_tags;
    PyObject *empty_tuple;
    PyObject *empty_text;
    PyObject *write_faults; /* the exceptions that mean that a value is invalid, a tuple */
    PyTypeObject *uuid;     /* the class uuid.UUID; NULL until a plan needs it */
    allocfunc uuid_alloc;
    PyObject *uuid_safety;
    Py_ssize_t uuid_int_slot, uuid_safety_slot;
    int moves_views;        /* whether a copied memoryview can be made to point to other bytes */
    tw_crc32c_tables crc32c;
    PyObject *ints[TW_INTS_HIGH - TW_INTS_LOW + 1];
    /* CPython's array of small ints, which begins with the first of `ints`: its address and its size in bytes */
    size_t ready_ints;
    size_t ready_size;
} tw_shared;

/* How much of an array in a record format is valid: the position where it starts, the end of its last valid element,
 * and the number of valid elements. */
typedef struct {
    const uint8_t *start, *p;
    int64_t count, elements; /* `count`: valid elements; `elements`: how many more the limits allow */
    int64_t last;            /* for ordered arrays: the last number that was in order */
} tw_good;

/* The maximum number of arrays recorded in tw_good: the last complete array, and the nested arrays around the error. */
#define TW_MOST_GOOD 4

/* A reading position in the bytes of a message, with the limits and options for reading. */
typedef struct {
    const uint8_t *p, *end, *start;
    PyObject *views;        /* memoryview of the input, if bytes fields are returned as views; otherwise NULL */
    const tw_shared *shared;
    int64_t elements, unknown_tags, unknown_tag_bytes; /* remaining limits: how many more of these may be read */
    int untracked;          /* whether the garbage collector must not track any objects (gc=False) */
    int64_t *known;         /* registers: the numbers that other fields of a record format depend on */
    PyObject *limits;       /* the Limits object, needed for decompression */
    int packed;             /* whether the bytes being read were decompressed */
    int trusted;            /* whether to skip the verification of checksums */
    const uint8_t *numbers; /* bytes of the previous int32 array: see tw_same_numbers */
    PyObject *numbers_tuple;
    Py_ssize_t filled;      /* how many elements of the array with the error were read */
    const uint8_t *refused; /* where the struct that contains the error starts, or NULL */
    int64_t refused_elements;
    tw_good good[TW_MOST_GOOD];
    int good_count;
} tw_reader;

/* An output buffer that grows. It starts on the caller's stack, and moves to a bytes object (in the limited API, to a
 * block of memory) when it is full. If only the size is needed, the bytes in a full buffer are counted and then
 * overwritten. */
typedef struct {
    uint8_t *p, *end, *start;
    PyObject *bytes;
    uint8_t *block;
    int64_t counted;
    int counting;
    int64_t *known;         /* registers: the numbers that other fields depend on, as in tw_reader */
    int64_t *highest;       /* for each register: the highest number written relative to it; may be NULL */
    int gap;                /* width of the previous length that was a varint, an estimate for the next */
    int unsure;             /* whether the interpreter may still accept the value that C rejected */
    int64_t implied;        /* the number to write for the slot `implied_slot` if it is empty */
    Py_ssize_t implied_slot;
    Py_ssize_t expected;    /* how much to allocate when the stack buffer is full: the last message's size, or 0 */
    const tw_shared *shared;
} tw_writer;

/* Errors: functions return NULL or -1. If an exception is set, Python raised it. Otherwise, the bytes or the value
 * don't fit the layout, and the interpreter then finds the position and raises the error. */

#endif
