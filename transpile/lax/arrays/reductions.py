"""Reductions and cumulative reductions of `lax`: by a primitive, or by any associative function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from transpile.functional.vectorize import vmap
from transpile.ir.dims import Shape
from transpile.ir.graph import Graph
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import TABLE, Primitive
from transpile.ir.types import ArrayType
from transpile.lax.arrays.promotion import (
    Array,
    array,
    as_value,
    check_kind,
    ints,
    is_weak,
    of_dtype,
    public,
    same_dtypes,
    shape_of,
    spelled,
    traced,
)
from transpile.numpy.core.promotion import (
    broadcast_in_dim,
    concatenate_along,
    fill,
    is_empty,
    reshape_to,
    slice_axis,
    strengthen,
    transpose_to,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.primitives import reductions as primitives
from transpile.primitives.kinds import reduction_by
from transpile.primitives.reductions import identity
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind, trace_nested
from transpile.trace.tracer import Tracer
from transpile.tree import flatten, unflatten

__all__ = [
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]

# ------------------------------------------------------------------------------ along whole axes


def _checked_axes(x: Any, axes: Any) -> tuple[int, ...]:
    """Axes of an array, each once, or JAX's ValueError."""
    checked = ints([axes] if isinstance(axes, int | np.integer) else axes)
    if len(set(checked)) != len(checked):
        raise located(ValueError, f"duplicate value in 'axes' of reduction: {checked}")
    if not all(0 <= a < x.ndim for a in checked):
        kind = f"{x.dtype.name}[{','.join(map(str, x.shape))}]"
        raise located(
            ValueError, f"reduction axes {checked} contains out-of-bounds indices for {kind}."
        )
    return checked


def _rest(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(d for a, d in enumerate(shape) if a not in axes)


def reduced(x: Any, primitive: Primitive, axes: tuple[int, ...]) -> Any:
    """The array reduced by a primitive; its identity where there is nothing to reduce."""
    if not axes:
        return strengthen(x)
    if is_empty(x.shape):
        return fill(identity(primitive.combine, x.dtype).value, _rest(x.shape, axes), x.dtype)
    return bind(primitive, x, axes=axes)


# What every reduction says of its axes.
_AXES = "Axes do not count from the end; raises ValueError for repeated ones."


def _reduction(name: str, primitive: Primitive, accepted: str, meaning: str) -> Any:
    """A reduction by a primitive; its identity is the result over no elements."""

    def function(operand: Array, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
        x = array(operand, name)
        check_kind(name, x, accepted)
        return reduced(x, primitive, _checked_axes(x, axes))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}\n\n    {_AXES}\n    "
    return public(function)


def _logical(name: str, of_bools: Primitive, of_integers: Primitive, meaning: str) -> Any:
    def function(operand: Array, axes: Sequence[int]) -> Any:
        x = array(operand, name)
        if x.dtype.kind not in "biu":
            raise located(
                TypeError,
                f"logical reduction requires operand dtype bool or int, got {x.dtype.name}.",
            )
        primitive = of_bools if x.dtype.kind == "b" else of_integers
        return reduced(x, primitive, _checked_axes(x, axes))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}\n\n    {_AXES} TypeError for floats.\n    "
    return public(function)


reduce_sum = _reduction(
    "reduce_sum",
    primitives.reduce_sum,
    "N",
    "The sum along axes, in the dtype of the operand; 0 of no elements.",
)
reduce_prod = _reduction(
    "reduce_prod",
    primitives.reduce_prod,
    "N",
    "The product along axes, in the dtype of the operand; 1 of no elements.",
)
reduce_max = _reduction(
    "reduce_max",
    primitives.reduce_max,
    "nfcb",
    "The largest element along axes, NaN where there is one; -inf or the least of no elements.",
)
reduce_min = _reduction(
    "reduce_min",
    primitives.reduce_min,
    "nfcb",
    "The smallest element along axes, NaN where there is one; inf or the largest of no elements.",
)
reduce_and = _logical(
    "reduce_and",
    primitives.reduce_and,
    primitives.reduce_bitwise_and,
    "The bitwise conjunction along axes; of bools whether all are true.",
)
reduce_or = _logical(
    "reduce_or",
    primitives.reduce_or,
    primitives.reduce_bitwise_or,
    "The bitwise disjunction along axes; of bools whether any is true.",
)
reduce_xor = _logical(
    "reduce_xor",
    primitives.reduce_xor,
    primitives.reduce_xor,
    "The bitwise exclusive disjunction along axes: the parity of each bit.",
)

