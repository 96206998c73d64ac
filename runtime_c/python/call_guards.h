/* Guards: checks that the values which a function captured when it was traced are unchanged.

   transpile/trace/guards/checks.py makes them, tuples (kind, holder, name, value). */

#ifndef TRANSPILE_CALL_GUARDS_H
#define TRANSPILE_CALL_GUARDS_H

#include "call_python.h"

enum guard { ENTRY, CELL, ATTRIBUTE, INDEX, ITEMS, PAIRS, HELD_ARRAY, FUNCTION, SAMPLE, GUARDS };

/* All references are borrowed. */
typedef struct {
    enum guard kind;
    PyObject *holder;
    PyObject *name;
    PyObject *value;
} Guard;

/* True if an object is the same as before, or an equal number (to the bit) or string. */
static int is_value(PyObject *now, PyObject *value)
{
    if (now == value) {
        return 1;
    }
    if (now == NULL || Py_TYPE(now) != Py_TYPE(value)) {
        return 0;
    }
    if (PyFloat_CheckExact(now)) {
        const double a = PyFloat_AS_DOUBLE(now), b = PyFloat_AS_DOUBLE(value);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyLong_CheckExact(now) || PyUnicode_CheckExact(now)) {
        const int equal = PyObject_RichCompareBool(now, value, Py_EQ);
        if (equal < 0) {
            PyErr_Clear();
        }
        return equal > 0;
    }
    return 0;
}

/* True if a list, a set or a deque has the items of a tuple, in order. */
static int has_items(PyObject *holder, PyObject *items)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(items);
    if (PyList_Check(holder)) {
        if (PyList_GET_SIZE(holder) != count) {
            return 0;
        }
        for (Py_ssize_t n = 0; n < count; n++) {
            if (!is_value(PyList_GET_ITEM(holder, n), PyTuple_GET_ITEM(items, n))) {
                return 0;
            }
        }
        return 1;
    }
    PyObject *iterator = PyObject_GetIter(holder);
    if (iterator == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t n = 0;
    int is_same = 1;
    for (; is_same; n++) {
        PyObject *item = PyIter_Next(iterator);
        if (item == NULL) {
            break;
        }
        is_same = n < count && is_value(item, PyTuple_GET_ITEM(items, n));
        Py_DECREF(item);
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred()) { /* another thread has changed the container */
        PyErr_Clear();
        return 0;
    }
    return is_same && n == count;
}

/* True if a dict has the same keys and values as a copy of it, in the same order. */
static int has_pairs(PyObject *holder, PyObject *copy)
{
    PyObject *names[2], *items[2];
    Py_ssize_t positions[2] = {0, 0};
    if (PyDict_GET_SIZE(holder) != PyDict_GET_SIZE(copy)) {
        return 0;
    }
    while (PyDict_Next(copy, &positions[0], &names[0], &items[0])) {
        if (!PyDict_Next(holder, &positions[1], &names[1], &items[1]) ||
            !is_value(names[1], names[0]) || !is_value(items[1], items[0])) {
            return 0;
        }
    }
    return 1;
}

/* True if an array has the dtype and shape of a tuple. */
static int is_same_kind(PyArrayObject *array, PyObject *content)
{
    PyObject *shape = PyTuple_GET_ITEM(content, 1);
    if ((PyObject *)PyArray_DESCR(array) != PyTuple_GET_ITEM(content, 0) ||
        PyArray_NDIM(array) != PyTuple_GET_SIZE(shape)) {
        return 0;
    }
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis)) != PyArray_DIM(array, axis)) {
            return 0;
        }
    }
    return 1;
}

/* True if an array has the dtype, shape and bytes of a tuple; None as bytes: any. */
static int is_same_array(PyArrayObject *array, PyObject *content)
{
    PyObject *text = PyTuple_GET_ITEM(content, 2);
    if (!is_same_kind(array, content)) {
        return 0;
    }
    return text == Py_None ||
           (PyArray_IS_C_CONTIGUOUS(array) && PyArray_NBYTES(array) == PyBytes_GET_SIZE(text) &&
            memcmp(PyArray_DATA(array), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)) == 0);
}

/* True if an array has the dtype, the shape and a sample of the elements of a tuple, whose last item
   has their offsets in memory. */
static int has_sample(PyArrayObject *array, PyObject *content)
{
    if (!is_same_kind(array, content) || !PyArray_ISONESEGMENT(array)) {
        return 0;
    }
    const char *data = PyArray_DATA(array), *held = PyBytes_AS_STRING(PyTuple_GET_ITEM(content, 2));
    const char *offsets = PyBytes_AS_STRING(PyTuple_GET_ITEM(content, 3));
    const size_t each = (size_t)PyArray_ITEMSIZE(array);
    const Py_ssize_t count = PyBytes_GET_SIZE(PyTuple_GET_ITEM(content, 3)) / 8;
    for (Py_ssize_t n = 0; n < count; n++) {
        int64_t offset;
        memcpy(&offset, offsets + 8 * n, sizeof offset);
        const char *now = data + offset, *before = held + (size_t)n * each;
        if (each == 8 ? memcmp(now, before, 8) : each == 4 ? memcmp(now, before, 4)
                                                           : memcmp(now, before, each)) {
            return 0;
        }
    }
    return 1;
}

