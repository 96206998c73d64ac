"""The argument `where` of reductions: which elements count."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.indices.lengths import lengths_in
from transpile.ir.types import BOOL, broadcast_shapes
from transpile.numpy.core.promotion import NOTHING, as_array, fit
from transpile.numpy.core.promotion import error as located
from transpile.primitives import elementwise
from transpile.trace.trace import bind


def mask_of(where: Any) -> Any:
    """The mask of an argument `where`; None where all elements count. NumPy reads None as False."""
    if where is True or where is NOTHING:
        return None
    return as_array(False if where is None else where)


def masked(x: Any, where: Any, other: Any) -> Any:
    """The elements where a mask holds, and another value elsewhere."""
    mask = mask_of(where)
    if mask is None:
        return x
    shape = broadcast_shapes((x.shape, mask.shape), lambda text: located(ValueError, text))
    if len(shape) != x.ndim or any(
        have != d and (have == 1 or not lengths_in([(have, d)]))
        for have, d in zip(x.shape, shape, strict=True)
    ):
        raise located(
            ValueError,
            f"non-broadcastable operand with shape {_text(x.shape)} doesn't match the broadcast "
            f"shape {_text(shape)}",
        )
    test = fit(mask, x.shape, BOOL)
    return bind(elementwise.select, test, x, fit(np.asarray(other), x.shape, x.dtype))


def _text(shape: Any) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
