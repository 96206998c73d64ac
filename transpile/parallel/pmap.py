"""pmap: one program for a function, which runs on several devices at once.

The function is traced for one device, with the mapped axis in scope; the graph that is left has
collectives between devices, and its program runs in a thread for each. A `pmap` inside of another
multiplies the devices: each takes its part of what the outer program has, and all gather the
results. Inside of `jit`, `grad` or `vmap`, what `pmap` computes is traced as one array program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from transpile import lax, tree
from transpile.errors import UnsupportedError
from transpile.functional.flatten_fun import argument_names, as_value
from transpile.functional.vectorize import mapped_size, prefix_axes, vmap
from transpile.ir.dims import Dim
from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.ir.types import ShapeDtypeStruct
from transpile.parallel.device_programs import (
    DeviceProgram,
    DevicePrograms,
    array_types,
    new_array,
)
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.runtime.devices import devices as every_device
from transpile.runtime.mutated_arguments import with_deletion
from transpile.runtime.parallel.processes import processes
from transpile.runtime.parallel.program_on_devices import run_on_devices
from transpile.stages import Lowered, Traced
from transpile.trace.axis_names import axes_in_scope, with_axes
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import describe, function_name
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.util.frozen_records import dataclass
from transpile.util.interrupt_safety import THREAD

Numbers = int | Iterable[int]


@api_boundary
def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Numbers = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: Numbers = (),
) -> Callable[..., Any]:
    """A function that runs `fun` on a device for each example along an axis of its arguments, all
    at the same time.

    axis_name     the name by which collectives in `fun` refer to the devices (`lax.psum`)
    in_axes       as for `vmap`; an argument that is not mapped is the same on all devices
    out_axes      as for `vmap`; None: the result of the first device
    static_broadcasted_argnums   positions of arguments whose values are part of the program
    devices       those to use, one for each example
    backend       "cpu", or None
    axis_size     how many devices, where no argument has the axis
    donate_argnums   positions of arguments whose memory results may take, after which they are
                     deleted, as those of `jit`: arrays that are mapped along their first axis, for
                     results that are, too, and have their type

    Devices are threads of this process, as many as the environment variable TRANSPILE_NUM_DEVICES
    says. In an MPI program they are those of all processes: each process calls the function with
    its own examples, as many as the others, and gets their results; `axis_size` and collectives are
    of all of them. Inside of another `pmap` the devices multiply; inside of `jit`, `grad` or `vmap`
    the function is a part of what these trace, and runs where they do.

    Raises ValueError where the axes do not fit, have several sizes, or are more than the devices;
    where a device fails, its exception, when all others have ended; UnsupportedError inside of
    `jit`, `grad` or `vmap` where there are several processes.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if all(axis is None for axis in _leaves_with_none(in_axes)) and axis_size is None:
        raise ValueError("pmap must have at least one non-None value in in_axes")
    statics = static_broadcasted_argnums
    statics = (statics,) if isinstance(statics, int) else tuple(statics)
    donated = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    if set(statics) & set(donated):
        raise ValueError(
            f"{user_source()}: static_broadcasted_argnums {statics} and donate_argnums {donated} "
            f"cannot intersect"
        )
    every_device(backend)
    mapped = _Mapped(fun, axis_name, in_axes, out_axes, statics, devices, axis_size, donated)

    @functools.wraps(fun)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        return mapped(args, kwargs)

    @api_boundary
    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """The program of a device: `as_text`, and `compile().save` for a C library, whose function
        takes a communicator (`transpile_communicator` in its header)."""
        return mapped.lowered(args, kwargs)

    call.lower = lower  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = f"pmap_{function_name(fun)}"
    return call


