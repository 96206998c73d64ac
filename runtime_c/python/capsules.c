/* Capsules of DLPack that Python has made: what is called at the end of one, and of a tensor that
   another library has taken. Both may come while an exception is on its way, and the second in any
   thread; Python's code must not see either. The functions of Python that are called here have the same
   types in all versions, so that its headers are not needed. */

#include <stddef.h>
#include <stdint.h>

int PyCapsule_IsValid(void *capsule, const char *name);
void *PyCapsule_GetPointer(void *capsule, const char *name);
void PyErr_Fetch(void **type, void **value, void **traceback);
void PyErr_Restore(void *type, void *value, void *traceback);
int PyGILState_Ensure(void);
void PyGILState_Release(int state);

/* What drops the tensor at an address: a function of Python's. */
static void (*drop)(void *);

void transpile_capsules_begin(void (*given)(void *));
void transpile_capsules_release(void *tensor);
void transpile_capsules_destroy(void *capsule);

void transpile_capsules_begin(void (*given)(void *))
{
    drop = given;
}

void transpile_capsules_release(void *tensor)
{
    void *type, *value, *traceback;
    const int state = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &traceback);
    drop(tensor);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(state);
}

void transpile_capsules_destroy(void *capsule)
{
    static const char *const names[] = {"dltensor", "dltensor_versioned"};
    for (int k = 0; k < 2; k++) {
        if (PyCapsule_IsValid(capsule, names[k])) { /* nobody has taken the tensor */
            transpile_capsules_release(PyCapsule_GetPointer(capsule, names[k]));
        }
    }
}
