"""The wheel: it carries the templates and the C helpers, and works where there is no checkout."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import transpile
from transpile import __version__

ROOT = Path(__file__).parents[2]
NO_NETWORK = ("No matching distribution found for hatchling", "Could not find a version")
USE = """
import numpy, transpile
from transpile.util.data_files import data_directory, is_checkout
f = transpile.jit(lambda x: numpy.exp(x).sum())
print(transpile.__file__, data_directory("templates"), is_checkout(), f(numpy.zeros(3)))
"""


def run(*command, **settings):
    return subprocess.run(command, capture_output=True, text=True, **settings)


def test_the_version_is_that_of_the_distribution():
    assert __version__ == version("transpile")


def test_dir_offers_what_users_need_and_nothing_else():
    offered = [name for name in dir(transpile) if not name.startswith("__")]
    assert offered == sorted(transpile.__all__)
    assert {"jit", "numpy", "lax", "random", "debug", "tree_util", "Options"} <= set(offered)
    assert "__version__" in dir(transpile)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that pip builds of this checkout."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed here")
    folder = tmp_path_factory.mktemp("wheel")
    here = importlib.util.find_spec("hatchling") is not None
    options = ["--no-build-isolation"] if here else []
    # For the pip that builds and for the one that it starts to fetch hatchling.
    patience = {**os.environ, "PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "5"}
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps")
    done = run(*pip, *options, "--wheel-dir", str(folder), str(ROOT), env=patience)
    if done.returncode and any(words in done.stderr for words in NO_NETWORK):
        pytest.skip("building a wheel needs hatchling, and no package index can be reached")
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


def test_the_metadata_of_the_wheel_is_whole(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode().split("\n\n")[0].splitlines()
        assert any(n.endswith("/LICENSE") for n in archive.namelist())
    assert f"Version: {__version__}" in metadata
    assert "License-Expression: MIT" in metadata and "Requires-Python: >=3.11" in metadata
    assert not [line for line in metadata if line.startswith("Classifier: License ::")]


def test_the_wheel_holds_code_templates_and_helpers_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "runtime_c"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        files = [path for path in files if path.parent.name != "__pycache__"]
        expected = {f"transpile/{path.relative_to(ROOT)}" for path in files}
        assert expected <= names
    code = {str(path.relative_to(ROOT)) for path in (ROOT / "transpile").rglob("*.py")}
    assert code <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"transpile"}
    assert not [
        name
        for name in names
        if name.startswith("transpile/cache/") or name.endswith((".so", ".pyc"))
    ]


def test_an_installed_wheel_finds_its_files_and_uses_the_users_cache(wheel, tmp_path):
    target = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps")
    done = run(*pip, "--no-index", "--no-compile", "--target", str(target), str(wheel))
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "PYTHONPATH": str(target), "XDG_CACHE_HOME": str(tmp_path / "x")}
    environment.pop("TRANSPILE_CACHE_DIR", None)
    (tmp_path / "use.py").write_text(USE)
    done = run(sys.executable, "use.py", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    where, templates, checkout, value = done.stdout.split()
    assert where == str(target / "transpile" / "__init__.py")
    assert templates == str(target / "transpile" / "templates")
    assert checkout == "False"
    assert float(value) == 3.0
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["transpile"]
    script = target / "bin" / "transpile"
    done = run(str(script), "cache", "path", cwd=tmp_path, env=environment)
    assert done.stdout.strip() == str(tmp_path / "x" / "transpile")
