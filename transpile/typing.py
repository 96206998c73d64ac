"""Types for annotations, as in `jax.typing`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from transpile.runtime.arrays import Array

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike: TypeAlias = Array | np.ndarray | np.bool | np.number | bool | int | float | complex
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any]
