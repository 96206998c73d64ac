"""CUDA programs on a GPU, for benchmarks: their text compiled by nvcc, arrays in the memory of the
device, and the time of what runs there."""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import statistics
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import transpile
from benchmarks.gpu_workloads import Spec, Workload

FLAGS = ("-std=c++17", "--fmad=false", "-O3", "-Werror", "all-warnings")
_TO_DEVICE, _ON_DEVICE = 1, 3  # of cudaMemcpy
_ROUND = 0.004  # seconds
_ROUNDS = 7


def home() -> Path:
    """Where CUDA is: in CUDA_HOME, or where its installer puts it."""
    return Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


@cache
def _runtime() -> Path:
    places = ("lib64", "lib", "targets/x86_64-linux/lib")
    return next(p for place in places for p in (home() / place).glob("libcudart.so.*"))


@cache
def cuda() -> ctypes.CDLL:
    """The functions of CUDA for the host."""
    return ctypes.CDLL(str(_runtime()), mode=ctypes.RTLD_GLOBAL)


def ask(function: str, *arguments: Any) -> None:
    """Call a function of CUDA; RuntimeError with its code where it fails."""
    code = getattr(cuda(), function)(*arguments)
    if code:
        raise RuntimeError(f"{function} fails with {code}")


def text_of(workload: Workload) -> str:
    """The CUDA text of a workload."""
    given = [transpile.ShapeDtypeStruct(*spec) for spec in workload.inputs]
    stage = transpile.jit(lambda *arrays: workload.function(np, *arrays)).lower(*given)
    return stage.as_text("cuda")


def library_of(text: str, architecture: str, folder: Path) -> Path:
    """The shared object of a text, compiled where there is none yet."""
    digest = hashlib.blake2b((text + architecture).encode()).hexdigest()[:16]
    path = folder / f"{digest}.so"
    if not path.exists():
        source, made = path.with_suffix(".cu"), path.with_suffix(f".{os.getpid()}.so")
        source.write_text(text)
        words = ["-shared", "-Xcompiler", "-fPIC", f"-arch={architecture}", "-cudart", "none"]
        words += ["-L", str(_runtime().parent), f"-l:{_runtime().name}", str(source)]
        command = [str(home() / "bin/nvcc"), *FLAGS, *words, "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source}: {done.stderr[:3000]}")
        made.replace(path)
    return path


class Array:
    """Memory of the device, which other packages see as an array of theirs."""

    def __init__(self, spec: Spec) -> None:
        shape, dtype = spec
        self.shape, self.dtype = shape, dtype
        self.size = max(1, math.prod(shape) * dtype.itemsize)
        self.address = ctypes.c_void_p()
        ask("cudaMalloc", ctypes.byref(self.address), ctypes.c_size_t(self.size))
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (self.address.value, False),
            "version": 3,
        }

    def fill(self, value: np.ndarray[Any, Any]) -> None:
        """Take these bytes, again and again."""
        first = min(self.size, value.nbytes)
        source = ctypes.c_void_p(value.ctypes.data)
        ask("cudaMemcpy", self.address, source, ctypes.c_size_t(first), _TO_DEVICE)
        assert self.address.value is not None
        while first < self.size:
            more = min(first, self.size - first)
            to = ctypes.c_void_p(self.address.value + first)
            ask("cudaMemcpy", to, self.address, ctypes.c_size_t(more), _ON_DEVICE)
            first += more

    def poison(self) -> None:
        """Bytes that are no result."""
        ask("cudaMemset", self.address, 0xFF, ctypes.c_size_t(self.size))

    def free(self) -> None:
        ask("cudaFree", self.address)


class Program:
    """A workload that is loaded, with its arguments in the memory of the device."""

    def __init__(self, workload: Workload, library: Path, inputs: list[Array]) -> None:
        loaded = ctypes.CDLL(str(library))
        name = _name_in(library)
        self.function = getattr(loaded, name)
        size = getattr(loaded, f"{name}_workspace_size")
        size.restype = ctypes.c_size_t
        self.outputs = [Array(spec) for spec in workload.outputs]
        self.workspace = Array(((size(),), np.dtype("uint8")))
        arrays = (*inputs, *self.outputs, self.workspace)
        self.arguments = [*(a.address for a in arrays), None]

    def __call__(self) -> None:
        code = self.function(*self.arguments)
        if code:
            raise RuntimeError(f"launch {code} fails")

    def free(self) -> None:
        for array in (*self.outputs, self.workspace):
            array.free()


def _name_in(library: Path) -> str:
    text = library.with_suffix(".cu").read_text()
    return text.rpartition('extern "C" size_t ')[2].partition("_workspace_size")[0]


class _Event:
    def __init__(self) -> None:
        self.event = ctypes.c_void_p()
        ask("cudaEventCreate", ctypes.byref(self.event))

    def record(self) -> None:
        ask("cudaEventRecord", self.event, None)

    def since(self, other: _Event) -> float:
        """Seconds."""
        ask("cudaEventSynchronize", self.event)
        found = ctypes.c_float()
        ask("cudaEventElapsedTime", ctypes.byref(found), other.event, self.event)
        return found.value / 1e3


def seconds_of(function: Callable[[], Any], *, in_rounds_of: float = _ROUND) -> float:
    """The median time of a call that puts work into the default stream, of calls in a row."""
    first, last = _Event(), _Event()
    function()
    ask("cudaDeviceSynchronize")
    first.record()
    function()
    last.record()
    count = max(1, min(200, int(in_rounds_of / max(last.since(first), 1e-7))))
    taken = []
    for _ in range(_ROUNDS):
        first.record()
        for _ in range(count):
            function()
        last.record()
        taken.append(last.since(first) / count)
    return statistics.median(taken)


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of a copy of 1 GB inside the device."""
    source, target = (Array(((1 << 30,), np.dtype("uint8"))) for _ in range(2))
    size = ctypes.c_size_t(1 << 30)
    taken = seconds_of(
        lambda: ask("cudaMemcpyAsync", target.address, source.address, size, _ON_DEVICE, None)
    )
    for array in (source, target):
        array.free()
    return 2 * (1 << 30) / taken


def drawn(workload: Workload) -> list[Array]:
    """Arguments of a workload: numbers in [0, 1) for moments, normal ones else, integers."""
    rng = np.random.default_rng(19)
    arrays = []
    for shape, dtype in workload.inputs:
        array = Array((shape, dtype))
        count = min(math.prod(shape), 1 << 22) or 1
        if dtype.kind == "i":
            value = rng.integers(0, workload.below, count).astype(dtype)
        elif "adam" in workload.name:
            value = rng.random(count).astype(dtype)
        else:
            value = rng.normal(size=count).astype(dtype)
        array.fill(value)
        arrays.append(array)
    return arrays
