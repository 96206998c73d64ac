"""`loop_programs.c`, compiled as transpile compiles its own C, and called through ctypes."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).parent / "loop_programs.c"
FLAGS = (
    "-std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp "
    "-shared -fPIC"
)
# The function of C for a case of `benchmarks.cases`.
FUNCTIONS = {
    "lu_numbers": "lu",
    "lu_rows": "lu",
    "floyd_warshall": "floyd_warshall",
    "nussinov": "nussinov",
    "moving_average": "moving_average",
    "newton": "newton",
    "stencil": "stencil",
}


def library():
    """The compiled functions."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "loop_programs.so")
        subprocess.run(["cc", *FLAGS.split(), SOURCE, "-o", built, "-lm"], check=True)
        return ctypes.CDLL(str(built))


def function(case):
    """The function of a case: from an array to a new one of its length, or of its square."""
    compiled = getattr(library(), FUNCTIONS[case])

    def call(array):
        n = len(array)
        out = np.empty((n, n) if case == "nussinov" else array.shape, array.dtype)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (array, out)]
        compiled(ctypes.c_int64(n), *pointers)
        return out

    return call
