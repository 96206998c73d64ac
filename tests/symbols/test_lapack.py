"""LAPACK: how it is found, how programs are linked with it, and C programs that use such a one."""

import os
import subprocess
import sys

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.build import toolchain
from transpile.errors import LibraryNotFoundError
from transpile.ir.types import type_of
from transpile.options import Options
from transpile.primitives.linalg import decompositions as primitives
from transpile.runtime.executable import Lowering
from transpile.scipy.linalg import schur, sqrtm
from transpile.symbols.blas import Blas
from transpile.symbols.lapack import ENVIRONMENT, Lapack, find_lapack, prototypes
from transpile.trace.trace import bind, trace_function

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
    monkeypatch.setattr("transpile.symbols.lapack.candidates", lambda further: iter(()))
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
    used = {("geqrf", "c64"), ("orgqr", "c64"), ("gesdd", "f64"), ("gees", "c64"), ("gemm", "f64")}
    made = {p.symbol: p for p in prototypes((None, lapack), used)}
    assert set(made) == {"cgeqrf_", "cungqr_", "dgesdd_", "cgees_"}
    assert {p.integer for p in made.values()} == {"int32_t"}
    assert made["cungqr_"].routine == "orgqr" and made["cungqr_"].dtype == np.dtype("c8")
    assert [a.name for a in made["cgees_"].arguments if a.holds == "real"] == ["rwork"]
    assert [a.name for a in made["dgesdd_"].arguments if a.holds == "real"] == ["s"]
    blas = Blas("libblas.so.3", "", "", "int32_t", "here")
    assert prototypes((blas, None), {("geqrf", "c64")}) == []
    assert prototypes((None, lapack), {("gemm", "f64")}) == []
    assert "-l:liblapack.so.3" in lapack.link_flags


def test_the_library_is_an_ingredient_of_the_cache_key():
    def ingredients(f):
        graph, _ = trace_function(lambda x: ([f(x)], None), [type_of(np.eye(3))], ["x"])
        return Lowering(graph, Options()).ingredients()

    identity = find_lapack(Options()).identity
    assert ingredients(lambda x: bind(primitives.cholesky, x))["lapack"] == identity
    assert ingredients(np.linalg.inv)["lapack"] == identity  # inside a call
    assert ingredients(np.sin)["lapack"] == "none"


def test_a_c_program_links_with_a_saved_one(tmp_path, shared_cache):
    design = np.stack([np.ones(5), np.arange(5.0)], axis=1)
    compiled = transpile.jit(line).lower(design, np.arange(5.0)).compile()
    compiled.save(tmp_path, private_libraries=True)
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


# -- whose library a saved program needs -----------------------------------------------------------


def test_a_program_that_needs_numpys_own_library_is_not_saved_unasked(tmp_path, shared_cache):
    compiled = transpile.jit(line).lower(np.ones((5, 2)), np.ones(5)).compile()
    with pytest.raises(LibraryNotFoundError) as caught:
        compiled.save(tmp_path / "out")
    message = str(caught.value)
    assert "line decomposes matrices (`values, vectors = np.linalg.eigh(normal)`" in message
    assert "test_lapack.py:" in message and find_lapack(Options()).library in message
    assert "'lapack': 'liblapack.so.3'" in message and "private_libraries=True" in message
    assert not (tmp_path / "out").exists()
    assert compiled.save(tmp_path / "out", private_libraries=True)[0].is_file()


def test_a_library_that_was_named_is_linked_as_it_was_asked_for(tmp_path, monkeypatch):
    path = find_lapack(Options()).library
    for options in ({"lapack": path}, {"blas": path}):
        assert "compiler option" in find_lapack(Options(**options)).origin
        named = transpile.jit(np.linalg.inv, compiler_options=options).lower(np.eye(3)).compile()
        assert named.save(tmp_path, "inv")
    monkeypatch.setenv(ENVIRONMENT, path)
    assert transpile.jit(np.linalg.inv).lower(np.eye(3)).compile().save(tmp_path, "inv")
    monkeypatch.setenv(ENVIRONMENT, "/no/such/library")
    assert find_lapack(Options(lapack=path)).library == path  # the option comes first


def test_numpys_own_blas_is_not_saved_unasked_either(tmp_path):
    x = np.ones((300, 300))
    compiled = transpile.jit(np.matmul, compiler_options={"blas": "auto"}).lower(x, x).compile()
    with pytest.raises(LibraryNotFoundError, match=r"multiplies matrices.*'libblas\.so\.3'"):
        compiled.save(tmp_path)
    compiled.save(tmp_path, private_libraries=True)


# A LAPACK as systems have it: 32-bit integers, names with nothing around them, and the BLAS in a
# library of its own. They have no dependency on NumPy's library, in which names would be found.
SYSTEM = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef int64_t wide;
static void *own(const char *name)
{
    return dlsym(dlopen("{library}", RTLD_NOW | RTLD_LOCAL), name);
}

