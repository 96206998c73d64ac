"""vmap: against a Python loop over the examples, nested with everything else, errors by text."""

import functools
import re

import numpy as np
import pytest
from helpers import ordinary, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile import errors, grad, hessian, jacfwd, jacrev, jit, jvp, vjp, vmap
from transpile.functional.vectorize import prefix_axes
from transpile.ir.types import DTYPES, FLOAT0
from transpile.trace.axis_names import named_axis

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(3, 4))
W = RANDOM.normal(size=(4, 5))
V = RANDOM.normal(size=4)

# Functions of arrays of one shape and dtype; what they do to the axes is what batching may confuse.
FUNCTIONS = [
    lambda x, y: x + y * 2,
    lambda x, y: np.where(x > y, x, 0),
    lambda x, y: x.sum(axis=-1) if x.ndim else x,
    lambda x, y: np.max(x, axis=0) if x.ndim and x.shape[0] else y,
    lambda x, y: x.T * y.T,
    lambda x, y: np.concatenate([x.ravel(), y.ravel()[::-1]]),
    lambda x, y: np.tensordot(x, y, axes=x.ndim) if x.dtype.kind in "fc" else x.ravel(),
    lambda x, y: np.outer(x, y),
    lambda x, y: np.cumsum(x.ravel() + y.ravel()[0]) if y.size else x,
    lambda x, y: x[..., None] == np.expand_dims(y, 0) if x.ndim == 1 else y,
    lambda x, y: np.pad(x, 1, constant_values=2)[..., 1:] if x.ndim else y,
    lambda x, y: np.stack([x, y], axis=-1),
    lambda x, y: np.broadcast_to(np.asarray(x.dtype.type(3)), (2, 3)) + x.size,
]


def loop(f, in_axes, out_axis, size, *args):
    """What vmap means: the function of each example, stacked."""
    examples = [
        f(*(x if a is None else np.take(x, k, axis=a) for x, a in zip(args, in_axes, strict=True)))
        for k in range(size)
    ]
    return np.stack([np.asarray(e) for e in examples], axis=out_axis)


def assert_close(found, wanted):
    """The same structure, dtypes and shapes, and values up to the order of summation."""
    assert transpile.tree.structure(found) == transpile.tree.structure(wanted)
    for x, y in zip(transpile.tree.leaves(found), transpile.tree.leaves(wanted), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        tolerance = 1e-12 if x.dtype.itemsize >= 8 else 1e-5
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@st.composite
def calls(draw):
    """A function, its arguments, and the axes that are mapped and made."""
    shape = draw(st.lists(st.integers(0, 3), max_size=2).map(tuple))
    size = draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([d for d in DTYPES if d.kind != "b"]))
    args, axes = [], []
    for _ in range(2):
        axis = draw(st.none() | st.integers(-len(shape) - 1, len(shape)))
        full = list(shape)
        if axis is not None:
            full.insert(axis % (len(shape) + 1), size)
        args.append(ordinary(dtype, tuple(full), draw(seeds)))
        axes.append(axis)
    if axes == [None, None]:
        axes[0] = 0
        args[0] = ordinary(dtype, (size, *shape), draw(seeds))
    return draw(st.sampled_from(FUNCTIONS)), args, axes, size


@given(calls(), st.data())
@settings(max_examples=tries(250))
def test_vmap_is_a_loop_over_examples(call, data):
    f, args, axes, size = call
    rank = loop(f, axes, 0, size, *args).ndim
    out_axis = data.draw(st.integers(-rank, rank - 1))
    wanted = loop(f, axes, out_axis, size, *args)
    found = vmap(f, in_axes=tuple(axes), out_axes=out_axis)(*args)
    assert_close(found, wanted)
    assert found.flags.writeable
    assert found.flags.c_contiguous


