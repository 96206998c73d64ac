"""Traced code calls ours in the place of NumPy's constructors, however it comes by them, and nobody
else sees anything of it."""

import functools
import os
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy as renamed
import pytest
from numpy import array as array_by_name
from places import importing
from thorough import one_in

import transpile
from transpile import lax

X = np.array([2.0, 3.0])


class Model:
    make = staticmethod(np.array)

    def __init__(self, rate):
        self.rate = rate
        self.state = np.array([rate, rate])

    def __call__(self, x):
        return np.array([x[0], self.rate])

    def method(self, x, make=np.array):
        return make([x[1], 1.0])

    @classmethod
    def of_class(cls, x):
        return cls.make([x[0], 2.0])


class Abstract(ABC):
    def __init__(self, x):
        self.both = np.array([x, x])

    @abstractmethod
    def nothing(self):
        """Nothing."""


class Concrete(Abstract):
    def nothing(self):
        return None


class Made:
    def __new__(cls, x):
        made = super().__new__(cls)
        made.both = np.array([x, 2.0])
        return made

    def __init__(self, x):
        self.both = np.array([x, 1.0]) + self.both


class Child(Model):
    def __call__(self, x):
        return super().__call__(x) + 1


@dataclass
class Point:
    x: object
    both: object = None

    def __post_init__(self):
        self.both = np.array([self.x, self.x])


def decorated(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)

    return inner


@decorated
def helper(x):
    return renamed.array([x[0], 7.0])


def recursive(x, n):
    return recursive(x, n - 1) if n else np.array([x[1], x[0]])


def pair(value):
    return np.array([value, 1.0])


def pairs(x):
    for value in x:
        yield np.array([value, 1.0])


F8 = {"dtype": float}
NO_FILE = {"np": np}
exec("def unseen(x):\n return np.array([x[0], 5.0])", NO_FILE)
model = Child(3.0)

WAYS = {
    "renamed module": lambda x: renamed.array([x[0], 1.0]),
    "by name": lambda x: array_by_name([x[0], 1.0]),
    "imported inside": lambda x: __import__("numpy").array([x[0], 1.0]),
    "decorated helper": lambda x: helper(x),
    "instance": lambda x: model(x),
    "method": lambda x: model.method(x),
    "class method": lambda x: Child.of_class(x),
    "constructor": lambda x: Model(x[0]).state,
    "class of a metaclass": lambda x: Concrete(x[0]).both,
    "constructor in two parts": lambda x: Made(x[0]).both,
    "dataclass": lambda x: Point(x[1]).both,
    "partial": lambda x: partial(np.array, ndmin=2)([x[0], 1.0]),
    "partial of a helper": lambda x: partial(recursive, n=2)(x),
    "default": lambda x, make=np.array: make([x[0], 1.0]),
    "item": lambda x: {"make": np.array}["make"]([x[0], 1.0]),
    "starred": lambda x: np.array(*[[x[0], 1.0]], **F8),
    "map": lambda x: sum(map(pair, x)),
    "reduce": lambda x: functools.reduce(lambda a, b: np.array([a, b]), [x[0], x[1]]),
    "generator": lambda x: sum(pairs(x)),
    "comprehension": lambda x: sum(np.array([v, 1.0]) for v in x),
    "nested function": lambda x: (lambda y: np.array([y, 1.0]))(x[0]),
    "without a source": lambda x: NO_FILE["unseen"](x),
    "recursion": lambda x: recursive(x, 2),
    "tree": lambda x: transpile.tree.map(lambda v: np.array([v[0], 1.0]), [x, x])[0],
    "subscript": lambda x: np.r_[x[0], 1.0],
}


@pytest.mark.parametrize("f", WAYS.values(), ids=WAYS)
@one_in(3)
def test_constructors_take_traced_values_however_they_are_reached(f):
    np.testing.assert_array_equal(transpile.jit(f)(X), f(X), strict=True)


INSIDE = {
    "jit": lambda f, x: transpile.jit(f)(x),
    "jit of a method": lambda f, x: transpile.jit(partial(f))(x),
    "vmap": lambda f, x: transpile.vmap(f)(np.stack([x, x + 1])),
    "grad": lambda f, x: transpile.grad(lambda x: f(x).sum())(x),
    "jvp": lambda f, x: transpile.jvp(f, (x,), (x,)),
    "checkpoint": lambda f, x: transpile.checkpoint(f)(x),
    "fori": lambda f, x: lax.fori_loop(0, 3, lambda i, c: f(c), x),
    "while": lambda f, x: lax.while_loop(lambda c: c[0] < 50, lambda c: f(c * 2), x),
    "scan": lambda f, x: lax.scan(lambda c, _: (f(c), c), x, None, 2),
    "cond": lambda f, x: lax.cond(x[0] > 1, f, lambda x: x, x),
    "map": lambda f, x: lax.map(f, np.stack([x, x])),
    "along an axis": lambda f, x: np.apply_along_axis(f, 0, x),
}


