"""The errors of elementary functions stay within the limits of docs/accuracy.md."""

import re

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from thorough import one_in

import transpile
from benchmarks import accuracy

pytestmark = pytest.mark.full_level

COUNT = 3000
MPMATH = {
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsinh": mpmath.asinh,
    "arctanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "log1p": mpmath.log1p,
    "exp": mpmath.exp,
    "sin": mpmath.sin,
    "tan": mpmath.tan,
}


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@one_in(4)
def test_largest_error_is_within_the_limit(dtype, precise):
    found = accuracy.measure(np.dtype(dtype), precise, COUNT)
    worst = {name: error for name, (error, _) in found.items()}
    limit = accuracy.ALLOWED[precise]
    assert {n: e for n, e in worst.items() if e > limit} == {}
    assert len(worst) == len(accuracy.CASES)


@pytest.mark.parametrize("precise", [False, True])
def test_errors_are_those_against_exact_values(precise):
    """Long double, with which the page compares, is itself what some precise functions compute in:
    so it is compared with exact values here."""
    x = np.random.default_rng(3).uniform(-0.99, 0.99, 200)
    program = transpile.jit(
        lambda a: {name: getattr(np, name)(a) for name in MPMATH},
        compiler_options={"precise_math": precise},
    )
    with mpmath.workdps(40):
        for name, got in program(x).items():
            exact = [MPMATH[name](mpf(float(v))) for v in x]
            errors = [
                abs(mpf(float(g)) - e) / mpf(float(np.spacing(abs(float(e)))))
                for g, e in zip(got, exact, strict=True)
            ]
            assert max(errors) <= accuracy.ALLOWED[precise], name


def test_an_error_of_one_ulp_counts_as_one():
    exact = np.array([1.0, 3.0, 1e-310], np.longdouble)
    got = np.nextafter(exact.astype(np.float64), np.inf)
    np.testing.assert_allclose(accuracy.errors(got, exact, 0), 1, rtol=1e-6)


@pytest.mark.parametrize(("dtype", "limit"), [("f4", 0.6), ("f8", accuracy.SPECIAL_ALLOWED)])
@one_in(2)
def test_special_functions_are_within_the_limit(dtype, limit):
    found = accuracy.measure_special(np.dtype(dtype), COUNT)
    assert {name: error for name, (error, _) in found.items() if error > limit} == {}
    assert len(found) == len(accuracy.SPECIAL)


def test_page_has_every_function():
    text = accuracy.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    measured = {case.name for case in accuracy.CASES} | {name for name, *_ in accuracy.SPECIAL}
    assert set(rows) == measured


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_are_within_the_limit(dtype):
    worst = accuracy.measure_complex(COUNT, dtype)
    assert {n: e for n, e in worst.items() if not e <= accuracy.COMPLEX_ALLOWED} == {}
