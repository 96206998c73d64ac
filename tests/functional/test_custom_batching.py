"""custom_vmap, sequential_vmap, linear_call, mutable references, and the modules of JAX's names."""

import functools

import numpy as np
import pytest

import transpile as jax
from transpile import errors
from transpile.custom_batching import custom_vmap, sequential_vmap
from transpile.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    linear_call,
    zero_from_primal,
)

X = np.arange(3.0)


def marked():
    """x sin and y, whose rule adds 100 and notes what it is called with."""
    calls = []

    @custom_vmap
    def f(x, y):
        return np.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        calls.append((axis_size, in_batched, x.shape))
        return np.sin(x) * y + 100, any(in_batched)

    return f, calls


def test_vmap_runs_the_rule():
    f, calls = marked()
    np.testing.assert_allclose(f(X, 2.0), np.sin(X) * 2)
    np.testing.assert_allclose(jax.jit(f)(X, 2.0), np.sin(X) * 2)
    assert calls == []
    for g in (jax.vmap(f, (0, None)), jax.jit(jax.vmap(f, (0, None)))):
        np.testing.assert_allclose(g(X, 2.0), np.sin(X) * 2 + 100)
    assert calls == [(3, [True, False], (3,))] * 2


def test_derivatives_of_a_custom_vmap():
    """JAX 0.10.2 has those in forward mode, and those of a batch."""
    f, _ = marked()
    assert jax.grad(f)(1.0, 2.0) == 2 * np.cos(1.0)
    value, moved = jax.vmap(lambda x: jax.jvp(f, (x, 2.0), (1.0, 0.0)))(X)
    np.testing.assert_allclose(value, np.sin(X) * 2 + 100)
    np.testing.assert_allclose(moved, np.cos(X) * 2)
    slope = jax.grad(lambda x: jax.vmap(f, (0, None))(x, 2.0).sum())(X)
    np.testing.assert_allclose(slope, np.cos(X) * 2)
    np.testing.assert_allclose(jax.vmap(jax.grad(f), (0, None))(X, 2.0), np.cos(X) * 2)


def test_nested_vmap_batches_the_rule():
    f, calls = marked()
    found = jax.vmap(jax.vmap(f, (0, None)), (0, None))(X[:, None], 2.0)
    np.testing.assert_allclose(found, np.sin(X)[:, None] * 2 + 100)
    assert calls == [(1, [True, False], (1,))]


def test_trees_and_what_is_not_batched():
    @custom_vmap
    def f(d, k=2.0):
        return {"sum": d["a"] + d["b"], "k": d["b"] * k}

    @f.def_vmap
    def rule(axis_size, in_batched, d, k):
        assert in_batched == [{"a": True, "b": False}, False]
        return {"sum": d["a"] + d["b"], "k": d["b"] * k}, {"sum": True, "k": False}

    found = jax.vmap(f, ({"a": 0, "b": None},))({"a": X, "b": 1.0})
    np.testing.assert_allclose(found["sum"], X + 1)
    np.testing.assert_allclose(found["k"], [2, 2, 2])


def test_rules_that_do_not_fit():
    @custom_vmap
    def f(x):
        return x

    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function f"):
        jax.vmap(f)(X)
    for rule, error, words in (
        (lambda size, b, x: x, TypeError, "returns a pair"),
        (lambda size, b, x: ((x, x), True), ValueError, "structure of output value"),
        (lambda size, b, x: (x, (True,)), ValueError, "structure of batching specification"),
        (lambda size, b, x: (x[:2], True), ValueError, r"float64\[2\] for float64\[3\]"),
    ):
        f.def_vmap(rule)
        with pytest.raises(error, match=words):
            jax.vmap(f)(X)
    with pytest.raises(ValueError, match="closes over a value that vmap maps"):
        jax.vmap(lambda y: _closing(y)(1.0))(X)


def _closing(y):
    @custom_vmap
    def f(x):
        return x * y

    f.def_vmap(lambda size, b, x: (x, b[0]))
    return f


def test_sequential_vmap_is_a_loop():
    @sequential_vmap
    def f(x, s):
        return np.sin(x).sum() * s, s

    m = np.arange(6.0).reshape(3, 2)
    found, same = jax.vmap(f, (0, None))(m, 2.0)
    np.testing.assert_allclose(found, np.sin(m).sum(1) * 2)
    np.testing.assert_allclose(same, [2, 2, 2])
    assert "scan" in str(jax.make_jaxpr(jax.vmap(f, (0, None)))(m, 2.0))
    twice = jax.vmap(jax.vmap(f, (0, None)), (0, None))(m[:, None], 2.0)[0]
    np.testing.assert_allclose(twice[:, 0], found)
    slope = jax.grad(lambda m: jax.vmap(f, (0, None))(m, 2.0)[0].sum())(m)
    np.testing.assert_allclose(slope, 2 * np.cos(m))


# ----------------------------------------------------------------------------------- linear calls


def divided(residuals, x, sign=1.0):
    """x / n, with a transpose whose sign tells it apart."""
    return linear_call(
        lambda r, x: {"y": x / r["n"]},
        lambda r, ct: sign * ct["y"] / r["n"],
        residuals,
        x,
    )["y"]


