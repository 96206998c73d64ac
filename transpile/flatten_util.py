"""Pytrees of arrays as one vector, and back: `ravel_pytree`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64
from transpile.numpy.core.promotion import as_array, convert
from transpile.numpy.core.promotion import error as located
from transpile.pytree.treedef import TreeDef
from transpile.trace.tracer import named
from transpile.tree import flatten
from transpile.util.frozen_records import dataclass

Shape = tuple[Any, ...]


def ravel_pytree(pytree: Any) -> tuple[Any, Unravel]:
    """The leaves of a pytree concatenated to a vector, and the function that rebuilds such a tree
    from such a vector.

    Leaves of several dtypes are promoted to one, and get theirs back when the tree is rebuilt. No
    leaves give an empty vector of float64. The function is hashable: it is equal for trees of equal
    structure, shapes and dtypes.
    """
    leaves, structure = flatten(pytree)
    arrays = [as_array(leaf) for leaf in leaves]
    shapes = tuple(tuple(a.shape) for a in arrays)
    dtypes = tuple(a.dtype for a in arrays)
    if not arrays:
        return np.zeros(0, FLOAT64), Unravel(structure, (), (), FLOAT64)
    dtype = np.result_type(*dtypes)
    parts = [convert(a, dtype).reshape(-1) for a in arrays]
    return named(np.concatenate(parts)), Unravel(structure, shapes, dtypes, dtype)


@dataclass(frozen=True)
class Unravel:
    """The tree of a vector: what `ravel_pytree` gives."""

    structure: TreeDef
    shapes: tuple[Shape, ...]
    dtypes: tuple[np.dtype[Any], ...]
    dtype: np.dtype[Any]

    def __call__(self, flat: Any) -> Any:
        """The tree. ValueError for a vector of another size, TypeError for one of another dtype,
        unless all leaves had one dtype: then they have that of the vector."""
        vector = as_array(flat)
        is_mixed = len(set(self.dtypes)) > 1
        if is_mixed and vector.dtype != self.dtype:
            raise located(
                TypeError,
                f"unravel function given array of dtype {vector.dtype}, but expected dtype "
                f"{self.dtype}",
            )
        sizes = [math.prod(shape) for shape in self.shapes]
        if tuple(vector.shape) != (sum(sizes),):
            raise located(
                ValueError,
                f"unravel function given array of shape {tuple(vector.shape)}, but expected shape "
                f"({sum(sizes)},)",
            )
        leaves, start = [], 0
        for size, shape, dtype in zip(sizes, self.shapes, self.dtypes, strict=True):
            part = vector[start : start + size].reshape(shape)
            leaves.append(convert(part, dtype) if is_mixed else part)
            start += size
        return self.structure.unflatten(leaves)
