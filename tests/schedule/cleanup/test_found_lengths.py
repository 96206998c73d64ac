"""A loop that counts to the number of which an array was made is inside of that array."""

import numpy as np
import pytest

import transpile
from transpile.ir.loop_ir import Apply, For, Within
from transpile.ir.loop_rewrite import parts, walk


def clamps(function, *args):
    """The clamps and tests of places that are left in the loops of the user's."""
    program = transpile.jit(function).lower(*args).compiler_ir("loops")
    return [
        part
        for kernel in program.kernels
        for loop in walk(kernel.body)
        if isinstance(loop, For) and loop.ordered
        for statement in walk(loop.body)
        for part in parts(statement)
        if isinstance(part, Within)
        or (isinstance(part, Apply) and part.op in {"minimum", "maximum", "checked_subscript"})
    ]


def piled(n, grains):
    grid = np.zeros((n, n), np.int64)
    for i in range(n):
        for j in range(n):
            grid[i, j] += grains
            if i > 0:
                grid[i - 1, j] += i
            if j + 1 < n:
                grid[i, j + 1] -= grid[i, j] // 2
    return grid


def prefix(x, n):
    """One element more than the loop has iterations."""
    total = np.zeros(n + 1)
    for i in range(n):
        total[i + 1] = total[i] + x[i % len(x)]
    return total


def beside(n, m):
    """Arrays of different numbers: what is known of one says nothing of the other."""
    a, b = np.zeros(n), np.zeros(m)
    for i in range(n):
        a[i] = i
        b[i % m] += 1.0
    return a, b


def raised(n):
    """Of a length that is not the number itself."""
    a = np.zeros(max(n, 3))
    for i in range(n):
        a[i] = 2.0 * i
    return a


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (piled, [(0, 5), (1, 5), (2, 7), (6, 9)]),
        (raised, [(-2,), (0,), (2,), (3,), (7,)]),
    ],
)
def test_no_place_is_tested(function, cases):
    assert not clamps(function, *cases[-1])
    compiled = transpile.jit(function)
    for arguments in cases:
        np.testing.assert_array_equal(compiled(*arguments), function(*arguments), strict=True)


def test_what_is_not_known_is_tested():
    compiled = transpile.jit(prefix)
    x = np.array([0.5, 2.0, -3.0])
    for n in (0, 1, 2, 9):
        np.testing.assert_array_equal(compiled(x, n), prefix(x, n))
    assert clamps(beside, 5, 3)
    for n, m in ((5, 3), (3, 5), (1, 1), (0, 4)):
        for got, want in zip(transpile.jit(beside)(n, m), beside(n, m), strict=True):
            np.testing.assert_array_equal(got, want)


def too_long(n, m):
    """Python raises IndexError; here the places behind the end are left out."""
    a = np.zeros(m)
    for i in range(n):
        a[i] = 1.0
    return a


def test_a_loop_that_goes_on_behind_the_end_stores_nothing_there():
    np.testing.assert_array_equal(transpile.jit(too_long)(9, 4), np.ones(4))
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        transpile.jit(piled)(-1, 5)
    with pytest.raises(IndexError):
        transpile.jit(too_long, check_bounds=True)(9, 4)
