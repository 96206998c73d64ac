"""The heat of a plate in a C program on two processes, without Python: with the extra `mpi`

    python examples/heat_in_c.py

The program of a strip (heat.py) is saved with the communicator for MPI. `heat.c` calls it; it is
compiled with mpicc and run by mpiexec, and its numbers are those of two threads here.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.update(TRANSPILE_NUM_DEVICES="2", HEAT_SIZE="128", HEAT_STEPS="400")

import heat
import numpy as np

import transpile

HERE = Path(__file__).parent


def tool(name):
    """A command of MPI, of Python's environment or of the PATH."""
    found = shutil.which(name, path=str(Path(sys.prefix) / "bin")) or shutil.which(name)
    if not found:
        sys.exit(f"{name} is missing: pip install 'transpile[mpi]'")
    return found


def in_c(lowered):
    """What the C program prints."""
    with tempfile.TemporaryDirectory() as folder:
        lowered.save(folder, "heat", communicator="mpi")
        shutil.copy(HERE / "heat.c", Path(folder, "main.c"))
        words = [tool("mpicc"), "-O2", "main.c", "mpi_devices.c", "heat.c", "-lm", "-o", "heat"]
        subprocess.run(words, cwd=folder, check=True)
        command = [tool("mpiexec"), "-n", "2", "./heat"]
        done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
        return np.array(done.stdout.split(), float)


def main():
    strips = np.zeros((2, 64, 128))
    strips[0, -1] = strips[1, 0] = 100 * np.arange(128) / 128
    mapped = transpile.pmap(heat.on_strips, axis_name="strip")
    warm = mapped(strips)
    here = np.array([warm.sum(), warm[0, -1, -1], warm[0, 24, 100]])
    there = in_c(mapped.lower(strips))
    print("              heat in all   in a corner   in a point")
    print(f"two threads {here[0]:13.6f} {here[1]:13.6f} {here[2]:12.6f}")
    print(f"in C        {there[0]:13.6f} {there[1]:13.6f} {there[2]:12.6f}")
    print(f"they are {np.abs(here - there).max():.0e} apart at most")


if __name__ == "__main__":
    main()
