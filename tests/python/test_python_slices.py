"""Slices whose bounds are traced, as NumPy has them: their lengths are those that the program
finds, and they are views."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile

A = np.arange(36.0).reshape(6, 6) + np.eye(6) * 50
X = np.arange(8.0)


def check(function, x, *numbers):
    """The results for each number, and what becomes of the array, are those of Python."""
    compiled = transpile.jit(function)
    for number in numbers:
        compare(function, compiled, x, number)


def compare(function, compiled, *args):
    ours = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    theirs = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    found = transpile.tree.leaves(compiled(*ours))
    wanted = transpile.tree.leaves(function(*theirs))
    for one, other in zip([*found, *ours], [*wanted, *theirs], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def sums_of_windows(x, n):
    total = 0.0
    for i in range(n + 4):
        total += x[i : i + 3].sum()
    return total


def assigns_to_parts(x, n):
    for i in range(n):
        x[i : i + 3] += 1
        x[:i] *= 0.5
        x[-i:] = i
        x[::-2][:i] -= 2
    return x


def returns_parts(x, n):
    y = x[n:][::-1] * 2
    return y.sum(), y, x[:n], x[n : n + 2], x[5:n:-1], x[n::-2], x[-n:-1]


def means_of_what_is_near(x, n):
    y = np.zeros(len(x))
    for i in range(len(x)):
        low = max(0, i - n)
        high = min(len(x), i + n + 1)
        y[i] = x[low:high].mean()
    return y


def moves_along(x, n):
    x[1 : n + 1] = x[:n]
    x[n::-1] = x[: n + 1] * 1
    x[::2][:n] = 5
    return x


def is_a_view(x, n):
    part = x[n : n + 2]
    part[:] = 7
    x[3] = 100
    return part.sum()


def sorts_by_selection(x, n):
    x *= -1
    for i in range(n + 3):
        j = np.argmin(x[i:]) + i
        x[i], x[j] = x[j], x[i]
    return x


def loops_over_a_part(x, n):
    total = 0.0
    for k, value in enumerate(x[:n]):
        for other in reversed(x[n:]):
            total += k * value * other
    return total


@pytest.mark.parametrize(
    "function",
    [
        sums_of_windows,
        assigns_to_parts,
        returns_parts,
        moves_along,
        is_a_view,
        sorts_by_selection,
        loops_over_a_part,
    ],
)
@one_in(2)
def test_slices_of_vectors(function):
    check(function, X, 0, 3, 5)


def test_slices_whose_bounds_are_computed():
    check(means_of_what_is_near, X, 2)


def eliminates_rows(a, n):
    for k in range(n):
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
    return a


def factorises_by_dots(a, n):
    low = np.zeros_like(a)
    for j in range(n):
        for i in range(j, n):
            s = a[i, j] - np.dot(low[i, :j], low[j, :j])
            low[i, j] = np.sqrt(abs(s)) if i == j else s / low[j, j]
    return low


def factorises_by_outer_products(a, n):
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def reflects(a, n):
    for k in range(n - 1):
        x = a[k:, k]
        v = x.copy()
        v[0] += np.sign(x[0]) * np.linalg.norm(x)
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a


def substitutes_back(a, n):
    x = np.zeros(len(a))
    for i in range(len(a) - 1, -1, -1):
        x[i] = (a[n - 1, i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def moves_squares(a, n):
    for i in range(n):
        a[i:, i:][:1] += 1
        a[i + 1 :, i] = 0
        a[i, i + 1 :] = a[i + 1 :, i] - 1
        a[i : i + 2, 0] = a[0, i : i + 2]
    return a


@pytest.mark.parametrize(
    "function",
    [
        eliminates_rows,
        factorises_by_dots,
        factorises_by_outer_products,
        reflects,
        substitutes_back,
        moves_squares,
    ],
)
@one_in(2)
def test_slices_of_matrices(function):
    check(function, A, 3, 6)


def adds_other_lengths(x, n):
    total = 0.0
    for i in range(n):
        total += (x[i:] + x[: n - i]).sum()
    return total


def test_lengths_that_differ_raise_the_exception():
    with pytest.raises(ValueError, match="could not be broadcast"):
        transpile.jit(adds_other_lengths)(X, 3)


def test_an_array_beside_a_slice_is_taken_in_two_steps():
    rows = np.array([2, 0])
    with pytest.raises(transpile.errors.UnsupportedError, match="two subscripts"):
        transpile.jit(lambda a, n: a[rows, :n] * (a if n > 2 else 2 * a)[0, 0]).lower(A, 2)
    check(lambda a, n: a[rows][:, :n] * (a if n > 2 else 2 * a)[0, 0], A, 2)


def test_derivatives_go_through_slices():
    def energy(x, n):
        total = 0.0
        for i in range(4):
            total += np.sum(x[i : i + n] ** 2) * x[i]
        return total

    gradient = transpile.grad(energy)(X, 3)
    step = 1e-6
    slopes = [(energy(X + e, 3) - energy(X - e, 3)) / (2 * step) for e in np.eye(8) * step]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)


def test_a_slice_backwards_from_before_the_beginning_is_empty_in_a_loop():
    def added(x, starts, n):
        for _ in range(3):
            x[1, starts[n] :: -1] += x[0, 2]
        return x

    starts = np.array([4, 0, -1, -6, -5, 2])
    compiled = transpile.jit(added)
    for n in range(len(starts)):
        x = np.arange(8.0).reshape(2, 4)
        np.testing.assert_array_equal(compiled(x.copy(), starts, n), added(x, starts, n))


def test_bounds_behind_the_ends_of_a_slice_backwards():
    """Of a part whose length the program finds, they are cut short at both ends."""

    def f(x, n):
        v = x[n : n + 4]
        v[-1:2:-1] -= v[-1:2:-1].sum()
        return v[9::-2].sum(), v[5:1:-2] * 1, v[-6:0:-1].sum(), v[-2:-5:-2] * 1, v[2:2:-3].sum()

    check(f, X, 0, 3, 5, 6, 7, 9)


def shortest_paths(d):
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def windows(a):
    n, k = len(a), np.array([[1.0, 2, 1], [2, 3, 2], [1, 2, 1]])
    out = np.zeros_like(a)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            out[i, j] = (a[i - 1 : i + 2, j - 1 : j + 2] * k).sum()
    return out


def blocks(a):
    v = a.ravel()
    out = np.zeros((len(v) // 4, 2))
    for i in range(len(v) // 4):
        out[i] = v[4 * i : 4 * (i + 1) : 2] + v[4 * i + 1 : 4 * i + 3]
    return out


def inner_from_outer(a):
    total = np.zeros(2)
    for i in range(len(a) - 1):
        for j in range(i, len(a) - 1):
            total = 0.5 * total + a[i, j : j + 2]
    return total


def downwards(a):
    total = np.zeros((2, len(a)))
    for i in range(len(a) - 1, 0, -1):
        total = 0.5 * total + a[i - 1 : i + 1]
    return total


def eliminated(a):
    n = len(a)
    for k in range(n):
        a[k + 1 : n, k : k + 1] = a[k + 1 : n, k : k + 1] / (a[k : k + 1, k : k + 1] + 90)
    return a


@pytest.mark.parametrize(
    "function", [shortest_paths, windows, blocks, inner_from_outer, downwards, eliminated]
)
@pytest.mark.parametrize("least", [0, 4])
def test_a_slice_between_counters_has_a_known_length(function, least):
    """So it broadcasts, and meets arrays of that length."""
    (n,) = transpile.dims("n", f"n >= {least}")
    compiled = transpile.jit(function).lower(transpile.ShapeDtypeStruct((n, n), float)).compile()
    for size in (0, 1, 2, 4, 7, 33)[3 if least else 0 :]:
        a = np.cos(np.arange(size * size)).reshape(size, size)
        compare(function, compiled, a)


def sieved(v):
    is_prime = np.ones(len(v), bool)
    is_prime[:2] = False
    for k in range(2, len(v)):
        if is_prime[k]:
            is_prime[k * k :: k] = False
    return np.flatnonzero(is_prime)


def by_steps(v):
    total = 0.0
    for k in range(-3, 4):
        if k != 0:
            total += v[::k].sum() + 2 * v[2::k].sum() + 3 * v[:4:k].sum()
    return total


def by_no_step(v):
    total = 0.0
    for k in range(-len(v), len(v) + 1):
        total += v[::k].sum()
    return total


@pytest.mark.parametrize("function", [sieved, by_steps])
def test_a_step_may_be_traced(function):
    (n,) = transpile.dims("n", "n >= 0")
    compiled = transpile.jit(function).lower(transpile.ShapeDtypeStruct((n,), float)).compile()
    for size in (0, 1, 2, 3, 7, 100):
        compare(function, compiled, np.cos(np.arange(size)))
    compare(function, transpile.jit(function), np.cos(np.arange(200)))


def test_a_traced_step_of_0_is_pythons_error():
    compiled = transpile.jit(by_no_step).lower(transpile.ShapeDtypeStruct(("n",), float)).compile()
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        compiled(np.ones(3))


def test_a_slice_beyond_the_ends_is_cut_short_as_numpys():
    def beyond(a):
        total = 0.0
        for k in range(len(a)):
            total += a[k : k + 3].sum() + a[k - 1 : k + 1].sum()
        return total

    (n,) = transpile.dims("n", "n >= 0")
    compiled = transpile.jit(beyond).lower(transpile.ShapeDtypeStruct((n,), float)).compile()
    for size in (0, 1, 2, 3, 9):
        compare(beyond, compiled, np.arange(1.0, size + 1))
