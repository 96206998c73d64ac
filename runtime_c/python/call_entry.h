/* The type Entry, one signature of one function; the search for an entry that matches a call; the
   result of a call. */

#ifndef TRANSPILE_CALL_ENTRY_H
#define TRANSPILE_CALL_ENTRY_H

#include "call_guards.h"
#include "call_program.h"

typedef struct {
    PyObject_HEAD
    PyObject *key;   /* the call's, by which Python replaces an entry */
    PyObject *owned; /* a tuple that keeps alive what the fields below borrow */
    Node *arguments; /* positional ones, then those of `names` */
    Py_ssize_t positional;
    PyObject *names;
    int leaves;
    size_t frame_size; /* of a call, in bytes */
    Program *program;
    int *inputs;  /* for each input of the program its leaf */
    int *outputs; /* for each leaf of the result its output, of a program that changes arguments where
                     they lie; NULL: they are the results of the program */
    int result_leaves;
    Node *result; /* NULL: `finish(list of arrays)` returns the result */
    PyObject *finish;
    Guard *guards;
    Py_ssize_t guard_count;
    PyObject *changed; /* a Python function that checks the other guards, or NULL */
} Entry;

static int matches_call(const Entry *entry, PyObject *const *args, Py_ssize_t count,
                        PyObject *given, Frame *frame)
{
    const Py_ssize_t names = PyTuple_GET_SIZE(entry->names);
    if (entry->positional != count || names != (given == NULL ? 0 : PyTuple_GET_SIZE(given))) {
        return 0;
    }
    const Node *cursor = entry->arguments;
    for (Py_ssize_t n = 0; n < count; n++) {
        if (!matches(&cursor, args[n], frame)) {
            return 0;
        }
    }
    for (Py_ssize_t n = 0; n < names; n++) {
        PyObject *value = named(PyTuple_GET_ITEM(entry->names, n), args + count, given);
        if (value == NULL || !matches(&cursor, value, frame)) {
            return 0;
        }
    }
    return 1;
}

/* True if each argument that the function assigns to can take its new value: it is writable, the
   program reads no copy of it, and no other one aliases it. Else Python copies, or raises. */
static int is_in_place(const Entry *entry, const Frame *frame)
{
    const Program *program = entry->program;
    for (int n = 0; entry->outputs != NULL && n < program->output_count; n++) {
        const int input = program->aliases[n];
        if (input >= 0) {
            const Leaf *leaf = input_leaf(frame, entry->inputs, input);
            if (leaf->held == NULL || leaf->is_copy ||
                !PyArray_ISWRITEABLE((PyArrayObject *)leaf->held) ||
                is_shared(program, frame, entry->inputs, input)) {
                return 0;
            }
        }
    }
    return 1;
}

/* True if all guards hold. */
static int is_current(const Entry *entry)
{
    for (Py_ssize_t n = 0; n < entry->guard_count; n++) {
        if (!holds(&entry->guards[n])) {
            return 0;
        }
    }
    if (entry->changed == NULL) {
        return 1;
    }
    PyObject *answer = PyObject_CallNoArgs(entry->changed);
    const int changed = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (changed < 0) {
        PyErr_Clear(); /* the call is made in Python, which raises the error again */
    }
    return changed == 0;
}

/* Defined below. */
static PyTypeObject EntryType;

/* The entry that matches a call, a new reference, with its leaves in the frame; NULL where there is
   none. It is swapped with the first entry of the list, where the next search begins. */
static Entry *find_entry(PyObject *entries, PyObject *const *args, Py_ssize_t count,
                         PyObject *given, Frame *frame)
{
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(entries); n++) {
        PyObject *item = PyList_GET_ITEM(entries, n);
        if (Py_TYPE(item) != &EntryType) {
            return NULL;
        }
        Entry *entry = (Entry *)Py_NewRef(item);
        if (make_room(frame, entry->program, entry->leaves, entry->frame_size) &&
            matches_call(entry, args, count, given, frame)) {
            if (n > 0 && n < PyList_GET_SIZE(entries) && PyList_GET_ITEM(entries, n) == item) {
                PyList_SET_ITEM(entries, n, PyList_GET_ITEM(entries, 0));
                PyList_SET_ITEM(entries, 0, item);
            }
            if (is_in_place(entry, frame) && is_current(entry)) {
                return entry;
            }
            release_leaves(frame);
            Py_DECREF(entry);
            return NULL;
        }
        release_leaves(frame);
        Py_DECREF(entry);
    }
    return NULL;
}

