"""`jit(f, dynamic_shapes=...)`: one trace and one program for all lengths."""

import logging
import pickle

import numpy as np
import pytest

import transpile
from transpile import jit

rng = np.random.default_rng(3)


@pytest.fixture
def compiled(monkeypatch):
    """The names of the programs that are lowered."""
    names = []
    original = transpile.stages.Lowered.compile

    def compile_and_count(self, *args, **kwargs):
        if not self._compiled:
            names.append(self._where)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(transpile.stages.Lowered, "compile", compile_and_count)
    return names


def agrees(function, plain, *args):
    for got, expected in zip(
        transpile.tree.leaves(function(*args)), transpile.tree.leaves(plain(*args)), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def scaled(x, w):
    return x @ w / len(x), (x - x.mean(0)).std(0)


def test_declared_axes_need_one_trace_and_one_program(compiled):
    traces = []

    def plain(x, w):
        traces.append(x.shape)
        return scaled(x, w)

    function = jit(plain, dynamic_shapes={"x": ("n", 3)})
    w = rng.normal(size=(3, 2))
    for n in (5, 7, 5, 1, 300, 7):
        agrees(function, scaled, rng.normal(size=(n, 3)), w)
    assert [str(d) for d in traces[0]] == ["n", "3"] and len(traces) == 1 and len(compiled) == 1
    with pytest.raises(
        TypeError, match=r"'x' is float64\[4,5\], and dynamic_shapes says float64\[n,3\]"
    ):
        function(np.ones((4, 5)), w)
    agrees(function, scaled, rng.normal(size=(9, 3)), rng.normal(size=(3, 4)))
    assert len(traces) == 2


def test_declared_constraints_hold_in_each_call():
    n, m = transpile.dims("n, m", "n % 4 == 0", "m == 2*n")
    templates = {"x": (n, None), "params": (m, ...)}
    function = jit(lambda x, params: x.sum() + params["a"].sum(), dynamic_shapes=templates)
    agrees(function, lambda x, p: x.sum() + p["a"].sum(), np.ones((8, 2)), {"a": np.ones((16, 3))})
    with pytest.raises(TypeError, match="axis 0 of 'x' is n with n % 4 == 0, which cannot be 6"):
        function(np.ones((6, 2)), {"a": np.ones((12, 3))})
    with pytest.raises(TypeError, match=r"axis 0 of \"params\['a'\]\" is 2\*n, which is 8"):
        function(np.ones((4, 2)), {"a": np.ones((9, 3))})


def test_all_axes_are_sizes():
    traces = []

    def pairs(x, y, k):
        traces.append((x.shape, y.shape))
        return np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1)) * k

    function = jit(pairs, dynamic_shapes=True)
    shapes = [(4, 3, 5), (8, 2, 9), (6, 7, 5), (30, 4, 2)]
    for n, d, m in shapes:
        x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        agrees(function, lambda x, y, k: pairs(x, y, k), x, y, 2.0)
        del traces[1:]
    assert str(traces[0]) == "((n0, n1), (n2, n1))"
    before = function._cache_size()
    agrees(function, pairs, rng.normal(size=(4, 4)), rng.normal(size=(3, 4)), 2.0)
    assert function._cache_size() == before
    agrees(function, pairs, rng.normal(size=(1, 3)), rng.normal(size=(5, 3)), 2.0)
    assert function._cache_size() == before + 1  # a length of 1 broadcasts: it is another program


def test_the_second_length_of_an_axis_makes_it_a_size(compiled):
    traces = []

    def plain(x, w):
        traces.append(x.shape)
        return scaled(x, w)

    function = jit(plain, dynamic_shapes="auto")
    w = rng.normal(size=(3, 2))
    for n in (5, 5, 6, 7, 5, 40, 6):
        agrees(function, scaled, rng.normal(size=(n, 3)), w)
    assert [tuple(map(str, s)) for s in traces] == [("5", "3"), ("n0", "3")]
    assert len(compiled) == 2


def test_what_has_no_program_for_all_sizes_is_compiled_for_each(caplog):
    def branching(x):
        return x[:6] if x.shape[0] > 6 else x

    function = jit(branching, dynamic_shapes="auto")
    with transpile.explain_cache_misses(), caplog.at_level(logging.WARNING):
        for n in (5, 6, 7, 8):
            agrees(function, branching, rng.normal(size=n))
    assert "has no program for all sizes, but one for each: " in caplog.text
    assert "declare which it is" in caplog.text
    with pytest.raises(transpile.errors.UndecidedSizeError):
        jit(branching, dynamic_shapes=True)(np.ones(5))


