"""jit, djit, xpr and their relatives: what is traced when, and what comes out."""

from __future__ import annotations

import functools
import gc
import inspect
import logging
import pickle
import re
import subprocess
import sys
import threading
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from thorough import one_in

import transpile as tp
from transpile import stages, tree

X = np.arange(6.0).reshape(2, 3)
Point = namedtuple("Point", "x y")


class Counter:
    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        return self.n


@pytest.fixture
def count():
    return Counter()


@pytest.fixture
def f(count):
    def f(x):
        count()
        return x * 2 + 1

    return f


# --------------------------------------------------------------------------------- decorating


def test_decorator_forms(f):
    for jitted in (tp.jit(f), tp.jit(keep_unused=True)(f), tp.jit()(f), tp.djit(f), tp.djit()(f)):
        assert np.array_equal(jitted(X), X * 2 + 1)
        assert jitted.__wrapped__ is f and jitted.__name__ == "f"


def test_metadata_is_kept():
    @tp.jit
    def documented(x: float, *, scale: float = 2.0) -> float:
        """Scale."""
        return x * scale

    assert documented.__doc__ == "Scale." and documented.__name__ == "documented"
    assert documented.__qualname__.endswith("documented") and documented.__module__ == __name__
    assert list(inspect.signature(documented).parameters) == ["x", "scale"]
    assert "documented (test_api.py:" in repr(documented)
    assert isinstance(documented, stages.Wrapped)


def test_partials_callables_and_builtins():
    def scale(x, n, *, k=1.0):
        return x * n * k

    assert np.array_equal(tp.jit(functools.partial(scale, n=3.0))(X), X * 3)
    bound = tp.jit(functools.partial(scale, k=4.0), static_argnums=1)
    assert bound.__name__ == "scale"
    assert np.array_equal(bound(X, 2), X * 8)

    class Callable:
        factor = 5.0

        def __call__(self, x):
            return x * self.factor

    thing = Callable()
    assert np.array_equal(tp.jit(thing)(X), X * 5)
    assert tp.jit(thing).__name__ == "Callable"
    assert np.allclose(tp.jit(np.sin)(X), np.sin(X))


def test_jit_of_jit(f, count):
    twice = tp.jit(tp.jit(f))
    assert np.array_equal(twice(X), f(X))
    assert count.n == 2  # one trace, one call as plain Python


# ---------------------------------------------------------------------------- when it is traced


def test_one_trace_for_one_signature(f, count):
    jitted = tp.jit(f)
    big = np.arange(24.0).reshape(4, 6)
    for x in (X, X + 1, np.asfortranarray(X), big[::2, ::2], X[::-1], big[:2, 1:4]):
        assert np.array_equal(jitted(x), x * 2 + 1)
    assert count.n == 1 and jitted._cache_size() == 1
    jitted(X.astype("f4"))
    jitted(X[0])
    assert count.n == 3 and jitted._cache_size() == 3


def test_python_scalars_are_traced_and_weak(f, count):
    jitted = tp.jit(lambda x, s: f(x * s))
    x = X.astype("f4")
    for s in (2.0, 3.0, -1.5):
        result = jitted(x, s)
        assert result.dtype == "f4" and np.array_equal(result, x * s * 2 + 1)
    assert count.n == 1
    assert jitted(x, 2).dtype == "f4"
    assert jitted(x, True).dtype == "f4"
    assert jitted(x, np.float64(2)).dtype == "f8"
    assert jitted(x, 1j).dtype == "c8"
    assert count.n == 5


def test_numpy_scalars_and_0d_arrays_share(f, count):
    jitted = tp.jit(f)
    for value in (np.float64(2), np.array(2.0), np.float64(3)):
        result = jitted(value)
        assert isinstance(result, np.ndarray) and result.shape == () and result == value * 2 + 1
    assert count.n == 1


