"""How arrays would lie in memory if NumPy ran the function: the strides of views.

An array that is no view lies in rows, and arguments count as such. NumPy's `reshape` gives a view
where the memory allows it, and else an array of its own, which is then another one for assignments.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transpile.ir.dims import Symbol, substitute, symbols_of
from transpile.ir.graph import Equation, Var

if TYPE_CHECKING:
    from transpile.trace.trace import Trace

_EXAMPLE = 5040  # of a runtime size: one that many numbers divide


class Memory(NamedTuple):
    """The extents of an array, with examples in the place of runtime sizes, and its strides."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def flags(self) -> Any:
        """NumPy's flags of such an array, of which nobody reads an element."""
        one = np.empty(1, self.dtype)
        return np.lib.stride_tricks.as_strided(one, self.shape, self.strides).flags


def in_memory(trace: Trace, var: Var) -> Memory | None:
    """How the array of this Var lies in memory; None where nobody knows."""
    shape = _numbers(var.type.shape)
    view = None if var in trace.roots else trace.viewed(var)
    if shape is None or view is None:
        return None if shape is None else _in_rows(shape, var.type.dtype)
    base = view.inputs[0]
    assert isinstance(base, Var)  # `viewed` has no views of constants
    whole = in_memory(trace, base)
    if whole is None:
        return None
    is_picked = len(view.inputs) > 1
    key = trace.picked.get(var)
    strides = _picked(whole, key) if is_picked else _viewed(whole, view, shape)
    return None if strides is None else Memory(shape, tuple(strides), var.type.dtype)


def _viewed(whole: Memory, view: Equation, shape: tuple[int, ...]) -> Sequence[int] | None:
    """The strides of a view of this shape."""
    params = view.params
    if view.primitive.kind != "view":  # a part of complex numbers
        return whole.strides
    match view.primitive.name:
        case "transpose":
            return [whole.strides[axis] for axis in params["permutation"]]
        case "slice":
            return [a * b for a, b in zip(whole.strides, params["strides"], strict=True)]
        case "rev":
            turned = params["dimensions"]
            return [-s if axis in turned else s for axis, s in enumerate(whole.strides)]
        case "windows":  # which NumPy forbids to assign to
            return None
    return _reshaped(whole, shape)  # a broadcast that is a view only adds axes


def owns_memory(trace: Trace, equation: Equation) -> bool:
    """True for a reshape of which NumPy makes an array of its own."""
    if equation.primitive.name != "reshape":
        return False
    base = equation.inputs[0]
    if not isinstance(base, Var) or trace.viewed(base) is None:
        return False
    whole, shape = in_memory(trace, base), _numbers(equation.output.type.shape)
    return whole is not None and shape is not None and _reshaped(whole, shape) is None


def order_in_memory(trace: Trace, var: Var, order: str) -> tuple[int, ...]:
    """The axes of an array in the order in which `A` or `K` reads it; those of rows where nobody
    knows."""
    array = in_memory(trace, var)
    rows = tuple(range(var.type.ndim))
    if array is None or array.flags.c_contiguous:
        return rows
    if order in "Aa":
        return rows[::-1] if array.flags.f_contiguous else rows
    return tuple(sorted(rows, key=lambda axis: -abs(array.strides[axis])))


def is_in_rows(trace: Trace, var: Var) -> bool:
    """False for an array whose elements lie in another order, or with gaps."""
    if trace.viewed(var) is None:
        return True
    array = in_memory(trace, var)
    return array is None or bool(array.flags.c_contiguous)


def _numbers(sizes: Any) -> tuple[int, ...] | None:
    """Sizes without symbols; None where the examples contradict each other."""
    examples = {s: _example(s) for d in sizes for s in symbols_of(d)}
    numbers = [substitute(d, examples) for d in sizes]
    known = tuple(n for n in numbers if isinstance(n, int) and n >= 0)
    return known if len(known) == len(numbers) else None


def _example(symbol: Symbol) -> int:
    """A number for a symbol, another one for each name."""
    return _EXAMPLE * (1 + sum(str(symbol).encode()) % 97)


def _in_rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
    strides = [dtype.itemsize] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * max(shape[axis], 1)
    return Memory(shape, tuple(strides), dtype)


def _reshaped(array: Memory, shape: tuple[int, ...]) -> Sequence[int] | None:
    """The strides of the view in another shape; None where there is none.

    Axes are taken from the left until as many elements are in those of both shapes; these then have
    to be one behind the other.
    """
    if 0 in shape:
        return _in_rows(shape, array.dtype).strides
    old = [pair for pair in zip(array.shape, array.strides, strict=True) if pair[0] != 1]
    strides: list[int] = []
    taken = 0
    while old or taken < len(shape):
        extent, count, ours, theirs = 1, 1, 0, 0
        while not theirs or extent != count:
            if extent <= count and taken + theirs < len(shape):
                extent *= shape[taken + theirs]
                theirs += 1
            elif extent >= count or ours == len(old):
                return None  # of examples that contradict each other
            while ours < len(old) and count < extent:
                count *= old[ours][0]
                ours += 1
        group, old = old[:ours], old[ours:]
        if any(s != n * t for (_, s), (n, t) in itertools.pairwise(group)):
            return None
        stride = group[-1][1] if group else array.dtype.itemsize
        inner = []
        for n in reversed(shape[taken : taken + theirs]):
            inner.append(stride)
            stride *= n
        strides += reversed(inner)
        taken += theirs
    return strides


def _picked(whole: Memory, key: Any) -> list[int] | None:
    """The strides of the view that traced numbers choose."""
    if key is None or any(isinstance(k, slice) and k != slice(None) for k in key):
        return None
    pairs = zip(whole.strides, key, strict=True)
    return [s for s, k in pairs if isinstance(k, slice)] if len(key) == len(whole.strides) else None
