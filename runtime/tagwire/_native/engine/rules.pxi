"""Add the rules that involve several fields (rules.h) to plans, and find duplicate keys in arrays for the C code."""

cdef extern from "engine/rules.h":
    ctypedef struct tw_union:
        Py_ssize_t count
        const Py_ssize_t *slots
    ctypedef struct tw_keyed:
        Py_ssize_t slot
        PyObject *keys
    ctypedef struct tw_rules:
        Py_ssize_t unions_count, keyed_count
        const tw_union *unions
        const tw_keyed *keyed


cdef const tw_rules *rules_of(Builder builder, object layout) except? NULL:
    cdef tw_rules *rules
    cdef tw_union *unions
    cdef tw_keyed *keyed
    cdef Py_ssize_t *slots
    cdef Py_ssize_t index, at
    arrays = [field for field in layout.fields if isinstance(field.type, Array) and field.type.unique]
    if not layout.unions and not arrays:
        return NULL
    rules = <tw_rules *>builder.memory(sizeof(tw_rules))
    unions = <tw_union *>builder.memory(len(layout.unions) * sizeof(tw_union))
    keyed = <tw_keyed *>builder.memory(len(arrays) * sizeof(tw_keyed))
    for index, union in enumerate(layout.unions):
        slots = <Py_ssize_t *>builder.memory(len(union.alternatives) * sizeof(Py_ssize_t))
        for at, name in enumerate(union.alternatives):
            slots[at] = builder.slot(layout.cls, name)
        unions[index].count = len(union.alternatives)
        unions[index].slots = slots
    for index, field in enumerate(arrays):
        keyed[index].slot = builder.slot(layout.cls, field.name)
        keyed[index].keys = builder.keep(field.type.unique)
    rules.unions, rules.unions_count = unions, len(layout.unions)
    rules.keyed, rules.keyed_count = keyed, len(arrays)
    return rules


cdef public int has_twins "tw_has_twins"(object array, tuple keys) except -1:
    found = [tuple([getattr(element, name) for name in keys]) for element in tuple(array)]
    return len(set(found)) != len(found)
