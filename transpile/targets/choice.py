"""The target of a program, by the name of the device that it is for.

A device is named `cpu`, `cuda` or `cuda:1`; `gpu` is another name of `cuda`. This module is where
a target is chosen; what belongs to one is imported when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.errors import CompilerNotFoundError, DeviceNotFoundError
from transpile.ir.graph import Donated, Graph
from transpile.options import Options
from transpile.pytree.device_arrays import ADOPTING, DeviceArray
from transpile.runtime.devices import PLATFORMS, Device
from transpile.trace.history.record import Record
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import transpile.runtime.executable as c
    import transpile.targets.cuda.lowering as cuda
    import transpile.targets.cuda.runtime.device as cuda_devices
    import transpile.targets.cuda.runtime.interop as cuda_interop
    import transpile.targets.cuda.toolchain.nvcc as cuda_nvcc
    from transpile.runtime.executable import Lowering
else:
    c = Later("transpile.runtime.executable")
    cuda = Later("transpile.targets.cuda.lowering")
    cuda_devices = Later("transpile.targets.cuda.runtime.device")
    cuda_nvcc = Later("transpile.targets.cuda.toolchain.nvcc")
    cuda_interop = Later("transpile.targets.cuda.runtime.interop")

# The dialects that targets add to those of `analysis/dialects.py`.
DIALECTS: Mapping[str, Callable[[Any], str]] = {
    "cuda": lambda lowering: cuda.cuda_text_of(lowering)
}
HOST = "cpu"
_NAME = re.compile(r"(cpu|cuda|gpu)(?::(\d+))?")
_GPUS = (2, 13)  # the kinds of devices of DLPack whose memory is a GPU's


def name_of(device: Any, what: str) -> str:
    """The name of a device: of a `Device`, or of a text. ValueError for what is none."""
    text = device if isinstance(device, str) else str(device) if isinstance(device, Device) else ""
    match = _NAME.fullmatch(text)
    if match is None:
        raise ValueError(
            f"`{what}` only accepts `None`, `transpile.Device`, 'cpu', 'cuda', 'gpu' or a name "
            f"with a number, 'cuda:1'. Received invalid value: {device}"
        )
    platform, number = match.groups()
    if platform == HOST:
        return HOST
    return f"cuda:{int(number)}" if number and int(number) else "cuda"


def lowering(
    graph: Graph, options: Options, donated: Donated = (), record: Record | None = None
) -> Lowering:
    """A graph with the options that it is compiled with, for the device that they name."""
    made = c.Lowering if options.device == HOST else cuda.CudaLowering
    return made(graph, options, donated, record)


def changed(made: Lowering, options: Options) -> Lowering:
    """A lowered graph with other options, which may name another device."""
    if options == made.options:
        return made
    if options.device != made.options.device:
        return lowering(made.graph, options, made.donated, made.record)
    return made.changed(options)


def _adopted(value: Any) -> DeviceArray | None:
    """An array of another library in the memory of a GPU as one of ours; None for what is none."""
    if isinstance(value, DeviceArray | np.generic | np.ndarray | type):
        return None
    if hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] not in _GPUS:
            return None
    elif not hasattr(value, "__cuda_array_interface__"):
        return None
    try:
        return cuda_interop.adopted(value)
    except (DeviceNotFoundError, BufferError, TypeError, RuntimeError):
        return None  # what NumPy says of it names the argument


def _gpus() -> list[Device]:
    return list(cuda_devices.all_devices())


def describe() -> str:
    """The GPUs that there are, and with which compiler programs for them are built, or why there
    are none: for `python -m transpile doctor`."""
    try:
        listed = ", ".join(f"{gpu}: {gpu.device_kind}" for gpu in _gpus())
    except DeviceNotFoundError as error:
        return f"no GPU: {error}"
    try:
        return f"{listed}; {cuda_nvcc.find_nvcc().path}"
    except CompilerNotFoundError as error:
        return f"{listed}; {error}"


ADOPTING.append(_adopted)
PLATFORMS.update(cuda=_gpus, gpu=_gpus)
