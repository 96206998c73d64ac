"""Containers among the arguments are copies: a warning tells of a change that nobody sees."""

import logging

import numpy as np
import pytest

import transpile


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
