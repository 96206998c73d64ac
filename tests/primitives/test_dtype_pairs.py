"""Promotion, overflow, division and shifts for every pair of dtypes, compiled, against NumPy.

One program for each first dtype holds all operators with all second ones.
"""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers import assert_equal_values, assert_same
from primitive_programs import edges
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.ir.types import DTYPES, SHORT_NAMES

NUMPYS = [d for d in DTYPES if d.kind in "biufc" and d != np.float16]
NAMES = {SHORT_NAMES[d]: d for d in NUMPYS}
UFUNCS = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.floor_divide,
    np.remainder,
    np.maximum,
    np.bitwise_and,
    np.bitwise_xor,
    np.left_shift,
    np.right_shift,
    np.less,
    np.equal,
    np.logical_or,
]
QUICK = {"opt_level": 0}
pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")


def ends(dtype, calm):
    """Values at which something happens; calm ones are those of which complex numbers are left
    without a choice: finite, not zero, and not large."""
    some = edges(dtype)
    if calm:
        with np.errstate(all="ignore"):
            sizes = np.abs(some.real.astype(float)) + np.abs(some.imag.astype(float))
        some = some[(sizes > 1e-4) & (sizes < 500)]
    return some if len(some) < 30 else some[:: len(some) // 24]


def pair(first, second):
    """Every end of one dtype with every end of another."""
    calm = "c" in (first.kind, second.kind)
    x, y = ends(first, calm), ends(second, calm)
    return np.repeat(x, len(y)), np.tile(y, len(x))


def check(ufunc, got, want):
    """Equal bits, but for the rounding of complex numbers, and for which zero is the larger."""
    if want.dtype.kind == "c":
        assert (np.abs(got - want) <= 8 * np.finfo(want.dtype).eps * np.abs(want)).all()
    elif ufunc is np.maximum:
        np.testing.assert_array_equal(got, want, strict=True)
    else:
        assert_equal_values(got, want)


def has_loop(ufunc, first, second):
    """True if NumPy computes these dtypes, and in dtypes that are supported here."""
    try:
        loop = ufunc.resolve_dtypes((first, second, None))
    except TypeError:
        return False
    return all(d in NUMPYS for d in loop)


def program(first):
    """A function of a pair for each second dtype, its arguments, and what each result is."""
    arguments, cases = [], []
    for second in NUMPYS:
        arguments += pair(first, second)
        cases += [(second, u) for u in UFUNCS if has_loop(u, first, second)]

    def f(*arrays):
        of = {s: arrays[2 * k : 2 * k + 2] for k, s in enumerate(NUMPYS)}
        return [ufunc(*of[second]) for second, ufunc in cases]

    return f, arguments, cases


@pytest.fixture(scope="module")
def results(shared_cache):
    """The results of each program, compiled side by side, and NumPy's."""

    def run(first):
        f, arguments, cases = program(first)
        found = transpile.jit(f, compiler_options=QUICK)(*arguments)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = f(*arguments)
        return cases, found, expected

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(NAMES, pool.map(run, NUMPYS), strict=True))


@pytest.mark.parametrize("name", NAMES)
@one_in(6)
def test_operators_with_every_second_dtype_are_numpys(results, name):
    for (second, ufunc), got, want in zip(*results[name], strict=True):
        what = f"{ufunc.__name__}({name}, {SHORT_NAMES[second]})"
        assert got.dtype == want.dtype, what
        try:
            check(ufunc, got, want)
        except AssertionError as problem:
            raise AssertionError(f"{what}: {problem}") from None


@pytest.mark.parametrize("name", NAMES)
def test_promotion_with_every_second_dtype_is_numpys(name):
    first = NAMES[name]
    for second in NUMPYS:
        assert jnp.result_type(first, second) == np.result_type(first, second)
        assert jnp.promote_types(first, second) == np.promote_types(first, second)
        for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
            assert jnp.can_cast(first, second, casting) == np.can_cast(first, second, casting)
            ones = np.ones(2, first)
            assert_same(lambda x, d=second, c=casting: x.astype(d, casting=c), ones)
        assert_same(lambda x, y: np.concatenate([x, y]), ones, np.zeros(2, second))
        assert_same(lambda x, y: np.where(x, x, y), ones, np.zeros(2, second))
    for number in (True, 2, 2.5, 1j):
        assert jnp.result_type(first, number) == np.result_type(first, number)
