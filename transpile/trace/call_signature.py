"""Compute the signature of a call: the key in long form, with the structure, types and names of the
arguments."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.ir.dims import Index
from transpile.ir.source_info import function_source, shown, user_source
from transpile.ir.types import PYTHON_SCALARS, ArrayType, type_of
from transpile.pytree.device_arrays import DeviceArray, adopted
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.call_arguments import Bound
from transpile.trace.call_key import has_values, is_masked, static_key, values_of
from transpile.trace.tracer import Tracer
from transpile.util.escapes import one_line
from transpile.util.frozen_records import dataclass


class Mark(enum.Enum):
    """Stands in a signature for a leaf whose value is not part of the program."""

    TRACED = "traced"


TRACED = Mark.TRACED


@dataclass(frozen=True, eq=False)
class Signature:
    """What a trace, a lowering and an executable are specialised to.

    in_tree   the structure of (args, kwargs) without static arguments
    types     the array type of each leaf
    paths     the Python expression of each leaf
    donated   for each leaf, may the program overwrite it
    statics   (name, value) of static arguments
    fixed     the value of each leaf that is part of the program (a Python number in dynamic mode),
              TRACED for the others
    written   the leaves that the function assigns to; the last outputs are their new values
    ordered   pairs (written leaf, leaf) that may not alias: the second is read or written after the
              first was written
    rows      the leaves that have to lie in rows, as it was decided by that what shares memory
    moved     the leaves of which results have elements as they are, in NumPy in their byte order
    positions the output of the graph that each leaf of the result is
    """

    in_tree: tree.TreeDef
    types: tuple[ArrayType, ...]
    paths: tuple[str, ...]
    donated: tuple[bool, ...]
    statics: tuple[tuple[str, Any], ...] = ()
    fixed: tuple[Any, ...] = ()
    written: tuple[int, ...] = ()
    ordered: tuple[tuple[int, int], ...] = ()
    rows: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()

    @property
    def traced(self) -> tuple[int, ...]:
        """The leaves that are inputs of the graph."""
        if not self.fixed:
            return tuple(range(len(self.types)))
        return tuple(i for i, value in enumerate(self.fixed) if value is TRACED)

    def identifiers(self) -> list[str]:
        """The paths as unique C identifiers: `params['w1']` gives `params_w1`."""
        return unique_identifiers(self.paths)

    def differences(self, other: Signature) -> list[str]:
        """How this one differs from an earlier one, a line for each argument."""
        lines = tree.differences(other.in_tree, self.in_tree)
        if not lines:
            lines = [
                f"argument {path!r}: {type_text(before)}, then {type_text(now)}"
                + (" (weak types)" if before.weak != now.weak else "")
                for path, before, now in zip(self.paths, other.types, self.types, strict=True)
                if before != now
            ]
        before = dict(other.statics)
        for name, value in self.statics:
            if name not in before:
                lines.append(f"static argument {name!r}: not given, then {shown(value)}")
            elif static_key(before[name]) != static_key(value):
                lines.append(
                    f"static argument {name!r}: {shown(before[name])}, then {shown(value)}"
                )
        return lines


def signature(bound: Bound, where: str) -> tuple[Signature, list[Any]]:
    """The signature of a call and its leaves, native arrays; `where` names the function.

    Raises TypeError or UnsupportedError, naming the argument, for a leaf that is no array, and
    RecursionError, naming it, for containers without an end.
    """
    paths: list[str] = []
    donated: list[bool] = []
    for _, name, value, is_donated in bound.traced:
        try:
            leaf_paths = flatten_arrays(value)[1].paths(name)
        except RecursionError:
            raise RecursionError(
                f"{user_source()}: argument {name!r} of {where}, a {type(value).__name__}, is "
                f"nested too deeply, or contains itself: {shown(value)}"
            ) from None
        paths += leaf_paths
        donated += [is_donated] * len(leaf_paths)
    leaves, in_tree = flatten_arrays(bound.split())
    leaves = [leaf if type(leaf) in PYTHON_SCALARS else adopted(leaf) for leaf in leaves]
    types = tuple(leaf_type(leaf, path, where) for leaf, path in zip(leaves, paths, strict=True))
    for index, leaf in enumerate(leaves):
        leaves[index] = as_plain(leaf, types[index])
    statics = tuple((name, value) for name, value in bound.statics.values())
    return Signature(in_tree, types, tuple(paths), tuple(donated), statics), leaves


def leaf_type(leaf: Any, path: str, where: str) -> ArrayType:
    """The type of a leaf; raises an error that names the argument and the function."""
    what = f"argument {path!r} of {where}"
    if isinstance(leaf, Tracer):
        raise errors.UnexpectedTracerError(
            f"{user_source()}: {what} is a traced value, {leaf!r}, of the function "
            f"{leaf.owner.name!r} ({leaf.owner.source}), and was used outside of it. A traced "
            f"function must hand its values out through `return`, not by storing them in a global, "
            f"an attribute or a list of its surroundings."
        )
    if is_masked(leaf):
        raise errors.UnsupportedError(f"{what} is a masked array; fill it first: x.filled(0)")
    if isinstance(leaf, type) or (
        not hasattr(leaf, "shape") and not has_values(leaf) and not _is_scalar(leaf)
    ):
        field = ", mark the field of a dataclass as transpile.tree.static()" if "." in path else ""
        raise TypeError(
            f"{what} is a {type(leaf).__name__}, which is neither an array nor a number: "
            f"{shown(leaf)}. Make it static (static_argnums or static_argnames){field}, or make "
            f"its class a pytree (tree.register_pytree_node_class)."
        )
    if not isinstance(leaf, np.ndarray | np.generic | DeviceArray) and has_values(leaf):
        leaf = values_of(leaf, what)
    return type_of(leaf, what).strong if not _is_scalar(leaf) else type_of(leaf, what)


def _is_scalar(leaf: Any) -> bool:
    return type(leaf) in PYTHON_SCALARS


def as_plain(leaf: Any, kind: ArrayType) -> Any:
    """An ndarray of the type, the caller's own in any byte order if it has that type; a Python
    number as it is; for an abstract leaf, its type."""
    if _is_scalar(leaf) or isinstance(leaf, DeviceArray):
        return leaf
    if not has_values(leaf):
        return kind
    array = values_of(leaf)
    return array if array.dtype.newbyteorder("=") == kind.dtype else array.astype(kind.dtype)


# --------------------------------------------------------------------------------------- names


def type_text(kind: ArrayType) -> str:
    """The type as messages write it: float64[3,4]."""
    return f"{kind.dtype.name}[{','.join(map(str, kind.shape))}]"


def same_type(compiled: ArrayType, called: ArrayType) -> bool:
    """True if a value of the second type may be passed where the first was compiled."""
    return (
        compiled.dtype == called.dtype
        and len(compiled.shape) == len(called.shape)
        and all(map(_same_dimension, compiled.shape, called.shape))
    )


def _same_dimension(compiled: Index, called: Index) -> bool:
    return not isinstance(compiled, int) or compiled == called


def unique_identifiers(paths: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Distinct C identifiers for paths, none of those taken."""
    used = set(taken)
    identifiers = []
    for path in paths:
        base = path
        if not (path.isidentifier() and path.isascii()):
            base = re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_") or "x"
            base = f"x{base}" if base[0].isdigit() else base
        name, number = base, 2
        while name in used:
            name = f"{base}_{number}"
            number += 1
        used.add(name)
        identifiers.append(name)
    return identifiers


def inner(function: Any) -> Any:
    """The Python function inside partials, methods, callables and wrappers."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif not hasattr(function, "__code__") and hasattr(type(function).__call__, "__code__"):
            return type(function).__call__
        else:
            return function


def place_of(function: Any) -> str:
    """The name of a function, and the file and line where it is defined."""
    source = function_source(inner(function))
    return f"{function_name(function)} ({source})" if source.line else function_name(function)


def describe(function: Any) -> str:
    """The name of a function in quotes, and the file and line where it is defined."""
    source = function_source(inner(function))
    location = f" ({one_line(source.file)}:{source.line})" if source.line else ""
    return f"{function_name(function)!r}{location}"


def function_name(function: Any) -> str:
    """The name of a function, a partial, a method or a callable object."""
    name = getattr(function, "__name__", None)
    if name is None and isinstance(function, functools.partial):
        return function_name(function.func)
    return name if isinstance(name, str) else type(function).__name__
