/* The type Program: a program, which is called with a list of its inputs. */

#ifndef TRANSPILE_CALL_PROGRAM_H
#define TRANSPILE_CALL_PROGRAM_H

#include "call_compute.h"

/* So many results in a list, which steals their references. */
static PyObject *as_list(PyObject **results, int count)
{
    PyObject *arrays = PyList_New(count);
    for (int n = 0; n < count; n++) {
        if (arrays == NULL) {
            Py_DECREF(results[n]);
        }
        else {
            PyList_SET_ITEM(arrays, n, results[n]);
        }
    }
    return arrays;
}

/* Make the inputs in a list or tuple leaves of the frame, converted where needed; 0 with an error
   set. */
static int read_inputs(const Program *program, PyObject *items, Frame *frame)
{
    for (int n = 0;; n++) { /* a conversion runs Python, which may change the list */
        if (PySequence_Fast_GET_SIZE(items) != program->input_count) {
            PyErr_Format(PyExc_ValueError, "the program takes %d arrays, not %zd",
                         program->input_count, PySequence_Fast_GET_SIZE(items));
            return 0;
        }
        if (n == program->input_count) {
            return 1;
        }
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(items, n));
        int is_taken = is_array(&program->inputs[n], item, frame);
        if (!is_taken) {
            PyObject *converted = PyObject_CallFunction(program->convert, "Oi", item, n);
            if (converted == NULL && has_freed_memory()) {
                converted = PyObject_CallFunction(program->convert, "Oi", item, n);
            }
            if (converted != NULL) {
                is_taken = is_array(&program->inputs[n], converted, frame);
                if (!is_taken) {
                    PyErr_SetString(PyExc_TypeError, "an input is not what the program reads");
                }
                Py_DECREF(converted);
            }
        }
        Py_DECREF(item);
        if (!is_taken) {
            return 0;
        }
    }
}

/* program(inputs) -> outputs */
static PyObject *program_call(PyObject *callable, PyObject *const *args, size_t flags,
                              PyObject *names)
{
    Program *program = (Program *)callable;
    if (PyVectorcall_NARGS(flags) != 1 || names != NULL) {
        PyErr_SetString(PyExc_TypeError, "a program takes a list of its inputs");
        return NULL;
    }
    PyObject *items = PySequence_Fast(args[0], "a program takes a list of its inputs");
    if (items == NULL) {
        return NULL;
    }
    PyObject *outputs = NULL;
    Frame frame;
    open_frame(&frame);
    if (!make_room(&frame, program, program->input_count, program->frame_size)) {
        PyErr_NoMemory();
    }
    else if (read_inputs(program, items, &frame) && compute(program, &frame, NULL)) {
        outputs = as_list(frame.results, program->result_count);
    }
    close_frame(&frame);
    Py_DECREF(items);
    return outputs;
}

/* The nodes of the lengths of results, to be freed with `free_nodes`; NULL with an error set. */
static Node *read_lengths(PyObject *items, int results, int outputs)
{
    Node *nodes = read_nodes(items);
    for (int n = 0; nodes != NULL && n < results; n++) {
        if (nodes[n].kind != ARRAY ||
            (nodes[n].count > 0 && (nodes[n].shape[0] < results || nodes[n].shape[0] >= outputs))) {
            PyErr_SetString(PyExc_ValueError, "a length is one of the further outputs");
            free_nodes(nodes, results);
            return NULL;
        }
    }
    return nodes;
}

/* Program(inputs, outputs, aliases, convert, fail, address, workspace, makers, spare, is_brief,
   callbacks, called, sizes, lengths, resize); see the fields. A node is (kind, object, numbers): the dtype and the shape,
   None and the count, or the names. */