def test_keyword_and_dict_order_do_not_matter(count):
    @tp.jit
    def g(p, *, a, b):
        count()
        return p["x"] - p["y"] + a * 10 - b

    one, two = {"x": X, "y": X + 1}, {"y": X + 1, "x": X}
    assert np.array_equal(g(one, a=X, b=X + 2), g(two, b=X + 2, a=X))
    assert count.n == 1


def test_other_byte_orders_are_converted(f, count):
    jitted = tp.jit(f)
    assert np.array_equal(jitted(X.astype(">f8")), X * 2 + 1)
    assert np.array_equal(jitted(X), X * 2 + 1)
    assert np.array_equal(jitted(X.astype(">f8")), X * 2 + 1)
    assert count.n == 1


def test_every_stage_shares_the_trace(f, count):
    jitted = tp.jit(f)
    jitted.trace(X)
    jitted.lower(tp.ShapeDtypeStruct(X.shape, X.dtype)).compile()
    jitted.eval_shape(X)
    tp.eval_shape(f, X)
    tp.make_jaxpr(jitted)(X)
    tp.xpr(f, X)
    jitted(X)
    tp.jit(f)(X)
    assert count.n == 1
    assert jitted.lower(X) is jitted.trace(X).lower()
    assert jitted.lower(X).compile() is jitted.lower(X + 1).compile()


def test_copied_attributes_do_not_share_traces(count):
    def first(x):
        return x + 1

    tp.jit(first)(X)

    @functools.wraps(first)
    def second(x):
        return x + 2

    assert np.array_equal(tp.jit(second)(X), X + 2)
    assert np.array_equal(tp.jit(first)(X), X + 1)


def test_caches_are_cleared(f, count):
    jitted = tp.jit(f)
    jitted(X)
    jitted.clear_cache()
    assert jitted._cache_size() == 0
    jitted(X)
    tp.clear_caches()
    jitted(X)
    assert count.n == 3


def test_traces_go_when_the_function_goes():
    def make():
        def local(x):
            return x + 1

        tp.jit(local)(X)
        return weakref.ref(local)

    reference = make()
    gc.collect()
    assert reference() is None


# --------------------------------------------------------------------------------------- static


def test_static_values_differ_by_type(count):
    def g(x, n):
        count()
        return x * n

    jitted = tp.jit(g, static_argnums=1)
    for n in (2, 2.0, True, 1, np.int64(2), (1,)[0]):
        assert jitted(X, n).dtype == (X * n).dtype
    assert count.n == 5  # 2, 2.0, True, 1, np.int64(2)
    jitted(X, n=2)
    jitted(X, n=2)
    assert count.n == 6


def test_static_floats_go_by_digits(count):
    @functools.partial(tp.jit, static_argnames="s")
    def g(x, s):
        count()
        return x * (1.0 if str(s) == "0.0" else -1.0)

    assert np.array_equal(g(X, s=0.0), X) and np.array_equal(g(X, s=-0.0), -X)
    g(X, s=float("nan"))
    g(X, s=float("nan"))
    assert count.n == 3


def test_static_tuples_go_by_items(count):
    jitted = tp.jit(lambda x, n: (count(), x * n[0])[1], static_argnums=1)
    assert jitted(X.astype("f4"), (2,)).dtype == "f4"
    jitted(X, (2.0,))
    jitted(X, (2,))
    jitted(X, (2,))
    assert count.n == 3


def test_numbers_and_names_complete_each_other(count):
    def power(x, n=2, *, flag="a"):
        count()
        for _ in range(n - 1):
            x = x * X
        return x if flag == "a" else -x

    by_number, by_name = tp.jit(power, static_argnums=1), tp.jit(power, static_argnames="n")
    for jitted in (by_number, by_name, tp.jit(power, static_argnums=-1)):
        assert np.array_equal(jitted(X, 3), X**3)
        assert np.array_equal(jitted(X, n=3), X**3)
        assert np.array_equal(jitted(X), X**2)
    both = tp.jit(power, static_argnums=1, static_argnames="flag")
    assert np.array_equal(both(X, 1, flag="b"), -X)


