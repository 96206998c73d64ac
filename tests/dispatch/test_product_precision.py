"""The precision of products that is asked for: in the graph, in keys, and through transformations.
What a GPU makes of it is in tests/targets/cuda/test_cuda_routines.py."""

import threading

import numpy as np
import pytest

import transpile
import transpile.numpy as jnp
from transpile import lax
from transpile.util.interrupt_safety import SUSPENDING
from transpile.util.settings.product_precision import FULL, TENSOR_FLOAT, precision_of

RNG = np.random.default_rng(3)
X, Y = (RNG.normal(size=(20, 20)).astype(np.float32) for _ in range(2))
IMAGE = RNG.normal(size=(2, 3, 8, 8)).astype(np.float32)
WEIGHTS = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
OTHER_ALGORITHMS = tuple(
    p for p in lax.DotAlgorithmPreset if p.name not in ("DEFAULT", "TF32_TF32_F32")
)


def asked(function, *arguments):
    """What the products of a function ask for, in all its graphs."""
    return precisions(transpile.make_jaxpr(function)(*arguments))


def precisions(graph):
    products = ("dot_general", "conv_general_dilated")
    own = [e.params.get("precision", FULL) for e in graph.equations if e.primitive.name in products]
    inner = [g for e in graph.equations for g in e.params.values() if isinstance(g, type(graph))]
    return own + [p for g in inner for p in precisions(g)]


@pytest.mark.parametrize(
    ("names", "meaning"),
    [
        ((None, (None, None)), None),
        (("tensorfloat32", "high", "default", "fastest", "bfloat16_3x", "TF32_TF32_F32"), "tf32"),
        ((lax.Precision.HIGH, lax.Precision.DEFAULT, lax.DotAlgorithmPreset.TF32_TF32_F32), "tf32"),
        ((("high", "default"), (lax.Precision.HIGH, "tensorfloat32")), "tf32"),
        (("highest", "float32", lax.Precision.HIGHEST, ("high", "highest"), ("high", None)), FULL),
        (OTHER_ALGORITHMS, FULL),
        ((lax.DotAlgorithm(np.float32, np.float32, np.float32),), FULL),
    ],
)  # fmt: skip
def test_names(names, meaning):
    for name in names:
        assert precision_of(name) == (TENSOR_FLOAT if meaning == "tf32" else meaning)


def test_other_names_are_refused():
    for call in (
        lambda: transpile.jit(lambda x: lax.dot(x, x, precision="exact"))(X),
        lambda: transpile.config.update("jax_default_matmul_precision", "exact"),
        lambda: transpile.default_matmul_precision(0.5).__enter__(),
    ):
        with pytest.raises(ValueError, match="is not a valid Precision"):
            call()


