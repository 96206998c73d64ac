/* The type Program: calls a program, and makes the arrays of its outputs and its workspace. */

#ifndef TRANSPILE_CALL_PROGRAM_H
#define TRANSPILE_CALL_PROGRAM_H

#include "call_arguments.h"

/* A new array from the maker of an output, or of the workspace: the number after the last output.
   It is checked, as in transpile/runtime/program_call.py, because the program writes to it. */
static PyObject *made_array(const Program *program, int output, PyArray_Descr *dtype, int count,
                            const npy_intp *shape)
{
    PyObject *made = PyObject_CallNoArgs(PyTuple_GET_ITEM(program->makers, output));
    PyArrayObject *array = (PyArrayObject *)made;
    if (made != NULL &&
        !(PyArray_CheckExact(made) && PyArray_ISCARRAY(array) &&
          PyArray_EquivTypes(PyArray_DESCR(array), dtype) && PyArray_NDIM(array) == count &&
          PyArray_CompareLists(PyArray_DIMS(array), shape, count))) {
        PyErr_SetString(PyExc_TypeError,
                        "the maker of an array makes something else than a writable array in "
                        "row-major order, aligned, of its dtype and shape");
        Py_CLEAR(made);
    }
    return made;
}

static int has_maker(const Program *program, int output)
{
    return PyTuple_GET_ITEM(program->makers, output) != Py_None;
}

/* The leaf of an input; NULL as `inputs`: the leaves are the inputs. */
static const Leaf *input_leaf(const Frame *frame, const int *inputs, int input)
{
    return &frame->leaves[inputs == NULL ? input : inputs[input]];
}

/* True if another input aliases this one. All are contiguous. */
static int is_shared(const Program *program, const Frame *frame, const int *inputs, int input)
{
    PyArrayObject *array = (PyArrayObject *)input_leaf(frame, inputs, input)->held;
    const char *const start = PyArray_BYTES(array);
    const char *const end = start + PyArray_NBYTES(array);
    for (int n = 0; n < program->input_count; n++) {
        PyArrayObject *other = (PyArrayObject *)input_leaf(frame, inputs, n)->held;
        if (n != input && other != NULL) {
            const char *const from = PyArray_BYTES(other);
            if (from < end && start < from + PyArray_NBYTES(other)) {
                return 1;
            }
        }
    }
    return 0;
}

/* The array of an output: a new one, or the donated input whose memory it takes. */
static PyObject *output_array(const Program *program, const Frame *frame, const int *inputs,
                              int output)
{
    const int alias = program->aliases[output];
    PyObject *held = alias < 0 ? NULL : input_leaf(frame, inputs, alias)->held;
    if (held != NULL && PyArray_ISWRITEABLE((PyArrayObject *)held) &&
        !is_shared(program, frame, inputs, alias)) {
        return Py_NewRef(held);
    }
    const Node *node = &program->outputs[output];
    if (has_maker(program, output)) {
        return made_array(program, output, (PyArray_Descr *)node->object, node->count,
                          node->shape);
    }
    Py_INCREF(node->object); /* the array takes the reference */
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)node->object, node->count,
                                node->shape, NULL, NULL, 0, NULL);
}

/* After an error: true if it was MemoryError and the pool of memory has released free blocks. Then
   the error is cleared, and the caller tries again. */
static int has_freed_memory(void)
{
    if (!PyErr_ExceptionMatches(PyExc_MemoryError)) {
        return 0;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *module = PyImport_ImportModule("transpile.runtime.memory.pool");
    PyObject *pool = module == NULL ? NULL : PyObject_GetAttrString(module, "MEMORY_POOL");
    PyObject *had = pool == NULL ? NULL : PyObject_CallMethod(pool, "release_all", NULL);
    const int again = had == Py_True;
    Py_XDECREF(had);
    Py_XDECREF(pool);
    Py_XDECREF(module);
    if (again) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
    }
    else {
        PyErr_Restore(type, error, traceback);
    }
    return again;
}

static PyObject *take_workspace(const Program *program)
{
    const Py_ssize_t count = program->spare == NULL ? 0 : PyList_GET_SIZE(program->spare);
    if (count != 0) {
        PyObject *workspace = Py_NewRef(PyList_GET_ITEM(program->spare, count - 1));
        if (PyList_SetSlice(program->spare, count - 1, count, NULL) < 0) {
            Py_CLEAR(workspace);
        }
        return workspace;
    }
    if (has_maker(program, program->output_count)) {
        PyArray_Descr *dtype = PyArray_DescrFromType(NPY_UINT8);
        PyObject *made = made_array(program, program->output_count, dtype, 1, &program->workspace);
        Py_DECREF(dtype);
        return made;
    }
    return PyArray_SimpleNew(1, &program->workspace, NPY_UINT8);
}

/* Begin a call of a program with callbacks: append the trampoline and its context to the pointers.
   Returns the context, whose `finish` ends the call; NULL with an error set. */
static PyObject *begin_callbacks(const Program *program, void **pointers)
{
    PyObject *context = PyObject_CallMethod(program->callbacks, "begin", NULL);
    PyObject *address = context == NULL ? NULL : PyObject_GetAttrString(context, "address");
    pointers[0] = program->called;
    pointers[1] = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    if (PyErr_Occurred()) {
        Py_CLEAR(context);
    }
    return context;
}

/* Raise the error for a code. */
static void fail(const Program *program, int code)
{
    PyObject *never = PyObject_CallFunction(program->fail, "i", code);
    if (never != NULL) {
        Py_DECREF(never);
        PyErr_Format(PyExc_SystemError, "the program failed with code %d", code);
    }
}

