"""`python -m transpile build` with further files, and by the table of a pyproject.toml."""

import json
import os
import subprocess
import sys

import pytest
from commands import Commands
from thorough import thorough

from transpile.__main__ import main

MODELS = """
import numpy as np

print("imported")


def step(u, dt, order=1):
    for _ in range(order):
        u = u + dt * (u.sum() - u)
    return u


def energy(u):
    return (u * u).sum() / 2


def broken(u):
    return u + np.ones(3)
"""
TABLE = """
[project]
name = "heat-kit"
version = "3.1"

[tool.transpile]
for = ["metadata", "python"]
prefix = "heat_"
output = "build/lib"
options = { openmp = false }

[tool.transpile.functions.step]
function = "src/models.py:step"
args = ["float64[n]", "dt=float"]
static = { order = 2 }

[tool.transpile.functions.energy]
function = "src/models.py:energy"
args = ["float64[n]"]
sizes = ["n <= 1000"]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "models.py").write_text(MODELS)
    (tmp_path / "pyproject.toml").write_text(TABLE)
    return tmp_path


@pytest.fixture(scope="module")
def commands():
    with Commands() as found:
        yield found


@pytest.fixture
def build(project, commands):
    def run(*words, code=0):
        done = commands.run(["build", *words], project, dict(os.environ))
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stderr.removeprefix("imported\n")

    return run


def test_a_project_becomes_a_library(project, build):
    said = build()
    step, energy, *_ = said.splitlines()
    assert step == (
        "int heat_step(int64_t n, const double *u, const double *dt, double *u_out, "
        "void *workspace);"
    )
    assert energy == "int heat_energy(int64_t n, const double *u, double *out, void *workspace);"
    made = project / "build" / "lib"
    assert sorted(path.name for path in made.iterdir()) == sorted(
        ["heat_kit.h", "heat_kit.json", "heat_kit.py", "heat_kit.pyi", "libheat_kit.so"]
        + [f"heat_{name}.{end}" for name in ("step", "energy") for end in "ch"]
    )
    known = json.loads((made / "heat_kit.json").read_text())
    assert known["version"] == "3.1" and "-fopenmp" not in known["flags"]
    assert [function["sizes"][0]["most"] for function in known["functions"]] == [None, 1000]
    code = "import heat_kit as k; print(k.heat_step([1, 2, 3], 0.5), k.heat_energy([3.0, 4.0]))"
    variables = {**os.environ, "PYTHONPATH": str(made)}
    done = subprocess.check_output([sys.executable, "-c", code], env=variables, text=True)
    u = [1, 2, 3]
    for _ in range(2):
        u = [x + 0.5 * (sum(u) - x) for x in u]
    assert [float(word.strip("[]")) for word in done.split()] == [*u, 12.5]
    assert "is up to date" in build()
    assert "heat_energy.c" in build("-o", "other", "--source-only", "--project", "pyproject.toml")
    assert len([*(project / "other").iterdir()]) == 6


def test_a_function_of_the_command_gets_further_files_too(project, build):
    words = ["src/models.py:energy", "--arg", "float32[8]", "--name", "joule", "-o", "lib"]
    said = build(*words, "--for", "cmake", "--for", "archive")
    assert said.startswith("int joule(const float *u, float *out, void *workspace);\n")
    names = ["joule.c", "joule.h", "jouleConfig.cmake", "jouleConfigVersion.cmake"]
    names += ["libjoule.a", "libjoule.so"]
    assert sorted(path.name for path in (project / "lib").iterdir()) == names


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('for = ["m', 'fur = ["m', "[tool.transpile] has 'fur'; it may have for, functions, name,"),
        ('output = "build/lib"', "output = 3", "output of [tool.transpile] is a string, not 3"),
        ('["metadata", "python"]', '["metdata"]', "unknown kind of files 'metdata'; there are"),
        ("openmp = false", "openmpi = false", "unknown compiler option 'openmpi'"),
        ('args = ["float64[n]"]', 'args = ["f65"]', "--arg 'f65' is no type"),
        ("models.py:energy", "models.py:engery", "has no function 'engery'"),
        ("models.py:energy", "model.py:energy", "there is no file"),
        ('function = "src/models.py:energy"', "", "functions.energy] needs function ="),
        ("[tool.transpile.functions.energy]", "[tool.transpile.functions.exit]\n x = 1 #", "'x'"),
        ("tool.transpile", "tool.transpiler", "has no table [tool.transpile]"),
        ("[project]", "[project", "pyproject.toml is no TOML: "),
    ],
)
def test_what_is_wrong_with_the_table_is_said_in_a_line(
    project, old, new, said, monkeypatch, capsys
):
    assert old in TABLE
    (project / "pyproject.toml").write_text(TABLE.replace(old, new))
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["build"]) == 2
    message = capsys.readouterr().err.removeprefix("imported\n")
    assert said in message and len(message.splitlines()) == 1, message
    assert not (project / "build").exists()


def test_errors_name_the_function_of_the_table_and_the_line(project, build):
    (project / "pyproject.toml").write_text(TABLE.replace("py:energy", "py:broken"))
    message = build(code=1)
    assert "pyproject.toml: heat_energy: " in message and "models.py:18" in message


def test_words_that_do_not_go_together_are_errors(project, build):
    assert "--arg is for a function" in build("--arg", "float64[3]", code=2)
    assert "--project is for functions of a table" in build("a:b", "--project", "x", code=2)
    (project / "pyproject.toml").unlink()
    assert "pyproject.toml cannot be read: No such file" in build(code=2)


DEVICES = """
from transpile import lax, pmap

total = pmap(lambda x: lax.psum(x * 2, "i"), axis_name="i")


def alone(x):
    return x + 1
"""


@pytest.fixture
def devices(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", "2")
    (tmp_path / "devices.py").write_text(DEVICES)
    return f"{tmp_path / 'devices.py'}:total", tmp_path / "out"


def test_a_function_for_several_devices_is_built_for_the_processes_of_an_mpi_program(devices):
    function, out = devices
    words = ["build", function, "--arg", "float64[2, 3]", "-o", str(out), "--name", "total"]
    assert main([*words, "--communicator", "mpi"]) == 0
    names = {"total.c", "total.h", "total.so", "total_main.c", "mpi_devices.c", "mpi_devices.h"}
    assert {path.name for path in out.iterdir()} == names
    assert "const transpile_communicator *communicator" in (out / "total.h").read_text()


@thorough
def test_what_has_no_communicator_is_refused(devices, capsys):
    function, out = devices
    words = ["build", function, "--arg", "float64[2, 3]", "-o", str(out)]
    assert main([*words, "--communicator", "ib"]) == 1
    assert "the communicator of a saved program is 'mpi', not 'ib'" in capsys.readouterr().err
    of_one = ["build", function.replace("total", "alone"), *words[2:]]
    assert main([*of_one, "--communicator", "mpi"]) == 1
    assert "runs on one device, and needs no communicator" in capsys.readouterr().err
    assert main([*words, "--communicator", "mpi", "--for", "cmake"]) == 2
    assert "--communicator is for a function alone" in capsys.readouterr().err
    assert main([*words, "--option", "openmp=false"]) == 2
    assert "give the options to what it maps" in capsys.readouterr().err
    assert not out.exists()
