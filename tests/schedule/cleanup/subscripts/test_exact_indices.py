"""Integers that relations between counters prove exact, and in range, are subscripts."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, run
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from transpile import jit, lax
from transpile.ir.loop_ir import Declare, For, Update
from transpile.ir.loop_rewrite import indices, is_independent, walk
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_comparisons

pytestmark = pytest.mark.full_level
N = 7


def settled(f, *args):
    """The loops of a function behind the pass, which compute the same as those before it."""
    before = lowered(f, *args)
    after = settle_comparisons(before, Options())
    check(after)
    assert_same_results(run(after, list(args)), run(before, list(args)))
    return after


def subscripts(program):
    """The subscripts of a program, and the expressions of those that are variables of their own."""
    found = {str(i) for k in program.kernels for s in walk(k.body) for i in indices(s)}
    named = [
        s.value
        for k in program.kernels
        for s in walk(k.body)
        if isinstance(s, Declare) and s.symbol is not None and s.name.startswith("at")
    ]
    return found, named


def nested(stop, place):
    """A loop over j < stop(i) in one over i, which updates the element place(i, j)."""

    def f(x):
        def inner(i, x):
            return lax.fori_loop(
                0, stop(i), lambda j, x: x.at[place(i, j)].set(x[place(i, j)] * 0.5 + 1), x
            )

        return lax.fori_loop(0, N, inner, x)

    return f


@pytest.mark.parametrize(
    ("stop", "place", "index"),
    [
        (lambda i: i + 1, lambda i, j: i - j, "i - j"),
        (lambda i: N - i, lambda i, j: i + j, "i + j"),
        (lambda i: N - 1 - i, lambda i, j: N - 1 - i - j, "-i - j + 6"),
        (lambda i: (N - i) // 2, lambda i, j: i + 2 * j + 1, "i + 2*j + 1"),
        (lambda i: np.minimum(N - i, 3), lambda i, j: i + j, "i + j"),
        (lambda i: np.maximum(N - 3 - i, 0), lambda i, j: i + j + 3, "i + j + 3"),
    ],
)
def test_a_subscript_below_a_bound_of_two_counters_is_a_polynomial(stop, place, index):
    found, named = subscripts(settled(nested(stop, place), np.arange(float(N))))
    assert index in found
    assert not named


@pytest.mark.parametrize(
    ("stop", "place"),
    [
        (lambda i: N - i + 1, lambda i, j: i + j),
        (lambda i: N - i, lambda i, j: i + j + 1),
        (lambda i: (N - i) // 2, lambda i, j: i + 2 * j + 2),
        (lambda i: np.maximum(N - i, 3), lambda i, j: i + j),
        (lambda i: N - i, lambda i, j: j - i - 2),
    ],
)
def test_a_subscript_that_may_be_outside_is_clamped(stop, place):
    _, named = subscripts(settled(nested(stop, place), np.arange(float(N))))
    assert named


@pytest.mark.parametrize(
    ("place", "apart"),
    [
        (lambda i, j: i + j, False),
        (lambda i, j: i * (N - 1) + j, False),
        (lambda i, j: i * N + j, True),
        (lambda i, j: 2 * i + 2 * j * N + 1, True),
    ],
)
def test_iterations_that_add_to_the_same_elements_stay_dependent(place, apart):
    def f(x):
        i, j = (lax.broadcasted_iota(np.int64, (N, N), axis) for axis in (0, 1))
        out = np.zeros(4 * N * N) * x[0, 0]
        np.add.at(out, place(i, j), x)
        return out, np.maximum(i, j)  # a comparison, without which the pass does nothing

    program = settled(f, np.arange(1.0, N * N + 1).reshape(N, N))
    nests = [s for k in program.kernels for s in k.body if isinstance(s, For)]
    adding = [nest for nest in nests if any(isinstance(s, Update) for s in walk((nest,)))]
    assert [is_independent(nest) for nest in adding] == [apart]


def test_arithmetic_that_may_wrap_around_is_no_polynomial():
    """A sum that overflows is a negative index in NumPy's arithmetic."""

    def f(x, n):
        return lax.fori_loop(0, 5, lambda i, s: s * 0.5 + x[n + i - n], 0.0)

    for n in (0, 2**63 - 3):
        settled(f, np.arange(5.0), np.int64(n))


def test_the_largest_of_a_column_is_in_the_matrix():
    """The pivot of an LU decomposition is one of the rows that were looked at."""

    def f(a):
        def column(k, state):
            a, order = state

            def better(i, p):
                return np.where(a[i, k] > a[p, k], i, p)

            p = lax.fori_loop(k + 1, N, better, k)
            return a.at[p, k].set(0.0), order.at[k].set(p)

        return lax.fori_loop(0, N - 1, column, (a, np.zeros(N, np.int64)))

    _, named = subscripts(settled(f, np.random.default_rng(0).normal(size=(N, N))))
    assert not [n for n in named if "minimum" in str(n) or "maximum" in str(n)]


small = st.integers(-2, 3)


@st.composite
def nests(draw):
    """Three nested loops, whose ends and subscripts are drawn sums of the counters around them."""

    def total(*counters):
        parts = [draw(small) for _ in counters]
        offset = draw(st.integers(-3, N + 2))
        divisor = draw(st.sampled_from([1, 1, 2, 3]))
        bound = draw(st.integers(0, N + 1))
        end = draw(st.sampled_from([None, np.minimum, np.maximum]))

        def value(*now):
            found = (sum(c * x for c, x in zip(parts, now, strict=True)) + offset) // divisor
            return found if end is None else end(found, bound)

        return value

    ends = total(0), total(0, 0)
    starts = draw(st.integers(-1, 2)), total(0)
    places = [total(0, 0, 0) for _ in range(2)]
    outer = total(0, 0)

    def f(x):
        def innermost(i, j):
            def body(k, x):
                return x.at[places[0](i, j, k)].set(x[places[1](i, j, k)] * 0.5 + k)

            return body

        def inner(i):
            def body(j, x):
                x = lax.fori_loop(0, ends[1](i, j), innermost(i, j), x)
                return x.at[outer(i, j)].set(x[j] - 1)

            return body

        return lax.fori_loop(
            starts[0], 5, lambda i, x: lax.fori_loop(starts[1](i), ends[0](i), inner(i), x), x
        )

    return f


@settings(max_examples=tries(40))
@given(f=nests())
def test_drawn_nests_compute_the_same(f):
    settled(f, np.arange(float(N)))


def quotient_of_a_choice(x):
    s, seen = 0.0, 0
    for i in range(x.size):
        k = (i * 3 if seen > 0 else i) // 4
        seen = seen + 1
        if k < x.size:
            s += x[k]
    return s


def slices_from_a_counter(x):
    s, seen = 0.0, 0
    for _ in range(0, x.size, 3):
        seen = seen + 1
        k = min(seen, x.size - 1)
        s += x[:k].sum() + x[k:].max()
    return s


@pytest.mark.parametrize("n", [2, 5, 13])
@pytest.mark.parametrize("f", [quotient_of_a_choice, slices_from_a_counter])
def test_what_only_the_first_iterations_have_is_no_subscript(f, n):
    """In the first one the choice is `i`, and the counter 1."""
    x = np.arange(n) ** 2.0
    compiled = jit(f, dynamic_shapes=True)
    (interpreted,) = run(compiled.lower(x)._lowering.program(), [x])
    assert compiled(x) == interpreted == f(x)