@pytest.mark.parametrize("run", INSIDE.values(), ids=INSIDE)
@one_in(2)
def test_functions_that_transformations_call_are_resolved(run):
    def by_array(x):
        return np.array([x[0] * 2, x[1] * x[1]])

    def by_stack(x):
        return np.stack([x[0] * 2, x[1] * x[1]])

    for inside in (lambda f: run(f, X), lambda f: transpile.jit(lambda x: run(f, x))(X)):
        found, expected = (transpile.tree.leaves(inside(f)) for f in (by_array, by_stack))
        assert len(found) == len(expected) > 0
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


# --------------------------------------------------------------------- what stays as it is

count = 0


def test_globals_that_a_traced_function_assigns_are_the_modules():
    def f(x):
        global count
        count += 1
        assert globals()["count"] == count
        return x + count

    before = count
    assert transpile.jit(f)(X).tolist() == (X + before + 1).tolist()
    assert count == before + 1


def test_functions_and_classes_keep_their_identity():
    def f(x):
        assert callable(helper) and helper is globals()["helper"]
        assert np.array is array_by_name and isinstance(model, Model)
        assert type(Model(1.0)) is Model and type(np.vectorize(abs)) is np.vectorize
        return x

    codes = helper.__code__, Model.__call__.__code__, f.__code__
    transpile.jit(f)(X)
    assert (helper.__code__, Model.__call__.__code__, f.__code__) == codes
    assert not any(vars(m).get("_copy") for m in (helper, f))


def test_a_function_made_in_a_trace_is_plain_outside_of_it():
    made = []

    def f(x):
        made.append(lambda v: np.array(v))
        return x

    transpile.jit(f)(X)
    assert type(made[0]([1, 2])) is np.ndarray


def test_the_frames_of_an_error_are_those_of_the_users_code():
    def failing(x):
        raise RuntimeError("on purpose")

    def f(x):
        return failing(x)

    with pytest.raises(RuntimeError) as caught:
        transpile.jit(f)(X)
    names = [entry.name for entry in caught.traceback]
    assert names[-2:] == ["f", "failing"]
    assert caught.traceback[-1].path == caught.traceback[0].path


def test_other_threads_and_forked_children_have_numpys_own():
    """A child that is forked in a trace of another thread, and one forked by the tracing thread."""
    inside, done = threading.Event(), threading.Event()

    def plain(_=None):
        return type(np.array([1, 2])) is np.ndarray and type(np.zeros(2)) is np.ndarray

    def in_child():
        child = os.fork()
        if child == 0:
            os._exit(0 if plain() else 1)
        return os.waitpid(child, 0)[1]

    def slow(x):
        inside.set()
        assert done.wait(60)
        return np.array([x[0], 1.0])

    thread = threading.Thread(target=transpile.jit(slow), args=(X,))
    thread.start()
    assert inside.wait(60)
    statuses = [in_child()]
    others = []
    other = threading.Thread(target=lambda: others.append(plain()))
    other.start()
    other.join()
    done.set()
    thread.join()
    assert statuses == [0] and others == [True]


STRICT = """
import sys, types
import numpy as np

class Strict(types.ModuleType):
    def __setattr__(self, name, value):
        assert isinstance(value, types.ModuleType), name  # the import system adds submodules
        super().__setattr__(name, value)

modules = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == "numpy"}
for module in modules.values():
    if type(module) is types.ModuleType:
        module.__class__ = Strict
classes = [v for v in vars(np).values() if isinstance(v, type)]

def contents():
    own = {(n, k): v for n, m in modules.items() for k, v in list(vars(m).items())}
    own.update({(c, k): v for c in classes for k, v in list(vars(c).items())})
    return own

before = contents()
checked = 0

def check():
    global checked
    checked += 1
    now = contents()
    assert not [k for k, v in before.items() if now[k] is not v]

import transpile
from golden_functions import FUNCTIONS

def checking(f):
    def traced(*args):
        check()
        result = f(*args)
        check()
        return result
    return traced

for f, arguments in FUNCTIONS.items():
    transpile.make_jaxpr(checking(f))(*arguments)
    check()
assert checked > 2 * len(FUNCTIONS)
try:
    np.array = None
except AssertionError:
    print("strict")
"""


def test_no_attribute_of_numpy_is_ever_assigned():
    """Over the golden functions, in modules that refuse it, and whose contents are compared."""
    done = subprocess.run(
        [sys.executable, "-c", STRICT], env=importing(__file__), capture_output=True, text=True
    )
    assert done.stdout == "strict\n", done.stderr
