"""jvp, vjp, linearize, linear_transpose, grad, value_and_grad: values, structures, errors."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import transpile
from transpile import (
    errors,
    grad,
    jit,
    jvp,
    linear_transpose,
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
)
from transpile.ir.types import FLOAT0

RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.normal(size=(3, 4))


def cube(x):
    return x * x * x


# ------------------------------------------------------------------------------- values, by order


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_gradients_of_gradients(wrap):
    assert wrap(grad(cube))(3.0) == 27
    assert wrap(grad(grad(cube)))(3.0) == 18
    assert wrap(grad(grad(grad(cube))))(3.0) == 6
    assert wrap(grad(grad(grad(grad(cube)))))(3.0) == 0


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: grad(f),
        lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
        lambda f: lambda x: vjp(f, x)[1](1.0)[0],
        lambda f: lambda x: linearize(f, x)[1](1.0),
        lambda f: lambda x: value_and_grad(f)(x)[1],
        lambda f: grad(jit(f)),
        lambda f: jit(grad(f)),
    ],
    ids=["grad", "jvp", "vjp", "linearize", "value_and_grad", "grad of jit", "jit of grad"],
)
@pytest.mark.parametrize("inner", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]])
def test_any_mode_of_any_mode(derivative, inner):
    def f(x):
        return np.sin(x) * x * x

    x = 0.7
    assert np.isclose(derivative(f)(x), np.cos(x) * x * x + 2 * x * np.sin(x))
    second = -np.sin(x) * x * x + 4 * x * np.cos(x) + 2 * np.sin(x)
    assert np.isclose(derivative(inner(f))(x), second)


def test_inner_and_outer_derivatives_are_not_confused():
    # d/dx (x * d/dy (x + y)) = 1, and the classic example of perturbation confusion
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1
    assert jvp(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 1
    assert grad(lambda x: grad(lambda y: x * y * y)(x) * x)(3.0) == 6 * 3.0**2  # of 2 x^3


def test_the_gradient_of_an_inner_function_sees_captured_values():
    def outer(x):
        return grad(lambda y: np.sin(x) * y * y)(2.0) * x

    x = 0.3
    assert np.isclose(grad(outer)(x), 4 * np.sin(x) + 4 * x * np.cos(x))
    assert np.isclose(jit(grad(outer))(x), 4 * np.sin(x) + 4 * x * np.cos(x))


def test_residuals_are_computed_once():
    calls = []

    def f(x):
        calls.append(1)
        return np.sin(x)

    _, pullback = vjp(f, MATRIX)
    _, tangent = linearize(f, MATRIX)
    for k in (1.0, 2.0):
        np.testing.assert_allclose(pullback(k * MATRIX)[0], k * MATRIX * np.cos(MATRIX))
        np.testing.assert_allclose(tangent(k * MATRIX), k * MATRIX * np.cos(MATRIX))
    assert len(calls) == 2


def test_a_program_may_return_its_linear_function():
    derivative = jit(lambda x: vjp(np.sin, x)[1])(MATRIX)
    np.testing.assert_allclose(derivative(MATRIX)[0], MATRIX * np.cos(MATRIX))
    forwards = jit(lambda x: linearize(np.sin, x)[1])(MATRIX)
    np.testing.assert_allclose(jit(forwards)(MATRIX), MATRIX * np.cos(MATRIX))


# ------------------------------------------------------------------------------ Python's branches


def branching(x):
    if x > 2:
        return x * x
    total = x
    for _ in range(int(x) + 1):
        total = total * x
    return total


@pytest.mark.parametrize(("x", "first", "second"), [(3.0, 6, 2), (1.5, 3 * 1.5**2, 6 * 1.5)])
def test_python_branches_on_known_values(x, first, second):
    assert np.isclose(grad(branching)(x), first)
    assert np.isclose(grad(grad(branching))(x), second)
    assert np.isclose(jvp(branching, (x,), (1.0,))[1], first)
    assert np.isclose(vjp(branching, x)[1](1.0)[0], first)
    assert np.isclose(linearize(branching, x)[1](1.0), first)
    assert np.isclose(transpile.djit(grad(branching))(x), first)


def test_branches_see_values_of_outer_transformations():
    def outer(x):
        return grad(lambda y: y * x if x * y > 0 else -y * x)(2.0)

    assert grad(outer)(3.0) == 1
    assert grad(outer)(-3.0) == -1


def test_under_jit_a_branch_names_the_argument_and_the_line():
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        jit(grad(branching), python_control_flow=False)(3.0)
    assert "if x > 2:" in str(caught.value)
    assert "the argument 'x', in the function 'branching'" in str(caught.value)
    with pytest.raises(errors.TracerBoolConversionError):
        grad(jit(branching, python_control_flow=False))(3.0)


# -------------------------------------------------------------------- pytrees, argnums, aux, dtypes


def test_arguments_and_gradients_are_pytrees():
    def f(params, scale):
        return (params["w"] * params["b"][0]).sum() * scale

    params = {"b": (np.array(2.0), np.ones(2)), "w": MATRIX}
    for wrap in (lambda g: g, jit):
        found = wrap(grad(f))(params, 3.0)
        assert list(found) == ["b", "w"] and isinstance(found["b"], tuple)
        np.testing.assert_allclose(found["w"], np.full((3, 4), 6.0))
        np.testing.assert_allclose(found["b"][0], 3 * MATRIX.sum())
        assert np.array_equal(found["b"][1], np.zeros(2))
        both = wrap(grad(f, argnums=(1, 0)))(params, 3.0)
        np.testing.assert_allclose(both[0], 2 * MATRIX.sum())
        np.testing.assert_allclose(both[1]["w"], found["w"])
        np.testing.assert_allclose(wrap(grad(f, argnums=-1))(params, scale := 3.0), both[0])
        assert scale == 3.0


def test_keyword_arguments_and_plain_objects_pass_through():
    def f(x, kind, *, power=1):
        return {"sum": x.sum, "mean": x.sum}[kind]() * power

    assert np.array_equal(grad(f)(np.ones(3), "sum", power=2), np.full(3, 2.0))


def test_auxiliary_results_may_be_anything():
    def f(x):
        y = np.sin(x)
        return (y * y).sum(), {"y": y, "note": "text", "n": 3}

    g, aux = grad(f, has_aux=True)(MATRIX)
    np.testing.assert_allclose(g, 2 * np.sin(MATRIX) * np.cos(MATRIX))
    np.testing.assert_allclose(aux["y"], np.sin(MATRIX))
    assert (aux["note"], aux["n"]) == ("text", 3)
    (value, aux), g = value_and_grad(f, has_aux=True)(MATRIX)
    assert np.isclose(value, (np.sin(MATRIX) ** 2).sum()) and aux["note"] == "text"
    _, pullback, aux = vjp(f, MATRIX, has_aux=True)
    np.testing.assert_allclose(pullback(1.0)[0], g)
    _, moved, aux = jvp(f, (MATRIX,), (MATRIX,), has_aux=True)
    np.testing.assert_allclose(moved, (g * MATRIX).sum())
    _, moved, aux = linearize(f, MATRIX, has_aux=True)
    np.testing.assert_allclose(moved(MATRIX), (g * MATRIX).sum())


@given(st.sampled_from(["f4", "f8", "c8", "c16"]), st.integers(0, 3))
def test_dtypes_and_shapes_are_those_of_the_primals(dtype, rank):
    x = np.ones((2, 3, 1)[:rank], dtype)
    y, pullback = vjp(lambda v: np.sin(v) * v, x)
    (found,) = pullback(y)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    _, moved = jvp(lambda v: np.sin(v) * v, (x,), (x,))
    assert (moved.dtype, moved.shape) == (x.dtype, x.shape)


def test_integers_have_tangents_without_bytes():
    zeros = np.zeros((), FLOAT0)
    y, t = jvp(lambda n, x: (n * 2, x * n), (3, 2.0), (zeros, 1.0))
    assert (y[0], y[1], t[1]) == (6, 6, 3)
    assert t[0].dtype == FLOAT0
    _, pullback = vjp(lambda n, x: x * n, 3, 2.0)
    n, x = pullback(1.0)
    assert n.dtype == FLOAT0 and x == 3
    found = grad(lambda p: p["x"] * p["n"], allow_int=True)({"x": 2.0, "n": 3})
    assert found["n"].dtype == FLOAT0 and found["x"] == 3


def test_holomorphic_gradients():
    z = 0.3 + 0.4j
    assert np.isclose(grad(np.sin, holomorphic=True)(z), np.cos(z))
    # Of a real function of a complex number: du/dx - i du/dy, as in JAX.
    assert np.isclose(grad(lambda v: v.real**2 * v.imag)(z), 2 * 0.3 * 0.4 - 1j * 0.3**2)


def test_a_constant_result_has_a_zero_gradient():
    assert np.array_equal(grad(lambda x: 3.0)(MATRIX), np.zeros((3, 4)))
    assert np.array_equal(jit(grad(lambda x: 3.0))(MATRIX), np.zeros((3, 4)))
    assert jvp(lambda x: 3.0, (1.0,), (1.0,)) == (3.0, 0.0)


def test_linear_transpose():
    f = lambda x, y: 0.5 * x - 0.25 * y.sum()
    scalar, vector = transpile.ShapeDtypeStruct((), "f4"), transpile.ShapeDtypeStruct((3,), "f4")
    found = linear_transpose(f, scalar, vector)(np.float32(2))
    assert found[0] == 1 and np.array_equal(found[1], np.full(3, -0.5, "f4"))
    assert found[1].dtype == np.float32
    assert np.array_equal(
        linear_transpose(lambda x: x[::-1], vector)(np.arange(3, dtype="f4"))[0], [2, 1, 0]
    )


def test_the_graph_carries_no_dead_work():
    def f(x, y):
        return (np.sin(x) * np.exp(y)).sum()

    def names(g):
        return [e.primitive.name for e in make_jaxpr(g)(MATRIX, MATRIX).equations]

    assert names(lambda x, y: jvp(lambda x: f(x, y), (x,), (x,))[1]).count("exp") == 1
    assert "cos" not in names(grad(f, argnums=1))
    assert names(grad(f, argnums=1)).count("exp") == 1


def test_names_and_lines_of_the_user_reach_the_derivative():
    def loss(weights):
        hidden = np.sin(weights)
        return (hidden * hidden).sum()

    graph = make_jaxpr(grad(loss))(MATRIX)
    assert "dhidden" in {v.name for e in graph.equations for v in e.outputs}
    assert {e.source.function for e in graph.equations} == {"loss"}
    text = jit(grad(loss)).lower(MATRIX).as_text()
    assert "dweights" in text and "grad_loss" in text


# ----------------------------------------------------------------------------------------- errors


ERRORS = [
    (
        lambda: grad(lambda x: x)(MATRIX),
        "Gradient only defined for scalar-output functions. Output had shape: (3, 4).",
    ),
    (
        lambda: grad(lambda x: (x, x))(1.0),
        "Gradient only defined for scalar-output functions. Output was (",
    ),
    (
        lambda: grad(cube)(3),
        "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
        "np.inexact), but got int64. If you want to use Boolean- or integer-valued inputs, use vjp "
        "or set allow_int to True.",
    ),
    (
        lambda: grad(lambda x: x.astype(int))(3.0),
        "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but "
        "got int64.",
    ),
    (
        lambda: grad(lambda x: x * 1j)(3.0),
        "For holomorphic differentiation, pass holomorphic=True.",
    ),
    (
        lambda: grad(cube, holomorphic=True)(3.0),
        "grad with holomorphic=True requires inputs with complex dtype, but got float64.",
    ),
    (
        lambda: grad(cube, argnums=1)(3.0),
        "differentiating with respect to argnums=1 requires at least 2 positional arguments to be "
        "passed by the caller, but got only 1 positional arguments.",
    ),
    (lambda: grad(3), "Expected a callable value, got 3"),
    (
        lambda: grad(cube, has_aux=True)(3.0),
        "expected function with aux output to return a two-element tuple",
    ),
    (
        lambda: grad(lambda x: "text")(3.0),
        "is a str, which is not an array",
    ),
    (
        lambda: grad(cube)("text"),
        "which is neither an array nor a number: 'text'",
    ),
    (
        lambda: jvp(cube, (1.0,), (1.0, 2.0)),
        "primal and tangent arguments to jvp must have the same tree structure",
    ),
    (
        lambda: jvp(cube, (np.float32(1),), (np.float64(1),)),
        "Got primal dtype float32 and so expected tangent dtype float32, but got tangent dtype "
        "float64 instead.",
    ),
    (
        lambda: jvp(cube, (3,), (1.0,)),
        "Got primal dtype int64 and so expected tangent dtype float0",
    ),
    (
        lambda: jvp(cube, (MATRIX,), (MATRIX[0],)),
        "jvp called with different primal and tangent shapes; Got primal shape (3, 4) and tangent "
        "shape as (4,)",
    ),
    (lambda: jvp(cube, 1.0, 1.0), "primal and tangent arguments to jvp must be tuples or lists"),
    (
        lambda: vjp(cube, 1.0)[1]((1.0,)),
        "unexpected tree structure. The argument to a VJP function returned by `vjp` must match",
    ),
    (
        lambda: vjp(cube, 1.0)[1](1.0, 2.0),
        "was called with 2 arguments, but functions returned by `vjp` must be called with a single",
    ),
    (
        lambda: vjp(cube, MATRIX)[1](MATRIX[0]),
        "got float64[4], but expected float64[3,4] because the corresponding output",
    ),
    (lambda: linearize(cube, MATRIX)[1](1.0), "linearized function called on tangent values"),
    (
        lambda: linear_transpose(lambda x: x.astype(int), 1.0),
        "linear_transpose only supports [float or complex] -> [float or complex], and integer -> "
        "integer functions, but got ['float64'] -> ['int64'].",
    ),
    (
        lambda: linear_transpose(lambda x: 2 * x, 1.0)((1.0, 2.0)),
        "cotangent tree does not match function output",
    ),
    (
        lambda: linear_transpose(lambda x: 2 * x, 1.0)(MATRIX),
        "cotangent type does not match function output, expected ['float64[]'] but got "
        "['float64[3,4]']",
    ),
    (
        lambda: linear_transpose(np.sin, 1.0)(1.0),
        "Transpose rule (for reverse-mode differentiation) for 'sin' not implemented",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors_say_what_is_wrong_and_where(call, text):
    with pytest.raises(
        (TypeError, ValueError, NotImplementedError), match=re.escape(text)
    ) as caught:
        call()
    if "callable" not in text:
        assert "test_differentiate.py" in str(caught.value)
