/* Calls of jitted functions: from Python's arguments to the program and back.

   The module `call` has three types:

   Program         a program: what its inputs and outputs are, and the address of its one entry. It
                   is called with a list of its inputs and gives a list of its outputs; what it
                   cannot read as it is Python converts.
   Entry           one signature of one function: what its arguments look like, the program, and how
                   the result is made
   Caller          the calls of one function. It goes through its entries, a list, and calls the
                   program of the first one that fits. Where none fits it calls Python's
                   `Dispatcher.call`, which knows every case and raises every error.

   An entry fits arguments that are exactly what the program reads: arrays in row-major order, of the
   same dtype and shape; numbers; tuples, lists and dicts of these. Nothing is converted. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <string.h>
#include <structmember.h>

/* For what every call goes through: not to be inlined costs some nanoseconds each. */
#define INLINED __attribute__((always_inline)) static inline

/* What an argument is, or a part of a result. A tree of them is a row of nodes: a container stands
   before its children. */
enum kind { ARRAY, NUMBER, TUPLE, LIST, DICT, NONE, STATIC, KINDS };

typedef struct {
    enum kind kind;
    /* ARRAY: its dtype; NUMBER: its type; DICT: the names; STATIC: the value. Not owned. */
    PyObject *object;
    int count;       /* of dimensions or children */
    npy_intp *shape; /* ARRAY: so many as `count` */
} Node;

/* What has to be as it was when the function was traced; see transpile/trace/guards.py. Nothing owned. */
enum guard { ENTRY, CELL, ATTRIBUTE, INDEX, ITEMS, PAIRS, HELD_ARRAY, FUNCTION, GUARDS };

typedef struct {
    enum guard kind;
    PyObject *holder;
    PyObject *name;
    PyObject *value;
} Guard;

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

typedef struct {
    PyObject_HEAD
    PyObject *key;   /* for those who make entries: two with equal keys do not stand in one list */
    PyObject *owned; /* a tuple of everything that the fields below point to */
    Node *arguments; /* positional ones, then those given by name, as in `names` */
    Py_ssize_t positional;
    PyObject *names;
    int leaves;
    size_t frame_size; /* of a call, in bytes */
    Program *program;
    int *inputs;  /* for each input of the program, which leaf it is */
    Node *result; /* NULL: `finish(list of arrays)` makes the result */
    PyObject *finish;
    Guard *guards;
    Py_ssize_t guard_count;
    PyObject *changed; /* a function that is true where the rest has changed, or NULL */
} Entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python;    /* what is called where no entry fits */
    PyObject *entries;   /* a list, which Python fills and empties */
    PyObject *suspended; /* a list; while there is something in it, no entry fits */
} Caller;

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

/* ------------------------------------------------------------------------ does an entry fit? */

/* The usual dtypes are one object each, but those of unpickled arrays and aliases such as `longlong`
   are others. */
static int is_dtype(const PyArray_Descr *found, PyObject *wanted)
{
    const PyArray_Descr *other = (const PyArray_Descr *)wanted;
    return found == other ||
           (found->kind == other->kind && found->byteorder == other->byteorder &&
            PyDataType_ELSIZE(found) == PyDataType_ELSIZE(other) &&
            PyTypeNum_ISNUMBER(found->type_num) && PyTypeNum_ISNUMBER(other->type_num));
}

/* NumPy's numbers stand for arrays without dimensions. */
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