@pytest.mark.parametrize("f", FUNCTIONS)
@one_in(2)
def test_a_jitted_vmap_and_a_vmapped_jit_are_the_same_loop(f):
    args, axes = (RANDOM.normal(size=(2, 3, 4)), RANDOM.normal(size=(2, 3))), (2, None)
    wanted = loop(f, axes, -1, 4, *args)
    assert_close(jit(vmap(f, in_axes=axes, out_axes=-1))(*args), wanted)
    assert_close(vmap(jit(f), in_axes=axes, out_axes=-1)(*args), wanted)


def test_a_vmapped_jitted_function_is_jitted_and_has_a_name():
    def area(width, height):
        return width * height

    mapped = vmap(jit(area), in_axes=(0, None))
    assert mapped.__name__ == "vmap_area"
    assert "vmap_area" in mapped.lower(V, 2.0).as_text()
    assert vmap(area).__name__ == "vmap_area"
    assert not hasattr(vmap(area), "lower")


# ------------------------------------------------------------------------------- axes of pytrees


def test_axes_are_prefixes_of_the_arguments_and_results():
    def f(params, x, scale):
        y = np.tanh(x @ params["w"] + params["b"]) * scale
        return {"y": y, "twice": (y * 2, [scale])}

    params = {"w": RANDOM.normal(size=(4, 5, 3)), "b": RANDOM.normal(size=5)}
    in_axes = [{"w": -1, "b": None}, 0, None]  # a list stands for a tuple
    found = vmap(f, in_axes=in_axes, out_axes={"y": 1, "twice": (-1, None)})(params, X, 3.0)
    rows = [np.tanh(X[k] @ params["w"][:, :, k] + params["b"]) * 3.0 for k in range(3)]
    wanted = {
        "y": np.stack(rows, axis=1),
        "twice": (2 * np.stack(rows, axis=-1), [np.array(3.0)]),
    }
    assert_close(found, wanted)


def test_keyword_arguments_are_mapped_along_axis_0():
    def f(x, *, by, further):
        return x * by + further["a"]

    by, further = RANDOM.normal(size=(5, 1)), {"a": RANDOM.normal(size=(5, 4))}
    found = vmap(f, in_axes=None)(V, by=by, further=further)
    assert_close(found, V * by + further["a"])


def test_arguments_that_are_not_mapped_stay_what_they_are():
    seen = []

    def f(x, mode, function, array):
        seen.append((mode, function, type(array)))
        return function(x) if mode == "apply" and array[0] > 0 else x

    found = vmap(f, in_axes=(0, None, None, None))(X, "apply", np.exp, V * V)
    assert_close(found, np.exp(X))
    assert seen == [("apply", np.exp, np.ndarray)]


def test_results_that_no_example_changes_are_repeated_or_given_once():
    def f(x):
        return {"once": V, "each": 2.0, "x": x}

    found = vmap(f, out_axes={"once": None, "each": 0, "x": 1})(X)
    assert_close(found, {"once": V, "each": np.full(3, 2.0), "x": X.T})
    found["each"][0] = 7.0  # an array of its own
    assert found["each"].tolist() == [7.0, 2.0, 2.0]
    jitted = jit(vmap(f, out_axes={"once": None, "each": 0, "x": 1}))
    assert_close(jitted(X), {"once": V, "each": np.full(3, 2.0), "x": X.T})


def test_the_size_may_be_given_and_may_be_0():
    assert_close(vmap(lambda: 3, axis_size=2)(), np.array([3, 3]))
    assert_close(vmap(lambda x: x * V, in_axes=None, axis_size=2)(2.0), np.stack([2 * V] * 2))
    assert_close(vmap(lambda x: (x * 2).sum())(np.zeros((0, 3))), np.zeros(0))


