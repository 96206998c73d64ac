"""Devices that are processes of an MPI program, which `mpiexec` starts: beside devices that are
threads, whose bits they give, and with processes that fail."""

import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import mpi_programs
import numpy as np
import pytest

import transpile
from transpile.runtime.parallel import processes

SCRIPT = mpi_programs.__file__
BIN = str(Path(sys.prefix) / "bin")
MPIEXEC = shutil.which("mpiexec", path=BIN) or shutil.which("mpiexec")
MISSING = [
    *([] if find_spec("mpi4py") else ["the package mpi4py"]),
    *([] if MPIEXEC else ["mpiexec"]),
    *([] if shutil.which("mpicc", path=BIN) or shutil.which("mpicc") else ["mpicc"]),
]
needs_mpi = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install 'transpile[mpi]'"
)


def launch(name, argument="", count=2, threads=1, **settings):
    """Run a program of `mpi_programs` in so many processes; it ends by itself."""
    environment = {
        **{name: text for name, text in os.environ.items() if name != "TRANSPILE_MPI"},
        "TRANSPILE_NUM_DEVICES": str(threads),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **settings,
    }
    command = [MPIEXEC, "-n", str(count), sys.executable, SCRIPT, name, str(argument)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def assert_same_bits(got, want):
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    assert got.shape == want.shape and got.dtype.itemsize == want.dtype.itemsize
    assert got.tobytes() == want.tobytes()


@needs_mpi
@pytest.mark.parametrize(("count", "threads"), [(2, 1), (3, 1), (2, 2)])
def test_the_bits_are_those_of_threads(tmp_path, monkeypatch, count, threads):
    """All reductions of all dtypes, short and long; with four devices meshes and nested maps."""
    n = count * threads
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", str(n))
    want = mpi_programs.run_collectives(mpi_programs.rows(n), n)
    whole = []
    if n == 4:
        whole = mpi_programs.run_products(transpile.devices())
        want += transpile.tree.leaves(mpi_programs.run_nested(np.arange(4.0).reshape(2, 2)))
    done = launch("collectives", tmp_path, count, threads)
    assert done.returncode == 0, done.stderr
    for process in range(count):
        with np.load(tmp_path / f"{process}.npz") as file:
            got = [file[name] for name in file.files]
        for x in whole:  # the same on all processes
            assert_same_bits(got.pop(len(want) - (2 if n == 4 else 0)), x)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            each = len(w) // count
            assert_same_bits(g, w[process * each : (process + 1) * each])


@needs_mpi
def test_what_processes_are_told():
    done = launch("facts", threads=2)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "0 2 [0, 1] 4 2 [0, 1] [(2, 1, 0), (3, 1, 1)] [2. 2.] [2 3] [10. 11.] True",
        "1 2 [0, 1] 4 2 [2, 3] [(0, 0, 0), (1, 0, 1)] [2. 2.] [0 1] [12. 13.] True",
    ]


@needs_mpi
def test_children_are_no_processes_of_the_program():
    done = launch("parents")
    assert done.returncode == 0, done.stderr
    line = "1 3 a forked child is no process of the MPI program: only its own devices exchange 2.0"
    assert done.stdout.splitlines() == [line] * 2


@needs_mpi
def test_errors_of_arguments():
    done = launch("refused")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "UnsupportedError pmap inside of jit, grad or vmap runs in one process, and there are 2: "
        "call them inside of pmap",
        "ValueError compiling computation that requires 4 logical devices, but only 2 devices are "
        "available",
        "ValueError axis_size 3 is not divisible among 2 processes",
        "ValueError pmap has no device of process 0",
        "ValueError Unknown process_index 2",
        "RuntimeError the processes are joined already",
    ]


@needs_mpi
def test_the_user_decides_what_is_joined():
    done = launch("joined")
    assert (done.returncode, done.stdout) == (0, "2\n2\n"), done
    done = launch("alone", TRANSPILE_MPI="0")
    assert (done.returncode, done.stdout) == (0, "1 1 0\n1 1 0\n"), done
    done = launch("alone", count=1, TRANSPILE_MPI="1")
    assert (done.returncode, done.stdout) == (0, "1 1 0\n"), done


def test_what_cannot_be_joined_is_an_error(monkeypatch):
    monkeypatch.setattr(processes, "_joined", [])
    monkeypatch.setattr(processes.importlib.util, "find_spec", lambda _: None)
    monkeypatch.delenv("TRANSPILE_MPI", raising=False)
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.setenv(name, "1")
        assert transpile.process_count() == 1
        monkeypatch.setenv(name, "3")
        with pytest.raises(RuntimeError, match=rf"one of 3 .* \({name}\), and the package mpi4py"):
            transpile.devices()
        monkeypatch.delenv(name)
    with pytest.raises(RuntimeError, match=r"pip install 'transpile\[mpi\]'"):
        transpile.distributed.initialize()
    with pytest.raises(ValueError, match="initialize takes no num_processes, timeout"):
        transpile.distributed.initialize(num_processes=2, timeout=3)
    monkeypatch.setenv("TRANSPILE_MPI", "yes")
    with pytest.raises(ValueError, match="TRANSPILE_MPI is 0 or 1, not 'yes'"):
        transpile.process_index()
    monkeypatch.setenv("TRANSPILE_MPI", "0")
    with pytest.raises(RuntimeError, match="TRANSPILE_MPI=0 says that the process is alone"):
        transpile.distributed.initialize()
    assert not transpile.distributed.is_initialized() and transpile.process_count() == 1


PROGRAM = r"\S+\(f64\[\d*\]\) -> \(.*\) of mpi_programs.py:\d+ \(\w{16}\)"
FAILURES = {
    "callback": r"DeviceError: device 1 has failed: BrokenError: device 1 is broken",
    "raises": r"device 1 has ended, with BrokenError: process 1 is broken, and device 0 waits",
    "long raises": r"device 1 has ended, with BrokenError: process 1 is broken, and device 0 waits",
    "ends": r"DeviceError: device 1 has ended, and device 0 waits for it in a reduction",
    "shapes": rf"devices differ: device \d runs {PROGRAM}, device \d {PROGRAM}",
    "functions": rf"devices differ: device \d runs {PROGRAM}, device \d {PROGRAM}",
    "counts": rf"devices differ: device \d runs {PROGRAM}, device \d {PROGRAM}",
    "kinds": r"devices differ: device \d is in a \w+ of 24 bytes, device \d in a \w+ of 24",
    "long kinds": r"devices differ: device \d is in a \w+ of 40000 bytes, device \d in a \w+ of",
    "caught": rf"(?s)devices differ: .*During handling .*devices differ: device \d runs {PROGRAM}",
    "killed": r"KILLED BY SIGNAL: 9|\(signal 9\)",
    "exits": "",
}


@needs_mpi
@pytest.mark.parametrize("way", FAILURES)
def test_a_process_that_fails_ends_the_others(way, tmp_path):
    done = launch("failing", way, RANKS=str(tmp_path))
    assert done.returncode != 0, done.stdout + done.stderr
    assert re.search(FAILURES[way], done.stdout + done.stderr), done.stdout + done.stderr
    assert done.stdout.count("went on") == (way == "ends")
    ranks = os.listdir(tmp_path)
    assert len(ranks) == 2
    deadline = time.monotonic() + 10  # mpiexec does not wait for those that it has killed
    while any(Path(f"/proc/{pid}").exists() for pid in ranks):
        assert time.monotonic() < deadline
        time.sleep(0.05)
