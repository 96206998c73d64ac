"""NVIDIA's library of matrix products, cuBLASLt: where it is, and programs that are linked with it.

It is that beside CUDA's library for the host, or of the package `nvidia-cublas`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from transpile.errors import CompilerNotFoundError, LibraryNotFoundError
from transpile.options import Options
from transpile.targets.cuda.toolchain.nvcc import find_nvcc, wheel_folders


@cache
def find_cublas() -> Path | None:
    """The file of the library, by the name that programs know it by; None where there is none."""
    for folder in _folders():
        for path in sorted(folder.glob("libcublasLt.so.*"), key=lambda path: len(path.name)):
            return path
    return None


def identity_of(library: Path) -> str:
    """What the key of a program has of the library: its name with the minor version, where the file
    is called by it, and its size, which tells versions of the package apart."""
    return f"{library.name}, {library.resolve().name}, {library.stat().st_size} bytes"


def _folders() -> Iterator[Path]:
    with suppress(CompilerNotFoundError):
        yield find_nvcc().libraries
    for place in wheel_folders():
        yield place / "lib"


def uses_cublas(options: Options, *, by_default: bool) -> bool:
    """Whether a program may call the library: where it is asked for, and `by_default` where it is
    there. LibraryNotFoundError where what is asked for is not there."""
    if options.cuda_libraries == "cublas":
        if find_cublas() is None:
            raise LibraryNotFoundError(
                "cuda_libraries='cublas' asks for libcublasLt.so, which is neither beside nvcc nor "
                "among Python's packages: install it, `pip install nvidia-cublas`, or leave "
                "products to transpile, cuda_libraries='none'"
            )
        return True
    return by_default and options.cuda_libraries == "auto" and find_cublas() is not None


@cache
def load_cublas(path: Path) -> ctypes.CDLL:
    """Load the library, which programs then know by its name."""
    return ctypes.CDLL(str(path))
