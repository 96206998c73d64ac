"""CUDA's library for the host, by cffi: its functions, and its errors as exceptions.

Handles and addresses of the device are numbers here. The library is that beside nvcc, which
programs are linked with; without an nvcc, that of the package `nvidia-cuda-runtime`, or the one
that the dynamic loader knows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from transpile.errors import CompilerNotFoundError, DeviceNotFoundError, LaunchError
from transpile.runtime.loader import ffi_of
from transpile.targets.cuda.toolchain.nvcc import find_nvcc, wheel_folders
from transpile.util.data_files import data_directory

# Codes of errors, kinds of copies, attributes of devices and flags, as in CUDA's headers.
OUT_OF_MEMORY, NOT_READY = 2, 600
_NO_DRIVER, _NO_DEVICE = 35, 100
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
COMPUTE_MAJOR, COMPUTE_MINOR = 75, 76
NON_BLOCKING, WITHOUT_TIMES = 1, 2
_LARGEST_PROPERTIES = 1 << 13
_LONGEST_NAME = 256
_LONGEST_ATTRIBUTES, _LOCKED = 64, 1


class Cudart:
    """The library, loaded.

    functions   by their names, as attributes
    path        of the library
    """

    def __init__(self, path: str) -> None:
        self.path = path
        declarations = data_directory("templates") / "cuda" / "cudart.h"
        self.ffi: Any = ffi_of(declarations.read_text(encoding="utf-8"))
        # Programs find it by its name: so its symbols need not be global.
        self.functions: Any = self.ffi.dlopen(path)
        if not hasattr(self.functions, "cudaLibraryLoadData"):
            raise DeviceNotFoundError(f"{path} is older than CUDA 12.8, which programs need")

    def message(self, code: int) -> str:
        """What an error is."""
        name = self.ffi.string(self.functions.cudaGetErrorName(code)).decode()
        text = self.ffi.string(self.functions.cudaGetErrorString(code)).decode()
        return f"{text} ({name})"

    def fail(self, code: int, what: str) -> NoReturn:
        """Raise the exception for the code of an error; `what` says what failed."""
        self.functions.cudaGetLastError()  # an error that later calls do not see again
        if code == OUT_OF_MEMORY:
            raise MemoryError(f"{what}: {self.message(code)}")
        raise LaunchError(f"{what}: {self.message(code)}")

    def check(self, code: int, what: str) -> None:
        """Raise the exception for a code that is an error."""
        if code:
            self.fail(code, what)

    def number(self, name: str, *arguments: int) -> int:
        """What a function writes to its first argument, a number."""
        function = getattr(self.functions, name)
        kind = "int[1]" if name.startswith(("cudaGetDevice", "cudaDeviceGet")) else "uintptr_t[1]"
        value = self.ffi.new(kind)
        self.check(function(value, *arguments), name)
        return int(value[0])

    def is_locked(self, address: int) -> bool:
        """True for memory of the host that is locked for transfers."""
        attributes = self.ffi.new("int[]", _LONGEST_ATTRIBUTES)
        code = self.functions.cudaPointerGetAttributes(attributes, address)
        if code:
            self.functions.cudaGetLastError()
        return bool(code == 0 and attributes[0] == _LOCKED)

    def device_of(self, address: int) -> int:
        """The number of the device whose memory has an address."""
        attributes = self.ffi.new("int[]", _LONGEST_ATTRIBUTES)
        code = self.functions.cudaPointerGetAttributes(attributes, address)
        self.check(code, "cudaPointerGetAttributes")
        return int(attributes[1])

    def kernels(self, code: bytes, names: Sequence[str]) -> list[int]:
        """The handles of kernels in machine code, which is loaded."""
        library, kernel = self.ffi.new("uintptr_t[1]"), self.ffi.new("uintptr_t[1]")
        functions, handles = self.functions, []
        self.check(functions.cudaLibraryLoadData(library, code, 0, 0, 0, 0, 0, 0), "a program")
        for name in names:
            found = functions.cudaLibraryGetKernel(kernel, library[0], name.encode())
            self.check(found, f"the kernel {name}")
            handles.append(int(kernel[0]))
        return handles

    def free_memory(self) -> tuple[int, int]:
        """The bytes of the current device that nobody has, and all of them."""
        free, total = self.ffi.new("size_t[1]"), self.ffi.new("size_t[1]")
        self.check(self.functions.cudaMemGetInfo(free, total), "cudaMemGetInfo")
        return int(free[0]), int(total[0])

    def device_name(self, number: int) -> str:
        """The name of a device, with which its properties begin."""
        properties = self.ffi.new("char[]", _LARGEST_PROPERTIES)
        code = self.functions.cudaGetDeviceProperties(properties, number)
        self.check(code, "cudaGetDeviceProperties")
        return str(self.ffi.string(properties, _LONGEST_NAME).decode())

    @property
    def device_count(self) -> int:
        """How many devices there are; DeviceNotFoundError, which says what is missing, for none."""
        count = self.ffi.new("int[1]")
        code = self.functions.cudaGetDeviceCount(count)
        if code == 0 and count[0]:
            return int(count[0])
        self.functions.cudaGetLastError()
        if code == _NO_DRIVER:
            raise DeviceNotFoundError(
                f"no GPU can be used: {self.message(code)}. Install NVIDIA's driver, or a newer one"
            )
        if code in (0, _NO_DEVICE):
            raise DeviceNotFoundError(
                "no GPU was found: the driver is there and has no device (CUDA_VISIBLE_DEVICES="
                f"{os.environ.get('CUDA_VISIBLE_DEVICES', '')!r})"
            )
        raise DeviceNotFoundError(f"no GPU can be used: {self.message(code)}")


@cache
def cudart() -> Cudart:
    """CUDA's library. Raises DeviceNotFoundError where it is not there."""
    problems = []
    for path in _candidates():
        try:
            return Cudart(path)
        except OSError as error:
            problems.append(f"; {error}")
    raise DeviceNotFoundError(
        "CUDA's library libcudart.so was not found: install NVIDIA's CUDA toolkit, or "
        "`pip install 'transpile[cuda]'`, and name its folder in CUDA_HOME if it is elsewhere"
        + "".join(problems)
    )


def _candidates() -> Iterator[str]:
    try:
        yield from _libraries(find_nvcc().libraries)
    except CompilerNotFoundError:
        for place in wheel_folders():
            yield from _libraries(place / "lib")
        yield from ("libcudart.so.13", "libcudart.so.12")


def _libraries(folder: Path) -> Iterator[str]:
    """The files of the library in a folder; those of one version have several names."""
    yield from map(str, sorted(folder.glob("libcudart.so.*"), key=lambda path: len(path.name))[:1])
    yield from map(str, folder.glob("libcudart.so"))
