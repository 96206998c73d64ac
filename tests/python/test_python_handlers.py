"""A handler of the user's for what a program cannot raise: it never runs there."""

import contextlib
import math
from contextlib import suppress

import numpy as np
import pytest

import transpile
from transpile.errors import ConcretizationTypeError, UnsupportedError

TABLE = [10, 20, 30]


def of_index(x, k):
    try:
        return x[k]
    except IndexError:
        return -1.0


def of_list(x, k):
    try:
        v = TABLE[k]
    except LookupError:
        v = -1
    return v


def of_division(x, k):
    try:
        v = 6 / int(k)
    except ZeroDivisionError:
        v = 0.0
    return v


def of_domain(x, k):
    total = 0.0
    for v in x:
        try:
            total += math.sqrt(v)
        except (KeyError, ValueError):
            total -= 1
    return total


def of_everything(x, k):
    try:
        return math.log(x[k] - 2)
    except Exception:
        return 0.0


def without_class(x, k):
    try:
        v = x[k]
    except:  # noqa: E722
        v = -1.0
    return v


def around(x, k):
    try:
        try:
            v = of_helper(x, k)
        finally:
            v = 1.0
    except IndexError:
        v = -1.0
    return v


def of_helper(x, k):
    return x[k]


def suppressed(x, k):
    v = -1.0
    with contextlib.suppress(KeyError, IndexError):
        v = x[k]
    return v


def suppressed_in_a_loop(x, k):
    total = 0.0
    for v in x:
        with suppress(ZeroDivisionError):
            total += 1 / float(v - k)
    return total


X = np.array([1.0, 4.0, 9.0])


@pytest.mark.parametrize("options", [{}, {"check_bounds": True, "check_arithmetic": True}])
@pytest.mark.parametrize(
    ("function", "error"),
    [
        (of_index, "IndexError"),
        (of_list, "IndexError"),
        (of_division, "ZeroDivisionError"),
        (of_domain, "ValueError"),
        (of_everything, "IndexError"),
        (without_class, "IndexError"),
        (around, "IndexError"),
        (suppressed, "IndexError"),
        (suppressed_in_a_loop, "ZeroDivisionError"),
    ],
)
def test_what_a_handler_of_the_users_is_for_is_an_error(function, error, options):
    with pytest.raises(UnsupportedError, match=f"cannot handle the {error} that Python raises"):
        transpile.jit(function, **options)(X, 1)


@pytest.mark.parametrize("function", [of_index, suppressed])
def test_without_conversion_the_trace_is_an_error_too(function):
    with pytest.raises(ConcretizationTypeError, match="cannot handle the IndexError"):
        transpile.jit(function, python_control_flow=False)(X, 1)


def of_another_class(x, k):
    try:
        v = x[k] / 2
    except KeyError:
        v = -1.0
    return v


def behind_it(x, k):
    try:
        n = int("3")
    except ValueError:
        n = 0
    return x[k] / n


def finally_alone(x, k):
    try:
        v = x[k]
    finally:
        v = v * 2
    with np.errstate(all="ignore"):
        return v / x[k]


def in_range(x, k):
    total = 0.0
    for i in transpile.no_unroll(range(len(x))):
        try:
            total += x[i] * x[i - 3]
        except IndexError:
            total -= 1
    return total


def of_arrays(x, k):
    try:
        return x / k
    except ZeroDivisionError:  # NumPy warns
        return x


def suppressed_of_known(x, k):
    scale = 2.0
    with suppress(LookupError):
        scale = [1.0][3]
    with suppress(Exception):
        x = x * k
    return x * scale


@pytest.mark.parametrize(
    "function",
    [of_another_class, behind_it, finally_alone, in_range, of_arrays, suppressed_of_known],
)
def test_what_no_handler_is_for_compiles(function):
    np.testing.assert_array_equal(transpile.jit(function)(X, 2), function(X, 2))
