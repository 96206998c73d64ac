"""Containers among the arguments are copies: a warning tells of a change that nobody sees. So are
arguments that become static by themselves, of which arrays are not to be changed."""

import logging

import numpy as np
import pytest

import transpile
from transpile.errors import UnsupportedError


def appended(xs):
    xs.append(3.0)
    return xs[0] + xs[-1]


def replaced(xs, *, rate):
    xs["w"] = xs["w"] * rate
    return xs["w"].sum()


def returned(xs):
    xs["w"] = xs["w"] * 2
    return {"state": xs}


def assigned(xs):
    for x in xs:
        x += 1
    return xs[0].sum()


def read(xs):
    return [x * 2 for x in xs]


X = np.ones(2)


@pytest.mark.parametrize(
    ("function", "argument", "named", "kind"),
    [
        (appended, [1.0, 2.0], {}, "list"),
        (replaced, {"w": X}, {"rate": 2.0}, "dict"),
        (returned, {"w": X}, {}, ""),
        (assigned, [X.copy(), X.copy()], {}, ""),
        (read, [X, X], {}, ""),
    ],
)
def test_a_change_of_a_container_that_is_not_returned(
    function, argument, named, kind, caplog, shared_cache
):
    with caplog.at_level(logging.WARNING, "transpile"):
        transpile.jit(function)(argument, **named)
    expected = f"changes its argument 'xs', a {kind}, and does not return it" if kind else ""
    assert expected in caplog.text and bool(caplog.messages) == bool(kind)


def of_widths(widths, x):
    rows = [x] * widths[1]  # so the widths are known, and static
    widths[0] = 7
    return sum(rows)


def of_sorted_widths(widths, x):
    rows = [x] * widths[0]
    widths.sort()
    return sum(rows)


def of_a_view(widths, x):
    rows, first = [x] * widths[1], widths[:1]
    first += 1
    return sum(rows)


def of_widths_in_a_list(widths, x):
    rows = [x] * widths[0][1]
    widths[0][:] = 0
    return sum(rows)


def of_a_copy(widths, x):
    rows = [x] * widths[1]
    widths = widths.copy()
    widths[0] = 7
    return sum(rows) * widths[0]


def of_the_same(widths, x):
    rows = [x] * widths[1]
    widths[1] = 2
    return sum(rows)


@pytest.mark.parametrize("function", [of_widths, of_sorted_widths, of_a_view, of_widths_in_a_list])
def test_an_array_that_is_static_by_itself_is_not_to_be_assigned_to(function, shared_cache):
    widths = [np.array([3, 2])] if function is of_widths_in_a_list else np.array([3, 2])
    jitted = transpile.jit(function)
    for _ in range(2):
        with pytest.raises(UnsupportedError) as raised:
            jitted(widths, X)
        assert "assigns to its argument 'widths', an array that is static" in str(raised.value)
        assert f"{function.__name__!r} ({__file__}:" in str(raised.value)
    np.testing.assert_array_equal(np.ravel(widths), [3, 2])


def where_a_value_says(widths, x):
    rows = [x] * widths[1]
    if x[0] > 0:
        widths[0] = 7
    return sum(rows)


def test_nor_is_it_where_a_traced_value_decides(shared_cache):
    with pytest.raises(UnsupportedError, match="to an argument that is static in this call"):
        transpile.jit(where_a_value_says)(np.array([3, 2]), X)


@pytest.mark.parametrize("function", [of_a_copy, of_the_same])
def test_a_copy_of_a_static_array_is_assigned_to(function, shared_cache):
    widths = np.array([3, 2])
    expected = function(widths.copy(), X)
    np.testing.assert_array_equal(transpile.jit(function)(widths, X), expected)
    np.testing.assert_array_equal(widths, [3, 2])


def test_a_list_that_is_static_by_itself_warns_as_others_do(caplog, shared_cache):
    with caplog.at_level(logging.WARNING, "transpile"):
        transpile.jit(of_widths)([3, 2], X)
    assert "changes its argument 'widths', a list, and does not return it" in caplog.text