/* Call the program with these pointers; 0 with an error set. */
INLINED int enter_program(const Program *program, void **pointers, void **end)
{
    PyObject *context = NULL;
    if (program->callbacks != NULL) {
        context = begin_callbacks(program, end);
        if (context == NULL) {
            return 0;
        }
    }
    if (program->sizes != NULL) {
        end[context == NULL ? 0 : 2] = program->sizes;
    }
    int code;
    if (program->is_brief) {
        code = program->function(pointers);
    }
    else {
        Py_BEGIN_ALLOW_THREADS
        code = program->function(pointers);
        Py_END_ALLOW_THREADS
    }
    int done = 1;
    if (context != NULL) { /* `finish` raises the exception of a callback */
        PyObject *nothing = PyObject_CallMethod(context, "finish", NULL);
        Py_XDECREF(nothing);
        done = nothing != NULL;
        Py_DECREF(context);
    }
    if (done && code != 0) {
        fail(program, code);
    }
    return done && code == 0;
}

/* Run the program on the leaves and the results of a frame; 0 with an error set. */
INLINED int run_program(const Program *program, const Frame *frame, const int *inputs)
{
    void **next = frame->pointers;
    for (int n = 0; n < program->input_count; n++) {
        *next++ = input_leaf(frame, inputs, n)->data;
    }
    for (int n = 0; n < program->output_count; n++) {
        *next++ = PyArray_DATA((PyArrayObject *)frame->results[n]);
    }
    if (program->workspace == 0) {
        *next++ = NULL;
        return enter_program(program, frame->pointers, next);
    }
    PyObject *workspace = take_workspace(program);
    if (workspace == NULL && has_freed_memory()) {
        workspace = take_workspace(program);
    }
    if (workspace == NULL) {
        return 0;
    }
    *next++ = PyArray_DATA((PyArrayObject *)workspace);
    int done = enter_program(program, frame->pointers, next);
    if (done && program->spare != NULL) {
        done = PyList_Append(program->spare, workspace) == 0;
    }
    Py_DECREF(workspace);
    return done;
}

/* Give back the memory behind results whose lengths the program has computed, and these lengths; 0
   with an error set. */
static int shorten(const Program *program, PyObject **results)
{
    for (int n = 0; n < program->result_count; n++) {
        if (program->lengths[n] < 0) {
            continue;
        }
        PyArrayObject *length = (PyArrayObject *)results[program->lengths[n]];
        npy_intp size = (npy_intp) * (const npy_int64 *)PyArray_DATA(length);
        PyArray_Dims shape = {&size, 1};
        PyObject *nothing = PyArray_Resize((PyArrayObject *)results[n], &shape, 0, NPY_CORDER);
        if (nothing == NULL) {
            return 0;
        }
        Py_DECREF(nothing);
    }
    for (int n = program->result_count; n < program->output_count; n++) {
        Py_DECREF(results[n]);
    }
    return 1;
}

/* Allocate the results of a frame, new references, and run the program; 0 with an error set. */
INLINED int compute(const Program *program, const Frame *frame, const int *inputs)
{
    PyObject **const results = frame->results;
    int count = 0;
    for (; count < program->output_count; count++) {
        results[count] = output_array(program, frame, inputs, count);
        if (results[count] == NULL && has_freed_memory()) {
            results[count] = output_array(program, frame, inputs, count);
        }
        if (results[count] == NULL) {
            break;
        }
    }
    if (count == program->output_count && run_program(program, frame, inputs) &&
        (program->lengths == NULL || shorten(program, results))) {
        return 1;
    }
    while (count > 0) {
        Py_DECREF(results[--count]);
    }
    return 0;
}

/* The results in a list, which steals their references. */
static PyObject *as_list(const Program *program, PyObject **results)
{
    PyObject *arrays = PyList_New(program->result_count);
    for (int n = 0; n < program->result_count; n++) {
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
    const Program *program = (const Program *)callable;
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
        outputs = as_list(program, frame.results);
    }
    close_frame(&frame);
    Py_DECREF(items);
    return outputs;
}

/* Program(inputs, outputs, aliases, convert, fail, address, workspace, makers, spare, is_brief,
   callbacks, called, sizes, lengths); see the fields. A node is (kind, object, numbers): the dtype and the shape,
   None and the count, or the names. */
static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"inputs",  "outputs",   "aliases", "convert", "fail",
                            "address", "workspace", "makers",  "spare",   "is_brief",
                            "callbacks", "called", "sizes", "lengths", NULL};
    PyObject *inputs, *outputs, *aliases, *convert, *on_failure, *address, *makers, *spare;
    PyObject *callbacks, *called, *sizes = Py_None, *lengths = Py_None;
    Py_ssize_t workspace;
    int is_brief;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!OOO!nO!OpOO!|OO", words, &PyTuple_Type,
                                     &inputs, &PyTuple_Type, &outputs, &PyTuple_Type, &aliases,
                                     &convert, &on_failure, &PyLong_Type, &address, &workspace,
                                     &PyTuple_Type, &makers, &spare, &is_brief,
                                     &callbacks, &PyLong_Type, &called, &sizes, &lengths)) {
        return NULL;
    }
    Program *program = (Program *)type->tp_alloc(type, 0);
    if (program == NULL) {
        return NULL;
    }
    program->vectorcall = program_call;
    program->owned =
        PyTuple_Pack(8, inputs, outputs, convert, on_failure, makers, spare, callbacks, sizes);
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
        program->lengths = read_numbers(lengths, -1, program->output_count);
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
    return 0;
}

static void program_dealloc(PyObject *self)
{
    Program *program = (Program *)self;
    PyObject_GC_UnTrack(self);
    free_nodes(program->inputs, program->input_count);
    free_nodes(program->outputs, program->output_count);
    PyMem_Free(program->aliases);
    PyMem_Free(program->lengths);
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
