"""The command line, in processes of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from commands import Commands

from transpile import __version__
from transpile.__main__ import _why_unreadable
from transpile.disk_cache.cache import Cache

MODELS = """
import numpy as np, transpile

SIZE = 3

def step(u, alpha, rounds=1, edge="keep"):
    for _ in range(rounds):
        u = u + alpha * (u.sum() - u)
    return u if edge == "keep" else u[1:-1]

def inverse(a):
    return np.linalg.inv(a)

def branch(x):
    return [1, 2][: x.astype(int)[0]]

def broken(x):
    return x.nonsense

def layer(params, x):
    return x[0] @ params["w"] + params["b"]

class Model:
    @transpile.jit
    def double(x):
        return 2 * x

def missing(x):
    return np.fuzz(x)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "faulty.py").write_text("import numpy\nraise OSError('no such\\ndisk')\n")
    return tmp_path


@pytest.fixture(scope="module")
def commands():
    with Commands() as found:
        yield found


@pytest.fixture
def transpile(folder, commands):
    """Runs `python -m transpile ...` in a folder with models.py, on a cache of its own."""

    def run(*words, code=0, **environment):
        cache = {"TRANSPILE_CACHE_DIR": str(folder / "cache")}
        done = commands.run(words, folder, {**os.environ, **cache, **environment})
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        if code == 2:
            assert not done.stdout
            assert len(done.stderr.splitlines()) == 1, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def test_build_writes_a_library_that_a_c_program_links(transpile, folder):
    said = transpile(
        "build", "models:step", "--arg", "float64[4]", "--arg", "alpha=float64",
        "--static", "rounds=2", "--name", "relax", "-o", "made", "--option", "openmp=false",
    )  # fmt: skip
    assert (
        "int relax(const double *u, const double *alpha, double *u_out, void *workspace);" in said
    )
    made = sorted(path.name for path in (folder / "made").iterdir())
    assert made == ["relax.c", "relax.h", "relax.so"]
    for line in ("relax.so", "relax.h", "relax.c"):
        assert line in said
    (folder / "use.c").write_text("""
#include <stdio.h>
#include <stdlib.h>
#include "relax.h"
int main(void)
{
    double u[4] = {1, 2, 3, 4}, alpha = 0.25, out[4];
    int code = relax(u, &alpha, out, malloc(relax_workspace_size() + 1));
    printf("%d %s %g %g %g %g\\n", code, relax_error(code), out[0], out[1], out[2], out[3]);
    return code;
}
""")
    command = ["cc", "use.c", "-o", "use", "-Imade", "-Lmade", "-l:relax.so"]
    subprocess.run([*command, "-Wl,-rpath,$ORIGIN/made"], cwd=folder, check=True)
    done = subprocess.run([folder / "use"], capture_output=True, text=True, check=True)
    u = [1.0, 2.0, 3.0, 4.0]
    for _ in range(2):
        u = [x + 0.25 * (sum(u) - x) for x in u]
    assert done.stdout.split() == ["0", "success", *(f"{x:g}" for x in u)]


def test_build_of_a_program_that_needs_numpys_lapack_says_so(transpile, folder):
    words = ("build", "models:inverse", "--arg", "float64[3,3]", "-o", "made")
    said = transpile(*words, code=1)
    assert "decomposes matrices (`return np.linalg.inv(a)`" in said
    assert "--private-libraries" in said and not (folder / "made").exists()
    assert "inverse.so" in transpile(*words, "--private-libraries")


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("c", r"int step\("),
        ("graph", r"lambda"),
        ("loops", r"kernel step"),
        ("python", r"step, as it is"),
        ("control_flow", r"Nothing was converted"),
        ("dot", r"digraph"),
        ("asm", r"step"),
    ],
)
def test_show_prints_each_dialect(transpile, dialect, expected):
    said = transpile(
        "show", "models.py:step", "--arg", "float32[8, 3]", "--arg", "float", "--dialect", dialect
    )
    assert re.search(expected, said)


def test_show_takes_static_strings_and_python_numbers(transpile):
    words = ("show", "models:step", "--arg", "float64[9]", "--arg", "float", "--dialect", "graph")
    assert "in (" in transpile(*words, "--static", "edge='cut'")
    assert "f64[7]" in transpile(*words, "--static", "edge=cut")
    assert "f64[7]" not in transpile(*words)


