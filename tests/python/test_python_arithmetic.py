"""`jit(f, check_arithmetic=True)`: what Python's numbers raise exceptions for raises them."""

import ctypes
import math
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile

NAN, INF = math.nan, math.inf
ERRORS = (ZeroDivisionError, ValueError, OverflowError)


def outcome(f, *args):
    """The result of a call, or the exception and its text."""
    try:
        result = f(*args)
    except ERRORS as error:
        return type(error), str(error)
    return [x.item() if isinstance(x, np.ndarray | np.generic) else x for x in _parts(result)]


def _parts(result):
    return result if isinstance(result, tuple) else (result,)


def floor(a, b):
    return a // b


def remainder(a, b):
    return a % b


def both(a, b):
    return divmod(a, b)


def quotient(a, b):
    return a / b


def power(a, b):
    return a**b


@pytest.mark.parametrize("f", [floor, remainder, both, quotient], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("a", "b"), [(7, 2), (7, 0), (-7, 2), (0, 0), (7.5, 0.0), (7.5, 2), (1, 0.0), (-0.0, 0)]
)
@one_in(3)
def test_divisions_by_zero_are_pythons_errors(f, a, b):
    assert outcome(transpile.jit(f, check_arithmetic=True), a, b) == outcome(f, a, b)


@pytest.mark.parametrize(("a", "b"), [(0.0, -1.0), (1e200, 2.0), (4.0, 0.5), (2.0, -1.0)])
def test_powers(a, b):
    assert outcome(transpile.jit(power, check_arithmetic=True), a, b) == outcome(power, a, b)


@pytest.mark.parametrize("f", [operator.lshift, operator.rshift])
@pytest.mark.parametrize(("a", "b"), [(5, 2), (5, -1), (-5, 0)])
def test_shifts_by_negative_counts(f, a, b):
    shifted = lambda a, b: a << b if f is operator.lshift else a >> b
    assert outcome(transpile.jit(shifted, check_arithmetic=True), a, b) == outcome(shifted, a, b)


def by_known(n):
    return 10 // n + n % 3, 1 / n


@pytest.mark.parametrize("n", [0, 3])
def test_known_numbers_are_tested_too(n):
    assert outcome(transpile.jit(by_known, check_arithmetic=True), n) == outcome(by_known, n)
    by_zero = lambda n: n // 0 if n > 0 else 5
    for value in (1, -1):
        checked = transpile.jit(by_zero, check_arithmetic=True)
        assert outcome(checked, value) == outcome(by_zero, value)


def filled(n, b):
    out = np.zeros(5, np.int64)
    for i in range(5):
        out[i] = i % n + i // b
    return tuple(out)


def test_numbers_are_tested_where_an_array_is_assigned_to():
    checked = transpile.jit(filled, check_arithmetic=True)
    for n, b in ((3, 2), (0, 2), (3, 0), (-2, -1)):
        assert outcome(checked, n, b) == outcome(filled, n, b)


def to_int(x):
    return int(x) if x > -100 or x != x else 0


@pytest.mark.parametrize("function", [int, round, math.floor, math.ceil, math.trunc])
@pytest.mark.parametrize("x", [2.5, -2.5, NAN, INF, -INF])
@one_in(3)
def test_numbers_that_are_no_integers(function, x):
    def rounded(x):
        return function(x) if x == x or x != x else 0

    assert outcome(transpile.jit(rounded, check_arithmetic=True), x) == outcome(rounded, x)


@pytest.mark.parametrize("function", [math.floor, math.ceil, math.trunc])
def test_numbers_are_rounded_where_nothing_else_asks_for_statements(function):
    compiled = transpile.jit(lambda x: function(x) + 1)
    assert [int(compiled(x)) for x in (2.7, -2.7)] == [function(x) + 1 for x in (2.7, -2.7)]


def test_integers_of_more_than_64_bits_are_an_error():
    with pytest.raises(OverflowError, match="int too large to convert"):
        transpile.jit(to_int, check_arithmetic=True)(1e30)
    assert transpile.jit(to_int, check_arithmetic=True)(2.0**62) == 2**62


