"""Views that traced values choose, and variables that are one of several arrays, as in NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

A = np.arange(20.0).reshape(4, 5)
X = np.arange(5.0)


def check(function, x, *numbers):
    """The results for each number, and what becomes of the array, are those of Python."""
    compiled = transpile.jit(function)
    for number in numbers:
        compare(function, compiled, x, number)


def compare(function, compiled, *args):
    ours = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    theirs = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    found = transpile.tree.leaves(compiled(*ours))
    wanted = transpile.tree.leaves(function(*theirs))
    for one, other in zip([*found, *ours], [*wanted, *theirs], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


# -------------------------------------------------------------------------------- rows and columns


def writes_to_rows(a, n):
    for i in range(n):
        row = a[i]
        for j in range(n):
            row[j] = row[j - 1] + i
    return a


def sees_what_is_assigned(a, i):
    row = a[i]
    a[2] = 7.0
    return row.sum()


def updates_rows(a, n):
    for i in range(n):
        a[i] += a[i - 1]
        a[i, 1:3] *= 2
        a[i][0] = 9.0
    return a


def writes_to_columns(a, n):
    for i in range(n):
        column = a[:, i]
        column[1:] += column[:-1]
    return a.sum()


def writes_through_views_of_rows(a, n):
    for i in range(n):
        half = a[i][::-1][1:4]
        half[0] = i
        half += 1
    return a


def goes_on_with_the_last_row(a, n):
    last = a[0]
    for i in range(1, n):
        row = a[i]
        for j in range(5):
            row[j] = last[j] * 2 + j
        last = row
    last[0] = 100.0
    return last


def is_another_row_behind_the_loop(a, n):
    row = a[0]
    for i in range(n):
        row = a[1]
        a[1, i] = 3
    row[0] = 9
    return a


def chooses_a_row(a, n):
    row = a[3] if n > 2 else a[n]
    row[1] = 50.0
    if n > 1:
        row = a[n - 1]
    row *= 2
    return a


def keeps_a_row_in_a_loop(a, n):
    row = a[0]
    for k in range(n):
        if k % 2 == 1:
            row = a[k]
        row[k] += 10
    return a


def changes_rows_of_a_stack(a, n):
    stack = np.zeros((3, 4, 5)) + a
    for k in range(n):
        page = stack[k % 3]
        page[k] += k
        page[k, 1] = -1.0
        page[:, 2] *= 2
    return stack


@pytest.mark.parametrize(
    "function",
    [
        writes_to_rows,
        sees_what_is_assigned,
        updates_rows,
        writes_to_columns,
        writes_through_views_of_rows,
        goes_on_with_the_last_row,
        is_another_row_behind_the_loop,
        chooses_a_row,
        keeps_a_row_in_a_loop,
        changes_rows_of_a_stack,
    ],
)
@one_in(3)
def test_items_at_traced_numbers_are_views(function):
    check(function, A, 0, 2, 3)


def fills_the_border(a, n):
    for i in range(1, n):
        a[i, 0] = a[i - 1, 0] + 1
        a[i, 1] = a[i - 1, 1] * 2
    return a


def test_a_known_subscript_beside_a_traced_one_copies_nothing():
    check(fills_the_border, A, 4)
    text = transpile.jit(fills_the_border).lower(A, 4).as_text("loops")
    assert "temporaries" not in text
    assert "0..5" not in text  # no loop over a column or a row


def reaches_an_array_in_two_ways(a, n):
    if n > 0:
        part = a[1:4]
        for j in range(1, n):
            for _ in range(2):
                a[n] -= a[j]
            part[0:2] += part[1:3]
    return a


def test_an_array_is_the_same_in_statements_inside_and_outside():
    check(reaches_an_array_in_two_ways, A, 0, 2, 3)


def reads_items_backwards(x, n):
    for item in reversed(x):
        x[n % 3] = n / 3 if n > 1 else n
    return item


def test_items_are_read_when_python_reads_them():
    check(reads_items_backwards, X + 0.5, 0, 3)


def ends_with_an_argument(u, n):
    for i in range(n):
        u[i] += 1
        if u[i] > 3:
            return u, i
    return u, n


def recurs(x, depth):
    if depth == 0 or x > 100:
        return x
    return recurs(x * 2, depth - 1) if x > 1 else recurs(x + 3, depth - 1)


def test_results_are_arguments_and_functions_call_themselves():
    check(ends_with_an_argument, X, 1, 4)
    check(lambda x, n: recurs(x[n], 4), X, 0, 2)


# ------------------------------------------------------------------------- one array or another


def exchanges(u, n):
    w = u.copy()
    for _ in range(n):
        for i in range(1, 4):
            w[i] = u[i - 1] + u[i + 1]
        u, w = w, u
    u[0] = -1.0
    return u


def exchanges_until(u, n):
    w = u * 2
    k = 0
    while k < n:
        w[k % 5] = u[k % 4] + 1
        u, w = w, u
        k += 1
    w[1] = 77.0
    return u, w


def turns_three(u, n):
    v, w = u + 1, u + 2
    for k in range(n):
        u[k % 5] = 10.0 * k
        u, v, w = v, w, u
    return u, v, w


def is_the_argument_or_new(x, n):
    y = x if n > 2 else x * 2
    y[0] = 100
    return y


def is_seen_in_the_other(x, n):
    y = x if n > 2 else x * 2
    x[0] = 100
    return y


def is_one_of_two(x, n):
    y, z = np.zeros(5), np.ones(5)
    chosen = y if n > 2 else z
    chosen[0] = x[1]
    return y, z


def is_one_array_twice(x, n):
    if n > 2:
        a = x * 3
        b = a
    else:
        a, b = x + 1, x + 2
    a[0] = 5
    b[1] = 7
    return a, b


def is_new_behind_some_iterations(x, n):
    for _ in range(n):
        x = x + 1
    x[0] = 10
    return x


@pytest.mark.parametrize(
    "function",
    [
        exchanges,
        exchanges_until,
        turns_three,
        is_the_argument_or_new,
        is_seen_in_the_other,
        is_one_of_two,
        is_one_array_twice,
        is_new_behind_some_iterations,
    ],
)
@one_in(2)
def test_variables_are_the_arrays_that_python_binds(function):
    check(function, X, 0, 1, 3)


def is_a_row_of_one_of_two(a, n):
    b = a * 2
    row = a[n] if n > 2 else b[n]
    row[0] = 3  # assigned
    return a


def assigns_before_it_is_another(x, n):
    for k in range(n):
        if k > 1:
            x = x + 1
        x[k] = 10
    return x


def keeps_what_it_assigns_to(x, n):
    best = x * 1
    now = x * 2
    for k in range(n):
        now[k] = k
        best = now
    return best


def runs_over_what_it_binds_anew(x, n):
    total = 0.0
    for item in transpile.no_unroll(x):
        total += item
        x = x if n > 1 else x + 0
        x[4] += item
        x = x * 1 if n > 5 else x
    return total


def changes_a_listed_array(x, n):
    a, b = x * 1, x * 2
    arrays = [a, b]
    for i in range(n):
        arrays[i % 2][0] = i
    return a


def assigns_to_one_that_may_be_the_callers(x, n):
    for j, item in enumerate(x):
        if item > 0 and j <= 0 < n:
            x = x * -0.5
    for _ in range(n):
        x[3:][:2] = 0
        x = x.copy()
    return item


KNOWN = [np.zeros(3), np.ones(3)]


def changes_an_array_of_the_surroundings(x, n):
    for i in range(n):
        KNOWN[i % 2][0] = x[i]
    return x


@pytest.mark.parametrize(
    ("function", "x", "error", "text"),
    [
        (is_a_row_of_one_of_two, A, errors.UnsupportedError, "'a' may share memory .*row.0. = 3"),
        (assigns_before_it_is_another, X, errors.UnsupportedError, r"x = x.copy\(\)"),
        (
            assigns_to_one_that_may_be_the_callers,
            X,
            errors.UnsupportedError,
            "'x' was before the loop",
        ),
        (keeps_what_it_assigns_to, X, errors.CarryError, r"'best' may share .*x = y.copy\(\)"),
        (runs_over_what_it_binds_anew, X, errors.CarryError, "'x' may share memory"),
        (changes_a_listed_array, X, errors.UnsupportedError, "an array may share memory"),
        (changes_an_array_of_the_surroundings, X, errors.UnsupportedError, "numpy.stack"),
    ],
)
def test_what_nobody_can_tell_is_an_error(function, x, error, text):
    with pytest.raises(error, match=text) as caught:
        transpile.jit(function).lower(x, 2)
    assert "test_python_views.py:" in str(caught.value)


# ------------------------------------------------------------------------- variables of iterations


def is_bound_by_an_earlier_iteration(x, n):
    for k in range(n):
        if k == 0:
            t = x[0] + 5
        x[k] = t
    return x


def is_bound_in_some_inner_iterations(x, n):
    total = 0.0
    for k in range(n):
        for j in range(n - 2 * k):
            last = j
        total += last
    return total


@pytest.mark.parametrize(
    "function", [is_bound_by_an_earlier_iteration, is_bound_in_some_inner_iterations]
)
def test_iterations_see_what_earlier_ones_have_bound(function):
    check(function, X, 4)


# ------------------------------------------------------------------------------------ handlers


def handles_everything(x, n):
    try:
        y = x * 2 if n > 0 else x
    except Exception:
        y = x - 1
    return y


def handles_what_no_program_has(x, n):
    try:
        y = x if n > 0 else np.zeros(3)  # of two shapes
    except TypeError:
        y = x - 1
    return y


def test_handlers_do_not_see_what_a_trace_raises():
    check(handles_everything, X, 2)
    with pytest.raises(errors.BranchError, match="would be float64"):
        transpile.jit(handles_what_no_program_has).lower(X, np.array(2))


def test_a_loop_that_leaves_an_assigned_array_as_it_is():
    def f(b, n):
        b[n % 5] -= 1.0
        for k in transpile.no_unroll(range(1, 3)):
            other = b
            b = other if k <= n < n else b
        b[0] += 2.0
        return b.sum()

    given, wanted = np.ones(5), np.ones(5)
    assert transpile.jit(f)(given, 2) == f(wanted, 2)
    np.testing.assert_array_equal(given, wanted)


def test_what_arithmetic_makes_of_an_array_is_assigned_to_in_a_loop():
    def f(x, n):
        zeros, ones = np.zeros(3), np.ones(4)
        a = zeros * -0.5 + 1
        for i in range(n):
            a[i % 3] += x
        if n > 2:
            a[0] = 7
        return a.sum() + len(ones)

    for n in (0, 2, 5):
        assert transpile.jit(f)(1.5, n) == f(1.5, n)


def test_a_function_inside_reads_what_only_dead_code_binds():
    def f(x, n):
        count = 0
        while count < 0:
            try:
                break
            finally:
                count += 1
            k = n

        def inside(z):
            if z > 0:
                return z
            return z * k

        return inside(x)

    assert transpile.jit(f)(1.5, 2) == 1.5
    with pytest.raises(UnboundLocalError, match="'k'"):
        transpile.jit(f)(-1.5, 2)


def handed_along(u, z, n):
    z, v = z + 0, z + 1
    for _ in range(n):
        z[1:] = 0.5  # from the third iteration on an element of `u`
        z = v
        v = u
    return z


def handed_along_by_an_exchange(u, z, n):
    z, v = z + 0, z + 1
    for k in range(n):
        z[1:] = 0.5
        z, v = v, z
        v = u
        if k == 5:
            break
    return z


@pytest.mark.parametrize("function", [handed_along, handed_along_by_an_exchange])
def test_an_array_that_a_later_iteration_assigns_to_is_not_shared(function):
    with pytest.raises(errors.CarryError, match="'v' may share memory with another array"):
        transpile.jit(function)(np.ones(4), np.zeros(4), 4)


# --------------------------------------------------------------- elements read before a change


def partitioned(a, n):
    pivot = a[n]
    k = 0
    for j in range(n):
        if a[j] <= pivot:
            a[k], a[j] = a[j], a[k]
            k += 1
    a[k], a[n] = a[n], a[k]
    return k


def scaled_by_its_first(a, n):
    first = a[0]
    for i in range(n):
        a[i] = a[i] / first
    return first


@pytest.mark.parametrize("function", [partitioned, scaled_by_its_first])
def test_an_element_that_is_read_before_the_array_changes_needs_no_copy_of_it(function):
    """The array changes where it lies, and no other one is made."""
    x = np.array([3.0, -1, 7, 2, -9, 4, 0.5])
    check(function, x, 6, 2)
    text = transpile.jit(function).lower(x, 6).as_text("loops")
    storage, *kernels = text.split("kernel ")
    statements = [s for kernel in kernels for s in kernel.splitlines() if "#" not in s]
    assert storage.partition("placements")[0].count("f64[7]") == 2  # the argument and the result
    assert not any(re.search(r"\ba\[", statement) for statement in statements)
