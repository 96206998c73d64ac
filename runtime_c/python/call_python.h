/* Python's and NumPy's headers, as every file of the module `call` sees them. */

#ifndef TRANSPILE_CALL_PYTHON_H
#define TRANSPILE_CALL_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <string.h>
#include <structmember.h>

/* For functions that every call runs: a call that is not inlined costs some nanoseconds. */
#define INLINED __attribute__((always_inline)) static inline

#endif
