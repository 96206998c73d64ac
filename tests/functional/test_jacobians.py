"""jacfwd, jacrev, jacobian, hessian: values, structures and dtypes, against analytic ones."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import errors, grad, hessian, jacfwd, jacobian, jacrev, jit, jvp, make_jaxpr, vmap

RANDOM = np.random.default_rng(5)
V = RANDOM.normal(size=4)
W = RANDOM.normal(size=(4, 3))
MODES = [jacfwd, jacrev]
plain_and_jit = pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["numpy", "jit"])
both = pytest.mark.parametrize("jac", MODES)


def assert_close(found, wanted):
    """The same structure, dtypes and shapes, and values up to the order of summation."""
    assert transpile.tree.structure(found) == transpile.tree.structure(wanted)
    for x, y in zip(transpile.tree.leaves(found), transpile.tree.leaves(wanted), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rosenbrock_hessian(x):
    diagonal = np.zeros(x.size)
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    beside = np.diag(-400 * x[:-1], 1)
    return np.diag(diagonal) + beside + beside.T


# ------------------------------------------------------------------------------------------ values


@given(
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.lists(st.integers(0, 3), max_size=2).map(tuple),
    st.integers(0, 99),
)
def test_jacobians_of_linear_and_nonlinear_maps_of_every_shape(inner, outer, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=inner)
    a = random.normal(size=(*outer, *inner))

    def linear(x):
        return np.tensordot(a, x, axes=x.ndim)

    wanted = np.cos(linear(x)).reshape(outer + (1,) * len(inner)) * a
    for jac in MODES:
        assert_close(jac(linear)(x), a)
        assert_close(jac(lambda x: np.sin(linear(x)))(x), wanted)


@plain_and_jit
@both
def test_jacobians_of_elementwise_functions_are_diagonal(jac, wrap):
    def f(x):
        return np.sin(x)[:, ::-1].T

    x = RANDOM.normal(size=(2, 3))
    wanted = np.zeros((3, 2, 2, 3))
    for i in range(2):
        for j in range(3):
            wanted[2 - j, i, i, j] = np.cos(x[i, j])
    assert_close(wrap(jac(f))(x), wanted)


@plain_and_jit
@both
def test_jacobians_of_dead_parts_are_zero(jac, wrap):
    def f(x, y):
        return {"constant": np.ones(2), "x": x * 2, "integer": 3, "y": np.floor(y)}

    expected = {
        "constant": (np.zeros((2, 4)), np.zeros((2, 3))),
        "integer": (np.zeros(4, np.int64), np.zeros(3, np.int64)),
        "x": (2 * np.eye(4), np.zeros((4, 3))),
        "y": (np.zeros((3, 4)), np.zeros((3, 3))),
    }
    if jac is jacrev:
        del expected["integer"]

        def g(x, y):
            result = f(x, y)
            del result["integer"]
            return result

        assert_close(wrap(jac(g, argnums=(0, 1)))(V, W[0]), expected)
    else:
        assert_close(wrap(jac(f, argnums=(0, 1)))(V, W[0]), expected)


@plain_and_jit
@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev, grad])
@one_in(3)
def test_hessians_in_every_order_of_modes(outer, inner, wrap):
    x = RANDOM.normal(size=6)
    assert_close(wrap(outer(inner(rosenbrock)))(x), rosenbrock_hessian(x))
    assert_close(outer(wrap(inner(wrap(rosenbrock))))(x), rosenbrock_hessian(x))


@plain_and_jit
def test_hessian_of_a_function_of_vectors(wrap):
    def f(x):
        return np.stack([x[0] ** 2 * x[1], np.exp(x[1])])

    x = np.array([0.7, -0.3])
    wanted = np.array([[[2 * x[1], 2 * x[0]], [2 * x[0], 0.0]], [[0.0, 0.0], [0.0, np.exp(x[1])]]])
    assert_close(wrap(hessian(f))(x), wanted)
    assert_close(wrap(vmap(hessian(f)))(np.stack([x, x])), np.stack([wanted, wanted]))


def test_third_derivatives():
    wanted = np.zeros((4, 4, 4))
    wanted[np.arange(4), np.arange(4), np.arange(4)] = 24 * V
    for last in (jacfwd, jacrev):
        assert_close(last(hessian(lambda x: (x**4).sum()))(V), wanted)


def test_a_product_of_hessian_and_vector_takes_no_hessian():
    direction = RANDOM.normal(size=6)
    x = RANDOM.normal(size=6)
    found = jvp(grad(rosenbrock), (x,), (direction,))[1]
    assert_close(found, rosenbrock_hessian(x) @ direction)


@both
def test_the_values_of_arguments_are_known_outside_jit_only(jac):
    def f(x):
        return x**2 if x[0] > 0 else 3 * x

    assert_close(jac(f)(np.abs(V)), np.diag(2 * np.abs(V)))
    assert_close(jac(f)(-np.abs(V)), 3 * np.eye(4))
    assert_close(hessian(lambda x: f(x).sum())(np.abs(V)), 2 * np.eye(4))
    with pytest.raises(errors.TracerBoolConversionError, match="the argument 'x'"):
        jit(jac(f), python_control_flow=False)(V)
    assert_close(jit(jac(f))(np.abs(V)), np.diag(2 * np.abs(V)))


# -------------------------------------------------------------------------------------- structures


@plain_and_jit
@both
@one_in(2)
def test_the_structure_is_the_results_with_the_arguments_in_its_leaves(jac, wrap):
    def f(params, x):
        y = x @ params["w"] + params["b"][0]
        return {"y": y, "parts": (y.sum(), [2.0 * x])}

    params = {"w": W, "b": (RANDOM.normal(size=3),)}
    eye = np.eye(3)
    dy = {"w": np.einsum("i,kj->kij", V, eye), "b": (eye,)}
    dsum = {"w": np.outer(V, np.ones(3)), "b": (np.ones(3),)}
    dx = {"w": np.zeros((4, 4, 3)), "b": (np.zeros((4, 3)),)}
    wanted = {"y": dy, "parts": (dsum, [dx])}
    assert_close(wrap(jac(f))(params, V), wanted)
    by_x = {"y": W.T, "parts": (W.sum(axis=1), [2 * np.eye(4)])}
    assert_close(wrap(jac(f, argnums=1))(params, V), by_x)
    assert_close(wrap(jac(f, argnums=-1))(params, V), by_x)
    pairs = {
        "y": (W.T, dy),
        "parts": ((W.sum(axis=1), dsum), [(2 * np.eye(4), dx)]),
    }
    assert_close(wrap(jac(f, argnums=(1, 0)))(params, V), pairs)


def test_the_structure_of_a_hessian_is_a_product_of_three():
    def f(params):
        return {"c": params["a"] * params["b"] ** 2}

    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])

    def block(values):
        found = np.zeros((2, 2, 2))
        found[np.arange(2), np.arange(2), np.arange(2)] = values
        return found

    wanted = {
        "c": {
            "a": {"a": block(0), "b": block(2 * b)},
            "b": {"a": block(2 * b), "b": block(2 * a)},
        }
    }
    assert_close(hessian(f)({"a": a, "b": b}), wanted)
    assert_close(jit(hessian(f))({"a": a, "b": b}), wanted)


@plain_and_jit
def test_auxiliary_results_come_along(wrap):
    def f(x):
        return x**2, {"sum": x.sum()}

    for jac in MODES:
        assert_close(wrap(jac(f, has_aux=True))(V), (np.diag(2 * V), {"sum": np.asarray(V.sum())}))
    second, aux = wrap(hessian(lambda x: (x.sum() ** 3, {"sum": x.sum()}), has_aux=True))(V)
    assert_close(second, np.full((4, 4), 6 * V.sum()))
    assert_close(aux, {"sum": np.asarray(V.sum())})


def test_auxiliary_results_may_be_any_object():
    assert jacrev(lambda x: (x, "note"), has_aux=True)(V)[1] == "note"


@both
def test_nothing_has_an_empty_jacobian(jac):
    assert jac(lambda x: None)(V) is None
    assert jac(lambda x: x, argnums=())(V) == ()
    assert_close(jac(lambda x: x)(np.zeros((0, 2))), np.zeros((0, 2, 0, 2)))


def test_names_and_jit_go_along():
    def area(x):
        return x * x

    assert jacfwd(area).__name__ == "jacfwd_area"
    assert jacobian(area).__name__ == "jacrev_area"
    assert "hessian_area" in hessian(jit(area)).lower(2.0).as_text()
    assert_close(hessian(jit(area))(2.0), np.array(2.0))


# ------------------------------------------------------------------------------------------ dtypes


def test_dtypes_are_the_results_forwards_and_the_arguments_backwards():
    def f(d):
        return d["a"].sum() * d["b"]

    given = {"a": np.arange(3, dtype="f4"), "b": np.arange(2.0)}
    wanted = {"a": np.array([[0.0] * 3, [1.0] * 3]), "b": 3 * np.eye(2)}
    assert_close(jacfwd(f)(given), wanted)
    assert_close(jacrev(f)(given), {"a": wanted["a"].astype("f4"), "b": wanted["b"]})


def test_complex_arguments_and_results():
    z = V + 1j * W[:, 0]
    wanted = np.diag(np.exp(z) * z[0])
    wanted[:, 0] += np.exp(z)
    for jac in MODES:
        assert_close(jac(lambda z: np.exp(z) * z[0], holomorphic=True)(z), wanted)
    assert_close(hessian(lambda z: (z**3).sum(), holomorphic=True)(z), np.diag(6 * z))
    assert_close(jacfwd(lambda x: x * (1 + 2j))(V), np.eye(4) * (1 + 2j))
    # As in JAX the derivative of |z|^2 by z is 2 conj(z).
    assert_close(jacrev(lambda z: z.real**2 + z.imag**2)(z), np.diag(2 * np.conj(z)))


def test_integers_have_jacobians_of_zeros_where_that_is_allowed():
    found = jacrev(lambda x, n: x * n, argnums=(0, 1), allow_int=True)(V, np.arange(4))
    assert_close(found, (np.diag(np.arange(4.0)), np.zeros((4, 4), np.int64)))


FORWARD_INPUT = (
    "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got "
)
BACKWARD_OUTPUT = (
    "jacrev requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but "
    "got "
)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jacfwd(3), "Expected a callable value, got 3"),
        (lambda: jacfwd(lambda x: x)(np.arange(3)), FORWARD_INPUT + "int64. For holomorphic"),
        (lambda: jacfwd(lambda x: x)(V + 1j), FORWARD_INPUT + "complex128. For holomorphic"),
        (
            lambda: jacfwd(lambda x: x, holomorphic=True)(V),
            "jacfwd with holomorphic=True requires inputs with complex dtype, but got float64.",
        ),
        (
            lambda: jacfwd(lambda x: x.real, holomorphic=True)(V + 1j),
            "jacfwd with holomorphic=True requires outputs with complex dtype, but got float64.",
        ),
        (
            lambda: jacrev(lambda x: x)(np.arange(3)),
            "jacrev requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            "np.inexact), but got int64.",
        ),
        (lambda: jacrev(lambda x: x)(V + 1j), BACKWARD_OUTPUT + "complex128. For holomorphic"),
        (lambda: jacrev(lambda x: (x, 3))(V), BACKWARD_OUTPUT + "int64. For differentiation"),
        (
            lambda: jacrev(lambda x: x, holomorphic=True)(V),
            "jacrev with holomorphic=True requires inputs with complex dtype, but got float64.",
        ),
        (
            lambda: jacrev(lambda x: x.real, holomorphic=True)(V + 1j),
            "jacrev with holomorphic=True requires outputs with complex dtype, but got float64.",
        ),
        (
            lambda: jacfwd(lambda x: x, argnums=2)(V),
            "differentiating with respect to argnums=2 requires at least 3 positional arguments",
        ),
        (lambda: jacfwd(lambda x: x)("text"), "argument 'x' is a str, which is neither"),
    ],
)
def test_errors_say_what_jax_says(call, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        call()


# ---------------------------------------------------------------------------------------- programs


def test_a_program_holds_no_matrix_of_unit_vectors():
    lowered = jit(hessian(rosenbrock)).lower(np.ones(50))
    assert not lowered._lowering.graph.constants()
    assert "iota" in lowered.as_text("graph")
    # Each comparison of two counts stands in the expression that reads it.
    loops = lowered.as_text("loops")
    assert "equal (equal, bool[50,50]): inline" in loops
    assert_close(jit(hessian(rosenbrock))(np.ones(50)), rosenbrock_hessian(np.ones(50)))


def test_zero_blocks_take_no_derivative():
    def f(x, y):
        return np.sin(x), np.exp(y)

    for jac in MODES:
        graph = make_jaxpr(jac(f, argnums=(0, 1)))(V, W[0])
        rows = [e.primitive.name for e in graph.equations]
        # A block for each of the two that are not zero: one comparison, one product.
        assert rows.count("equal") == 2
        assert [e.output.type.shape for e in graph.equations if e.primitive.name == "multiply"] == [
            (4, 4),
            (3, 3),
        ]