#ifdef LAPACK
void dgetrf_(const int *m, const int *n, double *a, const int *step, int *pivots, int *info)
{
    wide rows = *m, columns = *n, long_step = *step, found[64], state;
    void (*getrf)(const wide *, const wide *, double *, const wide *, wide *, wide *);
    *(void **)&getrf = own("{getrf}");
    getrf(&rows, &columns, a, &long_step, found, &state);
    for (int i = 0; i < *m && i < *n; i++)
        pivots[i] = (int)found[i];
    *info = (int)state;
}

void zgesdd_(void)
{
    abort();
}
#else
void dtrsm_(const char *side, const char *part, const char *form, const char *unit, const int *m,
            const int *n, const double *alpha, const double *a, const int *a_step, double *b,
            const int *b_step)
{
    wide rows = *m, columns = *n, of_a = *a_step, of_b = *b_step;
    void (*trsm)(const char *, const char *, const char *, const char *, const wide *,
                 const wide *, const double *, const double *, const wide *, double *,
                 const wide *, size_t, size_t, size_t, size_t);
    *(void **)&trsm = own("{trsm}");
    trsm(side, part, form, unit, &rows, &columns, alpha, a, &of_a, b, &of_b, 1, 1, 1, 1);
}
#endif
"""
SAVE = """
import sys
import numpy as np
import transpile
from transpile.scipy.linalg import solve_triangular

def solution(a, b):
    return np.linalg.solve(a, b)

def triangular(a, b):
    return solve_triangular(a, b)

a, b = np.random.default_rng(0).normal(size=(2, 9, 9))
for f, matrix in ((solution, a), (triangular, np.triu(a))):
    options = {"lapack": "liblapack.so.3"}
    compiled = transpile.jit(f, compiler_options=options).lower(matrix, b).compile()
    np.testing.assert_allclose(compiled(matrix, b), np.linalg.solve(matrix, b), rtol=1e-9)
    compiled.save(sys.argv[1])
"""


def test_the_systems_library_is_linked_by_its_name(tmp_path):
    own = find_lapack(Options())
    if own.integer != "int64_t":
        pytest.skip("this NumPy brings no library with 64-bit integers")
    text = SYSTEM.replace("{library}", own.library)
    for name in ("getrf", "trsm"):
        text = text.replace("{" + name + "}", own.symbol(f"d{name}"))
    (tmp_path / "system.c").write_text(text)
    compiler = toolchain.find_compiler(Options())
    for name, flag, needed in (
        ("libblas.so.3", "-DBLAS", []),
        ("liblapack.so.3", "-DLAPACK", ["-Wl,--no-as-needed", "-L.", "-l:libblas.so.3"]),
    ):
        flags, words = ("-fPIC", "-shared", flag), [*needed, f"-Wl,-soname,{name}"]
        source = tmp_path / "system.c"
        toolchain.build_shared(compiler, source, tmp_path / name, flags, words)
    places = {name: str(tmp_path) for name in ("LIBRARY_PATH", "LD_LIBRARY_PATH")}
    done = subprocess.run(
        [sys.executable, "-c", SAVE, tmp_path],
        env={**os.environ, **places},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name in ("solution", "triangular"):
        command = ["readelf", "-d", tmp_path / f"{name}.so"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "[liblapack.so.3]" in shown and "openblas" not in shown and "PATH)" not in shown
        assert "liblapack.so.3" in (tmp_path / f"{name}.h").read_text()


def test_the_header_says_what_becomes_of_matrices_without_a_factorization():
    def header(f, *args):
        graph, _ = trace_function(lambda *x: ([f(*x)], None), [type_of(a) for a in args], "a")
        return Lowering(graph, Options()).rendered("f.h").header

    x = np.eye(3)
    singular, definite = "a singular matrix:", "not positive definite:"
    finite, ended = "infinities or NaNs:", "does not come to an end:"
    for f, expected in (
        (np.linalg.inv, {singular}),
        (np.linalg.cholesky, {definite}),
        (np.linalg.eigvalsh, {ended}),
        (lambda a: np.linalg.solve(a, np.linalg.cholesky(a)), {singular, definite}),
        (lambda a: np.linalg.svd(a)[0], {finite}),
        (lambda a: np.linalg.qr(a)[0], set()),
        (np.sin, set()),
    ):
        text = header(f, x)
        assert {w for w in (singular, definite, finite, ended) if w in text} == expected
        assert ("returns 0 for these matrices, too" in text) == bool(expected)


@transpile.jit
def taken_apart(a):
    return np.linalg.eigvals(a), np.linalg.eig(a), np.linalg.svd(a), schur(a), sqrtm(a)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@one_in(2)
def test_matrices_without_a_factorization_give_what_the_header_says(dtype):
    """Not as NumPy, which raises LinAlgError, or does not come back from the SVD of an infinity."""
    x = np.eye(3, dtype=dtype)
    with np.errstate(all="ignore"):
        for f in (np.linalg.inv, lambda a: np.linalg.solve(a, a)):
            assert not np.isfinite(transpile.jit(f)(np.ones((3, 3), dtype))).any()
        assert np.isnan(np.diag(transpile.jit(np.linalg.cholesky)(-x))).all()
        for value in (np.nan, np.inf, -np.inf, *([complex(1, np.inf)] if "c" in dtype else [])):
            x[1, 2] = value
            for result in transpile.tree.leaves(taken_apart(x)):
                assert np.isnan(result).all()
