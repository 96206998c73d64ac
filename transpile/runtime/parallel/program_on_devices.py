"""Run one program on several devices: inputs for each, results of all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from transpile.errors import DeviceError
from transpile.runtime.executable import Executable
from transpile.runtime.parallel.device_set import DeviceSet
from transpile.runtime.parallel.threads import POOL
from transpile.runtime.program_call import EXCHANGE_FAILED

Array = np.ndarray[Any, Any]


def run_on_devices(
    executable: Executable, inputs: Sequence[Sequence[Any]], outputs: Sequence[Sequence[Array]]
) -> None:
    """Run the program once for each list of inputs, at the same time, on devices 0, 1, 2 ...; the
    results are written to the arrays of `outputs`.

    Raises the exception of a device that has one of its own, and DeviceError where an exchange
    fails.
    """
    with DeviceSet(len(inputs)) as devices:
        functions = [
            partial(_run, executable, devices, rank, inputs[rank], outputs[rank])
            for rank in range(len(inputs))
        ]
        errors = POOL.run(functions, devices.fail)
    raised = [error for error in errors if error is not None]
    for error in raised:
        if not isinstance(error, DeviceError):
            raise error
    if raised:
        raise raised[0]


def _run(
    executable: Executable,
    devices: DeviceSet,
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