def test_show_takes_jitted_functions_and_members(transpile):
    said = transpile("show", "models:Model.double", "--arg", "int32[2,5]")
    assert "int double_(const int32_t *x, int32_t *out, void *workspace)" in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--arg", "float65[3]"], "--arg 'float65[3]' is no type"),
        (["--arg", "float64[n/2]"], "float64[1000,3]"),
        (["--arg", "object[3]"], "is no type"),
        (["--size", "n % 8 = 0"], "--size: 'n % 8 = 0' is no expression of sizes"),
        (["--option", "speed=1"], "unknown compiler option 'speed'"),
        (["--option", "opt_level=9"], "takes an integer from 0 to 3"),
        (["--option", "openmp=perhaps"], "takes True or False"),
        (["--option", "march"], "NAME=VALUE"),
        (["--static", "rounds"], "NAME=VALUE"),
        (["--static", "rounds=1 +"], "no Python literal"),
        (["--static", "nowhere=1"], "nowhere"),
        (["--dialect", "fortran"], "unknown dialect: fortran; there are: c, graph"),
    ],
)
def test_a_bad_word_is_one_line(transpile, words, expected):
    assert expected in transpile("show", "models:step", *words, code=2)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("models", "MODULE:FUNCTION"),
        ("nothere:step", "there is no module 'nothere'"),
        ("nothere.py:step", "there is no file nothere.py"),
        ("models:nothere", "models has no function 'nothere'"),
        ("models:SIZE", "is not a function, but of type int"),
        ("faulty:f", "faulty cannot be imported: OSError: no such disk"),
    ],
)
def test_a_bad_function_is_one_line(transpile, function, expected):
    assert expected in transpile("build", function, code=2)


def test_a_function_that_cannot_be_traced_says_why(transpile):
    said = transpile("show", "models:branch", "--arg", "float64[3]", code=1)
    assert "TracerIntegerConversionError" in said
    assert "models.py:15" in said
    said = transpile("show", "models:broken", "--arg", "float64[3]", code=1)
    assert "AttributeError" in said
    assert "models.py:18" in said
    # NumPy's own lines are left out.
    said = transpile("show", "models:missing", "--arg", "float64[3]", code=1)
    assert "has no attribute 'fuzz'" in said and "raised at models.py:29" in said


def test_a_name_that_is_no_identifier_is_refused(transpile):
    assert "'3d'" in transpile("build", "models:step", "--name", "3d", code=2)


def test_cache_commands(transpile, folder):
    assert transpile("cache", "path").strip() == str(folder / "cache")
    assert "there is no such directory" in transpile("cache", "list", code=1)
    transpile("build", "models:step", "--arg", "float64[4]", "--arg", "float")
    assert re.search(r"^step-[0-9a-f]{20} +\S+ kB  just now$", transpile("cache", "list"), re.M)
    shown = transpile("cache", "show", "step")
    for word in ("program.c", "program.so", "meta.json", "compiler", "flags", "graph"):
        assert word in shown
    assert "removed 1 program," in transpile("cache", "clear")
    assert transpile("cache", "list").startswith("0 programs")
    assert "there is no program 'step'" in transpile("cache", "show", "step", code=2)


def test_doctor_names_compiler_cache_and_versions(transpile, folder):
    said = transpile("doctor")
    for word in (
        "transpile",
        "numpy",
        "compiler",
        "OpenMP",
        "flags",
        "BLAS",
        "cache",
        "calls",
        "devices",
    ):
        assert word in said
    assert str(folder / "cache") in said
    assert "in Python: the environment variable" in transpile("doctor", TRANSPILE_CALLS="python")
    assert transpile("doctor", "--require-compiler") == ""


def test_a_directory_that_is_not_the_caches_is_named_and_not_cleared(transpile, folder):
    directory = str(folder)  # with models.py in it
    said = transpile("doctor", TRANSPILE_CACHE_DIR=directory)
    assert "not used, it is not empty and not transpile's: there is 'faulty.py'" in said
    error = transpile("cache", "clear", TRANSPILE_CACHE_DIR=directory, code=1)
    assert "cannot be cleared: it is not empty and not transpile's" in error
    assert sorted(path.name for path in folder.iterdir() if path.suffix) == [
        "faulty.py",
        "models.py",
    ]


def test_doctor_without_a_compiler_says_what_to_install_in_one_line(transpile, folder):
    empty = folder / "empty"
    empty.mkdir()
    bare = {"PATH": str(empty), "CC": "", "TRANSPILE_CC": ""}
    if importlib.util.find_spec("ziglang"):
        pytest.skip("the package ziglang is a compiler that needs no PATH")
    said = transpile("doctor", "--require-compiler", **bare, code=1)
    assert len(said.splitlines()) == 1
    assert "no C compiler was found" in said
    assert "install one" in said


