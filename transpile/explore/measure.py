"""Measure how long each kernel of a program takes, by the program itself, with a clock around them.

It is the program that calls run, with the same flags, helpers and pool of threads, in an entry of
the cache of its own. Its arguments are the user's, or drawn.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from transpile.build import driver
from transpile.codegen.dialect import C
from transpile.errors import UnsupportedError
from transpile.ir.graph import Graph
from transpile.ir.indices.size_solver import evaluated, solved
from transpile.ir.loop_ir import Program, While
from transpile.ir.loop_rewrite import walk
from transpile.ir.types import ArrayType
from transpile.runtime.executable import Executable, Lowering
from transpile.runtime.loader import load_entry
from transpile.util.frozen_records import cached_property, dataclass, replace

_LEAST_SECONDS = 0.3  # for which a program is run, but
_LEAST_RUNS, _MOST_RUNS = 3, 1000


@dataclass(frozen=True)
class Measured:
    """Seconds: of a call from Python, and of each kernel in it, the shortest of some runs, with
    these runtime sizes."""

    call: float
    kernels: tuple[float, ...]
    sizes: Mapping[str, int]

    @property
    def microseconds(self) -> str:
        """Those of a call, for people."""
        return f"{1e6 * self.call:,.2f}"


class _Pipeline(driver.Pipeline):
    """The phases of a program with a clock."""

    dialect = replace(C, is_timed=True)


class _Timed(Lowering):
    """A program with a clock, which has an entry of its own in the cache."""

    @cached_property
    def _pipeline(self) -> _Pipeline:
        return _Pipeline(self.graph, self.options, self.donated, self.record.seconds)

    def _obtain(self, build: Any, use: Any, further: Any = None, options: Any = None) -> Any:
        return super()._obtain(build, use, {"for": "measuring", **(further or {})}, options)


def measured(
    lowering: Lowering,
    given: Sequence[Any] | None,
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> Measured:
    """The times of a program for these flat arguments, or where there are none for drawn ones, of
    these runtime sizes.

    UnsupportedError where drawn arguments may not do: the program waits for other devices, calls
    functions of the user, or has loops whose length depends on values, or a runtime size is not
    among `sizes`.
    """
    graph = lowering.graph
    if given is None:
        _check_drawn(lowering.program(), graph.name)
        _check_sizes(graph, sizes)
    inputs = [v.type for v in graph.inputs]
    leaves = [
        drawn(kind, sizes) if given is None else np.asarray(given[number], kind.dtype)
        for number, kind in enumerate(inputs)
    ]
    shapes = [(v.name, v.type.shape, x.shape) for v, x in zip(graph.inputs, leaves, strict=True)]
    taken = solved(graph.sizes, shapes)
    timed = _Timed(lowering.graph, lowering.options, lowering.donated, lowering.record)
    entry, library = timed._obtain(timed._write, load_entry)
    executable = Executable(timed, entry, library, from_cache=False)
    count = len(lowering.program().kernels)
    name = f"{entry.meta['function']}_seconds"
    seconds = (ctypes.c_double * count).in_dll(ctypes.CDLL(str(library.path)), name)
    best, calls, begin = [float("inf")] * count, float("inf"), time.perf_counter()
    for run in range(_MOST_RUNS):
        arguments = [np.array(x) for x in leaves] if lowering.donated else leaves
        before, start = list(seconds), time.perf_counter()
        executable(arguments)
        now = time.perf_counter()
        calls = min(calls, now - start)
        best = [min(b, s - e) for b, s, e in zip(best, seconds, before, strict=True)]
        if run + 1 >= _LEAST_RUNS and now - begin > _LEAST_SECONDS:
            break
    return Measured(calls, tuple(best), taken)


def drawn(kind: ArrayType, sizes: Mapping[str, int] = MappingProxyType({})) -> np.ndarray[Any, Any]:
    """An array of a type, with these runtime sizes: floats between 1/2 and 3/2, integers 0 and
    1."""
    shape, dtype = evaluated(kind.shape, {**sizes}), kind.dtype
    generator = np.random.default_rng(0)
    if dtype.kind in "iub":
        return generator.integers(0, 2, shape).astype(dtype)
    return (generator.random(shape) + 0.5).astype(dtype)


def _check_sizes(graph: Graph, sizes: Mapping[str, int]) -> None:
    known = [size.name for size in graph.sizes]
    if wrong := [name for name in sizes if name not in known]:
        has = f"has {', '.join(known)}" if known else "has none"
        raise TypeError(f"measure has a runtime size {wrong[0]!r}, and {graph.name} {has}")
    if missing := [name for name in known if name not in sizes]:
        examples = ", ".join(f"{name!r}: 1000" for name in missing)
        words = " ".join(f"--measure-size {name}=1000" for name in missing)
        raise UnsupportedError(
            f"{graph.name} has runtime sizes: to be measured it needs them, {words} on the command "
            f"line, in Python explore(path, measure={{{examples}}}), or measure=(x, ...) with "
            "arguments"
        )


def _check_drawn(program: Program, name: str) -> None:
    reasons: Mapping[str, bool] = {
        "exchanges values with other devices": program.communicates,
        "calls functions of yours": bool(program.sites),
        "has loops whose length depends on values": any(
            isinstance(s, While) for k in program.kernels for s in walk(k.body)
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise UnsupportedError(
                f"{name} {reason}: to be measured it needs arguments, which Python gives it: "
                "explore(path, measure=(x, ...))"
            )
