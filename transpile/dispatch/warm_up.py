"""Warm-up: the first calls of a signature are computed by NumPy, while its program is being built.

Such a call interprets the graph with the NumPy meanings of its primitives. A process builds the
program meanwhile (`background_build.py`), and the first call after its end loads it from the cache.
Errors of the build are raised by that call, which builds the program itself where the cache does
not have it.

A call that takes NumPy longer than the build is left to the program, and so is one with loops that
make more equations than NumPy computes in that time. It waits for the program from the beginning
where callbacks are called in loops, which could not be left halfway, and where a value that a
program need not store takes much more memory than its inputs and outputs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from transpile.dispatch.background_build import (
    BackgroundBuild,
    BusyError,
    UnavailableError,
    begun,
)
from transpile.ir.graph import Graph
from transpile.ir.memory_layout import Layout
from transpile.runtime.program_call import as_input
from transpile.stages import Lowered
from transpile.transforms.interpret import has_loop, interpret, interpret_up_to
from transpile.util.fork_safe_lock import Lock
from transpile.util.lazy.loggers import Log

logger = Log("transpile.build")

# How many equations of loops NumPy computes in the time of a build.
_MOST_INTERPRETED = 10_000
# A value may take so many bytes, or so many times those of all inputs and outputs.
_MOST_BYTES, _MOST_TIMES = 1 << 26, 4


class _WarmUp:
    """The calls of one program until it is there."""

    def __init__(self, lowered: Lowered, kept: tuple[Layout, ...]) -> None:
        self._lowering, stored = lowered.in_layouts(kept)
        self._build: BackgroundBuild | None = None
        self._is_over = not _suits(self._lowering.graph) or self._lowering.is_cached()
        self._lock = Lock()
        self.run = lowered.specialized(None, kept, stored).runner(self._interpreted)

    def goes_on(self) -> bool:
        """True while the program is being built; begins to build it."""
        with self._lock:
            if not self._is_over and self._build is None:
                try:
                    self._build = begun(self._lowering)
                except BusyError:  # a later call asks again
                    return True
                except UnavailableError as reason:
                    name = self._lowering.graph.name
                    logger.info("%s is not built in the background: %s", name, reason)
                    self._is_over = True
            if self._build is not None and self._build.has_ended():
                self._is_over = True
            return not self._is_over

    def finish(self) -> None:
        """Wait for the program."""
        with self._lock:
            if self._build is not None:
                self._build.wait()
            self._is_over = True

    def _interpreted(self, inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """The outputs for the program's inputs, as it would return them: new arrays in row-major
        order. Raises _LeftToProgramError."""
        graph = self._lowering.graph
        values = [
            as_input(x, v.type.dtype, v.type.static_shape(), graph.name)
            for x, v in zip(inputs, graph.inputs, strict=True)
        ]
        outputs: list[Any] | None = None
        if graph.has_callbacks:  # they happen once: nothing is begun that may be left
            outputs = interpret(graph, values)
        else:
            with contextlib.suppress(MemoryError):
                outputs = interpret_up_to(graph, values, _MOST_INTERPRETED, self._is_ahead)
        if outputs is None:
            raise _LeftToProgramError
        return [np.array(y, order="C") for y in outputs]

    def _is_ahead(self) -> bool:
        """True while the program is not there: a call that takes NumPy longer is left to it."""
        return self._build is None or not self._build.has_ended()


class _LeftToProgramError(Exception):
    """NumPy would take too long, or too much memory."""


_every: WeakKeyDictionary[Lowered, dict[tuple[Layout, ...], _WarmUp]] = WeakKeyDictionary()
_lock = Lock()


def result(lowered: Lowered, layouts: Sequence[Layout], leaves: Sequence[Any]) -> tuple[Any] | None:
    """The result of a call, computed by NumPy; None where the program is there, or has to be waited
    for by whoever builds it."""
    kept = lowered.kept_layouts(layouts)
    if kept in lowered.built_layouts():
        return None
    with _lock:
        known = _every.setdefault(lowered, {})
        if kept not in known:
            known[kept] = _WarmUp(lowered, kept)
        warm_up = known[kept]
    if not warm_up.goes_on():
        return None
    try:
        return (warm_up.run(leaves),)
    except _LeftToProgramError:
        warm_up.finish()
        return None


def _suits(graph: Graph) -> bool:
    """True if NumPy can compute what the program does, in a like time and memory."""
    if graph.has_callbacks and has_loop(graph):
        return False
    ends = sum(_bytes(value) for value in (*graph.inputs, *graph.outputs))
    return _largest(graph) <= max(_MOST_BYTES, _MOST_TIMES * ends)


def _largest(graph: Graph) -> float:
    """The bytes of the largest value of a graph and its regions."""
    own = [_bytes(value) for equation in graph.equations for value in equation.outputs]
    return max([0.0, *own, *map(_largest, graph.subgraphs())])


def _bytes(value: Any) -> float:
    """The bytes of a value; infinitely many where its size is known at run time."""
    shape = value.type.shape
    if not all(isinstance(extent, int) for extent in shape):
        return float("inf")
    size = float(np.prod(shape, dtype=np.float64))
    return size * float(value.type.dtype.itemsize)