static int is_array(const Node *node, PyObject *value, Frame *frame)
{
    if (Py_TYPE(value) != &PyArray_Type) {
        return is_numpy_number(node, value, frame);
    }
    PyArrayObject *array = (PyArrayObject *)value;
    const int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (PyArray_NDIM(array) != node->count || (PyArray_FLAGS(array) & wanted) != wanted ||
        !is_dtype(PyArray_DESCR(array), node->object)) {
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS(array);
    for (int axis = 0; axis < node->count; axis++) {
        if (shape[axis] != node->shape[axis]) {
            return 0;
        }
    }
    Leaf *leaf = &frame->leaves[frame->count++];
    leaf->held = Py_NewRef(value);
    leaf->data = PyArray_DATA(array);
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

/* The same static value: the very same object, or an equal int or str. */
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

static int fits(const Node **place, PyObject *value, Frame *frame);

/* As `fits`, for an object that nothing else may hold. */
static int fits_held(const Node **place, PyObject *value, Frame *frame)
{
    Py_INCREF(value);
    const int found = fits(place, value, frame);
    Py_DECREF(value);
    return found;
}

static int is_dict(const Node **place, const Node *node, PyObject *value, Frame *frame)
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
        if (!fits_held(place, item, frame)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a value is what the nodes from `*place` on say; `*place` goes past them, and the leaves
   are appended. Also where it is not, they hold arrays, which are to be released. */
static int fits(const Node **place, PyObject *value, Frame *frame)
{
    const Node *node = (*place)++;
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
            if (!fits(place, PyTuple_GET_ITEM(value, child), frame)) {
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
                !fits_held(place, PyList_GET_ITEM(value, child), frame)) {
                return 0;
            }
        }
        return 1;
    case DICT:
        return is_dict(place, node, value, frame);
    case NONE:
        return value == Py_None;
    case STATIC:
        return is_static(node, value);
    default:
        return 0;
    }
}

/* The argument of that name, borrowed, or NULL. */
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

static int fits_call(const Entry *entry, PyObject *const *args, Py_ssize_t count, PyObject *given,
                     Frame *frame)
{
    const Py_ssize_t names = PyTuple_GET_SIZE(entry->names);
    if (entry->positional != count || names != (given == NULL ? 0 : PyTuple_GET_SIZE(given))) {
        return 0;
    }
    const Node *place = entry->arguments;
    for (Py_ssize_t n = 0; n < count; n++) {
        if (!fits(&place, args[n], frame)) {
            return 0;
        }
    }
    for (Py_ssize_t n = 0; n < names; n++) {
        PyObject *value = named(PyTuple_GET_ITEM(entry->names, n), args + count, given);
        if (value == NULL || !fits(&place, value, frame)) {
            return 0;
        }
    }
    return 1;
}

/* Whether an object is the very one that was there, or the same number or text. */
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

/* Whether a list, a set or a deque has the items of a tuple. */
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
    if (PyErr_Occurred()) { /* another thread has changed it meanwhile */
        PyErr_Clear();
        return 0;
    }
    return is_same && n == count;
}

/* Whether a dict has the same keys and values as a copy, in the same order. */
static int has_pairs(PyObject *holder, PyObject *copy)
{
    PyObject *names[2], *items[2];
    Py_ssize_t places[2] = {0, 0};
    if (PyDict_GET_SIZE(holder) != PyDict_GET_SIZE(copy)) {
        return 0;
    }
    while (PyDict_Next(copy, &places[0], &names[0], &items[0])) {
        if (!PyDict_Next(holder, &places[1], &names[1], &items[1]) ||
            !is_value(names[1], names[0]) || !is_value(items[1], items[0])) {
            return 0;
        }
    }
    return 1;
}

/* Whether an array is as (dtype, shape, bytes or None) say. */
static int is_same_array(PyArrayObject *array, PyObject *content)
{
    PyObject *shape = PyTuple_GET_ITEM(content, 1);
    PyObject *text = PyTuple_GET_ITEM(content, 2);
    if ((PyObject *)PyArray_DESCR(array) != PyTuple_GET_ITEM(content, 0) ||
        PyArray_NDIM(array) != PyTuple_GET_SIZE(shape)) {
        return 0;
    }
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis)) != PyArray_DIM(array, axis)) {
            return 0;
        }
    }
    return text == Py_None ||
           (PyArray_IS_C_CONTIGUOUS(array) && PyArray_NBYTES(array) == PyBytes_GET_SIZE(text) &&
            memcmp(PyArray_DATA(array), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)) == 0);
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
    const int found = is_value(now, guard->value);
    Py_DECREF(now);
    return found;
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
    default:
        return 0;
    }
}

/* Whether what the function read from its surroundings when it was traced is still there. */
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
        PyErr_Clear(); /* the method in Python asks again, and raises what there is to raise */
    }
    return changed == 0;
}

static PyTypeObject EntryType;

/* The entry that fits a call, owned, with its leaves in the frame; NULL where there is none. It
   changes places with the first one of the list, where the next call looks first. */
