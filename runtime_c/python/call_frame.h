/* A program, and the memory that one call of it takes. */

#ifndef TRANSPILE_CALL_FRAME_H
#define TRANSPILE_CALL_FRAME_H

#include "call_nodes.h"

/* See transpile/runtime/program_call.py. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *owned; /* a tuple of everything that the fields below point to */
    Node *inputs;
    int input_count;
    Node *outputs;
    int output_count;
    size_t frame_size; /* of a call with a list of inputs, in bytes */
    int *aliases;      /* for each output, the input whose memory it takes, or -1 */
    PyObject *convert; /* makes an array that the program can read of another input, with a number */
    PyObject *fail;    /* raises the error for a code */
    int (*function)(void *const *);
    npy_intp workspace;
    PyObject *makers; /* a tuple: for each output and the workspace what makes its array, or None */
    PyObject *spare;  /* a list of arrays: a call takes its workspace there and gives it back */
    int is_brief;     /* so short that the GIL is kept, and on one thread */
    PyObject *callbacks; /* what the program calls, or NULL */
    void *called;        /* the function for that */
} Program;

/* An array or a number among the arguments of a call. */
typedef struct {
    PyObject *held; /* owned, NULL for numbers: arrays in lists may go meanwhile */
    void *data;
    union {
        npy_bool boolean;
        npy_int64 integer;
        double real;
        Py_complex pair;
    } number;
} Leaf;

enum { USUAL_FRAME = 2048 };

/* What one call keeps: its leaves, its results and what the program is called with. All of it lies
   in one block, which is the frame's own where it has room for the entry (some forty arguments),
   and malloc's for longer ones. */
typedef struct {
    int count; /* of leaves so far */
    Leaf *leaves;
    PyObject **results;
    void **pointers;
    void *block; /* from malloc, or NULL */
    size_t size;
    _Alignas(Leaf) char usual[USUAL_FRAME];
} Frame;

static void open_frame(Frame *frame)
{
    frame->count = 0;
    frame->block = NULL;
    frame->size = USUAL_FRAME;
}

/* How much room a call takes, in bytes. */
static size_t frame_size(const Program *program, int leaves)
{
    const size_t outputs = (size_t)program->output_count;
    const size_t pointers = (size_t)program->input_count + outputs + 3;
    return (size_t)leaves * sizeof(Leaf) + outputs * sizeof(PyObject *) + pointers * sizeof(void *);
}

/* Make room for a call of a program with so many leaves; 0 where there is no memory. */
INLINED int make_room(Frame *frame, const Program *program, int leaves, size_t size)
{
    if (size > frame->size) {
        PyMem_Free(frame->block);
        frame->block = PyMem_Malloc(size);
        frame->size = frame->block == NULL ? USUAL_FRAME : size;
        if (frame->block == NULL) {
            return 0;
        }
    }
    frame->leaves = frame->block == NULL ? (void *)frame->usual : frame->block;
    frame->results = (PyObject **)(frame->leaves + leaves);
    frame->pointers = (void **)(frame->results + program->output_count);
    return 1;
}

/* Let go of the leaves. */
static void release(Frame *frame)
{
    for (int leaf = 0; leaf < frame->count; leaf++) {
        Py_XDECREF(frame->leaves[leaf].held);
    }
    frame->count = 0;
}

static void close_frame(Frame *frame)
{
    release(frame);
    PyMem_Free(frame->block);
}

#endif
