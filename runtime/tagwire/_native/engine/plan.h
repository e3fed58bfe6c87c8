/* The plan: a layout converted to C structs for encoding and decoding. plan.pxi makes it once, and it never changes, so
 * threads can share it.
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
    /* Kinds whose width depends on the value. */
    TW_VARINT, TW_ENUM, TW_BLOCK, TW_TEXT, TW_BINARY, TW_ARRAY, TW_STRUCT,
    TW_OPTIONAL /* a nullable value of fixed width, described by `element` */
};

enum tw_length_code { TW_NO_LENGTH, TW_LENGTH_INT16, TW_LENGTH_INT32, TW_COMPACT, TW_LENGTH_VARINT, TW_LENGTH_UVARINT };
enum tw_marker { TW_NO_MARKER, TW_MARKER_INT8, TW_MARKER_UVARINT };
enum tw_sign { TW_UNSIGNED, TW_ZIGZAG, TW_TWOS_COMPLEMENT }; /* how a varint encodes the sign */
enum tw_section { TW_NO_SECTION, TW_TAGGED_SECTION, TW_OPTIONAL_BUFFER };

typedef struct tw_struct tw_struct;
typedef struct tw_field tw_field;
typedef struct tw_fresh tw_fresh;
typedef struct tw_framing tw_framing;
typedef struct tw_rules tw_rules;

/* The members of an enum, in ascending order of their numbers: see enums.h. */
typedef struct {
    Py_ssize_t count;
    const int64_t *numbers;
    PyObject **members;
    PyObject **texts;     /* the members' names in JSON */
    PyObject *by_text;    /* dict from JSON names to members */
    int closed;           /* whether the enum is closed: numbers without a member are then rejected */
} tw_enum;

/* A field of a struct; or the elements of an array, which have no slot and no default. */
struct tw_field {
    uint8_t kind;
    uint8_t length;       /* how the length of a string, bytes or array is written, a tw_length_code */
    uint8_t nullable;     /* whether a string, bytes or array may be null */
    uint8_t marker;       /* how null is marked in a nullable struct or optional value, a tw_marker */
    uint8_t bits;         /* for varints: 32 or 64 */
    uint8_t zigzag;       /* for varints: how the sign is encoded, a tw_sign */
    uint8_t ignorable;    /* for missing fields: whether encoding silently drops a value */
    uint8_t late;         /* whether an empty slot means the default struct: see lazy_struct.pxi */
    uint8_t wide;         /* for column plans: whether an unsigned number is stored in the next wider signed type */
    int32_t tag;
    int32_t run;          /* for the first of consecutive fixed-width fields: their total width; otherwise 0 */
    int32_t run_count;    /* number of fields in `run`; 0 if one of them is a bool, whose byte must be checked */
    int32_t number;       /* number of the field or element in its plan, which identifies it in traces */
    int64_t longest;      /* maximum size of a string or bytes, exact size of a block */
    int64_t minimum;      /* minimum encoded size in bytes */
    Py_ssize_t slot;      /* offset of the slot in objects; in column plans, index of the column, or -1 */
    PyObject *name;       /* name of the attribute that holds the field's value */
    const tw_field *element; /* the elements of an array, or the integer of an enum */
    const tw_enum *members;  /* the members of an enum */
    const tw_struct *child;
    PyObject *value;      /* the default; NULL if the default is a struct */
    const tw_fresh *fresh; /* the default if it is a struct; otherwise NULL */
    const tw_framing *framing;  /* properties that only record formats have; NULL in other structs */
};

/* Width of each kind in bytes; 0 if the width depends on the value. */
static TW_MAYBE_UNUSED const uint8_t tw_width[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 0, 0, 0, 0, 0, 0, 0};

/* A data class, with what C needs to allocate its objects. */
typedef struct {
    PyTypeObject *cls;
    allocfunc alloc;
    Py_ssize_t slots_size;  /* size of the slots if the object has nothing else after its header; otherwise 0 */
} tw_class;

/* The values of a struct constructed without arguments. They are copied slot by slot to create a default struct. */
struct tw_fresh {
    tw_class made;
    Py_ssize_t count;
    const tw_field *fields; /* of each field, only `slot`, `value` and `fresh` are used */
};

/* How measure.h checks an item. TW_LOOK_WAYS is the number of these ways. */
enum tw_look_way { TW_LOOK_INT, TW_LOOK_INT32S, TW_LOOK_ONCE, TW_LOOK_CLOSELY, TW_LOOK_WAYS };

typedef struct {
    Py_ssize_t slot;
    const tw_field *item;
} tw_look;

/* The maximum number of known tagged fields in a struct. Encoding uses one bit of a 64-bit number for each field. */
#define TW_MOST_TAGGED 64

