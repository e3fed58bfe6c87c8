/* What is rare, and therefore in Cython (plain.pxi): values of odd types made plain, and tags that nobody knows. */
#ifndef TAGWIRE_PLAIN_H
#define TAGWIRE_PLAIN_H

#include "engine/plan.h"

PyObject *tw_plain_bool(PyObject *value);
PyObject *tw_plain_uuid(PyObject *value);
PyObject *tw_plain_binary(PyObject *value);
PyObject *tw_plain_array(PyObject *value);
PyObject *tw_plain_struct(const tw_struct *s, PyObject *value);
PyObject *tw_other_tags(const tw_struct *s, PyObject *unknown);
int tw_values_differ(PyObject *value, PyObject *other);

#endif
