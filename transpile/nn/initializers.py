"""Initial weights, as in `jax.nn.initializers`: functions of a key, a shape and a dtype.

`glorot_normal()` and its like make such functions; `init(key, (3, 4))` then gives an array, of
float64 unless a dtype is given there or here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from transpile import random
from transpile.ir.types import FLOAT64, real_dtype
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Axes = int | Sequence[int]
Shape = Sequence[int]

# The standard deviations of a normal number between -2 and 2, and of a complex one of size up to 2.
TRUNCATED = 0.87962566103423978
TRUNCATED_COMPLEX = 0.95311164380491208


@runtime_checkable
class Initializer(Protocol):
    """The type of initializers: functions of a key, a shape and a dtype."""

    def __call__(self, key: Any, shape: Shape, dtype: Any = None, out_sharding: Any = None) -> Any:
        """Initial weights of this shape and dtype, float64 by default."""
        ...


def _dtype(dtype: Any) -> np.dtype[Any]:
    return FLOAT64 if dtype is None else np.dtype(dtype)


def zeros(key: Any, shape: Shape, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of a shape: an initializer itself; the key and `out_sharding` change nothing."""
    return np.zeros(shape, _dtype(dtype))


def ones(key: Any, shape: Shape, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones of a shape: an initializer itself; the key and `out_sharding` change nothing."""
    return np.ones(shape, _dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that broadcasts a value to the shape; the key changes nothing."""

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return np.broadcast_to(np.asarray(value, _dtype(dtype)), tuple(shape)).copy()

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer of uniform numbers from [0, scale)."""

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = _dtype(dtype)
        return random.uniform(key, tuple(shape), kind) * np.asarray(scale, kind)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer of normal numbers with mean 0 and this standard deviation."""

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = _dtype(dtype)
        return random.normal(key, tuple(shape), kind) * np.asarray(stddev, kind)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer of normal numbers conditioned to lie in (lower, upper), times `stddev`."""

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = _dtype(dtype)
        drawn = random.truncated_normal(key, lower, upper, tuple(shape), kind)
        return drawn * np.asarray(stddev, kind)

    return init


# ---------------------------------------------------------------------------- by the size of layers


def _sizes(shape: Shape, in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """The number of inputs of each output of a layer, and of outputs of each input."""
    if isinstance(in_axis, int) and in_axis == -2 and len(shape) <= 1:
        raise located(
            ValueError,
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor "
            "with default in_axis. Must be at least 2D or specify in_axis explicitly.",
        )
    inner, outer, batch = (
        shape[axis] if isinstance(axis, int) else math.prod(shape[a] for a in axis)
        for axis in (in_axis, out_axis, batch_axis)
    )
    field = math.prod(shape) / inner / outer / batch
    return inner * field, outer * field


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer whose numbers have mean 0 and the variance scale / n, where n depends on the
    size of the layer.

    mode          n is "fan_in", the number of inputs of an output; "fan_out", of outputs of an
                  input; "fan_avg" or "fan_geo_avg", their arithmetic or geometric mean
    distribution  "truncated_normal", within two standard deviations, "normal" or "uniform"
    in_axis, out_axis, batch_axis  the axes of inputs, of outputs, and of layers; all others are a
                                   receptive field, which counts for both of the first

    The initializer raises ValueError for other names, and for fewer than two axes with the default
    `in_axis`.
    """

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        shape, kind = tuple(shape), _dtype(dtype)
        fan_in, fan_out = _sizes(shape, in_axis, out_axis, batch_axis)
        counts = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": math.sqrt(fan_in * fan_out),
        }
        if mode not in counts:
            raise located(ValueError, f"invalid mode for variance scaling initializer: {mode}")
        if distribution not in _DRAWN:
            raise located(
                ValueError, f"invalid distribution for variance scaling initializer: {distribution}"
            )
        variance = np.asarray(scale / counts[mode], kind)
        return _DRAWN[distribution](key, shape, kind, variance)

    return init


def _truncated(key: Any, shape: Shape, dtype: np.dtype[Any], variance: Any) -> Any:
    if dtype.kind == "c":
        return _complex_truncated(key, shape, dtype) * (np.sqrt(variance) / TRUNCATED_COMPLEX)
    deviation = np.sqrt(variance) / np.asarray(TRUNCATED, dtype)
    return random.truncated_normal(key, -2, 2, shape, dtype) * deviation


