"""Donation: the result has the argument's memory, and the argument is deleted."""

import numpy as np
import pytest

import transpile as tp


def address(x):
    return x.ctypes.data


DONATING = {
    "argnums": {"donate_argnums": 0},
    "argnames": {"donate_argnames": "x"},
    "dynamic": {"donate_argnums": (0,), "static": False},
}


@pytest.mark.parametrize("n", [3, 100_000])
@pytest.mark.parametrize("settings", DONATING.values(), ids=DONATING)
def test_the_result_has_the_memory_and_the_argument_is_deleted(settings, n):
    f = tp.jit(lambda x: x * 2 + 1, **settings)
    x = np.ones(n)
    where = address(x)
    y = f(x)
    assert address(y) == where and y.tolist() == [3] * n
    assert str(x.dtype) == "[('deleted float64', 'V8')]"
    for use in (lambda: x + 1, lambda: np.sin(x), lambda: x.sum()):
        with pytest.raises(TypeError):
            use()
    for use in (f, tp.jit(np.sin), f.lower(y).compile(), tp.grad(lambda x: x.sum())):
        with pytest.raises(RuntimeError, match=r"Array has been deleted: .*dtype float64"):
            use(x)


def test_a_state_that_is_handed_on():
    step = tp.jit(lambda s: {"a": s["a"] + 1, "b": s["b"] * 2.0}, donate_argnums=0)
    state = {"a": np.zeros(4), "b": np.ones((2, 3))}
    places = address(state["a"]), address(state["b"])
    for _ in range(300):  # past the point at which the program is called from C
        before, state = state, step(state)
        assert before["a"].dtype.names and before["b"].dtype.names
    assert (address(state["a"]), address(state["b"])) == places
    assert state["a"].tolist() == [300] * 4 and state["b"][0, 0] == 2.0**300


def test_memory_that_is_not_taken_is_left():
    x = np.ones(4)
    tp.jit(lambda x: x.sum(), donate_argnums=0)(x)  # of another shape
    tp.jit(lambda x: x.astype("f4"), donate_argnums=0)(x)  # of another dtype
    tp.jit(lambda x, y: x + y, donate_argnums=(0, 1))(x, x)  # given twice
    tp.jit(lambda x, y: x + y, donate_argnums=0)(x[1:], x[:3])  # shared
    locked = x.copy()
    locked.flags.writeable = False
    tp.jit(lambda x: x + 1, donate_argnums=0)(locked)
    assert x.tolist() == locked.tolist() == [1] * 4


def test_what_memory_analysis_says():
    def alias(f, *args, **settings):
        compiled = tp.jit(f, **settings).lower(*args).compile()
        return compiled.memory_analysis().alias_size_in_bytes

    x, y = np.ones(5), np.ones((2, 3), "f4")
    both = lambda x, y: (x + 1, y * 2)
    assert alias(both, x, y) == 0
    assert alias(both, x, y, donate_argnums=0) == 40
    assert alias(both, x, y, donate_argnums=(0, 1)) == 64
    assert alias(both, x, y, donate_argnames=["y"]) == 24
    assert alias(lambda x: x.sum(), x, donate_argnums=0) == 0


def test_results_that_are_one_array_and_arguments_that_are_assigned_to():
    x = np.ones(3)
    a, b = tp.jit(lambda x: (x + 1,) * 2, donate_argnums=0)(x)
    assert a.tolist() == b.tolist() == [2] * 3 and x.dtype.names

    @tp.jit(donate_argnums=0)
    def assigned(x):
        x += 1
        return x

    x = np.ones(3)
    assert assigned(x) is x and x.tolist() == [2] * 3


def test_a_table_of_dynamic_programs_is_bounded(monkeypatch):
    monkeypatch.setattr("transpile.dispatch.trace_cache.MOST_GRAPHS", 4)
    runs = []

    def f(x, n):
        runs.append(n)
        return x * n

    dynamic = tp.djit(f)
    for n in range(10):
        assert dynamic(np.ones(2), n).tolist() == [n, n]
        dynamic(np.ones(2), 0)  # used again and again, it stays
    assert dynamic._cache_size() == 4 and len(runs) == 20
    kept = set(dynamic._tracing.table.traced)
    dynamic(np.ones(2), 0)
    assert set(dynamic._tracing.table.traced) == kept


def test_static_calls_never_trace_again_for_a_number():
    runs = []

    @tp.jit
    def f(x, n):
        runs.append(1)
        return x * n

    for n in range(300):
        assert f(np.ones(2), n).tolist() == [n, n]
    assert len(runs) == 1 and f._cache_size() == 1