def test_variadic_functions():
    jitted = tp.jit(lambda *xs, **more: sum(xs[:-1]) * xs[-1] + more["k"], static_argnums=-1)
    assert np.array_equal(jitted(X, X, 2, k=1.0), 4 * X + 1)
    assert np.array_equal(jitted(X, 3, k=X), 4 * X)
    with_default = tp.jit(lambda x, n=2, *rest: x * n, static_argnums=1)
    assert np.array_equal(with_default(X), X * 2) and np.array_equal(with_default(X, 3), X * 3)


def test_callable_and_string_statics():
    jitted = tp.jit(lambda g, x, mode: g(x) if mode == "on" else x, static_argnums=(0, 2))
    assert np.allclose(jitted(np.cos, X, "on"), np.cos(X))
    assert np.allclose(jitted(np.sin, X, "on"), np.sin(X))
    assert np.array_equal(jitted(np.sin, X, "off"), X)


# -------------------------------------------------------------------------------------- methods


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tp.jit
    def plain(self, x):
        TRACED()
        return x * self.scale

    @functools.partial(tp.jit, static_argnums=(0, 2))
    def power(self, x, n):
        return x**n * self.scale

    @staticmethod
    @tp.jit
    def static(x):
        return x + 1

    @classmethod
    @tp.jit
    def made(cls, x):
        return x + 2


TRACED = Counter()


def test_methods_are_bound():
    model, other = Model(3.0), Model(4.0)
    before = TRACED.n
    assert np.array_equal(model.plain(X), X * 3)
    assert np.array_equal(other.plain(X), X * 4)
    assert np.array_equal(model.plain(x=X), X * 3)
    assert np.array_equal(model.power(X, 2), X**2 * 3)
    assert np.array_equal(Model.static(X), X + 1)
    assert np.array_equal(Model.made(X), X + 2)
    model.plain(X)
    assert TRACED.n - before == 3
    assert model.plain.lower(X).compile()(X).shape == X.shape
    assert model.plain.eval_shape(X) == tp.ShapeDtypeStruct((2, 3), "f8")
    assert model.plain.trace(X).fun_name == "plain" and model.plain.__name__ == "plain"
    assert isinstance(Model.plain, stages.Wrapped) and isinstance(model.plain, stages.Wrapped)
    assert repr(tp.jit(np.sin)) == "<jit of sin>"
    assert np.array_equal(tp.jit(model.power.__wrapped__, static_argnums=1)(X, 2), X**2 * 3)


def test_partial_in_a_class_body():
    class Holder:
        scaled = tp.jit(functools.partial(lambda self, x, k: x * self.factor * k, k=3.0))
        factor = 2.0

    assert np.array_equal(Holder().scaled(X), X * 6)
    assert list(inspect.signature(Model(1.0).plain).parameters) == ["x"]


def test_changed_attribute_of_self_is_noticed():
    model = Model(3.0)
    model.plain(X)
    model.scale = 5.0
    assert np.array_equal(model.plain(X), X * 5)
    model.scale = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(model.plain(X), X * model.scale)
    model.scale[0] = 10.0
    assert np.array_equal(model.plain(X), X * model.scale)
    assert np.array_equal(tp.jit(model.power, static_argnums=1)(X, 1), X * model.scale)


@dataclass
class Particle:
    mass: object
    charge: object

    @tp.jit
    def energy(self, v):
        return self.mass * v * v / 2

    @functools.partial(tp.jit, static_argnums=2)
    def work(self, v, power):
        return (self.mass * v**power).sum()

    @functools.partial(tp.jit, static_argnums=-1)
    def works(self, *speeds):
        *speeds, power = speeds
        return sum((self.mass * v**power).sum() for v in speeds)


def test_self_that_is_a_pytree_is_traced():
    p = Particle(np.array(2.0), 1.0)
    assert np.array_equal(p.energy(X), X * X)
    p.mass = np.array(4.0)
    assert np.array_equal(p.energy(X), 2 * X * X)
    assert Particle.energy._cache_size() == 1


