"""Built-in functions, `math` and `cmath` of traced numbers, as Python computes them."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import transpile
from transpile import errors

NAN = float("nan")
INF = float("inf")


def check(function, *cases):
    """The results are those of Python, of the same dtypes, for each of the cases."""
    compiled = transpile.jit(function)
    for case in cases:
        found, wanted = compiled(*case), function(*case)
        leaves, structure = transpile.tree.flatten(found)
        others, structure_2 = transpile.tree.flatten(wanted)
        assert structure == structure_2
        for number, (one, other) in enumerate(zip(leaves, others, strict=True)):
            message = f"result {number} of {case}"
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300, err_msg=message)
            assert np.asarray(one).dtype == np.asarray(other).dtype, message


def extremes(x, y):
    return (
        min(x, y),
        max(x, y),
        min(x, y, 0.5),
        max([x, -y, x * y]),
        min((x, y), key=abs),
        max(x, y, key=lambda v: -v),
        min(v * v for v in (x, y)),
        max([], default=3.0),
    )


def conversions(x):
    return (
        int(x),
        float(x),
        bool(x),
        complex(x),
        complex(1.0, x),
        complex(real=x, imag=2),
        round(x),
        math.floor(x),
        math.ceil(x),
        math.trunc(x),
        divmod(x, 3.0),
        abs(x),
        pow(x, 2),
    )


def of_integers(a, b):
    return (
        (int(a), float(a), bool(a), round(a), math.floor(a), divmod(a, b), abs(a), min(a, b)),
        (math.gcd(a, b), math.gcd(a, b, 12), math.lcm(a, b), max(a, b, 3)),
        (pow(a, 3), pow(a, 5, b), pow(7, abs(a), 1000003), min(a, 2)),
    )


def test_numbers_in_builtins():
    values = [0.0, -0.5, 0.5, 1.5, 2.5, -2.5, -7.25, 1e9, 3.999]
    check(conversions, *[(v,) for v in values])
    check(extremes, *[(v, w) for v in (2.0, -3.0, NAN) for w in (1.0, -3.0, NAN)])
    check(of_integers, *[(a, b) for a in (-17, 0, 5, 12) for b in (-7, 3, 12)])


def modular(a, e, m):
    return pow(a, e, m)


def test_pow_with_a_modulus():
    large = 2**49 - 111
    check(modular, (3, -1, 7), (10, -3, 21), (5, 0, 1), (-4, 5, -9), (large - 5, 2**62, large))
    with pytest.raises(ValueError, match="base is not invertible for the given modulus"):
        transpile.jit(modular)(6, -1, 9)
    with pytest.raises(TypeError, match="3rd argument not allowed unless all arguments are int"):
        transpile.jit(modular)(6.0, 2, 9)


def of_arrays(a):
    return sum(a), sum(a, 2), min(a), max(a), any(a > 2), all(a > 2), len(a), sum([a[0], a[1]], 1)


def of_rows(a):
    return sum(a), min(a[0]), bool(any(row.sum() > 3 for row in a)), all(v for v in a[:, 0])


def test_arrays_in_builtins():
    a = np.array([3.0, -1.0, 4.0, 1.0])
    b = np.array([NAN, 2.0])
    check(of_arrays, (a,), (a + 4,), (np.array([1.0, NAN, -2.0, 3.0]),))
    check(of_arrays, (b,))
    check(of_arrays, (np.array([100, 20, 3], np.int8),))
    check(of_rows, (a.reshape(2, 2),), (np.zeros((3, 2)),))


def of_traced_ranges(n, x):
    return (
        sum(range(n)),
        max(range(n), default=-1),
        min(range(n), key=lambda i: abs(x[i]), default=5),
        any(range(1, n)),
        all(range(n)),
        len(range(n)),
        len(range(n, 0, -2)),
    )


def test_ranges_of_traced_length_in_builtins():
    x = np.array([3.0, -1.0, 4.0, 0.5])
    check(of_traced_ranges, (4, x), (0, x), (1, x), (2, x))
    with pytest.raises(ValueError, match=r"^max\(\) .* empty"):
        transpile.jit(lambda n: max(range(n)))(0)


def test_python_numbers_are_weak():
    def product(x, a):
        return a * math.sqrt(x) * int(x) * float(x)

    check(product, (4.0, np.ones(2, np.float32)))


def test_arguments_that_no_number_comes_from():
    with pytest.raises(TypeError, match="only length-1 arrays can be converted"):
        transpile.jit(lambda x: math.sqrt(x))(np.ones(2))
    with pytest.raises(TypeError, match="must be real number, not complex"):
        transpile.jit(lambda x: math.sqrt(x))(1j)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        transpile.jit(lambda x: math.gcd(x, 2))(1.0)
    with pytest.raises(errors.TracerError):
        transpile.jit(lambda x: int(x), python_control_flow=False)(1.0)


# -------------------------------------------------------------------------------- math and cmath


def everywhere(x, y):
    return (
        (math.sin(x), math.cos(x), math.tan(x), math.atan(x), math.sinh(x), math.cosh(x)),
        (math.tanh(x), math.asinh(x), math.exp(x), math.expm1(x), math.exp(x * 0.5)),
        (math.degrees(x), math.radians(x), math.fabs(x), math.cbrt(x), math.exp2(x)),
        (math.copysign(x, y), math.atan2(x, y), math.hypot(x, y), math.hypot(x, y, 2.0)),
        (math.isnan(x), math.isinf(x), math.isfinite(x), math.nextafter(x, y), math.ulp(x)),
        (math.isclose(x, y), math.isclose(x, y, rel_tol=0.5), math.isclose(x, y, abs_tol=2)),
        (math.erf(x), math.erfc(x), math.modf(x), math.ldexp(x, 3), math.frexp(x)[0]),
        (math.dist([x, 1.0], [y, x]), math.prod([x, y, 2]), math.sqrt(abs(x)), math.pi * x),
    )


def of_finite(x, y):
    return math.fmod(x, y), math.remainder(x, y), math.pow(abs(x % 7) + 0.5, y), math.frexp(x)


def of_positive(x):
    return (
        (math.log(x), math.log(x, 3), math.log(x, x + 1), math.log2(x), math.log10(x)),
        (math.log1p(x), math.sqrt(x), math.acosh(x + 1), math.gamma(x), math.lgamma(x)),
        (math.asin(1 / (1 + x)), math.acos(1 / (1 + x)), math.atanh(1 / (1 + x))),
    )


def of_counts(n, k):
    return math.factorial(n), math.comb(n, k), math.perm(n, k), math.perm(n), math.isqrt(n * k)


def test_math():
    values = [0.0, -0.0, 1.0, -2.5, 0.3, 30.0]
    check(everywhere, *[(x, y) for x in (*values, NAN) for y in (1.5, -2.0, NAN, INF)])
    pairs = [(x, y) for x in values for y in (1.5, -2.0, 0.7)]
    check(of_finite, *pairs, (5.0, 2.0), (7.0, 2.0), (1e300, 3.7), (2.0, INF))
    check(of_positive, *[(x,) for x in (0.1, 1.0, 2.5, 30.0)])
    check(of_counts, *[(n, k) for n in (0, 1, 5, 20) for k in (0, 1, 3, 20)])


def root(n):
    return math.isqrt(n)


def test_integer_roots_of_large_numbers():
    edges = [k * k + d for k in (2, 94906267, 3037000499) for d in (-1, 0, 1)]
    check(root, *[(n,) for n in (0, 1, 2**63 - 1, 2**53 + 1, *edges)])


def of_complex(z):
    return (
        (cmath.exp(z), cmath.sin(z), cmath.cos(z), cmath.tanh(z), cmath.sqrt(z), cmath.log(z)),
        (cmath.phase(z), cmath.polar(z), cmath.rect(z.real, z.imag), cmath.log(z, 2)),
        (cmath.isnan(z), cmath.isclose(z, z + 1e-12), cmath.atan(z), cmath.acosh(z)),
        (complex(z), abs(z), bool(z), complex(z, z.real)),
    )


def test_cmath():
    check(of_complex, *[(z,) for z in (1 + 2j, -0.5 + 0.25j, 3 - 1j)])


def test_wide_factorials_wrap_around():
    factorial = transpile.jit(lambda n: math.factorial(n))
    for n in (21, 30, 65, 66, 100):
        assert int(factorial(n)) % 2**64 == math.factorial(n) % 2**64


def in_order(a, b, c):
    low, middle, high = sorted((a, b, c))
    down = sorted([a, b, c], reverse=True)
    by_size = sorted([a, b, c], key=lambda x: -abs(x))
    pairs = sorted([(1, a), (0, b)], key=lambda pair: pair[1])
    return low, middle, high, down, by_size, pairs


def test_sorted_gives_lists_of_the_numbers_in_their_order():
    check(in_order, (3.0, 1.0, 2.0), (2.0, -2.0, 2.0), (0.0, -0.0, 1.0))
    check(in_order, (5, 4, 3), (-1, 1, 1))

    def of_a_row(x, k):
        return sorted(x if k > 0 else -x)[:2], sorted(x, reverse=True)[0]

    check(of_a_row, (np.array([3.0, 1.0, 2.0]), 1), (np.array([3.0, 1.0, 2.0]), -1))
    assert transpile.jit(lambda x: sorted([(x[0], 1), (x[1], 2)]))(-np.arange(9.0)) == [
        (-1, 2),
        (0, 1),
    ]


def test_bits_of_integers_and_whole_floats():
    def of_integer(n):
        return n.bit_length(), n.bit_count(), (n // 2).bit_length() - 1

    check(of_integer, *[(n,) for n in (0, 1, -1, 6, -8, 2**62, -(2**63), 2**63 - 1)])
    check(lambda x: x.is_integer(), *[(x,) for x in (0.0, 1.5, -2.0, 1e300, NAN, INF)])
    for value in (np.int8(-128), np.uint8(255), np.uint64(2**64 - 1)):
        assert transpile.jit(lambda n: n.bit_count())(value) == value.bit_count()
    for value in (np.arange(3), 2.0):
        with pytest.raises(AttributeError, match="has no attribute 'bit_length'"):
            transpile.jit(lambda n: n.bit_length())(value)


def without_missing(x, mode):
    missing = np.isnan(x)
    if mode != "keep" and (missing.any() and mode == "drop"):
        x = x[~missing]
    found = missing.any() or mode == "keep"
    return x, found, missing.any() and x[0] > 1 and mode == "drop"


def without_missing_or_all(x, mode):
    if not np.isnan(x).any() or mode == "keep":
        return x
    return x[:0]


@pytest.mark.parametrize("x", [[2.0, np.nan], [0.5, 1.0]])
def test_a_known_operand_decides_and_or_beside_a_traced_one(x):
    """Where it does, no branch is traced, whose paths would have results of two lengths."""
    for function in (without_missing, without_missing_or_all):
        x = np.array(x)
        jitted = transpile.jit(function, static_argnames="mode")
        for ours, theirs in zip(jitted(x, "keep"), function(x, "keep"), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_traced_operand_decides_beside_a_known_one_that_does_not():
    jitted = transpile.jit(without_missing, static_argnames="mode")
    with pytest.raises(errors.BranchError, match="'x' would be float64"):
        jitted(np.array([2.0, np.nan]), "drop")
