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


def raised_again(x, k):
    try:
        v = x[k] / float(k)
    except (IndexError, ZeroDivisionError):
        raise
    except LookupError:
        v = -1.0
    return v


def in_a_guard(x, k):
    total = 0.0
    for j in (k, k - 4, k + 7):
        try:
            if 0 <= j < len(x):
                total += x[j]
            if j < 0 or j >= 3:
                continue
            total += x[j - 3]
        except IndexError:
            total -= 1
    return total


def of_a_guarded_division(x, k):
    total = 0.0
    for v in x:
        d = float(v - k)
        try:
            if abs(d) > 1e-9 and 1 / d > 0:
                total += 2 / d
            if d != 0:
                total += 1 / d
            if not d <= 0:
                total += 3 / d
            total += 1 / d if d else 0.5
        except ZeroDivisionError:
            total -= 1
    return total


def of_complex_numbers(x, k):
    total = 0j
    for v in x:
        z = complex(v, k)
        try:
            if z != 0:
                total += z * z
            if v != float("nan"):
                total += v
        except ZeroDivisionError:
            total -= 1
    return total


class Timer:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True


class Passing(Timer):
    def __exit__(self, *_):
        return False


@contextlib.contextmanager
def cleaning():
    try:
        yield 2.0
    finally:
        pass


def managed(x, k):
    with Timer(), Passing() as manager, cleaning() as scale:
        v = x[k] * scale
    return v if isinstance(manager, Passing) else 0.0


class Suppressing(Timer):
    def __exit__(self, kind, *_):
        return kind is not None and issubclass(kind, Exception)


def without_exceptions(x, k):
    total = 0.0
    with Suppressing():
        for v in x:
            while k > 0.1:
                k = k / 2
            total += v * k
        if total > 1:
            return total
    return -total


@pytest.mark.parametrize(
    "function",
    [
        *(raised_again, in_a_guard, of_a_guarded_division, of_complex_numbers),
        *(managed, without_exceptions),
    ],
)
@pytest.mark.parametrize("k", [1, 2])
def test_what_no_handler_would_do_compiles(function, k):
    np.testing.assert_allclose(transpile.jit(function)(X, k), function(X, k), rtol=1e-15)


def test_a_handler_that_raises_again_lets_the_exception_pass():
    f = transpile.jit(raised_again, check_bounds=True, check_arithmetic=True)
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        f(X, 5)


@contextlib.contextmanager
def swallowing():
    try:
        yield 2.0
    except IndexError:
        return


@contextlib.contextmanager
def suppressing():
    with suppress(IndexError):
        yield 2.0


def by_a_class(x, k):
    v = -1.0
    with Suppressing():
        v = x[k]
    return 2 * v


def by_a_generator(x, k):
    v = -1.0
    with swallowing():
        v = x[k]
    return 2 * v


def by_a_stack(x, k):
    found = -5.0
    with contextlib.ExitStack() as stack:
        stack.enter_context(suppress(IndexError))
        found = x[k]
    return 2 * found


def by_a_generator_that_suppresses(x, k):
    v = -1.0
    with suppressing():
        v = x[k]
    return 2 * v


QUIET = Suppressing()


def by_a_global(x, k):
    v = -1.0
    with QUIET as quiet:
        v = x[k] if quiet is QUIET else 0.0
    return 2 * v


def of_perhaps_python_numbers(x, k):
    total = count = 0
    for v in np.array([1, 2, 3]) * k:
        if v > 5:
            total += v
            count += 1
    try:
        return total / count
    except ZeroDivisionError:
        return -1.0


def of_no_number(x, k):
    total = 0.0
    for v in x:
        d = float(v - k)
        try:
            if d != float("nan"):
                total += 1 / d
        except ZeroDivisionError:
            total -= 1
    return total


def outside_of_the_guard(x, k):
    try:
        if k < len(x):
            return x[k]
        return 0.0
    except IndexError:
        return -1.0


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (by_a_class, "IndexError"),
        (by_a_generator, "IndexError"),
        (by_a_generator_that_suppresses, "IndexError"),
        (by_a_stack, "IndexError"),
        (by_a_global, "IndexError"),
        (of_perhaps_python_numbers, "ZeroDivisionError"),
        (of_no_number, "ZeroDivisionError"),
        (outside_of_the_guard, "IndexError"),
    ],
)
def test_managers_that_may_suppress_are_handlers(function, error):
    with pytest.raises(UnsupportedError, match=f"cannot handle the {error} that Python raises"):
        transpile.jit(function)(X, np.int64(1))


def raised_in_a_manager(x, k):
    v = 0.0
    with Suppressing():
        if x[0] < 0:
            raise ValueError("negative")
        v = x[0]
    return 2 * v


def test_a_raise_that_a_manager_would_suppress_is_an_error():
    with pytest.raises(UnsupportedError, match="cannot handle the ValueError that it raises"):
        transpile.jit(raised_in_a_manager)(X, 1)


def swallowed(x, k):
    try:
        if x[0] > 0:
            return x
    except:  # noqa: E722
        pass
    return x - 1


def swallowed_by_class(x, k):
    try:
        return float(x[0])
    except TypeError:
        return -1.0


def asked_by_name(x, k):
    try:
        return float(x[0])
    except ConcretizationTypeError:
        return x[1]


@pytest.mark.parametrize("function", [swallowed, swallowed_by_class])
def test_no_handler_of_pythons_classes_sees_errors_of_a_trace(function):
    with pytest.raises(ConcretizationTypeError, match="a traced value"):
        transpile.jit(function, python_control_flow=False)(X, 1)


def test_a_handler_that_names_errors_of_a_trace_sees_them():
    f = transpile.jit(asked_by_name, python_control_flow=False)
    assert f(X, 1) == X[1]