# --------------------------------------------------------------------------- by any computation


def combination(graph: Graph) -> Primitive | None:
    """The primitive of two operands that a computation of two scalars applies, if it is a single
    one."""
    if len(graph.equations) != 1 or len(graph.inputs) != 2:
        return None
    (equation,) = graph.equations
    is_of_both = set(equation.inputs) == set(graph.inputs)
    if not is_of_both or graph.outputs != equation.outputs:
        return None
    return equation.primitive


@public
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Arrays of one shape reduced along axes by an associative function of scalars.

    operands     an array, or a pytree of them
    init_values  scalars, in the same structure: what the reduction starts from
    computation  (values, values) -> values, in the same structure

    Sums, products, extremes and bitwise operations are primitives; other functions combine
    neighbours, then pairs of them, and so on, in log2(n) passes over the data. Raises ValueError
    for structures or shapes that differ, TypeError for a computation whose results have other
    dtypes, and UnsupportedError for such a one along axes of a runtime size.
    """
    leaves, structure = flatten(operands)
    starts, other = flatten(init_values)
    if structure != other:
        raise located(
            ValueError,
            f"Operands must have the same tree structure as init_values: {structure} vs. {other}",
        )
    arrays = [array(v, "reduce", k) for k, v in enumerate(leaves)]
    inits = [_start(v, x) for v, x in zip(starts, arrays, strict=True)]
    shapes = [v.shape for v in arrays]
    if any(s != shapes[0] for s in shapes):
        listed = ", ".join(map(spelled, shapes))
        raise located(ValueError, f"reduce requires operands of one shape, got {listed}.")
    if not arrays:
        return operands
    wrong = [shape_of(v) for v in inits if shape_of(v)]
    if wrong:
        listed = ", ".join(map(spelled, wrong))
        raise located(ValueError, f"reduce found non-scalar initial value: [{listed}]")
    axes = _checked_axes(arrays[0], dimensions)
    if not axes:
        return unflatten(structure, list(map(strengthen, arrays)))
    combine = _Computation(computation, structure, arrays)
    return unflatten(structure, combine.reduced(arrays, inits, axes))


def _start(value: Any, x: Any) -> Any:
    """An initial value in the dtype of its operand."""
    start = as_value(value, "reduce")
    if is_weak(start):
        return of_dtype(start, x.dtype)
    return of_dtype(start, same_dtypes("reduce", [x, start]))


class _Computation:
    """The function that combines two tuples of values into one, traced for scalars."""

    def __init__(self, function: Callable[[Any, Any], Any], structure: Any, arrays: Any) -> None:
        self.function, self.structure = function, structure
        self.count = len(arrays)
        types = [ArrayType((), x.dtype) for x in arrays] * 2
        names = [f"{side}{k}" for side in "xy" for k in range(self.count)]
        graph, _, _ = trace_nested(self._checked, types, names, name="computation")
        kinds = [a.type for a in graph.outputs]
        for x, kind in zip(arrays, kinds, strict=True):
            if kind.dtype != x.dtype or kind.shape:
                raise located(
                    TypeError,
                    f"the computation of a reduce gives {kind} where the operand is {x.dtype.name}",
                )
        self.primitive = combination(graph) if self.count == 1 else None

    def _checked(self, *values: Any) -> tuple[list[Any], None]:
        return self(*values), None

    def __call__(self, *values: Any) -> list[Any]:
        """The results of values of the left side, then of the right one."""
        left, right = values[: self.count], values[self.count :]
        result = resolved(self.function)(
            unflatten(self.structure, list(left)), unflatten(self.structure, list(right))
        )
        leaves, structure = flatten(result)
        if structure != self.structure:
            raise located(
                TypeError,
                f"the computation of a reduce gives {structure} where the operands are "
                f"{self.structure}",
            )
        return leaves

    def elementwise(self, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        """The same for arrays of one axis."""
        return list(vmap(self)(*left, *right))

    def reduced(
        self, arrays: Sequence[Any], inits: Sequence[Any], axes: tuple[int, ...]
    ) -> list[Any]:
        """The arrays reduced along axes."""
        primitive = (
            reduction_by(self.primitive, arrays[0].dtype) if self.primitive is not None else None
        )
        if primitive is not None:
            return [self._by_primitive(arrays[0], inits[0], primitive, axes)]
        shape = arrays[0].shape
        rest = _rest(shape, axes)
        size = product(tuple(shape[a] for a in axes))
        if not isinstance(size, int):
            raise unsupported(
                "lax.reduce by a computation needs to know the size of its axes while tracing, "
                f"and that is {size}; sums, products, extremes and bitwise operations do not"
            )
        kept = [a for a in range(len(shape)) if a not in axes]
        count = product(rest)
        starts = [reshape_to(broadcast_in_dim(traced(v), rest, ()), (count,)) for v in inits]
        if size == 0 or is_empty(shape):
            return [reshape_to(v, rest) for v in starts]
        flat = [reshape_to(transpose_to(x, [*axes, *kept]), (size, count)) for x in arrays]
        total = [reshape_to(x, (count,)) for x in self._in_pairs(flat, size, count)]
        return [reshape_to(v, rest) for v in self.elementwise(starts, total)]

    def _by_primitive(self, x: Any, start: Any, primitive: Primitive, axes: tuple[int, ...]) -> Any:
        result = reduced(x, primitive, axes)
        neutral = identity(primitive.combine, x.dtype)
        if not isinstance(start, Tracer) and np.asarray(start).tobytes() == neutral.value.tobytes():
            return result
        value = broadcast_in_dim(traced(start), tuple(result.shape), ())
        assert self.primitive is not None
        return bind(self.primitive, value, result)

    def _in_pairs(self, arrays: list[Any], size: int, count: Any) -> list[Any]:
        """Arrays whose first axis has size 1, from neighbours, pairs of neighbours, and so on."""
        while size > 1:
            half = size // 2
            left, right = (
                [reshape_to(slice_axis(x, 0, k, 2 * half, 2), (half * count,)) for x in arrays]
                for k in (0, 1)
            )
            pairs = [reshape_to(x, (half, count)) for x in self.elementwise(left, right)]
            if size % 2:
                last = [slice_axis(x, 0, size - 1, size) for x in arrays]
                pairs = [concatenate_along(p, 0) for p in zip(pairs, last, strict=True)]
            arrays, size = pairs, half + size % 2
        return arrays


# -------------------------------------------------------------------------- cumulative reductions


def _cumulative(name: str, primitive: Primitive, accepted: str, meaning: str) -> Any:
    def function(operand: Array, axis: int = 0, reverse: bool = False) -> Any:
        x = array(operand, name)
        check_kind(name, x, accepted)
        number = int(axis)
        if number < 0:
            raise located(ValueError, "XLA operations do not allow negative axes")
        if number >= x.ndim:
            raise located(
                ValueError, f"axis {axis} is out of bounds for array of shape {spelled(x.shape)}"
            )
        if x.dtype.kind == "c" and "c" not in primitive.dtypes:
            return _doubling_scan(primitive, x, number, bool(reverse))
        return bind(primitive, x, axis=number, reverse=bool(reverse))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{meaning} along an axis, up to each element; from the end with `reverse`.\n\n"
        "    The axis does not count from the end: raises ValueError for a negative one.\n    "
    )
    return public(function)


def _logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) of complex numbers, by the one with the larger real part."""
    larger = np.greater(np.real(x), np.real(y))
    high, low = np.where(larger, x, y), np.where(larger, y, x)
    both = high + np.log(1 + np.exp(low - high))
    return np.where(np.isneginf(np.real(high)), high, both)


