"""The programs of a function that several devices run: traced and built once for each signature."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from transpile.api import jit
from transpile.dispatch.jitted import BoundWrapped, Wrapped
from transpile.ir.graph import collective_axes
from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.options import Options
from transpile.primitives.collectives.on_devices import on_devices
from transpile.runtime.devices import device_count
from transpile.runtime.executable import Executable, Lowering
from transpile.runtime.memory import pool
from transpile.runtime.parallel.placement import Placement
from transpile.runtime.parallel.processes import processes
from transpile.stages import Lowered, Traced
from transpile.trace.axis_names import in_scope_of
from transpile.trace.call_signature import describe
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class DeviceProgram:
    """The program of a trace, for devices that are numbered over these axes."""

    executable: Executable
    axes: tuple[Axis, ...]

    @property
    def count(self) -> int:
        """How many devices it runs on."""
        return math.prod(axis.static_size for axis in self.axes)


class DevicePrograms:
    """The traces of a function for one device, and their programs."""

    def __init__(
        self, fun: Callable[..., Any], statics: tuple[int, ...], devices: Sequence[Any] | None
    ) -> None:
        self.fun, self.statics, self.devices = fun, statics, devices
        self._jitted: dict[tuple[Axis, ...], Any] = {}
        self._programs: WeakKeyDictionary[Traced, DeviceProgram] = WeakKeyDictionary()

    def traced(self, axes: tuple[Axis, ...], args: Sequence[Any], kwargs: dict[str, Any]) -> Traced:
        """The trace for arguments of one device, with these axes in scope."""
        if axes not in self._jitted:
            scoped = in_scope_of(axes, self.fun)
            self._jitted[axes] = jit(scoped, static_argnums=self.statics)
        found: Traced = self._jitted[axes].trace(*args, **kwargs)
        return found

    def program(
        self, traced: Traced, axes: tuple[Axis, ...], donated: tuple[int, ...] = ()
    ) -> DeviceProgram:
        """The program of a trace, built at its first call. Its devices are numbered over these axes
        and those of maps inside; its results may take the memory of the donated inputs.

        Raises ValueError where there are fewer devices.
        """
        found = self._programs.get(traced)
        if found is None:
            graph = traced.flat_graph
            axes = (*axes, *(a for a in collective_axes(graph) if a not in axes))
            self._check_count(math.prod(a.static_size for a in axes))
            own = self.fun
            options = own.options if isinstance(own, Wrapped | BoundWrapped) else Options()
            executable = Lowering(on_devices(graph, axes), options, donated).build()
            found = self._programs[traced] = DeviceProgram(executable, axes)
        self._check_count(found.count)
        return found

    def placement(self, program: DeviceProgram) -> Placement:
        """The processes of a program's devices: as many on each, or those of the given ones.

        Raises ValueError where a process has fewer.
        """
        known, count = processes(), program.count
        if self.devices is not None:
            return Placement(tuple(d.process_index for d in self.devices[:count]), known.index)
        each = count // known.count
        if each * known.count != count or each > min(known.device_counts):
            raise ValueError(
                f"{user_source()}: compiling computation that requires {count} logical devices, "
                f"as many on each process, but the processes have {known.device_counts}"
            )
        return Placement(tuple(k // each for k in range(count)), known.index)

    def _check_count(self, count: int) -> None:
        available = device_count() if self.devices is None else len(self.devices)
        if count > available:
            raise ValueError(
                f"{user_source()}: compiling computation that requires {count} logical devices, "
                f"but only {available} devices are available"
            )

    def lowered(self, traced: Traced, program: DeviceProgram) -> Lowered:
        """The program of a device as a stage."""
        lowering = program.executable.lowering
        kept = tuple(range(len(lowering.graph.inputs)))
        return Lowered(lowering, traced, kept, describe(self.fun))


def array_types(traced: Traced) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """The shape and dtype of each leaf of the result of one device."""
    return [(a.type.static_shape(), a.type.dtype) for a in traced.flat_graph.outputs]


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array for results: of the memory that is kept for large ones, or NumPy's."""
    maker = pool.maker(shape, dtype)
    return np.empty(shape, dtype) if maker is None else maker()
