"""Special functions against exact values, at their edges, and in vector lanes."""

import ctypes
import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf
from primitive_programs import SAMPLES
from special_points import EDGES, INF, ONE, SEVERAL, pairs, spread
from thorough import each, one_in, thorough

import transpile
from transpile.build.compiler_probe import INLINING_FLAGS
from transpile.ir.primitive import TABLE
from transpile.scipy import special
from transpile.symbols import c_helpers
from transpile.test_util import check_grads
from transpile.trace.trace import bind

# Edges and derivatives do not depend on how far gcc optimises; last bits and lanes do.
as_users = pytest.mark.full_level

TYPES = ("f4", "f8")
PRIMITIVES = sorted(EDGES)


@pytest.fixture(scope="module")
def programs():
    """Each primitive on vectors, compiled with all others for a dtype."""

    def all_primitives(operands):
        return {name: bind(TABLE[name], *arrays) for name, arrays in operands.items()}

    return transpile.jit(all_primitives)


def ulps(got, exact):
    """By how many units in the last place of the exact value a result is off."""
    with np.errstate(over="ignore"):
        unit = np.spacing(np.abs(got.dtype.type(float(exact))))
    return float(abs(mpf(float(got)) - exact) / mpf(float(unit)))


def evaluate(programs, points, dtype):
    """The results of C, and of NumPy."""
    with np.errstate(over="ignore"):
        operands = {n: [np.asarray(x).astype(dtype) for x in v] for n, v in points.items()}
    return programs(operands), {n: TABLE[n].numpy(*arrays) for n, arrays in operands.items()}


@pytest.fixture(scope="module")
def found(programs):
    """Results at the points of ONE and SEVERAL, by dtype."""
    points = {name: (case[1],) for name, case in ONE.items()}
    points |= {name: case[1] for name, case in SEVERAL.items()}
    return points, cache(lambda dtype: evaluate(programs, points, dtype))


@as_users
@each("dtype", TYPES, ["f8"])
@pytest.mark.parametrize("name", ONE)
@one_in(4)
def test_functions_of_one_number_are_within_a_few_ulp(found, name, dtype):
    exact, points, limit = ONE[name]
    kind = np.dtype(dtype).type
    limit = limit if dtype == "f8" else 0.6
    for results, slack in zip(found[1](dtype), (1, 1.5), strict=True):
        with mp.workdps(35):
            for x, got in zip(kind(points), results[name], strict=True):
                if not np.isfinite(x) or (kind is np.float32 and x == 0):
                    continue
                want = exact(mpf(float(x))) if abs(x) != 1 or "inv" not in name else mp.inf
                small = abs(want) < 1.2e-38 and kind is np.float32
                if np.isfinite(got) and not small:
                    assert ulps(got, want) <= limit * slack, (x, got)
                elif not np.isfinite(got):
                    assert abs(want) > np.finfo(kind).max, (x, got)


@as_users
@pytest.mark.parametrize("name", SEVERAL)
@one_in(2)
def test_functions_of_several_numbers_are_near_in_relative_terms(found, name):
    exact, operands, limit = SEVERAL[name]
    for results in found[1]("f8"):
        with mp.workdps(30):
            for *at, got in zip(*operands, results[name], strict=True):
                want = exact(*(mpf(float(v)) for v in at))
                if mpf(10) ** -290 < abs(want) < mpf(10) ** 300:
                    assert abs(mpf(float(got)) / want - 1) <= limit, (at, got)


@pytest.mark.parametrize("b", [1e20, 1e150, 1.7e308])
@pytest.mark.parametrize("scaled", [0.3, 1.1, 1.333, 20.0])
def test_the_incomplete_beta_function_of_a_large_parameter_is_the_gamma_function_s(b, scaled):
    """I_x(a, b) is P(a, b x) to within 1 / b, also where 1 - x is 1."""
    a = np.array([0.001, 0.7, 3.0])
    operands = a, np.full(3, b), np.full(3, scaled / b)
    want = [float(mp.gammainc(mpf(v), 0, mpf(b) * mpf(scaled / b), regularized=True)) for v in a]
    betainc = TABLE["betainc"]
    for got in (betainc.numpy(*operands), transpile.jit(lambda *x: bind(betainc, *x))(*operands)):
        np.testing.assert_allclose(got, want, rtol=1e-13)


