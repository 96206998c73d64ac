"""Python's usual ways with objects: to print, copy, compare, wrap, inspect them, and call them."""

import copy
import functools
import gc
import inspect
import pydoc
import weakref

import numpy as np
import pytest

import transpile
from transpile import stages

X = np.ones(3)


@transpile.jit
def scaled(x, y=2.0, *, scale=1.0):
    """The product.

    >>> 1 + 1
    2
    """
    return x * y * scale


class Model:
    """With a jitted method."""

    def __init__(self):
        self.rate = 3.0

    @transpile.jit
    def forward(self, x):
        """The product with the rate."""
        return x * self.rate


TRACED, LOWERED = scaled.trace(X), scaled.lower(X)
COMPILED = LOWERED.compile()


def test_representations_name_the_function_and_the_types():
    place = f"scaled (test_python_protocols.py:{scaled.__wrapped__.__code__.co_firstlineno})"
    for stage in (TRACED, LOWERED, COMPILED):
        assert repr(stage) == f"<{type(stage).__name__} {place}: (f64[3]) -> (f64[3])>"
    assert repr(scaled) == f"<jit of {place}>"
    many = transpile.jit(lambda *a: (a[0], a)).trace(*[X] * 20)
    assert repr(many).count("f64[3]") == 16 and repr(many).count("...") == 2
    model = Model()
    assert repr(model.forward).startswith("<bound <jit of forward (") and repr(model)[1:] in repr(
        model.forward
    )


@pytest.mark.parametrize("stage", [TRACED, LOWERED, COMPILED], ids=lambda s: type(s).__name__)
def test_a_stage_is_its_own_copy(stage):
    assert copy.copy(stage) is stage and copy.deepcopy([stage])[0] is stage


def test_calls_through_the_class():
    np.testing.assert_array_equal(stages.Compiled.__call__(COMPILED, X), X * 2)
    np.testing.assert_array_equal(stages.Wrapped.__call__(scaled, X, 3.0), X * 3)
    assert isinstance(COMPILED, stages.Compiled) and isinstance(scaled, stages.Wrapped)
    with pytest.raises(TypeError, match="mismatch"):
        stages.Compiled.__call__(COMPILED, X, X)

    for called in (scaled, COMPILED):
        np.testing.assert_array_equal(type(called).__call__(called, X), X * 2)
        parameters = inspect.signature(type(called).__call__).parameters
        assert list(parameters) == ["self", "args", "kwargs"]


def test_signatures():
    expected = "(x, y=2.0, *, scale=1.0)"
    assert str(inspect.signature(scaled)) == expected
    assert inspect.getfullargspec(scaled).args == ["x", "y"]
    assert str(inspect.signature(COMPILED)) == "(*args, **kwargs)"
    assert "executable" in inspect.signature(stages.Compiled).parameters
    assert inspect.signature(type(scaled)).parameters.keys() == {"function", "config"}
    assert str(inspect.signature(Model().forward)) == "(x)"
    assert str(inspect.signature(Model.forward)) == "(self, x)"


def test_wrappers_get_the_names_and_nothing_of_the_insides():
    @functools.wraps(scaled)
    def wrapper(*args, **kwargs):
        return scaled(*args, **kwargs)

    names = {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__wrapped__"}
    assert vars(wrapper).keys() | {"__module__", "__name__", "__qualname__"} <= names | {
        "__type_params__"
    }
    assert str(inspect.signature(wrapper)) == str(inspect.signature(scaled))
    np.testing.assert_array_equal(transpile.jit(wrapper)(X), X * 2)


def test_help_shows_the_docstrings():
    assert "The product." in pydoc.plain(pydoc.render_doc(scaled))
    assert "With" not in pydoc.plain(pydoc.render_doc(Model().forward))
    assert "The product with the rate." in pydoc.plain(pydoc.render_doc(Model().forward))
    page = pydoc.plain(pydoc.render_doc(COMPILED))
    assert "A loaded program for one signature" in page and "__call__(self" in page
    assert transpile.jit(functools.partial(scaled.__wrapped__, y=3.0)).__doc__ == scaled.__doc__


def test_bound_methods_are_like_pythons():
    model, other = Model(), Model()
    assert model.forward == model.forward and hash(model.forward) == hash(model.forward)
    assert model.forward != other.forward and model.forward != Model.forward
    assert model.forward.__func__.__wrapped__ is Model.forward.__wrapped__
    np.testing.assert_array_equal(model.forward.__func__(model, X), X * 3)
    assert model.forward.__self__ is model
    assert model.forward.__doc__ == "The product with the rate."
    assert type(model.forward).__doc__.startswith("A jitted method")
    kept = model.forward
    assert weakref.ref(kept)() is kept
    assert len({model.forward, model.forward, other.forward}) == 2


def test_what_is_called_goes_with_its_last_reference():
    compiled = transpile.jit(lambda x: x * 5).lower(X).compile()
    alive = weakref.ref(compiled)
    for _ in range(120):
        compiled(X)
    del compiled
    gc.collect()
    assert alive() is None
