"""JAX's functions about devices and processes: there is one process, and as many devices as the
environment variable TRANSPILE_NUM_DEVICES says, which are threads of it; one otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

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
    """A device that programs run on: a thread, with JAX's attributes `id`, `platform`,
    `device_kind`."""

    def __init__(self, number: int = 0) -> None:
        self.id = number
        self.local_hardware_id = number

    process_index = 0
    host_id = 0
    task_id = 0
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


def _count() -> int:
    """How many devices there are."""
    text = os.environ.get("TRANSPILE_NUM_DEVICES") or "1"
    if not text.isdecimal() or not int(text):
        raise ValueError(f"TRANSPILE_NUM_DEVICES is a positive number, not {text!r}")
    return int(text)


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
    """A list of all devices, threads of this process; raises RuntimeError for another backend than
    "cpu"."""
    _check_backend(backend)
    return [device(number) for number in range(_count())]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """A list of the devices of a process; raises ValueError for another process than 0."""
    number = process_index if host_id is None else host_id
    if number not in (None, 0):
        raise ValueError(f"Unknown process_index {number}")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """The number of devices; raises RuntimeError for another backend than "cpu"."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process; raises RuntimeError for another backend than
    "cpu"."""
    return len(devices(backend))


def process_count(backend: str | None = None) -> int:
    """The number of processes that compute together, 1; raises RuntimeError for another backend
    than "cpu"."""
    _check_backend(backend)
    return 1


def process_index(backend: str | None = None) -> int:
    """The number of this process, 0; raises RuntimeError for another backend than "cpu"."""
    _check_backend(backend)
    return 0


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes, [0]; raises RuntimeError for another backend than "cpu"."""
    _check_backend(backend)
    return [0]


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
