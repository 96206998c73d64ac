"""Jitted functions of class bodies, however Python reaches them: bound, through the class, `super`,
properties, class methods. `self` is a static argument unless it is a pytree."""

import functools
import gc
import inspect
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import transpile as tp

X = np.arange(4.0)
DOUBLED = [0, 2, 4, 6]


class Scale:
    factor = 2.0

    def __init__(self, k):
        self.k = k

    @tp.jit
    def scaled(self, x):
        return self.k * x

    @property
    @tp.jit
    def squared(self):
        return np.multiply(self.k, self.k)

    @functools.cached_property
    @tp.jit
    def row(self):
        return np.ones(3) * self.k

    @classmethod
    @tp.jit
    def of_class(cls, x):
        return cls.factor * x

    @tp.jit
    @staticmethod
    def shifted(x):
        return x + 1

    @tp.jit
    def __call__(self, x):
        return self.k - x

    def plain(self, x):
        return self.k * x


class Twice(Scale):
    factor = 4.0

    @tp.jit
    def scaled(self, x):
        return super().scaled(x) * 2


def test_a_function_of_a_class_takes_its_instances():
    s = Scale(2.0)
    assert s.scaled(X).tolist() == Scale.scaled(s, X).tolist() == DOUBLED
    assert Scale.scaled(Twice(3.0), X).tolist() == [0, 3, 6, 9]
    assert Twice(1.0).scaled(X).tolist() == Twice.scaled(Twice(1.0), X).tolist() == DOUBLED
    assert tp.jit(Scale.plain)(s, X).tolist() == DOUBLED
    assert s(X).tolist() == Scale.__call__(s, X).tolist() == [2, 1, 0, -1]
    s.k = 3.0
    assert Scale.scaled(s, X).tolist() == [0, 3, 6, 9]
    assert Scale.scaled.lower(s, X).compile()(X).tolist() == [0, 3, 6, 9]
    assert Scale.scaled.eval_shape(s, X).shape == (4,)


def test_properties_and_class_methods():
    s = Scale(3.0)
    assert s.squared == 9 and Twice(2.0).squared == 4
    s.k = 4.0
    assert s.squared == 16
    assert s.row.tolist() == [4, 4, 4] and s.row is s.row
    assert Scale.of_class(X).tolist() == s.of_class(X).tolist() == DOUBLED
    assert Twice.of_class(X).tolist() == [0, 4, 8, 12]
    assert Scale.shifted(X).tolist() == s.shifted(X).tolist() == [1, 2, 3, 4]


def test_other_objects_are_still_no_arguments():
    with pytest.raises(TypeError, match=r"'self' of scaled .* is a object, which is neither"):
        Scale.scaled(object(), X)
    with pytest.raises(TypeError, match=r"'s' of <lambda> .* is a Scale, which is neither"):
        tp.jit(lambda s: s.k)(Scale(1.0))


def test_an_instance_without_a_hash_goes_by_identity():
    class Point:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            raise AssertionError("compared")

        @tp.jit
        def scaled(self, x):
            return self.k * x

        @functools.partial(tp.jit, static_argnums=0)
        def static(self, x):
            return x

    p, q = Point(2.0), Point(3.0)
    for _ in range(3):
        assert p.scaled(X).tolist() == Point.scaled(p, X).tolist() == DOUBLED
        assert q.scaled(X).tolist() == [0, 3, 6, 9]
    assert p.scaled._cache_size() == 2
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        p.static(X)


def test_an_instance_that_answers_to_every_name():
    class Anything:
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return 3.0

        @tp.jit
        def scaled(self, x):
            return self.rate * x

    assert Anything().scaled(X).tolist() == Anything.scaled(Anything(), X).tolist() == [0, 3, 6, 9]


@dataclass
class Layer:
    w: np.ndarray
    act: "functools.partial | None" = None
    name: str = "dense"

    @tp.jit
    def __call__(self, x):
        return self.w * x

    @property
    @tp.jit
    def norm(self):
        return (self.w * self.w).sum()


def test_a_dataclass_is_traced_and_its_names_are_structure():
    layer = Layer(np.full(4, 2.0))
    assert layer(X).tolist() == Layer.__call__(layer, X).tolist() == DOUBLED
    assert layer.norm == 16
    assert tp.grad(lambda layer: layer(X).sum())(layer).w.tolist() == X.tolist()
    size = layer.__call__._cache_size()
    layer.w = np.ones(4)
    assert layer(X).tolist() == X.tolist() and layer.__call__._cache_size() == size


def test_signatures_of_methods():
    assert str(inspect.signature(Scale.scaled)) == "(self, x)"
    assert str(inspect.signature(Scale(1.0).scaled)) == "(x)"


def test_singledispatch_over_jitted_functions():
    @functools.singledispatch
    def moved(by, x):
        raise TypeError(by)

    @moved.register
    @tp.jit
    def _(by: float, x):
        return x * by

    @moved.register(tuple)
    @tp.jit
    def _(by, x):
        return x + by[0]

    assert moved(2.0, X).tolist() == DOUBLED
    assert moved((1.0,), X).tolist() == [1, 2, 3, 4]


def test_instances_are_kept_by_the_traces_of_a_method_until_its_cache_is_cleared():
    """The key and the guards of a trace hold the instance, as a static argument is held."""

    class Scaled:
        def __init__(self, by):
            self.by = by

        @tp.jit
        def f(self, x):
            return x * self.by

    models = [Scaled(k) for k in range(3)]
    assert [float(m.f(2.0)) for m in models] == [0, 2, 4] and Scaled.f._cache_size() == 3
    alive = weakref.WeakSet(models)
    del models
    Scaled.f.clear_cache()
    gc.collect()
    assert not alive and Scaled.f._cache_size() == 0
