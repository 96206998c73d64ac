"""Exceptions under traced conditions: Python's own, with their texts, and codes in C."""

import subprocess

import numpy as np
import pytest

import transpile
from transpile import ShapeDtypeStruct


def root(x):
    if x < 0:
        raise ValueError(f"no root of {x:.2f}", "for", x)
    assert x < 100, f"{x} is too large"
    return np.sqrt(x)


def limited_sum(x, most):
    s = 0.0
    for i in range(len(x)):
        s = s + x[i]
        if s > most:
            raise OverflowError("the sum is", s, "at", i)
    return s


def pivots(a):
    a = a.copy()
    for k in range(len(a)):
        for j in range(k):
            if a[j, j] == 0:
                raise ZeroDivisionError(f"pivot {j}")
            a[k] -= a[k, j] / a[j, j] * a[j]
    return a


def checked_rows(a):
    out = np.zeros_like(a)
    for i in range(len(a)):
        if (a[i] < 0).any():
            raise KeyError(i)
        out[i] = np.sqrt(a[i]) + np.cos(a[i])
    return out


def step(x, steps):
    while abs(x * x - 2.0) > 1e-12:
        x = x - (x * x - 2.0) / (2.0 * x)
        steps -= 1
        if steps == 0:
            raise RuntimeError("no convergence")
    return x


class Mismatch(Exception):
    """An exception of the user's."""


def in_helper(x, y):
    def compared(a, b):
        if a != b:
            raise Mismatch(a, b)
        return a

    return compared(x + 1, y) * 2


def die(x):
    raise Mismatch("of", x)


def bound_where_it_goes_on(x, k):
    if x > 3:
        die(x)
    elif x > 2:
        y = x * 2
    elif x < -3:
        if k > 2:
            raise Mismatch("small", x)
        raise Mismatch("very small", x)
    else:
        y = 1
    total = 0
    for i in range(k):
        if i * y > 20:
            raise Mismatch(total, i)
        part = i * y
        total = total + part
    return total + y


def searched(x, wanted):
    for i in range(len(x)):
        if x[i] == wanted:
            break
    else:
        raise LookupError(f"no {wanted}")
    while True:
        if x[i] < 0:
            raise ValueError("negative", i)
        if x[i] > 5:
            return x[i]
        x[i] += 2


def made_where_it_goes_on(x, n):
    if n <= 3:
        b = np.zeros(5)
        y = b + x
    else:
        raise Mismatch("many", n)
    if x > 0:
        b += x
    b[0] = 7.0
    return b.sum() + y.sum()


KNOTS = [0.5, 2.0, 4.0]


def between_knots(x):
    """Python would look one behind the last knot up only where none is as large."""
    for i in range(len(KNOTS)):
        if x <= KNOTS[i]:
            return x / KNOTS[i]
        if i > 0 and x > 3 * KNOTS[i]:
            return x - KNOTS[i + 1]
    return -1.0


def looked_up(x, mode):
    y = x.copy()
    if mode > 2:
        y[0] = 7.0
        y *= {"low": 2.0}["high" if len(KNOTS) > 2 else "low"]
    elif (mode > 1 and KNOTS[7] < x[0]) or mode < 0:
        y += 3 // (len(KNOTS) - 3)
    return y


def joined_text(x):
    if x < 0:
        raise ValueError("no root of " + str(x) + "!")
    return np.sqrt(x)


def outcome(f, *args):
    """What a call gives: the result, or the class and the arguments of its exception."""
    try:
        return "result", f(*args)
    except Exception as error:
        return type(error), error.args


