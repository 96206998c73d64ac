"""JAX's functions about devices and processes. A process has as many devices as the environment
variable TRANSPILE_NUM_DEVICES says, which are threads of it, one otherwise; there are several
processes in an MPI program (`parallel/processes.py`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from transpile.errors import DeviceNotFoundError
from transpile.runtime.parallel.processes import processes
from transpile.util.interrupt_safety import SUSPENDING

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

    def put(self, value: Any) -> Any:
        """An array in its memory: the array itself where it is there, else a copy."""
        return np.asarray(value)

    def memory_stats(self) -> Any:
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


# The devices of other platforms than the CPU's, by their names: targets add theirs. Raises
# DeviceNotFoundError where there are none.
PLATFORMS: dict[str, Callable[[], list[Device]]] = {}
# Names of platforms that there may be elsewhere.
_ELSEWHERE = ("gpu", "cuda", "rocm", "tpu", "metal")


def _others(backend: Any) -> list[Device] | None:
    """The devices of another platform than the CPU's; None for the CPU's. Raises RuntimeError for a
    platform that is not here."""
    if backend in (None, "cpu"):
        return None
    reason = ""
    if backend in PLATFORMS:
        try:
            return PLATFORMS[backend]()
        except DeviceNotFoundError as error:
            reason = f": {error}"
    if backend in _ELSEWHERE:
        raise RuntimeError(
            f"Unknown backend: {backend!r} requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu{reason}"
        )
    raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")


def check_device(device: Any, what: str) -> None:
    """Raise ValueError, in JAX's words, for a value that is no device."""
    platform = device.partition(":")[0] if isinstance(device, str) else ""
    if device is None or isinstance(device, Device) or platform in ("cpu", *PLATFORMS):
        return
    raise ValueError(
        f"`{what}` only accepts `None`, `transpile.Device` or a pytree of these values. Received "
        f"invalid value: {device}"
    )


def devices(backend: str | None = None) -> list[Device]:
    """A list of all devices of a platform, of all processes: "cpu", by default, "cuda" or "gpu".
    Raises RuntimeError for a platform that is not here."""
    others = _others(backend)
    if others is not None:
        return others
    return [device(number) for number in range(sum(processes().device_counts))]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """A list of the devices of a process, of this one if none is named; raises ValueError for one
    that there is not."""
    others = _others(backend)
    known = processes()
    number = process_index if host_id is None else host_id
    number = known.index if number is None else number
    if number not in range(known.count):
        raise ValueError(f"Unknown process_index {number}")
    return [device(k) for k in known.devices(number)] if others is None else others


def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform; raises RuntimeError for one that is not here."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process; raises RuntimeError for a platform that is not
    here."""
    return len(local_devices(backend=backend))


def process_count(backend: str | None = None) -> int:
    """The number of processes that compute together; raises RuntimeError for a platform that is not
    here."""
    _others(backend)
    return processes().count


def process_index(backend: str | None = None) -> int:
    """The number of this process; raises RuntimeError for a platform that is not here."""
    _others(backend)
    return processes().index


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes; raises RuntimeError for a platform that is not here."""
    return list(range(process_count(backend)))


host_count, host_id, host_ids = process_count, process_index, process_indices


class _Default(threading.local):
    """The device that a context has named in this thread, and None without one."""

    device: Device | None = None


_default = _Default()
_of_all_threads: list[Device | None] = [None]


def current_default() -> Device:
    """The device on which programs run whose arguments are in the memory of the host."""
    return _default.device or _of_all_threads[0] or CPU


def default_backend() -> str:
    """The name of the platform that programs run on, "cpu" unless `default_device` says another."""
    return current_default().platform


def named(name: Any) -> Device:
    """The device of a `Device`, or of a name: of a platform, or with a number, `cuda:1`. Raises
    ValueError for what is none, and RuntimeError for one that is not here."""
    if isinstance(name, Device):
        return name
    platform, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    known = platform == "cpu" or platform in PLATFORMS
    if not known or not (number or "0").isdecimal():
        raise ValueError(
            "`default_device` only accepts `transpile.Device`, or the name of a platform or "
            f"device: 'cpu', 'cuda', 'cuda:1'. Received invalid value: {name}"
        )
    there = devices(platform)
    if int(number or 0) >= len(there):
        raise RuntimeError(f"there is no device {name}: {platform} has {len(there)}")
    return there[int(number or 0)]


@contextmanager
def default_device(device: Any) -> Iterator[None]:
    """A context in which this thread's jitted functions run on a device, and move NumPy's arrays
    there, unless `jit` names another device or has `auto_device=False`.

    The device is one of `devices(...)`, a name ("cpu", "cuda", "cuda:1"), or None for the usual
    one. Raises ValueError for what is no device, RuntimeError for one that is not here.
    """
    chosen = None if device is None else named(device)
    suspends = chosen is not None or _default.device is not None
    before, _default.device = _default.device, chosen
    if suspends:
        SUSPENDING.append(None)
    try:
        yield
    finally:
        _default.device = before
        if suspends:
            SUSPENDING.pop()


def set_default_device(device: Any) -> None:
    """Make a device that of all threads, but for contexts that name another one; None is the
    CPU."""
    chosen, before = None if device is None else named(device), _of_all_threads[0]
    _of_all_threads[0] = chosen
    if (chosen is None) != (before is None):
        SUSPENDING.append(None) if before is None else SUSPENDING.pop()


def default_of_all_threads() -> Device | None:
    """What `set_default_device` was given last."""
    return _of_all_threads[0]


def effects_barrier() -> None:
    """Wait for all callbacks: nothing to do, as calls are synchronous."""