def test_linear_call_is_transposed_by_the_rule():
    r = {"n": 2.0}
    assert divided(r, 3.0) == 1.5 and jax.jit(divided)(r, 3.0) == 1.5
    assert jax.jvp(lambda x: divided(r, x), (3.0,), (1.0,)) == (1.5, 0.5)
    back = functools.partial(divided, sign=-1.0)
    assert jax.grad(lambda x: back(r, x))(3.0) == -0.5
    assert jax.jit(jax.grad(lambda x: back(r, x) ** 2))(3.0) == -1.5
    assert jax.linear_transpose(lambda x: back(r, x), 1.0)(4.0) == (-2.0,)
    found = jax.vmap(lambda n, x: jax.grad(lambda x: back({"n": n}, x))(x))(X + 1, X)
    np.testing.assert_allclose(found, -1 / (X + 1))
    total = jax.grad(lambda x: jax.vmap(lambda n: back({"n": n}, x))(X + 1).sum())(1.0)
    np.testing.assert_allclose(total, -(1 + 1 / 2 + 1 / 3))


def test_linear_calls_that_do_not_fit():
    with pytest.raises(NotImplementedError, match="no derivative by its residual"):
        jax.grad(lambda n: divided({"n": n}, 3.0))(2.0)
    with pytest.raises(ValueError, match="the transpose"):
        jax.grad(lambda x: linear_call(lambda r, x: x, lambda r, c: (c, c), (), x))(1.0)


def test_zeros_and_values_of_rules():
    assert zero_from_primal(X).tolist() == [0, 0, 0]
    assert isinstance(zero_from_primal(X, symbolic_zeros=True), SymbolicZero)
    assert custom_vjp_primal_tree_values({"a": CustomVJPPrimal(1.0, True)}) == {"a": 1.0}
    with pytest.raises(TypeError, match="unexpected leaf of type"):
        custom_vjp_primal_tree_values([1.0])


# ------------------------------------------------------------------------------------- references


def test_a_reference_is_read_and_assigned_to():
    ref = jax.new_ref(X)
    before = ref[...]
    ref[0] = 5.0
    ref.addupdate(1.0, 1)
    assert before.tolist() == [0, 1, 2] and ref[...].tolist() == [5, 2, 2] and X[0] == 0
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), np.float64, 1, 3, 3)
    assert jax.ref.swap(ref, 2, 7.0) == 2 and jax.ref.get(ref, 2) == 7
    jax.ref.set(ref, None, 0.0)
    jax.ref.addupdate(ref, None, 1.0)
    assert jax.freeze(ref).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="has been frozen or freed"):
        ref[0]
    assert jax.empty_ref(jax.ShapeDtypeStruct((2,), np.int32))[...].dtype == np.int32


def test_compiled_functions_assign_to_references():
    ref = jax.new_ref(X)

    @jax.jit
    def step(ref, x):
        old = ref[...]
        ref[...] += x
        ref[0] = old[1]
        return old.sum()

    assert step(ref, 10.0) == 3 and ref[...].tolist() == [1, 11, 12]
    assert step(ref, 1.0) == 24 and ref[...].tolist() == [11, 12, 13]

    @jax.jit
    def sums(x):
        total = jax.new_ref(np.zeros(()))
        for k in range(3):
            total[...] += x[k]
        return total[...]

    assert sums(X) == 3 and jax.grad(sums)(X).tolist() == [1, 1, 1]
    with pytest.raises((ValueError, errors.TranspileError), match="pass it as an argument"):
        jax.jit(lambda x: ref.set(x))(X)


# ---------------------------------------------------------------------------------------- modules


def test_exported_functions_go_through_bytes():
    exported = jax.export.export(jax.jit(lambda x: np.sin(x) * 2))(X)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(again.call(X), np.sin(X) * 2)
    assert again.platforms == ("cpu",) and "stablehlo" in again.mlir_module()
    with pytest.raises(TypeError):
        again.call(X[:2])
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        jax.export.export(np.sin)
    with pytest.raises(ValueError, match="one platform"):
        jax.export.export(jax.jit(np.sin), platforms=("tpu",))


def test_graphs_are_evaluated():
    graph = jax.make_jaxpr(lambda x, y: (x * y, x.sum()))(X, 2.0)
    found = jax.core.eval_jaxpr(graph, (), X, 2.0)
    assert found[0].tolist() == [0, 2, 4] and found[1] == 3
    function = jax.extend.core.jaxpr_as_fun(graph)
    assert jax.jit(lambda x: function(x, 3.0)[0])(X).tolist() == [0, 3, 6]
    with pytest.raises(ValueError, match="takes 2 values, not 1"):
        jax.core.eval_jaxpr(graph, (), X)
    jax.extend.core.check_jaxpr(graph)


def test_dlpack_and_shardings():
    x = X.copy()
    assert np.shares_memory(jax.dlpack.from_dlpack(x), x)
    assert not np.shares_memory(jax.dlpack.from_dlpack(x, copy=True), x)
    assert jax.dlpack.is_supported_dtype(np.float32)
    assert jax.typeof(X).sharding.mesh.empty and jax.typeof(X).sharding.is_fully_replicated
    assert jax.sharding.PartitionSpec("a", None) == ("a", None)


def test_saved_residuals_are_printed(capsys):
    jax.ad_checkpoint.print_saved_residuals(lambda x: np.sin(x).sum(), X)
    assert "float64[3]" in capsys.readouterr().out
