"""Sums over devices and a plate of heat, on threads and on the processes of an MPI program.

    python -m benchmarks.devices [--rounds N]

Beside each sum stands NumPy's copy of the same bytes, and for processes mpi4py's Allreduce. The
times are the best of all rounds; those of a round are taken one after the other, so that a machine
with other things to do slows all of them. Needs the extra `mpi` for processes.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import transpile
from transpile import lax

ROOT = Path(__file__).parents[1]
SUM = "the sum of 64 MB"
SMALL = "the sum of 8 numbers"


def best(times):
    """The least time of each thing that was timed."""
    return {name: min(row[name] for row in times) for name in times[0]}


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def sums(rounds):
    """Seconds of a sum over two devices, of a copy, and of mpi4py's Allreduce."""
    own = transpile.local_device_count()
    of_devices = transpile.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    long, short = np.ones((own, 8 << 20)), np.ones((own, 8))
    target = np.empty(8 << 20)
    whatever = {
        SUM: lambda: of_devices(long),
        SMALL: lambda: of_devices(short),
        "a copy of 64 MB": lambda: np.copyto(target, long[0]),
    }
    if transpile.process_count() > 1:
        from mpi4py import MPI

        x, comm = long[0], MPI.COMM_WORLD
        whatever["mpi4py's Allreduce"] = lambda: comm.Allreduce(x, target)
        eight = np.empty(8)
        whatever["mpi4py's of 8"] = lambda: comm.Allreduce(short[0], eight)
    for function in whatever.values():
        function()
    times = []
    for _ in range(rounds):
        row = {}
        for name, function in whatever.items():
            of_devices(short)  # all begin together
            row[name] = timed(function)
        times.append(row)
    return best(times)


def heat(rounds):
    """Seconds of the plate of `examples/heat.py` on all devices; on one, alone."""
    sys.path.insert(0, str(ROOT / "examples"))
    import heat

    count = transpile.device_count()
    plate = np.random.default_rng(1).uniform(size=(heat.SIZE, heat.SIZE))
    strips = plate.reshape(count, heat.SIZE // count, heat.SIZE)
    strips = strips[[device.id for device in transpile.local_devices()]]
    mapped = transpile.pmap(heat.on_strips, axis_name="strip")
    mapped(strips)
    return {f"heat of {heat.SIZE}": min(timed(lambda: mapped(strips)) for _ in range(rounds))}


def measure(rounds):
    """In a process of its own, or in one of several: print what was measured."""
    found = sums(rounds) | heat(max(5, rounds // 2))
    if transpile.process_index() == 0:
        print(json.dumps(found))


def run(launcher, rounds, **settings):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **settings}
    command = [*launcher, sys.executable, "-m", "benchmarks.devices", "--measure", str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment, cwd=ROOT)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--measure", type=int)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure)
        return
    beside = shutil.which("mpiexec", path=str(Path(sys.prefix) / "bin")) or shutil.which("mpiexec")
    ways = {
        "one thread": ([], {"TRANSPILE_NUM_DEVICES": "1"}),
        "two threads": ([], {"TRANSPILE_NUM_DEVICES": "2"}),
    }
    if importlib.util.find_spec("mpi4py") and beside:
        ways["two processes"] = ([beside, "-n", "2"], {"TRANSPILE_NUM_DEVICES": "1"})
    found = {name: run(way, chosen.rounds, **settings) for name, (way, settings) in ways.items()}
    plate = next(name for name in found["one thread"] if name.startswith("heat"))
    for name, times in found.items():
        print(f"{name}:")
        copy = times["a copy of 64 MB"]
        for what, seconds in times.items():
            shown = f"  {what:22} {seconds * 1e3:10.3f} ms"
            if what in (SUM, "mpi4py's Allreduce"):
                shown += f"  {seconds / copy:5.2f} copies"
            if what == plate:
                shown += f"  {found['one thread'][plate] / seconds:5.2f} times as fast as one"
            print(shown)


if __name__ == "__main__":
    main()
