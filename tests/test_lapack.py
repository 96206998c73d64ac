"""LAPACK: how it is found, how programs are linked with it, and C programs that use such a one."""

import os
import subprocess

import numpy as np
import pytest

import transpile
from transpile import toolchain
from transpile.blas import Blas
from transpile.errors import LibraryNotFoundError
from transpile.executable import Lowering
from transpile.lapack import ENVIRONMENT, Lapack, find_lapack, prototypes
from transpile.options import Options
from transpile.primitives import decompositions as rows
from transpile.trace import bind, trace_function
from transpile.types import type_of

C_PROGRAM = r"""
/* Solves a least squares problem and takes a matrix apart, with no Python in sight. */
#include <stdio.h>
#include <stdlib.h>

#include "line.h"

int main(void)
{
    double design[5][2], heights[5], found[2], values[2], vectors[2][2];
    for (int i = 0; i < 5; i++) {
        design[i][0] = 1.0;
        design[i][1] = i;
        heights[i] = 0.5 + 2.0 * i;
    }
    void *workspace = malloc(line_workspace_size() + 1);
    int code = line(&design[0][0], heights, found, values, &vectors[0][0], workspace);
    if (code != 0) {
        fprintf(stderr, "%s\n", line_error(code));
        return 1;
    }
    printf("%.15g %.15g %.15g %.15g\n", found[0], found[1], values[0], values[1]);
    free(workspace);
    return 0;
}
"""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)


def line(design, heights):
    normal = np.matmul(design.T, design)
    values, vectors = np.linalg.eigh(normal)
    return np.linalg.solve(normal, np.matmul(design.T, heights)), values, vectors


def test_numpys_own_library_is_found():
    found = find_lapack(Options())
    assert os.path.isabs(found.library) and "numpy.libs" in found.library
    assert found.origin == "NumPy's own library"
    assert (found.integer == "int64_t") == ("64" in found.suffix)
    assert found.library in found.identity and found.library in found.link_flags


def test_the_environment_names_the_library(monkeypatch):
    first = find_lapack(Options())
    monkeypatch.setenv(ENVIRONMENT, first.library)
    again = find_lapack(Options())
    assert again.library == first.library and ENVIRONMENT in again.origin
    assert again.identity == first.identity
    assert find_lapack(Options(blas="none")).library == first.library


def test_a_library_that_the_option_blas_names_comes_first():
    first = find_lapack(Options())
    assert "option 'blas'" in find_lapack(Options(blas=first.library)).origin


@pytest.mark.parametrize("name", ["/no/such/liblapack.so", "libm.so.6"])
def test_a_library_without_lapack_is_refused(monkeypatch, name):
    monkeypatch.setenv(ENVIRONMENT, name)
    with pytest.raises(LibraryNotFoundError, match=f"'{name}', named by .*{ENVIRONMENT}"):
        find_lapack(Options())


def test_a_machine_without_lapack_is_told_what_to_install(monkeypatch, shared_cache):
    monkeypatch.setattr("transpile.lapack.candidates", lambda further: iter(()))
    with pytest.raises(LibraryNotFoundError, match=r"pip install 'transpile\[lapack\]'"):
        transpile.jit(lambda x: np.linalg.inv(x) + 41)(np.eye(2))
    assert transpile.jit(lambda x: x + 41)(np.zeros(2))[0] == 41  # others need none
    assert "none: no LAPACK" in toolchain.describe(Options())["LAPACK"]


NAMES = {
    "dgetrf_": ("", "_", "int32_t"),
    "dgetrf_64_": ("", "_64_", "int64_t"),
    "scipy_dgetrf_": ("scipy_", "_", "int32_t"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_and_integers_are_read_off_the_library(name, tmp_path, monkeypatch):
    functions = [name.replace("dgetrf", routine) for routine in ("dgetrf", "zgesdd", "dtrsm")]
    (tmp_path / "lapack.c").write_text("\n".join(f"void {f}(void) {{}}" for f in functions))
    library = tmp_path / "with, comma and space.so"
    compiler = toolchain.find_compiler(Options())
    toolchain.build_shared(compiler, tmp_path / "lapack.c", library, ("-fPIC", "-shared"))
    monkeypatch.setenv(ENVIRONMENT, str(library))
    found = find_lapack(Options())
    assert (found.prefix, found.suffix, found.integer) == NAMES[name]


def test_prototypes_are_those_of_the_routines_used():
    lapack = Lapack("liblapack.so.3", "", "_", "int32_t", "here")
    text = "\n".join(prototypes((None, lapack), {"qr_c64", "svd_f64", "sin_f64", "sqrtm_f32"}))
    assert "typedef int32_t lapack_int;" in text
    for routine in ("cgeqrf_", "cungqr_", "dgesdd_", "cgees_"):
        assert f'__asm__("{routine}");' in text
    assert text.count("void ") == 5  # four routines, and one parameter of a function's address
    words = " ".join(text.split())
    assert "float *, lapack_int *, lapack_int *" in words  # real scratch memory of cgees
    blas = Blas("libblas.so.3", "", "", "int32_t", "here")
    assert prototypes((blas, None), {"qr_c64"}) == []
    assert prototypes((None, lapack), {"sin_f64"}) == []
    assert lapack.link_flags == ("-l:liblapack.so.3",)


def test_the_library_is_an_ingredient_of_the_cache_key():
    def ingredients(f):
        graph, _ = trace_function(lambda x: ([f(x)], None), [type_of(np.eye(3))], ["x"])
        return Lowering(graph, Options()).ingredients()

    identity = find_lapack(Options()).identity
    assert ingredients(lambda x: bind(rows.cholesky, x))["lapack"] == identity
    assert ingredients(np.linalg.inv)["lapack"] == identity  # inside a call
    assert ingredients(np.sin)["lapack"] == "none"


def test_a_c_program_links_with_a_saved_one(tmp_path, shared_cache):
    design = np.stack([np.ones(5), np.arange(5.0)], axis=1)
    transpile.jit(line).lower(design, np.arange(5.0)).compile().save(tmp_path)
    library = find_lapack(Options())
    assert library.library in (tmp_path / "line.h").read_text()
    text = (tmp_path / "line.c").read_text()
    assert "malloc" not in text and f'__asm__("{library.symbol("dsyevd")}")' in text
    (tmp_path / "main.c").write_text(C_PROGRAM)
    cc = toolchain.find_compiler(Options()).command
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    ways = {
        "linked": ["main.c", "line.so", f"-Wl,-rpath,{tmp_path}"],
        "compiled": ["-fopenmp-simd", "main.c", "line.c", *library.link_flags],
    }
    for name, sources in ways.items():
        subprocess.run([*cc, *strict, *sources, "-lm", "-o", name], cwd=tmp_path, check=True)
        done = subprocess.run(
            [str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": os.environ["PATH"]},
        )
        numbers = list(map(float, done.stdout.split()))
        expected = [0.5, 2.0, *np.linalg.eigvalsh(design.T @ design)]
        np.testing.assert_allclose(numbers, expected, rtol=1e-12)
