"""What the ranges of integers settle: comparisons, clamps and branches."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, run
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import lax
from transpile.ir.loop_ir import Apply, Declare, If
from transpile.ir.loop_rewrite import parts, walk
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_comparisons, watch

pytestmark = pytest.mark.full_level
OPS = ("minimum", "maximum", "select", "equal")


def left(program):
    """The clamps, choices and tests of integers in subscripts and branches of a program."""
    found = []
    for kernel in program.kernels:
        for s in walk(kernel.body):
            if isinstance(s, Declare | If):
                found += [p.op for p in parts(s) if isinstance(p, Apply) and p.op in OPS]
    return found


def settled(f, *args):
    """The loops of a function behind the pass, which compute the same as those before it."""
    before = lowered(f, *args)
    after = settle_comparisons(before, Options())
    check(after)
    assert_same_results(run(after, list(args)), run(before, list(args)))
    return after


def test_a_counter_that_runs_down_is_no_index_from_the_end():
    """The inner loop of an insertion sort."""

    def f(a, key):
        def goes_on(state):
            j, a = state
            return (j >= 0) & (a[np.maximum(j, 0)] > key)

        def step(state):
            j, a = state
            return j - 1, a.at[j + 1].set(a[j])

        j, a = lax.while_loop(goes_on, step, (np.int64(8), a))
        return a.at[j + 1].set(key)

    program = settled(f, np.arange(10.0), np.float64(3.5))
    assert left(program) == ["maximum"]  # that of the condition itself


def test_a_binary_search_stays_inside():
    def f(a, x):
        def step(state):
            low, high = state
            middle = (low + high) // 2
            is_less = a[middle] < x
            return np.where(is_less, middle + 1, low), np.where(is_less, high, middle)

        return lax.while_loop(lambda s: s[0] < s[1], step, (np.int64(0), np.int64(9)))

    program = settled(f, np.arange(9.0), np.float64(4.5))
    assert not {"minimum", "maximum"} & set(left(program))


def test_what_a_loop_counts_is_at_most_its_trips():
    """Elements are stored one behind another."""

    def f(x):
        def step(i, state):
            out, count = state
            return out.at[count].set(x[i]), np.where(x[i] > 0, count + 1, count)

        return lax.fori_loop(0, 8, step, (np.zeros(8), np.int64(0)))

    x = np.array([1.0, -1, 2, 3, -5, 6, 7, 8])
    assert left(settled(f, x)) == []


def test_a_product_below_a_bound_bounds_its_factor():
    """The outer loop of a sieve."""

    def f(flags):
        def step(state):
            p, flags = state
            return p + 1, flags.at[p].set(False)

        return lax.while_loop(lambda s: s[0] * s[0] < 100, step, (np.int64(2), flags))

    assert left(settled(f, np.ones(10, bool))) == []


def test_a_sum_below_a_runtime_size_bounds_its_terms():
    """The children of a binary heap: neither `2 * p + 1` nor `p` wraps around."""

    def f(x, least):
        def step(p):
            child = 2 * p + 1
            return np.where(x[child] < least, child, 2 * child)

        return lax.while_loop(lambda p: 2 * p + 1 < x.shape[0], step, np.int64(0))

    program = lowered(f, transpile.ShapeDtypeStruct(("n",), float), np.float64(0.5))
    after = settle_comparisons(program, Options())
    check(after)
    assert "minimum" in str(program) and "minimum" not in str(after)


def settled_over_sizes(f):
    """The loops of a function of n elements, n >= 2, before the pass and behind it, which compute
    the same."""
    (n,) = transpile.dims("n", "n >= 2")
    before = lowered(f, transpile.ShapeDtypeStruct((n,), float))
    after = settle_comparisons(before, Options())
    check(after)
    for size in 2, 3, 7:
        x = np.random.default_rng(size).random(size)
        assert_same_results(run(after, [x]), run(before, [x]))
    return before, after


def test_a_counter_stays_below_the_size_that_it_begins_with():
    """Two counters that meet, of which one is bounded by the other alone."""

    def f(x):
        def step(state):
            low, high, x = state
            return low + 1, high - 1, x.at[high].set(x[low] * 2.0)

        first = np.int64(0), x.shape[0] - 1 + np.int64(0), x
        return lax.while_loop(lambda s: s[0] < s[1], step, first)[2]

    before, after = settled_over_sizes(f)
    assert "minimum" in str(before) and not {"minimum", "maximum"} & set(left(after))


def test_what_moves_away_from_its_first_value_is_not_below_it():
    def f(x):
        def step(i, state):
            at, x = state
            return np.where(x[i] < 0.5, at - 1, at + 1), x.at[at].set(x[at] + 1.0)

        return lax.fori_loop(0, 4, step, (x.shape[0] - 1 + np.int64(0), x))[1]

    _, after = settled_over_sizes(f)
    assert "minimum" in left(after)


def test_the_neighbours_in_a_ring_are_no_remainders():
    def f(x):
        n = x.shape[0]

        def neighbour(i, k, total):
            return total * 0.5 + x[(i + k - 1) % n]

        def one(i, total):
            total = total + x[(i - 1) % n] - x[(i + 1) % n] * x[i % n]
            return lax.fori_loop(0, 3, lambda k, total: neighbour(i, k, total), total)

        return lax.fori_loop(0, n, one, 0.0)

    before, after = settled_over_sizes(f)
    assert str(before).count("remainder") == 4
    assert "remainder" not in str(after) and "minimum" not in str(after)


def test_a_condition_is_known_from_the_truth_that_its_branch_makes():
    """The inner loop of an insertion sort, whose condition reads an element where there is one."""

    def f(x):
        def goes_on(state):
            j, x = state
            return lax.cond(j >= 0, lambda: x[np.maximum(j, 0)] > 0.5, lambda: False)

        def step(state):
            j, x = state
            return j - 1, x.at[j].set(x[j] * 2.0)

        return lax.while_loop(goes_on, step, (x.shape[0] - 1 + np.int64(0), x))[1]

    _, after = settled_over_sizes(f)
    assert not {"minimum", "select", "equal"} & set(left(after))


def test_elements_of_constants_are_known():
    """Subscripts from a table, of which all elements are in range."""
    table = np.array([3, 1, 2, 0])

    def f(x):
        return lax.fori_loop(0, 4, lambda i, s: s * 0.5 + x[np.asarray(table)[i]], 0.0)

    assert left(settled(f, np.arange(4.0))) == []


@pytest.mark.parametrize("start", [-9, 3])
def test_what_may_be_outside_stays(start):
    def f(x, n):
        return lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]), (np.int64(start), 0.0)
        )

    program = settled(f, np.arange(5.0), np.int64(9))
    assert "minimum" in left(program)
    assert ("maximum" in left(program)) is (start < 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_narrow_counters_wrap_around(dtype):
    """An unsigned one that counts down is not below its first value ever after."""

    def f(x):
        return lax.while_loop(lambda j: x[j] > 0.5, lambda j: j - dtype(1), dtype(0))

    assert "minimum" in left(settled(f, np.array([1.0, 1.0, 0.0])))


def test_a_wrapped_sum_is_not_above_its_operands():
    """A counter that passes the largest integer is negative."""
    most = np.iinfo(np.int64).max

    def f(x, n):
        def step(i, state):
            k, total = state
            return k + n, total + x[np.where(k < 0, 0, 1)]

        return lax.fori_loop(0, 3, step, (np.int64(most - 1), 0.0))

    program = settled(f, np.array([1.0, 100.0]), np.int64(1))
    assert "select" in left(program)
    known = settled(lambda x: f(x, np.int64(1)), np.array([1.0, 100.0]))
    assert run(known, [np.array([1.0, 100.0])])[1] == 201.0


# ---------------------------------------------------------------------------- drawn programs

NAMES = ("p", "q", "r")
small = st.integers(-4, 9)


@st.composite
def terms(draw, depth=2):
    """An expression of the state, as a function of it."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        if draw(st.booleans()):
            k = draw(st.integers(0, 2))
            return lambda s: s[k]
        number = draw(small)
        return lambda s: s[0] * 0 + number
    x, y, z = (draw(terms(depth=depth - 1)) for _ in range(3))
    c = draw(st.integers(1, 5))
    choices = [
        lambda s: x(s) + y(s),
        lambda s: x(s) - y(s),
        lambda s: x(s) + c,
        lambda s: x(s) - c,
        lambda s: x(s) * c,
        lambda s: x(s) * x(s),
        lambda s: x(s) // c,
        lambda s: x(s) % c,
        lambda s: x(s) >> c,
        lambda s: x(s) & c,
        lambda s: np.minimum(x(s), y(s)),
        lambda s: np.maximum(x(s), c),
        lambda s: np.where(x(s) < y(s), y(s), z(s)),
        lambda s: np.where(x(s) == c, y(s), x(s) + 1),
        lambda s: np.where((x(s) >= 0) & (y(s) < c), x(s), z(s)),
        lambda s: np.where((x(s) != c) | ~(y(s) > z(s)), x(s) - 1, z(s)),
        lambda s: np.abs(x(s)),
        lambda s: -x(s),
    ]
    return draw(st.sampled_from(choices))


