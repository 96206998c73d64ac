"""Traced integers as sizes: `np.zeros(n)`, `range(n)`, `x[:n]`, `x.reshape(n, -1)`. One program
serves every n; Python itself is the oracle."""

import subprocess

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import lax
from transpile.errors import (
    TracerIntegerConversionError,
    UndecidedSizeError,
    UnsupportedError,
)


def made(n):
    return (
        np.zeros(n), np.ones((n, 2), np.int32), np.full((2, n), 3.5), np.eye(n, 4), np.identity(n),
        np.tri(n), np.arange(n), np.arange(1, n + 1, 2), np.arange(n, 0, -1), np.arange(n, 7),
        np.linspace(0, 1, n), np.indices((n, 2)), np.zeros(2 * n + 1),
    )  # fmt: skip


def shaped(x, n):
    return x.reshape(n, -1), x.reshape(-1, n), x.reshape((n, -1), order="F"), np.tile(x, n), x[:n]


def halvings(x):
    size, count = len(x), 0
    while size:
        size, count = size // 2, count + 1
    return count, (1.0 if x.size else 2.0), not len(x), bool(len(x))


def test_a_size_is_true_where_it_is_not_0():
    (n,) = transpile.dims("n", "n >= 0")
    compiled = transpile.jit(halvings).lower(transpile.ShapeDtypeStruct((n,), float)).compile()
    for size in 0, 1, 2, 9:
        assert compiled(np.ones(size)) == halvings(np.ones(size))
    jitted = transpile.jit(lambda x: 1.0 if len(x) else 2.0, python_control_flow=False)
    with pytest.raises(UndecidedSizeError, match="n == 0 is neither true nor false"):
        jitted.lower(transpile.ShapeDtypeStruct((n,), float))


def passes(x):
    row = np.arange(len(x) + 1)
    for _ in range(len(x)):
        row = row[1:].sum() + np.zeros(len(row), np.int64)
    return row[-1], np.arange(2, len(x) + 2)


def test_a_range_to_a_size_is_as_long_as_the_size_in_converted_functions():
    (n,) = transpile.dims("n", "n >= 1")
    lowered = transpile.jit(passes).lower(transpile.ShapeDtypeStruct((n,), float))
    assert "room" not in lowered.as_text()  # what a caller in C is asked of lengths that are found
    compiled = lowered.compile()
    for size in 1, 5:
        for found, expected in zip(compiled(np.ones(size)), passes(np.ones(size)), strict=True):
            np.testing.assert_array_equal(found, expected)


def sieve(n):
    is_prime = np.ones(n, dtype=bool)
    is_prime[:2] = False
    for i in range(2, n):
        if is_prime[i]:
            for j in range(i * i, n, i):
                is_prime[j] = False
    return np.nonzero(is_prime)[0]


def pascal(n):
    rows = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        rows[i, 0] = 1
        for j in range(1, i + 1):
            rows[i, j] = rows[i - 1, j - 1] + rows[i - 1, j]
    return rows


def moving_mean(x, width):
    out = np.zeros(len(x) - width + 1)
    for i in range(len(out)):
        out[i] = x[i : i + width].mean()
    return out


def system(n):
    matrix = 4 * np.eye(n) + np.ones((n, n))
    return np.linalg.solve(matrix, np.arange(n) * 1.0)


def checked(n):
    if n > 9:
        raise ValueError(f"{n} is too many")
    return np.sqrt(np.arange(n))


