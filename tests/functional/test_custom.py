"""Custom derivatives: the rule is used, under every transformation, and checked in JAX's words."""

import itertools
import re
from functools import partial

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors
from transpile.functional.custom import (
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    named_call,
    stop_gradient,
)
from transpile.functional.differentiate import jvp, linear_transpose, linearize, vjp
from transpile.functional.gradients import grad, value_and_grad
from transpile.functional.jacobians import hessian, jacfwd, jacrev
from transpile.functional.placeholders import CustomVJPPrimal, SymbolicZero
from transpile.functional.vectorize import vmap
from transpile.ir.types import FLOAT0
from transpile.trace.tracer import Tracer

X = np.array([[-1.5, 0.25, 2.0], [0.5, -0.75, 1.0]])
W = np.array([0.3, -1.2, 0.7])

# Rules whose derivative is 10 times the true one in x and 100 times in w: nobody else gives these.


@custom_jvp
def forward(x, w):
    return np.sin(x) * w


@forward.defjvp
def forward_jvp(primals, tangents):
    x, w = primals
    dx, dw = tangents
    return forward(x, w), 10 * np.cos(x) * w * dx + 100 * np.sin(x) * dw


@custom_vjp
def reverse(x, w):
    return np.sin(x) * w


def reverse_fwd(x, w):
    return reverse(x, w), (x, w)


def reverse_bwd(residuals, ct):
    x, w = residuals
    return 10 * np.cos(x) * w * ct, 100 * np.sin(x) * ct


reverse.defvjp(reverse_fwd, reverse_bwd)

BOTH = pytest.mark.parametrize("f", [forward, reverse], ids=["custom_jvp", "custom_vjp"])
JITTED = pytest.mark.parametrize(
    "around, inside",
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["plain", "jit around", "jit inside", "jit around and inside"],
)


def jitted(function, is_jitted):
    return transpile.jit(function) if is_jitted else function


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def refuses(kind, text):
    return pytest.raises(kind, match=re.escape(text))


# ------------------------------------------------------------------------------ the rule is used


@BOTH
def test_outside_a_trace_the_function_is_called_with_what_it_is_given(f):
    given = []
    other = type(f)(lambda *args: given.append(args) or "anything")
    other.defjvp(None) if f is forward else other.defvjp(1, 1)
    if f is forward:
        other.jvp = forward_jvp
    thing = object()
    assert other(thing, 3) == "anything" and given == [(thing, 3)]
    close(f(X, W), np.sin(X) * W)


@BOTH
@JITTED
def test_gradients_are_those_of_the_rule(f, around, inside):
    inner = jitted(f, inside)
    g = jitted(grad(lambda x, w: inner(x, w).sum(), (0, 1)), around)
    dx, dw = g(W, W + 1)
    close(dx, 10 * np.cos(W) * (W + 1))
    close(dw, 100 * np.sin(W))


@BOTH
@JITTED
def test_second_derivatives_apply_the_rule_twice(f, around, inside):
    inner = jitted(f, inside)
    g = jitted(grad(grad(lambda x: inner(x, 2.0))), around)
    # The rule's own cos is differentiated as it stands: -sin, not by a rule.
    close(g(0.7), -20 * np.sin(0.7))
    mixed = grad(lambda w: grad(inner)(0.7, w))
    close(mixed(2.0), 10 * np.cos(0.7))


@BOTH
def test_nested_gradients_call_the_rule_of_the_result_as_well(f):
    # d/dx (f(x, w) f(x, w)) = 2 f f', where the second derivative needs f' of both factors.
    squared = lambda x: f(x, 2.0) ** 2
    value, slope = 2 * np.sin(0.7), 20 * np.cos(0.7)
    close(grad(squared)(0.7), 2 * value * slope)
    close(grad(grad(squared))(0.7), 2 * slope * slope + 2 * value * -20 * np.sin(0.7))


@JITTED
def test_forward_mode_uses_the_rule(around, inside):
    inner = jitted(forward, inside)
    push = jitted(lambda x, w, dx, dw: jvp(inner, (x, w), (dx, dw)), around)
    value, moved = push(W, W + 1, W + 2, W + 3)
    close(value, np.sin(W) * (W + 1))
    close(moved, 10 * np.cos(W) * (W + 1) * (W + 2) + 100 * np.sin(W) * (W + 3))


def test_jacobians_and_hessians_use_the_rule():
    expected = np.diag(10 * np.cos(W) * 2.0)
    close(jacfwd(lambda x: forward(x, 2.0))(W), expected)
    close(jacrev(lambda x: forward(x, 2.0))(W), expected)
    close(jacrev(lambda x: reverse(x, np.full(3, 2.0)))(W), expected)
    close(hessian(lambda x: forward(x, 2.0).sum())(W), np.diag(-20 * np.sin(W)))


@BOTH
def test_linearize_and_vjp_use_the_rule(f):
    value, pull = vjp(f, W, W + 1)
    close(value, np.sin(W) * (W + 1))
    dx, dw = pull(np.array([1.0, 2.0, 3.0]))
    close(dx, 10 * np.cos(W) * (W + 1) * [1, 2, 3])
    close(dw, 100 * np.sin(W) * [1, 2, 3])
    if f is forward:
        close(linearize(f, W, W + 1)[1](W, 0 * W), 10 * np.cos(W) * (W + 1) * W)


