"""Run one program on several devices: inputs for each of this process, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from transpile.errors import DeviceError
from transpile.runtime.executable import Executable
from transpile.runtime.parallel.device_set import DeviceSet
from transpile.runtime.parallel.placement import Placement
from transpile.runtime.parallel.processes import joined_world
from transpile.runtime.parallel.threads import POOL
from transpile.runtime.program_call import EXCHANGE_FAILED

Array = np.ndarray[Any, Any]


class _Devices(Protocol):
    """What threads and processes have in common: see `DeviceSet`."""

    def communicator(self, rank: int) -> int: ...
    def end(self, rank: int) -> None: ...
    def fail(self, message: str) -> None: ...
    @property
    def message(self) -> str: ...


def run_on_devices(
    executable: Executable,
    inputs: Sequence[Sequence[Any]],
    outputs: Sequence[Sequence[Array]],
    placement: Placement,
) -> None:
    """Run the program once for each list of inputs, at the same time, on the devices of this
    process; the results are written to the arrays of `outputs`. The other processes of the
    placement do so, too.

    Raises the exception of a device that has one of its own, and DeviceError where an exchange
    fails.
    """
    world = None if placement.is_local else joined_world()
    chosen = DeviceSet(len(inputs)) if world is None else world.devices(placement)
    with chosen as devices:
        functions = [
            partial(_run, executable, devices, *each)
            for each in zip(placement.ranks, inputs, outputs, strict=True)
        ]
        errors = POOL.run(functions, devices.fail)
    _raise_first(errors)


def gathered(
    arrays: Sequence[Sequence[Array]], placement: Placement, what: str
) -> list[list[Array]]:
    """Those arrays of each device of a placement, from lists of those of this process: of equal
    shapes and dtypes on all of them.

    Raises DeviceError where a process has failed.
    """
    world = joined_world()
    if placement.is_local or world is None:
        return [list(row) for row in arrays]
    processes = sorted(set(placement.processes))
    most = max(map(placement.processes.count, processes))
    size = sum(x.nbytes for x in arrays[0])
    own = np.zeros((most, size), np.uint8)
    for row, of_device in zip(own, arrays, strict=False):
        row[:] = np.frombuffer(b"".join(x.tobytes() for x in of_device), np.uint8)
    everything = np.empty((len(processes), most, size), np.uint8)
    one_each = Placement(tuple(processes), placement.own)
    with world.devices(one_each) as devices:
        errors = POOL.run([partial(devices.gather, what, own, everything)], devices.fail)
    _raise_first(errors)
    slots = dict.fromkeys(processes, 0)
    result = []
    for process in placement.processes:
        row, at = everything[processes.index(process), slots[process]], 0
        slots[process] += 1
        parts = []
        for x in arrays[0]:
            parts.append(row[at : at + x.nbytes].view(x.dtype).reshape(x.shape))
            at += x.nbytes
        result.append(parts)
    return result


def _raise_first(errors: Sequence[BaseException | None]) -> None:
    """Raise what a device has raised; what others say of it only where it has said nothing."""
    raised = [error for error in errors if error is not None]
    for error in raised:
        if not isinstance(error, DeviceError):
            raise error
    if raised:
        raise raised[0]


def _run(
    executable: Executable,
    devices: _Devices,
    rank: int,
    inputs: Sequence[Any],
    outputs: Sequence[Array],
) -> None:
    """One device. Where it raises, the others fail with that, and end."""
    try:
        code = executable.call.run_into(inputs, outputs, devices.communicator(rank))
        if code == EXCHANGE_FAILED:
            raise DeviceError(devices.message)
        if code:
            executable.call.fail(code)
    except BaseException as error:
        if not isinstance(error, DeviceError):
            devices.fail(f"device {rank} has failed: {type(error).__name__}: {error}")
        raise
    finally:
        devices.end(rank)
