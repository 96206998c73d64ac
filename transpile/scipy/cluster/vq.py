"""`scipy.cluster.vq` for traced functions: the function of `jax.scipy.cluster.vq`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.random.evaluation import sampled
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["vq"]


@public
def vq(obs: Array, code_book: Array, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest row of a code book to each observation: its index and the Euclidean distance.

    obs, code_book  points in the rows, or vectors of numbers

    Of several nearest rows it is the first. `check_finite` changes nothing. Raises ValueError for
    arrays of different, or more than two, axes.
    """
    del check_finite
    points, codes = promoted("scipy.cluster.vq.vq", obs, code_book)
    if np.ndim(points) != np.ndim(codes):
        raise located(ValueError, "Observation and code_book should have the same rank")
    if np.ndim(points) == 1:
        points, codes = points[:, None], codes[:, None]
    if np.ndim(points) != 2:
        raise located(ValueError, "ndim different than 1 or 2 are not supported")
    nearest = sampled(_nearest, points, codes)
    moved = points - at(codes)[nearest].get(mode="promise_in_bounds")
    return nearest, np.sqrt(np.sum(np.square(moved), axis=-1))


def _nearest(points: Any, codes: Any) -> Any:
    distance = np.sum(np.square(points[:, None, :] - codes[None, :, :]), axis=-1)
    return np.argmin(distance, axis=-1)