@BOTH
def test_without_a_derivative_the_rule_is_not_run(f):
    calls = []
    other = type(f)(lambda x: 2 * x)
    rule = lambda *args: calls.append(args)
    other.defjvp(rule) if f is forward else other.defvjp(rule, rule)
    close(transpile.jit(other)(W), 2 * W)
    close(vmap(other)(W), 2 * W)
    assert not calls


def test_a_linear_function_is_transposed_through_its_graph():
    double = custom_jvp(lambda x: 2 * x)
    double.defjvp(lambda primals, tangents: (2 * primals[0], 2 * tangents[0]))
    close(linear_transpose(double, 1.0)(3.0)[0], 6.0)


# -------------------------------------------------------------------------------------- batches


def loop(function, axes, args, count):
    """vmap, as a loop."""
    results = [
        function(*[a if axis is None else np.take(a, k, axis) for a, axis in zip(args, axes)])
        for k in range(count)
    ]
    return (
        tuple(map(np.stack, zip(*results))) if isinstance(results[0], tuple) else np.stack(results)
    )


@BOTH
@JITTED
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (1, None)])
@one_in(5)
def test_vmap_of_a_gradient_is_a_loop_of_gradients(f, around, inside, axes):
    inner = jitted(f, inside)
    g = grad(lambda x, w: (inner(x, w) ** 2).sum(), (0, 1))
    args = [W if axis is None else np.stack([W, W - 1, W + 2]) for axis in axes]
    found = jitted(vmap(g, axes), around)(*args)
    expected = loop(lambda x, w: (20 * c(x, w), 200 * d(x, w)), axes, args, 3)
    close(found[0], expected[0])
    close(found[1], expected[1])


def c(x, w):
    return np.sin(x) * w * np.cos(x) * w


def d(x, w):
    return np.sin(x) * w * np.sin(x)


@BOTH
@JITTED
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("argnum", [0, 1])
@one_in(5)
def test_gradient_of_a_vmap_sums_over_what_the_examples_share(f, around, inside, axes, argnum):
    inner = jitted(f, inside)
    args = [W if axis is None else np.stack([W, W - 1]) for axis in axes]
    cts = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    total = lambda x, w: (vmap(inner, axes)(x, w) * cts).sum()
    found = jitted(grad(total, argnum), around)(*args)
    x, w = np.broadcast_arrays(*args)
    parts = cts * (10 * np.cos(x) * w if argnum == 0 else 100 * np.sin(x))
    close(found, parts if axes[argnum] == 0 else parts.sum(0))


@BOTH
def test_nested_batches(f):
    total = lambda x, w: vmap(vmap(f, (None, 0)), (0, None))(x, w).sum()
    dx, dw = grad(total, (0, 1))(X[:, 0], W)
    close(dx, 10 * np.cos(X[:, 0]) * W.sum())
    close(dw, np.full(3, 100 * np.sin(X[:, 0]).sum()))


@BOTH
def test_a_batch_of_second_derivatives(f):
    found = vmap(grad(grad(lambda x: f(x, 2.0))))(W)
    close(found, -20 * np.sin(W))


@pytest.mark.parametrize("ct", [5.0, np.float64(5.0), None])
def test_a_constant_cotangent_counts_once_for_each_example(ct):
    f = custom_vjp(lambda x, w: x * w)
    f.defvjp(lambda x, w: (x * w, None), lambda residuals, g: (None, ct))
    total = lambda x, w: vmap(f, (0, None))(x, w).sum()
    close(grad(total, 1)(np.ones(4), 2.0), 20.0 if ct else 0.0)
    close(grad(total, 0)(np.ones(4), 2.0), np.zeros(4))


def test_a_constant_tangent_in_a_batch():
    f = custom_jvp(lambda x, w: x * w)
    f.defjvp(lambda primals, tangents: (primals[0] * primals[1], 3.0 * tangents[1]))
    close(vmap(grad(f, 1), (0, None))(W, 2.0), np.full(3, 3.0))
    close(vmap(grad(f, 0), (0, None))(W, 2.0), np.zeros(3))
    close(grad(lambda w: vmap(f, (0, None))(W, w).sum())(2.0), 9.0)


def test_a_result_that_does_not_depend_on_the_batch():
    f = custom_vjp(lambda x, w: (x * w, w))
    f.defvjp(lambda x, w: ((x * w, w), (x, w)), lambda r, g: (7 * g[0] * r[1], g[0] * r[0] + g[1]))
    x_of = lambda x: vmap(f, (0, None))(x, 2.0)
    product, shared = x_of(W)
    close(product, 2 * W)
    close(shared, np.full(3, 2.0))
    total = lambda w: sum(part.sum() for part in vmap(f, (0, None))(W, w))
    close(grad(total)(2.0), W.sum() + 3)


# ------------------------------------------------------------------------- arguments and results