def test_float0_goes_in_and_comes_out():
    nothing = np.zeros((3, 2), FLOAT0)
    given = np.arange(6).reshape(3, 2)
    found = vmap(lambda x, t: jvp(lambda v: v * 2, (x,), (t,)))(given, nothing)
    np.testing.assert_array_equal(found[0], given * 2)
    assert (found[1].dtype, found[1].shape) == (FLOAT0, (3, 2))
    found = vmap(grad(lambda n, x: n * x, argnums=(0, 1), allow_int=True))(given[:, 0], V[:3])
    assert (found[0].dtype, found[0].shape) == (FLOAT0, (3,))
    np.testing.assert_array_equal(found[1], given[:, 0].astype(float))


# --------------------------------------------------------------------------------------- nesting


def loss(w, x):
    return (np.tanh(x @ w) ** 2).sum()


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["numpy", "jit"])
class TestNesting:
    def test_vmap_of_vmap(self, wrap):
        products = vmap(vmap(np.dot, in_axes=(None, 1)), in_axes=(0, None))
        assert_close(wrap(products)(X, W), X @ W)
        outer = vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None), out_axes=1)
        assert_close(wrap(outer)(V, X[:, 0]), np.outer(X[:, 0], V))

    def test_per_example_gradients(self, wrap):
        found = wrap(vmap(grad(loss), in_axes=(None, 0)))(W, X)
        assert_close(found, np.stack([grad(loss)(W, x) for x in X]))
        np.testing.assert_allclose(found.sum(axis=0), grad(lambda w: loss(w, X))(W), rtol=1e-12)

    def test_grad_of_vmap(self, wrap):
        found = wrap(grad(lambda w: vmap(loss, in_axes=(None, 0))(w, X).sum()))(W)
        assert_close(found, sum(grad(loss)(W, x) for x in X))

    def test_vmap_of_jvp_and_vjp(self, wrap):
        tangents = RANDOM.normal(size=X.shape)
        found = wrap(vmap(lambda x, t: jvp(np.sin, (x,), (t,))))(X, tangents)
        assert_close(found, (np.sin(X), np.cos(X) * tangents))
        found = wrap(vmap(lambda x, c: vjp(np.sin, x)[1](c)[0]))(X, tangents)
        assert_close(found, np.cos(X) * tangents)

    def test_a_vjp_function_is_mapped_over_cotangents(self, wrap):
        def rows(x):
            _, pullback = vjp(lambda x: np.sin(x) * x.sum(), x)
            return vmap(pullback)(np.eye(4))[0]

        wanted = np.diag(np.cos(V) * V.sum()) + np.sin(V)[:, None]
        assert_close(wrap(rows)(V), wanted)

    def test_jacobians_of_vmap_and_vmap_of_jacobians(self, wrap):
        def f(x):
            return np.sin(x) * x.sum()

        one = np.stack([np.diag(np.cos(x) * x.sum()) + np.sin(x)[:, None] for x in X])
        every = np.zeros((3, 4, 3, 4))
        every[np.arange(3), :, np.arange(3), :] = one
        for jacobian in (jacfwd, jacrev):
            assert_close(wrap(vmap(jacobian(f)))(X), one)
            assert_close(wrap(vmap(jacobian(f), out_axes=-1))(X), np.moveaxis(one, 0, -1))
            assert_close(wrap(jacobian(vmap(f)))(X), every)

    def test_hessian_of_a_mapped_sum(self, wrap):
        def f(c):
            return vmap(lambda x: np.exp(x * c).sum())(X).sum()

        wanted = np.diag((X**2 * np.exp(X * V)).sum(axis=0))
        assert_close(wrap(hessian(f))(V), wanted)

    def test_a_mapped_function_closes_over_the_differentiated_value(self, wrap):
        def f(s, v):
            return vmap(lambda x: (x * s**2).sum() + v[0] * s)(X).sum()

        found = wrap(grad(f, argnums=(0, 1)))(2.0, V)
        wanted = (np.array(4 * X.sum() + 3 * V[0]), np.array([6.0, 0, 0, 0]))
        assert_close(found, wanted)

    def test_a_mapped_function_closes_over_an_outer_mapped_value(self, wrap):
        def f(a):
            return vmap(lambda b: a @ W + b, out_axes=1)(V)

        wanted = np.stack([(x @ W)[:, None] + V[None, :] for x in X])
        assert_close(wrap(vmap(f))(X), wanted)


