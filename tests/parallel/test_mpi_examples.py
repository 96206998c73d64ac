"""Examples on devices that are processes: what they print is that of threads."""

import os
import re
import subprocess
import sys
from pathlib import Path

from test_mpi import MPIEXEC, needs_mpi

EXAMPLES = Path(__file__).parents[2] / "examples"


def output(name, launcher=(), **settings):
    """What an example prints, of which process 0 prints all."""
    done = subprocess.run(
        [*launcher, sys.executable, EXAMPLES / name],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_mpi
def test_processes_learn_as_threads_do():
    threads, processes = (
        output("data_parallel.py"),
        output("data_parallel.py", [MPIEXEC, "-n", "2"]),
    )
    first, *losses = processes.splitlines()
    assert first == "2 devices on 2 process(es), 2000 examples each"
    assert len(losses) == 8 and losses == threads.splitlines()[1:]  # to the last bit


@needs_mpi
def test_strips_on_processes_are_the_plate():
    small = {"HEAT_SIZE": "96", "HEAT_STEPS": "60"}
    text = output("heat.py", [MPIEXEC, "-n", "3"], **small)
    assert text.startswith("96 x 96 points, 60 steps, 3 devices on 3 process(es)")
    assert float(re.search(r"strips are (\S+) from the whole plate", text)[1]) < 1e-13


@needs_mpi
def test_heat_in_a_c_program():
    text = output("heat_in_c.py")
    assert float(re.search(r"they are (\S+) apart at most", text)[1]) < 1e-9
    rows = re.findall(r"^(two threads|in C) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    assert len(rows) == 2 and rows[0][1:] == rows[1][1:] and float(rows[0][1]) > 10_000