def test_trees_and_integers_go_in_and_out():
    f = custom_jvp(lambda p, n: {"y": p["a"] * p["b"] ** n, "n": n + 1})

    @f.defjvp
    def rule(primals, tangents):
        (p, n), (t, dn) = primals, tangents
        assert dn.dtype == FLOAT0 and dn.shape == np.shape(n)
        return f(p, n), {"y": 10 * t["a"] + 0 * t["b"], "n": np.zeros((), FLOAT0)}

    p = {"a": 2.0, "b": 3.0}
    value, moved = jvp(f, (p, 2), ({"a": 1.0, "b": 5.0}, np.zeros((), FLOAT0)))
    assert value["y"] == 18 and value["n"] == 3
    assert moved["y"] == 10 and moved["n"].dtype == FLOAT0
    found = grad(lambda p: f(p, 2)["y"])(p)
    assert found == {"a": 10, "b": 0}


def test_integers_have_no_cotangent_whatever_the_rule_says():
    f = custom_vjp(lambda d, k: {"s": d["a"] * d["b"] + k, "k": k + 1})
    arrived = []

    def bwd(residuals, ct):
        arrived.append(ct["k"].dtype)
        return {"a": 2 * ct["s"] * residuals["b"], "b": None}, 3.5

    f.defvjp(lambda d, k: (f(d, k), d), bwd)
    d = {"a": W, "b": 2 * W}
    found = grad(lambda d: f(d, np.arange(3))["s"].sum())(d)
    close(found["a"], 4 * W)
    close(found["b"], 0 * W)
    assert arrived == [FLOAT0]
    value, pull = vjp(f, d, np.arange(3))
    assert value["k"].dtype == np.int64
    _, dk = pull({"s": W, "k": np.zeros(3, FLOAT0)})
    assert dk.dtype == FLOAT0


def test_keywords_and_defaults_reach_the_rule_by_position():
    f = custom_jvp(lambda x, w=3.0, *rest: x * w)
    f.defjvp(lambda primals, tangents: (primals[0] * primals[1], 7 * tangents[0] * primals[1]))
    close(grad(lambda x: f(w=2.0, x=x))(1.0), 14.0)
    close(grad(f)(1.0), 21.0)


def test_single_precision_stays_beside_python_numbers():
    slope = custom_jvp(lambda x, a: np.where(x > 0, x, a * x))
    slope.defjvp(lambda p, t: (slope(*p), 2 * t[0] * p[1] + t[1] * p[0]))
    x = W.astype("f4")
    for found in (
        grad(lambda x: slope(x, 0.5).sum())(x),
        vmap(grad(lambda x: slope(x, 0.5)))(x),
        transpile.jit(grad(lambda x: slope(x, 0.5).sum()))(x),
    ):
        assert found.dtype == np.float32
        close(found, np.ones(3))


def test_residuals_that_are_not_arrays_stay_what_they_are():
    f = custom_vjp(lambda x: x * 3)
    f.defvjp(lambda x: (x * 3, ("text", 3, None, [x])), lambda r, g: (g * r[1] * (r[0] == "text"),))
    close(grad(f)(2.0), 3.0)
    close(vmap(grad(f))(W), np.full(3, 3.0))


def test_a_cotangent_of_another_precision_is_converted():
    f = custom_vjp(lambda x: x * 3)
    f.defvjp(lambda x: (x * 3, None), lambda _, g: (g * np.float64(2),))
    found = grad(f)(np.float32(1))
    assert found.dtype == np.float32 and found == 2


@pytest.mark.parametrize("bwd", [lambda r, g: [g], lambda r, g: (g,)])
def test_a_leaf_of_the_result_of_bwd_may_stand_for_a_tree(bwd):
    f = custom_vjp(lambda d: d["a"])
    f.defvjp(lambda d: (d["a"], None), bwd)
    assert grad(f)({"a": 1.0, "b": 2.0}) == {"a": 1, "b": 1}


@pytest.mark.parametrize("how", [{"nondiff_argnums": (0,)}, {"nondiff_argnames": ("g",)}])
def test_arguments_that_are_functions(how):
    @partial(custom_vjp, **how)
    def apply(g, x):
        return g(x)

    apply.defvjp(lambda g, x: (apply(g, x), x), lambda g, x, ct: (3 * ct * g(x),))

    @partial(custom_jvp, **how)
    def pushed(g, x):
        return g(x)

    pushed.defjvp(lambda g, p, t: (pushed(g, *p), 3 * t[0] * g(p[0])))
    for f in (apply, pushed):
        close(f(np.sin, 1.0), np.sin(1.0))
        for g in (np.sin, np.exp, lambda x: x**3):
            close(grad(lambda x: f(g, x))(0.5), 3 * g(0.5))
            close(transpile.jit(grad(lambda x: f(g, x)))(0.5), 3 * g(0.5))
            close(vmap(grad(lambda x: f(g, x)))(abs(W)), 3 * g(abs(W)))