@as_users
@thorough
@pytest.mark.parametrize("name", SEVERAL)
def test_single_precision_is_double_precision_rounded(found, name):
    points, by_dtype = found
    operands = [np.float32(x).astype(float) for x in points[name]]
    want = TABLE[name].numpy(*operands)
    plain = np.isfinite(want) & (np.abs(want) > 1e-30) & (np.abs(want) < 1e37)
    for results in by_dtype("f4"):
        np.testing.assert_allclose(results[name][plain], want[plain], rtol=1.3e-7)


@as_users
def test_the_inverse_error_function_of_single_precision_is_rounded_once():
    """Its own polynomial against that of double precision, at all exponents and near 1."""
    least, most = np.array([2.0**-60, 1], "f4").view("u4")
    drawn = np.arange(least, most, 997, dtype="u4")
    x = np.concatenate([drawn, np.arange(most - 3000, most, dtype="u4")]).view("f4")
    x = np.concatenate([x, -x])
    found = transpile.jit(special.erfinv)(x)
    want = transpile.jit(special.erfinv)(x.astype("f8"))
    errors = np.abs(found - want) / np.spacing(np.abs(want).astype("f4")).astype("f8")
    assert found.dtype == np.float32
    assert errors.max() < 0.51


@pytest.mark.parametrize("dtype", TYPES)
def test_edges_are_those_of_jax(programs, dtype):
    points = {name: np.array([c[0] for c in cases]).T for name, cases in EDGES.items()}
    for results in evaluate(programs, points, dtype):
        for name, cases in EDGES.items():
            with np.errstate(over="ignore"):
                want = np.array([c[1] for c in cases]).astype(dtype)
            tolerance = 1e-6 if dtype == "f4" else 1e-9
            np.testing.assert_allclose(results[name], want, tolerance, 1e-40, err_msg=name)
            zeros = [k for k, c in enumerate(cases) if c[1] == 0 and isinstance(c[1], float)]
            signs = np.signbit(results[name])[zeros]
            np.testing.assert_array_equal(signs, np.signbit(want)[zeros], err_msg=name)


def test_upper_and_lower_tails_add_up_to_one(programs):
    a, x = pairs(400, 8)
    results = programs({"igamma": [a, x], "igammac": [a, x]})
    np.testing.assert_allclose(results["igamma"] + results["igammac"], 1, rtol=1e-15)


def test_large_parameters_are_those_of_the_normal_distribution(programs):
    """Where sums of gamma and beta variates are normal to many digits, however large a is."""
    a = 10.0 ** np.arange(6, 300, 7)
    median = programs({"igamma": [a, a]})["igamma"]  # 1/2 + 1 / (3 sqrt(2 pi a))
    np.testing.assert_allclose(median, 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a)), rtol=1e-10)
    b = 10.0 ** np.arange(0, 9)
    middle = programs({"betainc": [b, b, np.full(b.shape, 0.5)]})["betainc"]
    np.testing.assert_allclose(middle, 0.5, rtol=1e-13)


def test_the_gradient_of_a_gamma_sample_keeps_its_quantile(programs):
    a, x = spread(0.5, 4000, 60), spread(0.5, 4000, 60, 3)
    a, x = a[np.abs(a - x) < 6 * np.sqrt(a)], x[np.abs(a - x) < 6 * np.sqrt(a)]
    results = programs({"igamma_grad_a": [a, x], "random_gamma_grad": [a, x], "lgamma": [a]})
    density = np.exp((a - 1) * np.log(x) - x - results["lgamma"])
    want = -results["igamma_grad_a"] / density
    np.testing.assert_allclose(results["random_gamma_grad"], want, rtol=1e-11)


# ---------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("function", [special.gammainc, special.gammaincc])
def test_derivatives_of_incomplete_gamma_functions(function):
    a, x = np.array([0.5, 2.0, 30.0, 3000.0]), np.array([0.7, 2.5, 25.0, 3010.0])
    check_grads(function, (a, x), order=1, rtol=1e-6)
    check_grads(lambda x: function(a, x), (x,), order=2, rtol=1e-5)


