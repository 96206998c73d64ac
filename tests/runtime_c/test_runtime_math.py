"""The elementary functions of runtime_c: error, special values, vectorised loops."""

import ctypes
import functools
import re
import shutil
import subprocess
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from thorough import one_in

RUNTIME = Path(__file__).parents[2] / "runtime_c"
HELPERS = sorted(p for p in RUNTIME.rglob("*.h") if p.parent.name != "python")
HEADERS = ("math.h", "stdint.h", "stdbool.h", "complex.h", "string.h")
FUNCTION = re.compile(r"^static inline [\w ]+?(\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
FLAGS = ("-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = [
    pytest.mark.full_level,
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
]

# largest error allowed, in ulp, in single and in double precision
LIMITS = {
    "exp": (1.0, 1.0),
    "exp2": (1.0, 1.0),
    "expm1": (1.7, 2.2),
    "log": (1.0, 1.0),
    "log1p": (1.6, 1.6),
    "log2": (0.8, 0.8),
    "log10": (0.8, 0.8),
    "sin": (0.7, 2.0),
    "cos": (0.7, 2.3),
    "tan": (0.7, 2.7),
    "arcsin": (2.2, 2.2),
    "arccos": (1.3, 1.3),
    "arctan": (1.8, 2.0),
    "sinh": (2.5, 2.6),
    "cosh": (1.7, 1.7),
    "tanh": (1.6, 1.6),
    "arcsinh": (2.0, 2.0),
    "arccosh": (2.1, 2.3),
    "arctanh": (2.3, 2.3),
    "erf": (0.7, 1.7),
    "erfc": (0.7, 3.6),
    "cbrt": (0.6, 0.6),
    "power": (0.6, 1.0),
    "arctan2": (1.8, 2.2),
    "hypot": (0.6, 1.2),
    "logaddexp": (1.6, 1.6),
    "logaddexp2": (1.6, 1.6),
}
BINARY = {"power", "arctan2", "hypot", "logaddexp", "logaddexp2"}
NOT_IN_NUMPY = {
    "lapack",
    "select",
    "erf",
    "erfc",
    "fft_pairs",
    "conv",
    "conv_images",
    "complex_matmul",
    "quicksort",
    "sort_network",
    "count_leading_zeros",
    "multiply_modulo",
    "subscript",
    "checked_subscript",
    "cell",
    "behind_branch",
    "opaque",
    "exchange",
    "print_values",
    "sizes",
    "strides",
    "tensors",
    "threads",
}
DTYPES = {"f32": np.float32, "f64": np.float64}
NAMES = [f"{name}_{suffix}" for name in LIMITS for suffix in DTYPES]
NEAR = {"f32": 2.0**40, "f64": 2.0**40}
NEAR_NAMES = [f"{base}_near_{suffix}" for base in ("sin", "cos", "tan") for suffix in NEAR]
LANES_NAMES = [f"{base}_in_lanes_{suffix}" for base in ("sin", "cos", "tan") for suffix in NEAR]
BRANCHING = {name.replace("_in_lanes", "") for name in LANES_NAMES}
COMPILED = [*NAMES, *NEAR_NAMES, *LANES_NAMES]
C_TYPES = {"f32": ctypes.c_float, "f64": ctypes.c_double}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, -2.5, np.inf, -np.inf, np.nan]


def library() -> dict[str, str]:
    """Text of each function, by name, in all headers."""
    texts = [path.read_text() for path in HELPERS]
    return {match[1]: match[0] for text in texts for match in FUNCTION.finditer(text)}


def with_dependencies(names, functions):
    """The texts of the named functions, each after those that it calls."""
    done = {}

    def visit(name):
        if name not in done:
            for word in dict.fromkeys(re.findall(r"\w+", functions[name])):
                if word in functions and word != name:
                    visit(word)
            done[name] = functions[name]

    for name in names:
        visit(name)
    return "\n".join(done.values())


def split(name):
    """`log1p_f32` is log1p and f32."""
    return name.rsplit("_", 1)


def kernel(name):
    """A C function that applies the named function to arrays, its loop on a line of its own."""
    base, suffix = split(name)
    kind = "float" if suffix == "f32" else "double"
    second = base in BINARY
    arguments = f"const {kind} *restrict x" + (f", const {kind} *restrict y" if second else "")
    call = f"{name}(x[i]{', y[i]' if second else ''})"
    head = f"void apply_{name}(long n, {kind} *restrict out, {arguments})"
    loop = f"    #pragma omp simd\n    for (long i = 0; i < n; i++) out[i] = {call};\n"
    return f"{head};\n{head}\n{{\n{loop}}}\n"