@JITTED
def test_a_traced_argument_may_be_left_out_of_a_forward_rule(around, inside):
    f = custom_jvp(lambda n, x: n * x, nondiff_argnums=(0,))
    f.defjvp(lambda n, p, t: (n * p[0], 5 * n * t[0]))
    found = jitted(grad(jitted(f, inside), (0, 1)), around)(2.0, 3.0)
    close(found[0], 0.0)
    close(found[1], 10.0)


def test_a_traced_argument_left_out_of_a_backward_rule():
    f = custom_vjp(lambda n, x: n * x, nondiff_argnums=(0,))
    f.defvjp(lambda n, x: (n * x, None), lambda n, r, g: (n * g,))
    with refuses(
        errors.UnexpectedTracerError,
        "Tracers cannot be passed as non-differentiable arguments to custom_vjp functions; "
        "instead, nondiff_argnums should only be used for arguments that can't be or contain",
    ):
        transpile.jit(f)(1.0, 2.0)


def test_defjvps_sums_the_shares_of_the_arguments():
    f = custom_jvp(lambda x, y, z: (x * y, z))
    f.defjvps(lambda t, out, x, y, z: (2 * t * y, 0 * z), None, lambda t, out, x, y, z: (0 * x, t))
    _, moved = jvp(f, (3.0, 4.0, 5.0), (1.0, 1.0, 1.0))
    assert moved == (8, 1)
    f.defjvps(None, None, None)
    assert jvp(f, (3.0, 4.0, 5.0), (1.0, 1.0, 1.0))[1] == (0, 0)
    with refuses(TypeError, "Can't use ``defjvps`` with ``nondiff_argnums``."):
        custom_jvp(lambda x: x, nondiff_argnums=(0,)).defjvps(None)


def test_python_may_branch_on_values_inside_a_custom_function():
    f = custom_jvp(lambda x: 2 * x if x > 0 else -x)
    f.defjvp(lambda p, t: (abs(p[0]), 17 * t[0]))
    close(grad(f)(3.0), 17.0)
    close(transpile.jit(grad(f))(3.0), 17.0)
    with pytest.raises(errors.TracerBoolConversionError):
        transpile.jit(grad(f), python_control_flow=False)(3.0)


def test_symbolic_zeros_of_tangents():
    seen = []
    f = custom_jvp(lambda x, y, n: x * y * n)

    def rule(primals, tangents):
        x, y, n = primals
        seen.append([isinstance(t, SymbolicZero) for t in tangents])
        assert tangents[2].dtype == FLOAT0 and tangents[2].shape == ()
        parts = [t * 5 for t in tangents[:2] if not isinstance(t, SymbolicZero)]
        return x * y * n, sum(parts)

    f.defjvp(rule, symbolic_zeros=True)
    assert grad(f, 0)(1.0, 2.0, 3) == 5
    assert grad(f, 1)(1.0, 2.0, 3) == 5
    assert seen == [[False, True, True], [True, False, True]]


def test_symbolic_zeros_of_cotangents():
    seen = []
    f = custom_vjp(lambda x, y: (x * 2, y))

    def fwd(x, y):
        assert isinstance(x, CustomVJPPrimal)
        seen.append((x.perturbed, y.perturbed))
        return (x.value * 2, y.value), None

    def bwd(_, cts):
        seen.append([type(ct) for ct in cts])
        return cts[0], cts[1]

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert grad(lambda x: f(x, 1.0)[0])(1.0) == 1
    assert seen == [(True, False), [Tracer, SymbolicZero]]
    assert grad(lambda y: f(1.0, y)[0])(1.0) == 0
    with refuses(NotImplementedError, "remat optimization for custom_vjp does not support"):
        f.defvjp(fwd, bwd, symbolic_zeros=True, optimize_remat=True)


def test_zeros_arrive_as_arrays():
    f = custom_vjp(lambda x: (x, 2 * x))
    seen = []
    f.defvjp(lambda x: (f(x), None), lambda _, cts: (seen.append(cts) or cts[0] + 3 * cts[1],))
    assert grad(lambda x: f(x)[1])(1.0) == 3
    assert [ct.shape for ct in seen[0]] == [(), ()]


# --------------------------------------------------------------------------- closed-over values


def scaled_forward(w, x):
    f = custom_jvp(lambda x: x * w)
    f.defjvp(lambda p, t: (f(p[0]), 7 * t[0] * w))
    return f(x)


def scaled_reverse(w, x):
    f = custom_vjp(lambda x: x * w)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (7 * ct * w,))
    return f(x)


@pytest.mark.parametrize("f", [scaled_forward, scaled_reverse])
@JITTED
@one_in(2)
def test_rules_may_close_over_traced_values(f, around, inside):
    inner = jitted(f, inside)
    close(jitted(grad(inner, 1), around)(2.0, 3.0), 14.0)
    close(jitted(vmap(grad(inner, 1), (0, None)), around)(W, 3.0), 7 * W)
    close(jitted(grad(lambda x: vmap(inner, (0, None))(W, x).sum()), around)(3.0), 7 * W.sum())


