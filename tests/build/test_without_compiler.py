"""A machine without a compiler runs the programs that are in its cache, as a container does that
was built with them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import each, thorough

ROOT = Path(__file__).parents[2]
PROGRAMS = """
import os, sys
import numpy as np
import transpile

x, big = np.linspace(0, 1, 12).reshape(3, 4), np.linspace(0, 1, 300_000)
stack = np.linspace(0, 1, 32).reshape(2, 4, 4) + np.eye(4)
sort = transpile.jit(lambda x: np.sort(x, axis=1)[:, ::-1] + 1)
assert np.array_equal(sort(x), np.sort(x, axis=1)[:, ::-1] + 1)
assert np.allclose(transpile.jit(lambda x: np.exp(x))(big), np.exp(big))  # parallel
assert np.allclose(transpile.jit(lambda x: np.linalg.inv(x))(stack), np.linalg.inv(stack))
assert np.allclose(transpile.jit(transpile.grad(lambda x: (x * x).sum()))(x), 2 * x)
os.environ["TRANSPILE_CALLS"] = "c"
called = transpile.jit(lambda x: x - 7)
for _ in range(3):
    assert np.array_equal(called(x), x - 7)
from transpile.runtime import fast_call
assert fast_call.module() is not None
compiled = sort.lower(x).compile()
assert "sort" in compiled.as_text()
names = {path.suffix for path in compiled.save(sys.argv[1])}
assert names == {".so", ".h", ".c"}
print("right")
"""
ONE = """
import numpy as np, transpile
print(transpile.jit(lambda x: x - 7)(np.ones(3))[0])
"""
OTHER = """
import numpy as np
import transpile
transpile.jit(lambda x: x * 3)(np.ones(3))
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache with the programs in it, built by a compiler."""
    folder = tmp_path_factory.mktemp("warm")
    done = run(PROGRAMS, folder / "cache", os.environ["PATH"], str(folder / "saved"))
    assert done.stdout == "right\n", done.stderr
    return folder


@pytest.fixture
def empty(tmp_path):
    """A directory for PATH without any program."""
    (tmp_path / "bin").mkdir()
    return str(tmp_path / "bin")


def run(code, cache, path, *arguments, **further):
    removed = ("CC", "TRANSPILE_CC", "TRANSPILE_CALLS")
    environment = {name: text for name, text in os.environ.items() if name not in removed}
    environment |= {"TRANSPILE_CACHE_DIR": str(cache), "PATH": path, **further}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


@each("further", [{}, {"CC": "gcc-12"}, {"TRANSPILE_CC": "/opt/gcc/bin/gcc"}], lambda f: "CC" in f)
def test_what_is_in_the_cache_runs(warm, empty, tmp_path, further):
    names = sorted(os.listdir(warm / "cache"))
    done = run(PROGRAMS, warm / "cache", empty, str(tmp_path / "saved"), **further)
    assert done.stdout == "right\n", done.stderr
    assert sorted(os.listdir(warm / "cache")) == names
    for path in (warm / "saved").iterdir():
        assert (tmp_path / "saved" / path.name).read_bytes() == path.read_bytes()


def test_what_is_not_there_is_an_error_that_names_both_remedies(warm, empty):
    done = run(OTHER, warm / "cache", empty)
    error = done.stderr.strip().splitlines()[-3:]  # the last one is about hidden frames
    assert "CompilerNotFoundError: no C compiler was found" in error[0], done.stderr
    assert "_lambda_ was not found in the cache" in error[1] and str(warm / "cache") in error[1]


@thorough
def test_what_differs_or_is_damaged_does_not_serve(tmp_path, empty):
    cache, compiler = tmp_path / "cache", shutil.which("gcc") or shutil.which("cc")
    for number in (1, 2):  # the same compiler under other names: other keys
        alias = tmp_path / f"cc{number}"
        alias.write_text(f'#!/bin/sh\nexec {compiler} "$@"\n')
        alias.chmod(0o755)
        done = run(ONE, cache, os.environ["PATH"], TRANSPILE_CC=str(alias))
        assert done.stdout == "-6.0\n", done.stderr
    assert run(ONE, cache, empty).stdout == "-6.0\n"
    fast = ONE.replace("x - 7", "x - 7, compiler_options={'fast_math': True}")
    assert "CompilerNotFoundError" in run(fast, cache, empty).stderr
    first, second = sorted(cache.glob("_lambda_-*"))
    for path in (first / "program.so", second / "meta.json"):
        assert run(ONE, cache, empty).stdout == "-6.0\n"  # of several, the first that is sound
        with open(path, "r+b") as file:
            file.seek(200)
            file.write(b"#" if file.read(1) != b"#" else b"+")
    assert "CompilerNotFoundError" in run(ONE, cache, empty).stderr