X = np.arange(12.0)
PROGRAMS = {
    "made": (made, [(5,), (1,), (2,)]),
    "shaped": (shaped, [(X, 3), (X, 1), (X, 12)]),
    "sieve": (sieve, [(60,), (3,)]),
    "pascal": (pascal, [(7,), (1,)]),
    "moving_mean": (moving_mean, [(X, 4), (X, 12), (X, 1)]),
    "system": (system, [(6,), (1,)]),
    "checked": (checked, [(9,), (0,)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
@one_in(2)
def test_one_program_serves_every_number(name, shared_cache):
    function, calls = PROGRAMS[name]
    f = transpile.jit(function)
    for arguments in calls:
        found, expected = (transpile.tree.leaves(g(*arguments)) for g in (f, function))
        for x, y in zip(found, expected, strict=True):
            assert (x.shape, x.dtype) == (np.shape(y), np.asarray(y).dtype)
            np.testing.assert_allclose(x, y, rtol=1e-13)
    assert f._cache_size() == 1


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8"])
@one_in(2)
def test_integers_of_every_dtype(dtype):
    n = np.dtype(dtype).type(7)
    for f in (lambda n: np.ones(n).sum(), lambda n: np.arange(n)):
        found, expected = transpile.jit(f)(n), f(n)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_errors_are_those_of_numpy():
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        transpile.jit(lambda n: np.zeros(n).sum())(-1)
    assert transpile.jit(lambda n: np.arange(n).sum())(-3) == 0
    with pytest.raises(ValueError, match="cannot reshape array of size 12 into shape"):
        transpile.jit(lambda x, n: x.reshape(n, -1))(X, 5)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        transpile.jit(lambda x, n: x + np.zeros(n))(X, 5)
    with pytest.raises(ValueError, match="12 is too many"):
        transpile.jit(checked)(12)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        transpile.jit(lambda n: np.arange(0, n, 0))(3)


def test_arrays_in_loops_have_room_for_the_longest():
    def of_counter(n):
        total = 0.0
        for i in range(1, n):
            total += np.ones(i).sum()
        return total

    def of_values(x, n):
        total = 0.0
        for i in range(n):
            k = i
            while k * k < x[i % 5] * 20:
                k += 1
            total += np.arange(k).sum() * x[i % 5]
        return total

    def sorted_each(x, n):
        total = 0.0
        for k in range(n):
            part = np.zeros(k + 1)
            for i in range(k + 1):
                part[i] = x[i] * (i - 3) + k
            part = np.sort(part)[::-1]
            total += part[0] + part.sum()
        return total

    def in_a_branch(n):
        return np.arange(n).sum() if n > 3 else np.ones(n + 1).sum()

    for n in (5, 1, 0, 9):
        assert transpile.jit(of_counter)(n) == of_counter(n)
        assert transpile.jit(of_values)(X, n) == of_values(X, n)
        assert transpile.jit(sorted_each)(X, n) == sorted_each(X, n)
        assert transpile.jit(in_a_branch)(n) == in_a_branch(n)


def test_a_body_of_lax_needs_a_bound_for_its_arrays():
    def f(n):
        return lax.fori_loop(0, n, lambda i, total: total + np.ones(i).sum(), 0.0)

    with pytest.raises(UnsupportedError, match=r"make an array of the largest length.*x\[:n\]"):
        transpile.jit(f)(5)


def test_without_conversion_the_error_stays():
    with pytest.raises(TracerIntegerConversionError, match="decides a shape"):
        transpile.jit(lambda n: np.zeros(n), python_control_flow=False)(3)


def test_derivatives():
    def f(x, n):
        return (np.linspace(0, 1, n) * x**2).sum()

    for n in (3, 8):
        found = transpile.jit(transpile.grad(f))(2.0, n)
        np.testing.assert_allclose(found, 4 * np.linspace(0, 1, n).sum())


def test_loops_over_runtime_sizes():
    def powers(x):
        n = len(x)
        table = np.zeros((n, n))
        for i in range(n):
            table[i, 0] = 1.0
            for j in range(1, n):
                table[i, j] = table[i, j - 1] * x[i]
        return table

    f = transpile.jit(powers, dynamic_shapes={"x": ("n",)})
    for n in (2, 5):
        np.testing.assert_array_equal(f(X[:n]), powers(X[:n]))
    text = transpile.jit(powers).lower(transpile.ShapeDtypeStruct(("n",), float)).as_text()
    assert "table[i][0] = 1.0;" in text and "minimum" not in text


def test_loops_over_the_extents_of_a_shape():
    def above_diagonal(a):
        rows, columns = a.shape
        total = 0.0
        for i in range(rows - 1, -1, -1):
            for j in range(i + 1, columns):
                total = 0.5 * total + a[i, j]
        return total

    f = transpile.jit(above_diagonal, dynamic_shapes={"a": ("n", "m")})
    for shape in ((1, 1), (3, 4), (4, 3)):
        a = np.arange(12.0)[: shape[0] * shape[1]].reshape(shape)
        assert f(a) == above_diagonal(a)


def sifted(a):
    """Heapsort (Floyd 1964)."""
    n = len(a)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        root = 0
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                break
            a[root], a[child] = a[child], a[root]
            root = child
    return a


def shortest_paths(d):
    """Floyd and Warshall's algorithm."""
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                s = d[i, k] + d[k, j]
                if s < d[i, j]:
                    d[i, j] = s
    return d


@pytest.mark.full_level
@pytest.mark.parametrize(("function", "rank"), [(sifted, 1), (shortest_paths, 2)])
def test_arrays_of_runtime_sizes_are_assigned_to_where_they_lie(function, rank):
    """Without copies, clamps, or elements that are read again behind each store."""
    f = transpile.jit(function, dynamic_shapes={"ad"[rank - 1]: ("n",) * rank})
    for n in (2, 3, 9):
        a = np.random.default_rng(n).random((n,) * rank)
        np.testing.assert_array_equal(f(a.copy()), function(a.copy()))
    lowered = transpile.jit(function).lower(transpile.ShapeDtypeStruct(("n",) * rank, float))
    text = lowered.as_text()
    assert not any(word in text for word in ("subscript", "minimum", "workspace, "))
    if rank == 2:
        assert "for (int64_t k = 0; k < i; k++)" in text


MAIN = """
#include <stdio.h>
#include "squares.h"

int main(void)
{
    double out[8];
    int64_t length = 0;
    char workspace[4096];
    const int64_t n = 5, few = 3;
    int code = squares(8, &n, out, &length, workspace);
    printf("%d %d %g\\n", code, (int)length, out[4]);
    code = squares(few, &n, out, &length, workspace);
    printf("%d %s\\n", code != 0, squares_error(code));
    return 0;
}
"""


def test_from_c(tmp_path):
    def squares(n):
        return np.arange(n) ** 2.0

    transpile.jit(squares).lower(5).save(tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        ["cc", *flags, "main.c", "squares.c", "-lm", "-o", "main"], cwd=tmp_path, check=True
    )
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "0 5 16",
        "1 u is more than u_room, for which there is memory",
    ]


# ---------------------------------------------------------------------------- branches on sizes


def long_or_short(x):
    n = x.shape[0]
    if n > 5:
        return x * 2
    return x + 1 if n != 2 else -x


def single(x):
    return x[0] if len(x) == 1 else x.sum()


def differences(x):
    if x.shape[0] < 2:
        raise ValueError(f"{x.shape[0]} is too short")
    return np.diff(x)


def halves(x):
    n, total = x.shape[0], 0.0
    while n > 1:
        total += x[n - 1]
        n //= 2
    return total


def even(x):
    return x.sum() if x.ndim == 1 and x.shape[0] % 2 == 0 else x.max()


def beside_a_value(x):
    return np.sqrt(x) if x.shape[0] < x.sum() else x


@pytest.mark.parametrize(
    "function", [long_or_short, single, differences, halves, even, beside_a_value]
)
@one_in(2)
def test_branches_on_sizes_are_branches_of_the_program(function):
    f = transpile.jit(function, dynamic_shapes={"x": ("n",)})
    for n in (12, 6, 5, 3, 2, 1):
        if function is differences and n == 1:
            with pytest.raises(ValueError, match="1 is too short"):
                f(X[:n])
            continue
        np.testing.assert_allclose(f(X[:n]), function(X[:n]), rtol=1e-15)
    assert f._cache_size() == 1


def test_two_sizes_are_compared():
    def longer(x, y):
        return x.sum() if x.shape[0] > y.shape[0] else y.sum()

    f = transpile.jit(longer, dynamic_shapes={"x": ("n",), "y": ("m",)})
    for n, m in ((3, 5), (5, 3), (4, 4)):
        assert f(X[:n], X[-m:]) == longer(X[:n], X[-m:])


def test_what_cannot_be_a_branch_says_which_constraint_settles_it():
    def first(x):
        return x[:5] if x.shape[0] > 5 else x

    f = transpile.jit(first, dynamic_shapes={"x": ("n",)})
    with pytest.raises(UndecidedSizeError, match=r"transpile\.dims\('n', '5 < n'\)"):
        f(X)

    def same(x, y):
        return x + y if x.shape == y.shape else x

    f = transpile.jit(same, dynamic_shapes={"x": ("n",), "y": ("m",)})
    with pytest.raises(UndecidedSizeError, match="n == m is neither true nor false"):
        f(X, X)


def test_a_number_that_is_read_many_times_is_followed_once():
    def doubled(n):
        m = n
        for _ in range(60):  # without a memory of what each is, 2**60 steps
            m = m + m
        return np.zeros(m - m + 3)

    assert transpile.jit(doubled)(2).shape == (3,)


def test_known_subscripts_are_needed_where_the_program_comes():
    def of_first(n, x):
        a = np.zeros(n)
        for i in range(n):
            a[0] += x * i
            a[i] += a[0] + a[-1]
        return a.sum()

    def in_a_branch(n, x):
        a = np.zeros(n)
        if n > 2:
            a[2] = x
            return a[1] + a[2] + a.max()
        return x

    for n in (0, 1, 2, 3, 5):
        assert transpile.jit(of_first)(n, 1.5) == of_first(n, 1.5)
        assert transpile.jit(in_a_branch)(n, 1.5) == in_a_branch(n, 1.5)

    def too_short(n, x):
        a = np.zeros(n)
        if x > 0:
            a[1] = x
        return a.sum()

    assert transpile.jit(too_short)(1, -1.0) == 0
    with pytest.raises(IndexError, match="index 1 is out of bounds for axis 0"):
        transpile.jit(too_short)(1, 1.0)


def test_a_condition_may_be_all_that_reads_a_length():
    """The loop ends early or at the end of the part, whose elements nothing reads."""

    def ended(x, n):
        out = np.zeros(4)
        for _ in reversed(x[n % 4 : n % 4 + 3]):
            match n % 4:
                case 0:
                    out[0] += 1.0
                case 1 | 2:
                    break
                case _:
                    continue
            out[-1:n:-1] = out[-1:n:-1].sum() * 0.25 + 1
        return out

    x = np.arange(6.0)
    for n in range(9):
        np.testing.assert_array_equal(transpile.jit(ended)(x, n), ended(x, n))


def test_repeats_that_a_counter_decides():
    @transpile.jit
    def f(x, k, first):
        total = 0.0
        for i in range(k):
            total += np.repeat(x[:2] * i, first - i).sum()
        return total

    for k, first in ((3, 5), (5, 4), (0, -1)):
        assert f(X, k, first) == f.__wrapped__(X, k, first)
    for g in (f, f.__wrapped__):
        with pytest.raises(ValueError, match="negative"):
            g(X, 5, 3)


def test_a_short_loop_is_run_by_python_where_lengths_fit_as_numbers_alone():
    def f(x, w):
        for i in range(3):
            for j in range(30):
                x = np.sin(x) + j
            x = x[: 4 - i] @ w[: 4 - i, : 3 - i]
        return x

    w = np.arange(16.0).reshape(4, 4) / 16
    np.testing.assert_allclose(transpile.jit(f)(X[:4], w), f(X[:4], w), rtol=1e-13)


def test_an_array_is_made_by_its_class():
    def f(x, n):
        out = np.ndarray((n, *x.shape), dtype=x.dtype)
        for i in range(n):
            out[i] = x * i
        part = np.ndarray((2,), np.float64, np.arange(4.0), 8)
        return out, part + x[0]

    for ours, numpys in zip(transpile.jit(f)(X, 3), f(X, 3), strict=True):
        np.testing.assert_array_equal(ours, numpys)