@st.composite
def programs(draw):
    """A loop over three integers and an array that is subscripted by them, with loops inside."""
    updates = [draw(terms()) for _ in range(3)]
    tests = [draw(terms(depth=1)) for _ in range(2)]
    limit, place, inner = draw(small), draw(terms(depth=1)), draw(st.integers(0, 2))
    compare = draw(st.sampled_from([np.less, np.less_equal, np.greater, np.not_equal]))
    starts = [draw(st.one_of(small, st.just(2**62))) for _ in range(3)]

    def step(state):
        p, q, r, total, x = state
        now = (p, q, r)
        x = x.at[place(now)].set(x[updates[0](now)] * 0.5 + 1)
        total = total + x[q] - x[place(now)]
        if inner == 1:
            r, total = lax.fori_loop(
                0, 3, lambda i, s: (s[0] + i, s[1] + x[s[0]]), (updates[1](now), total)
            )
        if inner == 2:
            r = lax.while_loop(lambda s: s < limit, lambda s: s + 2, np.minimum(r, 3) + 0)
        now = (p, q, r)
        return *(u(now) for u in updates), total, x

    def f(x, p, q):
        state = (p, q if starts[1] else np.int64(starts[1]), np.int64(starts[2]), 0.0, x)

        def goes_on(s):
            fuel, *now, _, _ = s
            return (fuel < 9) & compare(tests[0](now), tests[1](now) + limit)

        _, *rest = lax.while_loop(
            goes_on, lambda s: (s[0] + 1, *step(s[1:])), (np.int64(0), *state)
        )
        return tuple(rest)

    return f, starts


