/* Match arguments with nodes. Arrays and numbers that match become leaves of the frame. Small arrays
   with gaps are copied into row-major order; nothing else is converted. */

#ifndef TRANSPILE_CALL_ARGUMENTS_H
#define TRANSPILE_CALL_ARGUMENTS_H

#include "call_frame.h"

/* In bytes: `LARGEST_COPY` of transpile/trace/call_key.py. Larger arrays with gaps are left to
   Python, which has programs that read them where they lie. */
enum { LARGEST_COPY = 1 << 14 };

/* Equal dtypes are usually one object; those of unpickled arrays, and aliases such as `longlong`,
   are others. */
static int is_dtype(const PyArray_Descr *dtype, PyObject *wanted)
{
    const PyArray_Descr *other = (const PyArray_Descr *)wanted;
    return dtype == other ||
           (dtype->kind == other->kind && dtype->byteorder == other->byteorder &&
            PyDataType_ELSIZE(dtype) == PyDataType_ELSIZE(other) &&
            PyTypeNum_ISNUMBER(dtype->type_num) && PyTypeNum_ISNUMBER(other->type_num));
}

/* A NumPy scalar is read as an array without dimensions. */
static int is_numpy_number(const Node *node, PyObject *value, Frame *frame)
{
    const PyArray_Descr *dtype = (const PyArray_Descr *)node->object;
    Leaf *leaf = &frame->leaves[frame->count];
    if (node->count != 0 || Py_TYPE(value) != dtype->typeobj ||
        !PyTypeNum_ISNUMBER(dtype->type_num) ||
        PyDataType_ELSIZE(dtype) > (npy_intp)sizeof leaf->number) {
        return 0;
    }
    PyArray_ScalarAsCtype(value, &leaf->number);
    leaf->held = NULL;
    leaf->data = &leaf->number;
    frame->count++;
    return 1;
}

/* True if an array of the node's shape is contiguous with its axes in the order of the node. */
static int lies_in_order(const Node *node, PyArrayObject *array)
{
    npy_intp stride = PyArray_ITEMSIZE(array);
    for (int n = node->count - 1; n >= 0; n--) {
        const int axis = node->order[n];
        if (node->shape[axis] != 1 && PyArray_STRIDE(array, axis) != stride) {
            return 0;
        }
        stride *= node->shape[axis];
    }
    return 1;
}

/* True if an array of the node's shape has the strides of the node. */
static int has_strides(const Node *node, PyArrayObject *array)
{
    for (int axis = 0; axis < node->count; axis++) {
        if (node->shape[axis] != 1 && PyArray_STRIDE(array, axis) != node->strides[axis]) {
            return 0;
        }
    }
    return 1;
}

static int lies_as_wanted(const Node *node, PyArrayObject *array)
{
    if (node->strides != NULL) {
        return has_strides(node, array);
    }
    return node->order == NULL ? PyArray_IS_C_CONTIGUOUS(array) : lies_in_order(node, array);
}

/* True if an array is contiguous with its axes in some order. An axis of two elements or more has
   another stride than every axis that lies inside it. */
static int lies_in_some_order(PyArrayObject *array)
{
    int left = 0;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        left += PyArray_DIM(array, axis) != 1;
    }
    npy_intp stride = PyArray_ITEMSIZE(array);
    for (int axis = 0; left > 0 && axis < PyArray_NDIM(array); axis++) {
        if (PyArray_DIM(array, axis) != 1 && PyArray_STRIDE(array, axis) == stride) {
            stride *= PyArray_DIM(array, axis);
            left--;
            axis = -1; /* the next one may be any */
        }
    }
    return left == 0;
}

/* A new reference to the array that the program reads: the array itself, or a copy in row-major
   order of a small one with gaps. NULL, without an error, where it is left to Python, which has a
   program for each layout. */
static PyObject *readable(const Node *node, PyArrayObject *array)
{
    const int is_aligned = PyArray_ISALIGNED(array);
    if (node->is_unused || (is_aligned && lies_as_wanted(node, array))) {
        return Py_NewRef((PyObject *)array);
    }
    if (node->order != NULL || PyArray_NBYTES(array) > LARGEST_COPY || lies_in_some_order(array)) {
        return NULL;
    }
    PyObject *copy = PyArray_NewCopy(array, NPY_CORDER);
    if (copy == NULL) {
        PyErr_Clear(); /* Python releases memory, or raises the error again */
    }
    return copy;
}

