"""JAX's functions about devices and processes. A process has as many devices as the environment
variable TRANSPILE_NUM_DEVICES says, which are threads of it, one otherwise; there are several
processes in an MPI program (`parallel/processes.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from transpile.runtime.parallel.processes import processes

__all__ = [
    "Device",
    "default_backend",
    "default_device",
    "device_count",
    "devices",
    "effects_barrier",
    "host_count",
    "host_id",
    "host_ids",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
    "process_indices",
]


class Device:
    """A device that programs run on: a thread of a process, with JAX's attributes `id`,
    `process_index`, `local_hardware_id`, `platform`, `device_kind`."""

    def __init__(self, number: int = 0) -> None:
        self.id = number

    @property
    def process_index(self) -> int:
        """The number of its process."""
        return processes().of_device(self.id)[0]

    @property
    def local_hardware_id(self) -> int:
        """Its number among the devices of its process."""
        return processes().of_device(self.id)[1]

    host_id = task_id = process_index
    platform = "cpu"
    device_kind = "cpu"

    def memory_stats(self) -> None:
        """None, as JAX says of a CPU."""
        return

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> Any:
        return device, (self.id,)


@cache
def device(number: int) -> Device:
    """The device of a number, always the same object."""
    return Device(number)


CPU = device(0)


def _check_backend(backend: Any) -> None:
    """Raise RuntimeError for a backend that is not the CPU's."""
    if backend in (None, "cpu"):
        return
    if backend in ("gpu", "cuda", "rocm", "tpu", "metal"):
        raise RuntimeError(
            f"Unknown backend: {backend!r} requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu"
        )
    raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")


def check_device(device: Any, what: str) -> None:
    """Raise ValueError, in JAX's words, for a value that is not the CPU."""
    if device is None or isinstance(device, Device) or device == "cpu":
        return
    raise ValueError(
        f"`{what}` only accepts `None`, `transpile.Device` or a pytree of these values. Received "
        f"invalid value: {device}"
    )


def devices(backend: str | None = None) -> list[Device]:
    """A list of all devices, of all processes; raises RuntimeError for another backend than
    "cpu"."""
    _check_backend(backend)
    return [device(number) for number in range(sum(processes().device_counts))]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """A list of the devices of a process, of this one if none is named; raises ValueError for one
    that there is not."""
    _check_backend(backend)
    known = processes()
    number = process_index if host_id is None else host_id
    number = known.index if number is None else number
    if number not in range(known.count):
        raise ValueError(f"Unknown process_index {number}")
    return [device(k) for k in known.devices(number)]


def device_count(backend: str | None = None) -> int:
    """The number of devices; raises RuntimeError for another backend than "cpu"."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process; raises RuntimeError for another backend than
    "cpu"."""
    return len(local_devices(backend=backend))


def process_count(backend: str | None = None) -> int:
    """The number of processes that compute together; raises RuntimeError for another backend than
    "cpu"."""
    _check_backend(backend)
    return processes().count


def process_index(backend: str | None = None) -> int:
    """The number of this process; raises RuntimeError for another backend than "cpu"."""
    _check_backend(backend)
    return processes().index


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes; raises RuntimeError for another backend than "cpu"."""
    return list(range(process_count(backend)))


host_count, host_id, host_ids = process_count, process_index, process_indices


def default_backend() -> str:
    """The name of the platform that programs run on, "cpu"."""
    return CPU.platform


@contextmanager
def default_device(device: Any) -> Iterator[None]:
    """A context in which arrays are made on the given device; it changes nothing, and raises
    ValueError for another than the CPU."""
    check_device(device, "default_device")
    yield


def effects_barrier() -> None:
    """Wait for all callbacks: nothing to do, as calls are synchronous."""