@settings(max_examples=tries(60))
@given(drawn=programs())
def test_drawn_loops_compute_the_same(drawn):
    f, starts = drawn
    with np.errstate(all="ignore"):
        settled(f, np.arange(5.0), np.int64(starts[0]), np.int64(starts[1]))


def test_a_stack_pointer_does_not_wrap_around():
    """It grows by what branches add, and is above 0 where the loop goes on."""

    def f(x):
        def step(state):
            top, x, fuel = state
            top = top - 1
            x = x.at[top].set(x[top] + 1)
            one = np.where((x[top] < 2) & (fuel > 0), top + 1, top)
            x = x.at[one].set(0.5)
            return np.where(fuel > 2, one + 1, one), x, fuel - 1

        return lax.while_loop(lambda s: s[0] > 0, step, (np.int64(1), x, np.int64(5)))

    assert "maximum" not in left(settled(f, np.zeros(4)))
    assert "select" not in [
        p.op
        for k in settled(f, np.zeros(4)).kernels
        for s in walk(k.body)
        if isinstance(s, Declare) and s.symbol is not None
        for p in parts(s)
        if isinstance(p, Apply)
    ]


def test_a_window_before_a_place_stays_inside():
    """What the window's begin and a counter are together is below the place, so that it does not
    wrap around, however large each of them may be."""

    def f(x, window):
        total = 0.0
        for i in range(len(x)):
            for start in range(max(0, i - window), i):
                if x[start] < x[i]:
                    total += x[start]
        return total

    x = np.array([3.0, 1.0, 4.0, 1.5, 5.0, 0.5])
    for window in (0, 2, 9, -3, 2**63 - 1):
        lowered_ = transpile.jit(f).lower(x, window)
        assert "subscript" not in lowered_.as_text("loops")
        assert lowered_.compile()(x, window) == f(x, window)