def _stand_in(x: Any) -> Any:
    """An array of a type that is given instead, which takes no memory."""
    if not isinstance(x, ShapeDtypeStruct):
        return x
    known = tuple(size for size in x.shape if not isinstance(size, Dim))
    if len(known) < len(x.shape):
        raise UnsupportedError(f"{user_source()}: pmap needs shapes that are known, and not {x}")
    return np.broadcast_to(np.zeros((), x.dtype), known)


def _leaves_with_none(axes: Any) -> list[Any]:
    return tree.leaves(axes, is_leaf=lambda x: x is None)


class _Unnamed:
    """The name of an axis that has none: no collective of a user finds it."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unnamed) and other.level == self.level

    def __hash__(self) -> int:
        return hash(("pmap", self.level))

    def __repr__(self) -> str:
        return f"pmap{self.level}"


@dataclass(frozen=True, eq=False)
class _Call:
    """A call's trace and program, and the leaves of its arguments, the mapped axes in front; `size`
    is that of the axis over all processes, `given` are the leaves as they were."""

    traced: Traced
    program: DeviceProgram
    size: int
    leaves: list[Any]
    is_mapped: list[bool]
    given: list[Any]
    structure: tree.TreeDef

    def of_device(self, number: int) -> list[Any]:
        """The arrays that the program of a device is given."""
        marked = zip(self.leaves, self.is_mapped, strict=True)
        values = [x[number] if m else x for x, m in marked]
        return list(flatten_arrays(self.structure.unflatten(values))[0])


class _Mapped:
    """The function that `pmap` returns, without the names."""

    def __init__(
        self,
        fun: Callable[..., Any],
        axis_name: Hashable,
        in_axes: Any,
        out_axes: Any,
        statics: tuple[int, ...],
        devices: Sequence[Any] | None,
        axis_size: int | None,
        donated: tuple[int, ...],
    ) -> None:
        self.donated = donated
        self.fun, self.axis_name = fun, axis_name
        self.in_axes, self.out_axes = in_axes, out_axes
        self.statics, self.axis_size, self.devices = statics, axis_size, devices
        self._programs = DevicePrograms(fun, statics, devices)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if current_trace() is not None:
            statics, given, in_axes = self._without_statics(args)
            function = functools.partial(_with_statics, resolved(self.fun), args, statics)
            return self._traced(function, in_axes, given, kwargs)
        call = self._prepared(args, kwargs)
        return self._run(call)

    def lowered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Lowered:
        """The program of a device, for arguments of these types: arrays, or `ShapeDtypeStruct`."""
        args, kwargs = tree.map(_stand_in, (args, kwargs))
        call = self._prepared(args, kwargs)
        return self._programs.lowered(call.traced, call.program)

    def _without_statics(self, args: tuple[Any, ...]) -> tuple[set[int], tuple[Any, ...], Any]:
        """The positions of static arguments, the other arguments, and their axes."""
        statics = {n % len(args) for n in self.statics if -len(args) <= n < len(args)}
        given = tuple(x for k, x in enumerate(args) if k not in statics)
        in_axes = self.in_axes
        if isinstance(in_axes, list | tuple):
            if len(in_axes) != len(args):
                raise ValueError(
                    f"{user_source()}: pmap in_axes must be an int, None, or a tuple of entries "
                    f"corresponding to the positional arguments passed to the function, but got "
                    f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
                )
            in_axes = tuple(a for k, a in enumerate(in_axes) if k not in statics)
        return statics, given, in_axes

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """The arguments of a call, and the program for them."""
        statics, given, in_axes = self._without_statics(args)
        leaves, structure = flatten_arrays((given, kwargs))
        positional = flatten_arrays(given)[1]
        axes = prefix_axes("pmap in_axes", in_axes, positional)
        axes += [0] * (len(leaves) - len(axes))
        names = positional.paths("args") if statics else argument_names(self.fun, args, None)
        names += [p for k in sorted(kwargs) for p in flatten_arrays(kwargs[k])[1].paths(k)]
        leaves = [
            x if axis is None else _as_array(x, f"{name!r} of {describe(self.fun)}")
            for x, axis, name in zip(leaves, axes, names, strict=True)
        ]
        local, everywhere = self._sizes_given()
        self._check_size(leaves, axes, local)
        size = mapped_size("pmap", leaves, axes, (given, kwargs), names, local)
        is_mapped = [a is not None for a in axes]
        fronted = [
            x if a is None else np.moveaxis(x, a, 0) for x, a in zip(leaves, axes, strict=True)
        ]
        examples = [
            ShapeDtypeStruct(x.shape[1:], x.dtype) if m else x
            for x, m in zip(fronted, is_mapped, strict=True)
        ]
        example_args, example_kwargs = structure.unflatten(examples)
        name = _Unnamed(1) if self.axis_name is None else self.axis_name
        axis = Axis(self._size_of_all(int(size), everywhere), name, level=1)
        spread = _spread(args, statics, example_args)
        traced = self._programs.traced((axis,), spread, example_kwargs)
        program = self._programs.program(traced, (axis,), self._donated(args, statics, axes))
        return _Call(traced, program, axis.static_size, fronted, is_mapped, leaves, structure)

    def _donated(
        self, args: Sequence[Any], statics: set[int], axes: Sequence[int | None]
    ) -> tuple[int, ...]:
        """The leaves whose memory results may take: those that each device has a part of."""
        donated = {n % len(args) for n in self.donated if -len(args) <= n < len(args)}
        flags = [
            k in donated
            for k, x in enumerate(args)
            if k not in statics
            for _ in flatten_arrays(x)[0]
        ]
        pairs = enumerate(zip(flags, axes, strict=False))
        return tuple(number for number, (is_given, axis) in pairs if is_given and axis == 0)

    def _sizes_given(self) -> tuple[int | None, int | None]:
        """How many examples this process has, and how many all of them have, where the devices or
        `axis_size` say so."""
        known, everywhere = processes(), self.axis_size
        if known.count == 1:
            return everywhere, everywhere
        if self.devices is not None:
            own = sum(d.process_index == known.index for d in self.devices)
            if not own:
                raise ValueError(f"{user_source()}: pmap has no device of process {known.index}")
            return own, len(self.devices)
        if everywhere is None:
            return None, None
        if everywhere % known.count:
            raise ValueError(
                f"{user_source()}: axis_size {everywhere} is not divisible among {known.count} "
                "processes"
            )
        return everywhere // known.count, everywhere

    def _size_of_all(self, size: int, everywhere: int | None) -> int:
        """The size of the mapped axis over all processes, of which this one has `size`."""
        return processes().count * size if everywhere is None else everywhere

    def _check_size(
        self, leaves: Sequence[Any], axes: Sequence[int | None], wanted: int | None
    ) -> None:
        """Raise ValueError where all mapped axes have one size, which is another than wanted."""
        sizes = {x.shape[a] for x, a in zip(leaves, axes, strict=True) if a is not None and x.ndim}
        if wanted is not None and len(sizes) == 1 and sizes != {wanted}:
            raise ValueError(
                f"{user_source()}: Specified axis_size {wanted} doesn't match received "
                f"axis_size {sizes.pop()}."
            )

    def _run(self, call: _Call) -> Any:
        traced = call.traced
        placement = self._programs.placement(call.program)
        copies = call.program.count // call.size
        size = len(placement.ranks) // copies
        inputs = [leaves for k in range(size) for leaves in [call.of_device(k)] * copies]
        positions = prefix_axes("pmap out_axes", self.out_axes, traced.out_tree)
        taken = _memory_taken(call, size, copies, positions)
        results = [
            new_array((size, *shape), dtype) if memory is None else memory.view()
            for (shape, dtype), memory in zip(array_types(traced), taken, strict=True)
        ]

        def outputs_of(place: int) -> list[Any]:
            """The slices of the results; of devices that have the same ones, other arrays."""
            number, copy = divmod(place, copies)
            own = [whole[number, ...] for whole in results]
            return [np.empty_like(x) for x in own] if copy else own

        outputs = [outputs_of(place) for place in range(len(inputs))]
        run_on_devices(call.program.executable, inputs, outputs, placement)
        of_results = [k for k, x in enumerate(call.given) if any(x is memory for memory in taken)]
        results = with_deletion(lambda _: results, tuple(of_results))(call.given)
        return traced.out_tree.unflatten(
            whole[0, ...] if a is None else np.ascontiguousarray(np.moveaxis(whole, 0, a))
            for whole, a in zip(results, positions, strict=True)
        )

    # ------------------------------------------------------------------------ in other traces

    def _traced(
        self, function: Callable[..., Any], in_axes: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """As a part of what is being traced: directly in the program of another `pmap`, the
        devices multiply; elsewhere all examples are computed there."""
        level = max((axis.level for axis in axes_in_scope()), default=0)
        if not level or len(THREAD.traces) > 1:
            if processes().count > 1:
                raise UnsupportedError(
                    f"{user_source()}: pmap inside of jit, grad or vmap runs in one process, and "
                    f"there are {processes().count}: call them inside of pmap"
                )
            mapped = vmap(
                function, in_axes, self.out_axes, axis_name=self.axis_name, axis_size=self.axis_size
            )
            return mapped(*args, **kwargs)
        leaves, structure = flatten_arrays((args, kwargs))
        axes = prefix_axes("pmap in_axes", in_axes, flatten_arrays(args)[1])
        axes += [0] * (len(leaves) - len(axes))
        names = structure.paths("")
        size = mapped_size("pmap", leaves, axes, (args, kwargs), names, self.axis_size)
        name = _Unnamed(level + 1) if self.axis_name is None else self.axis_name
        axis = Axis(size, name, level=level + 1)

        def on_one() -> Any:
            index = lax.axis_index(name)
            parts = [
                x if a is None else lax.dynamic_index_in_dim(x, index, a, keepdims=False)
                for x, a in zip(leaves, axes, strict=True)
            ]
            own_args, own_kwargs = structure.unflatten(parts)
            result = function(*own_args, **own_kwargs)
            results, out_tree = flatten_arrays(result)
            positions = prefix_axes("pmap out_axes", self.out_axes, out_tree)
            return out_tree.unflatten(
                lax.pbroadcast(x, name, 0) if a is None else lax.all_gather(x, name, axis=a)
                for x, a in zip(results, positions, strict=True)
            )

        return with_axes([axis], on_one)


def _memory_taken(
    call: _Call, size: int, copies: int, positions: Sequence[int | None]
) -> list[Any]:
    """For each result the donated argument whose memory it takes, or None: a whole array, of which
    each device has a row."""
    arrays = [x for x in call.given if isinstance(x, np.ndarray)]
    taken: list[Any] = []
    aliases = call.program.executable.call.aliases
    for (shape, dtype), alias, axis in zip(
        array_types(call.traced), aliases, positions, strict=True
    ):
        x: Any = call.given[alias] if alias >= 0 and axis == 0 and copies == 1 else None
        fits = type(x) is np.ndarray and x.flags.carray and x.dtype == dtype
        alone = fits and sum(np.may_share_memory(x, y) for y in arrays) == 1
        taken.append(x if alone and x.shape == (size, *shape) else None)
    return taken


def _spread(args: tuple[Any, ...], statics: set[int], values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, with these values for those that are not static."""
    rest = iter(values)
    return tuple(x if k in statics else next(rest) for k, x in enumerate(args))


def _with_statics(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    statics: set[int],
    *values: Any,
    **kwargs: Any,
) -> Any:
    return function(*_spread(args, statics, values), **kwargs)


def _as_array(x: Any, what: str) -> Any:
    """A mapped leaf as an array."""
    return np.asarray(as_value(x, what))