ROWS = np.arange(200000.0).reshape(2000, 100)
BAD_ROWS = np.where((ROWS == 123456) | (ROWS == 199999), -1.0, ROWS)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (root, [4.0]),
        (root, [-4.0]),
        (limited_sum, [np.arange(9.0), 100.0]),
        (limited_sum, [np.arange(9.0), 20.0]),
        (limited_sum, [np.arange(900.0), 2000.0]),
        (pivots, [np.array([[2.0, 1.0], [1.0, 3.0]])]),
        (pivots, [np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 5.0], [3.0, 1.0, 1.0]])]),
        (checked_rows, [ROWS]),
        (checked_rows, [BAD_ROWS]),
        (step, [1.0, 50]),
        (step, [1.0, 3]),
        (bound_where_it_goes_on, [2.5, 3]),
        (bound_where_it_goes_on, [0.5, 9]),
        (bound_where_it_goes_on, [2.5, 9]),
        (bound_where_it_goes_on, [5.0, 9]),
        (bound_where_it_goes_on, [-5.0, 9]),
        (bound_where_it_goes_on, [-5.0, 1]),
        (made_where_it_goes_on, [1.5, 3]),
        (made_where_it_goes_on, [1.5, 4]),
        (searched, [np.array([3, 1, -2, 8]), 1]),
        (searched, [np.array([3, 1, -2, 8]), -2]),
        (searched, [np.array([3, 1, -2, 8]), 7]),
        (in_helper, [1, 2]),
        (in_helper, [1, 3]),
        (between_knots, [1.5]),
        (between_knots, [6.5]),
        (between_knots, [13.0]),
        (looked_up, [ROWS[1], 0]),
        (looked_up, [ROWS[1], 3]),
        (looked_up, [ROWS[1], 2]),
        (looked_up, [ROWS[1], -1]),
        (joined_text, [4.0]),
        (joined_text, [-4.0]),
    ],
)
def test_calls_end_as_in_python(f, args):
    originals = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
    wanted, expected = outcome(f, *args)
    kind, found = outcome(transpile.jit(f), *originals)
    assert kind == wanted
    if kind == "result":
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert [str(x) for x in found] == [str(x) for x in expected]


def test_arrays_are_arguments_of_exceptions():
    def f(x):
        if x.sum() > 3:
            raise ValueError("too much", x)
        return x

    with pytest.raises(ValueError, match="too much") as caught:
        transpile.jit(f)(np.array([1.0, 4.0]))
    np.testing.assert_array_equal(caught.value.args[1], [1.0, 4.0])


def test_runtime_sizes_are_values_of_texts():
    def f(x):
        if x[0] > 3:
            raise ValueError(f"{x.shape[0]} numbers", x.shape[0])
        return x * 2

    (n,) = transpile.dims("n", "n >= 1")
    lowered = transpile.jit(f).lower(ShapeDtypeStruct((n,), np.float64))
    with pytest.raises(ValueError, match="5 numbers") as caught:
        lowered.compile()(np.full(5, 4.0))
    assert caught.value.args == ("5 numbers", 5)
    np.testing.assert_array_equal(lowered.compile()(np.ones(3)), [2.0, 2.0, 2.0])


def test_many_calls_that_fail_and_do_not_fail():
    f = transpile.jit(root)
    for k in range(300):  # past the point at which calls are made in C
        if k % 3:
            assert f(k % 7 + 1.0) == np.sqrt(k % 7 + 1.0)
        else:
            with pytest.raises(ValueError, match=f"no root of -{k + 1}.00"):
                f(-1.0 - k)


def handled(x):
    try:
        die_of_negative(x)
        y = x
    except (KeyError, Mismatch):
        y = 0.0
    return y


def die_of_negative(x):
    if x < 0:
        raise Mismatch("negative", x)


def looked_up_and_handled(x):
    try:
        if x > 0:
            return KNOTS[7] * x
    except IndexError:
        return 0.0
    return x


def handled_where_it_is_raised(x):
    if x > 0:
        try:
            return KNOTS[7] * x
        except IndexError:
            return 0.0
    return x


def not_handled(x):
    try:
        die_of_negative(x)
    except ValueError:
        return 0.0
    try:
        int("no number")
    except ValueError:
        return x * 2


def test_a_program_handles_no_exceptions():
    wanted = r"a program cannot handle the Mismatch that it raises where a traced"
    with pytest.raises(transpile.errors.UnsupportedError, match=wanted):
        transpile.jit(handled)(2.0)
    with pytest.raises(transpile.errors.UnsupportedError, match="cannot handle the IndexError"):
        transpile.jit(looked_up_and_handled)(2.0)
    assert transpile.jit(handled_where_it_is_raised)(2.0) == 0.0
    f = transpile.jit(not_handled)
    assert f(2.0) == 4.0
    with pytest.raises(Mismatch, match="negative"):
        f(-2.0)


