/* Make the arrays of a program's outputs and its workspace, and run it. */

#ifndef TRANSPILE_CALL_COMPUTE_H
#define TRANSPILE_CALL_COMPUTE_H

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

/* In elements: below it no memory for a length without a bound is worth giving back
   (transpile/runtime/program_call.py). */
enum { LARGE_ROOM = 4096 };

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
   Returns the context; NULL with an error set. A call inside this one, or in another thread, finds
   none and makes its own. */
static PyObject *begin_callbacks(Program *program, void **pointers)
{
    PyObject *context = program->context;
    program->context = NULL;
    pointers[0] = program->called;
    pointers[1] = program->context_address;
    if (context != NULL) {
        return context;
    }
    context = PyObject_CallMethod(program->callbacks, "begin", NULL);
    PyObject *address = context == NULL ? NULL : PyObject_GetAttrString(context, "address");
    pointers[1] = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    if (PyErr_Occurred()) {
        Py_CLEAR(context);
    }
    return context;
}

/* End such a call: raise the exception of a callback, if there was one, else keep the context for a
   later call. 0 with an error set. */
static int end_callbacks(Program *program, PyObject *context, void *address)
{
    PyObject *error = PyObject_GetAttrString(context, "error");
    const int is_fine = error == Py_None;
    Py_XDECREF(error);
    if (is_fine && program->context == NULL) {
        program->context = context;
        program->context_address = address;
        return 1;
    }
    PyObject *nothing = error == NULL ? NULL : PyObject_CallMethod(context, "finish", NULL);
    Py_XDECREF(nothing);
    Py_DECREF(context);
    return nothing != NULL;
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

/* Call the program with the pointers of a frame, which stop before `end`; 0 with an error set, or
   with the code in the frame of a program that can be resized. */
INLINED int enter_program(const Program *program, Frame *frame, void **end)
{
    void **const pointers = frame->pointers;
    PyObject *context = NULL;
    if (program->callbacks != NULL) {
        context = begin_callbacks((Program *)program, end);
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
    if (context != NULL) {
        done = end_callbacks((Program *)program, context, end[1]);
    }
    frame->code = done ? code : 0;
    if (done && code != 0 && program->resize == NULL) {
        fail(program, code);
    }
    return done && code == 0;
}

/* Run the program on the leaves and the results of a frame; 0 as `enter_program`. */
INLINED int run_program(const Program *program, Frame *frame, const int *inputs)
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
        return enter_program(program, frame, next);
    }
    PyObject *workspace = take_workspace(program);
    if (workspace == NULL && has_freed_memory()) {
        workspace = take_workspace(program);
    }
    if (workspace == NULL) {
        return 0;
    }
    *next++ = PyArray_DATA((PyArrayObject *)workspace);
    int done = enter_program(program, frame, next);
    if (done && program->spare != NULL) {
        done = PyList_Append(program->spare, workspace) == 0;
    }
    Py_DECREF(workspace);
    return done;
}

/* The value of the output that is a length. */
static npy_intp length_of(PyObject *output)
{
    return (npy_intp) * (const npy_int64 *)PyArray_DATA((PyArrayObject *)output);
}

/* Give back the memory behind results whose lengths the program has computed, and these lengths; 0
   with an error set. */
static int shorten(const Program *program, PyObject **results)
{
    for (int n = 0; n < program->result_count; n++) {
        const Node *length = &program->lengths[n];
        if (length->count == 0) {
            continue;
        }
        npy_intp axes[NPY_MAXDIMS];
        memcpy(axes, length->shape, (size_t)length->count * sizeof *axes);
        axes[0] = length_of(results[axes[0]]);
        PyArray_Dims shape = {axes, length->count};
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

/* True if a result has memory for so many elements that it may be worth less. */
static int has_large_results(const Program *program)
{
    for (int n = 0; n < program->result_count; n++) {
        if (program->lengths[n].count != 0 && program->outputs[n].shape[0] > LARGE_ROOM) {
            return 1;
        }
    }
    return 0;
}

/* True for a program that has as many inputs and outputs. */
static int is_program_like(const Program *program, PyObject *other)
{
    return Py_TYPE(other) == Py_TYPE(program) &&
           ((Program *)other)->input_count == program->input_count &&
           ((Program *)other)->output_count == program->output_count &&
           ((Program *)other)->result_count == program->result_count;
}

/* After a call of a program that can be resized, find the program for later calls: that with more
   memory, if this one has returned a code, or with less. 0 with an error set. */
static int resize(const Program *program, Frame *frame)
{
    if (frame->code == 0 && !has_large_results(program)) {
        return 1;
    }
    PyObject *lengths = PyList_New(0);
    for (int n = program->result_count; lengths != NULL && n < program->output_count; n++) {
        PyObject *length = PyLong_FromSsize_t(length_of(frame->results[n]));
        if (length == NULL || PyList_Append(lengths, length) < 0) {
            Py_CLEAR(lengths);
        }
        Py_XDECREF(length);
    }
    PyObject *other = NULL;
    if (lengths != NULL) {
        other = PyObject_CallFunction(program->resize, "iO", frame->code, lengths);
        Py_DECREF(lengths);
    }
    if (other != NULL && (other == Py_None ? frame->code != 0 : !is_program_like(program, other))) {
        PyErr_SetString(PyExc_TypeError, "a program is resized to one with the same outputs");
        Py_CLEAR(other);
    }
    if (other != NULL && other != Py_None) {
        frame->other = (Program *)Py_NewRef(other);
    }
    Py_XDECREF(other);
    return other != NULL;
}

/* Allocate the results of a frame, new references, and run the program; 0 with an error set, or with
   `frame->other` the program to call instead. */
INLINED int compute_once(const Program *program, Frame *frame, const int *inputs)
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
    if (count == program->output_count) {
        int done = run_program(program, frame, inputs);
        if (program->resize != NULL && (done || frame->code != 0)) {
            done = resize(program, frame) && done;
        }
        if (done && (program->lengths == NULL || shorten(program, results))) {
            return 1;
        }
    }
    while (count > 0) {
        Py_DECREF(results[--count]);
    }
    return 0;
}

/* As compute_once, with the program to which this one has been resized, until there is enough
   memory. */
static int compute_resized(Program *program, Frame *frame, const int *inputs)
{
    for (;;) {
        Program *now = program->resized == NULL ? program : program->resized;
        Py_INCREF(now);
        const int done = compute_once(now, frame, inputs);
        Program *other = frame->other;
        frame->other = NULL;
        if (other != NULL) {
            Program *before = program->resized;
            program->resized = other;
            Py_XDECREF(before);
        }
        Py_DECREF(now);
        if (done || PyErr_Occurred()) {
            return done;
        }
    }
}

/* Compute the results of a frame, new references; 0 with an error set. */
INLINED int compute(Program *program, Frame *frame, const int *inputs)
{
    return program->resize == NULL ? compute_once(program, frame, inputs)
                                   : compute_resized(program, frame, inputs);
}

#endif