static Entry *find(PyObject *entries, PyObject *const *args, Py_ssize_t count, PyObject *given,
                   Frame *frame)
{
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(entries); n++) {
        PyObject *item = PyList_GET_ITEM(entries, n);
        if (Py_TYPE(item) != &EntryType) {
            return NULL;
        }
        Entry *entry = (Entry *)Py_NewRef(item);
        if (make_room(frame, entry->program, entry->leaves, entry->frame_size) &&
            fits_call(entry, args, count, given, frame)) {
            if (n > 0 && n < PyList_GET_SIZE(entries) && PyList_GET_ITEM(entries, n) == item) {
                PyList_SET_ITEM(entries, n, PyList_GET_ITEM(entries, 0));
                PyList_SET_ITEM(entries, 0, item);
            }
            if (is_current(entry)) {
                return entry;
            }
            release(frame);
            Py_DECREF(entry);
            return NULL;
        }
        release(frame);
        Py_DECREF(entry);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------ the program */

/* A new array for an output, or, with the number after the last one's, the workspace. A maker's
   array goes where the others come from, and is checked: the program writes to it. */
static PyObject *made_array(const Program *program, int output, npy_intp size)
{
    PyObject *made = PyObject_CallNoArgs(PyTuple_GET_ITEM(program->makers, output));
    if (made != NULL &&
        !(PyArray_CheckExact(made) && PyArray_ISCARRAY((PyArrayObject *)made) &&
          PyArray_NBYTES((PyArrayObject *)made) == size)) {
        PyErr_SetString(PyExc_TypeError, "the maker of an array makes something else");
        Py_CLEAR(made);
    }
    return made;
}

static int has_maker(const Program *program, int output)
{
    return PyTuple_GET_ITEM(program->makers, output) != Py_None;
}

static npy_intp bytes_of(const Node *node)
{
    return PyDataType_ELSIZE((PyArray_Descr *)node->object) *
           PyArray_MultiplyList(node->shape, node->count);
}

/* The leaf of an input; without `inputs` the leaves are the inputs. */
static const Leaf *input_leaf(const Frame *frame, const int *inputs, int input)
{
    return &frame->leaves[inputs == NULL ? input : inputs[input]];
}

/* Whether another input of the program lies in the memory of one. All are contiguous. */
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

/* The array for an output: a new one, or the input whose memory it takes. */
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
        return made_array(program, output, bytes_of(node));
    }
    Py_INCREF(node->object); /* the array takes the reference */
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)node->object, node->count,
                                node->shape, NULL, NULL, 0, NULL);
}

/* After an error: whether it was about memory, and some that was kept for later arrays has been
   given back to the system. Then there is no error any more, and it pays to try again. */