NAMES = [
    *("sqrt", "log", "log2", "log10", "log1p", "exp", "expm1", "exp2", "sin", "cos", "tan"),
    *("asin", "acos", "atanh", "acosh", "sinh", "cosh", "gamma", "lgamma"),
]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 800.0, -800.0, NAN, INF, -INF]


@pytest.mark.parametrize("name", NAMES)
@one_in(2)
def test_functions_outside_of_their_domains(name):
    original = getattr(math, name)

    def of(x):
        return original(x) if x == x or x != x else 0.0

    checked = transpile.jit(of, check_arithmetic=True)
    for x in NUMBERS:
        found, wanted = outcome(checked, x), outcome(of, x)
        if isinstance(wanted, list):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
        else:
            assert found == wanted, x


def test_functions_of_counts():
    def counts(n, k):
        if n > -5:
            return math.factorial(n), math.comb(n, k), math.perm(n, k), math.isqrt(n)
        return 0, 0, 0, 0

    checked = transpile.jit(counts, check_arithmetic=True)
    for n, k in ((5, 2), (-1, 2), (5, -2), (0, 0)):
        assert outcome(checked, n, k) == outcome(counts, n, k)


@settings(max_examples=60, deadline=None)
@given(
    a=st.integers(-3, 3) | st.sampled_from([0.0, 1.5, -2.0]),
    b=st.integers(-2, 2) | st.sampled_from([0.0, 0.5]),
)
def test_drawn_numbers(a, b):
    assert outcome(DRAWN, a, b) == outcome(drawn, a, b)


def drawn(a, b):
    total = 0.0
    for k in range(3):
        total += a / (b + k)
        if total > 2:
            total = total % (b - 1)
    return total, (a + 1) // (b + 1)


DRAWN = transpile.jit(drawn, check_arithmetic=True)


def test_numpys_numbers_do_as_numpys_do():
    """Which warn, and give 0 or infinity."""
    x, y = np.array([6, 7]), np.array([3, 0])
    checked = transpile.jit(lambda x, y: (x // y, x[0] % y[1], x / y), check_arithmetic=True)
    with np.errstate(all="ignore"):
        wanted = x // y, x[0] % y[1], x / y
    for a, b in zip(checked(x, y), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def mean(x, n):
    total = 0.0
    for k in range(n):
        total += float(x[k])
    return total / n


def test_nothing_is_tested_without_it():
    plain = transpile.jit(mean).lower(np.ones(3), 0).as_text()
    assert "1001" not in plain and np.isnan(transpile.jit(mean)(np.ones(3), 0))


def test_derivatives_and_batches():
    checked = transpile.jit(transpile.grad(lambda x: 1.0 / x), check_arithmetic=True)
    assert checked(2.0) == -0.25
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        checked(0.0)
    rows = transpile.jit(transpile.vmap(lambda x: 1.0 / float(x)), check_arithmetic=True)
    np.testing.assert_array_equal(rows(np.array([1.0, 4.0])), [1.0, 0.25])
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        rows(np.array([1.0, 0.0]))


def test_stages_can_be_pickled():
    lowered = pickle.loads(pickle.dumps(transpile.jit(floor, check_arithmetic=True).lower(1, 1)))
    with pytest.raises(ZeroDivisionError, match="integer division or modulo by zero"):
        lowered.compile()(1, 0)


def test_a_saved_library_returns_codes(tmp_path):
    compiled = transpile.jit(mean, check_arithmetic=True).lower(np.ones(3), 0).compile()
    shared = next(p for p in compiled.save(tmp_path, "mean") if p.suffix == ".so")
    library = ctypes.CDLL(str(shared))
    library.mean_error.restype = ctypes.c_char_p
    x, out = (ctypes.c_double * 3)(1, 2, 6), ctypes.c_double()
    work = ctypes.create_string_buffer(4096)
    call = lambda n: library.mean(x, ctypes.byref(ctypes.c_int64(n)), ctypes.byref(out), work)
    assert call(3) == 0 and out.value == 3.0
    assert library.mean_error(call(0)) == b"ZeroDivisionError: float division by zero"
