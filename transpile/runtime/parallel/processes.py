"""The processes that compute together, and how many devices each of them has.

A process is alone, or one of an MPI program's (`mpi.py`). It joins the others when it first asks
for devices, or by `transpile.distributed.initialize()`; what decides is the environment variable
TRANSPILE_MPI, or else whether a launcher of MPI programs has started several processes.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from transpile.ir.source_info import user_source
from transpile.runtime.parallel.placement import Processes
from transpile.util.fork_safe_lock import Lock
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.runtime.parallel import mpi
else:
    mpi = Later("transpile.runtime.parallel.mpi")

# Variables by which launchers tell a process how many of them there are: those of MPICH and its
# kin, of Open MPI, and of MVAPICH.
_LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")

_lock = Lock()
_joined: list[mpi.World] = []


def processes() -> Processes:
    """The processes, which this one joins first.

    Raises RuntimeError where it is to be one of several and the package `mpi4py` is not there.
    """
    world = joined_world()
    if world is None:
        return Processes(0, (device_count_here(),))
    return world.processes


def joined_world() -> mpi.World | None:
    """The MPI program that this process is one of, which it joins first; None where it is alone."""
    with _lock:
        if not _joined and _is_one_of_several():
            _join_now()
        return _joined[0] if _joined else None


def join() -> None:
    """Join the processes of an MPI program, however this one was started.

    Raises RuntimeError where that has been done, or the variable TRANSPILE_MPI forbids it.
    """
    with _lock:
        if _joined:
            raise RuntimeError(f"{user_source()}: the processes are joined already")
        if _setting() == "0":
            raise RuntimeError(f"{user_source()}: TRANSPILE_MPI=0 says that the process is alone")
        _check_installed("transpile.distributed.initialize() is called")
        _join_now()


def is_joined() -> bool:
    """True once this process is one of an MPI program's."""
    with _lock:
        return bool(_joined)


def leave() -> None:
    """Say that this process exchanges nothing more."""
    with _lock:
        for world in _joined:
            world.close()


def device_count_here() -> int:
    """How many devices this process is to have: TRANSPILE_NUM_DEVICES, or 1."""
    text = os.environ.get("TRANSPILE_NUM_DEVICES") or "1"
    if not text.isdecimal() or not int(text):
        raise ValueError(f"TRANSPILE_NUM_DEVICES is a positive number, not {text!r}")
    return int(text)


def _join_now() -> None:
    """Join the others. Processes that this one starts then are alone: MPI takes those of the
    launcher only, and their variables are these."""
    _joined.append(mpi.World(device_count_here()))
    os.environ["TRANSPILE_MPI"] = "0"


def _setting() -> str:
    text = os.environ.get("TRANSPILE_MPI") or ""
    if text not in ("", "0", "1"):
        raise ValueError(f"TRANSPILE_MPI is 0 or 1, not {text!r}")
    return text


def _is_one_of_several() -> bool:
    setting = _setting()
    if setting:
        if setting == "1":
            _check_installed("TRANSPILE_MPI is 1")
        return setting == "1"
    for name in _LAUNCHERS:
        text = os.environ.get(name, "")
        if text.isdecimal() and int(text) > 1:
            _check_installed(f"this is one of {text} processes of an MPI program ({name})")
            return True
    return False


def _check_installed(why: str) -> None:
    if importlib.util.find_spec("mpi4py") is None:
        raise RuntimeError(
            f"{user_source()}: {why}, and the package mpi4py is not installed: pip install "
            "'transpile[mpi]'; with TRANSPILE_MPI=0 each process has devices of its own"
        )