def test_calls_in_c_and_pickles_and_methods():
    function = jit(np.cumsum, dynamic_shapes=True)
    for _ in range(80):
        for n in 3, 9:
            agrees(function, np.cumsum, np.arange(1.0 * n))
    again = pickle.loads(pickle.dumps(function))
    agrees(again, np.cumsum, np.arange(5.0))

    class Model:
        def __init__(self, scale):
            self.scale = scale

        @jit(dynamic_shapes={"x": ("n",)})
        def __call__(self, x):
            return x * self.scale

    model = Model(2.0)
    for n in 2, 5:
        agrees(model, lambda x: x * 2.0, np.arange(1.0 * n))


def test_kept_sizes_are_bounded():
    function = jit(lambda x: x * 2, dynamic_shapes={"x": ("n",)})
    for n in range(1, 400):
        assert function(np.ones(n)).shape == (n,)
    assert function._cache_size() == 1
    assert len(function._tracing.table.known) <= 256
    np.testing.assert_array_equal(function(np.ones(1)), [2.0])


def test_a_changed_global_traces_again():
    scope = {"factor": 2.0}
    exec("def f(x):\n    return x * factor\n", scope)
    function = jit(scope["f"], dynamic_shapes=True)
    assert function(np.ones(3))[0] == 2.0 and function(np.ones(4))[0] == 2.0
    scope["factor"] = 5.0
    assert function(np.ones(3))[0] == 5.0 and function(np.ones(7))[0] == 5.0


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ("all", TypeError, "dynamic_shapes is True, 'auto', or a dict"),
        ({"x": 3}, TypeError, "'x' has a shape such as"),
        ({"x": ("n", 2.5)}, TypeError, "an extent of 'x' is a text"),
        ({"x": (..., "n")}, ValueError, "not its last extent"),
        ({"x": ("n +",)}, ValueError, "is no extent"),
    ],
)
def test_other_settings_are_refused(given, error, text):
    with pytest.raises(error, match=text):
        jit(lambda x: x, dynamic_shapes=given)


def test_templates_that_do_not_fit_are_refused():
    with pytest.raises(
        ValueError, match="dynamic_shapes names 'y', and the traced arguments are 'x'"
    ):
        jit(lambda x: x, dynamic_shapes={"y": ("n",)})(np.ones(3))
    with pytest.raises(TypeError, match="says that it has 2 axes"):
        jit(lambda x: x, dynamic_shapes={"x": ("n", 2)})(np.ones(3))
    with pytest.raises(ValueError, match="dynamic_shapes is for static mode"):
        jit(lambda x: x, static=False, dynamic_shapes=True)


@pytest.mark.parametrize("setting", [True, "auto"])
def test_known_subscripts_say_how_long_an_axis_is(setting):
    traced = []

    def picked(x, y):
        traced.append(str(x.shape[0]))
        total = x[2] - x[-4] + y[0]
        for k in range(5):
            total = total * 2 + x[k + 1]
        return total

    function = jit(picked, dynamic_shapes=setting)
    for n in (9, 6, 40, 7):
        agrees(function, picked, rng.normal(size=n), rng.normal(size=3))
    sizes = traced.count("n0")
    assert sizes >= 2  # one collects what is needed, one has it
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        function(np.ones(5), np.ones(3))
    before = len(traced)
    agrees(function, picked, rng.normal(size=11), rng.normal(size=3))
    assert len(traced) == before + 1  # Python's own


def test_what_sizes_have_to_be_is_known_of_inner_functions_everywhere():
    """The trace of an inner function is kept for other functions, which may be called with less."""
    sixth = jit(lambda x: x[5] * 2)
    outer = jit(lambda x: sixth(x) + x.sum(), dynamic_shapes=True)
    agrees(outer, lambda x: x[5] * 2 + x.sum(), rng.normal(size=8))
    (n0,) = transpile.dims("n0", "n0 >= 2")
    types = transpile.ShapeDtypeStruct((n0,), float)
    for other in (lambda x: sixth(x) - 1, lambda x: sixth(x) - 2):
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0"):
            jit(other).lower(types).compile()(np.ones(5))
    in_loop = jit(lambda x: transpile.lax.fori_loop(0, 3, lambda k, c: c + sixth(x), 0.0))
    with pytest.raises(transpile.errors.UndecidedSizeError, match="6 <= n0"):
        in_loop.lower(types)
