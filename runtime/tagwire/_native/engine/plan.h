/* The plan: a layout prepared for the hot loops. Made once by plan.pxi and never changed, so threads share it.
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
    /* the width of the following kinds depends on the value */
    TW_VARINT, TW_ENUM, TW_BLOCK, TW_TEXT, TW_BINARY, TW_ARRAY, TW_STRUCT,
    TW_OPTIONAL /* a nullable value of fixed width, `element` */
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

/* The members of an enum in ascending order of numbers: see enums.h. */
typedef struct {
    Py_ssize_t count;
    const int64_t *numbers;
    PyObject **members;
    PyObject **texts;     /* names in JSON */
    PyObject *by_text;    /* dict from these names to members */
    int closed;           /* other numbers are rejected */
} tw_enum;

/* A field of a struct, or the elements of an array (then without slot and default). */
struct tw_field {
    uint8_t kind;
    uint8_t length;       /* strings, bytes, arrays: how the length is written */
    uint8_t nullable;     /* only for strings, bytes and arrays */
    uint8_t marker;       /* nullable structs and optional values */
    uint8_t bits;         /* only for varints: 32 or 64 */
    uint8_t zigzag;       /* only for varints: a tw_sign */
    uint8_t ignorable;    /* missing fields: dropped silently */
    uint8_t late;         /* an empty slot means the default, a struct: see lazy_struct.pxi */
    uint8_t wide;         /* column plans: an unsigned number in the next wider signed type */
    int32_t tag;
    int32_t run;          /* bytes of consecutive fixed-width fields from here on; 0 if an earlier field has them */
    int32_t run_count;    /* how many fields `run` counts; 0 if one is a bool, whose byte must be checked */
    int32_t number;       /* number of the field or element in its plan, which identifies it in traces */
    int64_t longest;      /* strings, bytes: the maximum in bytes; blocks: their exact size */
    int64_t minimum;      /* minimum size in bytes */
    Py_ssize_t slot;      /* offset in the object; in column plans, the column, or -1 for none */
    PyObject *name;       /* attribute name */
    const tw_field *element; /* arrays: the elements; enums: the integer on the wire */
    const tw_enum *members;  /* only for enums */
    const tw_struct *child;
    PyObject *value;      /* the default, or NULL if it is a struct */
    const tw_fresh *fresh; /* the default if it is a struct */
    const tw_framing *framing;  /* properties that only record formats have; NULL in other structs */
};

/* Bytes of each kind; 0 if the width depends on the value. */
static TW_MAYBE_UNUSED const uint8_t tw_width[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 0, 0, 0, 0, 0, 0, 0};

/* How to create an object of a data class. */
typedef struct {
    PyTypeObject *cls;
    allocfunc alloc;
    Py_ssize_t slots_size;  /* bytes after the object header if these are only slots, else 0 */
} tw_class;

/* A struct as its constructor makes it without arguments, to be copied slot by slot. */
struct tw_fresh {
    tw_class made;
    Py_ssize_t count;
    const tw_field *fields; /* only `slot`, `value` and `fresh` are used */
};

/* How measuring checks an item: see measure.h. TW_LOOK_WAYS is their number. */
enum tw_look_way { TW_LOOK_INT, TW_LOOK_INT32S, TW_LOOK_ONCE, TW_LOOK_CLOSELY, TW_LOOK_WAYS };

typedef struct {
    Py_ssize_t slot;
    const tw_field *item;
} tw_look;

#define TW_MOST_TAGGED 64 /* known tagged fields of a struct: one bit each */

