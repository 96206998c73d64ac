"""Tracing: what a jitted function does where nothing has been compiled for a call."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Set
from dataclasses import field
from types import CodeType
from typing import Any, cast

import numpy as np

from transpile.dispatch.flat_function import OnLeaves, output_names
from transpile.dispatch.switches import explains_misses, is_jit_disabled
from transpile.dispatch.trace_cache import Traces, traces_of
from transpile.ir.graph import Graph
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, ArrayType
from transpile.options import Options
from transpile.stages import Traced
from transpile.trace.call_arguments import Bound, Parameters
from transpile.trace.call_key import abstract, ndarray
from transpile.trace.call_signature import (
    TRACED,
    Signature,
    function_name,
    inner,
    place_of,
    signature,
)
from transpile.trace.captured_arrays import retried
from transpile.trace.executed_code import recorded
from transpile.trace.guard_survey import survey
from transpile.trace.guards import Watch
from transpile.trace.trace import current_trace, trace_function
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy_logging import Log

logger = Log("transpile")


@dataclass(frozen=True)
class Config:
    """What `jit` was told, besides the function."""

    parameters: Parameters
    static: bool = True
    show_graph: bool = False
    keep_unused: bool = False
    options: Options = field(default_factory=Options)


class Tracing:
    """A function and the settings with which it is traced; its traces are in `table`, which other
    functions of `jit` may share."""

    def __init__(self, function: Callable[..., Any], config: Config) -> None:
        self.function = function
        self.config = config
        self.table: Traces = traces_of(function, config)

    def first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call, tracing and compiling where that has not been done."""
        # Inside another traced function it becomes a part of that.
        if is_jit_disabled() or current_trace() is not None:
            return self.function(*args, **kwargs)
        traced, key, leaves = self.traced(args, kwargs)
        compiled = traced.lower().compile()
        for path, leaf in zip(traced.in_paths, leaves, strict=True):
            if not isinstance(leaf, ndarray) and type(leaf) not in PYTHON_SCALARS:
                raise TypeError(
                    f"{user_source()}: argument {path!r} of {place_of(self.function)} has a shape "
                    f"and a dtype, but no values: {leaf}. Pass an array, or use `lower`."
                )
        with self.table.lock:
            shown = traced in self._shown
            if self.config.static:
                self.table.keep(key, compiled.specialization, traced.watch)
        if self.config.show_graph and not shown:
            self._shown.add(traced)
            print(traced.jaxpr)
        return compiled.run(leaves)

    @cached_property
    def _shown(self) -> weakref.WeakSet[Traced]:
        return weakref.WeakSet()

    def traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Traced, Any, list[Any]]:
        """The trace for a call, its key and its leaves; traced only when there is none."""
        bound = self.config.parameters.bind(args, kwargs)
        bound.check_statics(place_of(self.function))
        known, leaves = signature(bound, place_of(self.function))
        _check_hashable(known, place_of(self.function))
        if not self.config.static:
            return self._traced_dynamically(bound, known, leaves)
        natives = map(_native, leaves, known.types)
        full = bound.join(*known.in_tree.unflatten(natives))
        key, _ = self.config.parameters.describe(*full, abstract)
        table = self.table
        with table.lock:
            traced = table.traced.get(key)
            changed = traced.watch.changed() if traced and traced.watch else ""
            if traced is None or changed:
                if explains_misses():
                    self._log_miss(known, changed)
                traced = self._trace_now(bound, known, leaves, watch=True)
                table.traced[key] = traced
        return traced, key, leaves

    def _traced_dynamically(
        self, bound: Bound, known: Signature, leaves: list[Any]
    ) -> tuple[Traced, Any, list[Any]]:
        fixed = tuple(x if type(x) in PYTHON_SCALARS else TRACED for x in leaves)
        if any(value is not TRACED for value in fixed):
            known = dataclasses.replace(known, fixed=fixed)
        traced = self._trace_now(bound, known, leaves, watch=False)
        graph = traced.jaxpr
        sites = tuple(graph.sites())
        key = (graph.fingerprint(), sites, traced.in_tree, traced.out_tree, known.donated)
        with self.table.lock:
            if key not in self.table.traced and explains_misses():
                self._log_miss(known, "")
            return self.table.traced.setdefault(key, traced), key, leaves

    def _trace_now(self, bound: Bound, known: Signature, leaves: list[Any], watch: bool) -> Traced:
        places = known.traced
        names = known.identifiers()
        values = [leaves[place] for place in places]
        concrete = not self.config.static and all(isinstance(v, ndarray) for v in values)
        surroundings = self._survey(bound) if watch else None

        def attempt(give: Callable[[], Any], _: bool) -> tuple[Graph, Any]:
            return trace_function(
                cast(Any, OnLeaves(self.function, bound, known, leaves, give)),
                [known.types[place] for place in places],
                [names[place] for place in places],
                name=function_name(self.function),
                known=[
                    np.asarray(v, known.types[p].dtype) for v, p in zip(values, places, strict=True)
                ]
                if concrete
                else None,
            )

        def run() -> tuple[Graph, Any]:
            return retried(attempt, self.function)

        executed = None
        if surroundings is not None and surroundings.takes_callbacks:
            outcome, executed = recorded(run)
        else:
            outcome = run()
        graph, (out_tree, out_paths, positions, written, ordered) = outcome
        if surroundings is not None and executed is not None:
            self._drop_callbacks(surroundings, bound, graph, executed)
        watch_after = surroundings.settle() if surroundings else None
        if surroundings and surroundings.unseen and explains_misses():
            self._log_unseen(surroundings.unseen)
        known = dataclasses.replace(known, written=written, ordered=ordered, places=positions)
        return Traced(
            dataclasses.replace(graph, output_names=output_names(graph, out_paths)),
            known,
            out_tree,
            place_of(self.function),
            self.config.options,
            self.config.keep_unused,
            watch_after,
        )

    def _survey(self, bound: Bound, without: Set[CodeType] = frozenset()) -> Watch:
        """The guards of what the function may read besides its traced arguments."""
        classes = {type(value) for _, _, value, _ in bound.traced}
        named = dict(bound.statics.values())
        return survey(self.function, inner(self.function), named, classes, without)

    def _drop_callbacks(
        self, watch: Watch, bound: Bound, graph: Graph, executed: Set[CodeType]
    ) -> None:
        """Drop the guards to which only callbacks lead that the trace did not call itself."""
        called_back = {code for site in graph.sites() for code in site.callback.codes}
        if without := called_back - executed:
            watch.restrict(self._survey(bound, without))

    def _log_unseen(self, what: list[str]) -> None:
        logger.warning(
            "%s: %s traces no new program when these change:\n%s",
            user_source(),
            place_of(self.function),
            "\n".join(f"  {line}" for line in what),
        )

    def _log_miss(self, known: Signature, changed: str) -> None:
        earlier = [traced.differences(known) for traced in self.table.traced.values()]
        lines = [f"{user_source()}: tracing {place_of(self.function)}, because"]
        if changed:
            lines.append(f"  {changed!r}, which it reads from its surroundings, has changed")
        elif not earlier:
            lines.append("  it has not been traced before")
        else:
            nearest = min(earlier, key=len) or ["its graph differs"]
            lines.append("  no earlier signature fits; the nearest differs in")
            lines += [f"    {line}" for line in nearest]
        logger.warning("\n".join(lines))


def _native(leaf: Any, kind: ArrayType) -> Any:
    """What stands in a key for a leaf: its type, for an array of another byte order."""
    return kind if isinstance(leaf, ndarray) and leaf.dtype != kind.dtype else leaf


def _check_hashable(known: Signature, where: str) -> None:
    try:
        hash(known.in_tree)
    except TypeError:
        raise TypeError(
            f"{user_source()}: a container among the arguments of {where} has data (what is not an "
            f"array in it) that cannot be hashed: {known.in_tree}. Let its flatten function give "
            f"hashable data, such as a tuple for a list."
        ) from None
