"""The texts of extents, and the values of runtime sizes from the shapes of a call."""

import pytest

from transpile.ir.dims import Dim, Symbol, bounds, evaluate
from transpile.ir.indices.size_solver import SizeMismatchError, evaluated, sizes_of, solved
from transpile.ir.indices.size_text import parsed

N, M = Symbol("n", 1), Symbol("m", 1)
n, m = Dim.of(N), Dim.of(M)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("n", n),
        (" n ", n),
        ("7", 7),
        ("2*n + 1", 2 * n + 1),
        ("(n + m) // 2", (n + m) // 2),
        ("n - -m % 3", n - (-m) % 3),
        ("n * m - n * m", 0),
        ("-" * 900 + "n", n),
    ],
)
def test_texts_of_extents(text, index):
    assert parsed(text) == index


def test_a_named_size_is_at_least_one():
    assert bounds(parsed("n")) == (1, None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "n m", "n**2", "n / 2", "n // 0", "n % 0", "f(n)", "n.real", "True", "1.5", "é"),
        *("__import__('os')", "[n]", "n;m", "n\nm", "(" * 99 + "n"),
        *("(" * 500 + "n" + ")" * 500, "-" * 2000 + "n"),
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="is no extent: an int, a name, or an expression of them"):
        parsed(text)


def test_sizes_are_found_in_order():
    assert sizes_of([(3, 2 * m + n), (n, 5)]) == (M, N)
    assert sizes_of([(3,), ()]) == ()


@pytest.mark.parametrize("values", [{"n": 1, "m": 1}, {"n": 7, "m": 3}, {"n": 1000, "m": 2}])
@pytest.mark.parametrize(
    "shapes",
    [
        [(n, m)],
        [(2 * n + 1,), (n + m, n)],
        [(n * m, n)],  # m follows when n is known, whichever comes first
        [(n + m,), (n - 1,)],
        [(n,), (m,), (n * m + 3, n // 2, m % 4)],
    ],
)
def test_sizes_follow_from_shapes(shapes, values):
    called = [evaluated(shape, values) for shape in shapes]
    arguments = [("x", shape, given) for shape, given in zip(shapes, called, strict=True)]
    assert solved((N, M), arguments) == values
    for shape, given in zip(shapes, called, strict=True):
        assert tuple(evaluate(d, values) for d in shape) == given


def test_contradictions_are_named():
    arguments = [("x", (n, 3), (4, 3)), ("w", (2 * n + 1,), (8,)), ("y", (n,), (5,))]
    with pytest.raises(SizeMismatchError) as caught:
        solved((N,), arguments)
    assert str(caught.value).splitlines() == [
        "axis 0 of 'w' is 2*n + 1, which is 9 (n is 4 in axis 0 of 'x'), not 8",
        "axis 0 of 'y' is n, which is 4 (n is 4 in axis 0 of 'x'), not 5",
    ]


def test_an_extent_that_no_size_gives_is_named():
    with pytest.raises(SizeMismatchError, match=r"axis 0 of 'x' is 2\*n \+ 1, which cannot be 8"):
        solved((N,), [("x", (2 * n + 1,), (8,))])


def test_what_the_shapes_leave_open_is_named():
    with pytest.raises(
        SizeMismatchError, match="the shapes of the arguments do not determine n, m"
    ):
        solved((N, M), [("x", (n * m,), (6,))])
