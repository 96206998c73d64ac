"""CUDA programs on a GPU: the rendered text as nvcc compiles it, called with arrays in the memory
of the device. NVCC is None, and `why_not` says why, where that is not to be had."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
from cuda_programs import compiled, folder, shape_of, sizes_of


def nvcc():
    """Where nvcc is: in CUDA_HOME, or where the package `nvidia-cuda-nvcc` puts it."""
    if home := os.environ.get("CUDA_HOME"):
        return Path(home) / "bin/nvcc"
    return next(iter(Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin/nvcc")), None)


NVCC = nvcc()
NO_NVCC = "no nvcc in this environment: `make cuda` installs it, the extra `cuda`"
FLAGS = ("-std=c++17", "--fmad=false", "-Werror", "all-warnings")
TO_DEVICE, TO_HOST = 1, 2  # of cudaMemcpy
COMPUTE_MAJOR, COMPUTE_MINOR = 75, 76  # of cudaDeviceGetAttribute


@cache
def cudart():
    """The library of CUDA's functions for the host: beside nvcc."""
    places = ("lib", "lib64", "targets/x86_64-linux/lib")
    return next(p for place in places for p in NVCC.parents[1].glob(f"{place}/libcudart.so.*"))


@cache
def cuda():
    """The functions of CUDA for the host."""
    return ctypes.CDLL(str(cudart()), mode=ctypes.RTLD_GLOBAL)


@cache
def why_not():
    """Why there is no GPU to run programs on; "" where there is one."""
    if NVCC is None:
        return NO_NVCC
    # Not for all: programs of the CPU's meaning of CUDA have functions of these names.
    library, count = ctypes.CDLL(str(cudart())), ctypes.c_int()
    code = library.cudaGetDeviceCount(ctypes.byref(count))
    library.cudaGetErrorString.restype = ctypes.c_char_p
    return "" if code == 0 and count.value else library.cudaGetErrorString(code).decode()


def asked(function, *arguments):
    """Call a function of CUDA; AssertionError with its message where it fails."""
    code = getattr(cuda(), function)(*arguments)
    cuda().cudaGetErrorString.restype = ctypes.c_char_p
    assert code == 0, f"{function}: {cuda().cudaGetErrorString(code).decode()}"


def architecture():
    """The GPU's, as nvcc calls it."""
    numbers = []
    for attribute in (COMPUTE_MAJOR, COMPUTE_MINOR):
        number = ctypes.c_int()
        asked("cudaDeviceGetAttribute", ctypes.byref(number), attribute, 0)
        numbers.append(number.value)
    return f"sm_{10 * numbers[0] + numbers[1]}"


def compile_for(text, path, generation, *further):
    """Compile a text for a GPU; AssertionError with what nvcc says."""
    source = path.with_suffix(f".{os.getpid()}.cu")
    source.write_text(text)
    compiled([NVCC, *FLAGS, *further, f"-arch={generation}", source, "-o", path])


def shared_object(text, generation):
    """The shared object of a text."""
    digest = hashlib.blake2b((text + generation).encode()).hexdigest()[:16]
    path = folder() / f"device-{digest}.so"
    if not path.exists():
        own = path.with_suffix(f".{os.getpid()}.so")
        library, name = cudart().parent, cudart().name
        words = ("-shared", "-Xcompiler", "-fPIC", "-cudart", "none", "-L", library, f"-l:{name}")
        compile_for(text, own, generation, *words)
        own.replace(path)
    return path


class OnDevice:
    """An array in the memory of the device."""

    def __init__(self, size, value=None):
        self.size = size
        self.address = ctypes.c_void_p()
        asked("cudaMalloc", ctypes.byref(self.address), ctypes.c_size_t(max(1, size)))
        if value is not None and size:
            source = ctypes.c_void_p(value.ctypes.data)
            asked("cudaMemcpy", self.address, source, ctypes.c_size_t(size), TO_DEVICE)

    def read(self, shape, dtype):
        """The array on the host."""
        value = np.zeros(shape, dtype)
        target = ctypes.c_void_p(value.ctypes.data)
        asked("cudaMemcpy", target, self.address, ctypes.c_size_t(value.nbytes), TO_HOST)
        return value

    def free(self):
        """Give the memory back."""
        asked("cudaFree", self.address)


def run_on_device(program, text, values):
    """The results of a lowered program with this CUDA text."""
    library = ctypes.CDLL(str(shared_object(text, architecture())))
    sizes = sizes_of(program, values)
    numbers = [ctypes.c_int64(sizes[s.name]) for s in program.sizes]
    size = getattr(library, f"{program.name}_workspace_size")
    size.restype = ctypes.c_size_t
    given = [np.array(v, b.dtype, order="C") for b, v in zip(program.inputs, values, strict=True)]
    inputs = [OnDevice(v.nbytes, v) for v in given]
    shapes = [shape_of(b, sizes) for b in program.outputs]
    described = list(zip(program.outputs, shapes, strict=True))
    outputs = [OnDevice(int(np.prod(shape)) * b.dtype.itemsize) for b, shape in described]
    workspace = OnDevice(size(*numbers))
    arrays = [*inputs, *outputs, workspace]
    code = getattr(library, program.name)(*numbers, *(a.address for a in arrays), None)
    assert code == 0, f"launch {code} of {program.name} failed"
    asked("cudaDeviceSynchronize")
    found = zip(outputs, described, strict=True)
    results = [a.read(shape, b.dtype) for a, (b, shape) in found]
    for array in arrays:
        array.free()
    return results
