"""Constraints of runtime sizes: what they settle, what contradicts itself, what a call is told."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from transpile.errors import UndecidedSizeError
from transpile.ir.dims import bounds, evaluate
from transpile.ir.indices.size_constraints import dims
from transpile.ir.indices.size_solver import SizeMismatchError, sizes_of, solved


def test_a_divisor_divides():
    (n,) = dims("n", "n % 8 == 0")
    assert [str(e) for e in (n, n // 8, n // 2, 3 * n, n // 8 * 8)] == [
        *("n", "n // 8", "4*(n // 8)", "3*n", "n")
    ]
    assert (n % 4, n // 8 * 8 - n, (n * n) % 64) == (0, 0, 0)
    assert bounds(n) == (8, None)


def test_ranges_are_those_of_all_constraints():
    assert bounds(dims("n", "1 <= n <= 4096", "n > 3")[0]) == (4, 4096)
    assert bounds(dims("n", "n % 8 == 0", "n <= 100")[0]) == (8, 96)
    assert bounds(dims("n", "n >= 0")[0]) == (0, None)
    assert dims("n, m", "n == 5", "m == 2*n + 1") == (5, 11)


def test_equalities_are_substituted():
    n, m = dims("n, m", "m == 2*n", "m <= 100")
    assert (m, bounds(n)) == (2 * n, (1, 50))
    n, m = dims("n, m", "m % 8 == 0", "m == 2*n")
    assert (m, n % 4) == (2 * n, 0)
    n, m = dims("n, m", "3*m == 2*n")
    assert (str(m), n % 3) == ("2*(n // 3)", 0)


def test_inequalities_settle_comparisons_of_sums_and_products():
    n, m, p = dims("n, m, p", "n <= m", "m < p", "p <= 50", "n*p <= 100")
    assert n < p and p > n and n + 1 <= p and max(n, p) is p and m >= n
    assert bounds(p) == (2, 50) and bounds(n) == (1, 48 + 1)
    assert 3 * n * p < 301
    with pytest.raises(UndecidedSizeError) as caught:
        n < m
    assert "declare which it is: transpile.dims('m, n', 'n < m'), or 'n >= m'" in str(caught.value)


@pytest.mark.parametrize(
    "constraints",
    [
        ("n >= 5", "n <= 4"),
        ("n % 8 == 0", "n <= 7"),
        ("m == 2*n", "m <= 1"),
        ("n == m", "m == n + 1"),
        ("n <= m", "m < n"),
        ("n <= m", "m <= p", "p < n"),
        ("n == m", "n <= 5", "m >= 6"),
        ("n*m <= 10", "n >= 5", "m >= 3"),
    ],
)
def test_contradictions_are_errors(constraints):
    with pytest.raises(ValueError, match=r"never holds|leaves no value|contradicts"):
        dims("n, m, p", *constraints)


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ("n", "'n' is no constraint of sizes, such as 'n % 8 == 0'"),
        ("n != 3", "is no constraint of sizes"),
        ("n <", "is no expression of sizes"),
        ("__import__('os') < 3", "is no extent"),
        ("n % 8 == 3", r"a remainder can only be declared to be 0.*'8\*n \+ 3'"),
        ("n*m == 12", "gives none of its sizes"),
        ("(n + m) % 4 == 0", "only a multiple of one size can be declared divisible"),
    ],
)
def test_other_texts_are_refused(constraint, text):
    with pytest.raises(ValueError, match=text):
        dims("n, m", constraint)


POOL = (
    *("n % 2 == 0", "m % 3 == 0", "n <= 6", "m >= 2", "n <= m", "m < n + 3", "n*m <= 12"),
    *("m == 2*n", "2*m == 3*n", "n == m", "p == n + m", "p <= n*m", "n >= 0", "p == m // 2"),
    *("3*p <= n + m", "p % 2 == 0", "2*n == p"),
)
VALUES = range(9)


def allowed(constraints):
    """All small values that the constraints allow, as Python evaluates them."""
    lower = {"n": 0 if "n >= 0" in constraints else 1, "m": 1, "p": 1}
    for values in product(VALUES, repeat=3):
        sizes = dict(zip("nmp", values, strict=True))
        if all(sizes[s] >= lower[s] for s in sizes) and all(
            eval(c, {}, sizes) for c in constraints
        ):
            yield sizes


@settings(max_examples=tries(80))
@given(st.lists(st.sampled_from(POOL), max_size=4, unique=True), st.data())
def test_drawn_constraints_mean_what_python_means(constraints, data):
    """Sizes that the constraints allow are solved for, and all others refused; bounds hold."""
    values = list(allowed(constraints))
    try:
        extents = dims("n, m, p", *constraints)
    except ValueError as error:
        has_no_form = "gives none" in str(error) or "can be declared divisible" in str(error)
        assert has_no_form or not values, (constraints, str(error))
        return
    sizes = sizes_of([extents])
    fitting = {tuple(v.values()) for v in values}
    for drawn in data.draw(st.lists(st.tuples(*[st.sampled_from(VALUES)] * 3), max_size=20)):
        try:
            known = solved(sizes, [("x", extents, drawn)])
        except (SizeMismatchError, ValueError) as error:
            assert drawn not in fitting or "do not determine" in str(error)
            continue
        assert drawn in fitting
        assert tuple(evaluate(e, known) for e in extents) == drawn
    expressions = [a - b for a, b in product(extents, repeat=2)] + [extents[0] * extents[1]]
    for sized in values:
        known = {s.name: sized[s.name] for s in sizes}
        for expression in expressions:
            low, high = bounds(expression)
            value = evaluate(expression, known)
            assert (low is None or low <= value) and (high is None or value <= high)


def test_a_name_is_one_size():
    (n,), (other,) = dims("n"), dims("n", "n % 2 == 0")
    with pytest.raises(ValueError, match="n is the name of several runtime sizes"):
        sizes_of([(n,), (other,)])


def test_violations_name_arguments_and_axes():
    n, m = extents = dims("n, m", "n % 4 == 0", "n <= 8", "n <= m", "n*m <= 50")
    sizes = sizes_of([extents])

    def error(*given):
        with pytest.raises((ValueError, SizeMismatchError)) as caught:
            solved(sizes, [("x", (n,), given[:1]), ("y", (m, n), (given[1], given[0]))])
        return str(caught.value).splitlines()[0]

    assert error(6, 8).endswith("axis 0 of 'x' is n with n % 4 == 0, which cannot be 6")
    assert error(12, 13).endswith("n is more than 8: n is 12 in axis 0 of 'x'")
    assert error(8, 4).endswith(
        "n <= m does not hold: m is 4 in axis 0 of 'y', n is 8 in axis 0 of 'x'"
    )
    assert error(8, 7 + 1).startswith("m*n <= 50 does not hold")
    assert solved(sizes, [("x", extents, (4, 12))]) == {"n": 4, "m": 12}