def test_grad_knows_the_values_that_a_vmap_inside_closes_over():
    def f(s):
        return vmap(lambda x: x * s if s * 2 > 1 else -x)(V).sum()

    np.testing.assert_allclose(grad(f)(3.0), V.sum())
    np.testing.assert_allclose(grad(f)(0.1), 0.0)


# -------------------------------------------------------------------------------------- axis names


def test_the_names_of_axes_are_bound_inside_only():
    sizes = []

    @functools.partial(vmap, axis_name="rows")
    def outer(x):
        @functools.partial(vmap, axis_name="columns")
        def inner(y):
            sizes.append((named_axis("rows").size, named_axis("columns").size))
            return y

        return inner(x)

    outer(X)
    assert sizes == [(3, 4)]
    with pytest.raises(NameError, match="unbound axis name: rows"):
        named_axis("rows")


def test_the_innermost_axis_of_a_name_is_meant():
    def inner(y):
        assert named_axis("i").size == 4
        return y

    vmap(vmap(inner, axis_name="i"), axis_name="i")(X)
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: x / (1 // 0), axis_name="left")(V)
    with pytest.raises(NameError, match="unbound axis name: left"):
        named_axis("left")


# ------------------------------------------------------------------------------------------ errors


def same(*args, **kwargs):
    return args[0]


PREFIX = "specification must be a tree prefix of the corresponding value; \n  Mismatch details (1"
ERRORS = [
    (lambda: vmap(3), TypeError, "Expected a callable value, got 3"),
    (
        lambda: vmap(same, in_axes="a"),
        TypeError,
        "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
        "arguments passed to the function, but got a.",
    ),
    (
        lambda: vmap(same, in_axes=(True,)),
        TypeError,
        "vmap in_axes must be an int, None, or (nested) container with those types as leaves, but "
        "got (True,).",
    ),
    (
        lambda: vmap(same, out_axes=1.5),
        TypeError,
        "vmap out_axes must be an int, None, or (nested) container with those types as leaves, but "
        "got 1.5.",
    ),
    (
        lambda: vmap(same, in_axes=(0,))(X, X),
        ValueError,
        "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
        "arguments passed to the function, but got len(in_axes)=1, len(args)=2",
    ),
    (
        lambda: vmap(lambda: 1)(),
        ValueError,
        "vmap wrapped function must be passed at least one argument containing an array or "
        "axis_size must be specified, got empty *args=() and **kwargs={}",
    ),
    (
        lambda: vmap(same, in_axes=None)(1, 2),
        ValueError,
        "vmap must have at least one non-None value in in_axes or axis_size must be specified",
    ),
    (
        lambda: vmap(same, in_axes=2)(X),
        ValueError,
        "vmap was requested to map its argument along axis 2, which implies that its rank should "
        "be at least 3, but is only 2 (its shape is (3, 4))",
    ),
    (
        lambda: vmap(same, in_axes=-1)(2.0),
        ValueError,
        "vmap was requested to map its argument along axis -1, which implies that its rank should "
        "be at least 1, but is only 0 (its shape is ())",
    ),
    (
        lambda: vmap(lambda x, **options: x)(X, options={"z": np.ones(7)}),
        ValueError,
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        "  * one axis had size 3: axis 0 of argument x of type float64[3,4];\n"
        "  * one axis had size 7: axis 0 of kwargs['options']['z'] of type float64[7]",
    ),
    (
        lambda: vmap(lambda x, y, z: x, in_axes=(0, 0, 1))(X, {"a": X}, X),
        ValueError,
        "  * most axes (2 of them) had size 3, e.g. axis 0 of argument x of type float64[3,4];\n"
        "  * one axis had size 4: axis 1 of argument z of type float64[3,4]",
    ),
    (
        lambda: vmap(lambda x: x, axis_size=7)(X),
        ValueError,
        "  * the `axis_size` argument was 7;\n"
        "  * one axis had size 3: axis 0 of argument x of type float64[3,4]",
    ),
    (
        lambda: vmap(same, in_axes=({"a": 0},))({"a": X, "b": X}),
        ValueError,
        f"vmap in_axes {PREFIX} found):\n  pytree structure error: different numbers of pytree "
        f"children at key path\n    vmap in_axes[0]\n",
    ),
    (
        lambda: vmap(same, in_axes=((0, 1),))([X, X]),
        ValueError,
        "different types at key path\n    vmap in_axes[0]\nAt that key path, the prefix pytree "
        "vmap in_axes has a subtree of type tuple, but at the same key path the full pytree has a "
        "subtree of different type list.",
    ),
    (
        lambda: vmap(same, in_axes=((0, 1),))((X, X, X)),
        ValueError,
        "different lengths of tuple at key path\n    vmap in_axes[0]\nAt that key path, the prefix "
        "pytree vmap in_axes has a subtree of type tuple of length 2, but the full pytree has a "
        "subtree of the same type but of length 3.",
    ),
    (
        lambda: vmap(same, in_axes=({"a": 0, "c": 0},))({"a": X, "b": X}),
        ValueError,
        "different pytree metadata at key path\n    vmap in_axes[0]\n",
    ),
    (
        lambda: vmap(same, out_axes=(0,))(X),
        ValueError,
        f"vmap out_axes {PREFIX} found):\n  pytree structure error: different types at key path\n"
        f"    vmap out_axes\n",
    ),
    (
        lambda: vmap(lambda x: {"a": x}, out_axes=None)(X),
        ValueError,
        "at vmap out_axes['a'], got axis spec None but output was batched on axis 0",
    ),
    (
        lambda: vmap(same, out_axes=None, axis_name="i")(X),
        ValueError,
        "vmap has mapped output (axis_name=i) but out_axes is None",
    ),
    (
        lambda: vmap(same, out_axes=2)(X),
        ValueError,
        "axis 2 is out of bounds for array of dimension 2",
    ),
    (
        lambda: vmap(lambda x: 1.0, out_axes=-2)(X),
        ValueError,
        "axis -2 is out of bounds for array of dimension 1",
    ),
    (
        lambda: vmap(lambda x: "text")(X),
        TypeError,
        "is a str, which is not an array: 'text'",
    ),
    (
        lambda: vmap(lambda x, label: x)(X, "text"),
        TypeError,
        "argument 'label' of '<lambda>'",
    ),
]


DEFINITIONS = [text for _, _, text in ERRORS[:4]]  # raised by vmap(f) itself


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors_say_what_jax_says(call, kind, text):
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    is_of_a_call = text not in DEFINITIONS
    assert ("test_vmap.py:" in str(caught.value)) == is_of_a_call


def test_python_may_not_ask_for_the_values_of_mapped_arguments():
    mapped = vmap(lambda x, y: x if x.sum() > y else -x, in_axes=(0, None))
    with pytest.raises(errors.TracerBoolConversionError, match="It comes from the argument 'x'"):
        transpile.jit(mapped, python_control_flow=False)(X, 1.0)
    assert_close(mapped(X, 1.0), np.stack([x if x.sum() > 1.0 else -x for x in X]))
    assert_close(vmap(lambda x, y: x if y > 0 else -x, in_axes=(0, None))(X, -1.0), -X)


def test_a_prefix_counts_none_as_a_leaf_and_empty_containers_as_nothing():
    full = transpile.tree.structure(({"a": 1, "b": (2, 3)}, [], None, 4))
    assert prefix_axes("axes", ({"a": None, "b": 1}, 0, None, -1), full) == [None, 1, 1, -1]
    assert prefix_axes("axes", None, full) == [None] * 4
