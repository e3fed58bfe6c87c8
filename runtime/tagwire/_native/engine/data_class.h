/* The attributes of a data class in order, with their slots and defaults. C code uses them to construct and compare
 * objects, and to write their `repr`.
 *
 * data_class.pxi creates these structs once per class. Pointers to Python objects are borrowed from the `DataClass`,
 * which lives as long as the class. */
#ifndef TAGWIRE_DATA_CLASS_H
#define TAGWIRE_DATA_CLASS_H

#include "engine/defaults.h"
#include "engine/tracking.h"

/* How the constructor converts an argument before storing it. */
enum tw_takes { TW_TAKES_ANY, TW_TAKES_ARRAY, TW_TAKES_ARRAY_OR_NULL, TW_TAKES_STRUCT, TW_TAKES_UUID };

typedef struct {
    Py_ssize_t slot;
    PyObject *name;       /* the attribute name, interned */
    PyObject *shown;      /* the attribute name as `repr` writes it: `name=` */
    PyObject *fresh;      /* the attribute's value in an object constructed without arguments */
    PyObject *parameter;  /* the parameter's default in the constructor's signature */
    PyObject *deleted;    /* the slot's content after the attribute is deleted; an empty slot may mean the default */
    uint8_t takes;        /* a tw_takes: how the constructor converts the argument */
    /* Whether callers of the constructor must pass the argument. */
    uint8_t required;
} tw_attribute;

/* The maximum number of attributes of a class whose objects C constructs. The arguments are copied to the C stack. */
#define TW_MOST_ATTRIBUTES 128

typedef struct {
    tw_class factory;
    Py_ssize_t count;
    const tw_attribute *attributes;
    PyObject *opening;    /* how an object's `repr` begins: `Name(` */
    PyObject *init;       /* the `__init__` method that C replaces, or NULL if Python constructs the objects */
    uint8_t asks;         /* whether the constructor has required arguments */
    uint8_t atomic;       /* whether the garbage collector needn't track the objects (tracking.h) */
} tw_data_class;

/* Both functions return a class's attributes. tw_data_class_of is for comparing objects, and tw_shown_class_of for
 * writing their `repr`. If only Python can do this, they return NULL without an exception. For an error, they return
 * NULL with an exception. */
const tw_data_class *tw_data_class_of(PyTypeObject *cls);
const tw_data_class *tw_shown_class_of(PyTypeObject *cls);
int tw_same_odd_arrays(PyObject *one, PyObject *other);

/* Return a new reference to an object's attribute. If the slot is empty or marked as deleted, call the class's
 * descriptor, which returns a value or raises AttributeError. */
static inline PyObject *tw_attribute_of(PyObject *object, const tw_attribute *a)
{
    TW_HELD PyObject *value = tw_slot(object, a->slot);
    if (TW_UNLIKELY(value == NULL || value == a->deleted))
        return PyObject_GetAttr(object, a->name);
    Py_INCREF(value);
    return value;
}

/* If the current exception was raised because the argument isn't iterable, replace it with one that names the argument.
 * Always return NULL. */
static TW_RARE PyObject *tw_name_argument(const tw_attribute *a, PyObject *argument)
{
    if (PyErr_ExceptionMatches(PyExc_TypeError) && !PySequence_Check(argument) &&
        PyType_GetSlot(Py_TYPE(argument), Py_tp_iter) == NULL)
        PyErr_Format(PyExc_TypeError, "%U: expected an iterable, got %.100R", a->name, argument);
    return NULL;
}

/* Convert an argument as the class's generated `__init__` does. Return a new reference, or NULL with an exception. */
static inline PyObject *tw_taken_argument(const tw_attribute *a, PyObject *argument)
{
    switch (a->takes) {
    case TW_TAKES_ARRAY_OR_NULL:
        if (argument == Py_None)
            break;
        /* fall through */
    case TW_TAKES_ARRAY:
        if (!PyTuple_CheckExact(argument)) {
            PyObject *elements = PySequence_Tuple(argument);
            return TW_LIKELY(elements != NULL) ? elements : tw_name_argument(a, argument);
        }
        break;
    case TW_TAKES_STRUCT:
        if (argument == a->parameter)
            return PyObject_CallNoArgs((PyObject *)Py_TYPE(a->fresh));
        break;
    case TW_TAKES_UUID:
        if (argument == a->parameter)
            argument = a->fresh;
        break;
    }
    Py_INCREF(argument);
    return argument;
}

