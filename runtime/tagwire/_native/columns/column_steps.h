/* The plan of columns: what the bytes of one version hold, and which column takes each field.
 *
 * As the plan of objects (plan.h), but for columns instead of slots, and with the fields of other versions that the
 * same columns serve. A step whose column is -1 is read and checked like any other, and kept nowhere.
 */
#ifndef TAGWIRE_COLUMN_STEPS_H
#define TAGWIRE_COLUMN_STEPS_H

#include "columns/column_source.h"

typedef struct tw_steps tw_steps;
typedef struct tw_step tw_step;

struct tw_step {
    uint8_t kind, length, nullable, marker, bits, zigzag; /* as in tw_field */
    uint8_t wide;         /* an unsigned number in the next wider signed type */
    int32_t tag;
    int32_t run;          /* bytes of the fields of fixed width from here on; 0 where an earlier field counts this one */
    int32_t column;
    int64_t longest, minimum;
    const tw_step *element;
    const tw_steps *child;
};

typedef struct {
    int32_t column;
    int32_t ignorable;
} tw_absent;

struct tw_steps {
    uint8_t section, length, entry_length, counts_tag; /* as in tw_struct */
    int32_t items_count, tagged_count, idle_count, absent_count;
    int32_t unknown;        /* the column of unknown tags, or -1 */
    const tw_step *items;
    const tw_step *tagged;  /* ascending by tag */
    const int32_t *idle;    /* columns that have their defaults where the tag section is empty */
    const tw_absent *absent; /* columns that this version has no field for */
};

#define TW_MOST_TAGGED_STEPS 64 /* one bit each */

/* 1, 0 for null, TW_REFUSED: the marker before a struct that may be null. */
static inline int tw_read_marker(int code, tw_reader *r)
{
    int64_t marker;
    if (code == TW_NO_MARKER)
        return 1;
    if (code == TW_MARKER_UVARINT) {
        marker = tw_read_uvarint(r);
        return marker == 0 || marker == 1 ? (int)marker : TW_REFUSED;
    }
    if (r->p == r->end)
        return TW_REFUSED;
    marker = (int8_t)*r->p++;
    return marker == 1 ? 1 : marker == -1 ? 0 : TW_REFUSED;
}

#endif