class Scale:
    def __init__(self, factor):
        self.shape, self.dtype, self.factor = (), np.dtype(float), factor

    def __array__(self, dtype=None, copy=None):
        return np.array(self.factor, dtype)

    @tp.jit
    def total(self, x):
        return (np.multiply(self, x) ** 2).sum()


def test_derivatives_of_methods_whose_self_is_traced():
    p = Particle(np.array(2.0), 1.0)
    np.testing.assert_allclose(tp.vmap(p.energy)(X), X * X)
    np.testing.assert_allclose(tp.grad(lambda v: p.energy(v).sum())(X), 2 * X)
    np.testing.assert_allclose(tp.grad(p.work)(X, 3), 6 * X * X)
    np.testing.assert_allclose(tp.grad(p.works, 1)(X, X, 3), 6 * X * X)
    np.testing.assert_allclose(tp.grad(Scale(3.0).total)(X), 18 * X)
    np.testing.assert_allclose(tp.grad(Model(3.0).power)(X[0, 0], 2), 6 * X[0, 0])


# ------------------------------------------------------------------------------ pytrees in and out


@pytest.mark.parametrize(
    "value",
    [
        (X, X + 1),
        [X, (X, None)],
        {"b": X, "a": {"c": X}},
        OrderedDict([("z", X), ("a", X)]),
        Point(X, [X]),
        Particle(X, {"q": X}),
        (),
        None,
        [None, {}],
        (X,),
    ],
    ids=lambda v: type(v).__name__,
)
@one_in(3)
def test_pytrees_in_and_out(value):
    result = tp.jit(lambda p: tree.map(lambda x: x * 2, p))(value)
    assert tree.structure(result) == tree.structure(value) and type(result) is type(value)
    for got, x in zip(tree.leaves(result), tree.leaves(value), strict=True):
        assert isinstance(got, np.ndarray) and np.array_equal(got, x * 2)


def test_constants_and_inputs_as_results():
    table = np.arange(3)
    a, b, c, d, e = tp.jit(lambda x: (x, x, 3, table, 2.5))(X)
    assert np.array_equal(a, X) and np.array_equal(b, X) and c == 3 and c.dtype == "i8"
    assert np.array_equal(d, table) and e.dtype == "f8"
    a[:] = 0
    d[:] = 9
    assert X[1, 2] == 5.0 and table[0] == 0 and b[1, 2] == 5.0
    assert tp.jit(lambda x: None)(X) is None
    assert tp.jit(lambda: np.ones(2) * 2)().tolist() == [2, 2]


# ---------------------------------------------------------------------------------------- nested


def test_nested_functions_are_traced_into_the_outer_one(count):
    inner = tp.jit(lambda x, n: (count(), x * n)[1], static_argnums=1)
    outer = tp.jit(lambda x: inner(x, 2) + inner(X, 3))
    assert np.array_equal(outer(X), X * 5)
    assert np.array_equal(outer(X), X * 5)
    assert count.n == 2 and inner._cache_size() == 0
    assert "multiply" in str(outer.trace(X).jaxpr)


def test_inner_function_closes_over_a_traced_value():
    @tp.jit
    def outer(x):
        @tp.jit
        def inner(y):
            return y * x

        return inner(2.0) + inner(x)

    assert np.array_equal(outer(X), X * 2 + X * X)


def test_recursion():
    @functools.partial(tp.jit, static_argnums=1)
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert np.array_equal(power(X, 4), X**4)


# ------------------------------------------------------------------------------------- dynamic


def test_djit_follows_values(count):
    @tp.djit
    def g(x, n):
        count()
        for _ in range(n):
            x = x * 2
        if x.sum() > 100 and int(x[0, 1]) > 1:
            return x
        return {"small": -x}

    assert np.array_equal(g(X, 4), X * 16)
    assert np.array_equal(g(X, 0)["small"], -X)
    assert np.array_equal(g(X + 1, 4), (X + 1) * 16)
    assert count.n == 3 and g._cache_size() == 2


