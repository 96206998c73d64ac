"""Libraries of several functions, as the build systems and languages find them that use them."""

import collections
import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from programs import needs

import transpile
from transpile import ShapeDtypeStruct
from transpile.artifact import KINDS, Library

F64 = np.float64
MAIN = """
#include "models.h"
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    const int64_t n = count > 1 ? atoi(words[1]) : 3;
    double *x = malloc((size_t)n * 5 * sizeof *x), *y = calloc((size_t)n * 3, sizeof *y);
    const double b[3] = {0.5, 0.0, -0.5};
    double w[5][3], loss, db[3], dw[5][3], scaled[4];
    for (int k = 0; k < 15; k++)
        w[k / 3][k % 3] = 0.1 * k;
    for (int64_t k = 0; k < 5 * n; k++)
        x[k] = (double)(k % 7) - 3.0;
    void *workspace = malloc(loss_step_workspace_size(n) + 1);
    int code = loss_step(n, b, w[0], x, y, &loss, db, dw[0], workspace);
    code += scaled_copy(b, scaled, NULL);
    printf("%d %.15g %.15g %.15g %.15g\\n", code, loss, db[0], dw[4][2], scaled[2]);
    free(x), free(y), free(workspace);
    return code;
}
"""


def loss(params, x, y):
    return ((np.tanh(x @ params["w"] + params["b"]) - y) ** 2).mean()


def scaled_copy(b):
    return np.concatenate([b * 2, b[:1]])


loss_step = transpile.value_and_grad(loss)


def library(version="1.2"):
    params = {"w": ShapeDtypeStruct((5, 3), F64), "b": ShapeDtypeStruct((3,), F64)}
    x, y = ShapeDtypeStruct(("m", 5), F64), ShapeDtypeStruct(("m", 3), F64)
    functions = {
        "loss_step": transpile.jit(loss_step).lower(params, x, y),
        "scaled_copy": transpile.jit(scaled_copy).lower(params["b"]),
    }
    return Library("models", functions, version=version)


def expected(n):
    """What MAIN prints, by NumPy."""
    params = {"w": 0.1 * np.arange(15.0).reshape(5, 3), "b": np.array([0.5, 0.0, -0.5])}
    x, y = (np.arange(5.0 * n) % 7 - 3).reshape(n, 5), np.zeros((n, 3))
    h = np.tanh(x @ params["w"] + params["b"])
    slope = 2 * (h - y) * (1 - h * h) / h.size
    return [0, loss(params, x, y), slope.sum(0)[0], (x.T @ slope)[4, 2], -1.0]


def check(command, n=3, **settings):
    done = subprocess.run([*command, str(n)], capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose([float(word) for word in done.stdout.split()], expected(n), 1e-11)


def run(*command, cwd):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory, shared_cache):
    """The directory with all files of the library, in a path with a blank, beside main.c."""
    folder = tmp_path_factory.mktemp("build systems")
    library().write(folder / "lib", KINDS)
    (folder / "main.c").write_text(MAIN)
    return folder


def test_the_files_are_those_of_the_kinds(made):
    names = sorted(path.name for path in (made / "lib").iterdir() if path.is_file())
    assert names == sorted(
        ["libmodels.a", "libmodels.so", "models.h", "models.json", "models.pc", "models.py"]
        + ["models.pyi", "modelsConfig.cmake", "modelsConfigVersion.cmake", "meson.build"]
        + [f"{name}.{end}" for name in ("loss_step", "scaled_copy") for end in "ch"]
    )


