"""What `for` runs over, and what is behind its last item, as Python itself does it."""

from __future__ import annotations

import bisect
import itertools

import numpy as np
import pytest

import transpile
from transpile import errors

A = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])


def check(function, *args):
    """The results, and what becomes of the arguments, are those of Python."""
    ours = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    theirs = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    found = transpile.tree.leaves(transpile.jit(function)(*ours))
    wanted = transpile.tree.leaves(function(*theirs))
    for one, other in zip([*found, *ours], [*wanted, *theirs], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def counts_until(a, bound):
    where = -1
    for k, x in enumerate(a, 2):
        if x > bound:
            where = k
            break
    return where


def first_power(a, bound):
    for k in itertools.count(1):
        bound /= 2
        if bound < a[0]:
            return k
    return None


def counts_beside(a, bound):
    s = 0.0
    for k, x in zip(itertools.count(2, 0.5), a, strict=False):
        if x > bound:
            s += k * x
    return s


def positions(a, bound):
    ordered = np.sort(a)
    s = bisect.bisect_left(ordered, bound) + 10 * bisect.bisect(ordered, bound)
    for k in range(int(bound)):
        s += bisect.bisect_left(ordered, a[k], k) + 3 * bisect.bisect_right(ordered, a[k], k, 6)
    return s + 100 * bisect.bisect([-1.0, 1.0, a[0]], bound) + bisect.bisect((1, 2, 3), bound)


@pytest.mark.parametrize("function", [first_power, counts_beside, positions])
def test_endless_counts_and_ordered_numbers(function):
    compiled = transpile.jit(function)
    for bound in (1.0, 2.0, 2.5, 4.0):
        assert compiled(A, bound) == function(A, bound)


def first_pair(a, b, bound):
    for x, y in zip(a, b, strict=False):
        if x + y > bound:
            return x - y
    return 0.0


def last_that_is_larger(a, bound):
    for x in reversed(a):
        if x > bound:
            return x
    return bound


def numbers_of_pairs(a, n):
    s = 0.0
    for k, (x, j) in enumerate(zip(a, range(n, 20), strict=False)):
        s += x * j - k
        if s > 30:
            break
    return s


def taken_before(a, bound):
    items = zip(a, a[2:], strict=False)
    s, _ = next(items)
    for x, y in items:
        if x > bound:
            break
        s += y
    return s


@pytest.mark.parametrize("bound", [-9.0, 3.5, 5.0, 99.0])
@pytest.mark.parametrize("function", [counts_until, last_that_is_larger, taken_before])
def test_items_are_counted_paired_and_reversed(function, bound):
    check(function, A, bound)


def test_items_of_two_arrays_end_with_the_shorter():
    check(first_pair, A, A[2:], 5.0)
    check(first_pair, A, A[2:], 50.0)
    check(numbers_of_pairs, A, 3)
    check(numbers_of_pairs, A, 17)


def of_a_list(x, n):
    s = 0.0
    for name in ["a", "b", "c"]:
        if n > 2:
            break
        s += {"a": 1.0, "b": 2.0, "c": 3.0}[name] * x
        n += 1
    else:
        s = -s
    return s


@pytest.mark.parametrize("n", [-5, 0, 2, 3])
def test_loop_over_what_only_python_has_is_left_by_a_traced_break(n):
    check(of_a_list, 2.0, n)


def ends(n, a):
    for k in range(n):
        a[k] += 1
    else:
        a[0] = 9.0
    while n < 2:
        n += 1
    else:
        a -= n
    return n


def test_else_of_a_loop_without_break_runs():
    check(ends, 3, A)
    check(ends, 0, A)


def updates_beside_an_unsure_name(n, a):
    if n > 0:
        k = n
    if n > 0:
        a += a[k]
    return n


def test_update_beside_an_unsure_name_is_of_the_array():
    check(updates_beside_an_unsure_name, 2, A)
    check(updates_beside_an_unsure_name, 0, A)


LAYERS = (*[float(k) / 7 for k in range(100)], "end")


def through_layers(x, count):
    for i in range(count):
        for _ in range(2):
            x = x * LAYERS[i] + LAYERS[i] * x
        if x < 0:
            x = x + 1
    return x


def test_loop_that_needs_its_number_is_run_by_python_where_it_is_short():
    function = transpile.jit(through_layers, static_argnums=1)
    np.testing.assert_allclose(function(1.5, 30), through_layers(1.5, 30), rtol=1e-12)


def test_loop_that_needs_its_number_and_is_long_says_both_reasons():
    with pytest.raises(errors.TracerError) as caught:
        transpile.jit(through_layers, static_argnums=1)(1.5, 100)
    (note,) = [n for n in caught.value.__notes__ if "no loop of the program" in n]
    assert "`for i in range(count):`" in note
    assert "its 100 iterations are more than 64" in note


# ---------------------------------------------------------------- found by drawing functions


def unbound_on_a_path(x, n):
    if n >= 0:
        k = n
    elif x > 100:
        x += 1 / (1 + abs(k))  # as Python finds out, if it comes here
    return x


def test_path_that_reads_what_is_unbound_raises_where_it_is_taken():
    check(unbound_on_a_path, 1.5, 3)
    check(unbound_on_a_path, 1.5, -3)
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'k'"):
        transpile.jit(unbound_on_a_path)(101.5, -3)


def helper_of_a_part(x, n, a):
    if n > 3:
        return x
    for _ in range(1, n):
        a[2] -= a[n % 3] + 6
    return a[1]


def gives_a_part_to_a_helper(x, n, a):
    a[1:6] += helper_of_a_part(x, n, a[3:][:3])
    return x


def updates_in_a_while(n, b):
    c = 0
    while c < n:
        c += 1
        b[n % 5] += n
    return b[1:][:3][n % 3]


@pytest.mark.parametrize("n", [0, 2, 3, 7])
def test_views_of_what_a_loop_assigns_to(n):
    check(gives_a_part_to_a_helper, 1.5, n, A)
    check(updates_in_a_while, n, A[:5])


def test_a_variable_of_a_loop_is_as_wide_as_what_it_is_made_of_later():
    """It is an integer in the first iteration alone; the others were truncated."""

    def f(a, n):
        last = 3
        for item in reversed(a):
            last, item = item, last
            if n > 0:
                a[:] += 1
        first = 0
        for i in range(100):
            value = first
            first = first + a[0] * 0.5
        return item, last, value, first

    a = np.array([0.25, -1.5, 0.75] * 40)
    mine, theirs = a.copy(), a.copy()
    np.testing.assert_allclose(transpile.jit(f)(mine, 1), f(theirs, 1), rtol=1e-12)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
