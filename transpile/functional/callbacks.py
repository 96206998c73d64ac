"""`pure_callback` and `io_callback`: results from Python at run time, with JAX's arguments.

Both bind a primitive of the kind `callback`, as `debug.callback` does. All array leaves of the
arguments are operands of it, constants too, so that `vmap` can treat them alike. Outside of traces
the function is called at once, with the same checks of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.primitive import Primitive
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType, type_of
from transpile.primitives.effects import callbacks as primitives
from transpile.primitives.effects.callbacks import Callback, Same
from transpile.primitives.rules import bind_call
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.pytree.treedef import TreeDef
from transpile.trace.call_signature import function_name
from transpile.trace.guards.executed_code import codes_of, takes_callback
from transpile.trace.trace import current_trace

_VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
    None,
)


@takes_callback
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """The result of `callback(*args, **kwargs)`, called with arrays when the program runs.

    callback             a function without side effects: it is called where its result is read,
                         perhaps several times, or not at all
    result_shape_dtypes  a pytree of objects with `shape` and `dtype`, which the result is to have
    args, kwargs         pytrees of arrays and numbers
    sharding             changes nothing: there is one device
    vmap_method          what `vmap` does: "sequential", "sequential_unrolled" (a call for each
                         example), "expand_dims", "broadcast_all" (one call for all examples, with
                         an axis of length 1, or of their number, in front of operands that are not
                         mapped), "legacy_vectorized" (those as they are), None (an error)

    The result has the structure of `result_shape_dtypes`; leaves of what the function returns are
    taken in order. Raises CallbackResultError for other shapes or dtypes, ValueError for an unknown
    `vmap_method`, and under differentiation without a `custom_jvp` or `custom_vjp` around it. What
    the function raises reaches the caller of the program as it is.
    """
    if vmap_method not in _VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {list(_VMAP_METHODS)}, but got: "
            f"{vmap_method}"
        )
    params = {"vmap_method": vmap_method}
    return _called(primitives.pure_callback, callback, result_shape_dtypes, args, kwargs, params)


@takes_callback
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """The result of `callback(*args, **kwargs)`, called exactly once for each time that the program
    comes to it.

    callback             a function that may have side effects
    result_shape_dtypes  a pytree of objects with `shape` and `dtype`, which the result is to have;
                         `None` or `()` for none
    args, kwargs         pytrees of arrays and numbers
    sharding             changes nothing: there is one device
    ordered              refuses `vmap`; all calls come in the order of the program in any case

    Raises CallbackResultError for results of other shapes or dtypes, and ValueError under
    differentiation without a `custom_jvp` or `custom_vjp` around it. What the function raises
    reaches the caller of the program as it is, and ends the program.
    """
    params = {"ordered": bool(ordered)}
    return _called(primitives.io_callback, callback, result_shape_dtypes, args, kwargs, params)


class _Flat:
    """A function of the leaves of the arguments, made of one of the arguments."""

    __slots__ = ("function", "structure")

    def __init__(self, function: Callable[..., Any], structure: TreeDef) -> None:
        self.function = function
        self.structure = structure

    def __call__(self, *values: Any) -> Any:
        args, kwargs = self.structure.unflatten(values)
        return self.function(*args, **kwargs)


def _called(
    primitive: Primitive,
    function: Callable[..., Any],
    result_shape_dtypes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    params: dict[str, Any],
) -> Any:
    """The results of a callback, in the structure of `result_shape_dtypes`."""
    if not callable(function):
        raise TypeError(
            f"{user_source()}: {primitive} takes a function, not a {type(function).__name__}: "
            f"{function!r}"
        )
    leaves, structure = flatten_arrays((args, kwargs))
    wanted, out_structure = flatten_arrays(result_shape_dtypes)
    kinds = tuple(_result_type(primitive, leaf) for leaf in wanted)
    name = function_name(function)
    callback = Callback(
        name,
        _Flat(function, structure),
        (primitive.name, Same(function), structure),
        codes=codes_of(function),
    )
    if current_trace() is None:
        results: Sequence[Any] = callback.results([_array(x) for x in leaves], kinds)
    else:
        results = bind_call(primitive, *leaves, callback=callback, results=kinds, **params)
    return out_structure.unflatten(results)


def _array(leaf: Any) -> Any:
    """A leaf of the arguments as an array, outside of traces."""
    return np.asarray(leaf, type_of(leaf).dtype)


def _result_type(primitive: Primitive, leaf: Any) -> ArrayType:
    return type_of(leaf, f"a leaf of result_shape_dtypes of {primitive}").strong
