"""Reductions, scans, sorts and windows: instructions that call a computation of two elements.

XLA leaves the order of a sum open. Sums and products of 16-bit floats are computed in float32, as
in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Computation, Instruction, Window
from transpile.hlo.traced import combined, computation
from transpile.ir.graph import Equation
from transpile.ir.primitive import TABLE
from transpile.ir.types import INT64, ArrayType, is_half
from transpile.primitives.reductions import identity, scan_start

Folded = Callable[[Instruction, Instruction, Computation], Instruction]
FLOAT32 = np.dtype("float32")


def _fold(
    b: Builder, x: Instruction, combine: str, start: Callable[..., Any], fold: Folded
) -> Instruction:
    """`fold(array, start, computation)`, in float32 for 16-bit floats where results are rounded."""
    dtype, is_wide = x.dtype, is_half(x.dtype) and not TABLE[combine].exact
    if is_wide:
        x = b.convert(x, FLOAT32)
    first = b.constant(start(combine, x.dtype).value)
    result = fold(x, first, combined(b, combine, x.dtype))
    return b.convert(result, dtype) if is_wide else result


def reduce(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The elements along axes, combined."""
    axes = tuple(equation.params["axes"])
    shape = tuple(d for a, d in enumerate(x.shape) if a not in axes)

    def fold(x: Instruction, start: Instruction, combine: Computation) -> Instruction:
        kind = ArrayType(shape, x.dtype)
        return b.add("reduce", kind, x, start, dimensions=axes, to_apply=combine)

    return _fold(b, x, equation.primitive.combine, identity, fold)


def arg_reduce(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The index of the first extreme element: a reduction of pairs (element, index).

    A NaN is more extreme than all numbers, as in NumPy.
    """
    axis, compare = equation.params["axis"], _BEYOND[equation.primitive.name]
    element, index = ArrayType((), x.dtype), ArrayType((), INT64)

    def further(v: Any, i: Any, w: Any, j: Any) -> list[Any]:
        is_beyond, is_tie = compare(v, w), np.equal(v, w)
        if v.dtype.kind not in "biu":
            is_beyond = is_beyond | (np.isnan(v) & ~np.isnan(w))
            is_tie = is_tie | (np.isnan(v) & np.isnan(w))
        is_first = is_beyond | (is_tie & (i < j))
        return [np.where(is_first, v, w), np.where(is_first, i, j)]

    name = equation.primitive.name
    combine = computation(b, name, further, [element, index, element, index])
    start = identity({"argmax": "maximum", "argmin": "minimum"}[name], x.dtype)
    last = b.constant(np.int64(np.iinfo(np.int64).max))
    indices = b.iota(ArrayType(x.shape, INT64), axis)
    shape = equation.output.type.shape
    kind = (ArrayType(shape, x.dtype), ArrayType(shape, INT64))
    pair = b.add(
        "reduce", kind, x, indices, b.constant(start.value), last,
        dimensions=(axis,), to_apply=combine,
    )  # fmt: skip
    return b.element(pair, 1)


_BEYOND: dict[str, Any] = {"argmax": np.greater, "argmin": np.less}


# ------------------------------------------------------------------------------------------ scans


def scan(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """Prefixes: a reduction of windows that reach back to the first element (on to the last)."""
    axis, is_reverse = equation.params["axis"], equation.params["reverse"]
    rank, size = len(x.shape), x.shape[axis]
    if not size:
        return x
    one = (1,) * rank
    pads = (0, size - 1) if is_reverse else (size - 1, 0)
    window = Window(
        tuple(size if a == axis else 1 for a in range(rank)),
        one,
        tuple(pads if a == axis else (0, 0) for a in range(rank)),
        one,
        one,
    )

    def fold(x: Instruction, start: Instruction, combine: Computation) -> Instruction:
        return b.add("reduce-window", x.array, x, start, window=window, to_apply=combine)

    return _fold(b, x, equation.primitive.combine, scan_start, fold)


def window_of(params: Any) -> Window:
    """The windows of a window primitive's params."""
    return Window(
        tuple(params["window_dimensions"]),
        tuple(params["window_strides"]),
        tuple(tuple(p) for p in params["padding"]),
        tuple(params["base_dilation"]),
        tuple(params["window_dilation"]),
    )


def reduce_window(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The elements of each window, combined."""
    shape, window = equation.output.type.shape, window_of(equation.params)

    def fold(x: Instruction, start: Instruction, combine: Computation) -> Instruction:
        kind = ArrayType(shape, x.dtype)
        return b.add("reduce-window", kind, x, start, window=window, to_apply=combine)

    return _fold(b, x, equation.primitive.combine, identity, fold)


# ------------------------------------------------------------------------------------------ sorts


def _precedes(x: Any, y: Any) -> Any:
    """NumPy's order: NaN last; complex numbers by their real parts, then by the imaginary ones."""
    if x.dtype.kind in "biu":
        return x < y
    if x.dtype.kind == "c":
        real, imag = (_precedes(np.real(x), np.real(y)), _precedes(np.imag(x), np.imag(y)))
        is_back = _precedes(np.real(y), np.real(x))
        return real | (~is_back & imag)
    return (x < y) | (np.isnan(y) & ~np.isnan(x))


def _is_ordered(*pairs: Any) -> list[Any]:
    """True if the first keys come before the second ones, by the first pair that differs."""
    result: Any = None
    for x, y in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        here = _precedes(x, y)
        result = here if result is None else here | (~_precedes(y, x) & result)
    return [result]


def _order_of(b: Builder, keys: Sequence[Instruction], further: int) -> Computation:
    """The comparison of a sort by keys that moves further arrays of int64 with them."""
    types = [ArrayType((), k.dtype) for k in keys for _ in range(2)]
    count = len(types)
    types += [ArrayType((), INT64)] * (2 * further)
    return computation(b, "before", lambda *v: _is_ordered(*v[:count]), types)


def sort(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """Along an axis, stable."""
    axis = equation.params["axis"]
    order = _order_of(b, [x], 0)
    return b.same("sort", x, dimensions=(axis,), is_stable=True, to_apply=order)


def argsort(b: Builder, equation: Equation, *keys: Instruction) -> Instruction:
    """The indices, sorted along with the keys."""
    axis = equation.params["axis"]
    indices = b.iota(equation.output.type, axis)
    parts = (*keys, indices)
    kind = tuple(p.array.strong for p in parts)
    order = _order_of(b, keys, 1)
    done = b.add("sort", kind, *parts, dimensions=(axis,), is_stable=True, to_apply=order)
    return b.element(done, len(keys))


REDUCTIONS = ("sum", "prod", "max", "min", "and", "or", "bitwise_and", "bitwise_or", "xor")
RULES: Rules = {
    **{f"reduce_{name}": reduce for name in REDUCTIONS},
    **dict.fromkeys(("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"), scan),
    **{f"reduce_window_{name}": reduce_window for name in ("max", "min", "sum")},
    "argmax": arg_reduce,
    "argmin": arg_reduce,
    "argsort": argsort,
    "sort": sort,
}
