"""Nests of loops to a number have a version without clamps, for numbers as small as the arrays."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, run, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import ShapeDtypeStruct, lax
from transpile.ir.loop_ir import For, If, While
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_subscripts
from transpile.schedule.domain.independent_loops import find_independent_loops
from transpile.schedule.domain.versions.bound_versions import version_bounds

N = 7
ENDS = [0, 1, 2, 3, 4, N - 1, N, N + 1, 2 * N, -1, -(2**63)]


def versioned(f, *args):
    """The loops of a function before and behind the pass."""
    before = settle_subscripts(lowered(f, *args), Options())
    after = version_bounds(before, Options())
    check(after, before)
    return before, after


def arms(program):
    """The version and the nest as it was, of each branch that has loops."""
    branches = [s for s in statements_of(program, If) if s.orelse]
    return [(s.condition, s.body, s.orelse) for s in branches if loops(s.body)]


def loops(body):
    return [s for s in walk(body) if isinstance(s, For | While)]


def has_clamps(body):
    return "minimum" in str(body)


def pairs(x, n):
    """Sums over all pairs, as forces between bodies are."""

    def row(i, out):
        return lax.fori_loop(0, n, lambda j, out: out.at[i].add(x[i] - x[j] * x[j]), out)

    return lax.fori_loop(0, n, row, np.zeros(N))


def triangle(x, n):
    """An inner loop that ends at the counter of the outer one."""

    def row(i, out):
        return lax.fori_loop(0, i, lambda j, out: out.at[i].add(x[j] * out[j]), out)

    return lax.fori_loop(0, n, row, x)


def every_other(x, n):
    """Subscripts that are multiples of a counter, plus a number."""
    return lax.fori_loop(0, n, lambda i, out: out.at[2 * i + 1].set(x[i] + 1.0), x)


def backwards(x, n):
    """A counter that runs down: the greatest subscript is that of the first iteration."""
    return lax.fori_loop(0, n, lambda i, out: out.at[n - 1 - i].add(x[i]), x)


def counted(x, n):
    """A loop that counts itself."""

    def step(state):
        i, total = state
        return i + 1, total + x[i] * x[i]

    return lax.while_loop(lambda state: n > state[0], step, (np.int64(0), 0.0))[1]


@pytest.mark.parametrize(
    ("f", "most"), [(pairs, N), (triangle, N), (every_other, 3), (backwards, N), (counted, N)]
)
def test_the_version_has_no_clamps_and_computes_the_same(f, most):
    x = np.linspace(1.0, 2.0, N)
    before, after = versioned(f, x, np.int64(3))
    ((test, fast, slow),) = arms(after)
    assert has_clamps(slow)
    assert not has_clamps(fast)
    assert test.op == "less_equal"
    assert int(test.args[1].value) == most
    for end in ENDS:
        assert_same_results(run(after, [x, np.int64(end)]), run(before, [x, np.int64(end)]))


def test_iterations_of_the_version_are_known_to_be_apart():
    before, after = versioned(pairs, np.ones(N), np.int64(3))
    ((_, fast, _),) = arms(find_independent_loops(after, Options()))
    assert loops(fast)[0].independent
    marked = find_independent_loops(before, Options())
    assert not any(loop.independent for loop in statements_of(marked, For) if loop.ordered)


def test_arrays_may_have_runtime_sizes():
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, out: out.at[i].add(x[i] * out[i]), x)

    _, after = versioned(f, ShapeDtypeStruct(("m",), float), np.int64(3))
    ((test, fast, _),) = arms(after)
    assert str(test.args[1].index) == "m"
    assert not has_clamps(fast)


def test_an_end_that_changes_is_none():
    """And neither is one that is nearer than a few iterations."""

    def growing(x, n):
        def step(state):
            i, n, total = state
            return i + 1, n + (x[i] > 1.5), total + x[i]

        return lax.while_loop(lambda state: state[0] < state[1], step, (np.int64(0), n, 0.0))

    def of_two(x, n):
        return lax.fori_loop(0, n, lambda i, total: total + x[i], 0.0)

    assert arms(versioned(growing, np.ones(N), np.int64(3))[1]) == []
    assert arms(versioned(of_two, np.ones(2), np.int64(3))[1]) == []


def pythons_own(x, a, n, m):
    """Nested loops of Python's to two numbers, with a branch and a loop that counts itself."""
    out = np.zeros_like(x)
    for i in range(n):
        for j in range(m):
            if a[i, j] > 0.5:
                out[i] += a[i, j] * x[j]
            k = 0
            while k < m:
                out[i] -= a[i, k] * 0.125
                k += 1
    return out


def test_python_says_the_same():
    rng = np.random.default_rng(0)
    x, a = rng.random(N), rng.random((N, N))
    f = transpile.jit(pythons_own)
    for n, m in [(0, 3), (N, N), (3, 1), (-2, 5), (N, 4)]:
        np.testing.assert_allclose(f(x, a, n, m), pythons_own(x, a, n, m), rtol=1e-13)


coefficients = st.integers(-2, 2)


@st.composite
def nests(draw):
    """A loop in a loop to two numbers, whose subscripts are sums of counters."""
    rows = [[draw(coefficients), draw(coefficients), draw(st.integers(-1, N))] for _ in range(3)]

    def f(x, k, m):
        def body(i, j, x):
            here, one, other = (c * i + d * j + e for c, d, e in rows)
            return x.at[here].set(x[one] * 0.5 + x[other])

        return lax.fori_loop(
            0, k, lambda i, x: lax.fori_loop(0, m, lambda j, x: body(i, j, x), x), x
        )

    return f


@settings(max_examples=tries(25))
@given(f=nests(), k=st.integers(-1, N + 2), m=st.integers(-1, N + 2))
def test_drawn_nests_compute_the_same(f, k, m):
    args = [np.arange(float(N)), np.int64(k), np.int64(m)]
    before, after = versioned(f, *args)
    assert_same_results(run(after, args), run(before, args))