/* The part of the result from the node `*cursor` on; it steals the references to its arrays, from
   `*next` on. */
static PyObject *build_result(const Node **cursor, PyObject ***next)
{
    const Node *node = (*cursor)++;
    if (node->kind == ARRAY) {
        PyObject *array = *(*next)++;
        if (node->order == NULL) {
            return array;
        }
        npy_intp axes[NPY_MAXDIMS];
        PyArray_Dims order = {axes, node->count};
        for (int n = 0; n < order.len; n++) {
            axes[n] = node->order[n];
        }
        PyObject *view = PyArray_Transpose((PyArrayObject *)array, &order);
        Py_DECREF(array);
        return view;
    }
    if (node->kind == NONE) {
        return Py_NewRef(Py_None);
    }
    PyObject *result = node->kind == TUPLE  ? PyTuple_New(node->count)
                     : node->kind == LIST ? PyList_New(node->count)
                                          : PyDict_New();
    for (int child = 0; result != NULL && child < node->count; child++) {
        PyObject *item = build_result(cursor, next);
        if (item == NULL) {
            Py_CLEAR(result);
        }
        else if (node->kind == TUPLE) {
            PyTuple_SET_ITEM(result, child, item);
        }
        else if (node->kind == LIST) {
            PyList_SET_ITEM(result, child, item);
        }
        else {
            if (PyDict_SetItem(result, PyTuple_GET_ITEM(node->object, child), item) < 0) {
                Py_CLEAR(result);
            }
            Py_DECREF(item);
        }
    }
    return result;
}

/* The result of the function of its leaves; it steals the references to them. */
static PyObject *result_of_leaves(const Entry *entry, PyObject **leaves)
{
    if (entry->result != NULL) {
        const Node *cursor = entry->result;
        PyObject **next = leaves;
        PyObject *result = build_result(&cursor, &next);
        for (; result == NULL && next < leaves + entry->result_leaves; next++) {
            Py_DECREF(*next);
        }
        return result;
    }
    PyObject *arrays = as_list(leaves, entry->result_leaves);
    PyObject *result = arrays == NULL ? NULL : PyObject_CallOneArg(entry->finish, arrays);
    Py_XDECREF(arrays);
    return result;
}

/* The result of the function; it steals the references to the arrays. */
static PyObject *result_of_call(const Entry *entry, PyObject **results)
{
    if (entry->outputs == NULL) {
        return result_of_leaves(entry, results);
    }
    PyObject **leaves = PyMem_New(PyObject *, (size_t)entry->result_leaves);
    for (int n = 0; leaves != NULL && n < entry->result_leaves; n++) {
        leaves[n] = Py_NewRef(results[entry->outputs[n]]);
    }
    for (int n = 0; n < entry->program->result_count; n++) {
        Py_DECREF(results[n]);
    }
    PyObject *result = leaves == NULL ? PyErr_NoMemory() : result_of_leaves(entry, leaves);
    PyMem_Free(leaves);
    return result;
}

/* Mark the arrays that are no input of the program: they may lie in memory in any way. */
static void mark_unused(const Entry *entry, Py_ssize_t nodes)
{
    int leaf = 0;
    for (Py_ssize_t n = 0; n < nodes; n++) {
        Node *node = &entry->arguments[n];
        if (node->kind != ARRAY && node->kind != NUMBER) {
            continue;
        }
        node->is_unused = 1;
        for (int input = 0; input < entry->program->input_count; input++) {
            node->is_unused &= entry->inputs[input] != leaf;
        }
        leaf++;
    }
}

enum { OWNED_PROGRAM, OWNED_ARGUMENTS, OWNED_NAMES, OWNED_RESULT, OWNED_FINISH, OWNED_GUARDS };