@pytest.mark.parametrize("kind, f", [("jvp", scaled_forward), ("vjp", scaled_reverse)])
@JITTED
def test_the_derivative_by_a_closed_over_value_is_refused(kind, f, around, inside):
    with refuses(
        errors.UnexpectedTracerError,
        f"Detected differentiation of a custom_{kind} function with respect to a closed-over "
        f"value. That isn't supported because the custom {kind.upper()} rule only specifies how to "
        f"differentiate the custom_{kind} function with respect to explicit input parameters. Try "
        f"passing the closed-over value into the custom_{kind} function as an argument",
    ):
        jitted(grad(jitted(f, inside)), around)(2.0, 3.0)


def masked_forward(x):
    mask = x > 0
    f = custom_jvp(lambda x: np.where(mask, x, 0.0).sum())
    f.defjvp(lambda p, t: (f(p[0]), np.where(mask, 5 * t[0] * p[0], t[0]).sum()))
    return f(x)


def masked_reverse(x):
    mask = x > 0
    f = custom_vjp(lambda x: np.where(mask, x, 0.0).sum())
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (np.where(mask, 5 * ct * x, ct),))
    return f(x)


@pytest.mark.parametrize("f", [masked_forward, masked_reverse])
@JITTED
@one_in(2)
def test_rules_may_close_over_values_of_the_trace_that_is_differentiated(f, around, inside):
    inner = jitted(f, inside)
    expected = np.where(X > 0, 5 * X, 1.0)
    close(jitted(grad(inner), around)(X[0]), expected[0])
    close(jitted(vmap(grad(inner)), around)(X), expected)
    close(jitted(grad(lambda x: vmap(inner)(x).sum()), around)(X), expected)
    close(jitted(grad(lambda x: grad(inner)(x).sum()), around)(X[0]), 5.0 * (X[0] > 0))


def test_a_rule_may_return_what_it_closes_over():
    def outer(w, x):
        f = custom_jvp(lambda x: w)
        f.defjvp(lambda p, t: (w, 3 * t[0]))
        return f(x)

    close(grad(outer, 1)(2.0, 5.0), 3.0)
    close(transpile.jit(grad(outer, 1))(2.0, 5.0), 3.0)


# --------------------------------------------------------------------------------- the other mode


def test_forward_mode_through_a_reverse_rule_is_refused():
    text = "can't apply forward-mode autodiff (jvp) to a custom_vjp function."
    push = lambda x: jvp(lambda x: reverse(x, 2.0), (x,), (x,))
    for refused in (
        push,
        transpile.jit(push),
        vmap(push),
        grad(lambda x: push(x)[1].sum()),
        lambda x: linearize(lambda x: reverse(x, 2.0), x)[1](x),
    ):
        with refuses(TypeError, text):
            refused(W)
    # Where nothing wants the tangent, nothing is wrong.
    close(transpile.jit(lambda x: push(x)[0])(W), 2 * np.sin(W))


# ------------------------------------------------------------------------------ errors of a rule


def with_jvp(rule, fun=lambda x: np.sin(x)):
    f = custom_jvp(fun)
    f.defjvp(rule)
    return f


def with_vjp(fwd, bwd, fun=lambda x: np.sin(x)):
    f = custom_vjp(fun)
    f.defvjp(fwd, bwd)
    return f


def one(x):
    return np.sin(x)


def rule(primals, tangents):
    return primals[0]


def test_a_missing_rule_is_named():
    with refuses(AttributeError, "No JVP defined for custom_jvp function one using defjvp."):
        custom_jvp(one)(1.0)
    with refuses(AttributeError, "No VJP defined for custom_vjp function one using defvjp."):
        custom_vjp(one)(1.0)


def test_arguments_that_do_not_fit_the_signature():
    start = (
        "The input arguments to the custom_jvp-decorated function one could not be resolved to "
        "positional-only arguments. Binding failed with the error:\n"
    )
    with refuses(TypeError, start + "missing a required argument: 'x'"):
        with_jvp(rule, one)(y=1.0)

    def only(x, *, k):
        return x

    with refuses(
        TypeError, "The following keyword arguments could not be resolved to positions: k"
    ):
        with_jvp(rule, only)(1.0, k=2)