/* Return the index of the attribute with this name, or -1. Callers usually pass keywords in field order, so index
 * `next` is tried first. */
static inline Py_ssize_t tw_find_attribute(const tw_data_class *c, PyObject *name, Py_ssize_t next)
{
    if (TW_LIKELY(next < c->count && c->attributes[next].name == name))
        return next;
    for (Py_ssize_t index = 0; index < c->count; index++)
        if (c->attributes[index].name == name)
            return index;
    for (Py_ssize_t index = 0; index < c->count; index++) /* `name` may not be interned */
        if (PyUnicode_Check(name) && PyUnicode_Compare(c->attributes[index].name, name) == 0)
            return index;
    return -1;
}

/* Allocate an object with uninitialized slots, which the garbage collector does not track yet. */
static inline PyObject *tw_unfilled_object(const tw_data_class *c)
{
#ifndef Py_LIMITED_API
    if (TW_LIKELY(c->factory.slots_size))
        return PyObject_GC_New(PyObject, c->factory.cls);
#endif
    PyObject *object = c->factory.alloc(c->factory.cls, 0);
    if (object != NULL)
        PyObject_GC_UnTrack(object);
    return object;
}

/* Free an object in which only the slots before attribute `a` have been set. Always return NULL. */
static TW_RARE PyObject *tw_drop_unfilled(const tw_data_class *c, PyObject *object, const tw_attribute *a)
{
    for (const tw_attribute *end = c->attributes + c->count; a < end; a++)
        TW_SLOT(object, a->slot) = NULL;
    PyObject_GC_Track(object); /* the class's deallocator requires a tracked object */
    Py_DECREF(object);
    return NULL;
}

/* Construct an object from one argument per attribute. If an argument is NULL, use the attribute of `copied` or, if
 * that is NULL, the parameter's default. */
static TW_MAYBE_UNUSED PyObject *tw_object_of(const tw_data_class *c, PyObject *copied, PyObject *const *arguments)
{
    PyObject *object = tw_unfilled_object(c);
    const tw_attribute *a = c->attributes, *end = a + c->count;
    int atomic = c->atomic;
    if (object == NULL)
        return NULL;
    for (; a < end; a++, arguments++) {
        PyObject *value = *arguments == NULL && copied != NULL
                              ? tw_attribute_of(copied, a)
                              : tw_taken_argument(a, *arguments == NULL ? a->parameter : *arguments);
        if (TW_UNLIKELY(value == NULL))
            return tw_drop_unfilled(c, object, a);
        TW_SLOT(object, a->slot) = value;
        atomic = atomic && (value == a->fresh || tw_is_atomic(value));
    }
    if (!atomic)
        PyObject_GC_Track(object);
    return object;
}

/* Store a value in an empty slot. If other code has filled the slot meanwhile, replace that value. */
static TW_MAYBE_UNUSED void tw_fill(PyObject *object, const tw_attribute *a, PyObject *value)
{
    PyObject *before;
    TW_LOCK(object);
    before = TW_SLOT(object, a->slot);
    TW_PUBLISH(TW_SLOT(object, a->slot), Py_NewRef(value));
    TW_UNLOCK();
    Py_XDECREF(before);
}

/* If a slot contains None, store a value in it and return 1. Otherwise, return 0. */
static TW_MAYBE_UNUSED int tw_fill_none(PyObject *object, Py_ssize_t slot, PyObject *value)
{
    int is_none;
    TW_LOCK(object);
    is_none = TW_SLOT(object, slot) == Py_None;
    if (is_none)
        TW_PUBLISH(TW_SLOT(object, slot), Py_NewRef(value));
    TW_UNLOCK();
    if (is_none)
        Py_DECREF(Py_None);
    return is_none;
}