/* Parse the tuples in `owned` into the other fields; 0 with an error set. */
static int read_entry(Entry *entry, PyObject *inputs, PyObject *outputs)
{
    PyObject *const arguments = PyTuple_GET_ITEM(entry->owned, OWNED_ARGUMENTS);
    PyObject *const result = PyTuple_GET_ITEM(entry->owned, OWNED_RESULT);
    PyObject *const guards = PyTuple_GET_ITEM(entry->owned, OWNED_GUARDS);
    entry->arguments = read_nodes(arguments);
    if (entry->arguments == NULL) {
        return 0;
    }
    entry->leaves = count_leaves(entry->arguments, arguments);
    entry->frame_size = frame_size(entry->program, entry->leaves);
    entry->guards = read_guards(guards);
    if (entry->guards == NULL) {
        return 0;
    }
    entry->guard_count = PyTuple_GET_SIZE(guards);
    if (PyTuple_GET_SIZE(inputs) != entry->program->input_count) {
        PyErr_SetString(PyExc_ValueError, "each input of the program is a leaf");
        return 0;
    }
    entry->inputs = read_numbers(inputs, 0, entry->leaves);
    if (entry->inputs == NULL) {
        return 0;
    }
    mark_unused(entry, PyTuple_GET_SIZE(arguments));
    entry->result_leaves = entry->program->result_count;
    if (outputs != Py_None) {
        entry->result_leaves = (int)PyTuple_GET_SIZE(outputs);
        entry->outputs = read_numbers(outputs, 0, entry->program->result_count);
        if (entry->outputs == NULL) {
            return 0;
        }
    }
    if (result == Py_None) {
        return 1;
    }
    entry->result = read_nodes(result);
    if (entry->result == NULL) {
        return 0;
    }
    if (count_leaves(entry->result, result) != entry->result_leaves) {
        PyErr_SetString(PyExc_ValueError, "the result has other leaves than the program");
        return 0;
    }
    return 1;
}

/* Entry(key, arguments, positional, names, program, inputs, result, finish, guards, changed, outputs);
   see the fields, and Program for nodes. */
static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"key",    "arguments", "positional", "names",   "program", "inputs",
                            "result", "finish",    "guards",     "changed", "outputs", NULL};
    PyObject *key, *arguments, *names, *program, *inputs, *result, *finish, *guards, *changed;
    PyObject *outputs = Py_None;
    Py_ssize_t positional;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!nO!O!O!OOO!O|O", words, &key, &PyTuple_Type,
                                     &arguments, &positional, &PyTuple_Type, &names, &ProgramType,
                                     &program, &PyTuple_Type, &inputs, &result, &finish,
                                     &PyTuple_Type, &guards, &changed, &outputs)) {
        return NULL;
    }
    if (result != Py_None && !PyTuple_Check(result)) {
        PyErr_SetString(PyExc_TypeError, "a result is a tuple of nodes, or None");
        return NULL;
    }
    if (outputs != Py_None && !PyTuple_Check(outputs)) {
        PyErr_SetString(PyExc_TypeError, "outputs are a tuple of numbers, or None");
        return NULL;
    }
    Entry *entry = (Entry *)type->tp_alloc(type, 0);
    if (entry == NULL) {
        return NULL;
    }
    entry->key = Py_NewRef(key);
    entry->owned = PyTuple_Pack(7, program, arguments, names, result, finish, guards, changed);
    entry->positional = positional;
    entry->names = names;
    entry->program = (Program *)program;
    entry->finish = finish;
    entry->changed = changed == Py_None ? NULL : changed;
    if (entry->owned == NULL || !read_entry(entry, inputs, outputs)) {
        Py_DECREF(entry);
        return NULL;
    }
    return (PyObject *)entry;
}

static int entry_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Entry *)self)->key);
    Py_VISIT(((Entry *)self)->owned);
    return 0;
}

static void entry_dealloc(PyObject *self)
{
    Entry *entry = (Entry *)self;
    PyObject_GC_UnTrack(self);
    if (entry->owned != NULL) {
        free_nodes(entry->arguments,
                   PyTuple_GET_SIZE(PyTuple_GET_ITEM(entry->owned, OWNED_ARGUMENTS)));
        if (entry->result != NULL) {
            free_nodes(entry->result,
                       PyTuple_GET_SIZE(PyTuple_GET_ITEM(entry->owned, OWNED_RESULT)));
        }
    }
    PyMem_Free(entry->guards);
    PyMem_Free(entry->inputs);
    PyMem_Free(entry->outputs);
    Py_CLEAR(entry->key);
    Py_CLEAR(entry->owned);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef entry_members[] = {
    {"key", T_OBJECT, offsetof(Entry, key), READONLY, "the key of the calls that it matches"},
    {NULL, 0, 0, 0, NULL},
};

/* No tp_clear: an entry refers to tuples, and the collector breaks a cycle at the list of entries
   or at a dict. */
static PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "transpile.call.Entry",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "One signature of one function.",
    .tp_new = entry_new,
    .tp_dealloc = entry_dealloc,
    .tp_traverse = entry_traverse,
    .tp_members = entry_members,
};

#endif
