"""The names of `jax.sharding`: meshes of devices, and how arrays are cut along their axes for
`shard_map`. The shardings of arrays are types for annotations and `isinstance`: arrays are NumPy's,
and no device holds a part."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.runtime.devices import Device, local_devices
from transpile.util.frozen_records import dataclass

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
]


class AxisType(enum.Enum):
    """Who decides what of an array lies along an axis of a mesh."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()


class PartitionSpec(tuple[Any, ...]):
    """For each axis of an array the name of the axis of a mesh that it is divided along, a tuple of
    names, or None: `PartitionSpec("batch", None)`."""

    __slots__ = ()

    def __new__(cls, *partitions: Any) -> PartitionSpec:
        """The specification with an entry for each axis."""
        return super().__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"PartitionSpec{tuple(self)!r}"


P = PartitionSpec


@dataclass(frozen=True)
class AbstractMesh:
    """A mesh of devices without the devices: the sizes of its named axes, and their types."""

    axis_sizes: tuple[int, ...] = ()
    axis_names: tuple[Any, ...] = ()
    axis_types: tuple[AxisType, ...] = ()

    @property
    def shape(self) -> dict[Any, int]:
        """The sizes of the axes, by their names."""
        return dict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether there are axes, and the user decides about all of them."""
        return bool(self.axis_types) and {*self.axis_types} == {AxisType.Explicit}


class Mesh:
    """Devices in an array, whose axes have names. Raises ValueError unless each axis has one."""

    def __init__(self, devices: Any, axis_names: Any) -> None:
        self.devices = np.asarray(devices, dtype=object)
        named = isinstance(axis_names, str) or not isinstance(axis_names, Sequence)
        self.axis_names: tuple[Any, ...] = (axis_names,) if named else tuple(axis_names)
        if len(set(self.axis_names)) != self.devices.ndim:
            raise ValueError(
                f"{user_source()}: a mesh of {self.devices.ndim} axes has as many different names, "
                f"not {self.axis_names}"
            )

    @property
    def shape(self) -> Mapping[Any, int]:
        """The size of each axis, by its name."""
        return dict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return int(self.devices.size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mesh)
            and self.axis_names == other.axis_names
            and np.array_equal(self.devices, other.devices)
        )

    def __hash__(self) -> int:
        return hash((self.axis_names, tuple(d.id for d in self.devices.flat)))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        return f"Mesh({sizes})"


class Sharding:
    """Which devices hold which part of an array: the base class."""

    @property
    def device_set(self) -> set[Device]:
        """The devices: the only one."""
        return set(local_devices())

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array: the only one does."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process has all the devices: it does."""
        return True


@dataclass(frozen=True)
class SingleDeviceSharding(Sharding):
    """An array as a whole on one device."""

    device: Any
    memory_kind: Any = None


@dataclass(frozen=True)
class NamedSharding(Sharding):
    """An array divided over a mesh of devices by the names of its axes."""

    mesh: Any
    spec: PartitionSpec
    memory_kind: Any = None


def of_type(kind: Any) -> NamedSharding:
    """The sharding of arrays of a type: over no axes of a mesh."""
    return NamedSharding(AbstractMesh(), PartitionSpec(*[None] * len(kind.shape)))
