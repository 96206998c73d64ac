"""The conversions of arrays/half.h: each of the 65536 halves, and the floats between them."""

import ctypes
import re
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from test_runtime_math import COMPILER, FLAGS, HEADERS, WARNINGS, is_gcc
from thorough import one_in

from transpile.ir.types import BFLOAT16, FLOAT16
from transpile.symbols import c_helpers

HALVES = {"f16": FLOAT16, "bf16": BFLOAT16}
FLOAT, DOUBLE = np.dtype("float32"), np.dtype("float64")
C_NAMES = {FLOAT: "float", DOUBLE: "double"} | dict.fromkeys(HALVES.values(), "uint16_t")
pytestmark = [
    pytest.mark.full_level,
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def signatures():
    """For each function the dtypes of its result and of its operands."""
    found = {}
    for suffix, half in HALVES.items():
        if half is not None:
            found[f"convert_{suffix}_f32"] = (FLOAT, half)
            found[f"convert_f32_{suffix}"] = (half, FLOAT)
            found[f"round_{suffix}"] = (FLOAT, FLOAT)
            found[f"nextafter_{suffix}"] = (half, half, half)
            found[f"spacing_{suffix}"] = (half, half)
    return found | {"convert_f64_f16": (FLOAT16, DOUBLE)}


SIGNATURES = signatures()


def kernel(name):
    """A C function that applies the named one to arrays, its loop on a line of its own."""
    result, *operands = (C_NAMES[d] for d in SIGNATURES[name])
    parameters = "".join(f", const {c} *restrict {x}" for c, x in zip(operands, "xy", strict=False))
    call = f"{name}({', '.join(f'{x}[i]' for x in 'xy'[: len(operands)])})"
    head = f"void apply_{name}(long n, {result} *restrict out{parameters})"
    return f"{head};\n{head}\n{{\n    for (long i = 0; i < n; i++) out[i] = {call};\n}}\n"


def driver():
    """The C program with all kernels."""
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    helpers = "\n\n".join(c_helpers.collect(SIGNATURES))
    return f"{includes}\n{helpers}\n\n" + "\n".join(map(kernel, SIGNATURES))


def compiled(folder, *options, compiler=COMPILER):
    """The shared object of the driver, and what the compiler said."""
    source, shared, compiled_only = (folder / f"driver.{ending}" for ending in ("c", "so", "o"))
    source.write_text(driver())
    command = [compiler, *FLAGS, *options, "-fPIC", "-c", "-o", compiled_only, source]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    # Linked without the options: -ffast-math would have the whole process flush subnormals to 0.
    link = [compiler, "-shared", "-o", shared, compiled_only, "-lm"]
    subprocess.run(link, check=True)
    return ctypes.CDLL(str(shared)), run.stderr


BUILDS = {
    "native": ("-O3", "-march=native"),
    "portable": ("-O1", *WARNINGS),
    "fast": ("-O3", "-march=native", "-ffast-math", "-ffp-contract=fast"),
}


@pytest.fixture(scope="module", params=BUILDS)
def build(request, tmp_path_factory):
    library, _ = compiled(tmp_path_factory.mktemp(request.param), *BUILDS[request.param])
    return library


def apply(library, name, *arrays):
    """The C function on arrays of its own types."""
    result = np.empty(arrays[0].shape, SIGNATURES[name][0])
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (result, *arrays)]
    getattr(library, f"apply_{name}")(ctypes.c_long(result.size), *pointers)
    return result


def assert_same(got, want, x):
    """Bit for bit, but for the payloads of NaNs, which are quiet."""
    assert got.dtype == want.dtype
    bits = f"u{got.dtype.itemsize}"
    is_nan = np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), is_nan)
    wrong = (got.view(bits) != want.view(bits)) & ~is_nan
    assert not wrong.any(), (x[wrong][:5], got[wrong][:5], want[wrong][:5])


def every(half):
    """All numbers of a half dtype, infinities and NaNs among them."""
    return np.arange(1 << 16, dtype=np.uint16).view(half)