def test_a_c_program_links_the_archive_and_calls_it_for_any_size(made, tmp_path):
    words = ["-Ilib", "-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
    words += ["main.c", "lib/libmodels.a", "-fopenmp", "-lm"]
    run("cc", *words, "-o", tmp_path / "m", cwd=made)
    for n in (1, 7, 128, 100_000):
        check([tmp_path / "m"], n)


@needs("pkg-config")
def test_pkg_config_finds_it(made, tmp_path):
    variables = {**os.environ, "PKG_CONFIG_PATH": str(made / "lib")}
    asked = ["pkg-config", "--cflags", "--libs", "models"]
    done = subprocess.run(asked, env=variables, capture_output=True, text=True, check=True)
    run("cc", "main.c", *shlex.split(done.stdout), "-o", tmp_path / "m", cwd=made)
    check([tmp_path / "m"])
    asked[1:3] = ["--modversion"]
    assert subprocess.check_output(asked, env=variables, text=True) == "1.2\n"


@needs("cmake", "ninja")
@pytest.mark.parametrize("target", ["models", "archive"])
def test_a_cmake_project_finds_it(made, target, tmp_path):
    shutil.copy(made / "main.c", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        textwrap.dedent(f"""
            cmake_minimum_required(VERSION 3.16)
            project(user C)
            find_package(models REQUIRED CONFIG)
            add_executable(m main.c)
            target_link_libraries(m PRIVATE models::{target})
        """)
    )
    run("cmake", "-G", "Ninja", "-S.", "-Bb", f"-Dmodels_DIR={made / 'lib'}", cwd=tmp_path)
    run("cmake", "--build", "b", cwd=tmp_path)
    check([tmp_path / "b" / "m"])


@needs("cmake", "ninja")
def test_a_cmake_project_asks_for_a_version_and_installs_the_library(made, tmp_path):
    """Below a prefix, as a package of a distribution has it; in C++, and with its own install."""
    place = tmp_path / "usr" / "lib" / "cmake" / "models"
    shutil.copytree(made / "lib", place)
    shutil.copy(made / "main.c", tmp_path / "main.cpp")
    text = (tmp_path / "main.cpp").read_text()
    text = text.replace("*x = malloc", "*x = (double *)malloc").replace(
        "*y = calloc", "*y = (double *)calloc"
    )
    (tmp_path / "main.cpp").write_text(text)
    (tmp_path / "CMakeLists.txt").write_text(
        textwrap.dedent("""
            cmake_minimum_required(VERSION 3.21)
            project(user CXX)
            find_package(models 1.1 REQUIRED)
            if(NOT models_VERSION STREQUAL "1.2")
              message(FATAL_ERROR "${models_VERSION}")
            endif()
            foreach(other 1.3 2 0.9)
              find_package(models ${other} QUIET)
              if(models_FOUND)
                message(FATAL_ERROR "${other} was found")
              endif()
            endforeach()
            add_executable(m main.cpp)
            target_link_libraries(m PRIVATE models::models)
            set_target_properties(m PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
            install(TARGETS m)
            install(IMPORTED_RUNTIME_ARTIFACTS models::models)
        """)
    )
    words = ["-G", "Ninja", "-S.", "-Bb", f"-DCMAKE_PREFIX_PATH={tmp_path / 'usr'}"]
    run("cmake", *words, f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'own'}", cwd=tmp_path)
    run("cmake", "--build", "b", cwd=tmp_path)
    run("cmake", "--install", "b", cwd=tmp_path)
    shutil.rmtree(tmp_path / "usr")
    check([tmp_path / "own" / "bin" / "m"])


@needs("ninja")
def test_a_meson_project_has_it_as_a_directory(made, tmp_path):
    pytest.importorskip("mesonbuild")
    shutil.copytree(made, tmp_path / "project")
    (tmp_path / "project" / "meson.build").write_text(
        "project('user', 'c')\nsubdir('lib')\nexecutable('m', 'main.c', dependencies: models_dep)\n"
    )
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    run(*meson, "setup", "b", cwd=tmp_path / "project")
    run("ninja", "-C", "b", cwd=tmp_path / "project")
    check([tmp_path / "project" / "b" / "m"])


def test_the_python_module_needs_no_transpile(made):
    code = """
        import sys
        import numpy as np
        import models

        params = {"w": 0.1 * np.arange(15).reshape(5, 3), "b": [0.5, 0, -0.5]}
        x = np.asfortranarray((np.arange(5.0 * 40) % 7 - 3).reshape(40, 5))
        loss, slopes = models.loss_step(params, x.astype("f4"), y=np.zeros((40, 3)))
        print(0, loss, slopes["b"][0], slopes["w"][4, 2], models.scaled_copy(params["b"])[2])
        odd = np.ndarray(3, "f8", bytearray(25), 1)  # begins between two doubles
        assert not odd.flags.aligned
        assert models._argument("b", odd, "float64", 1).flags.aligned
        errors = [
            lambda: models.loss_step(params, x[:, 0], x[:, :3]),
            lambda: models.loss_step(params, x, x[:9, :3]),
            lambda: models.scaled_copy([1j, 2, 3]),
            lambda: models.loss_step(params, x[:0], x[:0, :3]),
        ]
        for error in errors:
            try:
                error()
            except Exception as problem:
                print(f"{type(problem).__name__}: {problem}")
        assert "transpile" not in sys.modules
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    variables = {**os.environ, "PYTHONPATH": str(made / "lib")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    first, *errors = done.stdout.splitlines()
    np.testing.assert_allclose([float(word) for word in first.split()], expected(40), 1e-12)
    assert errors == [
        "ValueError: x has 1 axes, not 2",
        "ValueError: y has the shape (9, 3), not (m, 3) = (40, 3)",
        "TypeError: b is of dtype complex128, which does not become float64",
        "ValueError: loss_step: m is less than 1, or arrays would be too large",
    ]


def test_the_python_module_refuses_a_library_of_another_interface(made, tmp_path):
    shutil.copy(made / "lib" / "models.py", tmp_path)
    others = {name: lowered(np.sin, (3,)) for name in ("loss_step", "scaled_copy")}
    Library("models", others).write(tmp_path)
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "import models"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert "libmodels.so has another loss_step than this module was written for" in done.stderr


def test_the_stubs_have_the_arguments_and_types(made):
    stubs = (made / "lib" / "models.pyi").read_text()
    assert "def loss_step(params: Any, x: ArrayLike, y: ArrayLike) -> " in stubs
    assert "-> tuple[NDArray[np.float64], dict[Any, Any]]: ..." in stubs
    compile(stubs, "models.pyi", "exec")


def test_the_metadata_say_what_a_caller_needs(made):
    known = json.loads((made / "lib" / "models.json").read_text())
    assert (known["library"], known["version"]) == ("models", "1.2")
    step, copy = known["functions"]
    assert step["sizes"] == [{"name": "m", "least": 1, "most": None, "multiple_of": 1}]
    assert step["inputs"][2] == {
        "name": "x", "dtype": "float64", "shape": ["m", 5], "argument": "x",
    }  # fmt: skip
    assert step["inputs"][0]["argument"] == "params['b']"
    assert "m" in step["workspace_bytes"] and copy["workspace_bytes"] == 0
    assert copy["declaration"] == "int scaled_copy(const double *b, double *out, void *workspace);"
    assert str(ROOT) not in json.dumps(known)


def test_equal_functions_give_equal_bytes_in_another_place_and_cache(made, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    library().write(tmp_path / "elsewhere", KINDS)
    for path in filter(Path.is_file, (made / "lib").iterdir()):
        assert (tmp_path / "elsewhere" / path.name).read_bytes() == path.read_bytes(), path.name


def test_what_has_not_changed_is_not_written_again(tmp_path):
    kinds = ["metadata", "pkg-config"]
    assert len(library().write(tmp_path, kinds)) == 8
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert library().write(tmp_path, kinds) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    written = library(version="1.3").write(tmp_path, kinds)
    assert sorted(path.name for path in written) == ["models.json", "models.pc"]


def test_sources_alone_need_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(transpile.build.toolchain, "run", None)
    paths = library().write(tmp_path, source_only=True)
    assert {path.suffix for path in paths} == {".c", ".h"} and len(paths) == 5


def lowered(function, *shapes):
    return transpile.jit(function).lower(*(ShapeDtypeStruct(s, F64) for s in shapes))


def test_wrong_names_and_kinds_are_errors(tmp_path):
    one = lowered(np.sin, (3,))
    other = transpile.jit(np.cos, compiler_options={"opt_level": 1}).lower(np.ones(3))
    with pytest.raises(ValueError, match="'a-b' is no name in C; 'a_b' would do"):
        Library("a-b", {"f": one})
    with pytest.raises(ValueError, match="'exit' is a name of C or of its libraries in C"):
        Library("a", {"exit": one})
    with pytest.raises(ValueError, match="is called 'f' as one of them"):
        Library("f", {"f": one, "g": one})
    with pytest.raises(ValueError, match="'f' exports 'f_results', which is another function's"):
        Library("a", {"f": one, "f_results": one})
    with pytest.raises(ValueError, match="are compiled with the same options"):
        Library("a", {"f": one, "g": other})
    with pytest.raises(ValueError, match="unknown kind of files 'cmke'; there are archive, cmake"):
        Library("a", {"f": one}).write(tmp_path, ["cmke"])
    with pytest.raises(ValueError, match="files for python need a compiled library"):
        Library("a", {"f": one}).write(tmp_path, ["python"], source_only=True)
    with pytest.raises(ValueError, match="at least one function"):
        Library("a", {})
    assert not [*tmp_path.iterdir()]


def test_a_library_of_one_function_has_its_name(tmp_path):
    Library("wave", {"wave": lowered(np.sin, (3,))}).write(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libwave.so", "wave.c", "wave.h"]


def difference(x, y):
    return {"d": [x[:, None] - y, None], "s": (x.sum(),)}


def test_sizes_follow_from_shapes_of_any_linear_form(tmp_path):
    """Also where an extent has several, and where arrays are assigned to."""

    def update(x, y, z):
        z += x.sum() + y[0, 0]
        return difference(x, y.sum(1))

    n, k = transpile.dims("n, k", "k % 4 == 0", "n <= 100")
    program = lowered(update, (2 * n + 1,), (3 * k // 2 + n, n), (k,))

    def root(x):
        if x < 0:
            raise ValueError("no root")
        return np.sqrt(x)

    functions = {
        "update": program,
        "root": transpile.jit(root).lower(1.0),
        "largest": transpile.jit(lambda x: x[x > 0].max()).lower(np.zeros(3)),
    }
    Library("shapes_of", functions).write(tmp_path, ["python"])
    code = """
        import numpy as np, shapes_of
        x, y, z = np.arange(7.0), np.ones((3 * 4 // 2 + 3, 3)), np.zeros(4)
        found = shapes_of.update(x, y, z)
        np.testing.assert_array_equal(found["d"][0], x[:, None] - y.sum(1))
        assert found["d"][1] is None and found["s"] == (21.0,) and (z == 22).all()
        z.flags.writeable = False
        for unfit in [1.0] * 4, z:
            try:
                shapes_of.update(x, y, unfit)
            except (TypeError, ValueError) as error:
                print(f"{type(error).__name__}: {error}")
        z.flags.writeable = True
        try:
            shapes_of.update(np.ones(203), np.ones((107, 101)), z)
        except ValueError as error:
            print(error)
        try:
            shapes_of.root(-1.0)
        except ValueError as error:
            print(error)
        try:
            shapes_of.largest(np.zeros(3))
        except ValueError as error:
            print(error)
    """
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    said = subprocess.check_output(command, env=variables, text=True)
    no_array, unchanging, sizes, raised, empty = said.splitlines()
    assert no_array == "TypeError: z is assigned to and must be an array, not a list"
    assert unchanging == "ValueError: assignment destination is read-only: z"
    assert "n is not 1 to 100" in sizes and raised == "root: no root", said
    assert empty.startswith("largest: zero-size array to reduction operation maximum"), said


def test_arrays_that_share_memory_are_refused_where_it_would_show(tmp_path):
    """By the modules of libraries as by jit, and before anything is written."""

    def doubled(x, y):
        x[1:] = x[:-1] * 2
        return y.sum(), x

    def put_first(x, y):
        x[0] = y.sum()

    def in_turn(p, y):
        p["w"] += y
        y *= 2

    def first_of_all(x):
        rows = x.ravel()
        rows[0] = 5

    (n,) = v = transpile.dims("n")
    vector = ShapeDtypeStruct((n,), F64)
    functions = {
        "doubled": lowered(doubled, v, v),
        "put_first": lowered(put_first, v, v),
        "in_turn": transpile.jit(in_turn).lower({"w": vector}, vector),
        "first_of_all": lowered(first_of_all, (n, 2)),
    }
    Library("sharing", functions).write(tmp_path, ["python"])
    code = """
        import numpy as np, sharing
        x = np.arange(1.0, 9.0)
        for call in (
            lambda: sharing.doubled(x, x),
            lambda: sharing.doubled(x[:-1], x[1:]),
            lambda: sharing.in_turn({"w": x}, x[::-1]),
            lambda: sharing.doubled(np.lib.stride_tricks.as_strided(x, (4,), (0,)), np.ones(4)),
            lambda: sharing.first_of_all(x.reshape(2, 4).T),
        ):
            try:
                print("no error", call())
            except ValueError as error:
                print(error)
            assert (x == np.arange(1.0, 9.0)).all()
        total, returned = sharing.doubled(even := x[::2], x[1::2])
        assert total == 20 and returned is even and even.tolist() == [1, 2, 6, 10]
        sharing.put_first(x, x)  # which reads all, and then assigns
        assert x[0] == 39
        apart = np.lib.stride_tricks.as_strided(x, (2, 2), (24, 8))  # 0 1, 3 4
        sharing.first_of_all(np.ascontiguousarray(apart))
        sharing.in_turn({"w": np.ones(3)}, np.ones(3))
    """
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    said = subprocess.check_output(command, env=variables, text=True).splitlines()
    assert said[0].startswith("x and y share memory: x is assigned to, and then y is read") and (
        said[1] == said[0]
    )
    assert said[2].startswith("p['w'] and y share memory")
    assert said[3].startswith("x is assigned to, and some of its elements share memory")
    assert said[4].startswith("x does not lie in row-major order")


def test_what_a_python_module_cannot_make_is_named(tmp_path):
    Pair = collections.namedtuple("Pair", "a b")
    program = lowered(lambda x: Pair(x, x), (3,))
    with pytest.raises(transpile.errors.UnsupportedError, match="f returns a Pair, which a Python"):
        Library("a", {"f": program}).write(tmp_path, ["python"])
    assert not [*tmp_path.iterdir()]
