/* The plan: a layout as the hot loops want it. Made once by plan.pxi, never changed after, so threads share it.
 *
 * Pointers to Python objects are borrowed: the `Plan` that owns these structs keeps what they point to.
 */
#ifndef TAGWIRE_PLAN_H
#define TAGWIRE_PLAN_H

#include "engine/crc32c.h"
#include "engine/framing.h"

enum tw_kind {
    TW_BOOL, TW_INT8, TW_UINT8, TW_INT16, TW_UINT16, TW_INT32, TW_UINT32, TW_INT64, TW_UINT64, TW_FLOAT32,
    TW_FLOAT64, TW_UUID,
    /* from here on the width depends on the value */
    TW_VARINT, TW_ENUM, TW_BLOCK, TW_TEXT, TW_BINARY, TW_ARRAY, TW_STRUCT,
    TW_OPTIONAL /* a value of fixed width, `element`, that may be null */
};

enum tw_length_code { TW_NO_LENGTH, TW_LENGTH_INT16, TW_LENGTH_INT32, TW_COMPACT, TW_LENGTH_VARINT, TW_LENGTH_UVARINT };
enum tw_marker { TW_NO_MARKER, TW_MARKER_INT8, TW_MARKER_UVARINT };
enum tw_sign { TW_UNSIGNED, TW_ZIGZAG, TW_TWOS_COMPLEMENT }; /* how varints are signed */
enum tw_section { TW_NO_SECTION, TW_TAGGED_SECTION, TW_OPTIONAL_BUFFER };

typedef struct tw_struct tw_struct;
typedef struct tw_field tw_field;
typedef struct tw_fresh tw_fresh;
typedef struct tw_framing tw_framing;
typedef struct tw_rules tw_rules;

/* The members of an enum, ascending by their numbers: see enums.h. */
typedef struct {
    Py_ssize_t count;
    const int64_t *numbers;
    PyObject **members;
    PyObject **texts;     /* what JSON calls them */
    PyObject *by_text;    /* a dict: the members by these */
    int closed;           /* other numbers are refused */
} tw_enum;

/* A field of a struct, or what the elements of an array are (then without a slot and a default). */
struct tw_field {
    uint8_t kind;
    uint8_t length;       /* of texts, bytes and arrays: how it is written */
    uint8_t nullable;     /* of texts, bytes and arrays */
    uint8_t marker;       /* of structs and optional values that may be null */
    uint8_t bits;         /* of varints: 32 or 64 */
    uint8_t zigzag;       /* of varints: a tw_sign */
    uint8_t ignorable;    /* of missing fields: dropped in silence */
    uint8_t late;         /* an empty slot is the default, which is a struct: see lazy_struct.pxi */
    uint8_t wide;         /* in plans of columns: an unsigned number in the next wider signed type */
    int32_t tag;
    int32_t run;          /* bytes of the fields of fixed width from here on; 0 where an earlier field counts this one */
    int32_t run_count;    /* how many fields these are; 0 where one is a bool, whose bytes are looked at */
    int32_t number;       /* in its plan, of fields and elements: what a trace calls it by */
    int64_t longest;      /* of texts and bytes, in bytes; of blocks, their one size */
    int64_t minimum;      /* the fewest bytes that it takes */
    Py_ssize_t slot;      /* where the object of the data class holds it; in plans of columns, the column, or -1 for none */
    PyObject *name;       /* the attribute */
    const tw_field *element; /* of arrays; of enums, the integer that is on the wire */
    const tw_enum *members;  /* of enums */
    const tw_struct *child;
    PyObject *value;      /* the default, or NULL where that is a struct */
    const tw_fresh *fresh; /* the default where it is a struct */
    const tw_framing *framing;  /* what only record formats say of it; NULL in other structs */
};

/* Bytes of each kind of fixed width. */
static TW_MAYBE_UNUSED const uint8_t tw_width[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 0, 0, 0, 0, 0, 0, 0};

/* How an object of a data class is made. */
typedef struct {
    PyTypeObject *cls;
    allocfunc alloc;
    Py_ssize_t slots_size;  /* bytes behind the object's head, where those are its slots alone; else 0 */
} tw_class;

/* A struct as its constructor makes it without arguments, copied slot by slot. */
struct tw_fresh {
    tw_class made;
    Py_ssize_t count;
    const tw_field *fields; /* only `slot`, `value` and `fresh` mean something */
};

/* How measuring looks at an item; the last way is no look. See measure_values.h. */
enum tw_look_way { TW_LOOK_INT, TW_LOOK_INT32S, TW_LOOK_ONCE, TW_LOOK_CLOSELY, TW_LOOK_WAYS };

typedef struct {
    Py_ssize_t slot;
    const tw_field *item;
} tw_look;

#define TW_MOST_TAGGED 64 /* known tagged fields of a struct: one bit each */