def test_djit_key_covers_edges_and_constants():
    first = tp.djit(lambda a, b, which: a * b + (a if which else b))
    y = X + 7
    assert np.array_equal(first(X, y, True), X * y + X)
    assert np.array_equal(first(X, y, False), X * y + y)
    tables = [np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])]
    second = tp.djit(lambda x, i: x + tables[i])
    for i in (0, 1, 0):
        assert np.array_equal(second(X, i), X + tables[i])
    assert second._cache_size() == 2
    third = tp.djit(lambda x, s: x * s)
    for s in (1.0, 1.0 + 1e-16, np.nextafter(1.0, 2).item(), 2, 2.0, True):
        assert np.array_equal(third(X, s), X * s) and third(X, s).dtype == (X * s).dtype


def test_djit_never_goes_stale():
    state = {"k": 1.0}
    g = tp.djit(lambda x: x * state["k"])
    assert np.array_equal(g(X), X)
    state["k"] = 2.0
    assert np.array_equal(g(X), X * 2)


def test_djit_stages():
    g = tp.djit(lambda x, n: x * n)
    compiled = g.lower(X, 3).compile()
    assert np.array_equal(compiled(X + 1, 3), (X + 1) * 3)
    with pytest.raises(TypeError, match="Argument 'n' compiled with 3 and called with 4"):
        compiled(X, 4)
    assert g.eval_shape(tp.ShapeDtypeStruct((5,), "f4"), 2.0) == tp.ShapeDtypeStruct((5,), "f4")
    assert tp.jit(lambda x: x, static=False)(X) is not X


# --------------------------------------------------------------- surroundings that change

SCALE = 2.0
WEIGHTS = np.array([1.0, 2.0, 3.0])
OPTIONS = {"shift": [1.0, 2.0]}


def helper(x):
    return x + 1


def test_changed_globals_are_noticed(monkeypatch):
    module = sys.modules[__name__]
    g = tp.jit(lambda x: helper(x * SCALE * WEIGHTS) + OPTIONS["shift"][1])
    assert np.array_equal(g(X), X * 2 * WEIGHTS + 3)
    monkeypatch.setattr(module, "SCALE", 3.0)
    assert np.array_equal(g(X), X * 3 * WEIGHTS + 3)
    monkeypatch.setattr(module, "WEIGHTS", np.ones(3))
    assert np.array_equal(g(X), X * 3 + 3)
    module.WEIGHTS[0] = 7.0
    assert np.array_equal(g(X), X * 3 * [7, 1, 1] + 3)
    monkeypatch.setitem(OPTIONS, "shift", [1.0, 5.0])
    assert np.array_equal(g(X), X * 3 * [7, 1, 1] + 6)
    monkeypatch.setattr(module, "helper", lambda x: x - 1)
    assert np.array_equal(g.lower(X).compile()(X), X * 3 * [7, 1, 1] + 4)


def test_changed_closure_is_noticed_and_counters_are_not():
    factor = 2.0
    calls = []
    number = 0

    @tp.jit
    def g(x):
        nonlocal number
        calls.append(1)
        number += 1
        return x * factor

    assert np.array_equal(g(X), X * 2)
    calls.clear()
    number = 10
    g(X)
    assert calls == [] and number == 10
    factor = 3.0
    assert np.array_equal(g(X), X * 3)
    assert calls == [1]


def test_changed_arguments_of_a_partial_are_noticed():
    w = np.array([1.0, 2.0, 3.0])
    g = tp.jit(functools.partial(lambda x, a, *, b: x * a + b, b=w))
    assert np.array_equal(g(X, 2.0), X * 2 + w)
    w[0] = 9.0
    assert np.array_equal(g(X, 2.0), X * 2 + w)


def test_replaced_object_is_noticed_and_deep_lists_are_no_problem():
    endless = []
    endless.append(endless)
    model, bias = Model(2.0), [[1.0], [[[[[2.0]]]]], endless]
    g = tp.jit(lambda x: x * model.scale + bias[0][0])
    assert np.array_equal(g(X), X * 2 + 1)
    model = Model(3.0)
    assert np.array_equal(g(X), X * 3 + 1)
    bias[0][0] = 4.0
    assert np.array_equal(g(X), X * 3 + 4)


