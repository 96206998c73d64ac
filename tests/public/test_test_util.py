"""check_grads: passes what is right, and says what is wrong of what is not."""

import functools
import re

import numpy as np
import pytest
from thorough import one_in

from transpile import jit, jvp, vjp
from transpile.ir.primitive import Primitive
from transpile.primitives.kinds import same_type
from transpile.primitives.rules import ByOperand, batch_elementwise
from transpile.test_util import check_grads, check_jvp, check_vjp
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 4))
W = RANDOM.normal(size=4)


def wrong_primitive(derivative, transpose=None):
    """A sine whose derivative is what it should not be."""
    return Primitive(
        "crooked",
        "elementwise",
        np.sin,
        same_type,
        c={"": "sin(x)"},
        jvp=ByOperand((derivative,)),
        transpose=transpose,
        batch=batch_elementwise("sin"),
    )


def function_of(primitive, plain=np.sin):
    """The function that is `plain` for arrays and the primitive for traced ones."""
    return lambda x: bind(primitive, x) if isinstance(x, Tracer) else plain(x)


# ---------------------------------------------------------------------------------- what is right


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["numpy", "jit"])
def test_correct_derivatives_pass_in_every_order(wrap):
    def f(params, n):
        y = np.tanh(X @ params["w"] + params["b"])
        return {"y": y, "count": 3, "more": (y**n, [params["b"] * y.sum()])}

    check_grads(wrap(f), ({"w": W, "b": 0.5}, 2), 3)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@one_in(2)
def test_correct_derivatives_pass_in_every_dtype(dtype):
    x = X.astype(dtype) * (1 if dtype[0] == "f" else 1 + 0.5j)
    check_grads(lambda x, y: np.sin(x) * y + x.sum(), (x, W.astype(dtype)), 2)
    check_grads(lambda x: (x * np.conj(x) * x.real).sum(axis=0), (x,), 2)


def test_precisions_may_be_mixed():
    check_grads(lambda x, y: np.sin(x) @ y, (X.astype("f4"), W), 2)
    check_grads(lambda x, y: np.exp(x) * y, (0.5, W.astype("f4")), 2)
    check_grads(lambda x: np.exp(x.astype("f4")), (X,), 2)


def test_large_values_do_not_drown_derivatives_in_rounding():
    check_grads(lambda x: np.float32(1e4) + np.sin(x), (W.astype("f4"),), 1)
    check_grads(lambda x: 1e9 + np.sin(x), (W,), 1)


def test_infinite_and_undefined_values_have_equal_neighbours():
    check_grads(lambda x: np.stack([x[0], np.inf + 0 * x[1], np.nan * x[2]]), (W,), 1)


def test_nothing_to_differentiate_by_is_fine():
    check_grads(lambda n: n * 2, (3,), 2)
    check_grads(lambda x: 3, (W,), 2)


# ---------------------------------------------------------------------------------- what is wrong


def factor(size):
    return wrong_primitive(lambda t, _, x: t * (np.cos(x) * size))


def message(f, args, order=1, **settings):
    """What check_grads says about a function that it must refuse."""
    with pytest.raises(AssertionError) as caught:
        check_grads(f, args, order, **settings)
    return str(caught.value)


def test_a_derivative_that_is_a_little_off_fails_and_says_how_far():
    text = message(function_of(factor(1.0001)), (X,), modes=["fwd"])
    assert text.startswith("check_grads of <lambda>, order 1, JVP: the tangent of the result is ")
    found = re.search(
        r"is (\S+) at \((\d), (\d)\), but finite differences give (\S+): it is off by (\S+), and "
        r"(\S+) is allowed \((\d+) of 12 elements are off\)",
        text,
    )
    value, row, column, wanted, off, allowed, _ = found.groups()
    direction = np.random.default_rng(0).standard_normal((3, 4))
    exact = (np.cos(X) * direction)[int(row), int(column)]
    assert float(wanted) == pytest.approx(exact, rel=1e-7)
    assert float(value) == pytest.approx(1.0001 * exact, rel=1e-7)
    assert float(off) == pytest.approx(abs(exact) * 1e-4, rel=1e-2)
    assert float(allowed) == pytest.approx(1e-5 * (1 + abs(exact)), rel=1e-2)