# ------------------------------------------------------------------------- derivatives and batches


def test_derivatives_fail_as_the_function_does():
    f = transpile.jit(transpile.grad(root))
    np.testing.assert_allclose(f(4.0), 0.25)
    with pytest.raises(ValueError, match=r"no root of -4\.00"):
        f(-4.0)
    g = transpile.jit(transpile.grad(limited_sum))
    np.testing.assert_array_equal(g(np.arange(5.0), 100.0), np.ones(5))
    np.testing.assert_array_equal(g(np.zeros(500), 100.0), np.ones(500))
    with pytest.raises(OverflowError, match="the sum is"):
        g(np.arange(50.0), 100.0)


@pytest.mark.parametrize("way", [lambda f: transpile.jit(transpile.vmap(f)), transpile.vmap])
def test_an_example_that_fails_ends_the_call(way):
    f = way(root)
    np.testing.assert_allclose(f(np.arange(5.0)), np.sqrt(np.arange(5.0)))
    with pytest.raises(ValueError, match=r"no root of -2\.00"):
        f(np.array([1.0, -2.0, -3.0]))
    with pytest.raises(AssertionError, match=r"200\.0 is too large"):
        f(np.array([1.0, 200.0, 3.0]))
    # All examples come to the first place.
    with pytest.raises(ValueError, match=r"no root of -3\.00"):
        f(np.array([1.0, 200.0, -3.0]))


def test_loops_of_examples_fail_for_each():
    f = transpile.jit(transpile.vmap(step, in_axes=(0, None)))
    np.testing.assert_allclose(f(np.array([1.0, 1.5]), 20), np.full(2, np.sqrt(2)))
    with pytest.raises(RuntimeError, match="no convergence"):
        f(np.array([1.5, 1e9]), 10)
    g = transpile.jit(transpile.vmap(limited_sum, in_axes=(0, None)))
    with pytest.raises(OverflowError) as caught:
        g(np.stack([np.arange(9.0), np.arange(9.0) * 3]), 50.0)
    assert caught.value.args == ("the sum is", 63.0, "at", 6)


def test_derivatives_of_batches():
    f = transpile.jit(transpile.vmap(transpile.grad(root)))
    np.testing.assert_allclose(f(np.array([1.0, 4.0])), [0.5, 0.25])
    with pytest.raises(ValueError, match=r"no root of -1\.00"):
        f(np.array([1.0, -1.0]))


# ------------------------------------------------------------------------------------------- in C


MAIN = """
#include <stdio.h>
#include "root.h"

static int called(void *context, int place, const void *const *values, void *const *results)
{
    (void)results;
    printf("%s %d %g\\n", (const char *)context, place, *(const double *)values[0]);
    return 0;
}

int main(void)
{
    const double x[] = {4.0, -4.0, 121.0};
    double out = 0.0;
    for (int k = 0; k < 3; k++) {
        const int code = root(&x[k], &out, NULL);
        printf("%d %s\\n", code, root_error(code));
    }
    const int code = root_with_callback(&x[1], &out, NULL, called, "place");
    printf("%d\\n", code);
    return 0;
}
"""


def test_a_c_caller_gets_a_code_of_its_own_for_each_place(tmp_path):
    transpile.jit(root).lower(1.0).save(tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
    subprocess.run(
        ["cc", *flags, "main.c", "root.c", "-lm", "-o", "main"], cwd=tmp_path, check=True
    )
    found = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        "0 success",
        "1001 ValueError: ('no root of {}', 'for', {})",
        "1002 AssertionError: {} is too large",
        "place 0 -4",
        "1001",
    ]


def test_what_follows_a_failure_is_no_code():
    text = transpile.jit(limited_sum).lower(np.ones(5), 3.0).as_text()
    lines = [line.strip() for line in text.splitlines()]
    (at,) = [k for k, line in enumerate(lines) if line == "return 1001;"]
    assert lines[at + 1] == "}"
