"""Variables that functions inside assign to, `nonlocal`, are carried as others are."""

from __future__ import annotations

import numpy as np
import pytest

import transpile
from transpile import errors

X = np.array([3.0, -1.0, 4.0, 1.5, -5.0, 9.0])
K = np.array([17, 3, 88, 42, 5, 61, 99, 2])


def positive(x):
    """Counts."""
    count = 0

    def visit(v):
        nonlocal count
        if v > 0:
            count += 1

    for v in x:
        visit(v)
    return count


def evaluations(x, tolerance):
    calls, best = 0, 1e9

    def f(t):
        nonlocal calls, best
        calls += 1
        y = (t - x[0]) ** 2
        if y < best:
            best = y
        return y

    a, b = -5.0, 5.0
    while b - a > tolerance:
        left, right = a + (b - a) / 3, b - (b - a) / 3
        if f(left) < f(right):
            b = right
        else:
            a = left
    return a, calls, best


def draws(k, seed):
    """A parameter that a function inside assigns to."""

    def draw():
        nonlocal seed
        seed = (1103515245 * seed + 12345) % 2147483648
        return seed / 2147483648

    hits: int = 0
    for i in range(len(k)):
        if draw() * 100 < k[i]:
            hits += 1
    return hits, seed


def last_values(n):
    """An array, with an annotation."""
    values: np.ndarray
    values = np.zeros(3)

    def push(t):
        nonlocal values
        values = np.concatenate([values[1:], np.array([t])])

    k = 0
    while k * k < n * 7:
        push(k * 0.5)
        k += 1
    return values


def of_two_scopes(x):
    n = 0

    def outer(v):
        m = 0

        def inner(w):
            nonlocal n, m
            n += 1
            if w > 0:
                m += 1

        inner(v)
        inner(-v)
        inner(v + 1)
        return m

    s = 0
    for v in x:
        if v > -1:
            s += outer(v)
    return n, s


def of_the_same_name(x):
    """Parameters, comprehensions and functions inside have variables of this name, too."""
    n = 0

    def of_a_parameter(n):
        n += 1
        return n

    def grow():
        nonlocal n
        n += 10

    def of_its_own():
        n = 4

        def more():
            nonlocal n
            n += 1
            return n

        return more() + more()

    s = 0
    for v in x:
        if v > 0:
            grow()
            s += of_a_parameter(1) + of_its_own()
    listed = [n * n for n in range(3)]
    scaled = [n * v for v in x]
    return n, s, listed, scaled, (lambda n: n + 1)(5), (lambda: n)()


def leaves(x):
    """A recursion of static depth."""
    count = 0

    def visit(low, high):
        nonlocal count
        if high - low <= 1:
            if x[low] > 0:
                count += 1
            return
        middle = (low + high) // 2
        visit(low, middle)
        visit(middle, high)

    visit(0, len(x))
    return count


def notes(x):
    found = []
    best = -9.0

    def note(k, v):
        nonlocal best
        if v > best:
            best = v
            found.append(k)

    for k in range(len(x)):
        note(k, x[k])
    return found, best


def stops(x):
    k = 0

    def step():
        nonlocal k
        k += 1
        return x[k - 1]

    total = 0.0
    while k < 5:
        v = step()
        if v < -2:
            break
        total += v
    else:
        total = -1.0
    return total, k


def within_an_iteration(x):
    """Each iteration has its own, which has no value behind the branch."""
    s = 0.0
    for v in x:
        if v > 0:
            n = 0

            def step(x):
                nonlocal n
                n += 1
                return x * n

            s += step(v) + step(v + 1)
    return s


def _counter():
    count = 0

    def note(v):
        nonlocal count
        if v > 0:
            count += 1
        return count

    return note


def of_a_closure(x):
    note = _counter()
    s = 0
    for v in x:
        s += note(v)
    return s


