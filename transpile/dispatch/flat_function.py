"""A function on flat arguments, as it is traced: from the traced leaves to the graph's outputs.

The outputs are the leaves of the result, each once, and behind them the new values of the arguments
that the function assigns to. The outputs of

    def f(x, y):
        x += y
        return {"s": x, "t": 2 * y}

are `2 * y` and the new `x`; the positions of the leaves s and t among them are (1, 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim
from transpile.ir.graph import Graph, Var
from transpile.ir.source_info import shown, user_source
from transpile.ir.types import FLOAT0, PYTHON_SCALARS, refuse_byte_order
from transpile.pytree.extended_dtypes import with_parts
from transpile.pytree.registry import NodeType, register
from transpile.trace.call_arguments import Bound
from transpile.trace.call_key import Held
from transpile.trace.call_signature import (
    Signature,
    describe,
    function_name,
    inner,
    unique_identifiers,
)
from transpile.trace.trace import constant
from transpile.trace.tracer import Tracer
from transpile.trace.views.arguments import in_rows_by, moved_by
from transpile.trace.views.lists import TracedList, flatten_lists
from transpile.util.interrupt_safety import THREAD
from transpile.util.lazy.loggers import Log

logger = Log("transpile")


class Float0:
    """The class, in structures of results, of arrays of the dtype float0: they hold nothing."""


_FLOAT0 = NodeType(
    "float0",
    Float0,
    lambda _: ((), ()),
    lambda shape, _: np.zeros(shape, FLOAT0),
    lambda *_: (),
)
register(_FLOAT0)


def without_float0(leaves: list[Any], structure: tree.TreeDef) -> tuple[list[Any], tree.TreeDef]:
    """The leaves but for those of the dtype float0, which become part of the structure."""
    is_nothing = [isinstance(x, np.ndarray) and x.dtype == FLOAT0 for x in leaves]
    if not any(is_nothing):
        return leaves, structure
    pairs = list(zip(leaves, is_nothing, strict=True))
    parts = [tree.TreeDef(_FLOAT0, x.shape) if n else tree.LEAF for x, n in pairs]
    return [x for x, n in pairs if not n], with_parts(structure, iter(parts))


def _nodes(value: Any) -> Iterator[Any]:
    """A container and those in it."""
    level = tree.one_level(value)
    if level is not None and level[0]:
        yield value
        for child in level[0]:
            yield from _nodes(child)


class FlatFunction:
    """A function of the traced leaves alone.

    A call returns the outputs of the graph, and how the result is made of them: its structure, the
    outputs' paths, and what the signature says of it, from `Signature.written` on.

    begin   called once the trace has begun; returns the function to call
    """

    def __init__(
        self,
        function: Any,
        bound: Bound,
        signature: Signature,
        leaves: list[Any],
        begin: Callable[[], Any],
    ) -> None:
        self._function = function
        self._begin = begin
        self._bound = bound
        self._signature = signature
        self._leaves = leaves
        self.__name__ = function_name(function)
        code = getattr(inner(function), "__code__", None)
        if code is not None:  # error messages say where the user's function is
            self.__code__ = code

    def __call__(self, *tracers: Tracer) -> tuple[list[Any], Any]:
        """Call the function on the tracers, and on the values of leaves that are not traced."""
        leaves = list(self._leaves)
        for leaf, tracer in zip(self._signature.traced, tracers, strict=True):
            leaves[leaf] = tracer
        args, kwargs = self._bound.given(*self._signature.in_tree.unflatten(leaves))
        function = self._begin()
        if THREAD.python is not None:
            args = THREAD.python.listed_arguments(map(str, range(len(args))), args)
            named = THREAD.python.listed_arguments(kwargs, kwargs.values())
            kwargs = dict(zip(kwargs, named, strict=True))
        held = self._bound.held(args, kwargs)
        before = {name: flatten_lists(value) for name, value in self._containers(args, kwargs)}
        result = function(*args, **kwargs)
        if THREAD.python is not None:
            result = THREAD.python.result(result, describe(self._function))
        self._warn_of_changes(before, self._containers(args, kwargs), result)
        self._check_held(held, result)
        results, out_tree = without_float0(*flatten_lists(result, are_results=True))
        paths = out_tree.paths("")
        results = [
            result_leaf(leaf, path, self._function)
            for leaf, path in zip(results, paths, strict=True)
        ]
        return self._with_assigned(results, paths, tracers, out_tree)

    def _containers(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        """The arguments that are containers, with their names."""
        given = (
            (name, args[place] if isinstance(place, int) else kwargs[place])
            for place, name, _, _ in self._bound.traced
        )
        return [pair for pair in given if tree.one_level(pair[1]) is not None]

    def _warn_of_changes(
        self, before: dict[str, Any], after: Sequence[tuple[str, Any]], result: Any
    ) -> None:
        """Warn of a list, a dict or another container that the function has changed and does not
        return: it is a copy of the caller's, which stays as it is."""
        returned: set[int] | None = None
        for name, value in after:
            (leaves, structure), (now, then) = before[name], flatten_lists(value)
            is_same = structure == then and all(a is b for a, b in zip(leaves, now, strict=True))
            if is_same and not any(_is_assigned_list(node) for node in _nodes(value)):
                continue
            returned = set(map(id, _nodes(result))) if returned is None else returned
            if returned.isdisjoint(map(id, _nodes(value))):
                kind = "list" if isinstance(value, TracedList) else type(value).__name__
                self._warn_of_change(name, kind)

    def _check_held(self, held: Sequence[tuple[str, Held, Any]], result: Any) -> None:
        """As `_warn_of_changes`, for arguments that have become static; UnsupportedError for an
        array among them, which the function changes for the caller, too."""
        for name, value, copy in held:
            changed = value.changed(copy)
            if isinstance(changed, np.ndarray):
                raise UnsupportedError(
                    f"{describe(self._function)} assigns to its argument {name!r}, an array that "
                    f"is static in this call, as Python needs its elements while it traces: the "
                    f"caller's would stay as it is. Assign to a copy: {name} = {name}.copy()"
                )
            if changed is not None and id(copy) not in map(id, _nodes(result)):
                self._warn_of_change(name, type(copy).__name__)

    def _warn_of_change(self, name: str, kind: str) -> None:
        logger.warning(
            "%s changes its argument %r, a %s, and does not return it: the caller's stays "
            "as it is. Arrays that are assigned to change.",
            describe(self._function),
            name,
            kind,
        )

    def _with_assigned(
        self,
        results: list[Any],
        paths: list[str],
        tracers: Sequence[Tracer],
        out_tree: tree.TreeDef,
    ) -> tuple[list[Any], Any]:
        """The outputs: results that are no assigned argument, then the assigned arguments."""
        assigned = [
            (leaf, t)
            for leaf, t in zip(self._signature.traced, tracers, strict=True)
            if t.variable is not t.original
        ]
        finals = [t.variable for _, t in assigned]
        kept = [
            (leaf, path)
            for leaf, path in zip(results, paths, strict=True)
            if not isinstance(leaf, Tracer) or leaf.variable not in finals
        ]
        count = len(kept)
        fresh = iter(range(count))
        positions = tuple(
            count + finals.index(leaf.variable)
            if isinstance(leaf, Tracer) and leaf.variable in finals
            else next(fresh)
            for leaf in results
        )
        outputs = [leaf for leaf, _ in kept] + [t for _, t in assigned]
        names = [path for _, path in kept] + [""] * len(assigned)
        written = tuple(leaf for leaf, _ in assigned)
        ordered = tuple(
            (leaf, other)
            for leaf, x in assigned
            for other, y in zip(self._signature.traced, tracers, strict=True)
            if y is not x and (other in written or _is_read_after(y, x, outputs))
        )
        in_rows = in_rows_by(tracers[0].owner, outputs) if tracers else set()
        rows = tuple(
            leaf
            for leaf, x in zip(self._signature.traced, tracers, strict=True)
            if x.original in in_rows
        )
        moving = moved_by(tracers[0].owner, [leaf for leaf, _ in kept]) if tracers else ()
        moved = tuple(
            leaf
            for leaf, x in zip(self._signature.traced, tracers, strict=True)
            if x.original in moving
        )
        known = {"written": written, "ordered": ordered, "rows": rows, "moved": moved}
        return outputs, (out_tree, names, {**known, "positions": positions})


