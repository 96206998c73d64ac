"""`reduce_window`: arrays reduced over sliding windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.functional.vectorize import vmap
from transpile.ir.dims import Shape
from transpile.ir.graph import Const
from transpile.ir.types import ArrayType
from transpile.lax.arrays.promotion import (
    array,
    as_value,
    is_weak,
    of_dtype,
    public,
    shape_of,
    traced,
)
from transpile.lax.arrays.reductions import combination
from transpile.lax.control.loops import scan
from transpile.lax.indexed.convolution_shapes import padtype_to_pads, width_of
from transpile.numpy.core.promotion import broadcast_in_dim, reshape_to, slice_axis, transpose_to
from transpile.numpy.core.promotion import error as located
from transpile.primitives import axes as axis_primitives
from transpile.primitives import windows
from transpile.primitives.kinds import reduction_by
from transpile.primitives.reductions import identity
from transpile.primitives.windows import dilated, windowed_shape
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind, trace_nested
from transpile.trace.tracer import Tracer
from transpile.tree import flatten, unflatten

__all__ = ["reduce_window", "reduce_window_shape_tuple"]

# Windows of as many taps are combined tap by tap in the graph; of more in a loop.
WRITTEN_OUT = 64


@public
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """An array, or a pytree of arrays of one shape, reduced over sliding windows by an associative
    function.

    init_value         what each window starts from, in the structure of the operand
    computation        (values, values) -> values, in that structure, of scalars
    window_dimensions  the shape of a window
    window_strides     the distances of windows
    padding            'VALID', 'SAME', 'SAME_LOWER' or (before, after) for each axis: positions
                       without an element, which windows skip
    base_dilation      the distances of elements, with such positions between them
    window_dilation    the distances of the taps of a window

    Sums, extremes, products and logic are primitives; other functions combine tap by tap, in a loop
    beyond 64 taps. Raises ValueError for structures that differ, TypeError for shapes, dtypes and
    parameters that do not fit.
    """
    leaves, structure = flatten(operand)
    starts, other = flatten(init_value)
    if structure != other:
        raise located(
            ValueError,
            f"Operands must have the same tree structure as init_values: {structure} vs. {other}",
        )
    arrays = [array(v, "reduce_window", k) for k, v in enumerate(leaves)]
    if not arrays:
        raise located(ValueError, "reduce_window must have at least one operand.")
    inits = [_start(v, x) for v, x in zip(starts, arrays, strict=True)]
    if any(shape_of(v) for v in inits):
        shapes = [tuple(shape_of(v)) for v in inits]
        raise located(
            TypeError,
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{shapes}.",
        )
    shape = tuple(arrays[0].shape)
    if any(tuple(x.shape) != shape for x in arrays):
        raise located(
            TypeError,
            "reduce_window requires operands of one shape, got "
            f"{', '.join(str(tuple(x.shape)) for x in arrays)}.",
        )
    params = _params(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    combine = _Computation(computation, structure, arrays)
    return unflatten(structure, combine.reduced(arrays, inits, params))


def _start(value: Any, x: Any) -> Any:
    """An initial value in the dtype of its operand."""
    start = as_value(value, "reduce_window")
    if is_weak(start) or not isinstance(start, Tracer):
        return of_dtype(start, x.dtype)
    if start.dtype != x.dtype:
        raise located(
            TypeError,
            f"reduce_window got an initial value of dtype {start.dtype.name} for an operand of "
            f"dtype {x.dtype.name}.",
        )
    return start


def _params(
    shape: Shape,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: Any,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> dict[str, Any]:
    """The params of the window primitives."""
    size = tuple(map(int, window_dimensions))
    one = (1,) * len(size)
    strides, base, apart = (
        one if given is None else tuple(map(int, given))
        for given in (window_strides, base_dilation, window_dilation)
    )
    _check(shape, size, strides, base, apart)
    if isinstance(padding, str):
        wide: Any = [dilated(n, b) for n, b in zip(shape, base, strict=True)]
        reach: Any = [dilated(w, d) for w, d in zip(size, apart, strict=True)]
        padding = padtype_to_pads(wide, reach, strides, padding)
    pads = tuple((width_of(low), width_of(high)) for low, high in padding)
    if len(pads) != len(size):
        raise located(
            ValueError,
            f"reduce_window padding must have a pair for each axis, got {len(pads)} for operand "
            f"shape {shape}.",
        )
    return {
        "window_dimensions": size,
        "window_strides": strides,
        "padding": pads,
        "base_dilation": base,
        "window_dilation": apart,
    }


def _check(
    shape: Shape,
    size: tuple[int, ...],
    strides: tuple[int, ...],
    base: tuple[int, ...],
    apart: tuple[int, ...],
) -> None:
    """Raise JAX's TypeError for windows of another rank, and for what is not positive."""
    if len(size) != len(shape):
        raise located(
            TypeError,
            "reduce_window got the wrong number of window_dimensions for operand: got operand "
            f"shape {shape} with window_dimensions {size}.",
        )
    for name, given in (
        ("window_strides", strides),
        ("base_dilation", base),
        ("window_dilation", apart),
    ):
        if len(given) != len(size):
            raise located(
                TypeError,
                f"reduce_window got inconsistent {name} and window_dimensions: got {name} {given} "
                f"and window_dimensions {size}.",
            )
    for given in (base, apart):
        if any(d <= 0 for d in given):
            raise located(TypeError, f"All dilations must be positive, got {given}.")
    for name, given in (("window_dimensions", size), ("window_strides", strides)):
        if any(n <= 0 for n in given):
            raise located(
                TypeError,
                f"reduce_window {name} must have every element be strictly positive, got {given}.",
            )


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of a `reduce_window`, whose parameters and errors it has; nothing is
    computed."""
    params = _params(
        tuple(operand_shape),
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    shape: Any = windowed_shape(tuple(operand_shape), **params)
    return tuple(shape)


# ------------------------------------------------------------------------------------ computations


class _Computation:
    """What combines two tuples of values into one."""

    def __init__(self, function: Callable[[Any, Any], Any], structure: Any, arrays: Any) -> None:
        self.function, self.structure = function, structure
        self.count = len(arrays)
        types = [ArrayType((), x.dtype) for x in arrays] * 2
        names = [f"{side}{k}" for side in "xy" for k in range(self.count)]
        graph, _, _ = trace_nested(self._checked, types, names, name="computation")
        for x, a in zip(arrays, graph.outputs, strict=True):
            if a.type.dtype != x.dtype or a.type.shape:
                raise located(
                    TypeError,
                    f"the computation of a reduce_window gives {a.type} where the operand is "
                    f"{x.dtype.name}",
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
                ValueError,
                "reduce_window output must have the same tree structure as the operands "
                f"{self.structure} vs. {structure}",
            )
        return leaves

    def reduced(
        self, arrays: Sequence[Any], inits: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """The arrays reduced over windows."""
        if self.primitive is not None and reduction_by(self.primitive, arrays[0].dtype) is not None:
            return [self._by_primitive(arrays[0], inits[0], params)]
        return self._tap_by_tap(arrays, inits, params)

    def _by_primitive(self, x: Any, start: Any, params: dict[str, Any]) -> Any:
        """By a window primitive, or by a reduction of the view of all windows."""
        assert self.primitive is not None
        primitive = windows.reduction_of_windows_by(self.primitive)
        of_view = reduction_by(self.primitive, x.dtype)
        accepts = primitive is not None and x.dtype.kind in primitive.dtypes
        if primitive is not None and (accepts or x.dtype.kind not in "biufc"):
            result = bind(primitive, x, **params)
            neutral = identity(primitive.combine, x.dtype)
        elif primitive is None and of_view is not None:
            neutral = identity(of_view.combine, x.dtype)
            view = _view(x, neutral, params)
            result = bind(of_view, view, axes=tuple(range(x.ndim, view.ndim)))
        else:
            return self._tap_by_tap([x], [start], params)[0]
        if not isinstance(start, Tracer) and np.asarray(start).tobytes() == neutral.value.tobytes():
            return result
        return bind(
            self.primitive, broadcast_in_dim(traced(start), tuple(result.shape), ()), result
        )

    def _tap_by_tap(
        self, arrays: Sequence[Any], inits: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Each tap combined with what those before it have made, where it sees an element."""
        shape = windowed_shape(tuple(arrays[0].shape), **params)
        taps = int(np.prod(params["window_dimensions"], dtype=np.int64))
        views = [_taps(x, Const(np.zeros((), x.dtype)), params, taps, shape) for x in arrays]
        there = broadcast_in_dim(traced(np.bool_(True)), tuple(arrays[0].shape), ())
        inside = _taps(there, Const(np.bool_(False)), params, taps, shape)
        carry = [broadcast_in_dim(traced(v), shape, ()) for v in inits]
        if taps > WRITTEN_OUT:
            return list(scan(self._step, tuple(carry), (tuple(views), inside))[0])
        for k in range(taps):
            values = [reshape_to(slice_axis(v, 0, k, k + 1), shape) for v in (*views, inside)]
            carry = self._step(carry, (values[:-1], values[-1]))[0]
        return carry

    def _step(self, carry: Any, tap: Any) -> Any:
        values, inside = tap
        rank = carry[0].ndim
        combine: Callable[..., Any] = self
        for _ in range(rank):
            combine = vmap(combine)
        combined = combine(*carry, *values)
        kept = [np.where(inside, new, old) for new, old in zip(combined, carry, strict=True)]
        return (tuple(kept) if isinstance(carry, tuple) else kept), None


def _view(x: Any, fill: Const, params: dict[str, Any]) -> Any:
    """All windows of an array: an axis for each axis, then one for the taps along each."""
    padding = tuple(
        (*pair, b - 1) for pair, b in zip(params["padding"], params["base_dilation"], strict=True)
    )
    if any(map(any, padding)):
        x = bind(axis_primitives.pad, x, fill, padding=padding)
    names = ("window_dimensions", "window_strides", "window_dilation")
    return bind(windows.windows, x, **{name: params[name] for name in names})


def _taps(x: Any, fill: Const, params: dict[str, Any], taps: int, shape: Shape) -> Any:
    """What each tap sees, taps along the first axis."""
    view = _view(x, fill, params)
    order = (*range(x.ndim, view.ndim), *range(x.ndim))
    return reshape_to(transpose_to(view, order), (taps, *shape))