struct tw_struct {
    tw_class made;
    uint8_t section;
    uint8_t length;         /* of the whole struct; TW_NO_LENGTH for most */
    uint8_t entry_length;   /* of the entries in an optional buffer */
    uint8_t counts_tag;     /* whether entry lengths include the two bytes of the tag */
    const tw_field *enclosing; /* the length before the struct: only name and number are set */
    Py_ssize_t items_count, tagged_count, missing_count, filled_count;
    const tw_field *items;
    const tw_look *looks;   /* items to check, grouped by tw_look_way; NULL in framed structs */
    const tw_look *looks_end[TW_LOOK_WAYS];
    int64_t looks_width;    /* bytes that the items take whatever their values: fixed widths and short lengths */
    const tw_field *tagged; /* in ascending order of tags */
    const tw_field *missing; /* fields of the class that this version does not have */
    const tw_field *filled; /* tagged and missing fields whose default a reader sets; in column plans, fields with a
                             * default if the tag section is empty */
    Py_ssize_t unknown_slot; /* column plans: -1 if there is no column for unknown tags */
    PyObject *known_tags;   /* frozenset */
    const tw_rules *rules;  /* rules over several fields: see rules.h; NULL for most */
    uint8_t framed;         /* the items have framings: see framing.h */
    uint8_t shape;          /* the Python type of its values: a tw_shape */
    uint8_t enclosed;       /* one of its items gives the end of the struct */
    uint8_t leaves;         /* a tuple of values without references */
    uint8_t marks_count;    /* number of lengths and checksums */
    uint8_t tuple_size;     /* tuples: number of values */
    uint8_t atomic;         /* objects need no tracking unless they hold views: see tracking.h */
    uint8_t is_short;       /* objects: each item has a fast path */
};

/* Data that all plans share, owned by their module: these files have no mutable globals. */
#define TW_INTS_LOW (-5)
#define TW_INTS_HIGH 1023
typedef struct {
    PyObject *no_tags;
    PyObject *empty_tuple;
    PyObject *empty_text;
    PyObject *write_faults; /* a tuple: exceptions that only mean that a value is invalid */
    PyTypeObject *uuid;     /* NULL until a plan has a UUID */
    allocfunc uuid_alloc;
    PyObject *uuid_safety;
    Py_ssize_t uuid_int_slot, uuid_safety_slot;
    int moves_views;        /* whether a copied view can be moved to other bytes */
    tw_crc32c_tables crc32c;
    PyObject *ints[TW_INTS_HIGH - TW_INTS_LOW + 1];
    size_t ready_ints;      /* address of the first int of a contiguous run of `ints`, and the run's size in bytes */
    size_t ready_size;
} tw_shared;

/* Progress in an array of a record format: where it begins, how many elements are valid, and where these end. */
typedef struct {
    const uint8_t *start, *p;
    int64_t count, elements; /* `elements`: limit left */
    int64_t last;            /* ordered arrays with an error: the last number in order */
} tw_good;

#define TW_MOST_GOOD 4 /* arrays: the last one that was read completely, and those around an error */

/* A position in the bytes of one message. */
typedef struct {
    const uint8_t *p, *end, *start;
    PyObject *views;        /* the memoryview that bytes are sliced from, or NULL */
    const tw_shared *shared;
    int64_t elements, unknown_tags, unknown_tag_bytes; /* limits left */
    int untracked;          /* gc=False */
    int64_t *known;         /* registers: numbers that other fields of a record format depend on */
    PyObject *limits;       /* Limits, for decompression */
    int packed;             /* the bytes were compressed */
    int trusted;            /* checksums are not verified */
    const uint8_t *numbers; /* the bytes of the last int32 array, and its tuple: see tw_same_numbers */
    PyObject *numbers_tuple;
    Py_ssize_t filled;      /* number of elements read from the array with the error */
    const uint8_t *refused; /* where the struct with the error begins, or NULL; and the limit left there */
    int64_t refused_elements;
    tw_good good[TW_MOST_GOOD];
    int good_count;
} tw_reader;

/* A growing buffer: first on the caller's stack, then in a bytes object (in the limited API: in a block). If only the
 * size is needed, the contents of a full buffer are counted and discarded. */
typedef struct {
    uint8_t *p, *end, *start;
    PyObject *bytes;
    uint8_t *block;
    int64_t counted;
    int counting;
    int64_t *known;         /* as in tw_reader */
    int64_t *highest;       /* for each register: the highest number written relative to it; or NULL */
    int gap;                /* width of the last varint length: a guess for the next one */
    int unsure;             /* a value was rejected that the interpreter may accept */
    int64_t implied;        /* the number for the slot `implied_slot`, which may be empty */
    Py_ssize_t implied_slot;
    Py_ssize_t expected;    /* bytes to allocate when the stack is full: the size of the last message, or 0 */
    const tw_shared *shared;
} tw_writer;

/* Errors: functions return NULL or -1. Without an exception, the layout rejects the bytes or the value, and the
 * interpreter finds the position; with an exception, Python raised it. */

#endif
