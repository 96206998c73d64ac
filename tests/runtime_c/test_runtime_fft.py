"""runtime_c/transforms/fft.h and fft_lanes.h against NumPy in extended precision.

Values, errors, strides, threads, memory.
"""

import ctypes
import platform
import subprocess
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, thorough, tries

from transpile.library.fft import KINDS, make_plan, padded_length, prime_factors, radices_of, roots
from transpile.symbols import c_helpers

pytestmark = pytest.mark.full_level

FLAGS = [
    *("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-finline-limit=20000", "-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
]
X86_64 = platform.machine() == "x86_64"
# The largest error in the 2-norm, in units of eps sqrt(log2 n); the largest measured is 0.6.
LARGEST_ERROR = 0.8

ENTRY = """
int64_t workspace_@R@(const int64_t *plan);
int64_t workspace_@R@(const int64_t *plan)
{
    return fft_workspace_@R@(plan);
}

void run_@R@(int form, const int64_t *plan, const @real@ *table, const int64_t *n, const void *x,
             void *y, void *workspace);
void run_@R@(int form, const int64_t *plan, const @real@ *table, const int64_t *n, const void *x,
             void *y, void *workspace)
{
    bool together = plan[FFT_METHOD] == FFT_TOGETHER;
    if (form == 0) {
        (together ? fft_complex_together_@C@ : fft_complex_alone_@C@)(
            plan, table, n[0], n[1], x, n[2], n[3], n[4], y, n[5], n[6], n[7], workspace);
    } else if (form == 1) {
        (together ? fft_real_together_@C@ : fft_real_alone_@C@)(
            plan, table, n[0], n[1], x, n[2], n[3], n[4], y, n[5], n[6], n[7], workspace);
    } else {
        (together ? fft_hermitian_together_@C@ : fft_hermitian_alone_@C@)(
            plan, table, n[0], n[1], x, n[2], n[3], n[4], y, n[5], n[6], n[7], workspace);
    }
}
"""


def build(folder, *flags):
    """The helpers, for both precisions, as a library."""
    names = ("math", "stdint", "stdbool", "stddef", "string", "complex")
    parts = [f"#include <{name}.h>" for name in names]
    helpers = []
    for real, suffix in (("f32", "c64"), ("f64", "c128")):
        forms = product(("complex", "real", "hermitian"), ("together", "alone"))
        helpers += [f"fft_{form}_{method}_{suffix}" for form, method in forms]
        helpers.append(f"fft_workspace_{real}")
    parts += c_helpers.collect(helpers)
    for words in (("f32", "c64", "float"), ("f64", "c128", "double")):
        text = ENTRY
        for mark, word in zip(("@R@", "@C@", "@real@"), words, strict=True):
            text = text.replace(mark, word)
        parts.append(text)
    (folder / "fft.c").write_text("\n\n".join(parts))
    command = ["gcc", *FLAGS, *flags, "-shared", "-fPIC", str(folder / "fft.c")]
    subprocess.run([*command, "-o", str(folder / "fft.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "fft.so"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


class Kernel:
    """A compiled kernel, called with NumPy arrays."""

    def __init__(self, folder, *flags):
        self.library = build(folder, *flags)
        for suffix in ("f32", "f64"):
            getattr(self.library, f"workspace_{suffix}").restype = ctypes.c_int64

    def __call__(self, kind, x, n, axis, scale=None, threads=1):
        """The transform along an axis of an array of at least two axes, checking that nothing
        outside of the result and the workspace is written."""
        real = np.dtype(f"f{x.real.dtype.itemsize}")
        inverse = kind in ("ifft", "irfft")
        scale = (1 / n if inverse else 1.0) if scale is None else scale
        shape = list(x.shape)
        shape[axis] = n // 2 + 1 if kind == "rfft" else n
        dtype = real if kind == "irfft" else np.dtype(f"c{2 * real.itemsize}")
        padded = np.full(int(np.prod(shape)) + 7, 77, dtype)
        y = padded[:-7].reshape(shape)
        outer, inner = (
            int(np.prod(x.shape[:axis])),
            int(np.prod(x.shape[axis + 1 :])),
        )
        plan = make_plan(kind, n, scale, real, outer, inner)
        room = self.function("workspace", real)(pointer(plan.numbers))
        assert room <= plan.workspace
        workspace = np.full(room + 64, 77, np.uint8)
        form = 2 if kind == "irfft" else int(x.dtype.kind == "f")
        steps = []
        for array in (x, y):
            strides = [s // array.itemsize for s in array.strides]
            inside = strides[-1] if axis < x.ndim - 1 else 0
            steps += [strides[0] if axis else 0, inside, strides[axis]]
        self.library.omp_set_num_threads(threads)
        self.function("run", real)(
            form,
            pointer(plan.numbers),
            pointer(plan.table),
            pointer(np.array([outer, inner, *steps], np.int64)),
            pointer(x),
            pointer(y),
            pointer(workspace),
        )
        assert (workspace[room:] == 77).all()
        assert (padded[-7:] == 77).all()
        return y

    def function(self, name, real):
        return getattr(self.library, f"{name}_f{8 * real.itemsize}")


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return Kernel(tmp_path_factory.mktemp("fft"), "-march=native")


def operand(kind, shape, n, axis, dtype, seed):
    random = np.random.default_rng(seed)
    shape = list(shape)
    shape[axis] = n // 2 + 1 if kind == "irfft" else n
    x = random.standard_normal(shape)
    if kind != "rfft":
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype if kind == "rfft" else f"c{2 * np.dtype(dtype).itemsize}")


def exact(kind, x, n, axis):
    """NumPy's transform in extended precision."""
    x = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    return getattr(np.fft, kind)(x, n, axis)


def error(got, want, n):
    """The error in the 2-norm in units of eps sqrt(log2 n)."""
    size = np.linalg.norm(want.ravel())
    distance = np.linalg.norm((got - want).ravel())
    return float(distance / size / np.finfo(got.dtype).eps / max(1, np.log2(n)) ** 0.5)


def check(kernel, kind, shape, n, axis, dtype, seed=0, threads=1):
    x = operand(kind, shape, n, axis, dtype, seed)
    got = kernel(kind, x, n, axis, threads=threads)
    assert error(got, exact(kind, x, n, axis), n) < LARGEST_ERROR


kinds = st.sampled_from(KINDS)
dtypes = st.sampled_from(["f4", "f8"])
lengths = st.one_of(
    st.integers(1, 300),
    st.sampled_from([307, 512, 625, 729, 997, 1009, 1021, 1024, 1331, 2003, 2187, 4096, 5000]),
)


@settings(max_examples=tries(150), deadline=None)
@given(kinds, lengths, st.integers(1, 20), st.booleans(), dtypes, st.integers(0, 99))
def test_transforms_of_any_length_are_within_rounding(native, kind, n, count, rows, dtype, seed):
    shape, axis = ((count, n), 1) if rows else ((n, count), 0)
    check(native, kind, shape, n, axis, dtype, seed)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kind", KINDS)
@one_in(2)
def test_every_length_up_to_130_is_within_rounding(native, kind, dtype):
    for n in range(1, 131):
        check(native, kind, (3, n), n, 1, dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1 << 17, 100_000, 65537, 3**10, 2 * 30011])
@one_in(2)
def test_long_transforms_are_within_rounding_and_the_same_in_threads(native, kind, n):
    x = operand(kind, (1, n), n, 1, "f8", 1)
    got = native(kind, x, n, 1)
    assert error(got, exact(kind, x, n, 1), n) < LARGEST_ERROR
    assert native(kind, x, n, 1, threads=3).tobytes() == got.tobytes()


@pytest.mark.parametrize("n", [60, 128, 1009, 1024])
@one_in(3)
def test_many_transforms_have_the_same_bits_whatever_the_threads(native, n):
    for kind in KINDS:
        x = operand(kind, (700, n), n, 1, "f4", 2)
        once = native(kind, x, n, 1)
        assert error(once, exact(kind, x, n, 1), n) < LARGEST_ERROR
        once = once.tobytes()
        assert native(kind, x, n, 1, threads=2).tobytes() == once
        assert native(kind, x, n, 1, threads=3).tobytes() == once


@pytest.mark.parametrize("n", [30, 100, 1009, 2048])
def test_a_transform_in_the_middle_axis_or_of_reversed_rows_is_the_same(native, n):
    for kind in KINDS:
        x = operand(kind, (2, n, 11), n, 1, "f8", 3)
        want = exact(kind, x, n, 1)
        assert error(native(kind, x, n, 1), want, n) < LARGEST_ERROR
        y = operand(kind, (9, n), n, 1, "f8", 4)[::-1, ::-1]
        assert error(native(kind, y, n, 1), exact(kind, y, n, 1), n) < LARGEST_ERROR


def test_small_transforms_agree_with_mpmath(native):
    """The reference of the other tests is NumPy; here it is the definition, to 40 digits."""
    with mpmath.workdps(40):
        for n in (7, 12, 64, 103):
            x = operand("fft", (1, n), n, 1, "f8", 5)
            values = [mpmath.mpc(complex(v)) for v in x[0]]
            want = []
            for k in range(n):
                turns = [mpmath.expjpi(mpmath.mpf(-2 * (j * k % n)) / n) for j in range(n)]
                want.append(mpmath.fsum(v * w for v, w in zip(values, turns, strict=True)))
            got = [mpmath.mpc(complex(v)) for v in native("fft", x, n, 1)[0]]
            distance = mpmath.norm([g - w for g, w in zip(got, want, strict=True)])
            bound = LARGEST_ERROR * 2.0**-52 * np.log2(n) ** 0.5
            assert distance < bound * mpmath.norm(want)


def test_roots_are_correct_to_the_last_bits_of_extended_precision():
    tolerance = 4 * float(np.finfo(np.longdouble).eps)
    with mpmath.workdps(40):
        for n in (1, 2, 3, 7, 8, 1000, 1009):
            found = roots(n, np.arange(-3, 2 * n))
            for k, value in zip(range(-3, 2 * n), found, strict=True):
                want = mpmath.expjpi(mpmath.mpf(-2 * k) / n)
                for got, part in ((value.real, want.real), (value.imag, want.imag)):
                    high = float(got)
                    rest = float(got - np.longdouble(high))
                    assert abs(mpmath.mpf(high) + mpmath.mpf(rest) - part) <= tolerance
    assert roots(8, 2) == -1j and roots(4, 3) == 1j and roots(2, 1) == -1  # exactly


def test_radices_multiply_to_the_length():
    for n in range(1, 2000):
        assert np.prod(radices_of(n), dtype=int) == n
        assert np.prod(prime_factors(n), dtype=int) == n
    for n in (103, 1009, 65537):
        length = padded_length(n, 8)
        assert 2 * n - 1 <= length < 3 * n and set(prime_factors(length)) <= {2, 3, 5}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_stays_in_its_transform(native, value):
    for shape, axis in (((40, 24), 1), ((24, 40), 0), ((40, 600), 1)):
        x = np.ones(shape, "c16")
        x[3, 5] = value
        bad = np.zeros(shape, bool)
        bad[(3, slice(None)) if axis else (slice(None), 5)] = True
        got = native("fft", x, shape[axis], axis)
        assert np.isfinite(got[~bad]).all()
        assert not np.isfinite(got[bad]).any()


@thorough
@pytest.mark.skipif(not X86_64, reason="names of x86 processors")
@pytest.mark.parametrize("march", ["x86-64", "x86-64-v3"])
@one_in(2)
def test_transforms_are_within_rounding_when_built_for_older_processors(tmp_path, march):
    kernel = Kernel(tmp_path, f"-march={march}", "-O2")
    for kind in KINDS:
        for n in (1, 2, 7, 15, 64, 103, 360, 1000):
            for dtype in ("f4", "f8"):
                check(kernel, kind, (5, n), n, 1, dtype)
                check(kernel, kind, (n, 9), n, 0, dtype)
