"""The functions of `jax.distributed`: this process as one of several that compute together."""

from __future__ import annotations

from typing import Any

from transpile.ir.source_info import user_source
from transpile.runtime.parallel import processes
from transpile.trace.tracebacks import api_boundary

__all__ = ["initialize", "is_initialized", "shutdown"]


@api_boundary
def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: Any = None,
    cluster_detection_method: str | None = None,
    **settings: Any,
) -> None:
    """Join the other processes of an MPI program, which `mpiexec` has started: all of them call it.
    Not needed where the launcher's environment variables tell that there are several; those of
    MPICH, Open MPI and their kin do.

    cluster_detection_method   "mpi4py", or None; timeouts and the other arguments of JAX are for
                               its own service, and refused, since MPI needs none

    Raises RuntimeError where the processes are joined already, where mpi4py is not installed, and
    where TRANSPILE_MPI=0 forbids it.
    """
    given = {
        "coordinator_address": coordinator_address,
        "num_processes": num_processes,
        "process_id": process_id,
        "local_device_ids": local_device_ids,
        **settings,
    }
    refused = [name for name, value in given.items() if value is not None]
    if cluster_detection_method not in (None, "mpi4py"):
        refused.append("cluster_detection_method")
    if refused:
        raise ValueError(
            f"{user_source()}: processes are those of mpiexec: initialize takes no "
            f"{', '.join(refused)}"
        )
    processes.join()


def is_initialized() -> bool:
    """True once this process has joined the others."""
    return processes.is_joined()


def shutdown() -> None:
    """Say that this process exchanges nothing more, as the end of the process does, too."""
    processes.leave()
