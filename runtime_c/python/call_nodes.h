/* Nodes: the structure and types of arguments and results, pytrees in preorder.

   Python passes a tuple for each node, (kind, object, numbers): an array's dtype and shape, None
   and the length of a tuple or list, the keys of a dict. The node of an array that does not lie in
   row-major order has a fourth item, the order of its axes in memory, and one with gaps two more: its
   strides, and how far from its first element the memory begins that the program reads, in bytes. */

#ifndef TRANSPILE_CALL_NODES_H
#define TRANSPILE_CALL_NODES_H

#include "call_python.h"

/* Containers come before their children. */
enum kind { ARRAY, NUMBER, TUPLE, LIST, DICT, NONE, STATIC, KINDS };

typedef struct {
    enum kind kind;
    /* ARRAY: the dtype; NUMBER: the Python type; DICT: the keys; STATIC: the value. Borrowed. */
    PyObject *object;
    int count;       /* of dimensions or children */
    npy_intp *shape; /* ARRAY: `count` extents */
    int is_unused;   /* ARRAY: the program does not read it */
    int *order;      /* ARRAY: its axes from the longest stride to the shortest; NULL: row-major */
    npy_intp *strides; /* ARRAY with gaps: of each axis; those of a single element are not read */
    npy_intp offset;   /* of what the program reads from the first element: not positive */
} Node;

/* The numbers of a tuple, each in [least, bound); NULL with an error set. */
static int *read_numbers(PyObject *items, int least, int bound)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(items);
    int *numbers = PyMem_Calloc((size_t)count + 1, sizeof *numbers);
    if (numbers == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        const long number = PyLong_AsLong(PyTuple_GET_ITEM(items, n));
        if (number >= bound || number < least) {
            PyErr_SetString(PyExc_ValueError, "a number is out of range");
        }
        if (PyErr_Occurred()) {
            PyMem_Free(numbers);
            return NULL;
        }
        numbers[n] = (int)number;
    }
    return numbers;
}

/* The integers of a tuple; NULL with an error set. */
static npy_intp *read_sizes(PyObject *items)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(items);
    npy_intp *sizes = PyMem_Calloc((size_t)count + 1, sizeof *sizes);
    if (sizes == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        sizes[n] = PyLong_AsSsize_t(PyTuple_GET_ITEM(items, n));
    }
    if (PyErr_Occurred()) {
        PyMem_Free(sizes);
        return NULL;
    }
    return sizes;
}

static void free_nodes(Node *nodes, Py_ssize_t count)
{
    for (Py_ssize_t n = 0; nodes != NULL && n < count; n++) {
        PyMem_Free(nodes[n].order);
        PyMem_Free(nodes[n].strides);
        PyMem_Free(nodes[n].shape);
    }
    PyMem_Free(nodes);
}

/* Read (kind, object, numbers[, order[, strides, offset]]) into a node; 0, with an error set, where
   it is malformed. */
static int read_node(PyObject *item, Node *node)
{
    int kind;
    PyObject *numbers, *order = NULL, *strides = NULL;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a node is a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(item, "iOO!|O!O!n", &kind, &node->object, &PyTuple_Type, &numbers,
                          &PyTuple_Type, &order, &PyTuple_Type, &strides, &node->offset)) {
        return 0;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(numbers);
    node->kind = (enum kind)kind;
    int is_sound = kind >= 0 && kind < KINDS && count <= NPY_MAXDIMS;
    if (kind == ARRAY) {
        is_sound = is_sound && (PyArray_DescrCheck(node->object) || node->object == Py_None);
    }
    if (order != NULL) {
        is_sound = is_sound && kind == ARRAY && PyTuple_GET_SIZE(order) == count;
    }
    if (strides != NULL) {
        is_sound = is_sound && PyTuple_GET_SIZE(strides) == count && node->offset <= 0;
    }
    if (kind == DICT) {
        is_sound = is_sound && PyTuple_CheckExact(node->object);
        for (Py_ssize_t n = 0; is_sound && n < PyTuple_GET_SIZE(node->object); n++) {
            is_sound = PyUnicode_CheckExact(PyTuple_GET_ITEM(node->object, n));
        }
    }
    if (kind == TUPLE || kind == LIST) {
        is_sound = is_sound && count == 1;
    }
    if (!is_sound) {
        PyErr_SetString(PyExc_ValueError, "no such node");
        return 0;
    }
    node->count = (int)count;
    node->shape = read_sizes(numbers);
    if (node->shape == NULL) {
        return 0;
    }
    if (order != NULL) {
        node->order = read_numbers(order, 0, (int)count);
        if (node->order == NULL) {
            return 0;
        }
    }
    if (strides != NULL) {
        node->strides = read_sizes(strides);
        if (node->strides == NULL) {
            return 0;
        }
    }
    if (kind == TUPLE || kind == LIST) {
        node->count = (int)node->shape[0];
    }
    else if (kind == DICT) {
        node->count = (int)PyTuple_GET_SIZE(node->object);
    }
    return !PyErr_Occurred();
}

/* The nodes of a tuple, to be freed with `free_nodes`; NULL with an error set. */
static Node *read_nodes(PyObject *items)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(items);
    Node *nodes = PyMem_Calloc((size_t)count + 1, sizeof *nodes);
    if (nodes == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        if (!read_node(PyTuple_GET_ITEM(items, n), &nodes[n])) {
            free_nodes(nodes, count);
            return NULL;
        }
    }
    return nodes;
}

/* As `read_nodes`, for arrays alone. */
static Node *read_arrays(PyObject *items)
{
    Node *nodes = read_nodes(items);
    for (Py_ssize_t n = 0; nodes != NULL && n < PyTuple_GET_SIZE(items); n++) {
        if (nodes[n].kind != ARRAY || nodes[n].object == Py_None) {
            PyErr_SetString(PyExc_ValueError, "a program has arrays");
            free_nodes(nodes, PyTuple_GET_SIZE(items));
            return NULL;
        }
    }
    return nodes;
}

/* The number of leaves among the nodes of a tuple. */
static int count_leaves(const Node *nodes, PyObject *items)
{
    int leaves = 0;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(items); n++) {
        leaves += nodes[n].kind == ARRAY || nodes[n].kind == NUMBER;
    }
    return leaves;
}

#endif
