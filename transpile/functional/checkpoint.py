"""checkpoint: derivatives that recompute intermediate values instead of storing them.

Names, arguments, policies and errors are JAX's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from transpile import tree
from transpile.functional.custom import bind_function, finished, traced_call
from transpile.ir.primitive import Primitive
from transpile.ir.source_info import user_source
from transpile.primitives.control.checkpoint import Policy
from transpile.primitives.control.checkpoint import checkpoint as checkpoint_primitive
from transpile.primitives.rules import apply
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_arguments import parameters
from transpile.trace.call_signature import function_name
from transpile.trace.lengths import own_lengths
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import Tracer, named
from transpile.util.frozen_records import dataclass

# --------------------------------------------------------------------------------------- policies


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keep every value that a derivative needs, as if there were no checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keep the arguments alone: what checkpoint does without a policy."""
    return False


@dataclass(frozen=True)
class DotsSaveable:
    """Keep the results of matrix products: of all, or of those without batch axes."""

    only_if_no_batch_dims: bool

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        """Tell whether the results of an equation are kept."""
        if primitive.name != "dot_general":
            return False
        return not self.only_if_no_batch_dims or not any(params["dimension_numbers"][1])


dots_saveable = DotsSaveable(False)
dots_with_no_batch_dims_saveable = DotsSaveable(True)


@dataclass(frozen=True)
class SaveOnlyTheseNames:
    """Keep the values that `checkpoint_name` gave one of these names."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        """Tell whether the results of an equation are kept."""
        return primitive.name == "name" and params["name"] in self.names


@dataclass(frozen=True)
class SaveAnyNamesButThese:
    """Keep the values that `checkpoint_name` gave any other name."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        """Tell whether the results of an equation are kept."""
        return primitive.name == "name" and params["name"] not in self.names


@dataclass(frozen=True)
class SaveAnythingExceptTheseNames:
    """Keep all values but those that `checkpoint_name` gave one of these names."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        """Tell whether the results of an equation are kept."""
        return primitive.name != "name" or params["name"] not in self.names


@dataclass(frozen=True)
class SaveFromBothPolicies:
    """Keep what either policy keeps."""

    first: Policy
    second: Policy

    def __call__(self, primitive: Primitive, *types: Any, **params: Any) -> bool:
        """Tell whether the results of an equation are kept."""
        answers = self.first(primitive, *types, **params), self.second(primitive, *types, **params)
        if not all(isinstance(answer, bool) for answer in answers):
            raise ValueError(
                f"{user_source()}: The return value of the policies should be a boolean. Got: "
                f"{answers[0]} and {answers[1]}. Please write a custom policy function directly, "
                f"rather than using this helper function."
            )
        return answers[0] or answers[1]


def save_only_these_names(*names: str) -> Policy:
    """Keep the values that `checkpoint_name` gave one of these names."""
    return SaveOnlyTheseNames(frozenset(names))


def save_any_names_but_these(*names: str) -> Policy:
    """Keep the values that `checkpoint_name` gave any other name."""
    return SaveAnyNamesButThese(frozenset(names))


def save_anything_except_these_names(*names: str) -> Policy:
    """Keep all values but those that `checkpoint_name` gave one of these names."""
    return SaveAnythingExceptTheseNames(frozenset(names))


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep what either policy keeps."""
    return SaveFromBothPolicies(policy_1, policy_2)


# A policy is a function (primitive, *types of the operands, **params) -> bool.
checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
)


def checkpoint_name(x: Any, name: str) -> Any:
    """The arrays of a pytree unchanged, under a name by which the policies of `checkpoint` know
    them."""
    return tree.map(
        lambda leaf: named(apply("name", leaf, name=name)) if isinstance(leaf, Tracer) else leaf, x
    )


# ------------------------------------------------------------------------------------- checkpoint


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: Any = None,
) -> Callable[..., Any]:
    """The function, whose derivatives recompute its intermediate values from its arguments instead
    of storing them.

    Less memory between the forward and the backward pass, for more work (A. Griewank, Achieving
    Logarithmic Growth of Temporal and Spatial Complexity in Reverse Automatic Differentiation,
    1992). `remat` is another name.

    prevent_cse       False: where one program holds both passes, common subexpressions of them may
                      be computed once and stored. A sequence has an item for each argument
    policy            which values are stored nevertheless: one of `checkpoint_policies`, or a
                      function (primitive, *types of the operands, **params) -> bool
    static_argnums, static_argnames   arguments that are no arrays. Python numbers, strings and
                                      arrays that are not traced stay what they are in any case

    Raises TypeError and ValueError for arguments that do not fit.
    """
    if concrete is not None:
        raise NotImplementedError(
            "The `concrete` option to `checkpoint` does not exist. In its place please use "
            "`static_argnums`."
        )
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    if not all(type(n) is int for n in numbers):
        raise TypeError(
            f"the `static_argnums` argument to `checkpoint` / `remat` must be an int, tuple of "
            f"ints or, bool, but got value {static_argnums}"
        )
    if not isinstance(prevent_cse, bool | Sequence):
        raise TypeError(f"prevent_cse must be a bool or tuple of bools, got {type(prevent_cse)=}")
    parameters(fun, None, static_argnames)  # a name that the function does not have is an error

    @functools.wraps(fun)
    @api_boundary
    def recomputing(*args: Any, **kwargs: Any) -> Any:
        _check_numbers(numbers, len(args))
        guards = _guards(prevent_cse, args, kwargs)
        if current_trace() is None:
            return resolved(fun)(*args, **kwargs)
        closed, operands, parts = traced_call(fun, args, kwargs, function_name(fun))
        if own_lengths(closed.graph):  # of results, which outlive it
            return resolved(fun)(*args, **kwargs)
        results = bind_function(
            fun,
            checkpoint_primitive,
            operands,
            graph=closed.graph,
            policy=policy,
            prevent_cse=(*[any(guards)] * len(closed.captured), *guards),
        )
        return finished(fun, parts.join(results))

    return recomputing


remat = checkpoint


def _check_numbers(numbers: tuple[int, ...], count: int) -> None:
    if not all(-count <= n < count for n in numbers):
        raise ValueError(
            f"{user_source()}: the `static_argnums` argument to `checkpoint` / `remat` can only "
            f"take integer values greater than or equal to `-len(args)` and less than `len(args)`, "
            f"but got {numbers}, while `len(args)` = {count}"
        )


def _guards(
    prevent_cse: bool | Sequence[bool], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[bool]:
    """For each traced leaf of the arguments whether its computations are kept apart."""
    if isinstance(prevent_cse, bool):
        flags: Sequence[bool] = [prevent_cse] * (len(args) + len(kwargs))
    else:
        flags = prevent_cse
    values = (*args, *[kwargs[name] for name in sorted(kwargs)])
    if len(flags) != len(values):
        raise ValueError(
            f"{user_source()}: prevent_cse has {len(flags)} items for {len(values)} arguments"
        )
    return [
        flag
        for flag, value in zip(flags, values, strict=True)
        for leaf in flatten_arrays(value)[0]
        if isinstance(leaf, Tracer)
    ]