static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"inputs",  "outputs",   "aliases", "convert", "fail",
                            "address", "workspace", "makers",  "spare",   "is_brief",
                            "callbacks", "called", "sizes", "lengths", "resize", NULL};
    PyObject *inputs, *outputs, *aliases, *convert, *on_failure, *address, *makers, *spare;
    PyObject *callbacks, *called, *sizes = Py_None, *lengths = Py_None, *resize = Py_None;
    Py_ssize_t workspace;
    int is_brief;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!OOO!nO!OpOO!|OOO", words, &PyTuple_Type,
                                     &inputs, &PyTuple_Type, &outputs, &PyTuple_Type, &aliases,
                                     &convert, &on_failure, &PyLong_Type, &address, &workspace,
                                     &PyTuple_Type, &makers, &spare, &is_brief,
                                     &callbacks, &PyLong_Type, &called, &sizes, &lengths, &resize)) {
        return NULL;
    }
    Program *program = (Program *)type->tp_alloc(type, 0);
    if (program == NULL) {
        return NULL;
    }
    program->vectorcall = program_call;
    program->owned =
        PyTuple_Pack(9, inputs, outputs, convert, on_failure, makers, spare, callbacks, sizes,
                     resize);
    program->convert = convert;
    program->fail = on_failure;
    /* ISO C has no conversion from `void *` to function pointers; POSIX has. */
    program->function = (int (*)(void *const *))PyLong_AsVoidPtr(address);
    program->called = PyLong_AsVoidPtr(called);
    program->workspace = workspace;
    program->makers = makers;
    program->spare = spare == Py_None ? NULL : spare;
    program->is_brief = is_brief;
    program->callbacks = callbacks == Py_None ? NULL : callbacks;
    program->resize = resize == Py_None ? NULL : resize;
    program->sizes = sizes == Py_None ? NULL : PyArray_DATA((PyArrayObject *)sizes);
    if (PyTuple_GET_SIZE(aliases) != PyTuple_GET_SIZE(outputs) ||
        PyTuple_GET_SIZE(makers) != PyTuple_GET_SIZE(outputs) + 1) {
        PyErr_SetString(PyExc_ValueError, "each output has an alias and a maker");
    }
    if (spare != Py_None && !PyList_Check(spare)) {
        PyErr_SetString(PyExc_TypeError, "spare workspaces are a list, or None");
    }
    if (program->owned == NULL || PyErr_Occurred()) {
        Py_DECREF(program);
        return NULL;
    }
    program->inputs = read_arrays(inputs);
    program->input_count = (int)PyTuple_GET_SIZE(inputs);
    program->outputs = program->inputs == NULL ? NULL : read_arrays(outputs);
    program->output_count = (int)PyTuple_GET_SIZE(outputs);
    program->aliases =
        program->outputs == NULL ? NULL : read_numbers(aliases, -1, program->input_count);
    program->result_count = program->output_count;
    if (program->aliases != NULL && lengths != Py_None &&
        (!PyTuple_Check(lengths) || PyTuple_GET_SIZE(lengths) > program->output_count)) {
        PyErr_SetString(PyExc_ValueError, "each result has the number of its length, or -1");
    }
    else if (program->aliases != NULL && lengths != Py_None) {
        program->result_count = (int)PyTuple_GET_SIZE(lengths);
        program->lengths = read_lengths(lengths, program->result_count, program->output_count);
    }
    if (!PyErr_Occurred() && program->resize != NULL && program->lengths == NULL) {
        PyErr_SetString(PyExc_ValueError, "a program is resized by the lengths of its results");
    }
    program->frame_size = frame_size(program, program->input_count);
    if (PyErr_Occurred()) {
        Py_DECREF(program);
        return NULL;
    }
    return (PyObject *)program;
}

static int program_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Program *)self)->owned);
    Py_VISIT(((Program *)self)->resized);
    Py_VISIT(((Program *)self)->context);
    return 0;
}

static void program_dealloc(PyObject *self)
{
    Program *program = (Program *)self;
    PyObject_GC_UnTrack(self);
    free_nodes(program->inputs, program->input_count);
    free_nodes(program->outputs, program->output_count);
    PyMem_Free(program->aliases);
    free_nodes(program->lengths, program->result_count);
    Py_CLEAR(program->resized);
    Py_CLEAR(program->context);
    Py_CLEAR(program->owned);
    Py_TYPE(self)->tp_free(self);
}

/* No tp_clear, as for the type Entry. */
static PyTypeObject ProgramType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "transpile.call.Program",
    .tp_basicsize = sizeof(Program),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A program, called with a list of its inputs.",
    .tp_new = program_new,
    .tp_dealloc = program_dealloc,
    .tp_traverse = program_traverse,
    .tp_vectorcall_offset = offsetof(Program, vectorcall),
    .tp_call = PyVectorcall_Call,
};

#endif