def _doubling_scan(primitive: Primitive, x: Any, axis: int, reverse: bool) -> Any:
    """A cumulative reduction of complex numbers, which have no primitive for it: each pass combines
    elements twice as far apart as the one before (D. Hillis and G. Steele, 1986)."""
    combine = (
        _logaddexp
        if primitive is primitives.cumlogsumexp
        else partial(bind, TABLE[primitive.combine])
    )
    size, distance = x.shape[axis], 1
    while distance < size:
        first, last = (0, size - distance) if not reverse else (distance, size)
        other = slice_axis(x, axis, first, last)
        here = slice_axis(x, axis, *((distance, size) if not reverse else (0, size - distance)))
        moved = combine(other, here)
        still = slice_axis(x, axis, *((0, distance) if not reverse else (size - distance, size)))
        x = concatenate_along([moved, still] if reverse else [still, moved], axis)
        distance *= 2
    return strengthen(x)


cumsum = _cumulative("cumsum", primitives.cumsum, "N", "Cumulative sums")
cumprod = _cumulative("cumprod", primitives.cumprod, "N", "Cumulative products")
cummax = _cumulative("cummax", primitives.cummax, "N", "Cumulative maxima")
cummin = _cumulative("cummin", primitives.cummin, "N", "Cumulative minima")
cumlogsumexp = _cumulative(
    "cumlogsumexp", primitives.cumlogsumexp, "fc", "Logarithms of cumulative sums of exponentials"
)
