"""Statements of Python over traced values, as Python itself runs them."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile import errors

A = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])


def check(function, *args):
    """The results, and what becomes of the arguments, are those of Python."""
    ours = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    theirs = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    found = transpile.tree.leaves(transpile.jit(function)(*ours))
    wanted = transpile.tree.leaves(function(*theirs))
    assert len(found) == len(wanted)
    for one, other in zip([*found, *ours], [*wanted, *theirs], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
        assert np.asarray(one).dtype == np.asarray(other).dtype


# ---------------------------------------------------------------------------------------- branches


def either(x):
    if x > 0:
        y = x * 2
    elif x > -2:
        y = -x
    else:
        y = x / 3
    return y


def returns_early(x):
    if x > 3:
        return x
    x = x * 2
    if x > 3:
        return -x
    return x + 0.5


def widens(x):
    k = 1
    if x > 0:
        k = 2.5
    return k * x


def leaves_static_values_alone(x):
    size = 2
    if x > 0:
        size = 2
        name = "a"
    else:
        name = "a"
    return np.ones(size) * x, {"a": x}[name]


def first_bound_in_both_branches(x):
    if x > 0:
        a, b = x, 1.0
    else:
        a, b = 2.0, x
    return a - b


def bound_under_the_same_test(x):
    if x > 0:
        t = x * 3
    y = x + 1
    if x > 0:
        y = t
    return y


def conditional_expression(x):
    return (x if x > 0 else -x) + (1 if 0 < x < 2 else 2)


def truth_of_numbers(x):
    return (1.0 if x else 2.0) + (3.0 if not x else 4.0)


def operators(x):
    if (x > 0 and x < 2) or x == -3:
        return 1.0
    if not (x > 0) and not x < -4:
        return 2.0
    return 3.0


def matched(x):
    k = np.int64(x)
    match k:
        case 0 | 1:
            r = 10
        case 2:
            r = 20
        case other if other > 50:
            r = 1
        case _:
            r = 5
    return r


def contained(x):
    return (x in (1.0, 2.0)) * 2.0 + (x not in [3.0, 0.0])


def nested(x):
    r = 0.0
    if x > 0:
        if x > 1:
            if x > 2:
                r = 3.0
            else:
                return -7.0
        else:
            r = 1.0
        r += x
    return r


@pytest.mark.parametrize("x", [-5.0, -3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 100.0])
@pytest.mark.parametrize(
    "function",
    [
        either,
        returns_early,
        leaves_static_values_alone,
        first_bound_in_both_branches,
        bound_under_the_same_test,
        conditional_expression,
        truth_of_numbers,
        operators,
        matched,
        contained,
        nested,
    ],
)
@one_in(3)
def test_branches(function, x):
    check(function, x)


def test_a_number_is_widened_as_numpy_widens_it():
    assert transpile.jit(widens)(3.0) == 7.5
    assert transpile.jit(widens)(-3.0) == -3.0


# ------------------------------------------------------------------------------------------- loops


def newton(x):
    y = x
    while abs(y * y - x) > 1e-12 * x:
        y = (y + x / y) / 2
    return y


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def counts_to_a_traced_number(a, n):
    s = 0.0
    for i in range(n):
        s += a[i] * i
    return s


def steps_of_ranges(a, n):
    s = 0.0
    for i in range(n, 0, -2):
        s = s * 0.5 + a[i]
    for i in range(1, n, 3):
        s -= a[i]
    return s


def breaks(a, n):
    s = 0.0
    for i in range(n):
        if a[i] < -2:
            break
        if a[i] < 0:
            continue
        s += a[i]
    else:
        s = -s
    return s, i


def searches(a, value):
    for i in range(len(a)):
        if a[i] == value:
            return i
    return -1


def nested_loops(a, n):
    count = 0
    for i in range(n):
        for j in range(i):
            if a[j] > a[i]:
                count += 1
                if count > 9:
                    break
        if count > 7:
            break
    return count


def swaps(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def over_an_array(a):
    best = a[0]
    for value in a:
        if value > best:
            best = value
    return best


def over_rows(m):
    total = np.zeros(m.shape[1])
    for row in m:
        if row[0] > 0:
            total = total + row
    return total


def while_with_else(x):
    k = 0
    while x > 1:
        x = x / 2
        k += 1
        if k > 5:
            r = -1.0
            break
    else:
        r = 1.0
    return r, k


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (newton, [(2.0,), (1e6,)]),
        (collatz, [(1,), (27,)]),
        (counts_to_a_traced_number, [(A, 0), (A, 8)]),
        (steps_of_ranges, [(A, 7), (A, 1), (A, 0)]),
        (breaks, [(A, 3), (A, 8)]),
        (searches, [(A, 9.0), (A, 8.0)]),
        (nested_loops, [(A, 8), (A, 2)]),
        (swaps, [(0,), (1,), (50,)]),
        (over_an_array, [(A,), (-A,)]),
        (over_rows, [(A.reshape(4, 2),), (-A.reshape(4, 2),)]),
        (while_with_else, [(0.5,), (8.0,), (1e9,)]),
    ],
)
@one_in(3)
def test_loops(function, cases):
    for case in cases:
        check(function, *case)


# ---------------------------------------------------------------------------------------- in place


def prefix_sums(a, n):
    out = np.zeros_like(a)
    for i in range(n):
        out[i] = a[i] + (out[i - 1] if i > 0 else 0.0)
    return out


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def sieve(flags):
    n = len(flags)
    for p in range(2, n):
        if flags[p]:
            for q in range(p * p, n, p):
                flags[q] = False
    return flags.sum()


def scale(rows, k):
    rows[k] *= 2.0


def a_helper_writes(m, n):
    for k in range(n):
        if m[k, 0] > 0:
            scale(m, k)
    return m.sum()


def a_view_is_kept(m, n):
    first = m[0]
    for k in range(n):
        if m[k, 1] > 0:
            first[1] += m[k, 1]
    m += 1
    return first


def updates_in_place(a, n):
    b = a
    for _ in range(n):
        a += 1.0
        if a[0] > 5:
            b *= 0.5
    return b


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (prefix_sums, [(A, 8), (A, 0)]),
        (insertion_sort, [(A,), (A[::-1],)]),
        (sieve, [(np.ones(60, bool),)]),
        (a_helper_writes, [(A.reshape(4, 2), 4)]),
        (a_view_is_kept, [(A.reshape(4, 2), 4)]),
        (updates_in_place, [(A, 7)]),
    ],
)
@one_in(2)
def test_arrays_are_assigned_to_in_place(function, cases):
    for case in cases:
        check(function, *case)


# --------------------------------------------------------------------------------- many iterations


def long_loop(x):
    for i in range(100000):
        x = x * 0.5 + np.sin(x) + i
        if x > 10:
            x = 0.0
    return x


def nested_static_loops(a, b):
    n = len(a)
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                if a[i, k] > 0:
                    s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def test_what_is_long_becomes_a_loop_of_the_program():
    check(long_loop, 0.3)
    assert transpile.jit(long_loop).lower(0.3).as_text().count("for (") == 1
    a = np.random.default_rng(0).normal(size=(20, 20))
    check(nested_static_loops, a, a.T)
    assert transpile.jit(nested_static_loops).lower(a, a).as_text().count("for (") <= 6


def short_loop(x, layers):
    for layer in layers:
        if x.sum() > 0:
            x = x @ layer
    return x


def test_what_is_short_is_unrolled():
    layers = [np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 4))]
    with pytest.raises(errors.BranchError, match=r"'x' would be float64\[3\].* and float64\[2\]"):
        transpile.jit(short_loop)(np.ones(2), layers)


def test_lengths_that_depend_on_values_keep_the_error_of_their_branch():
    def chosen(x):
        (found,) = np.nonzero(x > 1)
        if found.size == 0:
            return x[0], None
        return x[0], x[found[0]]

    with pytest.raises(errors.BranchError, match=r"test_python_statements.py:\d+: 'result'"):
        transpile.jit(chosen)(np.ones(3))


def first_positive(x, items):
    for item in items:
        if item * x > 0:
            break
    else:
        item = 0.0
    return item + x


def test_a_loop_over_a_list_may_end_early():
    check(first_positive, 2.0, [-1.0, 3.0, 4.0])
    check(first_positive, -2.0, [1.0, 3.0, 4.0])


KNOWN = [k * 0.125 for k in range(40)]


def is_known(x):
    return x in KNOWN, x not in (0.5, 1, 2.5), int(x) in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


def is_square(n):
    return (
        n == 1 or n == 4 or n == 9 or n == 16 or n == 25 or n == 36 or n == 49 or n == 64 or n == 81
        or n == 100 or n == 121 or n == 144 or n == 169 or n == 196 or n == 225 or n == 256
        or n == 289 or n == 324 or n == 361 or n == 400 or n == 441 or n == 484 or n == 529
        or n == 576 or n == 625 or n == 676 or n == 729 or n == 784 or n == 841 or n == 900
    )  # fmt: skip


def operands(a, b, c):
    return a or b or c, a and b and c, (a or b) and c, a and (b or c), not a or b > c or b


def test_operands_of_long_chains_are_traced_once_or_twice():
    """Each level of a chain of 40 was traced in the one around it, and again."""
    compiled = transpile.jit(is_known)
    for x in (0.5, 0.375, 4.875, 5.0, 2.5, 29.25):
        assert compiled(x) == is_known(x)
    compiled = transpile.jit(is_square)
    for n in (1, 2, 64, 144, 145, 900):
        assert compiled(n) == is_square(n)
    compiled = transpile.jit(operands)
    for values in ((0, 1, 2), (3, 0, 5), (0, 0, 0), (1, 2, 3), (7, 4, 0)):
        assert compiled(*values) == operands(*values)


def collects(x, n):
    seen = []
    for i in range(n):
        seen.append({"value": x[i]})
    return len(seen)


def test_a_list_that_a_loop_changes_is_an_error():
    with pytest.raises(errors.CarryError, match=r"adds to a list, .* no number, no array and no t"):
        transpile.jit(collects)(A, np.array(3))  # an array's elements are data


def recurrence(a):
    x = a.copy()
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + np.sin(x[i])
    return x


def test_a_long_trace_becomes_a_loop():
    a = np.random.default_rng(0).normal(size=2000)
    check(recurrence, a)
    assert transpile.jit(recurrence).lower(a).as_text().count("for (") <= 2
    assert transpile.jit(recurrence, python_control_flow=False).lower(a[:9]).as_text()


def keeps_layers(x, layers):
    states = []
    for _ in range(60):
        for layer in layers:
            x = np.tanh(x @ layer)
        states.append(x)
    return np.stack(states)


@thorough
def test_a_long_trace_that_cannot_be_a_loop_stays():
    draw = np.random.default_rng(0)
    layers = [draw.normal(size=(2, 2)) for _ in range(20)]
    check(keeps_layers, np.ones((3, 2)), layers)


def swaps_neighbours(a):
    for i in range(len(a) - 1):
        if a[i] > a[i + 1]:
            a[i], a[i + 1] = a[i + 1], a[i]


def test_a_swap_under_a_condition_copies_no_array():
    a = np.random.default_rng(0).normal(size=500)
    check(swaps_neighbours, a)
    text = transpile.jit(swaps_neighbours).lower(a).as_text()
    assert text.count("for (") == 1


def swaps_with_the_first(a, n):
    while n > 1:
        n -= 1
        if a[n] < a[0]:
            n -= a[n] < a[n - 1]
        else:
            a[n], a[0] = a[0], a[n]


def test_a_swap_with_a_known_element_in_a_branch_copies_no_array():
    a = np.random.default_rng(0).normal(size=500)
    check(swaps_with_the_first, a, 499)
    assert "for (" not in transpile.jit(swaps_with_the_first).lower(a, 499).as_text()


def two_elements_by_one_name(b, k, n, j):
    if k[k[j % 5] % 5] <= n:
        b[k[n % 5] % 5] = 7.5


def test_what_is_computed_from_subscripts_of_one_name_is_not_shared():
    """Within the branch a subscript is declared that has the name of one around it."""
    k = np.array([3, -4, 8, 1, -2])
    for n in range(5):
        for j in range(5):
            check(two_elements_by_one_name, np.arange(5.0), k, n + 5, j)


# -------------------------------------------------------------------------------------- exceptions


def root(x):
    if x < 0:
        raise ValueError(f"no root of {x:.2f}")
    return np.sqrt(x)


def settled(x):
    assert x < 10, "too large"
    return x + 1


def last_of(n):
    for i in range(n):
        last = 2 * i
    return last


def test_exceptions_are_raised_when_the_program_comes_to_them():
    compiled = transpile.jit(root)
    assert compiled(4.0) == 2.0
    with pytest.raises(ValueError, match=r"^no root of -4\.00\n"):
        compiled(-4.0)
    assert compiled(9.0) == 3.0
    with pytest.raises(AssertionError, match="too large"):
        transpile.jit(settled)(11.0)
    assert transpile.jit(settled)(9.0) == 10.0


def test_a_variable_without_a_value_is_an_error_of_the_call():
    compiled = transpile.jit(last_of)
    assert compiled(3) == 4
    with pytest.raises(UnboundLocalError, match="local variable 'last' where it is not"):
        compiled(0)


# ------------------------------------------------------------------------------ without conversion


def test_it_can_be_turned_off():
    with pytest.raises(errors.TracerBoolConversionError, match="was used as a Python bool"):
        transpile.jit(either, python_control_flow=False)(1.0)


def test_code_without_source_says_so():
    scope = {}
    exec("def f(x):\n    return x if x > 0 else -x", scope)
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        transpile.jit(scope["f"])(1.0)
    assert "f was not converted: its source, <string>, is no file." in caught.value.__notes__


def grows(x):
    while x.sum() < 10:
        x = np.concatenate([x, x])
    return x


def test_a_shape_that_changes_is_an_error_with_both_lines():
    with pytest.raises(errors.CarryError, match=r"'x' is float64\[2\] before an iteration of"):
        transpile.jit(grows)(np.ones(2))


# ------------------------------------------------------------------------- derivatives and batches


def piecewise(x):
    if x > 1:
        return x * x
    s = x
    for _ in range(3):
        if s < 5:
            s = s * 2
    return s


def test_derivatives_go_through_statements():
    assert transpile.jit(transpile.grad(piecewise))(3.0) == 6.0
    assert transpile.jit(transpile.grad(piecewise))(0.5) == 8.0
    _, tangent = transpile.jit(lambda x: transpile.jvp(newton, (x,), (1.0,)))(4.0)
    np.testing.assert_allclose(tangent, 0.25)


def test_batches_go_through_statements():
    found = transpile.jit(transpile.vmap(piecewise))(np.array([3.0, 0.5, 1.0]))
    np.testing.assert_allclose(found, [9.0, 4.0, 8.0])
    found = transpile.vmap(newton)(np.array([4.0, 9.0, 16.0]))
    np.testing.assert_allclose(found, [2.0, 3.0, 4.0])


def test_a_lambda_inside_another_one_of_its_line_is_the_one_that_is_converted():
    def called(make):
        return transpile.jit(make())

    absolute, larger = called(lambda: lambda x: x if x > 0 else -x), called(lambda: lambda x, y: x if x > y else y)  # fmt: skip # noqa: E501
    assert (absolute(-2.0), larger(1.0, 3.0)) == (2.0, 3.0)
    nested = called(lambda: lambda x: (lambda x: x if x > 1 else x * 2)(x + 1 if x > 0 else x))
    assert (nested(-1.0), nested(0.5), nested(3.0)) == (-2.0, 1.5, 4.0)


def noted(seen, k):
    try:
        seen[k % len(seen)] += 1
    finally:
        number = k
    return number


def test_the_condition_of_a_while_may_assign_to_arrays():
    def f(seen, n, x):
        k = 0
        while noted(seen, k) < n and noted(seen, k + 1) < 7:
            k += 1
            if x > 3 and k == 2:
                break
            x = x * 1.5
        else:
            x = -x
        return x

    for n, x in ((0, 1.0), (3, 1.0), (9, 1.0), (9, 3.5)):
        given, wanted = np.zeros(4), np.zeros(4)
        assert transpile.jit(f)(given, n, x) == f(wanted, n, x)
        np.testing.assert_array_equal(given, wanted)
    with pytest.raises(errors.UnsupportedError, match="assigns to an array, and a derivative"):
        transpile.jit(transpile.grad(lambda x, n: f(np.zeros(4), n, x)))(1.0, 3)


def winner(moves, limit):
    total = 0
    for k in range(len(moves)):
        total += moves[k]
        if total > limit:
            return k % 2, total
    else:
        return -1, total


def winner_or_rest(moves, limit):
    total = 0
    for k in range(len(moves)):
        total += moves[k]
        if total > limit:
            return k, total
        if moves[k] == 9:
            break
    else:
        total = -total
    return -1, total


@pytest.mark.parametrize("f", [winner, winner_or_rest])
def test_the_else_of_a_loop_that_a_return_leaves(f):
    compiled = transpile.jit(f)
    for moves in ([1, 2, 3, 4], [1, 9, 3, 4], [0, 0, 0, 0]):
        for limit in (0, 4, 50):
            assert compiled(np.array(moves), limit) == f(np.array(moves), limit)


def test_a_finally_reads_what_an_attempt_has_not_bound_yet():
    """The trace begins anew where an array that the function makes is assigned to, and a `finally`
    of the user's runs on the way."""

    def f(a, k, n):
        made = np.zeros(5)
        try:
            made[k[0]] = a[1]
            for j, e in enumerate(made):
                if k[j] < n:
                    continue
                made[j] += e + a[j]
            last = j
        finally:
            number = last % 97
        return made, number

    a, k = np.arange(5.0), np.array([3, 1, 4, 1, 5])
    for n in (0, 2, 9):
        for got, want in zip(transpile.jit(f)(a, k, n), f(a, k, n), strict=True):
            np.testing.assert_array_equal(got, want)
