"""Platforms: other machines that libraries are built for, and what differs there.

A platform is named as compilers name it, by a triple: `aarch64-linux-gnu`, `wasm32-wasi`,
`x86_64-linux-gnu.2.17` for a version of glibc. What follows from the name is data: the files of a
library, the words that compilers take, the machine for which loops are made.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from transpile.machine import USUAL, Machine
from transpile.util.frozen_records import dataclass

# Vectors of 16 bytes, and caches as small boards have them.
_NEON = Machine(vector_bytes=16)
_PORTABLE = Machine(vector_bytes=16, l2_bytes=256 << 10, l3_bytes=2 << 20)
# A microcontroller: no vectors, no caches, one thread, and a stack of some kilobytes.
_SMALL = Machine(
    cores=2,
    vector_bytes=16,
    l1_bytes=4 << 10,
    l2_bytes=8 << 10,
    l3_bytes=16 << 10,
    promoted_bytes=512,
    stack_array_bytes=2 << 10,
)


@dataclass(frozen=True)
class _Processor:
    """What is known of an architecture: the bits of an address, and its usual machine."""

    bits: int
    machine: Machine


_PROCESSORS: Mapping[str, _Processor] = MappingProxyType(
    {
        "x86_64": _Processor(64, USUAL),
        "aarch64": _Processor(64, _NEON),
        "riscv64": _Processor(64, _PORTABLE),
        "wasm32": _Processor(32, _PORTABLE),
        "arm": _Processor(32, _SMALL),
    }
)


@dataclass(frozen=True)
class _System:
    """What is known of an operating system.

    architectures  those that it is built for here
    abis           what may stand behind its name
    ending         of the file of a library
    shared         the words with which a compiler makes one
    threads        whether it has threads
    assembles      whether long constants may be taken from a file by the assembler, as in ELF
    has_complex    whether the functions of complex numbers of its C library are accurate
    """

    architectures: tuple[str, ...]
    abis: tuple[str, ...]
    ending: str
    shared: tuple[str, ...]
    threads: bool = True
    assembles: bool = False
    has_complex: bool = False


_SYSTEMS: Mapping[str, _System] = MappingProxyType(
    {
        "linux": _System(
            ("x86_64", "aarch64", "riscv64"),
            ("gnu", "musl"),
            ".so",
            ("-fPIC", "-shared"),
            assembles=True,
            has_complex=True,
        ),
        "windows": _System(("x86_64", "aarch64"), ("gnu",), ".dll", ("-shared",)),
        "macos": _System(
            ("x86_64", "aarch64"),
            ("", "none"),
            ".dylib",
            ("-fPIC", "-shared"),
            has_complex=True,
        ),
        "wasi": _System(("wasm32",), ("", "musl"), ".wasm", ("-mexec-model=reactor",), False),
        "none": _System(("arm",), ("eabi", "eabihf"), ".o", ("-c",), False),
    }
)
# What Debian calls the compilers whose names do not begin with the target's.
_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "x86_64-windows-gnu": "x86_64-w64-mingw32-gcc",
        "arm-none-eabi": "arm-none-eabi-gcc",
        "arm-none-eabihf": "arm-none-eabi-gcc",
    }
)
_DEBIAN: Mapping[str, str] = MappingProxyType(
    {
        "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
        "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
        "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
        "arm-none-eabi-gcc": "gcc-arm-none-eabi and libnewlib-arm-none-eabi",
    }
)
_TARGET = re.compile(
    r"(?P<processor>\w+)-(?P<system>[a-z]+)(-(?P<abi>[a-z]+)(?P<version>\.\d+\.\d+)?)?"
)
_EXAMPLES = (
    "aarch64-linux-gnu, riscv64-linux-gnu, x86_64-linux-musl, x86_64-linux-gnu.2.17, "
    "x86_64-windows-gnu, aarch64-macos, wasm32-wasi, arm-none-eabi"
)
# With OpenMP's library in it, which Windows has not, and of which nothing is exported.
_OF_GCC_FOR_WINDOWS = ("-static", "-Wl,--exclude-libs,ALL", "-Wl,--no-insert-timestamp")


@dataclass(frozen=True)
class Platform:
    """A machine that libraries are built for; "" is the one that builds them.

    name       the triple
    processor  its first word
    system     linux, windows, macos, wasi, or none
    version    of glibc, for which symbols are chosen; "" for the compiler's
    """

    name: str
    processor: str = ""
    system: str = "linux"
    version: str = ""

    @property
    def machine(self) -> Machine:
        """The machine for which loops are made."""
        return _PROCESSORS[self.processor].machine if self.name else USUAL

    @property
    def flags(self) -> tuple[str, ...]:
        """What compilers have to be told about it, beside its name."""
        return ("-mfloat-abi=hard",) if self.name.endswith("eabihf") else ()

    @property
    def address_bits(self) -> int:
        """How long addresses are."""
        return _PROCESSORS[self.processor].bits if self.name else 64

    @property
    def shared(self) -> tuple[str, ...]:
        """The words with which a compiler makes what `file` names."""
        return _SYSTEMS[self.system].shared

    @property
    def links(self) -> bool:
        """Whether there is anything that loads libraries; else they are object files."""
        return self.system != "none"

    @property
    def loads(self) -> bool:
        """Whether programs load libraries there."""
        return self.system not in ("none", "wasi")

    @property
    def has_threads(self) -> bool:
        """Whether loops may run on several threads."""
        return _SYSTEMS[self.system].threads

    @property
    def assembles_files(self) -> bool:
        """Whether the assembler takes long constants from a file."""
        return _SYSTEMS[self.system].assembles

    @property
    def has_accurate_complex(self) -> bool:
        """Whether its C library's functions of complex numbers are accurate: those of musl, newlib
        and Windows cancel, overflow, and lose infinities."""
        if not self.name:
            return sys.platform != "linux" or glibc_version() != ""
        return _SYSTEMS[self.system].has_complex and "musl" not in self.name

    def file(self, name: str) -> str:
        """The file of a library."""
        return name + _SYSTEMS[self.system].ending

    def import_library(self, name: str) -> str:
        """The file by which programs are linked with it; "" where that is the library itself."""
        return f"{name}.dll.a" if self.system == "windows" else ""

    def link_words(
        self, name: str, exported: Sequence[str] = (), *, is_gcc: bool = True
    ) -> tuple[str, ...]:
        """What the linker is told of a library: by which name it is loaded, what it exports where
        that is not all that is visible."""
        match self.system:
            case "linux" if self.name or sys.platform == "linux":
                # So that `cc main.c lib/NAME.so` does not record the path.
                return (f"-Wl,-soname,{self.file(name)}",)
            case "windows":
                # Without symbols, which zig puts into another file, by its path.
                words = (f"-Wl,--out-implib,{self.import_library(name)}", "-s")
                return (*words, *_OF_GCC_FOR_WINDOWS) if is_gcc else words
            case "macos":
                return (f"-Wl,-install_name,@rpath/{self.file(name)}",)
            case "wasi":
                return tuple(f"-Wl,--export={each}" for each in exported)
        return ()

    @property
    def gcc(self) -> str:
        """What a gcc for it is called; "" where there is none that chooses its version of glibc."""
        return "" if self.version else _COMMANDS.get(self.name, f"{self.name}-gcc")

    @property
    def zig_target(self) -> str:
        """What zig calls it; "" where zig has no C library for it."""
        return self.name if self.links else ""

    @property
    def remedies(self) -> str:
        """What to install, where there is no compiler for it."""
        package = _DEBIAN.get(self.gcc)
        ways = ["`pip install ziglang`"] if self.zig_target else []
        ways += [f"Debian's {package}"] if package else []
        return " or ".join(ways)


def machine_for(target: str, *, freestanding: bool) -> Machine:
    """The usual machine of a target, and of programs that are freestanding."""
    return _SMALL if freestanding else platform_of(target).machine


@lru_cache(maxsize=64)
def platform_of(target: str) -> Platform:
    """The platform of a name; ValueError for one that is not known."""
    if not target:
        return Platform("")
    words = _TARGET.fullmatch(target)
    system = _SYSTEMS.get(words["system"]) if words else None
    if (
        words is None
        or system is None
        or words["processor"] not in system.architectures
        or (words["abi"] or "") not in system.abis
        or (words["version"] and words["abi"] != "gnu")
    ):
        raise ValueError(f"target={target!r} is not known; there are {_EXAMPLES}, and their like")
    return Platform(target, words["processor"], words["system"], words["version"] or "")


@lru_cache(maxsize=1)
def glibc_version() -> str:
    """The version of this machine's glibc, "glibc 2.36"; "" where it has another C library."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError, AttributeError):
        return ""