@pytest.mark.parametrize(
    "rule, fun, text",
    [
        (
            rule,
            one,
            "Custom JVP rule rule for function one must produce a pair (list or tuple of length "
            "two) representing primal and tangent outputs, but got Traced<f64[]>.",
        ),
        (
            lambda p, t: (p[0], (t[0],)),
            one,
            "Custom JVP rule <lambda> for function one must produce primal and tangent outputs "
            "with equal container (pytree) structures, but got PyTreeDef(*) and PyTreeDef((*,)) "
            "respectively.",
        ),
        (
            lambda p, t: ((p[0],), (t[0],)),
            one,
            "Custom JVP rule <lambda> for function one must produce a pair (list or tuple of "
            "length two) where the first element represents the primal output (equal in value to "
            "the output of the custom_jvp-decorated function one, and in particular of the same "
            "container/pytree structure), but instead the JVP rule output's first element had "
            "container/pytree structure:\n    (float64[],)\nwhile the custom_jvp-decorated "
            "function one had output container/pytree structure:\n    float64[].",
        ),
        (
            lambda p, t: (np.ones(3), np.ones(3)),
            one,
            "Custom JVP rule <lambda> for function one must produce a pair (list or tuple of "
            "length two) where the first element represents the primal output (equal in value to "
            "the output of the custom_jvp-decorated function one, and in particular with leaves of "
            "the same shape/dtype), but instead the JVP rule output's first element had "
            "shapes/dtypes of:\n    float64[3]\nwhile the custom_jvp-decorated function one had "
            "output shapes/dtypes of:\n    float64[]",
        ),
        (
            lambda p, t: (p[0], np.ones(3)),
            one,
            "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and "
            "dtypes. Expected float64[] (tangent type of float64[]) but got float64[3].",
        ),
        (
            lambda p, t: (p[0], t[0].astype("float32")),
            one,
            "Expected float64[] (tangent type of float64[]) but got float32[].",
        ),
        (
            lambda p, t: ((p[0], p[0]), (np.ones(3), t[0])),
            lambda x: (x, x),
            "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and "
            "dtypes, but got:\n  primal float64[] with tangent float64[3], expecting tangent "
            "float64[]",
        ),
    ],
)
def test_a_forward_rule_with_another_result(rule, fun, text):
    with refuses(TypeError, text):
        jvp(with_jvp(rule, fun), (1.0,), (1.0,))


PAIR = (
    "Custom VJP fwd rule <lambda> for function one must produce a pair (list or tuple of length "
    "two) where the first element represents the primal output (equal to "
)
RESIDUALS = (
    "and the second element represents residuals (i.e. values stored from the forward pass for use "
    "on the backward pass), but instead "
)


@pytest.mark.parametrize(
    "fwd, text",
    [
        (
            lambda x: x,
            f"{PAIR}those of the custom_vjp-decorated function one) {RESIDUALS}of a pair the fwd "
            f"rule <lambda> produced Traced<f64[]>.",
        ),
        (
            lambda x: ((x,), None),
            f"{PAIR}the output of the custom_vjp-decorated function one) {RESIDUALS}the fwd rule "
            f"output's first element had container/pytree structure:\n    (float64[],)\nwhile the "
            f"custom_vjp-decorated function one had output container/pytree structure:\n    "
            f"float64[].",
        ),
        (
            lambda x: (np.ones(3), None),
            f"{PAIR}the output of the custom_vjp-decorated function one) {RESIDUALS}the fwd rule "
            f"output's first element had shapes/dtypes of:\n    float64[3]\nwhile the "
            f"custom_vjp-decorated function one had output shapes/dtypes of:\n    float64[]",
        ),
    ],
)
def test_a_fwd_rule_with_another_result(fwd, text):
    with refuses(TypeError, text):
        grad(with_vjp(fwd, lambda r, g: (g,), one))(1.0)


STRUCTURE = (
    "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the "
    "args tuple of the primal function, and in particular must produce a tuple of length equal to "
    "the number of arguments to the primal function, but got bwd output structure "
)


@pytest.mark.parametrize(
    "bwd, kind, text",
    [
        (
            lambda r, g: g,
            TypeError,
            f"{STRUCTURE}PyTreeDef(*) for primal input structure PyTreeDef((*,)).",
        ),
        (
            lambda r, g: (g, g),
            TypeError,
            f"{STRUCTURE}PyTreeDef((*, *)) for primal input structure PyTreeDef((*,)).",
        ),
        (
            lambda r, g: ({"a": g},),
            TypeError,
            f"{STRUCTURE}PyTreeDef(({{'a': *}},)) for primal input structure PyTreeDef((*,)).",
        ),
        (
            lambda r, g: (np.ones(3),),
            ValueError,
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            "the primal function, but at output[0] the bwd rule produced an output of type "
            "float64[3] corresponding to an input of type float64[], so the shapes do not match",
        ),
        (
            lambda r, g: (g * 1j,),
            ValueError,
            "an output of type complex128[] corresponding to an input of type float64[], so the "
            "dtypes do not match",
        ),
        (
            lambda r, g: (SymbolicZero.from_primal_value(np.ones(3)),),
            ValueError,
            "Custom VJP bwd rule produced a SymbolicZero with a shape/dtype that does not match "
            "the corresponding input tangent shape/dtype: at output[0] the SymbolicZero had "
            "shape/dtype float64[3] while the corresponding input had shape/dtype float64[]. "
            "Consider just returning a None here instead of a SymbolicZero object.",
        ),
    ],
)
def test_a_bwd_rule_with_another_result(bwd, kind, text):
    with refuses(kind, text):
        grad(with_vjp(lambda x: (x, None), bwd))(1.0)


# ------------------------------------------------------------------------- gradients and closures


@custom_gradient
def squared_sine(x):
    y = np.sin(x)
    return y * y, lambda ct: 11 * ct * y


