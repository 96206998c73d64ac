"""The programs of docs/calling.md, each in its language."""

import re
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
from places import ROOT, importing
from programs import needs
from thorough import one_in

TEXT = (ROOT / "docs" / "calling.md").read_text(encoding="utf-8")


def wave(x):
    return np.exp(-0.5 * x) * np.sin(6 * x)


WAVE = f"{wave(0.1):.6f} {wave(0.2):.6f}"
AREA = f"{np.trapezoid(wave(np.linspace(0, 1, 100_001)), dx=1e-5):.6f}"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def printed(*command, cwd):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, shared_cache):
    """A directory with the saved function, and SciPy's function in C."""
    place = tmp_path_factory.mktemp("languages")
    (place / "wave.py").write_text(blocks("python")[0])
    done = subprocess.run([sys.executable, "wave.py"], cwd=place, env=importing(), check=False)
    assert done.returncode == 0
    (place / "wave.py").unlink()
    (place / "integrand.c").write_text(blocks("c")[1])
    printed(*blocks("console")[0].removeprefix("$ ").split(), cwd=place)
    return place


@needs("g++")
def test_cpp(folder):
    (folder / "main.cpp").write_text(blocks("cpp")[0])
    words = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "main.cpp"]
    printed("g++", *words, "-L.", "-l:wave.so", "-Wl,-rpath,$ORIGIN", "-o", "cpp", cwd=folder)
    assert printed("./cpp", cwd=folder) == WAVE


@needs("rustc")
def test_rust(folder):
    (folder / "main.rs").write_text(blocks("rust")[0])
    words = ["-L.", "-Clink-arg=-Wl,-rpath,$ORIGIN", "--edition=2021"]
    printed("rustc", "main.rs", *words, "-o", "rust", cwd=folder)
    assert printed("./rust", cwd=folder) == WAVE


PACKAGES = ["ctypes", "cffi", "numba", "scipy"]


@pytest.mark.parametrize("package", PACKAGES)
@one_in(2)
def test_python(folder, package):
    pytest.importorskip(package)
    code = blocks("py")[PACKAGES.index(package)]
    assert f"import {package}\n" in code or f"from {package} import" in code
    expected = AREA if package == "scipy" else WAVE
    assert printed(sys.executable, "-c", code, cwd=folder) == expected


def test_cython(folder):
    pytest.importorskip("Cython")
    (folder / "waves.pyx").write_text(blocks("cython")[0])
    printed(sys.executable, "-m", "cython", "-3", "waves.pyx", cwd=folder)
    include, suffix = sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX")
    words = ["-shared", "-fPIC", f"-I{include}", "waves.c", "-L.", "-l:wave.so"]
    printed("cc", *words, "-Wl,-rpath,$ORIGIN", "-o", f"waves{suffix}", cwd=folder)
    code = "import numpy, waves; y = waves.wave_of(numpy.array([0.1, 0.2]), 0.5)"
    code += "; print(f'{y[0]:.6f} {y[1]:.6f}')"
    assert printed(sys.executable, "-c", code, cwd=folder) == WAVE
