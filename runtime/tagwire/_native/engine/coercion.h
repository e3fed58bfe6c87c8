/* Functions that encoding calls in rare cases (see coercion.pxi). */
#ifndef TAGWIRE_COERCION_H
#define TAGWIRE_COERCION_H

#include "engine/plan.h"

PyObject *tw_coerced_bool(PyObject *value);
PyObject *tw_coerced_uuid(PyObject *value);
PyObject *tw_coerced_binary(PyObject *value);
PyObject *tw_coerced_array(PyObject *value);
PyObject *tw_coerced_struct(const tw_struct *s, PyObject *value);
PyObject *tw_other_tags(const tw_struct *s, PyObject *unknown);
int tw_values_differ(PyObject *value, PyObject *other);

#endif