static int may_try_again(void)
{
    if (!PyErr_ExceptionMatches(PyExc_MemoryError)) {
        return 0;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *module = PyImport_ImportModule("transpile.runtime.memory_pool");
    PyObject *reserve = module == NULL ? NULL : PyObject_GetAttrString(module, "RESERVE");
    PyObject *had = reserve == NULL ? NULL : PyObject_CallMethod(reserve, "give_back", NULL);
    const int again = had == Py_True;
    Py_XDECREF(had);
    Py_XDECREF(reserve);
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
    if (has_maker(program, program->output_count)) {
        return made_array(program, program->output_count, program->workspace);
    }
    const Py_ssize_t count = PyList_GET_SIZE(program->spare);
    if (count == 0) {
        return PyArray_SimpleNew(1, &program->workspace, NPY_UINT8);
    }
    PyObject *found = Py_NewRef(PyList_GET_ITEM(program->spare, count - 1));
    if (PyList_SetSlice(program->spare, count - 1, count, NULL) < 0) {
        Py_CLEAR(found);
    }
    return found;
}

/* Begin a call of a program with callbacks: append whom it calls, with what context. The object that
   is to be told of the end; NULL with an error set. */
static PyObject *begin_callbacks(const Program *program, void **pointers)
{
    PyObject *running = PyObject_CallMethod(program->callbacks, "begin", NULL);
    PyObject *address = running == NULL ? NULL : PyObject_GetAttrString(running, "address");
    pointers[0] = program->called;
    pointers[1] = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    if (PyErr_Occurred()) {
        Py_CLEAR(running);
    }
    return running;
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
    PyObject *running = NULL;
    if (program->callbacks != NULL) {
        running = begin_callbacks(program, end);
        if (running == NULL) {
            return 0;
        }
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
    if (code != 0) {
        fail(program, code);
    }
    else if (running != NULL) { /* it raises what a callback has raised */
        PyObject *nothing = PyObject_CallMethod(running, "finish", NULL);
        Py_XDECREF(nothing);
        code = nothing == NULL;
    }
    Py_XDECREF(running);
    return code == 0;
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
    if (workspace == NULL && may_try_again()) {
        workspace = take_workspace(program);
    }
    if (workspace == NULL) {
        return 0;
    }
    *next++ = PyArray_DATA((PyArrayObject *)workspace);
    int done = enter_program(program, frame->pointers, next);
    if (!has_maker(program, program->output_count)) {
        if (done) {
            done = PyList_Append(program->spare, workspace) == 0;
        }
    }
    Py_DECREF(workspace);
    return done;
}

/* Make the results of a frame of its leaves: 1, and they are owned; 0 with an error set. */
INLINED int compute(const Program *program, const Frame *frame, const int *inputs)
{
    PyObject **const results = frame->results;
    int made = 0;
    for (; made < program->output_count; made++) {
        results[made] = output_array(program, frame, inputs, made);
        if (results[made] == NULL && may_try_again()) {
            results[made] = output_array(program, frame, inputs, made);
        }
        if (results[made] == NULL) {
            break;
        }
    }
    if (made == program->output_count && run_program(program, frame, inputs)) {
        return 1;
    }
    while (made > 0) {
        Py_DECREF(results[--made]);
    }
    return 0;
}

/* The results of a frame in a list, which takes them. */
static PyObject *listed(const Program *program, PyObject **results)
{
    PyObject *arrays = PyList_New(program->output_count);
    for (int n = 0; n < program->output_count; n++) {
        if (arrays == NULL) {
            Py_DECREF(results[n]);
        }
        else {
            PyList_SET_ITEM(arrays, n, results[n]);
        }
    }
    return arrays;
}

/* The part of the result that starts at `*place`, of the arrays from `*next` on, which it takes. */
static PyObject *assembled(const Node **place, PyObject ***next)
{
    const Node *node = (*place)++;
    if (node->kind == ARRAY) {
        return *(*next)++;
    }
    if (node->kind == NONE) {
        return Py_NewRef(Py_None);
    }
    PyObject *made = node->kind == TUPLE  ? PyTuple_New(node->count)
                     : node->kind == LIST ? PyList_New(node->count)
                                          : PyDict_New();
    for (int child = 0; made != NULL && child < node->count; child++) {
        PyObject *item = assembled(place, next);
        if (item == NULL) {
            Py_CLEAR(made);
        }
        else if (node->kind == TUPLE) {
            PyTuple_SET_ITEM(made, child, item);
        }
        else if (node->kind == LIST) {
            PyList_SET_ITEM(made, child, item);
        }
        else {
            if (PyDict_SetItem(made, PyTuple_GET_ITEM(node->object, child), item) < 0) {
                Py_CLEAR(made);
            }
            Py_DECREF(item);
        }
    }
    return made;
}

/* What the function returns, of the arrays, which it takes. */
static PyObject *finished(const Entry *entry, PyObject **results)
{
    if (entry->result != NULL) {
        const Node *place = entry->result;
        PyObject **next = results;
        PyObject *made = assembled(&place, &next);
        for (; made == NULL && next < results + entry->program->output_count; next++) {
            Py_DECREF(*next);
        }
        return made;
    }
    PyObject *arrays = listed(entry->program, results);
    PyObject *made = arrays == NULL ? NULL : PyObject_CallOneArg(entry->finish, arrays);
    Py_XDECREF(arrays);
    return made;
}

/* Take the inputs of a program from a list or tuple; 0 with an error set. */
static int take_inputs(const Program *program, PyObject *items, Frame *frame)
{
    for (int n = 0;; n++) { /* to convert one may change the list */
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
            if (converted == NULL && may_try_again()) {
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
    else if (take_inputs(program, items, &frame) && compute(program, &frame, NULL)) {
        outputs = listed(program, frame.results);
    }
    close_frame(&frame);
    Py_DECREF(items);
    return outputs;
}

/* -------------------------------------------------------------- the types Program and Entry */

static void free_nodes(Node *nodes, Py_ssize_t count)
{
    for (Py_ssize_t n = 0; nodes != NULL && n < count; n++) {
        PyMem_Free(nodes[n].shape);
    }
    PyMem_Free(nodes);
}

/* Read (kind, object, numbers) into a node; 0, with an error set, where it makes no sense. */
static int read_node(PyObject *item, Node *node)
{
    int kind;
    PyObject *numbers;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a node is a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(item, "iOO!", &kind, &node->object, &PyTuple_Type, &numbers)) {
        return 0;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(numbers);
    node->kind = (enum kind)kind;
    int is_sound = kind >= 0 && kind < KINDS && count <= NPY_MAXDIMS;
    if (kind == ARRAY) {
        is_sound = is_sound && (PyArray_DescrCheck(node->object) || node->object == Py_None);
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
    node->shape = PyMem_Calloc((size_t)count + 1, sizeof *node->shape);
    if (node->shape == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        node->shape[n] = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, n));
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

/* The numbers of a tuple, each from `least` on and below `bound`; NULL with an error set. */
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

/* How many leaves the nodes of a tuple have. */
static int count_leaves(const Node *nodes, PyObject *items)
{
    int leaves = 0;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(items); n++) {
        leaves += nodes[n].kind == ARRAY || nodes[n].kind == NUMBER;
    }
    return leaves;
}

/* Whether the parts of a guard are of the types that its check takes them for. */
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

/* Program(inputs, outputs, aliases, convert, fail, address, workspace, makers, spare, is_brief,
   callbacks, called); see the fields. A node is (kind, object, numbers): the dtype and the shape,
   None and the count, or the names. */
static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"inputs",  "outputs",   "aliases", "convert", "fail",
                            "address", "workspace", "makers",  "spare",   "is_brief",
                            "callbacks", "called", NULL};
    PyObject *inputs, *outputs, *aliases, *convert, *on_failure, *address, *makers, *spare;
    PyObject *callbacks, *called;
    Py_ssize_t workspace;
    int is_brief;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!OOO!nO!O!pOO!", words, &PyTuple_Type,
                                     &inputs, &PyTuple_Type, &outputs, &PyTuple_Type, &aliases,
                                     &convert, &on_failure, &PyLong_Type, &address, &workspace,
                                     &PyTuple_Type, &makers, &PyList_Type, &spare, &is_brief,
                                     &callbacks, &PyLong_Type, &called)) {
        return NULL;
    }
    Program *program = (Program *)type->tp_alloc(type, 0);
    if (program == NULL) {
        return NULL;
    }
    program->vectorcall = program_call;
    program->owned = PyTuple_Pack(7, inputs, outputs, convert, on_failure, makers, spare, callbacks);
    program->convert = convert;
    program->fail = on_failure;
    /* ISO C has no conversion from `void *` to function pointers; POSIX has. */
    program->function = (int (*)(void *const *))PyLong_AsVoidPtr(address);
    program->called = PyLong_AsVoidPtr(called);
    program->workspace = workspace;
    program->makers = makers;
    program->spare = spare;
    program->is_brief = is_brief;
    program->callbacks = callbacks == Py_None ? NULL : callbacks;
    if (PyTuple_GET_SIZE(aliases) != PyTuple_GET_SIZE(outputs) ||
        PyTuple_GET_SIZE(makers) != PyTuple_GET_SIZE(outputs) + 1) {
        PyErr_SetString(PyExc_ValueError, "each output has an alias and a maker");
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
    program->frame_size = frame_size(program, program->input_count);
    if (program->aliases == NULL) {
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

enum { OWNED_PROGRAM, OWNED_ARGUMENTS, OWNED_NAMES, OWNED_RESULT, OWNED_FINISH, OWNED_GUARDS };

/* Fill in what is made of the tuples in `owned`; 0 with an error set. */
static int read_entry(Entry *entry, PyObject *inputs)
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
    if (result == Py_None) {
        return 1;
    }
    entry->result = read_nodes(result);
    if (entry->result == NULL) {
        return 0;
    }
    if (count_leaves(entry->result, result) != entry->program->output_count) {
        PyErr_SetString(PyExc_ValueError, "the result has other leaves than the program");
        return 0;
    }
    return 1;
}

/* Entry(key, arguments, positional, names, program, inputs, result, finish, guards, changed); see
   the fields, and Program for nodes. */
static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"key",    "arguments", "positional", "names",   "program", "inputs",
                            "result", "finish",    "guards",     "changed", NULL};
    PyObject *key, *arguments, *names, *program, *inputs, *result, *finish, *guards, *changed;
    Py_ssize_t positional;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!nO!O!O!OOO!O", words, &key, &PyTuple_Type,
                                     &arguments, &positional, &PyTuple_Type, &names, &ProgramType,
                                     &program, &PyTuple_Type, &inputs, &result, &finish,
                                     &PyTuple_Type, &guards, &changed)) {
        return NULL;
    }
    if (result != Py_None && !PyTuple_Check(result)) {
        PyErr_SetString(PyExc_TypeError, "a result is a tuple of nodes, or None");
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
    if (entry->owned == NULL || !read_entry(entry, inputs)) {
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
    Py_CLEAR(entry->key);
    Py_CLEAR(entry->owned);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef entry_members[] = {
    {"key", T_OBJECT, offsetof(Entry, key), READONLY, "what of a call decides its trace"},
    {NULL, 0, 0, 0, NULL},
};

/* No tp_clear: an entry refers to tuples, and the collector breaks a cycle at the list that it
   stands in, or at a dict. */
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

/* --------------------------------------------------------------------------- the type Caller */

static PyObject *caller_call(PyObject *callable, PyObject *const *args, size_t flags,
                             PyObject *names)
{
    const Caller *caller = (const Caller *)callable;
    if (PyList_GET_SIZE(caller->suspended) == 0) {
        Frame frame;
        open_frame(&frame);
        Entry *entry = find(caller->entries, args, PyVectorcall_NARGS(flags), names, &frame);
        PyObject *result = NULL;
        if (entry != NULL && compute(entry->program, &frame, entry->inputs)) {
            result = finished(entry, frame.results);
        }
        close_frame(&frame);
        if (entry != NULL) {
            Py_DECREF(entry);
            return result;
        }
    }
    return PyObject_Vectorcall(caller->python, args, flags, names);
}

/* Caller(python, entries, suspended) */
static PyObject *caller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *python, *entries, *suspended;
    static char *words[] = {"python", "entries", "suspended", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O!", words, &python, &PyList_Type, &entries,
                                     &PyList_Type, &suspended)) {
        return NULL;
    }
    Caller *caller = (Caller *)type->tp_alloc(type, 0);
    if (caller == NULL) {
        return NULL;
    }
    caller->vectorcall = caller_call;
    caller->python = Py_NewRef(python);
    caller->entries = Py_NewRef(entries);
    caller->suspended = Py_NewRef(suspended);
    return (PyObject *)caller;
}

