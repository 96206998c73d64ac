"""Calls with anything at all: an error in Python's words, never a crash or an error of our own."""

import copy
import ctypes
import datetime
import decimal
import enum
import random
import sys

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

X = np.ones((3, 4))


class HasShape:
    shape, dtype = (3,), np.dtype("float64")


class NoShape:
    shape, dtype = (-1, "a"), "float64"


class AsArray:
    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


class NoArray:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array today")


class EvilEqual:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no equality")


class EvilHash:
    def __hash__(self):
        raise RuntimeError("no hash")


class EvilText:
    def __repr__(self):
        raise RuntimeError("no text")


class EvilAttributes:
    def __getattr__(self, name):
        raise RuntimeError(f"no {name}")


class Sub(np.ndarray):
    pass


class Colour(enum.Enum):
    RED = 1


def endless():
    found = []
    found.append(found)
    return found


def deep(depth=5000):
    found = 1.0
    for _ in range(depth):
        found = [found]
    return found


ENDLESS, DEEP = endless(), deep()
READ_ONLY = np.ones((3, 4))
READ_ONLY.flags.writeable = False
VALUES = [
    *(None, "text", b"bytes", 3, -1, 2**63, 2**64, -(2**63) - 1, 1.5, np.nan, np.inf, 1j, True),
    *(object(), HasShape(), NoShape(), AsArray(), NoArray(), EvilEqual(), EvilHash(), EvilText()),
    *(EvilAttributes(), Colour.RED, [], (), {}, set(), frozenset([1]), [1, [2]], {"a": 1}, {1: 2}),
    *({1: 2, "b": 3}, {np.nan: 1.0}, {(1, 2): 3.0}, {None: X}, ENDLESS, DEEP, {"a": ENDLESS}),
    *((DEEP, DEEP), range(3), iter([1]), int, np, np.float64, np.dtype("f8"), ..., NotImplemented),
    *(
        slice(1, 2),
        datetime.date(2020, 1, 1),
        decimal.Decimal(1),
        ctypes.c_int(3),
        memoryview(b"a"),
    ),
    *(np.array([1, "a"], object), np.array(["a"]), np.datetime64("2020"), np.zeros(3, "f8,i4")),
    *(np.zeros(3, np.longdouble), np.ma.masked_array([1.0, 2], [0, 1]), np.ones(3).view(Sub)),
    *(np.str_("x"), np.bool_(True), np.float16(1), np.longdouble(1), np.complex64(1j), X, X.T),
    *(X[::-1], X[:, ::2], X.astype(">f8"), X.astype("f2"), X.astype(bool), np.zeros((0, 4))),
    *(np.zeros(()), np.zeros((1,) * 40), np.broadcast_to(np.ones(4), (3, 4)), READ_ONLY),
    *(np.ndarray((3, 4), "f8", bytes(200), 1), transpile.ShapeDtypeStruct((3, 4), "f8")),
    transpile.jit(lambda x: x),
]
DONATING = transpile.jit(lambda x, y: (x + y, x), donate_argnums=0)
FUNCTIONS = {
    "one": (transpile.jit(lambda x: x + 1), [X]),
    "two": (transpile.jit(lambda x, y: x @ y), [X, X.T]),
    "named": (transpile.jit(lambda x, *, k=2.0: x * k), [X]),
    "any": (transpile.jit(lambda *a, **k: (a, k)), [X]),
    "static": (transpile.jit(lambda x, n: x * 2 if n else x, static_argnums=1), [X, 1]),
    "donated": (lambda x, *y: DONATING(copy.copy(x), *y), [X, X]),
    "tree": (transpile.jit(lambda t: {"s": t["a"] + 1, "r": t["b"][0]}), [{"a": X, "b": [X]}]),
    "written": (transpile.jit(lambda x: x.__setitem__(0, 7.0)), [X.copy()]),
    "index": (transpile.jit(lambda x, i: x[i]), [X, 1]),
    "dynamic": (transpile.djit(lambda x: x * 2 if x.sum() > 0 else -x), [X]),
    "gradient": (transpile.jit(transpile.grad(lambda x: (x * x).sum())), [X]),
    "mapped": (transpile.jit(transpile.vmap(lambda x: x + 1)), [X]),
    "compiled": (transpile.jit(lambda x: x * 3).lower(X).compile(), [X]),
}
OURS = (errors.InternalError, errors.CompilationError, AssertionError, SystemError, MemoryError)


@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(4)
def test_errors_say_something(name, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", "c")
    function, good = FUNCTIONS[name]
    drawn = random.Random(name)
    for _ in range(3):
        function(*good)
    for _ in range(60):
        args = list(good)
        for _ in range(drawn.choice([1, 1, 2])):
            args[drawn.randrange(len(args))] = drawn.choice(VALUES)
        args = args[: drawn.choice([len(args), len(args), 0])]
        args += drawn.choices(VALUES, k=drawn.random() < 0.1)
        if name == "tree" and args and drawn.random() < 0.7:
            args[0] = {"a": drawn.choice(VALUES), "b": [drawn.choice(VALUES)]}
        kwargs = {drawn.choice("xkn"): drawn.choice(VALUES)} if drawn.random() < 0.1 else {}
        try:
            function(*args, **kwargs)
        except OURS:
            raise
        except Exception as problem:
            assert str(problem)
            if isinstance(problem, RecursionError):
                assert "nested too deeply, or contains itself" in str(problem)
    function(
        *[np.ones((3, 4)) if isinstance(x, np.ndarray) and x.shape == (3, 4) else x for x in good]
    )


@pytest.mark.parametrize("value", [ENDLESS, DEEP, {"a": ENDLESS}, (1.0, DEEP)])
def test_arguments_without_an_end(value):
    def pair(x, y):
        return x

    for function in (transpile.jit(pair), transpile.djit(pair)):
        with pytest.raises(
            RecursionError, match=r"argument 'y' of pair \(test_malformed.*contains i"
        ):
            function(X, value)
        with pytest.raises(RecursionError, match="argument 'y' of pair"):
            function.lower(X, value)
    with pytest.raises(RecursionError, match="is nested too deeply, or contains itself"):
        transpile.jit(lambda x: value)(X)
    with pytest.raises(TypeError, match="which is not an array"):
        transpile.jit(lambda x, y: [object()])(X, 1.0)
    with pytest.raises(ValueError, match=r"Non-hashable static arguments .* is non-hashable: "):
        transpile.jit(pair, static_argnums=1)(X, value)


def test_containers_as_deep_as_python_s_own_limit_allows():
    value, depth = X, sys.getrecursionlimit() // 12
    for _ in range(depth):
        value = [value]
    found = transpile.jit(lambda x: x)(value)
    for _ in range(depth):
        (found,) = found
    np.testing.assert_array_equal(found, X)


def test_texts_in_errors_are_short_and_always_there():
    identity = transpile.jit(lambda x: x)
    with pytest.raises(
        TypeError, match=r"is a EvilText, which is neither .*: <EvilText instance at"
    ):
        identity(EvilText())
    with pytest.raises(TypeError, match="is a slice, which is not an array") as caught:
        identity(slice("long " * 10_000))
    assert len(str(caught.value)) < 2000