def test_version_and_help_without_words(transpile):
    assert transpile("--version") == f"transpile {__version__}\n"
    assert transpile() == transpile("--help")


def test_cache_clear_takes_a_name(transpile):
    for name in ("one", "two"):
        words = ("--arg", "float64[4]", "--arg", "float", "--name", name)
        transpile("build", "models:step", *words)
    listed = transpile("cache", "list")
    assert "2 programs" in listed or "1 program" in listed
    assert "there is no program 'three'" in transpile("cache", "clear", "three", code=2)
    assert transpile("cache", "list") == listed
    assert "removed 1 program," in transpile("cache", "clear", listed.split()[0])
    assert transpile("cache", "list") != listed


def test_an_impossible_directory_cannot_be_listed(transpile, folder):
    file = str(folder / "models.py")
    said = transpile("cache", "list", TRANSPILE_CACHE_DIR=file, code=1)
    assert f"the cache {file} cannot be listed" in said
    said = transpile("cache", "list", TRANSPILE_CACHE_DIR=f"{file}/below", code=1)
    assert "cannot be listed" in said


def test_a_directory_that_was_named_and_is_missing_cannot_be_listed(transpile, folder):
    missing = str(folder / "no" / "such")
    for words in (("list",), ("show", "step")):
        said = transpile("cache", *words, TRANSPILE_CACHE_DIR=missing, code=1)
        assert missing in said and "there is no such directory" in said
    assert not (folder / "no").exists()


def test_the_usual_directory_may_be_missing(monkeypatch, tmp_path):
    cache = Cache(tmp_path / "missing")
    for named, problem in ((str(cache.path), "there is no such directory"), ("", "")):
        monkeypatch.setenv("TRANSPILE_CACHE_DIR", named)
        assert problem in _why_unreadable(cache)
        assert bool(problem) == bool(_why_unreadable(cache))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every directory")
def test_a_directory_without_permission_cannot_be_listed(transpile, folder):
    closed = folder / "closed"
    closed.mkdir(mode=0)
    said = transpile("cache", "list", TRANSPILE_CACHE_DIR=str(closed), code=1)
    assert "cannot be listed" in said and "ermission" in said


def test_a_missing_argument_is_explained(transpile):
    said = transpile("build", "models:step", "--arg", "float64[3]", code=2)
    assert "models:step takes u, alpha, rounds, edge: there is no --arg for alpha" in said
    assert "such as --arg 'alpha=float64[3]'" in said


def test_arguments_that_are_dicts_and_tuples(transpile):
    words = ("show", "models:layer", "--dialect", "graph")
    given = ("--arg", "params={'w': float32[3,4], 'b': float32[4]}", "--arg", "x=(float32[3],)")
    said = transpile(*words, *given)
    assert "f32[3,4]" in said and "f32[4]" in said


def test_build_says_that_it_imports_the_module(transpile):
    assert "if __name__ == '__main__':" in " ".join(transpile("build", "--help").split())


GREETING = "print('hello')\nSHOWN = __name__\n\n\ndef f(x):\n    return x + 1\n"


def test_what_a_script_prints_while_it_is_imported_is_not_the_output(transpile, folder):
    (folder / "greets.py").write_text(GREETING)
    said = transpile("show", "greets.py:f", "--arg", "float64[3]")
    assert "hello" not in said and "f(const double" in said


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise SystemExit", "SystemExit"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("open('/no/such/file')", "FileNotFoundError"),
    ],
)
def test_an_error_of_a_scripts_top_level_says_where_and_why_it_ran(transpile, folder, line, name):
    (folder / "runs.py").write_text(f"def f(x):\n    return x\n\n\n{line}\n")
    for place in ("runs.py", "runs"):
        said = transpile("show", f"{place}:f", "--arg", "float64[3]", code=2)
        assert f"{place} cannot be imported: {name}" in said
        assert "raised at runs.py:5, which runs when the module is imported" in said
        assert "if __name__ == '__main__':" in said


def test_what_stands_behind_the_guard_does_not_run(transpile, folder):
    text = "def f(x):\n    return x + 1\n\n\nif __name__ == '__main__':\n    raise SystemExit\n"
    (folder / "guarded.py").write_text(text)
    assert "f(const double" in transpile("show", "guarded.py:f", "--arg", "float64[3]")


def test_help_names_every_command(transpile):
    said = transpile("--help")
    for word in ("build", "show", "doctor", "cache"):
        assert word in said
    assert "--static" in transpile("build", "--help")


def test_output_into_a_closed_pipe_is_no_error(transpile, folder):
    command = f"{sys.executable} -m transpile --help | true"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