# Of constants at the end of one function gcc makes branches in the next one, if it sees how.
CHAINS = [
    "arctan2_F(log_F(x[j]), x[j])",
    "power_F(arccosh_F(x[j]), x[j])",
    "hypot_F(log2_F(x[j]), x[j])",
    "logaddexp_F(x[j], 2)",
]


def chains():
    """C functions of functions of functions, each loop on a line of its own."""
    for number, chain in enumerate(CHAINS):
        for suffix, kind in (("f32", "float"), ("f64", "double")):
            call = chain.replace("_F", f"_{suffix}")
            arguments = f"long n, {kind} *restrict out, const {kind} *restrict x"
            head = f"void chain_{number}_{suffix}({arguments})"
            loop = f"    #pragma omp simd\n    for (long j = 0; j < n; j++) out[j] = {call};\n"
            yield f"{head};\n{head}\n{{\n{loop}}}\n"


def driver():
    """The C program with all kernels."""
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    kernels = "\n".join([*map(kernel, COMPILED), *chains()])
    return f"{includes}\n{with_dependencies(COMPILED, library())}\n{kernels}"


def is_gcc():
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    return "Free Software Foundation" in version.stdout


def compiled(folder, *options):
    """The shared object of the driver, and what the compiler said."""
    source, shared = folder / "driver.c", folder / "driver.so"
    source.write_text(driver())
    command = [COMPILER, *FLAGS, *options, "-fPIC", "-shared", "-o", shared, source, "-lm"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return ctypes.CDLL(str(shared)), run.stderr


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    # gcc refuses to inline long functions more than once without a word
    extra = ("-finline-limit=20000", "-fopt-info-vec") if is_gcc() else ()
    return compiled(tmp_path_factory.mktemp("native"), "-O3", "-march=native", *extra)


@pytest.fixture(scope="module")
def portable(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("portable"), "-O1", *WARNINGS)


@pytest.fixture(params=["native", "portable"])
def build(request):
    return request.getfixturevalue(request.param)


def apply(build, name, *arrays):
    """The C function on arrays of its own type."""
    result = np.empty_like(arrays[0])
    pointer = ctypes.POINTER(C_TYPES[split(name)[1]])
    getattr(build[0], f"apply_{name}")(
        ctypes.c_long(result.size), *(a.ctypes.data_as(pointer) for a in (result, *arrays))
    )
    return result


def points(name, count=900):
    """Arguments of all kinds: bit patterns, magnitudes, integers, near 1, multiples of pi / 2."""
    base, suffix = split(name)
    dtype = DTYPES[suffix]
    random = np.random.default_rng(len(name))

    def draw(shift):
        bits = random.integers(0, 2 ** (8 * dtype().itemsize), count, dtype=f"u{dtype().itemsize}")
        with np.errstate(all="ignore"):
            kinds = [
                bits.view(dtype),
                random.uniform(-1, 1, count).astype(dtype),
                random.uniform(-40, 40, count).astype(dtype),
                random.uniform(-760, 760, count).astype(dtype),
                (random.uniform(-1, 1, count) * 2.0 ** random.integers(-60, 60, count)).astype(
                    dtype
                ),
                (1 + random.uniform(-1, 1, count) * 2.0 ** -random.integers(0, 50, count)).astype(
                    dtype
                ),
                (random.integers(-(2**20), 2**20, count) * (np.pi / 2)).astype(dtype),
                random.integers(-20, 20, count).astype(dtype),
            ]
        chosen = np.choose((np.arange(count) + shift) % len(kinds), kinds)
        return chosen[np.isfinite(chosen)]

    if base not in BINARY:
        return (draw(0),)
    pairs = [draw(0), draw(0), draw(3)]
    size = min(p.size for p in pairs)
    x = np.concatenate([pairs[0][:size], np.abs(pairs[1][:size])])
    y = np.concatenate([pairs[2][:size], pairs[2][:size]])
    return x, y


def clipped(function, low, high):
    """Huge arguments, which overflow or underflow anyway, would cost the reference much memory."""
    return lambda x: function(min(max(x, mpf(low)), mpf(high)))


def odd_cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def power(x, y):
    if x == 0:
        return mpf("inf") if y < 0 else mpf(0 if y > 0 else 1)
    if x < 0 and y != mp.floor(y):
        return mpf("nan")
    scaled = y * mp.log(abs(x))
    size = mp.exp(min(max(scaled, mpf(-2000)), mpf(2000)))
    return -size if x < 0 and mp.floor(y / 2) * 2 != y else size


def logaddexp(x, y):
    return max(x, y) + mp.log1p(mp.exp(max(-abs(x - y), mpf(-2000))))


def logaddexp2(x, y):
    return max(x, y) + mp.log1p(mpf(2) ** max(-abs(x - y), mpf(-3000))) / mp.log(2)


REFERENCES = {
    "exp": clipped(mp.exp, -2000, 2000),
    "exp2": clipped(lambda x: mpf(2) ** x, -3000, 3000),
    "expm1": clipped(mp.expm1, -2000, 2000),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "sinh": clipped(mp.sinh, -2000, 2000),
    "cosh": clipped(mp.cosh, -2000, 2000),
    "tanh": clipped(mp.tanh, -2000, 2000),
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "erf": clipped(mp.erf, -40, 40),
    "erfc": clipped(mp.erfc, -40, 40),
    "cbrt": odd_cbrt,
    "power": power,
    "arctan2": mp.atan2,
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
}


@functools.cache
def references(name):
    """The true values at the points, NaN outside the domain."""
    base = split(name)[0]
    function = REFERENCES.get(base) or getattr(mp, base)
    values = []
    with mp.workprec(140):
        for arguments in zip(*points(name), strict=True):
            try:
                value = function(*(mpf(float(a)) for a in arguments))
            except (ValueError, ZeroDivisionError):
                value = mpf("nan")
            if isinstance(value, mpmath.mpc) or (base == "log1p" and arguments[0] < -1):
                value = mpf("nan")
            values.append(value)
    return values


def error_in_ulp(got, true, dtype, least=0.0):
    """|got - true| in units of the spacing at the true value, or at `least` if that is larger."""
    info = np.finfo(dtype)
    if mp.isnan(true) or np.isnan(got):
        return 0.0 if mp.isnan(true) == bool(np.isnan(got)) else np.inf
    beyond = mpf(2) ** int(info.maxexp)
    true = max(min(true, beyond), -beyond)
    got = max(min(mpf(float(got)), beyond), -beyond)
    size = max(abs(true), mpf(float(least)), mpf(2) ** int(info.minexp))
    spacing = mpf(2) ** (mp.frexp(size)[1] - 1 - int(info.nmant))
    return float(abs(got - true) / spacing)


@pytest.mark.parametrize("name", NAMES)
@one_in(6)
def test_error_is_within_the_limit(build, name):
    base, suffix = split(name)
    dtype = DTYPES[suffix]
    arguments = points(name)
    got = apply(build, name, *arguments)
    limit = LIMITS[base][list(DTYPES).index(suffix)]
    # the sum of a logarithm and an argument may cancel: there the error is relative to the argument
    cancels = base.startswith("logaddexp")
    worst, where = 0.0, None
    for value, true, *at in zip(got, references(name), *arguments, strict=True):
        least = max(abs(a) for a in at) if cancels else 0.0
        error = error_in_ulp(value, true, dtype, least)
        if error > worst:
            worst, where = error, (at, value, true)
    assert worst <= limit, where


@pytest.mark.parametrize("name", [n for n in NAMES if split(n)[0] not in NOT_IN_NUMPY])
def test_special_values_are_those_of_numpy(build, name):
    base, suffix = split(name)
    dtype = DTYPES[suffix]
    info = np.finfo(dtype)
    values = np.array([*SPECIAL, info.max, -info.max, info.tiny, -info.smallest_subnormal], dtype)
    arguments = (values,)
    if base in BINARY:
        arguments = (np.repeat(values, values.size), np.tile(values, values.size))
    with np.errstate(all="ignore"):
        expected = getattr(np, base)(*arguments)
    got = apply(build, name, *arguments)
    special = ~np.isfinite(expected) | (expected == 0) | (np.abs(expected) == 1)
    np.testing.assert_array_equal(got[special], expected[special])
    known = special & ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))
    assert np.isfinite(got[~special]).all()


