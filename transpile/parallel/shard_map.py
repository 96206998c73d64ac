"""shard_map: a function of blocks of arrays, each of which a device has.

The function is traced for the blocks of one device, with the axes of the mesh in scope, and its
program runs on all devices of the mesh, as that of `pmap`. Inside of other traces it is a `vmap`
for each axis of the mesh, over blocks that are cut out of the arrays and joined again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.flatten_fun import as_value
from transpile.functional.vectorize import vmap
from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.ir.types import ShapeDtypeStruct
from transpile.parallel.device_programs import DevicePrograms, array_types, new_array
from transpile.parallel.mesh import (
    block,
    check_spec,
    cut_axes,
    is_first,
    joined,
    names_of,
    whole_shape,
)
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.runtime.parallel.placement import Placement
from transpile.runtime.parallel.processes import processes
from transpile.runtime.parallel.program_on_devices import gathered, run_on_devices
from transpile.sharding import Mesh, PartitionSpec
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import describe, function_name
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary


@api_boundary
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    mesh: Mesh,
    in_specs: Any,
    out_specs: Any,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Any:
    """A function that runs `f` on each device of a mesh, with blocks of its arguments, and joins
    the blocks of its results: a decorator, with or without `f`.

    mesh         the devices and the names of their axes, to which collectives in `f` refer
    in_specs     a PartitionSpec for each argument, or a prefix of their structure: along which axes
                 of the mesh a dimension is cut; where none is named, a device has all of it
    out_specs    the same of the result: along axes that are not named the first block is taken
    axis_names, check_vma   accepted for compatibility: all axes are mapped, and whether results are
                 the same along an axis is not checked

    In an MPI program all processes of the mesh call it with the same whole arrays, of which each
    device reads its blocks, and all get the whole results. Inside of `jit`, `grad` or `vmap` it is
    a part of what these trace, and runs where they do.

    Raises ValueError where an array cannot be cut so, or is cut along an axis that there is not;
    where a device fails, its exception, when all others have ended.
    """
    if f is None:
        return functools.partial(
            shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma
        )
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f}")
    mapped = _Mapped(f, mesh, in_specs, out_specs)

    @functools.wraps(f)
    @api_boundary
    def call(*args: Any) -> Any:
        return mapped(args)

    call.__name__ = call.__qualname__ = f"shard_map_{function_name(f)}"
    return call


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _specs(specs: Any, structure: tree.TreeDef) -> list[PartitionSpec]:
    """A specification for each leaf of a structure of which `specs` is a prefix; the parts of keys
    have that of the keys."""
    count = structure.num_leaves
    full = structure.unflatten(range(count))  # of keys, the number of their first part
    each = tree.leaves(tree.broadcast(specs, full, is_leaf=_is_spec), is_leaf=_is_spec)
    ends = [*tree.leaves(full)[1:], count]
    parts = zip(each, tree.leaves(full), ends, strict=True)
    return [spec for spec, first, end in parts for _ in range(first, end)]


class _Mapped:
    """The function that `shard_map` returns, without the names."""

    def __init__(self, fun: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any) -> None:
        self.fun, self.mesh = fun, mesh
        self.in_specs = tuple(in_specs) if type(in_specs) is list else in_specs
        self.out_specs = out_specs
        sizes = mesh.shape.items()
        self._axes = tuple(Axis(size, name, level=1) for name, size in sizes)
        self._programs = DevicePrograms(fun, (), None)

    def __call__(self, args: tuple[Any, ...]) -> Any:
        mesh = self.mesh
        leaves, structure = flatten_arrays(args)
        leaves = [as_value(x, f"an argument of {describe(self.fun)}") for x in leaves]
        specs = _specs(self.in_specs, structure)
        for x, spec in zip(leaves, specs, strict=True):
            check_spec("shard_map in_specs", spec, np.shape(x), mesh, blocks=False)
        if current_trace() is not None:
            return self._traced(leaves, specs, structure)
        arrays = [np.asarray(x) if len(spec) else x for x, spec in zip(leaves, specs, strict=True)]

        def of_device(rank: int) -> list[Any]:
            pairs = zip(arrays, specs, strict=True)
            return [x[block(x.shape, s, mesh, rank)] if len(s) else x for x, s in pairs]

        examples = [
            ShapeDtypeStruct(b.shape, b.dtype) if len(s) else b
            for b, s in zip(of_device(0), specs, strict=True)
        ]
        traced = self._programs.traced(self._axes, structure.unflatten(examples), {})
        program = self._programs.program(traced, self._axes)
        copies = program.count // mesh.size
        own_process = processes().index
        placement = Placement(tuple(d.process_index for d in mesh.devices.flat), own_process)
        inputs = [x for rank in placement.ranks for x in [of_device(rank)] * copies]
        if not inputs:
            raise ValueError(f"{user_source()}: {mesh} has no device of process {own_process}")
        kinds = array_types(traced)
        outputs = [[new_array(*kind) for kind in kinds] for _ in inputs]
        out_specs = _specs(self.out_specs, traced.out_tree)
        for (shape, _), spec in zip(kinds, out_specs, strict=True):
            check_spec("shard_map out_specs", spec, shape, mesh, blocks=True)
        places = Placement(
            tuple(k for k in placement.processes for _ in range(copies)), own_process
        )
        run_on_devices(program.executable, inputs, outputs, places)
        blocks = gathered(outputs[::copies], placement, f"the results of {describe(self.fun)}")
        results = []
        for number, ((shape, dtype), spec) in enumerate(zip(kinds, out_specs, strict=True)):
            whole = new_array(whole_shape(shape, spec, mesh), dtype)
            for rank in range(mesh.size):
                if is_first(spec, mesh, rank):
                    where = block(whole.shape, spec, mesh, rank)
                    whole[where] = blocks[rank][number]
            results.append(whole)
        return traced.out_tree.unflatten(results)

    def _traced(
        self, leaves: Sequence[Any], specs: Sequence[PartitionSpec], structure: tree.TreeDef
    ) -> Any:
        """As a vmap for each axis of the mesh, the last one innermost."""
        mesh, fun = self.mesh, resolved(self.fun)

        def on_blocks(*blocks: Any) -> Any:
            return fun(*structure.unflatten(blocks))

        mapped: Callable[..., Any] = on_blocks
        for name, size in reversed(list(mesh.shape.items())):
            in_axes = tuple(0 if any(name in n for n in names_of(s)) else None for s in specs)
            mapped = vmap(mapped, in_axes, 0, axis_name=name, axis_size=size)
        pairs = zip(leaves, specs, strict=True)
        result = mapped(*[cut_axes(x, s, mesh) if len(s) else x for x, s in pairs])
        results, out_tree = flatten_arrays(result)
        out_specs = _specs(self.out_specs, out_tree)
        wholes = []
        for x, spec in zip(results, out_specs, strict=True):
            shape = x.shape[len(mesh.axis_names) :]
            check_spec("shard_map out_specs", spec, shape, mesh, blocks=True)
            used = {name for names in names_of(spec) for name in names}
            first = tuple(slice(None) if name in used else 0 for name in mesh.axis_names)
            wholes.append(joined(x[first], spec, mesh))
        return out_tree.unflatten(wholes)
