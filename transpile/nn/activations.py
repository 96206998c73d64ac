"""Activation functions, elementwise, with the derivatives that JAX gives them at their kinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.functional.custom import custom_jvp
from transpile.nn.operands import applied, array_dtype, floating, inexact, operand, public
from transpile.numpy.core.promotion import Array, axis_of
from transpile.numpy.core.promotion import error as located

# ----------------------------------------------------------------------------- pieces of lines


@public
def identity(x: Array) -> Any:
    """The array itself, in its own dtype."""
    return operand("identity", x)


@custom_jvp
def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


_relu.defjvps(lambda t, out, x: np.where(x > 0, t, 0))


@public
def relu(x: Array) -> Any:
    """The rectifier max(x, 0), in the dtype of x, integers too; NaN stays NaN.

    Its derivative at 0 is 0. V. Nair and G. Hinton, Rectified Linear Units Improve Restricted
    Boltzmann Machines, 2010.
    """
    value = operand("maximum", x)
    return _relu(value) if array_dtype(value).kind not in "iub" else np.maximum(value, 0)


@custom_jvp
def _relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, 0), 6.0)


_relu6.defjvps(lambda t, out, x: np.where((x > 0) & (x < 6), t, 0))


@public
def relu6(x: Array) -> Any:
    """The rectifier clipped at 6, min(max(x, 0), 6); its derivative at 0 and at 6 is 0.

    A. Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.
    """
    return _relu6(inexact("maximum", x))


@public
def hard_sigmoid(x: Array) -> Any:
    """The piecewise linear sigmoid relu6(x + 3) / 6."""
    return _relu6(inexact("hard_sigmoid", x) + 3.0) / 6.0


@public
def hard_silu(x: Array) -> Any:
    """The piecewise quadratic x relu6(x + 3) / 6; `hard_swish` is the same.

    A. Howard et al., Searching for MobileNetV3, 2019.
    """
    value = inexact("hard_silu", x)
    return value * (_relu6(value + 3.0) / 6.0)


@public
def hard_tanh(x: Array) -> Any:
    """x clipped to [-1, 1], in its own dtype; its derivative at -1 and 1 is 1."""
    value = operand("hard_tanh", x)
    return np.where(value > 1, 1, np.where(value < -1, -1, value))


@public
def leaky_relu(x: Array, negative_slope: Array = 0.01) -> Any:
    """x where it is at least 0, and `negative_slope` times x elsewhere; the derivative at 0 is 1.

    A. Maas, A. Hannun and A. Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models,
    2013.
    """
    value = operand("leaky_relu", x)
    return np.where(value >= 0, value, negative_slope * value)


@public
def sparse_plus(x: Array) -> Any:
    """A smooth rectifier with bounded support: 0 up to -1, (x + 1)**2 / 4 between -1 and 1, x
    beyond."""
    value = inexact("sparse_plus", x)
    between = np.square(value + 1.0) / 4
    return np.where(value <= -1.0, 0.0, np.where(value >= 1.0, value, between))


@public
def sparse_sigmoid(x: Array) -> Any:
    """The derivative of `sparse_plus`: 0 up to -1, (x + 1) / 2 between -1 and 1, 1 beyond."""
    return 0.5 * np.clip(inexact("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


# ------------------------------------------------------------------------------------------- smooth


@public
def sigmoid(x: Array) -> Any:
    """The logistic function 1 / (1 + exp(-x)), without overflow for real x.

    Raises TypeError for integers and bools.
    """
    return _sigmoid(floating("logistic", x))


def _sigmoid(x: Any) -> Any:
    if array_dtype(x).kind == "c":
        return 1 / (1 + np.exp(-x))
    return applied("logistic", x)


@public
def silu(x: Array) -> Any:
    """The sigmoid-weighted linear unit x sigmoid(x); `swish` is the same.

    D. Hendrycks and K. Gimpel, arXiv:1606.08415, 2016; S. Elfwing, E. Uchibe and K. Doya, 2018.
    Raises TypeError for integers and bools.
    """
    value = floating("logistic", operand("silu", x))
    return value * _sigmoid(value)


hard_swish = hard_silu
swish = silu


@public
def softplus(x: Array) -> Any:
    """The smooth rectifier log(1 + exp(x)), without overflow.

    C. Dugas et al., Incorporating Second-Order Functional Knowledge for Better Option Pricing,
    2001.
    """
    return _softplus(inexact("logaddexp", x))


def _softplus(x: Any) -> Any:
    if array_dtype(x).kind != "c":
        return np.logaddexp(x, 0)
    shift = np.maximum(np.real(x), 0)
    return np.log(np.exp(-shift) + np.exp(x - shift)) + shift


@public
def log_sigmoid(x: Array) -> Any:
    """The logarithm of the logistic function, -softplus(-x), which does not underflow."""
    return -_softplus(-inexact("log_sigmoid", x))


@public
def mish(x: Array) -> Any:
    """x tanh(softplus(x)); D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function,
    2019."""
    value = inexact("mish", x)
    return value * np.tanh(_softplus(value))


@public
def soft_sign(x: Array) -> Any:
    """The algebraic sigmoid x / (|x| + 1), in (-1, 1), with slope 1 at 0."""
    value = inexact("soft_sign", x)
    return value / (np.absolute(value) + 1)


@public
def squareplus(x: Array, b: Array = 4) -> Any:
    """The algebraic smooth rectifier (x + sqrt(x**2 + b)) / 2; x**2 may overflow.

    J. Barron, Squareplus: A Softplus-Like Algebraic Rectifier, arXiv:2112.11687, 2021.
    """
    value = inexact("squareplus", x)
    return (value + np.sqrt(np.square(value) + operand("squareplus", b, 1))) / 2


@public
def tanh(x: Array, /) -> Any:
    """The hyperbolic tangent, in [-1, 1]; integers become float64."""
    return np.tanh(inexact("tanh", x))


def _elu(x: Any, alpha: Any) -> Any:
    # expm1 of 0, not of what is not chosen: that could overflow, and its derivative be NaN.
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x)))


@public
def elu(x: Array, alpha: Array = 1.0) -> Any:
    """The exponential linear unit: x where it is positive, and alpha (exp(x) - 1) elsewhere.

    D. Clevert, T. Unterthiner and S. Hochreiter, arXiv:1511.07289, 2015.
    """
    return _elu(inexact("elu", x), alpha)


@public
def celu(x: Array, alpha: Array = 1.0) -> Any:
    """The continuously differentiable exponential linear unit: max(x, 0) + alpha (exp(min(x, 0) /
    alpha) - 1).

    J. Barron, arXiv:1704.07483, 2017.
    """
    value = inexact("maximum", x)
    return np.maximum(value, 0.0) + alpha * np.expm1(np.minimum(value, 0.0) / alpha)


@public
def selu(x: Array) -> Any:
    """The scaled exponential linear unit 1.0507... elu(x, 1.6732...), with which activations keep
    mean 0 and variance 1.

    G. Klambauer, T. Unterthiner, A. Mayr and S. Hochreiter, Self-Normalizing Neural Networks,
    arXiv:1706.02515, 2017.
    """
    return 1.0507009873554805 * _elu(inexact("elu", x), 1.6732632423543772)


@public
def gelu(x: Array, approximate: bool = True) -> Any:
    """The Gaussian error linear unit: x times the probability that a standard normal number is
    below x.

    approximate  by x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))), the default; else by erfc

    D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415, 2016.
    """
    value = inexact("gelu", x)
    if not approximate:
        return 0.5 * value * applied("erfc", -value * math.sqrt(0.5))
    inner = math.sqrt(2 / math.pi) * (value + 0.044715 * (value * value * value))
    return value * (0.5 * (1.0 + np.tanh(inner)))


@public
def glu(x: Array, axis: int = -1) -> Any:
    """The gated linear unit: the first half along an axis times the sigmoid of the second half.

    Raises AssertionError, as JAX does, for an odd size, and TypeError for integers. Y. Dauphin, A.
    Fan, M. Auli and D. Grangier, arXiv:1612.08083, 2016.
    """
    value = operand("glu", x)
    number = axis_of(axis, np.ndim(value))
    if value.shape[number] % 2 != 0:
        raise located(AssertionError, "axis size must be divisible by 2")
    first, second = np.split(value, 2, number)
    return first * _sigmoid(floating("logistic", second))


@custom_jvp
def _log1mexp(x: Any) -> Any:
    below = x < math.log(2.0)
    return np.where(below, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


_log1mexp.defjvps(lambda t, out, x: t / np.expm1(x))


@public
def log1mexp(x: Array) -> Any:
    """log(1 - exp(-x)) for positive x, by log1p or expm1, whichever is exact on that side of
    log(2); -inf at 0, NaN below.

    M. Mächler, Accurately Computing log(1 - exp(-|a|)), 2012.
    """
    return _log1mexp(inexact("log1mexp", x))
