"""`debug_nans` and `debug_infs`: a result with NaN, or with an infinity, is an error that names the
operation which gave the first one, and its line of Python.

Programs stay as they are. While a switch is on, calls are made in Python, with copies of their
arguments, and results are searched. Where one has such a value, the graph is compiled once more
with a check behind each operation, without its effects, and run on the copies.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.dispatch.switches import checked_values
from transpile.ir.graph import Graph
from transpile.ir.graph_rewrite import may_repeat, silenced
from transpile.ir.types import kind_letter
from transpile.options import Options
from transpile.pytree.device_arrays import DeviceArray
from transpile.runtime.executable import Lowering
from transpile.transforms.checks import INFINITY, NAN, Check, checked
from transpile.transforms.closed import Closed
from transpile.util.frozen_records import replace

_TESTS = {NAN: np.isnan, INFINITY: np.isinf}
_NAMES = {NAN: "nan", INFINITY: "inf"}
# For each graph that gave such a value the program that finds out where, and its checks.
_programs: weakref.WeakKeyDictionary[Graph, dict[str, Any]] = weakref.WeakKeyDictionary()


def copied(values: Sequence[Any]) -> list[Any]:
    """The arguments of a call before it, which may change them."""
    return [np.array(x) if isinstance(x, np.ndarray | DeviceArray) else x for x in values]


def check_results(
    graph: Graph, values: Sequence[Any], results: Sequence[Any], options: Options
) -> None:
    """Raise a FloatingPointError where results have a value that is searched for. `values` are
    those of the graph's inputs."""
    for category in checked_values():
        if any(_has(category, x) for x in results):
            found = _first(graph, values, category, options)
            name = _NAMES[category]
            if found is not None:
                raise FloatingPointError(
                    f"{found.source}: invalid value ({name}) encountered in {found.text}"
                )
            raise FloatingPointError(
                f"{graph.source}: invalid value ({name}) in the result of {graph.name}, and in no "
                "operation: it is a constant or an argument of the function, or comes from a "
                "callback"
            )


def _has(category: str, value: Any) -> bool:
    array = np.asarray(value)
    return kind_letter(array.dtype) in "fc" and bool(np.any(_TESTS[category](array)))


def _first(graph: Graph, values: Sequence[Any], category: str, options: Options) -> Check | None:
    """The check of the first operation that gives such a value; None where there is none, or where
    finding it would repeat an effect."""
    if not all(map(may_repeat, graph.equations)):
        return None
    known = _programs.setdefault(graph, {})
    if category not in known:
        kept = [silenced(e) for e in graph.equations if e.outputs]
        quiet = replace(graph, equations=tuple(kept), output_names=())
        closed, checks = checked(Closed(quiet), frozenset([category]))
        only = replace(closed.graph, outputs=closed.graph.outputs[len(graph.outputs) :][:1])
        known[category] = (
            Lowering(only, replace(options, device="cpu")).build() if checks else None,
            checks,
        )
    program, checks = known[category]
    number = int(program(values)[0]) if program is not None else 0
    return checks[number - 1] if number else None