static int is_array(const Node *node, PyObject *value, Frame *frame)
{
    if (Py_TYPE(value) != &PyArray_Type) {
        return is_numpy_number(node, value, frame);
    }
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_NDIM(array) != node->count || !is_dtype(PyArray_DESCR(array), node->object)) {
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS(array);
    for (int axis = 0; axis < node->count; axis++) {
        if (shape[axis] != node->shape[axis]) {
            return 0;
        }
    }
    PyObject *held = readable(node, array);
    if (held == NULL) {
        return 0;
    }
    Leaf *leaf = &frame->leaves[frame->count++];
    leaf->held = held;
    leaf->is_copy = held != value;
    leaf->data = PyArray_BYTES((PyArrayObject *)held) + node->offset;
    return 1;
}

static int is_number(const Node *node, PyObject *value, Frame *frame)
{
    if ((PyObject *)Py_TYPE(value) != node->object) {
        return 0;
    }
    Leaf *leaf = &frame->leaves[frame->count];
    if (PyFloat_CheckExact(value)) {
        leaf->number.real = PyFloat_AS_DOUBLE(value);
    }
    else if (PyLong_CheckExact(value)) {
        int overflow = 0;
        leaf->number.integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) {
            return 0;
        }
    }
    else if (PyBool_Check(value)) {
        leaf->number.boolean = value == Py_True;
    }
    else {
        leaf->number.pair = PyComplex_AsCComplex(value);
    }
    leaf->held = NULL;
    leaf->data = &leaf->number;
    frame->count++;
    return 1;
}

/* A static argument matches if it is the same object, or an equal int or str. */
static int is_static(const Node *node, PyObject *value)
{
    if (value == node->object) {
        return 1;
    }
    if (Py_TYPE(value) != Py_TYPE(node->object)) {
        return 0;
    }
    if (!PyLong_CheckExact(value) && !PyUnicode_CheckExact(value)) {
        return 0;
    }
    const int equal = PyObject_RichCompareBool(value, node->object, Py_EQ);
    if (equal < 0) {
        PyErr_Clear();
    }
    return equal > 0;
}

static int matches(const Node **cursor, PyObject *value, Frame *frame);

/* As `matches`, for a borrowed object whose container another thread may change. */
static int matches_held(const Node **cursor, PyObject *value, Frame *frame)
{
    Py_INCREF(value);
    const int is_match = matches(cursor, value, frame);
    Py_DECREF(value);
    return is_match;
}

static int is_dict(const Node **cursor, const Node *node, PyObject *value, Frame *frame)
{
    if (!PyDict_CheckExact(value) || PyDict_GET_SIZE(value) != node->count) {
        return 0;
    }
    for (int child = 0; child < node->count; child++) {
        PyObject *item = PyDict_GetItemWithError(value, PyTuple_GET_ITEM(node->object, child));
        if (item == NULL) {
            PyErr_Clear();
            return 0;
        }
        if (!matches_held(cursor, item, frame)) {
            return 0;
        }
    }
    return 1;
}

/* True if a value matches the nodes from `*cursor` on. The cursor is advanced past them, and the
   leaves are appended to the frame. The caller releases the leaves, also after a mismatch. */
static int matches(const Node **cursor, PyObject *value, Frame *frame)
{
    const Node *node = (*cursor)++;
    switch (node->kind) {
    case ARRAY:
        return is_array(node, value, frame);
    case NUMBER:
        return is_number(node, value, frame);
    case TUPLE:
        if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != node->count) {
            return 0;
        }
        for (int child = 0; child < node->count; child++) {
            if (!matches(cursor, PyTuple_GET_ITEM(value, child), frame)) {
                return 0;
            }
        }
        return 1;
    case LIST:
        if (!PyList_CheckExact(value) || PyList_GET_SIZE(value) != node->count) {
            return 0;
        }
        for (int child = 0; child < node->count; child++) {
            if (PyList_GET_SIZE(value) != node->count ||
                !matches_held(cursor, PyList_GET_ITEM(value, child), frame)) {
                return 0;
            }
        }
        return 1;
    case DICT:
        return is_dict(cursor, node, value, frame);
    case NONE:
        return value == Py_None;
    case STATIC:
        return is_static(node, value);
    default:
        return 0;
    }
}

/* The argument of a name, borrowed, or NULL. Names are usually interned: identity first. */
static PyObject *named(PyObject *name, PyObject *const *values, PyObject *given)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(given);
    for (Py_ssize_t n = 0; n < count; n++) {
        if (PyTuple_GET_ITEM(given, n) == name) {
            return values[n];
        }
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(given, n), name) == 0) {
            return values[n];
        }
    }
    return NULL;
}

#endif