def _is_assigned_list(value: Any) -> bool:
    """True for a list that is an array, which has been assigned to."""
    return isinstance(value, TracedList) and value.values.variable is not value.values.original


def _is_read_after(y: Tracer, x: Tracer, outputs: Sequence[Any]) -> bool:
    """True if the argument y, or a view of it, is read after the first assignment to x: a result
    counts as such a read."""
    trace = x.owner
    first = trace.births[trace.written[x.original]]
    aliases = {y.original}
    for number, equation in enumerate(trace.equations):
        if aliases.isdisjoint(a for a in equation.inputs if isinstance(a, Var)):
            continue
        if equation.outputs and trace.viewed(equation.outputs[0]) is not None:
            aliases.update(equation.outputs)
        elif number > first:
            return True
    return any(isinstance(t, Tracer) and t.variable in aliases for t in outputs)


def result_leaf(leaf: Any, path: str, function: Any) -> Any:
    """A leaf of a function's result as a tracer; TypeError for what is neither array nor number."""
    if isinstance(leaf, Tracer):
        return leaf
    if isinstance(leaf, Dim):
        return leaf.as_value()
    what = f"the result{path} of {describe(function)}"
    if isinstance(leaf, np.ndarray) and not leaf.dtype.isnative:
        refuse_byte_order(leaf.dtype, f"{user_source()}: {what}")
    if type(leaf) in PYTHON_SCALARS or hasattr(leaf, "__array__"):
        return constant(leaf, what)
    raise TypeError(
        f"{user_source()}: {what} is a {type(leaf).__name__}, which is not an array: "
        f"{shown(leaf)}. A traced function returns arrays, numbers, or tuples, lists and dicts of "
        f"them."
    )


def output_names(graph: Graph, paths: list[str]) -> tuple[str, ...]:
    """A name for each output: that of the user's variable, the key in a dict, or `out`."""
    inputs = {v.name for v in graph.inputs}
    hints = []
    for atom, path in zip(graph.outputs, paths, strict=True):
        name = "" if atom in graph.inputs else atom.name
        if not name:
            key = path.replace("'", "").strip("[]. ")
            name = f"out{path}" if not key or key[0].isdigit() else key
        hints.append(f"{name}_out" if name in inputs else name)
    return tuple(unique_identifiers(hints, inputs))