@JITTED
@one_in(2)
def test_custom_gradient_shares_values_with_its_rule(around, inside):
    f = jitted(squared_sine, inside)
    close(jitted(f, around)(0.5), np.sin(0.5) ** 2)
    close(jitted(grad(f), around)(0.5), 11 * np.sin(0.5))
    close(jitted(grad(grad(f)), around)(0.5), 11 * np.cos(0.5))
    close(jitted(vmap(grad(f)), around)(W), 11 * np.sin(W))
    close(jitted(grad(lambda x: vmap(f)(x).sum()), around)(W), 11 * np.sin(W))


def test_custom_gradient_of_several_arguments_and_trees():
    @custom_gradient
    def f(p, n):
        return {"y": p["a"] * n, "n": n}, lambda ct: ({"a": 5 * ct["y"], "b": None}, None)

    assert f.__name__ == "f"
    found = grad(lambda p: f(p, 2)["y"])({"a": 1.0, "b": 2.0})
    assert found == {"a": 5, "b": 0}


def minimise(objective, x):
    """The value at x of the objective, whose derivatives come out multiplied, to be recognised."""
    converted, hoisted = closure_convert(objective, x)

    @partial(custom_vjp, nondiff_argnums=(0,))
    def run(function, x, *hoisted):
        return function(x, *hoisted)

    def bwd(function, residuals, ct):
        _, hoisted = residuals
        return 100 * ct, *[1000 * ct * h for h in hoisted]

    run.defvjp(lambda function, x, *hoisted: (run(function, x, *hoisted), (x, hoisted)), bwd)
    return run(converted, x, *hoisted)


@JITTED
def test_closed_over_values_become_arguments(around, inside):
    f = jitted(lambda w, x: minimise(lambda x: np.sin(w * x), x), inside)
    close(jitted(f, around)(2.0, 3.0), np.sin(6.0))
    dw, dx = jitted(grad(f, (0, 1)), around)(2.0, 3.0)
    close(dw, 2000.0)
    close(dx, 100.0)


def test_closed_over_integers_stay():
    def f(w, n, x):
        converted, hoisted = closure_convert(lambda x: x * w + n, x)
        assert [h.dtype.kind for h in hoisted] == ["f"]
        return converted(x, 2 * hoisted[0])

    close(transpile.jit(f)(3.0, 10, 5.0), 40.0)
    converted, hoisted = closure_convert(lambda x: x * 2, 1.0)
    assert hoisted == [] and converted(4.0) == 8
    with refuses(
        TypeError,
        "The inputs to the closure produced by closure_convert must have the same Pytree structure "
        "as the example arguments passed when closure_convert was called. Expected "
        "PyTreeDef((*,)), but got PyTreeDef(((*,),))",
    ):
        converted((1.0,))


# --------------------------------------------------------------------------------------- marks


@JITTED
def test_a_stopped_gradient_is_zero(around, inside):
    f = jitted(lambda x: (stop_gradient(x) * x).sum(), inside)
    close(jitted(grad(f), around)(W), W)
    close(jitted(grad(lambda x: grad(f)(x).sum()), around)(W), 0 * W)
    close(jitted(vmap(grad(f)), around)(X), X)


def test_stop_gradient_of_a_tree_is_the_tree():
    thing = {"a": 1, "b": X, "c": None}
    found = stop_gradient(thing)
    assert found["a"] == 1 and found["b"] is X and found["c"] is None
    close(transpile.jit(lambda n: stop_gradient({"n": n})["n"])(np.arange(3)), np.arange(3))


def test_a_named_call_is_named_and_differentiated():
    f = named_call(lambda x, power=2: {"y": np.sin(x) ** power, "kind": "text"}, name="wave")
    y = lambda x: f(x)["y"]
    close(f(0.5)["y"], np.sin(0.5) ** 2)
    text = transpile.xpr(y, 0.5)
    assert "named_call[" in text and "name=wave" in text
    for g in (grad(y), transpile.jit(grad(y))):
        close(g(0.5), np.sin(1.0))
    close(grad(grad(y))(0.5), 2 * np.cos(1.0))
    close(vmap(y)(W), np.sin(W) ** 2)
    close(vmap(grad(y))(W), np.sin(2 * W))
    close(linear_transpose(named_call(lambda x: 2 * x), 1.0)(3.0)[0], 6.0)


# ---------------------------------------------------------------------------------------- text


@BOTH
def test_a_custom_function_says_what_it_is(f):
    name = "forward" if f is forward else "reverse"
    assert re.fullmatch(rf"<custom_(jvp|vjp) of {name} \(test_custom\.py:\d+\)>", repr(f))
    assert f.__name__ == name and f.__wrapped__ is f.fun


def test_the_text_names_the_rules():
    text = transpile.xpr(lambda x: forward(x, x) + reverse(x, x), 1.0)
    assert text == (
        "{ lambda ; a:f64[]. let\n"
        "    b:f64[] = custom_jvp_call[graph={ lambda ; a:f64[] b:f64[]. let\n"
        "        c:f64[] = sin a\n"
        "        d:f64[] = multiply c b\n"
        "      in (d,) } jvp=forward_jvp name=forward] a a\n"
        "    c:f64[] = custom_vjp_call[graph={ lambda ; a:f64[] b:f64[]. let\n"
        "        c:f64[] = sin a\n"
        "        d:f64[] = multiply c b\n"
        "      in (d,) } name=reverse vjp=reverse_fwd,reverse_bwd] a a\n"
        "    d:f64[] = add b c\n"
        "  in (d,) }"
    )


