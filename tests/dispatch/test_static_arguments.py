"""Arguments that are no arrays, and integers that Python needs while it traces, become static by
themselves."""

import enum
import functools
import logging
import random
import re
import types

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import BranchError, TracerIntegerConversionError

X = np.arange(6.0).reshape(2, 3)


def of_list(n):
    return np.array([0.5] * n) + 1


def of_rank(x, n):
    return x.reshape((1,) * n + x.shape)


def of_axis(x, *, axis=0):
    return x.sum(axis=axis)


def of_functions(x, which):
    return [np.sin, np.cos][which](x)


CALLS = [
    (of_list, (3,), {}),
    (of_rank, (X, 2), {}),
    (of_axis, (X,), {"axis": 1}),
    (of_functions, (X, 1), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_results_are_those_of_python(function, args, kwargs, caplog, shared_cache):
    f = transpile.jit(function)
    with caplog.at_level(logging.WARNING, "transpile"):
        for _ in range(2):
            np.testing.assert_allclose(f(*args, **kwargs), function(*args, **kwargs), rtol=1e-15)
    (message,) = caplog.messages
    assert f"{function.__name__} " in message and "static_argnames" in message
    assert f._cache_size() == 1


def test_each_value_is_a_program():
    f = transpile.jit(of_list)
    assert [len(f(n)) for n in (2, 3, 2, np.int8(4), np.array(5))] == [2, 3, 2, 4, 5]
    assert f._cache_size() == 4
    f.clear_cache()
    assert f._cache_size() == 0


def test_stages():
    f = transpile.jit(of_axis)
    np.testing.assert_array_equal(f.lower(X, axis=1).compile()(X), X.sum(axis=1))
    assert f.eval_shape(X, axis=0).shape == (3,)


def test_methods():
    class Model:
        @transpile.jit
        def total(self, x, axis):
            return x.sum(axis=axis)

    model = Model()
    np.testing.assert_array_equal(model.total(X, 1), X.sum(axis=1))
    np.testing.assert_array_equal(model.total(X, 0), X.sum(axis=0))


@pytest.mark.parametrize("axis", [np.array([1.0]), np.array(1.0), np.arange(9)])
def test_what_is_no_number_keeps_its_error(axis):
    with pytest.raises(TracerIntegerConversionError, match="It comes from the argument 'axis'"):
        transpile.jit(of_axis)(X, axis=axis)


def test_what_also_depends_on_arrays_keeps_its_error():
    with pytest.raises(TracerIntegerConversionError, match="the arguments 'x', 'n'"):
        transpile.jit(lambda x, n: np.array([1.0] * (n + x.astype(int)[0])))(np.ones(2), 3)


def test_without_conversion_the_error_stays():
    with pytest.raises(TracerIntegerConversionError, match="It comes from the argument 'n'"):
        transpile.jit(of_list, python_control_flow=False)(3)


def of_axes(x, axes):
    return x.sum(axis=axes)


def of_positions(x, *where, **how):
    return np.sum(x, *where, **how)


def of_flag(x, flag):
    return np.angle(1j + x, flag)


def of_order(x, order):
    return np.linalg.norm(x, order)


def of_places(x, places):
    return np.split(x, places, axis=1)[1]


def of_turned(x, order):
    return np.transpose(x, order)


def of_widths(x, widths):
    return np.pad(x, widths)


def of_digits(n):
    return sum(int(digit) ** 2 for digit in str(n)) + len(str(n)) + len(f"{n}") + ("1" in str(n))


def of_joined_digits(n, m):
    return int(str(n) + "7" + str(m)) + (str(n) == str(n)[::-1])


def of_settings(x, settings):
    return settings["scale"] * x.mean(axis=settings["axes"][0])


NUMBERS = [
    (of_digits, [((153,), {}), ((40,), {})], "n"),
    (of_joined_digits, [((15, 2), {}), ((11, 40), {})], "m"),
    (of_axes, [((X, (0, 1)), {}), ((X, (1,)), {}), ((X, 0), {}), ((X, (0, 1)), {})], "axes"),
    (of_flag, [((X, True), {}), ((X, False), {}), ((X, np.bool_(True)), {})], "flag"),
    (of_order, [((X, 1.0), {}), ((X, np.inf), {}), ((X, -np.inf), {}), ((X, 1.0), {})], "order"),
    (of_places, [((X, [1]), {}), ((X, [1, 2]), {}), ((X, (2,)), {})], "places"),
    (of_widths, [((X, np.array([[0, 1], [2, 0]])), {}), ((X, 1), {})], "widths"),
    (of_places, [((X, np.array([1])), {}), ((X, np.array([1, 2], "i1")), {})], "places"),
    (of_turned, [((X, np.array([1, 0])), {}), ((X, (0, np.array(1))), {})], "order"),
    (
        of_settings,
        [((X, {"axes": [n], "scale": s}), {}) for n, s in ((0, 2), (1, 0.5))],
        "settings",
    ),
    (
        of_positions,
        [((X, 1), {}), ((X,), {}), ((X, 1, "f4"), {}), ((X, (0, 1)), {})],
        r"where\[0\]",
    ),
    (of_positions, [((X,), {"keepdims": True}), ((X, 0), {"keepdims": False})], "keepdims"),
]


@pytest.mark.parametrize(("function", "calls", "name"), NUMBERS)
@one_in(3)
def test_numbers_of_which_python_needs_the_value(function, calls, name, caplog, shared_cache):
    f = transpile.jit(function)
    with caplog.at_level(logging.WARNING, "transpile"):
        for args, kwargs in calls:
            expected = np.asarray(function(*args, **kwargs))
            found = f(*args, **kwargs)
            np.testing.assert_allclose(found, expected, rtol=1e-15)
            assert found.dtype == expected.dtype
    assert re.search(f"Python needs the value of .*'{name}'", caplog.text)


def test_slices_are_static(shared_cache):
    f = transpile.jit(lambda x, part, *others: x[part])
    for part in (slice(1), slice(0, 2), slice(None, None, -1), slice(1)):
        np.testing.assert_array_equal(f(X, part, slice(3)), X[part])
    assert f._cache_size() == 3


def test_a_list_that_the_function_changes_stays_as_it_was():
    def with_one_more(x, places):
        places.append(2)
        return np.split(x, places, axis=1)[-1]

    f, places = transpile.jit(with_one_more), [1]
    for _ in range(2):
        np.testing.assert_array_equal(f(X, places), X[:, 2:])
    assert places == [1] and f._cache_size() == 1


# -------------------------------------------------------------------- what is never an array


class Kind(enum.Enum):
    SUM = 1
    MEAN = 2


class Model:
    def __init__(self, rate):
        self.rate = rate

    def change(self, y):
        return -self.rate * y

    @transpile.jit
    def jitted(self, y):
        return self.rate * y * y


def euler(change, y, steps=3):
    for _ in range(steps):
        y = y + 0.1 * change(y)
    return y


def reduced(x, kind, dtype=np.float64, *, method="plain"):
    y = x.sum(0) if kind is Kind.SUM else x.mean(0)
    return (y if method == "plain" else np.sqrt(y)).astype(dtype)


@pytest.mark.parametrize(
    "change",
    [
        np.sin,
        lambda y: 2 * y,
        functools.partial(np.multiply, 3.0),
        Model(0.5).change,
        Model(0.5).jitted,
        transpile.jit(np.cos),
        abs,
    ],
    ids=["ufunc", "lambda", "partial", "method", "jitted method", "jitted", "builtin"],
)
@one_in(2)
def test_functions_are_static(change):
    f = transpile.jit(euler)
    np.testing.assert_allclose(f(change, X), euler(change, X), rtol=1e-15)
    size = f._cache_size()
    np.testing.assert_allclose(f(change, X + 1), euler(change, X + 1), rtol=1e-15)
    assert f._cache_size() == size
    np.testing.assert_allclose(f.lower(change, X).compile()(X), euler(change, X), rtol=1e-15)


def test_texts_types_and_members_of_enumerations_are_static(caplog):
    f = transpile.jit(reduced)
    calls = [
        ((X, Kind.SUM), {}),
        ((X, Kind.MEAN), {"method": "root"}),
        ((X, Kind.MEAN, np.float32), {}),
        ((X, Kind.MEAN, np.dtype("i4")), {"method": "plain"}),
        ((X, Kind.SUM), {}),
    ]
    with caplog.at_level(logging.INFO, "transpile"):
        for args, kwargs in calls:
            found, expected = f(*args, **kwargs), reduced(*args, **kwargs)
            np.testing.assert_allclose(found, expected, rtol=1e-15)
            assert found.dtype == expected.dtype
    assert any("'kind' is no array, and static" in line for line in caplog.messages)


def test_what_a_method_reads_is_guarded():
    model, f = Model(0.5), transpile.jit(euler)
    f(model.change, X)
    model.rate = 2.0
    np.testing.assert_allclose(f(model.change, X), euler(model.change, X), rtol=1e-15)


def test_the_same_argument_may_be_an_array_in_another_call():
    f = transpile.jit(lambda x, other: x * 2 if isinstance(other, str) else x + other)
    np.testing.assert_array_equal(f(X, "twice"), X * 2)
    np.testing.assert_array_equal(f(X, X), X + X)
    np.testing.assert_array_equal(f(X, "twice"), X * 2)


def test_derivatives_and_batches_of_functions_of_functions():
    f = transpile.jit(euler)
    slope = transpile.grad(lambda y: f(np.sin, y).sum())(X)
    np.testing.assert_allclose(slope, transpile.grad(lambda y: euler(np.sin, y).sum())(X))
    np.testing.assert_allclose(transpile.vmap(lambda y: f(np.sin, y))(X), euler(np.sin, X))


def test_a_function_that_is_made_anew_for_each_call_is_noticed_once(caplog):
    f = transpile.jit(lambda g, x: g(x))
    with caplog.at_level(logging.WARNING, "transpile"):
        for k in range(18):
            f.eval_shape(lambda x, k=k: x + k, X)
    (message,) = caplog.messages
    assert "compiled for 16 values of 'g'" in message and "make it once" in message


def test_a_number_of_many_values_is_noticed_once(caplog):
    f = transpile.jit(_copied(of_list))
    with caplog.at_level(logging.WARNING, "transpile"):
        for n in range(1, 20):
            f.eval_shape(n)
    _, message = caplog.messages
    line = of_list.__code__.co_firstlineno + 1
    assert "compiled for 16 values of 'n'. Each takes a program: " in message
    assert f"{line}: a traced value" in message and "Lengths of arrays" in message


def test_the_programs_that_are_not_called_for_long_are_dropped(monkeypatch, shared_cache):
    monkeypatch.setattr("transpile.dispatch.trace_cache.MOST_PROGRAMS", 3)
    f = transpile.jit(_copied(of_list))
    for n in (1, 2, 3):
        f(n)
    f(1)
    f(4)  # in the place of 2
    (table,) = [sibling._tracing.table for sibling in f._statics.siblings.values()]
    assert len(table.known) == len(table.traced) == 3
    kept = [*table.traced.values()]
    np.testing.assert_array_equal(f(2), of_list(2))  # in the place of 3
    np.testing.assert_array_equal(f(1), of_list(1))
    assert kept[-1] in [*table.traced.values()] and len(table.traced) == 3
    assert f._cache_size() == 3


def of_one_list(x, n):
    return sum([x + i for i in [0] * n], x)


def of_one_path(x, n):
    return (x, x * 2) if n else x


def of_a_name_or_number(x, n):
    return n(x) if callable(n) else x * {0: 2, 1: 3}.get(n, x)


def of_one_axis(x, n):
    return x.sum(axis=n)


ANY = [0, 2, True, 1.5, np.int8(1), np.array(1), np.array(1.5), np.arange(2), [1], (0, 1), None]
ANY += ["a", np.sin, {"a": 1}]


def tried(f, args):
    """What a trace gives, or how it ends."""
    try:
        return repr(f.eval_shape(*args))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("function", [of_one_list, of_one_path, of_a_name_or_number, of_one_axis])
def test_what_is_accepted_does_not_depend_on_calls_before(function):
    rng = random.Random(function.__name__)
    f, alone = transpile.jit(function), {}
    for _ in range(60):
        n, x = rng.randrange(len(ANY)), rng.randrange(3)
        args = [1.5, np.arange(3), X][x], ANY[n]
        if (n, x) not in alone:
            alone[n, x] = tried(transpile.jit(_copied(function)), args)
        assert tried(f, args) == alone[n, x], args


def _copied(function):
    """The function without what has been traced of it."""
    return types.FunctionType(function.__code__, globals(), function.__name__)


def of_bins(x, n):
    return np.histogram(x, n)[0]


def of_solution(b, n):
    return np.linalg.solve(n * np.eye(n), b)


def with_sum(x, full=False, scale=2):
    if full:
        return x * scale, x.sum()
    return x * scale


def odd_ones(x, n, most):
    out = ()
    for i in range(2, n):
        if i % 2:
            out += (x * i,)
        if i == most:
            break
    return sum(out, x)


def of_a_name(x, n):
    return x * {"few": 1, "many": 2}["many" if n > 2 else "few"]


def remembered(n, known):
    if n not in known:
        known[n] = n if n < 2 else remembered(n - 1, known) + remembered(n - 2, known)
    return known[n]


PATHS = [
    (with_sum, [((X,), {"full": True}), ((X, False), {})], "full"),
    (odd_ones, [((X, 6, 20), {}), ((X, 9, 7), {})], "n"),
    (of_a_name, [((X, 3), {}), ((X, 1), {})], "n"),
    (remembered, [((9, {}), {})], "n"),
]


@pytest.mark.parametrize(("function", "calls", "name"), PATHS)
@one_in(2)
def test_integers_and_flags_that_decide_between_unlike_paths(function, calls, name, caplog):
    f = transpile.jit(function)
    with caplog.at_level(logging.WARNING, "transpile"):
        for args, kwargs in calls:
            expected = transpile.tree.leaves(function(*args, **kwargs))
            for a, b in zip(transpile.tree.leaves(f(*args, **kwargs)), expected, strict=True):
                np.testing.assert_array_equal(a, b)
    assert re.search(rf"static_argnames=\[.*{name!r}\]", caplog.text)


def test_other_arguments_that_decide_keep_their_error():
    """A program for each value of a float, or of an array, would be one for each call."""

    def by_array(x, n):
        return x[:1] if x[0, 0] > n else x

    def by_float(x, limit):
        return x[:1] if limit > 2 else x

    for function, args in ((by_array, (X, 1)), (by_float, (X, 1.0)), (by_float, (X, np.array(1)))):
        with pytest.raises(BranchError, match="Both need one shape"):
            transpile.jit(function)(*args)


LENGTHS = [
    (of_bins, (X, 4), ["n"]),
    (of_solution, (np.arange(6.0).reshape(3, 2), 3), ["n"]),
]


@pytest.mark.parametrize(("function", "args", "names"), LENGTHS)
def test_lengths_that_have_to_fit_others(function, args, names, caplog, shared_cache):
    f = transpile.jit(function)
    with caplog.at_level(logging.WARNING, "transpile"):
        for _ in range(2):
            np.testing.assert_allclose(f(*args), function(*args), rtol=1e-13)
    (message,) = caplog.messages
    assert re.search("have to be known while tracing|Python needs the value", message)
    assert f"static_argnames={names}" in message
    assert f._cache_size() == 1


def test_what_fails_with_its_value_too_stays_as_it_is(caplog):
    def f(x, n):
        return np.ones((n, 4)) @ x

    g = transpile.jit(f)
    with pytest.raises(ValueError, match=r"\(2,4\) and \(2,3\)|size 2 is different from 4"):
        g(X, 2)
    assert g._cache_size() == 0 and not caplog.messages
    # What fits has one program for all values.
    for n in (2, 5):
        np.testing.assert_array_equal(g(np.ones((4, 3)), n), f(np.ones((4, 3)), n))
    assert g._cache_size() == 1


def test_an_error_of_the_program_makes_nothing_static(caplog, shared_cache):
    @transpile.jit
    def f(x, n):
        if n > 3:
            raise ValueError("too many")
        return np.zeros(n) + x

    with pytest.raises(ValueError, match="too many"):
        f(1.0, 4)
    np.testing.assert_array_equal(f(1.0, 2), [1.0, 1.0])
    np.testing.assert_array_equal(f(1.0, 3), [1.0, 1.0, 1.0])
    assert f._cache_size() == 1 and not caplog.messages