# -------------------------------------------------------------------------------------- switches


def test_disable_jit_runs_python(f, count):
    jitted = tp.jit(f)
    seen = []
    other = tp.jit(lambda x: (seen.append(type(x)), x)[1])
    with tp.disable_jit():
        other(X)
        jitted(X)
        jitted(X)
        with tp.disable_jit(False):
            jitted(X)
    jitted(X)
    assert seen == [np.ndarray] and count.n == 3


def test_show_graph_prints_once(capsys):
    jitted = tp.jit(lambda x: np.sin(x), show_graph=True)
    jitted(X)
    jitted(X)
    assert capsys.readouterr().out == tp.xpr(lambda x: np.sin(x), X) + "\n"
    dynamic = tp.djit(lambda x: np.cos(x), show_graph=True)
    dynamic(X)
    dynamic(X)
    assert capsys.readouterr().out.count("cos") == 1


def test_explain_cache_misses(caplog):
    jitted = tp.jit(lambda x, n, p: x * n, static_argnums=1)
    with caplog.at_level(logging.WARNING, "transpile"):
        jitted(X, 1, {"w": X})
        assert not caplog.records
        with tp.explain_cache_misses():
            jitted(X, 1, {"w": X})
            assert not caplog.records
            jitted(X[0], 1, {"w": X})
            jitted(X[0], 2, {"w": X[0]})
            jitted(X[0], 2, {"v": X[0]})
            tp.jit(lambda x: x)(X)
        jitted(X[0], 3, {"w": X})
    texts = [r.getMessage() for r in caplog.records]
    assert len(texts) == 4
    assert "argument 'x': float64[2,3], then float64[3]" in texts[0] and "test_api.py:" in texts[0]
    assert "static argument 'n': 1, then 2" in texts[1]
    assert """argument "p['w']": float64[2,3], then float64[3]""" in texts[1]
    assert "'v'" in texts[2]
    assert "has not been traced before" in texts[3]


def test_explain_cache_misses_says_that_the_memory_layout_differs(caplog):
    jitted = tp.jit(lambda x, y: x * y)
    with caplog.at_level(logging.WARNING, "transpile"), tp.explain_cache_misses():
        jitted(X, X)
        jitted(X.T.copy().T, X)
        jitted(X, X), jitted(X.T.copy().T, X), jitted(X[:, ::-1], X)
    first, second = [r.getMessage() for r in caplog.records]
    assert "has not been traced before" in first
    assert re.match(r"test_api.py:\d+: compiling <lambda> \(test_api.py:\d+\) again", second)
    assert second.endswith("argument 'x' lies in memory row by row, then column by column")


def test_a_captured_value_that_always_changes_is_named_once(caplog):
    table = np.arange(1000.0)
    jitted = tp.jit(lambda x: x + table[:3])
    with caplog.at_level(logging.WARNING, "transpile"):
        for n in range(8):
            table = table + 1
            assert jitted(X)[0, 0] == X[0, 0] + table[0]
    (text,) = [r.getMessage() for r in caplog.records]
    assert "has been traced and compiled again 5 times because 'table'" in text
    assert text.endswith("Make it an argument of the function.")


# ---------------------------------------------------------------------------------------- texts


def test_xpr_text():
    def program(a, b):
        c = np.sin(a)
        return np.exp(b["k"]) + c

    text = tp.xpr(program, X, {"k": tp.ShapeDtypeStruct((2, 3), "f8")})
    assert text.startswith("{ lambda ; a:f64[2,3] b:f64[2,3]. let\n")
    assert re.search(r"c:f64\[2,3\] = sin a\n", text) and text.endswith("in (e,) }")
    graph = tp.make_jaxpr(program)(X, {"k": X})
    assert str(graph) == text
    assert str(tp.make_jaxpr(lambda x, n: x * n, static_argnums=1)(X, 2)).count("multiply") == 1