def test_reverse_mode_fails_by_its_inner_product():
    text = message(function_of(factor(1.001)), (X,), modes=["rev"])
    assert text.startswith(
        "check_grads of <lambda>, order 1, VJP: the inner product of the cotangents with a "
        "direction is "
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_signs_places_and_zeros_fail_in_every_mode_and_dtype(mode, dtype):
    wrong = [
        lambda t, _, x: -t * np.cos(x),
        lambda t, _, x: t * np.cos(x)[::-1],
        lambda t, _, x: t * np.sin(x),
        lambda t, _, x: None,
        lambda t, _, x: t,
    ]
    for derivative in wrong:
        message(function_of(wrong_primitive(derivative)), (X.astype(dtype),), modes=[mode])


def test_a_transpose_that_is_none_fails_backwards_only():
    half = Primitive(
        "half",
        "elementwise",
        lambda x: x * 0.5,
        same_type,
        c={"": "x * 0.5"},
        jvp=ByOperand((lambda t, _, x: bind(half, t),)),
        transpose=lambda ct, _: [ct],  # should halve
    )
    f = function_of(half, lambda x: x * 0.5)
    check_grads(f, (W,), 2, modes=["fwd"])
    assert "order 1, VJP: the inner product" in message(f, (W,))


def test_a_second_derivative_that_is_wrong_fails_in_the_second_order():
    # The derivative of sin is right as a number, and its own derivative (of a copy of cos) is not.
    cosine = Primitive(
        "cosine",
        "elementwise",
        np.cos,
        same_type,
        c={"": "cos(x)"},
        jvp=ByOperand((lambda t, _, x: t * np.sin(x),)),
        batch=batch_elementwise("cos"),
    )
    f = function_of(wrong_primitive(lambda t, _, x: t * bind(cosine, x)))
    check_grads(f, (W,), 1)
    text = message(f, (W,), order=2, modes=["fwd"])
    assert text.startswith(
        "check_grads of <lambda>, order 2, JVP of JVP: the tangent of the result[1]"
    )
    text = message(f, (W,), order=2, modes=["rev"])
    assert "order 2, VJP of VJP: the inner product" in text


def test_a_result_that_differs_under_a_transformation_fails():
    text = message(lambda x: np.cos(x) if isinstance(x, Tracer) else np.sin(x), (W,))
    assert "order 1, JVP: the result is " in text
    assert "but calls of the function give" in text
    text = message(lambda x: {"a": x if isinstance(x, Tracer) else x.sum()}, (W,))
    assert "the result['a'] is a float64[4] instead of a float64[]" in text
    text = message(lambda x: (x,) if isinstance(x, Tracer) else [x], (W,))
    assert "JVP: the result: the structure differs: at the top: expected [*], got (*,)" in text


def test_a_derivative_without_a_value_fails():
    text = message(function_of(wrong_primitive(lambda t, _, x: t * np.nan)), (W,))
    assert "the tangent of the result is nan at (0,)" in text


def test_a_step_across_a_kink_shows():
    assert "finite differences" in message(lambda x: np.abs(x), (np.array([1e-7, 1.0]),))
    check_grads(lambda x: np.abs(x), (np.array([1e-7, 1.0]),), 1, eps=1e-9)


# ---------------------------------------------------------------------------------------- settings


def test_tolerances_are_numbers_or_go_by_dtype():
    f = function_of(factor(1.01))
    check_grads(f, (W,), 1, atol=0.1)
    check_grads(f, (W,), 1, rtol=0.1)
    check_grads(f, (W,), 1, rtol={np.float64: 0.1})
    message(f, (W,), rtol={np.float32: 0.1})
    check_grads(f, (W.astype("f4"),), 1, rtol={"float32": 0.1})
    message(np.exp, (W,), eps=0.1)
    check_grads(np.exp, (W,), 1, eps=0.1, rtol=0.01)


def test_orders_and_modes_are_checked():
    with pytest.raises(ValueError, match="an order of at least 1, not 0"):
        check_grads(np.sin, (W,), 0)
    for modes in ("fwd", ["forward"], []):
        with pytest.raises(
            ValueError, match=r"the modes of check_grads are among \('fwd', 'rev'\)"
        ):
            check_grads(np.sin, (W,), 1, modes=modes)


# ---------------------------------------------------------------------------- one rule at a time


def test_a_jvp_and_a_vjp_of_ones_own():
    check_jvp(np.sin, functools.partial(jvp, np.sin), (X,))
    check_jvp(np.sin, lambda x, t: (np.sin(x[0]), t[0] * np.cos(x[0])), (X,))
    check_vjp(np.sin, functools.partial(vjp, np.sin), (X,))
    check_vjp(np.sin, lambda x: (np.sin(x), lambda c: (c * np.cos(x),)), (X,))
    with pytest.raises(AssertionError, match=r"^mine: the tangent of the result is"):
        check_jvp(np.sin, lambda x, t: (np.sin(x[0]), t[0]), (X,), err_msg="mine")
    with pytest.raises(AssertionError, match=r"^VJP: the cotangents: the structure differs"):
        check_vjp(np.sin, lambda x: (np.sin(x), lambda c: c * np.cos(x)), (X,))
    with pytest.raises(AssertionError, match=r"^JVP: the tangent is a float64\[4\] instead of a"):
        check_jvp(np.sin, lambda x, t: (np.sin(x[0]), (t[0] * np.cos(x[0]))[0]), (X,))
