"""runtime_c/transforms/fft_plan.h: twiddle factors against extended precision, and the memory that
plans need."""

import ctypes
import subprocess

import numpy as np
import pytest
from thorough import one_in

from transpile.intrinsics.fourier import KINDS, FftOfSize
from transpile.ir.calls import Strided
from transpile.ir.loop_ir import Load
from transpile.library.fft import roots, thresholds
from transpile.machine import USUAL
from transpile.symbols import c_helpers

pytestmark = pytest.mark.full_level

FLAGS = [
    *("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-finline-limit=20000", "-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
]
DTYPES = {"f32": np.dtype("c8"), "f64": np.dtype("c16")}
ENTRY = """
void factors_@(int64_t count, double *k, int64_t n, F *re, F *im);
void factors_@(int64_t count, double *k, int64_t n, F *re, F *im)
{
    fft_roots_@(count, k, n, re, im);
}

int64_t needed_@(int64_t kind, int64_t n, const int64_t *limits, int64_t total, void *workspace,
                 int64_t bytes);
int64_t needed_@(int64_t kind, int64_t n, const int64_t *limits, int64_t total, void *workspace,
                 int64_t bytes)
{
    char *end = fft_plan_@(kind, n, 1, limits, total, 1, workspace, bytes);
    return end - (char *)workspace + fft_workspace_@(workspace);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fft_plan")
    names = ("math", "stdint", "stdbool", "stddef", "string", "complex", "omp")
    parts = [f"#include <{name}.h>" for name in names]
    helpers = [f"{name}_{real}" for name in ("fft_plan", "fft_workspace") for real in DTYPES]
    parts += c_helpers.collect([*helpers, "fft_roots_f32", "fft_roots_f64"])
    for suffix, real in (("f32", "float"), ("f64", "double")):
        parts.append(ENTRY.replace("@", suffix).replace("F *", f"{real} *"))
    (folder / "plan.c").write_text("\n\n".join(parts))
    command = ["gcc", *FLAGS, "-march=native", "-shared", "-fPIC", str(folder / "plan.c")]
    subprocess.run([*command, "-o", str(folder / "plan.so"), "-lm"], check=True)
    found = ctypes.CDLL(str(folder / "plan.so"))
    for suffix in DTYPES:
        getattr(found, f"needed_{suffix}").restype = ctypes.c_int64
    return found


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("suffix", "ulps"), [("f32", 0.51), ("f64", 0.72)])
@one_in(2)
def test_factors_are_within_an_ulp(library, suffix, ulps):
    real = DTYPES[suffix].type(0).real.dtype
    function = getattr(library, f"factors_{suffix}")
    random = np.random.default_rng(0)
    for n in (1, 2, 3, 8, 12, 1000, 1009, 4096, 2**20, 3**12, 7 * 11 * 13 * 17 * 19):
        k = np.arange(n + 1) if n < 5000 else np.sort(random.integers(0, n, 3000))
        turns = np.append(k, np.zeros(8)).astype(float)  # some more are in lanes
        re, im = np.empty(len(turns), real), np.empty(len(turns), real)
        function(
            ctypes.c_int64(len(k)), pointer(turns), ctypes.c_int64(n), pointer(re),
            pointer(im),
        )  # fmt: skip
        exact = roots(n, k)
        for got, want in ((re[: len(k)], exact.real), (im[: len(k)], exact.imag)):
            unit = np.spacing(np.abs(want).astype(real)).astype(np.longdouble)
            assert (np.abs(got - want) <= ulps * unit).all()


def scratch_of(kind, n, total, dtype):
    """The bytes that a program gives to the transforms."""
    arrays = [Strided(Load(name, (0,), dtype)) for name in ("x", "out", "limits")]
    return FftOfSize(kind, n, 1.0, total, 1, *arrays).scratch_bytes


@pytest.mark.parametrize("suffix", list(DTYPES))
def test_plans_keep_to_the_memory_that_programs_give_them(library, suffix):
    limits = thresholds(USUAL)
    needed = getattr(library, f"needed_{suffix}")
    random = np.random.default_rng(1)
    lengths = [*range(1, 700), *random.integers(700, 20_000, 40), 40_009]
    workspace = np.zeros(max(scratch_of("fft", n, 300, DTYPES[suffix]) for n in lengths), np.uint8)
    for n in map(int, lengths):
        for kind in KINDS if n % 16 == 0 else KINDS[:1]:
            for total in (1, 9, 300):
                room = scratch_of(kind, n, total, DTYPES[suffix])
                sizes = (KINDS.index(kind), n)
                used = needed(
                    *map(ctypes.c_int64, sizes), pointer(limits), ctypes.c_int64(total),
                    pointer(workspace), ctypes.c_int64(room),
                )  # fmt: skip
                assert used <= room, (kind, n, total)
