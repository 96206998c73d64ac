"""Functions of functions: apply_along_axis, apply_over_axes, vectorize.

The function is traced once, for one slice or one element, and its graph is batched
(`transforms/batch.py`): it runs on all of them at once, in the loops that it would have if it had
been written for arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Axis
from transpile.ir.source_info import function_source
from transpile.ir.types import PYTHON_SCALARS, ArrayType, broadcast_shapes
from transpile.numpy.core.promotion import (
    EXPORTS,
    Array,
    as_array,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    has_tracer,
    implements,
    index_of,
    reshape_to,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.manipulation.shapes import expand_dims
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name, inner
from transpile.trace.trace import trace_nested
from transpile.transforms.batch import spread


def over_examples(
    function: Callable[..., Any], size: Any, arrays: Sequence[Any], users: Callable[..., Any]
) -> Any:
    """The results of `function` for each of `size` examples, which are the elements of the arrays
    along their axis 0: an array, or a tuple where the function gives one. It calls the function
    `users`, which errors name."""

    def leaves_of(*tracers: Any) -> tuple[list[Any], bool]:
        result = function(*tracers)
        is_tuple = isinstance(result, tuple)
        return [as_array(r) for r in (result if is_tuple else (result,))], is_tuple

    types = [ArrayType(tuple(a.shape[1:]), a.dtype) for a in arrays]
    graph, captured, is_tuple = trace_nested(
        leaves_of,
        types,
        [""] * len(types),
        name=function_name(users),
        source=function_source(inner(users)),
    )
    flags = [False] * len(captured) + [True] * len(arrays)
    results, batched = spread(graph, Axis(size), (*captured, *arrays), flags)
    full = tuple(
        _array(r) if b else _repeated(_array(r), size)
        for r, b in zip(results, batched, strict=True)
    )
    return full if is_tuple else full[0]


def _array(value: Any) -> Any:
    """A result of a graph as an operand."""
    return as_array(value)


def _repeated(x: Any, size: Any) -> Any:
    return broadcast_in_dim(x, (size, *x.shape), range(1, x.ndim + 1))


@implements(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Array, *args: Any, **kwargs: Any
) -> Any:
    """The results of a function of vectors for each vector along an axis; the axes of a result
    replace that axis.

    The function is traced once and batched, so it must be free of side effects and of branches on
    values. Raises ValueError where the other axes are empty.
    """
    x = as_array(arr)
    number = axis_of(axis, x.ndim)
    others = [a for a in range(x.ndim) if a != number]
    shape = tuple(x.shape[a] for a in others)
    count = product(shape)
    if count == 0:
        raise located(ValueError, "Cannot apply_along_axis when any iteration dimensions are 0")
    slices = reshape_to(transpose_to(x, [*others, number]), (count, x.shape[number]))
    result = over_examples(
        lambda one: resolved(func1d)(one, *args, **kwargs), count, [slices], func1d
    )
    inner = result.ndim - 1
    full = reshape_to(result, (*shape, *result.shape[1:]))
    first = list(range(len(shape)))
    made = list(range(len(shape), len(shape) + inner))
    return transpose_to(full, [*first[:number], *made, *first[number:]])


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Array, axes: Any) -> Any:
    """The array after a reduction over each of several axes, one after the other, which stay with
    size 1.

    Raises ValueError for a function whose result has another number of axes.
    """
    value = as_array(a)
    ndim = value.ndim
    for axis in axes if isinstance(axes, Iterable) else (axes,):
        number = index_of(axis) + (ndim if axis < 0 else 0)
        result = resolved(func)(value, number)
        if result.ndim != value.ndim:
            result = expand_dims(result, number)
            if result.ndim != value.ndim:
                raise located(ValueError, "function is not returning an array of the correct shape")
        value = result
    return value


# ------------------------------------------------------------------------------------- vectorize

Core = list[tuple[str, ...]]  # the named axes of each operand, or of each result


class vectorize:
    """A function of scalars, or by its `signature` of arrays, made to broadcast over its arguments.

    On traced values the function is traced once and batched, so side effects happen once; on others
    this is NumPy's own. `otypes` cast results, `excluded` names arguments that are passed on as
    they are. Raises TypeError and ValueError for arguments that do not fit the signature.
    """

    __wrapped__: Any = np.vectorize  # whose name this has in the namespace

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: Iterable[int | str] | None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self.pyfunc = pyfunc
        self.excluded = set(excluded or ())
        self.signature = signature
        self.otypes = otypes
        of_scalars = pyfunc if signature is not None else self._of_scalars
        self._plain = vectorize.__wrapped__(
            of_scalars, otypes, doc, self.excluded, cache, signature
        )
        functools.update_wrapper(self, pyfunc)

    def _of_scalars(self, *args: Any, **kwargs: Any) -> Any:
        """The function of elements as NumPy's scalars, which have a shape and a dtype."""
        given = [x if k in self.excluded else _scalar(x) for k, x in enumerate(args)]
        named = {n: x if n in self.excluded else _scalar(x) for n, x in kwargs.items()}
        return self.pyfunc(*given, **named)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results, broadcast over all arguments that are not excluded."""
        if not has_tracer(args) and not has_tracer(kwargs):
            return self._plain(*args, **kwargs)
        names = [n for n in kwargs if n not in self.excluded]
        positions = [k for k in range(len(args)) if k not in self.excluded]
        arrays = [as_array(v) for v in (*(args[k] for k in positions), *(kwargs[n] for n in names))]

        def of_elements(*values: Any) -> Any:
            given = list(args)
            for position, value in zip(positions, values, strict=False):
                given[position] = value
            named = dict(zip(names, values[len(positions) :], strict=True))
            return resolved(self.pyfunc)(*given, **{**kwargs, **named})

        inputs, outputs = _signature(self.signature, len(arrays))
        shape, flat = _loop_operands(arrays, inputs)
        result = over_examples(of_elements, product(shape), flat, self.pyfunc)
        several = result if isinstance(result, tuple) else (result,)
        if outputs is not None and len(outputs) != len(several):
            raise located(
                ValueError,
                f"wrong number of outputs from pyfunc: expected {len(outputs)}, got {len(several)}",
            )
        full = tuple(
            self._converted(reshape_to(r, (*shape, *r.shape[1:])), k) for k, r in enumerate(several)
        )
        return full if isinstance(result, tuple) else full[0]

    def _converted(self, result: Any, position: int) -> Any:
        otypes = self.otypes
        return result if otypes is None else result.astype(np.dtype(otypes[position]))


def _scalar(value: Any) -> Any:
    return np.asarray(value)[()] if type(value) in PYTHON_SCALARS else value


def _signature(signature: str | None, count: int) -> tuple[Core, Core | None]:
    """The named axes of the operands and of the results."""
    if signature is None:
        return [()] * count, None
    left, _, right = signature.replace(" ", "").partition("->")
    inputs, outputs = (
        [tuple(filter(None, part.strip("()").split(","))) for part in _parts(side)]
        for side in (left, right)
    )
    if len(inputs) != count:
        raise located(
            TypeError, f"wrong number of positional arguments: expected {len(inputs)}, got {count}"
        )
    return inputs, outputs


def _parts(side: str) -> list[str]:
    """`(m,n),(n)` split into `(m,n` and `(n`."""
    return [part for part in side.replace("),", ")|").split("|") if part]


def _loop_operands(arrays: Sequence[Any], inputs: Core) -> tuple[Shape, list[Any]]:
    """The shape of the loop, and the arrays with all its axes as one in front."""
    outer = [a.shape[: a.ndim - len(core)] for a, core in zip(arrays, inputs, strict=True)]
    for array, core in zip(arrays, inputs, strict=True):
        if array.ndim < len(core):
            raise located(
                ValueError,
                f"{array.ndim}-dimensional argument does not have enough dimensions for all core "
                f"dimensions {core!r}",
            )
    _check_core(arrays, inputs)
    shape = broadcast_shapes(outer, lambda text: located(ValueError, text))
    count = product(shape)
    flat = []
    for array, core in zip(arrays, inputs, strict=True):
        rest = array.shape[array.ndim - len(core) :]
        flat.append(reshape_to(broadcast_to(array, (*shape, *rest)), (count, *rest)))
    return shape, flat


def _check_core(arrays: Sequence[Any], inputs: Core) -> None:
    sizes: dict[str, Any] = {}
    for array, core in zip(arrays, inputs, strict=True):
        for name, size in zip(core, array.shape[array.ndim - len(core) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise located(
                    ValueError,
                    f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}",
                )


EXPORTS["vectorize"] = vectorize