NAMED = {
    "dot_general": lambda x, y, p: lax.dot_general(x, y, (((1,), (0,)), ((), ())), p),
    "dot": lambda x, y, p: lax.dot(x, y, precision=p),
    "batch_matmul": lambda x, y, p: lax.batch_matmul(x[None], y[None], precision=p),
    "ragged_dot": lambda x, y, p: lax.ragged_dot(x, y[None], np.array([20]), precision=p),
    "matmul": lambda x, y, p: jnp.matmul(x, y, precision=p),
    "einsum": lambda x, y, p: jnp.einsum("ij,jk->ik", x, y, precision=p),
    "tensordot": lambda x, y, p: jnp.tensordot(x, y, 1, precision=p),
    "linalg.matmul": lambda x, y, p: jnp.linalg.matmul(x, y, precision=p),
    "linalg.multi_dot": lambda x, y, p: jnp.linalg.multi_dot([x, y], precision=p),
    "conv": lambda x, y, p: lax.conv(IMAGE * x[0, 0], WEIGHTS, (1, 1), "SAME", precision=p),
    "conv_transpose": lambda x, y, p: lax.conv_transpose(
        IMAGE * x[0, 0], np.ones((2, 2, 8, 3), np.float32), (1, 1), "SAME", precision=p
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_products_may_name_it(name):
    function = NAMED[name]
    named = lambda precision: set(asked(lambda x, y: function(x, y, precision), X, Y))
    assert named("tensorfloat32") == {TENSOR_FLOAT}
    assert named(None) == named("highest") == {FULL}
    with transpile.default_matmul_precision("tensorfloat32"):
        assert named(None) == {TENSOR_FLOAT} and named("highest") == {FULL}
        wide = lambda x, y: function(x.astype(np.float64), y.astype(np.float64), "high")
        if "conv" not in name:
            assert set(asked(wide, X, Y)) == {FULL}


def test_it_goes_through_transformations():
    def loss(x, y):
        return np.tanh(jnp.matmul(x, y, precision="tensorfloat32")).sum()

    def convolved(x, w):
        return lax.conv(x, w, (1, 1), "SAME", precision="tensorfloat32").sum()

    for function, arguments in ((loss, (X, Y)), (convolved, (IMAGE, WEIGHTS))):
        found = asked(transpile.grad(function, (0, 1)), *arguments)
        assert len(found) >= 2 and set(found) == {TENSOR_FLOAT}
        assert set(asked(transpile.vmap(function), *(a[None] for a in arguments))) == {TENSOR_FLOAT}
        assert set(asked(transpile.jit(function), *arguments)) == {TENSOR_FLOAT}

    def repeated(x, y):
        step = lambda c, _: (np.tanh(jnp.matmul(c, y, precision="tensorfloat32")), None)
        return lax.scan(step, x, None, length=3)[0].sum()

    assert set(asked(transpile.grad(repeated, (0, 1)), X, Y)) == {TENSOR_FLOAT}


def test_contexts_are_for_products_of_the_user():
    """Rules of primitives, such as the derivative of a solution, compute in full precision."""
    derivative = transpile.grad(lambda x: np.linalg.solve(x, x).sum())
    inside = transpile.jit(
        lambda x, y: inner(x, y)  # a context may begin in what is traced
    )

    def inner(x, y):
        with transpile.default_matmul_precision("high"):
            high = x @ y
        return high @ y

    with transpile.default_matmul_precision("tensorfloat32"):
        assert set(asked(derivative, X)) == {FULL}
    assert asked(inside, X, Y) == [TENSOR_FLOAT, FULL]


def test_a_function_has_a_trace_for_each_precision():
    traced = []

    @transpile.jit
    def product(x, y):
        traced.append(transpile.config.jax_default_matmul_precision)
        return x @ y

    expected = product(X[0], Y[0])
    for _ in range(2):
        with transpile.default_matmul_precision("tensorfloat32"):
            assert product(X[0], Y[0]) == expected  # a CPU computes the same
            with transpile.default_matmul_precision("highest"):
                product(X[0], Y[0])
        with transpile.default_matmul_precision("highest"):
            product(X[0], Y[0])
    assert traced == [None, "tensorfloat32"] and SUSPENDING == []
    with transpile.default_matmul_precision("tensorfloat32"):
        asking = product.trace(X, Y)
    plain = product.trace(X, Y)
    assert precisions(asking.jaxpr) == [TENSOR_FLOAT] and precisions(plain.jaxpr) == [FULL]
    assert asking.jaxpr.fingerprint() != plain.jaxpr.fingerprint()
    assert "precision=tensorfloat32" in asking.lower().as_text("loops")
    assert "precision=" not in plain.lower().as_text("loops")


def test_it_may_be_asked_for_in_all_threads_or_in_one():
    found = {}

    def other(name):
        found[name] = asked(lambda x, y: x @ y, X, Y)

    def in_a_thread(name):
        thread = threading.Thread(target=other, args=(name,))
        thread.start()
        thread.join()

    with transpile.default_matmul_precision("tensorfloat32"):
        in_a_thread("beside a context")
    transpile.config.update("jax_default_matmul_precision", "tensorfloat32")
    try:
        in_a_thread("in all threads")
        with transpile.default_matmul_precision(None):
            other("in a context of nothing")
    finally:
        transpile.config.update("jax_default_matmul_precision", None)
    assert found == {
        "beside a context": [FULL],
        "in all threads": [TENSOR_FLOAT],
        "in a context of nothing": [FULL],
    }
    assert SUSPENDING == [] and transpile.config.jax_default_matmul_precision is None
