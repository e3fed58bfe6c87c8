/* Rules that involve several fields of an object: unions of tagged fields, and arrays whose elements must have unique
 * keys.
 *
 * If a rule is broken, the layout interpreter raises the error.
 */
#ifndef TAGWIRE_RULES_H
#define TAGWIRE_RULES_H

#include "engine/values.h"

typedef struct {
    Py_ssize_t count;
    const Py_ssize_t *slots; /* slots of the union's alternatives that exist in this version */
} tw_union;

typedef struct {
    Py_ssize_t slot;         /* slot of the attribute that contains the array */
    PyObject *keys;          /* tuple of the names of the element attributes that make up the key */
} tw_keyed;

struct tw_rules {
    Py_ssize_t unions_count, keyed_count;
    const tw_union *unions;
    const tw_keyed *keyed;
};

/* Return 1 if two elements of an array have the same key, 0 if not, -1 with an exception. Defined in rules.pxi. */
int tw_has_twins(PyObject *array, PyObject *keys);

/* Return whether exactly one alternative of a union is set. If there are unknown tags, none needs to be set, because an
 * unknown tag may be an alternative from a newer version. */
static int tw_keeps_union(const tw_union *u, PyObject *object, PyObject *unknown)
{
    int present = 0, some;
    for (Py_ssize_t index = 0; index < u->count; index++) {
        TW_HELD PyObject *value = tw_slot(object, u->slots[index]);
        if (value == NULL)
            return 0; /* a deleted attribute: the layout interpreter raises the error */
        present += value != Py_None;
    }
    if (present)
        return present == 1;
    if (unknown == NULL)
        return 0;
    Py_INCREF(unknown);
    some = PyObject_IsTrue(unknown);
    Py_DECREF(unknown);
    return some > 0;
}

/* Return 1 if an object satisfies all rules of its struct. Otherwise return 0; an exception may be set. */
static TW_MAYBE_UNUSED TW_RARE int tw_keeps_rules(const tw_struct *s, PyObject *object)
{
    const tw_rules *r = s->rules;
    for (const tw_union *u = r->unions, *end = u + r->unions_count; u < end; u++) {
        TW_HELD PyObject *unknown = tw_slot(object, s->unknown_slot);
        if (!tw_keeps_union(u, object, unknown))
            return 0;
    }
    for (const tw_keyed *k = r->keyed, *end = k + r->keyed_count; k < end; k++) {
        TW_HELD PyObject *array = tw_slot(object, k->slot);
        int twins;
        if (array == NULL || array == Py_None)
            continue;
        Py_INCREF(array);
        twins = tw_has_twins(array, k->keys);
        Py_DECREF(array);
        if (twins)
            return 0;
    }
    return 1;
}

#endif
