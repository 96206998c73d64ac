"""The project of examples/c_project, built as its users would, with CMake and with Meson."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT
from programs import needs
from thorough import thorough

pytestmark = needs("ninja")


@pytest.fixture
def project(tmp_path):
    place = tmp_path / "c_project"
    shutil.copytree(ROOT / "examples" / "c_project", place)
    return place


def run(*command, cwd, code=0):
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def expected(rows, columns):
    u = np.zeros((rows, columns))
    u[0] = 100
    for _ in range(500):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.2 * lap
    return u.mean()


def check(program):
    for sizes in ((40, 60), (3, 3), (17, 250)):
        assert float(run(program, *sizes, cwd="/")) == pytest.approx(expected(*sizes), abs=1e-8)
    assert "rows is less than 3" in run(program, 2, 9, cwd="/", code=1)


@thorough
@needs("cmake")
def test_cmake_compiles_the_functions_and_again_where_they_change(project):
    chosen = f"-DPython3_EXECUTABLE={sys.executable}"
    run("cmake", "-G", "Ninja", "-S.", "-Bb", chosen, cwd=project)
    run("cmake", "--build", "b", cwd=project)
    check(project / "b" / "cool")
    assert "no work to do" in run("cmake", "--build", "b", cwd=project)
    function = project / "cooling.py"
    function.write_text(function.read_text().replace("u.mean()", "u.mean() + 1"))
    run("cmake", "--build", "b", cwd=project)
    found = float(run(project / "b" / "cool", 40, 60, cwd="/"))
    assert found == pytest.approx(expected(40, 60) + 1, abs=1e-8)


def test_meson_builds_with_the_library_of_the_command(project):
    pytest.importorskip("mesonbuild")
    run(sys.executable, "-m", "transpile", "build", cwd=project)
    run(sys.executable, "-m", "mesonbuild.mesonmain", "setup", "b", cwd=project)
    run("ninja", "-C", "b", cwd=project)
    check(project / "b" / "cool")
