"""Loops over `zip`, `enumerate`, `reversed`, `ndindex` and `ndenumerate`, as Python runs them."""

from __future__ import annotations

import numpy as np
import pytest

import transpile

A = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])


def check(function, *cases):
    """The results are those of Python."""
    compiled = transpile.jit(function)
    for case in cases:
        found, wanted = compiled(*case), function(*case)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=f"{case}")
    return compiled


def zipped(a, n):
    s = 0.0
    for i, x in zip(range(n), a):  # the default
        if x > 0:
            s += i * x
    return s


def enumerated(a, n):
    s = 0.0
    for i, (k, x) in enumerate(zip(range(n, 0, -1), a), start=n):
        if x < 0:
            continue
        s = s * 0.5 + i * x - k
        if s > 40:
            break
    return s


def backwards(a, n):
    s = 0.0
    for i in reversed(range(n)):
        s = s * 0.5 + a[i]
    for x in reversed(a):
        if x > 2:
            s = s * 0.25 - x
    return s


def indexed(m, n):
    s = 0.0
    for i, j in np.ndindex(n, 2):
        if m[i, j] > 0:
            s += m[i, j] * (i + 3 * j)
    for k, (at, x) in enumerate(np.ndenumerate(m)):
        if x > 1:
            s += (at[0] - 2 * at[1]) * x * k
    return s


def every_second(a, n):
    s = 0.0
    numbers = enumerate(a)
    next(numbers)
    for i, x in numbers:
        if i < n:
            s += x
    return s


def test_iterables_of_traced_length():
    check(zipped, (A, 0), (A, 3), (A, 100))
    check(enumerated, (A, 0), (A, 5), (A, 8))
    check(backwards, (A, 0), (A, 7))
    check(indexed, (A.reshape(4, 2), 0), (A.reshape(4, 2), 3))
    check(every_second, (A, 4))


def long_loops(a, b):
    s = 0.0
    for i, (x, y) in enumerate(zip(a, b, strict=True), 1):
        if x > y:
            s += x / i
    for (i, x), y in zip(enumerate(a), reversed(b), strict=True):
        if x < y:
            s -= y * i
    for i, j in np.ndindex(len(a), 3):
        if a[i] > j:
            s += i - j
    for at, x in np.ndenumerate(a):
        if x > 0:
            s += at[0] * x
    return s


def test_long_ones_are_loops_of_the_program():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 300))
    compiled = check(long_loops, (a, b))
    assert compiled.lower(a, b).as_text().count("for (") == 6  # that of np.ndindex is a nest


def strictly(a, n):
    s = 0.0
    for i, x in zip(range(n), a, strict=True):
        s += i * x
    return s


def test_strict_lengths_are_compared():
    compiled = check(strictly, (A, 8))
    with pytest.raises(ValueError, match=r"^zip\(\) argument 2 is longer than argument 1"):
        compiled(A, 7)
    with pytest.raises(ValueError, match=r"^zip\(\) argument 2 is shorter than argument 1"):
        compiled(A, 9)


WEIGHTS = [0.5 * k for k in range(40)]
NAMES = [f"w{k % 3}" for k in range(40)]


def over_a_list(x):
    s = 0.0
    for k, w in enumerate(WEIGHTS):
        if x > w:
            s += (x - w) * k
            x = x - 0.25
        if s > 1e3:
            break
    return s


def over_names(x):
    table = {"w0": 0.25, "w1": 0.5, "w2": 0.75}
    s = 0.0
    for name in NAMES:
        if x > s:
            s += table[name]
        if s > 6:
            break
    return s


def test_long_lists():
    compiled = check(over_a_list, (3.0,), (100.0,))
    assert compiled.lower(1.0).as_text().count("if (") < 5
    check(over_names, (3.0,), (100.0,))


def test_ranges_of_floats_have_as_many_numbers_as_numpys():
    def summed(start, stop, step):
        total, count = 0.0, 0
        for v in np.arange(start, stop, step):
            if v > start + 1:
                total += v * v
            count += 1
        return total, count, np.arange(start, stop, step)

    compiled = transpile.jit(summed)
    for case in (
        (0.0, 1.0, 0.1),
        (0.3, 5.1, 0.05),
        (2.0, 1.0, 0.1),
        (2.0, 1.0, -0.1),
        (0.0, 0.7, 0.1),
    ):
        result, expected = compiled(*case), summed(*case)
        assert result[0] == pytest.approx(expected[0], rel=1e-12)
        assert result[1] == expected[1]
        np.testing.assert_allclose(result[2], expected[2], rtol=1e-15)


def test_ranges_of_floats_end_where_numpys_do():
    compiled = transpile.jit(lambda a, b, c: np.arange(a, b, c))
    for case in ((0.0, 1.0, np.inf), (0.0, 1e-300, 1e300), (0.0, 1.0, -np.inf), (2.0, 2.0, np.inf)):
        np.testing.assert_array_equal(compiled(*case), np.arange(*case))
    for case, text in (
        ((0.0, np.inf, 1.0), "Maximum allowed size exceeded"),
        ((0.0, 1e300, 1e-20), "Maximum allowed size exceeded"),
        ((0.0, np.nan, 1.0), "arange: cannot compute length"),
    ):
        with pytest.raises(ValueError, match=text):
            np.arange(*case)
        with pytest.raises(ValueError, match=text):
            compiled(*case)

    def asked(x, step):
        return np.arange(0.0, 1.0, step).sum() if x > 0 else x

    assert transpile.jit(asked)(-2.0, np.nan) == -2.0
    assert transpile.jit(asked)(2.0, 0.25) == 1.5