struct tw_struct {
    tw_class made;
    uint8_t section;
    uint8_t length;         /* before the whole struct; TW_NO_LENGTH for most */
    uint8_t entry_length;   /* of an optional buffer's entries */
    uint8_t counts_tag;     /* whether these count the two bytes of the tag */
    const tw_field *enclosing; /* the length before it: its name and number alone */
    Py_ssize_t items_count, tagged_count, missing_count, filled_count;
    const tw_field *items;
    const tw_look *looks;   /* of the items, those of one way together; NULL in framed structs */
    const tw_look *looks_end[TW_LOOK_WAYS];
    int64_t looks_width;    /* what the items take whatever their values: their own width, or that of a short length */
    const tw_field *tagged; /* ascending by tag */
    const tw_field *missing; /* what the class has and this version lacks */
    const tw_field *filled; /* those of the tagged and the missing ones whose default a reader sets; in plans of columns,
                               those with a default where the tag section is empty */
    Py_ssize_t unknown_slot; /* in plans of columns -1 if there is no column for unknown tags */
    PyObject *known_tags;   /* a frozenset */
    const tw_rules *rules;  /* over several fields: see rules.h; NULL for most */
    uint8_t framed;         /* its items have framings: see framing.h */
    uint8_t shape;          /* what its values are: a tw_shape */
    uint8_t enclosed;       /* one of its items says where it ends */
    uint8_t leaves;         /* a tuple of what has no references */
    uint8_t marks_count;    /* how many lengths and checksums it has */
    uint8_t tuple_size;     /* of a tuple: how many values it has */
    uint8_t atomic;         /* of objects: they need no tracking, unless they hold views: see tracking.h */
    uint8_t is_short;       /* of objects: each of its items has a short way */
};

/* What all plans use, from their module: so nothing in these files is a global that changes. */
#define TW_INTS_LOW (-5)
#define TW_INTS_HIGH 1023
typedef struct {
    PyObject *no_tags;
    PyObject *empty_tuple;
    PyObject *empty_text;
    PyObject *write_faults; /* a tuple: exceptions that only say that a value is no good */
    PyTypeObject *uuid;     /* NULL until a plan has a uuid */
    allocfunc uuid_alloc;
    PyObject *uuid_safety;
    Py_ssize_t uuid_int_slot, uuid_safety_slot;
    int moves_views;        /* whether a copy of a view can be moved to other bytes of it */
    tw_crc32c_tables crc32c;
    PyObject *ints[TW_INTS_HIGH - TW_INTS_LOW + 1];
    size_t ready_ints;      /* where the first of them are that stand one behind the other, and how many bytes these take */
    size_t ready_size;
} tw_shared;

/* Of an array of a record format: where it begins, how many of its elements are good, and what is behind these. */
typedef struct {
    const uint8_t *start, *p;
    int64_t count, elements; /* how many more the limits allow */
    int64_t last;            /* of an array in order that has a fault: the last number that was in order */
} tw_good;

#define TW_MOST_GOOD 4 /* arrays: the last that was read whole, and those around a fault */

/* A place in the bytes of one message. */
typedef struct {
    const uint8_t *p, *end, *start;
    PyObject *views;        /* the memoryview that bytes are slices of, or NULL */
    const tw_shared *shared;
    int64_t elements, unknown_tags, unknown_tag_bytes; /* how many more the limits allow */
    int untracked;          /* gc=False */
    int64_t *known;         /* registers: numbers of record formats that others depend on */
    PyObject *limits;       /* Limits: of packed bytes */
    int packed;             /* what is read was packed */
    int trusted;            /* checksums are not held against the bytes */
    const uint8_t *numbers; /* the bytes of the last array of int32, and what was made of them: see tw_same_numbers */
    PyObject *numbers_tuple;
    Py_ssize_t filled;      /* how many elements were read of the array with the fault */
    const uint8_t *refused; /* where the struct with the fault begins, NULL without one; and what limits allowed there */
    int64_t refused_elements;
    tw_good good[TW_MOST_GOOD];
    int good_count;
} tw_reader;

/* Bytes that grow: first on the stack of the caller, then in a bytes object (in the limited API: in a block). Where
 * only the size is asked for, what is full is counted and thrown away. */
typedef struct {
    uint8_t *p, *end, *start;
    PyObject *bytes;
    uint8_t *block;
    int64_t counted;
    int counting;
    int64_t *known;         /* as in tw_reader */
    int64_t *highest;       /* of each register: the highest number that was written relative to it; or NULL */
    int gap;                /* bytes of the last varint length: a guess at the next one's */
    int unsure;             /* a value was refused that the interpreter may accept */
    int64_t implied;        /* the number of the slot that may be empty, `implied_slot` */
    Py_ssize_t implied_slot;
    Py_ssize_t expected;    /* what to ask for where the stack is full: what the last message took, or 0 */
    const tw_shared *shared;
} tw_writer;

/* Faults: functions return NULL or -1. Without an exception it is bytes or a value that the layout refuses, and the
 * interpreter says where; with one, it is whatever Python raised. */

#endif