def test_a_window_around_a_place_stays_inside():
    """How far apart both bounds of a range are does not wrap around where it runs."""

    def f(x, before, after):
        total = 0.0
        for i in range(len(x)):
            for k in range(max(0, i - before), min(len(x), i + after)):
                total += x[k] * (k - i)
        return total

    x = np.array([3.0, 1.0, 4.0, 1.5, 5.0, 0.5])
    lowered_ = transpile.jit(f).lower(x, 1, 2)
    text = lowered_.as_text("loops")
    assert "subscript" not in text and "clip" not in text and " minimum(" not in text
    compiled = lowered_.compile()
    for before, after in ((0, 0), (1, 2), (9, 9), (-3, 5), (2, -1), (0, -(2**63) + 9)):
        assert compiled(x, before, after) == f(x, before, after)


@pytest.mark.parametrize("period", [3, 4])
def test_a_remainder_is_at_most_what_is_divided(period):
    """So it is an element of any array that has the element there."""

    def f(x):
        last = np.zeros(len(x))
        for i in range(len(x)):
            last[i % period] = last[i % period] * 0.5 + x[i]
        return last

    lowered_ = transpile.jit(f).lower(transpile.ShapeDtypeStruct(("n",), float))
    assert "subscript" not in lowered_.as_text("loops")
    compiled = lowered_.compile()
    for n in (1, 2, 3, 4, 7, 100):
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_array_equal(compiled(x), f(x))
        np.testing.assert_array_equal(run(lowered_._lowering.program(), [x])[0], f(x))


def sifted(a):
    """The first half of a heap sort: `start` counts down to 0, and stays there."""
    start = 10
    end = 20
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            a[0], a[end] = a[end], a[0]
        child = 2 * start + 1
        while child < end:
            a[start] += a[child]
            child = 2 * child + 1
    return a


def test_what_counts_down_to_zero_stays_there():
    a = np.arange(20.0)
    program = transpile.jit(sifted).lower(a)._lowering.program()
    assert not {"minimum", "maximum", "select"} & set(left(program))
    np.testing.assert_array_equal(transpile.jit(sifted)(a.copy()), sifted(a.copy()))


def nested(x):
    """Loops whose counters may wrap around, as far as intervals can tell."""
    total = 0
    a = 2
    while a < 1000:
        b = a
        while b < 1000:
            c = b
            while c < 1000:
                d = c
                while d < 1000:
                    total += x[d % 7]
                    d = 2 * d - 4
                c = 2 * c - 4
            b = 2 * b - 4
        a = 2 * a - 4
    return total


def test_a_nest_is_looked_at_a_few_times_for_each_level():
    program = transpile.jit(nested).lower(np.arange(7))._lowering._pipeline.lowered
    seen = []
    watch(program, lambda declared, _: seen.append(declared.name))
    assert max(map(seen.count, seen)) <= 60  # where each level began anew, 625