struct tw_struct {
    tw_class made;
    uint8_t section;
    uint8_t length;         /* how the length before the struct is written; TW_NO_LENGTH if there is none */
    uint8_t entry_length;   /* how the lengths of entries in an optional buffer are written */
    uint8_t counts_tag;     /* whether these entry lengths include the two bytes of the tag */
    const tw_field *enclosing; /* the length before the struct, for traces and errors; only `name` and `number` are
                                * set */
    Py_ssize_t items_count, tagged_count, missing_count, filled_count;
    const tw_field *items;
    const tw_look *looks;   /* how measuring checks the items, grouped by tw_look_way; NULL in framed structs */
    const tw_look *looks_end[TW_LOOK_WAYS];
    int64_t looks_width;    /* total size of the fixed widths and short lengths, which do not depend on values */
    const tw_field *tagged; /* tagged fields in ascending order of tags */
    const tw_field *missing; /* fields of the class that do not exist in this version */
    const tw_field *filled; /* tagged and missing fields whose default decoding sets; in column plans, fields that get
                             * their default if the tag section is empty */
    Py_ssize_t unknown_slot; /* slot of the unknown tags; in column plans, -1 if no column has them */
    PyObject *known_tags;   /* frozenset of the known tags */
    const tw_rules *rules;  /* rules over several fields: see rules.h; NULL if the struct has no rules */
    uint8_t framed;         /* whether the items have framings: see framing.h */
    uint8_t shape;          /* Python type of the struct's values: a tw_shape */
    uint8_t enclosed;       /* whether one of the items is the length of the struct */
    uint8_t leaves;         /* whether the values are tuples of numbers, strings and bytes */
    uint8_t marks_count;    /* number of lengths, counts and checksums */
    uint8_t tuple_size;     /* number of elements if the values are tuples */
    uint8_t atomic;         /* whether objects need no tracking unless they hold views: see tracking.h */
    uint8_t is_short;       /* whether the values are objects and each item has a fast path */
};

/* Data that all plans share. The module owns it, since the headers have no mutable global variables. `ints` holds the
 * preallocated int objects from TW_INTS_LOW to TW_INTS_HIGH. */
#define TW_INTS_LOW (-5)
#define TW_INTS_HIGH 1023
typedef struct {
    PyObject *no_tags;
    PyObject *empty_tuple;
    PyObject *empty_text;
    PyObject *write_faults; /* tuple of the exceptions that mean an invalid value */
    PyTypeObject *uuid;     /* the UUID class; NULL until a plan has a UUID */
    allocfunc uuid_alloc;
    PyObject *uuid_safety;
    Py_ssize_t uuid_int_slot, uuid_safety_slot;
    int moves_views;        /* whether a copied memoryview can be moved to other bytes */
    tw_crc32c_tables crc32c;
    PyObject *ints[TW_INTS_HIGH - TW_INTS_LOW + 1];
    /* address and size in bytes of CPython's array of small ints, which begins with the first of `ints` */
    size_t ready_ints;
    size_t ready_size;
} tw_shared;

/* How much of an array of a record format is valid: where the array begins, where its last valid element ends, and how
 * many elements are valid. */
typedef struct {
    const uint8_t *start, *p;
    int64_t count, elements; /* number of valid elements; how many more elements the limits allow */
    int64_t last;            /* for an ordered array with an error: the last number in order */
} tw_good;

/* The maximum number of noted arrays: the last complete array, and the arrays that contain the error. */
#define TW_MOST_GOOD 4

/* A reading position in the bytes of a message, and the limits and options that apply. */
typedef struct {
    const uint8_t *p, *end, *start;
    PyObject *views;        /* memoryview of the input, if bytes fields become slices of it; otherwise NULL */
    const tw_shared *shared;
    int64_t elements, unknown_tags, unknown_tag_bytes; /* how many more of each the limits allow */
    int untracked;          /* whether the garbage collector tracks no objects (gc=False) */
    int64_t *known;         /* registers: numbers that other fields of a record format depend on */
    PyObject *limits;       /* the Limits object, for decompression */
    int packed;             /* whether these bytes are the result of decompression */
    int trusted;            /* whether checksums need no verification */
    const uint8_t *numbers; /* bytes of the last int32 array: see tw_same_numbers */
    PyObject *numbers_tuple;
    Py_ssize_t filled;      /* number of elements read from the array that contains the error */
    const uint8_t *refused; /* start of the struct that contains the error, or NULL */
    int64_t refused_elements;
    tw_good good[TW_MOST_GOOD];
    int good_count;
} tw_reader;

/* An output buffer that grows. It begins on the caller's stack, and continues in a bytes object (in the limited API, in
 * a block of memory). If only the size is needed, a full buffer is counted and reused. */
typedef struct {
    uint8_t *p, *end, *start;
    PyObject *bytes;
    uint8_t *block;
    int64_t counted;
    int counting;
    int64_t *known;         /* registers, as in tw_reader */
    int64_t *highest;       /* for each register, the highest number written relative to it; or NULL */
    int gap;                /* width of the last varint length, an estimate for the next one */
    int unsure;             /* whether the interpreter may accept the value that was rejected */
    int64_t implied;        /* number to write if the slot `implied_slot` is empty */
    Py_ssize_t implied_slot;
    Py_ssize_t expected;    /* bytes to allocate when the stack buffer is full: the size of the last message, or 0 */
    const tw_shared *shared;
} tw_writer;

/* Errors: functions return NULL or -1. If no exception is set, the layout rejects the bytes or the value, and the
 * interpreter then finds the position. Otherwise, Python raised the exception. */

#endif