def test_the_derivative_of_zeta_in_its_order():
    slope = transpile.grad(lambda s: bind(TABLE["zeta"], s, np.full(3, 1.0)).sum())
    s = np.array([1.5, 2.0, 4.0])
    with mp.workdps(25):
        want = [float(mp.zeta(v, 1, 1)) for v in s]
    np.testing.assert_allclose(slope(s), want, rtol=1e-13)
    np.testing.assert_allclose(transpile.jit(slope)(s), want, rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "operands", "text"),
    [
        ("betainc", 3, "Betainc gradient with respect to a and b not supported."),
        ("polygamma", 2, "polygamma gradient with respect to m is not supported"),
        ("igamma_grad_a", 2, "has no derivative itself"),
    ],
)
def test_what_has_no_derivative_says_so(name, operands, text):
    others = [np.float64(0.5)] * (operands - 1)
    with pytest.raises(NotImplementedError, match=re.escape(text)):
        transpile.grad(lambda a: bind(TABLE[name], a, *others))(1.0)


# --------------------------------------------------------------------------------- vector lanes

COMPILER = shutil.which("gcc")
# Those with a loop, whose length depends on the operands, or with branches between long formulas.
BRANCHING = {"igamma", "igammac", "igamma_grad_a"}
BRANCHING |= {"random_gamma_grad", "betainc", "gamma", "polygamma", "zeta", "expn", "expi"}
BRANCHING |= {"sine_integral", "cosine_integral", "fresnel_sine", "fresnel_cosine"}
HELPERS = {
    name: primitive.arity
    for name, primitive in TABLE.items()
    if primitive.kind == "elementwise" and primitive.transcendental and name not in SAMPLES
    if c_helpers.find(f"{name}_f64") is not None
}
LANES = sorted(ONE.keys() - BRANCHING)
FLAGS = "-std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math"
FLAGS += " -fopenmp-simd -Wall -Wextra -Wconversion -Werror -fPIC -shared -fopt-info-vec "
FLAGS += " ".join(INLINING_FLAGS)


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    """A library with a loop over each function, and the names of the loops in vector lanes."""
    if COMPILER is None:
        pytest.skip("reads what gcc reports")
    folder = tmp_path_factory.mktemp("lanes")
    lines = [f"#include <{h}>" for h in ("math.h", "stdint.h", "stdbool.h", "string.h")]
    lines += "\n".join(c_helpers.collect([f"{n}_f64" for n in HELPERS])).splitlines()
    places = {}
    for name, count in HELPERS.items():
        arrays = ", ".join(f"const double *restrict {x}" for x in "xyz"[:count])
        elements = ", ".join(f"{x}[i]" for x in "xyz"[:count])
        head = f"void all_{name}(long n, {arrays}, double *restrict out)"
        lines += [f"{head};", head, "{", "    #pragma omp simd"]
        lines.append(f"    for (long i = 0; i < n; i++) out[i] = {name}_f64({elements});")
        places[len(lines)] = name
        lines.append("}")
    source, library = folder / "lanes.c", folder / "lanes.so"
    source.write_text("\n".join(lines) + "\n")
    command = [COMPILER, *FLAGS.split(), "-o", library, source, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reported = {int(k) for k in re.findall(r":(\d+):\d+: optimized: loop vec", done.stderr)}
    return ctypes.CDLL(str(library)), {name for k, name in places.items() if k in reported}


@thorough
@as_users
def test_functions_without_loops_run_in_vector_lanes(loops):
    """A new one does as well, or says here that it does not."""
    assert loops[1] == HELPERS.keys() - BRANCHING


@as_users
@pytest.mark.parametrize("name", LANES)
@one_in(5)
def test_a_result_has_the_same_bits_wherever_its_element_stands(loops, name):
    x = np.concatenate([ONE[name][1][:40], [0.0, -0.0, 1.0, INF, -INF, np.nan, -2.0]])

    def apply(values):
        result = np.empty_like(values)
        pointers = (v.ctypes.data_as(ctypes.c_void_p) for v in (values, result))
        getattr(loops[0], f"all_{name}")(ctypes.c_long(values.size), *pointers)
        return np.where(np.isnan(result), np.nan, result)

    alone = np.concatenate([apply(x[k : k + 1].copy()) for k in range(x.size)])
    np.testing.assert_array_equal(apply(x).view("u8"), alone.view("u8"))
    np.testing.assert_array_equal(apply(x[::-1].copy())[::-1].view("u8"), alone.view("u8"))