/* Let the garbage collector track a complete object if it may be part of a reference cycle (tracking.h). */
static TW_MAYBE_UNUSED void tw_settle(const tw_data_class *c, PyObject *object)
{
    int atomic = c->atomic;
    for (const tw_attribute *a = c->attributes, *end = a + c->count; a < end && atomic; a++) {
        TW_HELD PyObject *value = tw_slot(object, a->slot);
        atomic = value != NULL && (value == a->fresh || tw_is_atomic(value));
    }
    if (!atomic && !PyObject_GC_IsTracked(object))
        PyObject_GC_Track(object);
}

/* Store keyword arguments in `bound`, in attribute order; NULL stands for an argument that was not passed. Return 0,
 * or -1 for an unknown keyword. */
static TW_MAYBE_UNUSED int tw_bind_arguments(
    const tw_data_class *c, PyObject *const *args, PyObject *names, PyObject **bound)
{
    Py_ssize_t count = names == NULL ? 0 : TW_TUPLE_SIZE(names), next = 0;
    memset(bound, 0, c->count * sizeof(PyObject *));
    for (Py_ssize_t index = 0; index < count; index++) {
        Py_ssize_t at = tw_find_attribute(c, TW_TUPLE_GET(names, index), next);
        if (at < 0)
            return -1;
        bound[at] = args[index];
        next = at + 1;
    }
    return 0;
}

static TW_RARE int tw_has_required(const tw_data_class *c, PyObject *const *bound)
{
    for (Py_ssize_t index = 0; index < c->count; index++)
        if (c->attributes[index].required && bound[index] == NULL)
            return 0;
    return 1;
}

typedef PyObject *(*tw_construct_call)(PyObject *cls, PyObject **args, size_t flags, PyObject *names);

#if !defined(Py_LIMITED_API) && !TW_FREE_THREADED
/* Construct an object through `type.__call__` if the fast path doesn't support the arguments. */
static TW_RARE PyObject *tw_construct_usually(PyObject *cls, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *object = NULL, *all = PyTuple_New(count), *named = PyDict_New();
    int failed = all == NULL || named == NULL;
    for (Py_ssize_t index = 0; !failed && index < count; index++)
        PyTuple_SET_ITEM(all, index, Py_NewRef(args[index]));
    for (Py_ssize_t index = 0; !failed && names != NULL && index < PyTuple_GET_SIZE(names); index++)
        failed = PyDict_SetItem(named, PyTuple_GET_ITEM(names, index), args[count + index]) < 0;
    if (!failed)
        object = PyType_Type.tp_call(cls, all, named);
    Py_XDECREF(all);
    Py_XDECREF(named);
    return object;
}

/* Construct an object from keyword arguments, with the same result as the generated constructor. */
static TW_MAYBE_UNUSED PyObject *tw_construct(
    const tw_data_class *c, PyObject *init, PyObject *cls, PyObject *const *args, size_t flags, PyObject *names)
{
    PyObject *bound[TW_MOST_ATTRIBUTES];
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (TW_UNLIKELY(c == NULL || count || init != c->init || ((PyTypeObject *)cls)->tp_new != PyBaseObject_Type.tp_new ||
                    tw_bind_arguments(c, args, names, bound) < 0 || (c->asks && !tw_has_required(c, bound))))
        return tw_construct_usually(cls, args, count, names);
    return tw_object_of(c, NULL, bound);
}

#  define tw_positional_count PyVectorcall_NARGS
static inline void tw_set_construct(PyObject *cls, tw_construct_call construct)
{
    ((PyTypeObject *)cls)->tp_vectorcall = (vectorcallfunc)(void *)construct;
}
#  define TW_CONSTRUCTS 1
/* Use the Python constructor: in the limited API, types have no vectorcall slot, and in a free-threaded build, another
 * thread may be calling the class. */
#else
#  define TW_CONSTRUCTS 0
static TW_MAYBE_UNUSED PyObject *tw_construct(
    const tw_data_class *c, PyObject *init, PyObject *cls, PyObject *const *args, size_t flags, PyObject *names)
{
    (void)c, (void)init, (void)cls, (void)args, (void)flags, (void)names;
    return NULL;
}

#  define tw_positional_count(flags) ((Py_ssize_t)(flags))
static inline void tw_set_construct(PyObject *cls, tw_construct_call construct)
{
    (void)cls, (void)construct;
}
#endif

#endif
