"""The packages of examples/ whose wheels carry a library, built and used as their users would."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version

import pytest
from places import ROOT
from programs import needs
from thorough import one_in

USE = """
import sys
import numpy as np
import damped

x = np.linspace(0, 2, 1000)
np.testing.assert_allclose(damped.wave(x, 0.5), np.exp(-0.5 * x) * np.sin(6 * x), rtol=1e-12)
assert "transpile" not in sys.modules and "cffi" not in sys.modules
print(damped.__file__)
"""
LIBRARY = ["damped_c.h", "damped_c.py", "damped_c.pyi", "libdamped_c.so", "wave.c", "wave.h"]


@pytest.mark.parametrize(
    ("example", "backend", "least"),
    [
        ("setuptools_package", "setuptools", (70, 1)),
        pytest.param(
            *("scikit_build_package", "scikit_build_core", (0, 10)), marks=needs("cmake", "ninja")
        ),
    ],
)
@one_in(2)
def test_a_wheel_carries_the_library(example, backend, least, tmp_path):
    # Not by importing it here: setuptools replaces distutils for the whole process.
    try:
        found = tuple(int(part) for part in version(backend).split(".")[:2])
    except PackageNotFoundError:
        found = ()
    if found < least:
        pytest.skip(f"needs {backend} {least[0]}.{least[1]} or newer")
    project, unpacked = tmp_path / "project", tmp_path / "unpacked"
    shutil.copytree(ROOT / "examples" / example, project)
    words = ["wheel", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", *words, "-w", tmp_path, project]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("damped-1.0-py3-none-linux_")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    names = sorted(path.name for path in (unpacked / "damped").iterdir())
    assert names == sorted(["__init__.py", *LIBRARY])
    variables = {**os.environ, "PYTHONPATH": str(unpacked), "PATH": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=variables, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(unpacked))
