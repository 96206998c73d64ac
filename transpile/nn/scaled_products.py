"""Products of matrices that are quantised in blocks with a scale each."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from transpile.errors import UnsupportedError
from transpile.lax.arrays.enums import DotDimensionNumbers
from transpile.lax.arrays.products import dot_general
from transpile.nn.operands import public
from transpile.numpy.core.promotion import Array, as_array
from transpile.numpy.core.promotion import error as located


@public
def scaled_matmul(
    lhs: Array,
    rhs: Array,
    lhs_scales: Array,
    rhs_scales: Array,
    preferred_element_type: Any = np.float32,
) -> Any:
    """The products of matrices (B, M, K) and (B, N, K) along K, each block of a row along K
    multiplied by its scale first.

    lhs_scales, rhs_scales  (B, M, blocks) and (B, N, blocks), where the number of blocks divides K
    preferred_element_type  dtype of the computation and of the result (B, M, N), float32 by default

    Raises ValueError for shapes that do not fit.
    """
    a, b, a_scales, b_scales = (as_array(x) for x in (lhs, rhs, lhs_scales, rhs_scales))
    if not all(x.ndim == 3 for x in (a, b, a_scales, b_scales)):
        raise located(ValueError, "scaled_matmul requires all inputs to be 3-dimensional arrays")
    if (a.shape[0], a.shape[2]) != (b.shape[0], b.shape[2]):
        raise located(
            ValueError,
            "scaled_matmul requires inputs a and b to have matching batch (B) and contract (K) "
            f"dimensions, but got shapes {a.shape} and {b.shape}",
        )
    if (a_scales.shape[0], a_scales.shape[2]) != (b_scales.shape[0], b_scales.shape[2]):
        raise located(
            ValueError,
            "scaled_matmul requires scales to have matching batch (B) and contract (K) dimensions, "
            f"but got shapes {a_scales.shape} and {b_scales.shape}",
        )
    if (a_scales.shape[1], b_scales.shape[1]) != (a.shape[1], b.shape[1]):
        raise located(
            ValueError,
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got "
            f"shapes a: {a.shape}, b: {b.shape}, a_scales: {a_scales.shape}, b_scales: "
            f"{b_scales.shape}",
        )
    dtype = np.dtype(preferred_element_type)
    x, y = (_scaled(*pair, dtype) for pair in ((a, a_scales), (b, b_scales)))
    return np.einsum("bmk,bnk->bmn", x, y)


def _scaled(x: Any, scales: Any, dtype: np.dtype[Any]) -> Any:
    size = x.shape[2] // max(scales.shape[2], 1)
    return x.astype(dtype) * np.repeat(scales.astype(dtype), size, axis=2)


def get_scaled_dot_general_config(mode: str, global_scale: Array | None = None) -> NoReturn:
    """Nothing: the modes of `jax.nn.get_scaled_dot_general_config` are floats of 4 and 8 bits,
    which C has not.

    Raises UnsupportedError for these, and ValueError for another mode.
    """
    if mode not in ("nvfp4", "mxfp8"):
        raise located(ValueError, f"Unsupported mode: {mode}")
    raise located(UnsupportedError, f"the mode {mode} has numbers of {mode[-1]} bits")


def scaled_dot_general(
    lhs: Array,
    rhs: Array,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: Any = np.float32,
    configs: Any = None,
    implementation: str | None = None,
) -> Any:
    """`lax.dot_general` with a result of `preferred_element_type`, float32 by default.

    `implementation` changes nothing. Raises UnsupportedError for `configs`, which are for floats of
    4 and 8 bits.
    """
    if configs is not None:
        raise located(UnsupportedError, "scaled_dot_general with configs, which are for 8 bits")
    return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
