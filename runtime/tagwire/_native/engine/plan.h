/* A plan is a message layout converted to C structs, which the C loops follow to encode and decode. plan.pxi creates
 * each plan once. Plans never change, so threads can share them.
 *
 * Pointers to Python objects are borrowed from the `Plan` that owns these structs.
 */
#ifndef TAGWIRE_PLAN_H
#define TAGWIRE_PLAN_H

#include "engine/crc32c.h"
#include "engine/framing.h"

enum tw_kind {
    TW_BOOL, TW_INT8, TW_UINT8, TW_INT16, TW_UINT16, TW_INT32, TW_UINT32, TW_INT64, TW_UINT64, TW_FLOAT32,
    TW_FLOAT64, TW_UUID,
    /* The width of the following kinds depends on the value or on the field. */
    TW_VARINT, TW_ENUM, TW_BLOCK, TW_STRING, TW_BINARY, TW_ARRAY, TW_STRUCT,
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
typedef struct tw_chosen tw_chosen;

/* The members of an enum, sorted by number. The arrays `numbers`, `members` and `texts` are parallel. */
typedef struct {
    Py_ssize_t count;
    const int64_t *numbers;
    PyObject **members;
    PyObject **names;     /* the members' JSON names */
    PyObject *by_name;    /* dict from JSON names to enum members */
    int closed;           /* whether a number without an enum member is invalid */
} tw_enum;

/* A field of a struct, or the element type of an array. An element type has no slot and no default. */
struct tw_field {
    uint8_t kind;
    uint8_t length;       /* a tw_length_code: how the length of a string, bytes value or array is encoded */
    uint8_t nullable;
    uint8_t marker;       /* a tw_marker: how null is encoded for nullable structs and optional values */
    uint8_t bits;         /* width in bits of the number that a varint encodes: 32 or 64 */
    uint8_t zigzag;       /* a tw_sign: how a varint encodes the sign */
    uint8_t ignorable;    /* for fields that this version does not have: whether encoding may silently drop the value */
    uint8_t late;         /* whether an empty slot means that the field has its default struct (lazy_struct.pxi) */
    uint8_t wide;         /* in column plans: whether a signed column stores an unsigned integer */
    int32_t tag;
    int32_t run;          /* total width of the run of fixed-width fields that begins here; 0 if no run begins here */
    int32_t run_count;    /* number of fields in this run, or 0 if it contains bools, which need validation */
    int32_t number;       /* identifies this field or element type in traces */
    int64_t longest;      /* maximum size of a string or bytes value; exact size of a bytes[N] value */
    int64_t minimum;      /* minimum size of an encoded value in bytes */
    Py_ssize_t slot;      /* the slot's offset in objects; in column plans, the column's index (-1: not stored) */
    PyObject *name;
    const tw_field *element; /* type of an array's elements, or of the integer that encodes an enum */
    const tw_enum *members;
    const tw_struct *child;
    PyObject *value;      /* the default, or NULL if the default is a struct */
    const tw_fresh *fresh; /* the default if it is a struct; otherwise NULL */
    const tw_framing *framing;  /* properties that only fields of record formats have; otherwise NULL */
    const tw_chosen *chosen; /* in the plan of a selection: how the field is selected (choice.h); otherwise NULL */
};

/* The width of each tw_kind in bytes, or 0 if it depends on the value or on the field. */
static TW_MAYBE_UNUSED const uint8_t tw_width[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 0, 0, 0, 0, 0, 0, 0};

/* A data class and the data that C needs to allocate its objects. */
typedef struct {
    PyTypeObject *cls;
    allocfunc alloc;
    Py_ssize_t slots_size;  /* total size of the slots, or 0 if objects have a `__dict__` or allow weak references */
} tw_class;

/* A template for default structs: the slot values of an object constructed without arguments. */
struct tw_fresh {
    tw_class factory;
    Py_ssize_t count;
    const tw_field *fields; /* the slots with their defaults; only `slot`, `value`, `fresh` and `late` are set */
};

/* How measure.h measures a field. TW_LOOK_INT: int32 or int64. TW_LOOK_INT32S: array of int32. TW_LOOK_CLOSELY: anything
 * else. */
enum tw_look_kind { TW_LOOK_INT16, TW_LOOK_INT, TW_LOOK_INT32S, TW_LOOK_CLOSELY, TW_LOOK_KINDS };

typedef struct {
    Py_ssize_t slot;
    const tw_field *item;
} tw_look;

/* The maximum number of known tagged fields in a struct. Encoding uses one bit of a 64-bit number for each field. */
#define TW_MOST_TAGGED 64

struct tw_struct {
    tw_class factory;
    uint8_t section;
    uint8_t length;         /* a tw_length_code: how the length that precedes the struct is encoded */
    uint8_t entry_length;   /* a tw_length_code: how the KIP-482 draft encodes the length of an optional field */
    uint8_t counts_tag;     /* whether the length of an optional field includes the two bytes of the field's tag */
    const tw_field *enclosing; /* the length field before the struct, for traces: only `name` and `number` are set */
    Py_ssize_t items_count, tagged_count, missing_count, filled_count;
    const tw_field *items;
    const tw_look *looks;   /* the fields grouped by tw_look_kind, for measure.h, or NULL in record formats */
    const tw_look *looks_end[TW_LOOK_KINDS];
    uint8_t looks_all;      /* whether an object's size is `looks_width` plus that of its int32 arrays */
    int64_t looks_width;    /* minimum encoded size of an object, not counting tagged or TW_LOOK_CLOSELY fields */
    const PyTypeObject *measured; /* the class of objects that measure.h can measure, or NULL if it can't */
    const tw_field *tagged; /* tagged fields, in ascending order of tags */
    const tw_field *missing; /* fields of the class that this version does not have */
    const tw_field *filled; /* tagged and missing fields that decoding must set to their defaults; in a column plan,
                             * the columns to fill with defaults if the tag section is empty */
    Py_ssize_t unknown_slot; /* the slot for unknown tags; in column plans, -1 if no column stores them */
    PyObject *known_tags;   /* frozenset of the tags of all fields in `tagged` */
    const tw_rules *rules;  /* rules that involve several fields (rules.h), or NULL */
    uint8_t framed;         /* whether the struct belongs to a record format */
    uint8_t shape;          /* a tw_shape: the Python type of the struct's values */
    uint8_t enclosed;       /* whether the struct's own length is one of its fields */
    uint8_t leaves;         /* whether the values are tuples that contain only numbers, strings and bytes */
    uint8_t marks_count;    /* number of lengths and checksums among the fields */
    uint8_t tuple_size;
    uint8_t atomic; /* whether objects decoded without views are never part of a reference cycle (tracking.h) */
    uint8_t is_short;       /* whether the values are objects and every field has a fast path */
    /* in the plan of a selection: whether fields, missing fields, and tagged fields are selected */
    uint8_t has_chosen, has_chosen_missing, has_chosen_tags;
};

/* The lowest and the highest number in tw_shared.ints, an array of preallocated int objects. */
#define TW_INTS_LOW (-5)
#define TW_INTS_HIGH 1023
/* Data that all plans share. The module owns it. */
typedef struct {
    PyObject *no_tags;
    PyObject *empty_tuple;
    PyObject *empty_string;
    PyObject *write_errors; /* tuple of the exception classes that encoding raises for invalid values */
    PyTypeObject *uuid;     /* the class uuid.UUID; NULL until a plan needs it */
    allocfunc uuid_alloc;
    PyObject *uuid_safety;
    Py_ssize_t uuid_int_slot, uuid_safety_slot;
    int moves_views;        /* whether tw_moved_view, the fast way to slice views, works in this build of Python */
    tw_crc32c_tables crc32c;
    PyObject *ints[TW_INTS_HIGH - TW_INTS_LOW + 1];
} tw_shared;

/* The array elements that C found valid before an error in a record format. The layout interpreter skips them. */
typedef struct {
    const uint8_t *start, *p; /* `start`: start of the array; `p`: end of its last valid element */
    int64_t count, elements; /* `count`: number of valid elements; `elements`: how many more the limits allow */
    int64_t last;            /* for arrays sorted by an integer field: the encoded integer in the last valid element */
} tw_good;

/* The maximum number of tw_good structs: one for the last complete array, and up to three for arrays that enclose the
 * error. */
#define TW_MOST_GOOD 4

/* The state of a decoding call: the read position, the remaining limits, and the options. */
typedef struct {
    const uint8_t *p, *end, *start;
    PyObject *views;        /* memoryview of the input if bytes fields are returned as views; otherwise NULL */
    const tw_shared *shared;
    int64_t elements, unknown_tags, unknown_tag_bytes; /* remaining limits: how many more of each may be read */
    int untracked;          /* whether the garbage collector must not track any objects (gc=False) */
    int64_t *known;         /* the registers (framing.h) */
    PyObject *limits;       /* the Limits object, needed for decompression */
    int is_decompressed;             /* whether to reject compressed data, because the input was decompressed */
    int trusted;            /* whether to skip checksum verification */
    const uint8_t *numbers; /* bytes of the previous int32 array (see tw_same_numbers) */
    PyObject *numbers_tuple;
    Py_ssize_t filled;      /* after an error in an array: number of elements read before the error */
    const uint8_t *rejected; /* after an error in a record format: start of the struct with the error; else NULL */
    int64_t rejected_elements;
    tw_good good[TW_MOST_GOOD];
    int good_count;
} tw_reader;

/* A growing output buffer. It starts on the caller's stack. When that is full, the bytes move to a bytes object or, in
 * the limited API, to allocated memory. If only the size is needed (`counting`), a full buffer is overwritten. A writer
 * with a function `grow` calls that function instead when the buffer is full. */
typedef struct tw_writer tw_writer;
struct tw_writer {
    uint8_t *p, *end, *start;
    PyObject *bytes;
    uint8_t *block;
    int64_t counted;
    int counting;
    int64_t *known;         /* the registers (framing.h) */
    int64_t *highest; /* for each register: the highest value that was encoded relative to it; may be NULL */
    int gap;                /* bytes to reserve for the next varint length: the width of the previous one */
    int unsure;             /* whether the layout interpreter may still accept the value that C rejected */
    int64_t implied;        /* the number to encode if the slot `implied_slot` is empty */
    Py_ssize_t implied_slot;
    Py_ssize_t expected; /* expected size in bytes, or 0 if unknown */
    const tw_shared *shared;
    int (*grow)(tw_writer *w, Py_ssize_t room);
};

/* Functions that follow a plan return NULL or -1 for an error. If they set no exception, the layout interpreter
 * raises the error. */

#endif