@pytest.mark.parametrize("suffix", DTYPES)
def test_special_values_of_the_error_functions(build, suffix):
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], DTYPES[suffix])
    np.testing.assert_array_equal(apply(build, f"erf_{suffix}", values), [0.0, -0.0, 1, -1, np.nan])
    assert np.signbit(apply(build, f"erf_{suffix}", values))[1]
    np.testing.assert_array_equal(apply(build, f"erfc_{suffix}", values), [1, 1, 0, 2, np.nan])


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize(
    ("base", "arguments", "expected"),
    [
        ("exp2", [-3.0, 0.0, 10.0], [0.125, 1.0, 1024.0]),
        ("log2", [0.125, 1.0, 1024.0], [-3.0, 0.0, 10.0]),
        ("log10", [1.0, 10.0, 1000.0, 1e10], [0.0, 1.0, 3.0, 10.0]),
        ("cbrt", [27.0, -8.0, 0.125], [3.0, -2.0, 0.5]),
    ],
)
def test_exact_cases_are_exact(build, suffix, base, arguments, expected):
    got = apply(build, f"{base}_{suffix}", np.array(arguments, DTYPES[suffix]))
    np.testing.assert_array_equal(got, np.array(expected, DTYPES[suffix]))


# the double and the float nearest to a multiple of pi / 2, and other hard cases of the reduction
HARD = [
    6381956970095103 * 2.0**797,
    2.0**1023,
    np.finfo(np.float64).max,
    5.481161143357137e269,
    3.2627315315764845e96,
    1e22,
    2.0**40,
    np.nextafter(2.0**40, np.inf),
    16367173 * 2.0**72,
    float(np.finfo(np.float32).max),
]


