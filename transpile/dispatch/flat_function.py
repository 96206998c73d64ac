"""A function as its trace sees it: from the leaves of its arguments to the leaves of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile import tree
from transpile.ir.graph import Graph, Var
from transpile.ir.source_info import shown, user_source
from transpile.ir.types import PYTHON_SCALARS
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.call_arguments import Bound
from transpile.trace.call_signature import (
    Signature,
    describe,
    function_name,
    inner,
    unique_identifiers,
)
from transpile.trace.trace import constant
from transpile.trace.tracer import Tracer


class OnLeaves:
    """A function on the traced leaves alone. It gives the outputs of the graph, and what says how
    they make a result: its structure, the outputs' paths, which output each leaf is, and the leaves
    of the arguments that are assigned to."""

    def __init__(
        self,
        function: Any,
        bound: Bound,
        known: Signature,
        leaves: list[Any],
        give: Callable[[], Any],
    ) -> None:
        self._function = function
        self._give = give  # what is called in its place, once the trace has begun
        self._bound = bound
        self._known = known
        self._leaves = leaves
        self.__name__ = function_name(function)
        code = getattr(inner(function), "__code__", None)
        if code is not None:  # error messages say where the user's function is
            self.__code__ = code

    def __call__(self, *tracers: Tracer) -> tuple[list[Any], Any]:
        """Run the function."""
        leaves = list(self._leaves)
        for place, tracer in zip(self._known.traced, tracers, strict=True):
            leaves[place] = tracer
        args, kwargs = self._bound.join(*self._known.in_tree.unflatten(leaves))
        results, out_tree = flatten_arrays(self._give()(*args, **kwargs))
        paths = out_tree.paths("")
        found = [
            result_leaf(leaf, path, self._function)
            for leaf, path in zip(results, paths, strict=True)
        ]
        return self._with_written(found, paths, tracers, out_tree)

    def _with_written(
        self,
        results: list[Any],
        paths: list[str],
        tracers: Sequence[Tracer],
        out_tree: tree.TreeDef,
    ) -> tuple[list[Any], Any]:
        """The results, each once, and after them the new values of arguments that were assigned to;
        a result that is such an argument is that one."""
        changed = [
            (place, t)
            for place, t in zip(self._known.traced, tracers, strict=True)
            if t.variable is not t.original
        ]
        finals = [t.variable for _, t in changed]
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
        outputs = [leaf for leaf, _ in kept] + [t for _, t in changed]
        names = [path for _, path in kept] + [""] * len(changed)
        written = tuple(place for place, _ in changed)
        ordered = tuple(
            (place, other)
            for place, x in changed
            for other, y in zip(self._known.traced, tracers, strict=True)
            if y is not x and (other in written or _is_read_after(y, x, outputs))
        )
        return outputs, (out_tree, names, positions, written, ordered)


def _is_read_after(y: Tracer, x: Tracer, outputs: Sequence[Any]) -> bool:
    """Tell whether an argument is read after another one has first been assigned to."""
    trace = x.owner
    since = trace.births[trace.written[x.original]]
    same = {y.original}  # that value, and its views
    for number, equation in enumerate(trace.equations):
        if same.isdisjoint(a for a in equation.inputs if isinstance(a, Var)):
            continue
        if trace.viewed(equation.outputs[0]) is not None:
            same.update(equation.outputs)
        elif number > since:
            return True
    return any(isinstance(t, Tracer) and t.variable in same for t in outputs)


def result_leaf(leaf: Any, path: str, function: Any) -> Any:
    """A leaf of a function's result: a tracer, or a constant; a TypeError for what is no array."""
    if isinstance(leaf, Tracer):
        return leaf
    what = f"the result{path} of {describe(function)}"
    if type(leaf) in PYTHON_SCALARS or hasattr(leaf, "__array__"):
        return constant(leaf, what)
    raise TypeError(
        f"{user_source()}: {what} is a {type(leaf).__name__}, which is not an array: "
        f"{shown(leaf)}. A traced function returns arrays, numbers, or tuples, lists and dicts of "
        f"them."
    )


def output_names(graph: Graph, paths: list[str]) -> tuple[str, ...]:
    """A name for each output: the user's variable, the key in a dict, or `out`."""
    inputs = {v.name for v in graph.inputs}
    hints = []
    for atom, path in zip(graph.outputs, paths, strict=True):
        name = "" if atom in graph.inputs else atom.name
        if not name:
            key = path.replace("'", "").strip("[]. ")
            name = f"out{path}" if not key or key[0].isdigit() else key
        hints.append(f"{name}_out" if name in inputs else name)
    return tuple(unique_identifiers(hints, inputs))
