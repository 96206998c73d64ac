"""Devices that are processes of an MPI program: the communicators of `runtime_c`, built with MPI's
compiler.

The package mpi4py initialises MPI and ends it. Its MPI must be the one that the compiler links
with: that compiler is looked for beside it first, and the library asked whether MPI is initialised.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from transpile.build.support_libraries import support_library
from transpile.disk_cache.cache import Entry
from transpile.errors import CompilerNotFoundError, DeviceError
from transpile.runtime.loader import Library, load
from transpile.runtime.parallel.placement import Placement, Processes
from transpile.util.data_files import data_directory
from transpile.util.lazy.imports import Later

mpi4py: Any = Later("mpi4py")
MPI: Any = Later("mpi4py.MPI")

_FILE = "mpi_devices.so"
_GRACE = 5.0  # seconds that a process whose exchanges have failed gives the others to say so, too


class World:
    """The processes of an MPI program, joined. All of them make one, at the same time."""

    def __init__(self, device_count: int) -> None:
        comm = MPI.COMM_WORLD
        self._library = _library()
        if not self._library.handle.transpile_mpi_is_initialized():
            raise DeviceError(
                f"the compiler {_compiler()} links with another MPI than mpi4py's "
                f"({_version()}): name its mpicc with TRANSPILE_MPICC"
            )
        self.processes = Processes(comm.Get_rank(), tuple(comm.allgather(device_count)))
        self.address = self._library.handle.transpile_mpi_open(comm.py2f(), device_count)
        if self.address == self._library.ffi.NULL:
            raise MemoryError("no memory for the devices of an MPI program")
        self._is_closed = False
        self._process = os.getpid()
        atexit.register(self.close)

    def devices(self, placement: Placement) -> MpiDeviceSet:
        """The devices of one run, of which this process has some; DeviceError in a forked child,
        which is no process of the MPI program."""
        if self._process != os.getpid():
            raise DeviceError(
                "a forked child is no process of the MPI program: only its own devices exchange"
            )
        return MpiDeviceSet(self, self._library, placement)

    def fail(self, message: str) -> None:
        """Have all devices fail, with a message; the first one stays."""
        self._library.handle.transpile_mpi_fail(self.address, message.encode())

    @property
    def message(self) -> str:
        """Why they have failed, or nothing."""
        text = self._library.handle.transpile_mpi_message(self.address)
        return bytes(self._library.ffi.string(text)).decode(errors="replace")

    def close(self) -> None:
        """Say that this process exchanges nothing more, and why, where an exception ends it."""
        if not self._is_closed and self._process == os.getpid():
            self._is_closed = True
            error = getattr(sys, "last_value", None)
            reason = "" if error is None else f"{type(error).__name__}: {error}"
            sys.stdout.flush()
            sys.stderr.flush()
            self._library.handle.transpile_mpi_close(self.address, reason.encode(), _GRACE)


class MpiDeviceSet:
    """The devices of one run of a program, some of them on other processes. It is used with
    `with`; as `DeviceSet`, but after a failure there are no further runs."""

    def __init__(self, world: World, library: Library, placement: Placement) -> None:
        self._world, self._library, self._placement = world, library, placement
        self._address: Any = None

    def __enter__(self) -> MpiDeviceSet:
        if self._world.message:
            raise DeviceError(self._world.message)
        places = self._placement.processes
        ffi, handle = self._library.ffi, self._library.handle
        self._address = handle.transpile_mpi_devices_new(
            self._world.address, len(places), ffi.new("int64_t[]", places)
        )
        if self._address == ffi.NULL:
            raise MemoryError(f"no memory for {len(places)} devices")
        return self

    def __exit__(self, *_: object) -> None:
        self._library.handle.transpile_mpi_devices_free(self._address)
        self._address = None

    def communicator(self, rank: int) -> int:
        """The address of the communicator of a device of this process."""
        pointer = self._library.handle.transpile_mpi_devices_of(self._address, rank)
        return int(self._library.ffi.cast("intptr_t", pointer))

    def end(self, rank: int) -> None:
        """Say that a device exchanges no more: those of this process that wait for it fail."""
        self._library.handle.transpile_mpi_devices_end(self._address, rank)

    def gather(self, what: str, x: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
        """The bytes of all devices, of which each process has one; raises DeviceError."""
        from_buffer = self._library.ffi.from_buffer
        (rank,) = self._placement.ranks
        code = self._library.handle.transpile_mpi_gather(
            self._address, rank, what.encode(), x.nbytes, from_buffer(x), from_buffer(out)
        )
        if code:
            raise DeviceError(self.message)

    def fail(self, message: str) -> None:
        """Have all devices fail, with a message; the first one stays."""
        self._world.fail(message)

    @property
    def message(self) -> str:
        """Why they have failed, or nothing."""
        return self._world.message


def _library() -> Library:
    """`runtime_c/python/mpi_devices.c`, compiled with MPI's compiler, and loaded."""
    declarations = (data_directory("runtime_c") / "python" / "mpi_devices.h").read_text("utf-8")

    def use(entry: Entry) -> Library:
        with entry.opened(_FILE) as handle:
            return load(entry.path(_FILE), declarations, handle)

    flags = ("-pthread", "-fvisibility=default")
    return support_library("mpi_devices", flags, use, {"mpi": _version()}, cc=_compiler())


def _version() -> str:
    return str(MPI.Get_library_version()).split("\n", maxsplit=1)[0].strip("\0 ")


def _compiler() -> str:
    """The command of MPI's C compiler: TRANSPILE_MPICC, that of mpi4py's build, or that in Python's
    environment or in the PATH."""
    named = os.environ.get("TRANSPILE_MPICC") or mpi4py.get_config().get("mpicc", "")
    beside = str(Path(sys.prefix) / "bin")
    found = named or shutil.which("mpicc", path=beside) or shutil.which("mpicc")
    if not found:
        raise CompilerNotFoundError(
            "no mpicc was found, MPI's C compiler: pip install 'transpile[mpi]', or name it with "
            "TRANSPILE_MPICC"
        )
    return str(found)