def test_names_of_inputs_and_outputs():
    def program(params, x, xs, **more):
        y = np.sin(x)
        return {"loss": x * 2, "y": y, "same": x, "pair": (x * 3, params["w1"])}, [y, y]

    w = {"w1": X, "a-b": X}
    graph = tp.jit(program).trace(w, X, [X, X], k=X).jaxpr
    names = [v.name for v in graph.inputs]
    assert names == ["params_a_b", "params_w1", "x", "xs_0", "xs_1", "k"]
    assert len({*graph.output_names, *names}) == len(names) + len(graph.outputs)
    assert all(name.isidentifier() for name in graph.output_names)
    assert {"y", "out_0_loss"} & {*graph.output_names}
    assert tp.make_jaxpr(lambda x: x + 1)(X).output_names == ("out",)
    assert tp.make_jaxpr(lambda x: (x + 1, x))(X).output_names == ("out_0", "out_1")
    assert tp.make_jaxpr(lambda x: {"loss": x + 1, "x": x})(X).output_names == ("loss", "x_out")


def test_eval_shape_accepts_any_shape_and_dtype():
    class Like:
        shape, dtype = (4, 2), "float32"

    result = tp.eval_shape(lambda p, s: {"sum": p.sum(axis=0) * s, "p": p}, Like(), 2.0)
    assert result == {
        "sum": tp.ShapeDtypeStruct((2,), "f4"),
        "p": tp.ShapeDtypeStruct((4, 2), "f4"),
    }


# -------------------------------------------------------------------------------------- threads


def test_threads_with_one_new_signature_trace_once(count):
    barrier = threading.Barrier(8)

    @tp.jit
    def g(x):
        count()
        for _ in range(50):
            x = x + 1
        return x

    results = []

    def work():
        barrier.wait()
        results.append(g(X))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.n == 1 and len(results) == 8
    assert all(np.array_equal(r, X + 50) for r in results)


def test_threads_with_different_signatures():
    g = tp.jit(lambda x: np.sin(x).sum() + x.shape[0])
    failures = []

    def work(size):
        for _ in range(20):
            x = np.arange(float(size))
            if not np.allclose(g(x), np.sin(x).sum() + size):
                failures.append(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and g._cache_size() == 6


def test_disable_jit_is_for_one_thread(f, count):
    jitted = tp.jit(f)
    jitted(X)
    with tp.disable_jit():
        thread = threading.Thread(target=jitted, args=(X,))
        thread.start()
        thread.join()
    assert count.n == 1


# ------------------------------------------------------------------------------------- importing

module_level = tp.jit(helper)


@tp.jit
def pickled(x):
    return x + 1


def test_jitted_function_pickles_by_name():
    assert pickle.loads(pickle.dumps(pickled)) is pickled
    assert np.array_equal(pickle.loads(pickle.dumps(Model(2.0).plain))(X), X * 2)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(tp.jit(lambda x: x))


def test_import_is_light():
    heavy = "('jinja2', 'pycparser', 'setuptools', 'hypothesis')"
    code = f"import sys, transpile; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist_and_are_documented():
    docstrings = {name: getattr(tp, name).__doc__ or "" for name in tp.__all__}
    assert {"jit", "grad", "vmap", "Options"} < docstrings.keys()
    assert [name for name, text in docstrings.items() if len(text.split()) < 4] == []


def test_an_attribute_of_the_class_that_changes_is_noticed():
    class Scaled:
        scale = 3.0

        @tp.jit
        def times(self, x):
            return x * self.scale

    one = Scaled()
    assert one.times(np.ones(2)).tolist() == [3, 3]
    one.scale = 5.0
    assert one.times(np.ones(2)).tolist() == [5, 5]
    del one.scale
    Scaled.scale = 7.0
    assert one.times(np.ones(2)).tolist() == [7, 7]


def test_an_augmented_assignment_changes_the_callers_array():
    def add_one(x):
        x += 1
        return x * 2

    x = np.zeros(3)
    assert tp.jit(add_one)(x).tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
