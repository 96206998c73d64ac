"""Saved programs for several devices, run by a C program on the processes of an MPI program."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from mpi_programs import LOW
from test_mpi import BIN, MPIEXEC, needs_mpi

import transpile
from transpile import lax, pmap


@pytest.fixture(autouse=True)
def two_devices(monkeypatch):
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", "2")


def made_up(shape, rank, dtype=float):
    """The values of an argument in the example that is written."""
    return ((np.arange(np.prod(shape)) + rank) % 7).astype(dtype).reshape(shape)


@transpile.jit(compiler_options=LOW)
def descend(code, rank, k):
    """One step on a device; the names of arguments are those of the example's own variables."""
    gradient = rank.T @ (rank @ code - k)
    return code - 0.01 * lax.pmean(gradient, "i"), lax.psum((rank * k[:, None]).sum(), "i")


ARGUMENTS = [(3,), (90, 3), (90,)]


def compiled_example(folder):
    """The example that is beside the saved program, built without a warning."""
    mpicc = shutil.which("mpicc", path=BIN) or shutil.which("mpicc")
    words = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    files = ["descend_main.c", "mpi_devices.c", "descend.c"]
    command = [mpicc, *words, *files, "-lm", "-o", "descend"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(folder / "descend")


@needs_mpi
def test_a_saved_program_runs_on_the_processes_of_a_c_program(tmp_path):
    mapped = pmap(descend, axis_name="i")
    each = [np.stack([made_up(shape, rank) for rank in range(2)]) for shape in ARGUMENTS]
    want = mapped(*each)
    paths = mapped.lower(*each).save(tmp_path, communicator="mpi")
    names = {"descend.so", "descend.h", "descend.c", "descend_main.c", "mpi_devices.h"}
    assert {path.name for path in paths} == names | {"mpi_devices.c"}
    program = compiled_example(tmp_path)
    done = subprocess.run([MPIEXEC, "-n", "2", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pattern = r"^process (\d): out_(\d) begins with (\S+)$"
    got = {(int(p), int(k)): float(x) for p, k, x in re.findall(pattern, done.stdout, re.M)}
    assert len(got) == 4
    for (process, number), value in got.items():
        assert value == pytest.approx(np.ravel(want[number][process])[0], rel=1e-5)
    # Three processes are not the two that it is for: all know, and nobody waits.
    done = subprocess.run(
        [MPIEXEC, "-n", "3", program], capture_output=True, text=True, timeout=100
    )
    assert done.returncode != 0
    assert re.search(r"descend\(f64\[3\], .* is for 2 devices, and there are 3", done.stderr)


def test_what_has_no_communicator_is_refused(tmp_path):
    lowered = pmap(lambda x: lax.psum(x, "i"), "i").lower(np.ones(2))
    with pytest.raises(ValueError, match="the communicator of a saved program is 'mpi', not 'ib'"):
        lowered.save(tmp_path, communicator="ib")
    alone = transpile.jit(lambda x: x + 1).lower(1.0)
    with pytest.raises(ValueError, match="runs on one device, and needs no communicator"):
        alone.save(tmp_path, communicator="mpi")
    assert list(tmp_path.iterdir()) == []


LOAD = Path(__file__).parents[1] / "c" / "mpi_under_load.c"


@needs_mpi
def test_exchanges_of_processes_under_the_sanitizers(tmp_path):
    """MPI itself is not built for them; its own leaks are not asked for."""
    mpicc = shutil.which("mpicc", path=BIN) or shutil.which("mpicc")
    program = tmp_path / "load"
    words = ["-O1", "-g", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    built = subprocess.run([mpicc, *words, str(LOAD), "-lm", "-o", str(program)], text=True)
    assert built.returncode == 0
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    command = [MPIEXEC, "-n", "3", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")) == ["", *(f"process {k}: 0 wrong " for k in range(3))]
