"""Variables that are None first, or on some path, and values on others."""

import math

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import BranchError

SIZES = (0, 1, 7, 80)


def least(x):
    best = None
    for v in x:
        if best is None or v < best:
            best = v
    return best if best is not None else -1.0


def first(x):
    found = None
    for i, v in enumerate(x):
        if v > 1.0:
            found = i
            break
    return -1 if found is None else found


def with_place(x):
    best = at = None
    for i, v in enumerate(x):
        if v > 0 and (best is None or v < best):
            best, at = v, i
    if best is None:
        return -1.0, -1
    return best, at


def none_again(x):
    previous = last = None
    total = 0.0
    for v in x:
        if previous is None:
            previous = v
        elif v < -0.5:
            previous = None
        else:
            total += v - previous
            previous = v
        last = previous
    return total, last is None


def as_truth(x):
    hit = None
    n = 0.0
    for v in x:
        if hit:
            n += 1
        if not hit and v > 0.5:
            hit = v
    return n * hit if hit else -1.0


def chosen(x):
    total = 0.0
    for v in x:
        root = None if v < 0 else math.sqrt(v)
        total += 1 if root is None else root
    return total


def rows(x):
    best = None
    for i in range(len(x)):
        row = np.array([x[i], -x[i]])
        if best is None or row[0] > best[0]:
            best = row
    if best is None:
        return np.zeros(2)
    return best * 2


def pairs(x):
    best = None
    for i, v in enumerate(x):
        if best is None or (v, i) < best:
            best = (v, i)
    if best is None:
        return -1
    return best[1]


def in_each_iteration(x):
    total = 0.0
    for i in range(len(x)):
        following = None
        for j in range(i + 1, len(x)):
            if x[j] > x[i]:
                following = j
                break
        if following is None:
            continue
        total += x[following] - x[i]
    return total


def ending_a_while(x):
    at = 0 if len(x) else None
    steps = 0
    while at is not None and steps < 100:
        steps += 1
        at = at + 1 if at + 1 < len(x) and x[at + 1] < 1.5 else None
    return steps


def updated(x):
    total = None
    for v in x:
        if total is None:
            total = v
        else:
            total += v
    return 0.0 if total is None else total


def asserted(x):
    last = None
    for v in x:
        if v > -10:
            last = v
    if len(x):
        assert last is not None
        return last * 2
    return 0.0


def until_a_limit(x):
    part = count = None
    total = 0.0
    for v in x:
        if part is None:
            part, count = 0.0, 1
        part += v
        count *= -1
        if part > 1.0:
            total += part * count
            part = None
    return total, part or 7.0


def of_the_last(x):
    last = least = None
    total = 0.0
    for v in x:
        total += v - (last or least or 0.5)
        last = v if v > 0 else None
        if v < -1:
            least = v
    return total, (least or last or 3.0) * 2


def changes(x):
    sign = None
    count = 0
    for v in x:
        if abs(v) > 0.5:
            positive = v > 0
            if sign != positive:
                count += 1
            if positive == sign:
                count += 100
            if sign == 1:
                count += 10000
            sign = positive
    return count


def in_a_with(x):
    last = None
    total = 0.0
    for v in x:
        with np.errstate(all="ignore"):
            if v > 0.5:
                last = v
            if v < -0.5:
                last = None
        if last is not None:
            total += last
    return total


FUNCTIONS = [least, first, with_place, none_again, as_truth, chosen, rows, pairs]
FUNCTIONS += [until_a_limit, of_the_last, changes, in_a_with]
FUNCTIONS += [in_each_iteration, ending_a_while, updated, asserted]


@pytest.mark.parametrize("function", FUNCTIONS)
@one_in(2)
def test_results_are_those_of_python(function):
    f = transpile.jit(function)
    for size in SIZES:
        x = np.random.default_rng(size).normal(size=size)
        found, wanted = f(x), function(x)
        for one, other in zip(*map(np.ravel, (found, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)
    x = np.full(3, -2.0)  # no value at all is found
    np.testing.assert_array_equal(np.ravel(f(x)), np.ravel(function(x)))


def operand(x):
    last = None
    for v in x:
        if v > 0:
            last = v
    return last * 2


def handed_on(x):
    last = None
    for v in x:
        if v > 0:
            last = v
    return last


@pytest.mark.parametrize(
    ("function", "text"),
    [(operand, "'last' is None"), (handed_on, "the result is None for some")],
)
def test_none_where_a_value_is_needed_is_an_error_of_the_call(function, text):
    f = transpile.jit(function)
    assert f(np.ones(80)) == function(np.ones(80))
    with pytest.raises(TypeError, match=text):
        f(-np.ones(80))


def by_an_integer(n):
    found = None
    if n > 3:
        found = 2.0
    return found


def test_integers_that_decide_alone_are_static():
    f = transpile.jit(by_an_integer)
    assert [f(3), f(4)] == [None, 2.0]
    with pytest.raises(BranchError, match="'found' would be"):
        f(np.array(4))


def test_gradients_go_through_them():
    x = np.random.default_rng(0).normal(size=70)
    wanted = np.zeros(70)
    wanted[x.argmin()] = 1
    np.testing.assert_array_equal(transpile.grad(least)(x), wanted)


def is_the_given(x, given=None):
    last = None
    count = 0
    for v in x:
        if v > 0:
            last = v
        if last == given:
            count += 1
    return count


def test_none_that_is_compared_with_none_is_an_error_of_the_call():
    f = transpile.jit(is_the_given)
    assert f(np.ones(80)) == is_the_given(np.ones(80))
    with pytest.raises(TypeError, match="'last' is None"):
        f(-np.ones(80))


def last_kind(x):
    for v in x:
        if v > 1:
            kept = None
        else:
            kept = v
    return -1.0 if kept is None else kept


def of_some_iterations(x):
    total = 0.0
    for v in x:
        if v > 0.5:
            best = v
        elif v < -0.5:
            best = None
        if abs(v) > 0.6:
            total += 1.0 if best is None else best
    return total


def of_three_paths(x):
    n = len(x)
    while True:
        n -= 1
        if n < 0:
            found = None
            break
        if x[n] > 1.5:
            found = n
            break
    return -1 if found is None else found


@pytest.mark.parametrize("function", [last_kind, of_some_iterations, of_three_paths])
@pytest.mark.parametrize("size", [1, 7, 80])
def test_a_variable_is_none_first_in_a_branch(function, size):
    f = transpile.jit(function)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=size)
        np.testing.assert_allclose(f(x), function(x))


def read_before(x):
    for v in x:
        if v > 1:
            kept = v
        elif v > 0:
            kept = None
        if v < 0 and kept is None:
            return v
    return 0.0


def test_one_that_no_path_has_bound_is_pythons_error():
    f = transpile.jit(read_before)
    x = np.linspace(0.5, -1, 80)
    assert f(x) == read_before(x)
    for g in (f, read_before):
        with pytest.raises(UnboundLocalError, match="'kept'"):
            g(-np.ones(80))