@BOTH
def test_results_have_the_names_that_the_function_s_own_lines_give(f):
    def function(x):
        wave = f(x, 2.0)
        return wave + 1

    def lines(graph):
        return [e.output.name for e in graph.equations]

    assert lines(transpile.make_jaxpr(function)(1.0))[0] == "wave"
    outer = transpile.make_jaxpr(f)(1.0, 2.0)
    other = transpile.make_jaxpr(f)(1.0, 2.0)
    assert lines(outer) == [""] and outer.fingerprint() == other.fingerprint()


@pytest.mark.parametrize("make", [lambda: scaled_forward, lambda: scaled_reverse])
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: vmap(f, (None, 0))])
def test_text_and_fingerprint_do_not_depend_on_addresses(make, transform):
    graphs = [transpile.make_jaxpr(transform(partial(make())))(2.0, W) for _ in range(2)]
    first, second = graphs
    assert first.equations != second.equations
    assert str(first) == str(second) and first.fingerprint() == second.fingerprint()
    assert "0x" not in first.fingerprint()


def test_the_fingerprint_covers_the_constants_of_sub_graphs():
    def graph_of(table):
        f = with_jvp(lambda p, t: (p[0] * table, t[0]), lambda x: x * table)
        return transpile.make_jaxpr(f)(W)

    tables = [np.arange(3.0), np.arange(3.0), np.arange(3.0) + 1]
    first, same, other = (graph_of(table).fingerprint() for table in tables)
    assert first == same and first != other


def test_every_order_of_three_transformations_agrees():
    wave = lambda x: forward(x, 2.0) * reverse(x, 3.0)
    slope = lambda x: 10 * np.cos(x) * 2 * np.sin(x) * 3 + np.sin(x) * 2 * 10 * np.cos(x) * 3
    # grad takes a scalar function, so that it comes before vmap; jit stands anywhere.
    for order in itertools.product([False, True], repeat=3):
        f = jitted(wave, order[0])
        f = jitted(grad(f), order[1])
        close(jitted(vmap(f), order[2])(W), slope(W))
    value, found = value_and_grad(wave)(0.5)
    close(value, 6 * np.sin(0.5) ** 2)
    close(found, slope(0.5))


def test_python_in_rules_may_branch_on_known_values():
    def root(a):
        x = 1.0 + 0 * a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    forwards = custom_jvp(root)
    forwards.defjvp(lambda p, t: ((y := forwards(p[0])), t[0] / (2 * y)))
    backwards = custom_vjp(root)
    backwards.defvjp(
        lambda a: ((y := backwards(a)), y), lambda y, ct: (ct / (2 * y) if y > 1 else ct,)
    )
    for f in (forwards, backwards):
        assert np.isclose(grad(f)(2.0), 0.5 / np.sqrt(2))
        assert np.isclose(grad(grad(f))(2.0), -0.25 * 2**-1.5)
    assert grad(backwards)(0.5) == 1


def jvp_of(rule):
    f = transpile.custom_jvp(lambda x, y: x * y)
    f.defjvp(rule)
    return transpile.jvp(f, (1.0, 2.0), (1.0, 1.0))


def by_arguments(*rules):
    f = transpile.custom_jvp(lambda x, y: x * y)
    f.defjvps(*rules)
    return transpile.jvp(f, (1.0, 2.0), (1.0, 1.0))


def gradient_of(fwd, bwd, nondiff=()):
    f = transpile.custom_vjp(lambda x, y: x * y, nondiff_argnums=nondiff)
    f.defvjp(fwd, bwd)
    return transpile.grad(f, argnums=1)(1.0, 2.0)


PAIR = lambda x, y: (x * y, (x, y))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jvp_of(lambda p: p), r"JVP rule <lambda> .* as <lambda>\(primals, tangents\)"),
        (lambda: jvp_of(lambda p, t, *, k: p), r"does not take: missing a required .*'k'"),
        (lambda: gradient_of(lambda x: x, PAIR), r"fwd rule .* as <lambda>\(x, y\), which"),
        (lambda: gradient_of(PAIR, lambda g: g), r"bwd rule .*\(residuals, cotangents\)"),
        (lambda: gradient_of(PAIR, PAIR, (0,)), r"\(nondiff_0, residuals, cotangents\)"),
        (lambda: by_arguments(lambda t: t, None), r"\(tangent, result, primal_0, primal_1\)"),
        (lambda: by_arguments(None), "has 1 rules for 2 arguments"),
        (
            lambda: transpile.grad(transpile.custom_gradient(lambda x: (x, lambda: x)))(1.0),
            r"custom_gradient takes from <lambda> is called as <lambda>\(cotangent\)",
        ),
    ],
)
def test_a_rule_that_takes_other_arguments_is_named(call, text):
    with pytest.raises(TypeError, match=r"test_custom.py:\d+: .*" + text):
        call()