def between(half, dtype):
    """Each half, the middles between neighbours, and the numbers next to all of these; bit
    patterns from everywhere."""
    halves = every(half).astype(np.float64)
    halves = np.sort(halves[np.isfinite(halves)])
    step = halves[-1] - halves[-2]
    edges = np.array([halves[-1] + step / 2, halves[-1] + step, np.inf, np.nan, 0.0])
    middles = np.concatenate([(halves[1:] + halves[:-1]) / 2, edges, -edges])
    points = np.concatenate([halves, middles]).astype(dtype)
    around = [np.nextafter(points, dtype.type(s * np.inf)) for s in (-1, 1)]
    random = np.random.default_rng(3).integers(0, 2**32, 1 << 19, dtype=np.uint32)
    drawn = random.view(dtype) if dtype == FLOAT else random.view(np.float32).astype(dtype)
    drawn = drawn * (1 + dtype.type(2.0**-30))
    return np.concatenate([points, *around, drawn])


@pytest.mark.parametrize("suffix", HALVES)
@one_in(2)
def test_every_half_becomes_the_float_that_it_is(build, suffix):
    if HALVES[suffix] is None:
        pytest.skip("ml_dtypes is not installed")
    x = every(HALVES[suffix])
    assert_same(apply(build, f"convert_{suffix}_f32", x), x.astype(np.float32), x)


@pytest.mark.parametrize("name", [n for n in SIGNATURES if re.match("convert_f(32|64)_|round", n)])
@one_in(2)
def test_floats_are_rounded_to_the_nearest_half(build, name):
    half = HALVES[re.search(r"b?f16", name)[0]]
    x = between(half, SIGNATURES[name][1])
    want = x.astype(half)
    if name.startswith("round"):
        want = want.astype(np.float32)
    assert_same(apply(build, name, x), want, x)


def test_doubles_are_rounded_to_float16_once(build):
    """By way of a float the third would be 1, and the fourth twice the smallest subnormal."""
    x = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1.5 * 2.0**-24 - 2e-20])
    found = apply(build, "convert_f64_f16", x)
    np.testing.assert_array_equal(found, [1, 1 + 2.0**-9, 1 + 2.0**-10, 2.0**-24])
    assert np.all(found.view("u2") == x.astype(np.float16).view("u2"))


@pytest.mark.parametrize("suffix", HALVES)
def test_steps_between_halves_are_numpys(build, suffix):
    if HALVES[suffix] is None:
        pytest.skip("ml_dtypes is not installed")
    x = every(HALVES[suffix])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for y in (x[::-1].copy(), np.zeros_like(x), -np.zeros_like(x), np.full_like(x, 2), x):
            # of two zeros NumPy below 2.5 gives the first, in float16 alone
            expected = np.where((x == 0) & (y == 0), y, np.nextafter(x, y))
            assert_same(apply(build, f"nextafter_{suffix}", x, y), expected, x)
        assert_same(apply(build, f"spacing_{suffix}", x), np.spacing(x), x)


def test_signalling_nans_become_quiet(build):
    signalling = np.array([0x7F800001, 0xFF812345], np.uint32).view(np.float32)
    for suffix, half in HALVES.items():
        if half is not None:
            quiet = np.uint16(0x0200 if suffix == "f16" else 0x0040)
            found = apply(build, f"convert_f32_{suffix}", signalling).view(np.uint16)
            assert np.all(found & quiet) and list(found >> 15) == [0, 1]


@pytest.mark.skipif(not (COMPILER and is_gcc()), reason="asks gcc what it has vectorised")
def test_conversions_become_vectors(tmp_path):
    _, said = compiled(tmp_path, "-O3", "-march=native", "-fopt-info-vec")
    vectorised = {int(n) for n in re.findall(r":(\d+):\d+: optimized: loop vectorized", said)}
    lines = (tmp_path / "driver.c").read_text().splitlines()
    for name in SIGNATURES:
        (number,) = (k for k, line in enumerate(lines, 1) if f"out[i] = {name}(" in line)
        assert number in vectorised, name


def test_clang_takes_them_without_a_warning(tmp_path):
    command = shutil.which("clang")
    if command is None:
        pytest.skip("clang is not installed")
    compiled(tmp_path, "-O1", *WARNINGS, compiler=command)
