"""Rules of one's own for `vmap`, as in `jax.custom_batching`: custom_vmap, sequential_vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

from transpile import tree
from transpile.functional.custom import bind_function, finished, positional
from transpile.functional.flatten_fun import Flat, flatten_function, value_type
from transpile.functional.placeholders import standing_in, traced
from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.lax.control.fori import map as map_examples
from transpile.primitives.control.custom_calls import custom_vmap_call
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name, place_of
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary

__all__ = ["custom_vmap", "sequential_vmap"]

Function = Callable[..., Any]


class custom_vmap:  # a decorator, like JAX's
    """A function that `vmap` batches by a rule of its own: a decorator.

        @custom_vmap
        def f(x, y):
            return x + y

        @f.def_vmap
        def rule(axis_size, in_batched, x, y):
            x_batched, y_batched = in_batched
            return x + y, x_batched or y_batched

    The rule gets the size of the axis, for each argument a pytree of bools, is this leaf batched,
    and the arguments, batched along axis 0. It returns the result and a pytree of bools of its
    structure. Derivatives are those of the function; of a batch, those of the rule. Arguments and
    results are pytrees of arrays.

    Raises AttributeError where no rule is defined, TypeError for arguments that have no position,
    and ValueError, when `vmap` runs, for a rule whose results do not fit.
    """

    __name__: str

    def __init__(self, fun: Function) -> None:
        functools.update_wrapper(cast(Any, self), fun, updated=())
        self.fun = fun
        self.vmap_rule: Function | None = None

    def __repr__(self) -> str:
        return f"<custom_vmap of {place_of(self.fun)}>"

    def def_vmap(self, vmap_rule: Function) -> Function:
        """Define the rule, `(axis_size, in_batched, *arguments) -> (result, out_batched)`; gives
        it, so that this is a decorator."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value; of a batch, by the rule."""
        args = positional(self.fun, args, kwargs, "custom_vmap")
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {function_name(self.fun)} "
                f"using def_vmap."
            )
        if current_trace() is None:
            return resolved(self.fun)(*args)
        flat, leaves = flatten_function(self.fun, args)
        closed = flat.closed
        rule = _Rule(flat, self.vmap_rule)
        operands = (*closed.captured, *leaves)
        results = bind_function(self.fun, custom_vmap_call, operands, graph=closed.graph, rule=rule)
        return finished(self.fun, flat.out_tree.unflatten(results))


class _Rule:
    """A user's rule on the operands of an equation: the captured values, then the leaves."""

    def __init__(self, flat: Flat, rule: Function) -> None:
        self.flat = flat
        self.rule = rule
        self.__name__ = function_name(rule)

    def __call__(
        self, axis: Axis, batched: Sequence[bool], operands: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        """The results, and which of them are batched."""
        captured = self.flat.closed.captured
        count = len(captured)
        if any(batched[:count]):
            raise ValueError(
                f"{user_source()}: the function of {self.__name__} closes over a value that vmap "
                f"maps; pass it as an argument, as its rule does not know of it"
            )
        args = self.flat.in_tree.unflatten(operands[count:])
        in_batched = list(self.flat.in_tree.unflatten(batched[count:]))
        with standing_in(captured, operands[:count]):
            pair = resolved(self.rule)(axis.size, in_batched, *args)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"{user_source()}: the custom vmap rule {self.__name__} returns a pair of its "
                f"result and of what is batched in it, not a {type(pair).__name__}"
            )
        return self._checked(pair[0], pair[1], axis)

    def _checked(self, result: Any, out_batched: Any, axis: Axis) -> tuple[list[Any], list[bool]]:
        leaves, structure = flatten_arrays(result)
        flags, of_flags = tree.flatten(out_batched)
        for what, found in (("output value", structure), ("batching specification", of_flags)):
            if found != self.flat.out_tree:
                raise ValueError(
                    f"{user_source()}: structure of {what} returned by custom vmap rule "
                    f"({self.__name__}) does not match that of the function: {found} != "
                    f"{self.flat.out_tree}"
                )
        for x, flag, kind in zip(leaves, flags, self.flat.out_types, strict=True):
            expected = (axis.size, *kind.shape) if flag else kind.shape
            own = value_type(x)
            if (own.shape, own.dtype) != (expected, kind.dtype):
                raise ValueError(
                    f"{user_source()}: the custom vmap rule {self.__name__} returns "
                    f"{own.dtype}{list(own.shape)} for {kind.dtype}{list(expected)}"
                )
        given = zip(leaves, flags, self.flat.out_types, strict=True)
        shapes = [
            (x, k.strong.with_shape((axis.size, *k.shape)) if flag else k.strong)
            for x, flag, k in given
        ]
        return [traced(x, kind) for x, kind in shapes], [bool(flag) for flag in flags]


def sequential_vmap(f: Function) -> custom_vmap:
    """A decorator for functions that `vmap` runs for one example after the other, in a loop, as
    `lax.map` does.

    For those whose batched form would take too much memory, or that call Python in an order.
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: Any, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, structure = tree.flatten(args)
        flags = tree.leaves(in_batched)
        examples = [x for x, flag in zip(leaves, flags, strict=True) if flag]

        def one(chosen: list[Any]) -> Any:
            given = iter(chosen)
            full = [next(given) if f else x for x, f in zip(leaves, flags, strict=True)]
            return mapped(*structure.unflatten(full))

        result = map_examples(one, examples)
        return result, tree.map(lambda _: True, result)

    return mapped