@pytest.mark.parametrize("base", ["sin", "cos", "tan"])
@pytest.mark.parametrize("suffix", DTYPES)
def test_huge_angles_are_reduced_exactly(build, base, suffix):
    dtype = DTYPES[suffix]
    limit = LIMITS[base][list(DTYPES).index(suffix)]
    with np.errstate(over="ignore"):
        values = np.array(HARD, dtype)
    values = values[np.isfinite(values)]
    values = np.concatenate([values, -values])
    with mp.workprec(1400):
        for x, got in zip(values, apply(build, f"{base}_{suffix}", values), strict=True):
            assert error_in_ulp(got, getattr(mp, base)(mpf(float(x))), dtype) <= limit, x


@pytest.mark.parametrize("name", NEAR_NAMES)
def test_functions_for_ordinary_angles_give_the_same_bits(native, name):
    whole = name.replace("_near", "")
    suffix = split(name)[1]
    bound = NEAR[suffix]
    x = np.concatenate([*points(whole), np.array([0.0, -0.0, bound, -bound], DTYPES[suffix])])
    x = x[np.abs(x) <= bound]
    bits = f"u{x.itemsize}"
    near, full = apply(native, name, x), apply(native, whole, x)
    np.testing.assert_array_equal(near.view(bits), full.view(bits))


@pytest.mark.parametrize("name", LANES_NAMES)
def test_functions_for_lanes_give_the_same_bits(native, name):
    """Those for scalars take huge angles in a branch."""
    whole = name.replace("_in_lanes", "")
    x = points(whole)[0]
    bits = f"u{x.itemsize}"
    lanes, scalar = (one_nan(apply(native, n, x)).view(bits) for n in (name, whole))
    np.testing.assert_array_equal(lanes, scalar)


def one_nan(values):
    """Sign and payload of a NaN mean nothing."""
    return np.where(np.isnan(values), values.dtype.type(np.nan), values)


@pytest.mark.parametrize("name", NAMES)
def test_result_does_not_depend_on_the_position(native, name):
    dtype = DTYPES[split(name)[1]]
    random = np.random.default_rng(1)
    x = (random.uniform(-1, 1, 67) * 2.0 ** random.integers(-4, 5, 67)).astype(dtype)
    x[5::13] = random.uniform(0, 3e38, x[5::13].size)
    x[: len(SPECIAL)] = SPECIAL
    arguments = (x, x[::-1].copy()) if split(name)[0] in BINARY else (x,)
    alone = [apply(native, name, *(a[i : i + 1].copy() for a in arguments)) for i in range(x.size)]
    expected = one_nan(np.concatenate(alone)).view(f"u{x.itemsize}")
    for size in range(1, x.size + 1):
        got = one_nan(apply(native, name, *(a[:size].copy() for a in arguments)))
        np.testing.assert_array_equal(got.view(f"u{x.itemsize}"), expected[:size])


@pytest.mark.skipif(COMPILER is None or not is_gcc(), reason="reads what gcc reports")
def test_every_loop_is_vectorised(native):
    reported = {int(line) for line in re.findall(r":(\d+):\d+: optimized: loop vec", native[1])}
    lines = driver().splitlines()
    loops = {
        re.search(r"= (\w+)\(", text)[1]: number
        for number, text in enumerate(lines, 1)
        if text.startswith("    for (long i = 0; i < n; i++) out[i] =")
    }
    assert set(loops) == set(COMPILED)
    assert {name for name, line in loops.items() if line not in reported} <= BRANCHING
    chained = {n: text for n, text in enumerate(lines, 1) if text.startswith("    for (long j")}
    assert len(chained) == 2 * len(CHAINS)
    assert [text for line, text in chained.items() if line not in reported] == []


@pytest.mark.parametrize("path", HELPERS, ids=lambda path: path.stem)
def test_a_header_is_a_comment_and_functions(path):
    text = path.read_text()
    assert text.startswith(("/* numpy", "/* scipy.", "/* jax.")) or path.stem in NOT_IN_NUMPY
    assert "#include" not in text and "#define" not in text
    assert FUNCTION.search(text)
