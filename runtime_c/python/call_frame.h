/* The structure Program, and the frame: the memory of one call. */

#ifndef TRANSPILE_CALL_FRAME_H
#define TRANSPILE_CALL_FRAME_H

#include "call_nodes.h"

/* See transpile/runtime/program_call.py. */
typedef struct Program {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *owned; /* a tuple that keeps alive what the fields below borrow */
    Node *inputs;
    int input_count;
    Node *outputs;
    int output_count;
    int result_count; /* of the first outputs; the others are lengths of them */
    Node *lengths;    /* for each result whose length depends on values a node, whose shape is the
                         number of the output that is its length, and its further axes; for others
                         one without axes; NULL without any */
    size_t frame_size; /* of a call with a list of inputs, in bytes */
    int *aliases;      /* for each output the donated input whose memory it takes, or -1 */
    PyObject *convert; /* (input, number) -> an array that the program can read */
    PyObject *fail;    /* raises the error for a code */
    int (*function)(void *const *);
    npy_intp workspace;
    PyObject *makers; /* a tuple: the constructor of each output and of the workspace, or None */
    PyObject *spare;  /* a list of free workspaces: a call takes one and returns it; NULL: none is kept */
    int is_brief;     /* a few microseconds on one thread: the GIL is kept */
    PyObject *callbacks; /* runtime/callbacks.py, or NULL */
    void *called;        /* their trampoline */
    PyObject *context;   /* of their last call, owned, which the next one takes; or NULL */
    void *context_address;
    void *sizes;         /* the runtime sizes, or NULL */
    PyObject *resize;    /* (code, lengths) -> the program with other memory for lengths without a
                            bound, or None; NULL where all have bounds */
    struct Program *resized; /* the one to call instead, owned; NULL: this one */
} Program;

/* An array or a number among the arguments of a call. */
typedef struct {
    PyObject *held; /* owned, as a list may drop its array meanwhile; NULL for numbers */
    int is_copy;    /* `held` is one of the caller's array, which has gaps */
    void *data;
    union {
        npy_bool boolean;
        npy_int64 integer;
        double real;
        Py_complex pair;
    } number;
} Leaf;

enum { USUAL_FRAME = 2048 };

/* The memory of one call: its leaves, its results and the pointers for the program. It is on the
   stack where `usual` is large enough (some forty arguments), and else one block from malloc. */
typedef struct {
    int count; /* of leaves so far */
    Leaf *leaves;
    PyObject **results;
    void **pointers;
    void *block; /* from malloc, or NULL */
    size_t size;
    int code;       /* that a program which can be resized has returned */
    Program *other; /* the one to call from now on, owned; or NULL */
    _Alignas(Leaf) char usual[USUAL_FRAME];
} Frame;

static void open_frame(Frame *frame)
{
    frame->count = 0;
    frame->block = NULL;
    frame->size = USUAL_FRAME;
    frame->code = 0;
    frame->other = NULL;
}

/* The size of a frame with so many leaves, in bytes. */
static size_t frame_size(const Program *program, int leaves)
{
    const size_t outputs = (size_t)program->output_count;
    const size_t pointers = (size_t)program->input_count + outputs + 4;
    return (size_t)leaves * sizeof(Leaf) + outputs * sizeof(PyObject *) + pointers * sizeof(void *);
}

/* Lay out the frame for a call with so many leaves; 0 where there is no memory. */
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

/* Drop the references of the leaves. */
static void release_leaves(Frame *frame)
{
    for (int leaf = 0; leaf < frame->count; leaf++) {
        Py_XDECREF(frame->leaves[leaf].held);
    }
    frame->count = 0;
}

static void close_frame(Frame *frame)
{
    release_leaves(frame);
    PyMem_Free(frame->block);
}

#endif
