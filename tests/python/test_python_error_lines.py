"""Errors within converted code name the user's file, lines and functions."""

import functools
import itertools
import traceback
from pathlib import Path

import numpy as np
import pytest

import transpile

FILE = Path(__file__).name
LINES = Path(__file__).read_text().splitlines()
X = np.arange(3.0)


def line_of(mark):
    """The line that ends with a mark."""
    (number,) = [k for k, text in enumerate(LINES, 1) if text.endswith(f"# {mark}")]
    return number


def users_frames(error):
    """(function, line) of the frames of this file, from the call of the traced function on."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
    return [(f.name, f.lineno) for f in frames[1:]]


def joined(x):
    return np.concatenate([x, x]) + np.ones(5)  # joined


def in_loops(x, n):
    for i in range(n):  # outer
        while x[0] < i:  # inner
            x = joined(x)  # called
    return x


class Model:
    def step(self, x, n):
        total = 0.0
        for i in range(n):  # of method
            if x[i] > 0:  # branch
                total += (x + np.ones(4)).sum()  # in method
        return total


def in_condition(x, n):
    while n > 0 and (x @ np.ones(7)) > 1:  # condition
        n -= 1
    return n


def in_choice(x, n):
    pick = lambda k: x if k > 0 else x + np.ones(9)  # lambda
    return pick(n)


def in_closure(x, n):
    def add(k):
        if k > 1:
            return x + np.ones(8)  # closure
        return x

    return add(n)


def in_handler_free_try(x, n):
    try:
        if n > 0:
            x = x.reshape(7)  # try
    finally:
        n = 0
    return x


def in_elif(x, n):
    if n > 5:
        y = x
    elif n > 3:
        y = (x + 1) @ np.ones((2, 2))  # elif
    else:
        y = 2 * x
    return y


@pytest.mark.parametrize(
    ("f", "marks"),
    [
        (in_loops, ["outer", "inner", "called", "joined"]),
        (Model().step, ["of method", "branch", "in method"]),
        (in_condition, ["condition"]),
        (in_choice, ["lambda"]),
        (in_closure, ["closure"]),
        (in_handler_free_try, ["try"]),
        (in_elif, ["elif"]),
        (functools.partial(Model().step, n=3), ["of method", "branch", "in method"]),
    ],
)
def test_tracebacks_and_texts_have_the_users_lines(f, marks):
    args = (X,) if isinstance(f, functools.partial) else (X, 2)
    with pytest.raises((ValueError, transpile.errors.TracerError)) as caught:
        transpile.jit(f).lower(*args)
    wanted = line_of(marks[-1])
    assert str(caught.value).startswith(f"{FILE}:{wanted}: ")
    frames = users_frames(caught.value)
    assert frames[-1][1] == wanted
    lines = [line for line, _ in itertools.groupby(line for _, line in frames)]
    assert [line for line in lines if line in map(line_of, marks)] == list(map(line_of, marks))
    assert not {name for name, _ in frames} & {"body", "then", "otherwise", "condition"}


def raising(x, n):
    for i in range(n):
        if x[i] > 1:
            raise ValueError(f"no {x[i]} at {i}")
    return x


def test_the_c_has_the_users_lines():
    lowered = transpile.jit(in_loops_that_work).lower(X, 2)
    text = lowered.as_text(debug_info=True)
    assert f'#line {line_of("doubled")} "{__file__}"' in text
    for mark in ("added", "doubled", "counter"):
        number = line_of(mark)
        assert f"{FILE}:{number}: {LINES[number - 1].strip()}" in text


def doubled(x):
    return x * 2.0  # doubled


def in_loops_that_work(x, n):
    total = 0.0
    for i in range(n):  # counter
        while total < doubled(x[i]):
            total += 1 + x[i]  # added
    return total


def test_exceptions_of_the_program_are_raised_from_the_call():
    with pytest.raises(ValueError, match=r"^no 2.0 at 2") as caught:
        transpile.jit(raising)(X, 3)
    assert users_frames(caught.value) == []