CASES = [
    (positive, (X,), (-X,), (X[:1],)),
    (evaluations, (X, 1e-6), (-X, 0.1), (X, 99.0)),
    (draws, (K, 5), (K[:1], 7), (K[:0], 9)),
    (last_values, (5,), (1,), (0,)),
    (of_two_scopes, (X,), (-X,)),
    (of_the_same_name, (X,), (-X,)),
    (leaves, (X,), (-X,)),
    (notes, (X,), (-X,)),
    (stops, (X,), (-X,), (abs(X),)),
    (within_an_iteration, (X,), (-X,)),
    (of_a_closure, (X,), (-X,)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_variables_that_functions_inside_assign_to(case):
    f, *cases = case
    compiled = transpile.jit(f)
    for case in cases:
        found, wanted = (transpile.tree.leaves(g(*case)) for g in (compiled, f))
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_text_shows_what_became_of_them():
    text = transpile.jit(positive).lower(X).as_text("python")
    assert "shared.count += 1" in text and "nonlocal" not in text
    assert text.index('"""Counts."""') < text.index("shared = ")


def test_derivatives_go_through_them():
    def weighted(x):
        total = 0.0

        def add(v):
            nonlocal total
            if v > 0:
                total = total * 0.5 + v * v

        for v in x:
            add(v)
        return total

    slope = transpile.grad(transpile.jit(weighted))(X)
    steps = 1e-6 * np.eye(len(X))
    wanted = [(weighted(X + h) - weighted(X - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(slope, wanted, rtol=1e-6)


def test_one_without_a_value():
    """Python's error where it is certain, and the program's where values decide."""

    def last_positive(x):
        def put(v):
            nonlocal last
            last = v

        for v in x:
            if v > 0:
                put(v)
        if x[0] > 99:
            last = 0.0
        return last

    compiled = transpile.jit(last_positive)
    assert compiled(X) == last_positive(X)
    for f in (last_positive, compiled):
        with pytest.raises(UnboundLocalError, match="'last'"):
            f(-abs(X))

    def too_early(x):
        def add():
            nonlocal n
            n += 1

        if x[0] > -99:
            add()
        n = 0
        return n

    for f in (too_early, transpile.jit(too_early)):
        with pytest.raises(NameError, match="'n'"):
            f(X)


def test_what_something_else_binds_stays_a_variable():
    """The variable of a loop, or of a condition: no attribute can stand there."""

    def of_a_loop(x):
        s = 0

        def more():
            nonlocal n
            n += 1

        for n in range(3):
            if x[n] > 0:
                more()
            s += n
        return s

    with pytest.raises(errors.UnsupportedError, match="n of an outer scope"):
        transpile.jit(of_a_loop)(X)

    def elsewhere(x):
        s = 0.0
        for n in range(3):
            s += n

        def more():
            nonlocal n
            n += 1

        more()
        return n + s if x[0] > 0 else s

    assert transpile.jit(elsewhere)(X) == elsewhere(X)


N = 1000


def of_a_global(x):
    """A function that reads the global of the same name."""
    N = 0

    def grow():
        nonlocal N
        N += 1

    def outermost():
        global N

        def deep():
            return N

        return N + deep()

    for v in x:
        if v > 0:
            grow()
    return N, outermost()


def test_a_global_of_the_same_name_stays_one():
    for x in (X, -X):
        assert transpile.jit(of_a_global)(x) == of_a_global(x)


REDUCTIONS = {
    "chosen": lambda f, x: sum([f(v) for v in x if v > 0]),
    "summed": lambda f, x: sum(f(v) for v in x if v > 0),
    "least": lambda f, x: min(f(v) for v in x if v > 0),
    "sorted": lambda f, x: sum(sorted(f(v) for v in x if v > 0)),
    "any": lambda f, x: any(f(v) > 4 for v in x),
    "all": lambda f, x: all(f(v) < 4 for v in x),
    "any, chosen": lambda f, x: any(f(v) > 4 for v in x if f(v) > 1),
    "condition": lambda f, x: len([v for v in x if f(v) > 0]),
    "next": lambda f, x: next((v for v in x if f(v) > 5), 0.5),
    "filter": lambda f, x: sum(filter(lambda v: f(v) > 0, x)),
}


@pytest.mark.parametrize("reduced", REDUCTIONS.values(), ids=REDUCTIONS)
@pytest.mark.parametrize("dynamic_shapes", [False, True])
def test_items_of_generators_change_variables_as_often_as_python_has_them(reduced, dynamic_shapes):
    class Counter:
        count = 0

    def of_a_variable(x):
        count = 0

        def f(v):
            nonlocal count
            count += 1
            return v * count

        result = reduced(f, x)
        return count, result

    def of_an_attribute(x):
        counter = Counter()
        counter.count = 0

        def f(v):
            counter.count += 1
            return v * counter.count

        result = reduced(f, x)
        return counter.count, result

    for function in (of_a_variable, of_an_attribute):
        compiled = transpile.jit(function, dynamic_shapes=dynamic_shapes)
        for x in (X, -X):
            np.testing.assert_allclose(compiled(x), function(x))


def test_arrays_of_runtime_lengths_of_items_that_change_variables_are_refused():
    def f(x):
        count = 0

        def next_of(v):
            nonlocal count
            count += 1
            return v * count

        return np.array([next_of(v) for v in x]), count

    for result, wanted in zip(transpile.jit(f)(X), f(X), strict=True):
        np.testing.assert_allclose(result, wanted)
    with pytest.raises(errors.TracerIntegerConversionError, match="for"):
        transpile.jit(f, dynamic_shapes=True)(X)