static int is_same_function(PyObject *function, PyObject *parts)
{
    PyObject *given = PyFunction_GET_DEFAULTS(function);
    PyObject *named = PyFunction_GET_KW_DEFAULTS(function);
    return PyFunction_GET_CODE(function) == PyTuple_GET_ITEM(parts, 0) &&
           (given == NULL ? Py_None : given) == PyTuple_GET_ITEM(parts, 1) &&
           (named == NULL ? Py_None : named) == PyTuple_GET_ITEM(parts, 2);
}

static int is_attribute(const Guard *guard)
{
    PyObject *now = PyObject_GetAttr(guard->holder, guard->name);
    if (now == NULL) {
        PyErr_Clear();
        return 0;
    }
    const int is_same = is_value(now, guard->value);
    Py_DECREF(now);
    return is_same;
}

static int is_at_index(const Guard *guard)
{
    const Py_ssize_t count = PyList_GET_SIZE(guard->holder);
    Py_ssize_t index = PyLong_AsSsize_t(guard->name);
    index += index < 0 ? count : 0;
    return index >= 0 && index < count &&
           is_value(PyList_GET_ITEM(guard->holder, index), guard->value);
}

static int holds(const Guard *guard)
{
    switch (guard->kind) {
    case ENTRY: {
        PyObject *now = PyDict_GetItemWithError(guard->holder, guard->name);
        if (now == NULL && PyErr_Occurred()) {
            PyErr_Clear();
        }
        return is_value(now, guard->value);
    }
    case CELL:
        return is_value(PyCell_GET(guard->holder), guard->value);
    case ATTRIBUTE:
        return is_attribute(guard);
    case INDEX:
        return is_at_index(guard);
    case ITEMS:
        return has_items(guard->holder, guard->value);
    case PAIRS:
        return has_pairs(guard->holder, guard->value);
    case HELD_ARRAY:
        return is_same_array((PyArrayObject *)guard->holder, guard->value);
    case FUNCTION:
        return is_same_function(guard->holder, guard->value);
    case SAMPLE:
        return has_sample((PyArrayObject *)guard->holder, guard->value);
    default:
        return 0;
    }
}

/* True if a tuple (dtype, shape, elements, offsets) fits an array. */
static int is_sound_sample(PyArrayObject *array, PyObject *content)
{
    if (PyTuple_GET_SIZE(content) != 4 || !PyTuple_Check(PyTuple_GET_ITEM(content, 1)) ||
        !PyBytes_Check(PyTuple_GET_ITEM(content, 2)) ||
        !PyBytes_Check(PyTuple_GET_ITEM(content, 3))) {
        return 0;
    }
    const Py_ssize_t each = PyArray_ITEMSIZE(array);
    const Py_ssize_t count = PyBytes_GET_SIZE(PyTuple_GET_ITEM(content, 3)) / 8;
    for (Py_ssize_t n = 0; n < count; n++) {
        int64_t offset;
        memcpy(&offset, PyBytes_AS_STRING(PyTuple_GET_ITEM(content, 3)) + 8 * n, sizeof offset);
        if (offset < 0 || offset > PyArray_NBYTES(array) - each) {
            return 0;
        }
    }
    return PyBytes_GET_SIZE(PyTuple_GET_ITEM(content, 2)) == count * each;
}

/* True if the parts of a guard have the types that its check casts them to. */
static int is_sound(const Guard *guard)
{
    PyObject *value = guard->value;
    switch (guard->kind) {
    case ENTRY:
        return PyDict_Check(guard->holder);
    case CELL:
        return PyCell_Check(guard->holder);
    case ATTRIBUTE:
        return PyUnicode_Check(guard->name);
    case INDEX:
        return PyList_Check(guard->holder) && PyLong_Check(guard->name);
    case ITEMS:
        return PyTuple_Check(value);
    case PAIRS:
        return PyDict_Check(guard->holder) && PyDict_Check(value);
    case HELD_ARRAY:
        return PyArray_Check(guard->holder) && PyTuple_Check(value) &&
               PyTuple_GET_SIZE(value) == 3 && PyTuple_Check(PyTuple_GET_ITEM(value, 1)) &&
               (PyTuple_GET_ITEM(value, 2) == Py_None || PyBytes_Check(PyTuple_GET_ITEM(value, 2)));
    case SAMPLE:
        return PyArray_Check(guard->holder) && PyTuple_Check(value) &&
               is_sound_sample((PyArrayObject *)guard->holder, value);
    case FUNCTION:
        return PyFunction_Check(guard->holder) && PyTuple_Check(value) &&
               PyTuple_GET_SIZE(value) == 3;
    default:
        return 0;
    }
}

/* Read tuples (kind, holder, name, value, ...) into guards; NULL with an error set. */
static Guard *read_guards(PyObject *items)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(items);
    Guard *guards = PyMem_Calloc((size_t)count + 1, sizeof *guards);
    if (guards == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        PyObject *item = PyTuple_GET_ITEM(items, n);
        if (PyTuple_Check(item) && PyTuple_GET_SIZE(item) >= 4) {
            guards[n].kind = (enum guard)PyLong_AsLong(PyTuple_GET_ITEM(item, 0));
            guards[n].holder = PyTuple_GET_ITEM(item, 1);
            guards[n].name = PyTuple_GET_ITEM(item, 2);
            guards[n].value = PyTuple_GET_ITEM(item, 3);
        }
        if (PyErr_Occurred() || guards[n].holder == NULL || !is_sound(&guards[n])) {
            PyErr_SetString(PyExc_ValueError, "no such guard");
            PyMem_Free(guards);
            return NULL;
        }
    }
    return guards;
}

#endif
