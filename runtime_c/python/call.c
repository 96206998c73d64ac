/* Calls of jitted functions: from Python's arguments to the program and back.

   The module `call` has three types:

   Program         a program: the types of its inputs and outputs, and the address of its entry. It
                   is called with a list of inputs and returns a list of outputs. Inputs that it
                   cannot read are converted by Python.
   Entry           one signature of one function: the structure and types of its arguments, its
                   guards, the program, and the structure of the result
   Caller          the calls of one function. It looks for the first of its entries that matches the
                   arguments, checks the guards and calls the program. Where no entry matches it
                   calls Python's `Dispatcher.call`, which handles all cases and raises all errors.

   Each has a file with static functions; all are compiled as one translation unit, so that they can
   be inlined.

   call_compute.h      the arrays of a call, and the call
   call_program.h      the type Program
   call_entry.h        the type Entry, the search for a matching one, results
   call_arguments.h    match arguments with the nodes of an entry
   call_guards.h       check guards
   call_nodes.h        nodes: the structure and types of arguments and results
   call_frame.h        the memory of one call

   An entry matches aligned arrays of the same dtype and shape, contiguous with their axes in the
   order in which the program reads them; numbers; tuples, lists and dicts of these. Arrays with gaps
   are copied; nothing else is converted. */

#include "call_entry.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python;    /* called where no entry matches */
    PyObject *entries;   /* a list, which Python fills and clears */
    PyObject *suspended; /* a list; while it is not empty, no entry is looked for */
} Caller;

static PyObject *caller_call(PyObject *callable, PyObject *const *args, size_t flags,
                             PyObject *names)
{
    const Caller *caller = (const Caller *)callable;
    if (PyList_GET_SIZE(caller->suspended) == 0) {
        Frame frame;
        open_frame(&frame);
        Entry *entry = find_entry(caller->entries, args, PyVectorcall_NARGS(flags), names, &frame);
        PyObject *result = NULL;
        if (entry != NULL && compute(entry->program, &frame, entry->inputs)) {
            result = result_of_call(entry, frame.results);
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
    {"__wrapped__", T_OBJECT, offsetof(Caller, python), READONLY, "makes the other calls"},
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

/* holds(guards): True if all of them do. */
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
    int hold = 1;
    for (Py_ssize_t n = 0; hold && n < PyTuple_GET_SIZE(items); n++) {
        hold = holds(&guards[n]);
    }
    PyMem_Free(guards);
    return PyBool_FromLong(hold);
}

static PyMethodDef functions[] = {
    {"holds", all_hold, METH_O, "True if all guards of a tuple hold."},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
    import_array1(-1);
    if (PyModule_AddType(module, &ProgramType) < 0 || PyModule_AddType(module, &EntryType) < 0 ||
        PyModule_AddType(module, &CallerType) < 0) {
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
