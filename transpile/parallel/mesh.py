"""Meshes of devices with named axes, and how arrays are cut into blocks along them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.runtime.devices import devices as every_device
from transpile.sharding import Mesh, PartitionSpec


def names_of(spec: PartitionSpec) -> tuple[tuple[Hashable, ...], ...]:
    """The axes for each dimension, of those that a specification has."""
    return tuple(
        () if p is None else tuple(p) if isinstance(p, tuple | list) else (p,) for p in spec
    )


def make_mesh(axis_shapes: Sequence[int], axis_names: Any, *, devices: Any = None) -> Mesh:
    """A mesh of this shape of the first devices, or of those given.

    Raises ValueError where there are fewer devices.
    """
    count = math.prod(axis_shapes)
    available = list(every_device() if devices is None else devices)
    if count > len(available):
        raise ValueError(
            f"{user_source()}: Number of devices {len(available)} must be >= the product of "
            f"mesh_shape {tuple(axis_shapes)}"
        )
    array = np.empty(count, dtype=object)
    array[:] = available[:count]
    return Mesh(array.reshape(tuple(axis_shapes)), axis_names)


def check_spec(what: str, spec: Any, shape: Sequence[int], mesh: Mesh, blocks: bool) -> None:
    """Raise ValueError unless an array of this shape can be cut by a specification; `blocks`: the
    shape is that of a block."""
    if len(spec) > len(shape):
        raise ValueError(
            f"{user_source()}: {what} has {spec} for an array of shape {tuple(shape)}, which has "
            f"{len(shape)} dimensions"
        )
    used = [name for names in names_of(spec) for name in names]
    unknown = [name for name in used if name not in mesh.axis_names]
    if unknown or len(set(used)) < len(used):
        raise ValueError(
            f"{user_source()}: {what} has {spec}, which names an axis twice or one that {mesh} "
            f"has not"
        )
    for size, names in zip(shape, names_of(spec), strict=False):
        parts = math.prod(mesh.shape[name] for name in names)
        if not blocks and size % parts:
            raise ValueError(
                f"{user_source()}: {what} has {spec} for an array of shape {tuple(shape)}: "
                f"{size} is not divisible by {parts}, the size of {names}"
            )


def block(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh, rank: int) -> tuple[slice, ...]:
    """The part of an array of this shape that a device has."""
    places = dict(zip(mesh.axis_names, np.unravel_index(rank, mesh.devices.shape), strict=True))
    slices = []
    for size, names in zip(shape, names_of(spec), strict=False):
        number, parts = 0, 1
        for name in names:
            number = number * mesh.shape[name] + int(places[name])
            parts *= mesh.shape[name]
        each = size // parts
        slices.append(slice(number * each, (number + 1) * each))
    return (*slices, *[slice(None)] * (len(shape) - len(slices)))


def whole_shape(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> tuple[int, ...]:
    """The shape of an array whose blocks have this one."""
    factors = [math.prod(mesh.shape[name] for name in names) for names in names_of(spec)]
    factors += [1] * (len(shape) - len(factors))
    return tuple(size * factor for size, factor in zip(shape, factors, strict=True))


def is_first(spec: PartitionSpec, mesh: Mesh, rank: int) -> bool:
    """True for the first of the devices that have the same block."""
    used = {name for names in names_of(spec) for name in names}
    places = np.unravel_index(rank, mesh.devices.shape)
    return all(not p or n in used for n, p in zip(mesh.axis_names, places, strict=True))


def cut_axes(x: Any, spec: PartitionSpec, mesh: Mesh) -> Any:
    """An array with the axes of the mesh along which it is cut in front, in the mesh's order."""
    shape: list[int] = []
    where: dict[Hashable, int] = {}
    names = [*names_of(spec), *[()] * (x.ndim - len(spec))]
    for size, of_dimension in zip(x.shape, names, strict=True):
        parts = math.prod(mesh.shape[name] for name in of_dimension)
        for name in of_dimension:
            where[name] = len(shape)
            shape.append(mesh.shape[name])
        shape.append(size // parts)
    front = [where[name] for name in mesh.axis_names if name in where]
    rest = [k for k in range(len(shape)) if k not in front]
    return np.transpose(np.reshape(x, tuple(shape)), (*front, *rest))


def joined(x: Any, spec: PartitionSpec, mesh: Mesh) -> Any:
    """The inverse of `cut_axes`."""
    axes = [name for name in mesh.axis_names if any(name in names for names in names_of(spec))]
    block_rank = x.ndim - len(axes)
    order: list[int] = []
    names = [*names_of(spec), *[()] * (block_rank - len(spec))]
    for dimension, of_dimension in enumerate(names):
        order += [axes.index(name) for name in of_dimension]
        order.append(len(axes) + dimension)
    shape = whole_shape(x.shape[len(axes) :], spec, mesh)
    return np.reshape(np.transpose(x, order), shape)