static int caller_traverse(PyObject *self, visitproc visit, void *arg)
{
    Caller *caller = (Caller *)self;
    Py_VISIT(caller->python);
    Py_VISIT(caller->entries);
    Py_VISIT(caller->suspended);
    return 0;
}

static void caller_dealloc(PyObject *self)
{
    Caller *caller = (Caller *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(caller->python);
    Py_CLEAR(caller->entries);
    Py_CLEAR(caller->suspended);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef caller_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Caller, python), READONLY, "what makes other calls"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject CallerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "transpile.call.Caller",
    .tp_basicsize = sizeof(Caller),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "The calls of one function.",
    .tp_new = caller_new,
    .tp_dealloc = caller_dealloc,
    .tp_traverse = caller_traverse,
    .tp_vectorcall_offset = offsetof(Caller, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_members = caller_members,
};

/* -------------------------------------------------------------------------------- the module */

/* holds(guards): whether all of them do. */
static PyObject *all_hold(PyObject *module, PyObject *items)
{
    (void)module;
    if (!PyTuple_Check(items)) {
        PyErr_SetString(PyExc_TypeError, "guards are a tuple");
        return NULL;
    }
    Guard *guards = read_guards(items);
    if (guards == NULL) {
        return NULL;
    }
    int found = 1;
    for (Py_ssize_t n = 0; found && n < PyTuple_GET_SIZE(items); n++) {
        found = holds(&guards[n]);
    }
    PyMem_Free(guards);
    return PyBool_FromLong(found);
}

static PyMethodDef functions[] = {
    {"holds", all_hold, METH_O, "Whether all guards of a tuple hold."},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
    import_array1(-1);
    if (PyModule_AddType(module, &ProgramType) < 0 || PyModule_AddType(module, &EntryType) < 0 || PyModule_AddType(module, &CallerType) < 0) {
        return -1;
    }
    static const char *const names[] = {"ARRAY", "NUMBER", "TUPLE", "LIST", "DICT", "NONE",
                                        "STATIC"};
    for (int kind = 0; kind < KINDS; kind++) {
        if (PyModule_AddIntConstant(module, names[kind], kind) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ISO C has no conversion from function pointers to `void *`; POSIX has. */
static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)start},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "call",
    .m_doc = "Calls of jitted functions.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_call(void)
{
    return PyModuleDef_Init(&definition);
}