def _normal(key: Any, shape: Shape, dtype: np.dtype[Any], variance: Any) -> Any:
    return random.normal(key, shape, dtype) * np.sqrt(variance)


def _uniform(key: Any, shape: Shape, dtype: np.dtype[Any], variance: Any) -> Any:
    if dtype.kind == "c":
        drawn, angle = _two(key, shape, dtype)
        return np.sqrt(2 * drawn) * np.exp(1j * angle).astype(dtype) * np.sqrt(variance)
    return random.uniform(key, shape, dtype, -1) * np.sqrt(3 * variance)


_DRAWN = {"truncated_normal": _truncated, "normal": _normal, "uniform": _uniform}


def _two(key: Any, shape: Shape, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Uniform numbers from 0 to 1, and angles."""
    real = real_dtype(dtype)
    first, second = random.split(key)
    angle = random.uniform(second, shape, real) * np.asarray(2 * np.pi, real)
    return random.uniform(first, shape, real), angle


def _complex_truncated(key: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Complex normal numbers of size up to 2: the square of the size is exponential."""
    drawn, angle = _two(key, shape, dtype)
    inside = drawn * np.asarray(1 - math.exp(-4.0), drawn.dtype)
    return np.sqrt(-np.log1p(-inside)) * np.exp(1j * angle).astype(dtype)


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """An initializer of uniform numbers with the variance 2 / (fan_in + fan_out); also
    `xavier_uniform`.

    X. Glorot and Y. Bengio, Understanding the Difficulty of Training Deep Feedforward Neural
    Networks, 2010. Axes and errors as for `variance_scaling`, as in all below.
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """An initializer of truncated normal numbers with the variance 2 / (fan_in + fan_out); also
    `xavier_normal`; see `glorot_uniform`."""
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


def lecun_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """An initializer of uniform numbers with the variance 1 / fan_in.

    Y. LeCun, L. Bottou, G. Orr and K.-R. Müller, Efficient BackProp, 1998.
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """An initializer of truncated normal numbers with the variance 1 / fan_in; see
    `lecun_uniform`."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """An initializer of uniform numbers with the variance 2 / fan_in; also `kaiming_uniform`.

    K. He, X. Zhang, S. Ren and J. Sun, Delving Deep into Rectifiers, 2015.
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
) -> Initializer:
    """An initializer of truncated normal numbers with the variance 2 / fan_in; also
    `kaiming_normal`; see `he_uniform`."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# -------------------------------------------------------------------------------------- orthogonal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of matrices with orthonormal columns, or rows where these are fewer, times
    `scale`.

    column_axis  the axis of the columns; all others together are the rows

    A. Saxe, J. McClelland and S. Ganguli, arXiv:1312.6120, 2013. The initializer raises ValueError
    for fewer than two axes.
    """

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        shape, kind = tuple(shape), _dtype(dtype)
        if len(shape) < 2:
            raise located(ValueError, "orthogonal initializer requires at least a 2D shape")
        if 0 in shape:
            return np.zeros(shape, kind)
        columns = shape[column_axis]
        drawn = random.orthogonal(key, math.prod(shape) // columns, (), kind, columns)
        others = [n for k, n in enumerate(shape) if k != column_axis % len(shape)]
        matrix = np.moveaxis(drawn.reshape(*others, columns), -1, column_axis)
        return np.asarray(scale, kind) * matrix

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolutions of shape (*window, channels, features): an orthogonal matrix
    at the centre of the window, zeros elsewhere.

    L. Xiao et al., Dynamical Isometry and a Mean Field Theory of CNNs, arXiv:1806.05393, 2018. The
    initializer raises ValueError for other than 3 to 5 axes and fewer features than channels.
    """

    def init(key: Any, shape: Shape, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        shape, kind = tuple(shape), _dtype(dtype)
        if len(shape) not in (3, 4, 5):
            raise located(ValueError, "Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise located(ValueError, "`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, kind)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return at(np.zeros(shape, kind))[middle].set(matrix)

    return init
