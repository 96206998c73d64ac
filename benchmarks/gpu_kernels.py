"""Kernels made from loops on a GPU: bandwidth, the part of a copy's, and PyTorch, JAX and CuPy
beside ours.

    python -m benchmarks.gpu_kernels [name ...] [--peers PEER ...] [--build sm_90] [--folder FOLDER]
                                     [--json FILE] [--check]

`name` is a part of a workload's name. `--build` only compiles, for a GPU that need not be there;
the programs are kept in the folder. Prints for each workload: our time, GB/s (of the bytes that it
has to move, each once) or TFLOP/s, the part of the bandwidth of a copy inside the device as
measured just before, the launches, and how the time of each peer is to ours. `--check` compares
results with those of PyTorch.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import gpu_peers
from benchmarks.gpu_device import (
    Program,
    ask,
    copy_bandwidth,
    cuda,
    drawn,
    library_of,
    seconds_of,
    text_of,
)
from benchmarks.gpu_workloads import WORKLOADS, Workload

_WORKERS = 16
_MAJOR, _MINOR = 75, 76  # of cudaDeviceGetAttribute


def architecture() -> str:
    """The GPU's, as nvcc calls it."""
    numbers = []
    for attribute in (_MAJOR, _MINOR):
        number = ctypes.c_int()
        ask("cudaDeviceGetAttribute", ctypes.byref(number), attribute, 0)
        numbers.append(number.value)
    return f"sm_{10 * numbers[0] + numbers[1]}"


def built(names: list[str], for_: str, folder: Path, workers: int) -> dict[str, Path]:
    """The libraries of workloads; texts are made one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    libraries = {}
    with ThreadPoolExecutor(workers) as pool:
        for name in names:
            libraries[name] = pool.submit(library_of, text_of(WORKLOADS[name]), for_, folder)
    return {name: library.result() for name, library in libraries.items()}


def measured(
    workload: Workload, library: Path, copy: float, peers: list[str], *, is_checked: bool
) -> dict[str, Any]:
    """What is known of a workload when it has run."""
    inputs = drawn(workload)
    program = Program(workload, library, inputs)
    for array in program.outputs:
        array.poison()
    program()
    ask("cudaDeviceSynchronize")
    apart = math.nan
    if is_checked:
        apart = gpu_peers.difference(workload, inputs, program.outputs)
    seconds = seconds_of(program)
    row: dict[str, Any] = {
        "seconds": seconds,
        "bandwidth": workload.bytes / seconds,
        "part": workload.bytes / seconds / copy,
        "flops": workload.flops / seconds,
        "launches": library.with_suffix(".cu").read_text().count("\n    LAUNCH("),
        "apart": apart,
        "good": not apart > workload.tolerance,
        "peers": dict(gpu_peers.times(workload, inputs, peers)),
    }
    program.free()
    for array in inputs:
        array.free()
    return row


def line(name: str, row: dict[str, Any]) -> str:
    """A row of the table."""
    rate = f"{row['bandwidth'] / 1e9:7.0f} GB/s {row['part']:5.2f}"
    if row["flops"]:
        rate = f"{row['flops'] / 1e12:7.2f} TF/s     -"
    peers = row["peers"]
    ratios = " ".join(
        f"{peers[p] / row['seconds']:8.2f}" if p in peers else f"{'-':>8}" for p in gpu_peers.PEERS
    )
    wrong = "" if row["good"] else f"  WRONG by {row['apart']:.2g}"
    return f"{name:28}{row['seconds'] * 1e6:11.1f} us {rate} {row['launches']:4} {ratios}{wrong}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peers", nargs="*", default=[], choices=[*gpu_peers.PEERS])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", default="")
    parser.add_argument("--workers", type=int, default=_WORKERS)
    parser.add_argument("--folder", type=Path, default=Path("cache/gpu"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = [n for n in WORKLOADS if not options.names or any(p in n for p in options.names)]
    libraries = built(names, options.build or architecture(), options.folder, options.workers)
    if options.build:
        return
    ask("cudaFree", None)
    cuda().cudaEventDestroy  # noqa: B018  - loaded now, not while something is timed
    peers = [name for name in options.peers if name in gpu_peers.there()]
    copy = copy_bandwidth()
    print(f"a copy of 1 GB: {copy / 1e9:.0f} GB/s, read and written", flush=True)
    heads = " ".join(f"{p:>8}" for p in gpu_peers.PEERS)
    print(f"{'':28}{'time':>14} {'rate':>12} {'part':>5} runs {heads}", flush=True)
    rows = {}
    for name in names:
        rows[name] = measured(
            WORKLOADS[name], libraries[name], copy, peers, is_checked=options.check
        )
        print(line(name, rows[name]), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"copy": copy, "rows": rows}))


if __name__ == "__main__":
    main()
