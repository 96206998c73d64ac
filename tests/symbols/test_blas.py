import ctypes
import os
from pathlib import Path

import numpy as np
import pytest

import transpile
from transpile.build import toolchain
from transpile.build.driver import Pipeline
from transpile.options import Options
from transpile.symbols.blas import Blas, find_blas

pytestmark = pytest.mark.full_level

PRODUCT = """#include <stdint.h>
void {dgemm}(int, int, int, {integer}, {integer}, {integer}, double, const double *, {integer},
             const double *, {integer}, double, double *, {integer});
__attribute__((visibility("default"))) void product(const double *a, const double *b, double *c);
void product(const double *a, const double *b, double *c) {{
    {dgemm}(101, 111, 111, 2, 4, 3, 1.0, a, 3, b, 4, 0.0, c, 4);  /* row-major (2,3) @ (3,4) */
}}
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRANSPILE_BLAS", raising=False)


@pytest.fixture
def found():
    blas = find_blas(Options(blas="auto"))
    if blas is None:
        pytest.skip("there is no CBLAS library")
    return blas


def test_find_blas_gives_a_library_that_multiplies(found, tmp_path):
    text = PRODUCT.format(dgemm=found.symbol("cblas_dgemm"), integer=found.integer)
    (tmp_path / "program.c").write_text(text)
    compiler = toolchain.find_compiler(Options())
    toolchain.build_shared(
        compiler,
        tmp_path / "program.c",
        tmp_path / "program.so",
        toolchain.flags(compiler, Options()),
        found.link_flags,
    )
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.zeros((2, 4))
    product = ctypes.CDLL(str(tmp_path / "program.so")).product
    product(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)))
    assert (c == a @ b).all()
    if "NumPy" in found.origin:
        maps = Path("/proc/self/maps").read_text().split()
        mapped = {word for word in maps if "openblas" in word}
        assert len([word for word in mapped if "scipy.libs" not in word]) == 1  # SciPy has its own


def test_find_blas_takes_numpys_own_library():
    if not list(Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*")):
        pytest.skip("this NumPy does not bring OpenBLAS")
    blas = find_blas(Options(blas="auto"))
    assert blas is not None and "numpy.libs" in blas.library
    assert (blas.integer == "int64_t") == ("64_" in blas.suffix)


def test_find_blas_obeys_the_option_and_the_environment(found, monkeypatch):
    assert find_blas(Options(blas="none")) is None
    named = find_blas(Options(blas=found.library))
    assert named is not None and named.symbol("x") == found.symbol("x")
    assert "the compiler option 'blas'" in named.origin
    monkeypatch.setenv("TRANSPILE_BLAS", "none")
    assert find_blas(Options(blas="auto")) is None
    monkeypatch.setenv("TRANSPILE_BLAS", found.library)
    again = find_blas(Options(blas="auto"))
    assert again is not None and "TRANSPILE_BLAS" in again.origin
    assert found.identity == again.identity


@pytest.mark.parametrize("name", ["/no/such/libblas.so", "libm.so.6"])
def test_find_blas_refuses_a_library_without_dgemm(name):
    with pytest.raises(ValueError, match="cblas_dgemm"):
        find_blas(Options(blas=name))


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("cblas_dgemm", "", ("", "", "int32_t")),
        ("cblas_dgemm", "OpenBLAS USE64BITINT", ("", "", "int64_t")),
        ("cblas_dgemm64_", "", ("", "64_", "int64_t")),
        ("scipy_cblas_dgemm", "", ("scipy_", "", "int32_t")),
    ],
)
def test_find_blas_reads_the_spelling_off_the_library(tmp_path, name, config, expected):
    text = f"void {name}(void) {{}}\n"
    if config:
        text += f'const char *openblas_get_config(void) {{ return "{config}"; }}\n'
    (tmp_path / "blas.c").write_text(text)
    library = tmp_path / "with, comma and space.so"
    compiler = toolchain.find_compiler(Options())
    flags = ("-fPIC", "-shared")
    toolchain.build_shared(compiler, tmp_path / "blas.c", library, flags)
    blas = find_blas(Options(blas=str(library)))
    assert blas is not None and (blas.prefix, blas.suffix, blas.integer) == expected


def test_a_batch_of_products_is_made_by_the_library(found):
    x = np.random.default_rng(0).standard_normal((64, 32, 32))
    f = transpile.jit(lambda x: x @ x, compiler_options={"blas": "auto"})
    assert "blas_matmul_batch_f64(" in f.lower(x).as_text("c")
    np.testing.assert_allclose(f(x), x @ x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("f", "count"), [(np.sort, 0), (lambda x: x @ x, 1)])
def test_only_programs_with_products_are_linked_with_the_library(found, f, count):
    graph = transpile.jit(f).lower(np.ones((32, 32))).compiler_ir("graph")
    libraries = Pipeline(graph, Options(blas="auto"), (), 0.0).libraries
    assert libraries == [found] * count


def test_link_flags_of_a_library_that_the_loader_knows_by_name():
    blas = Blas("libopenblas.so.0", "", "", "int32_t", "the system's libraries")
    assert blas.link_flags == (
        "-Wl,--push-state,--no-as-needed",
        "-l:libopenblas.so.0",
        "-Wl,--pop-state",
    )
    assert blas.symbol("cblas_dgemm") == "cblas_dgemm"
    assert os.sep not in blas.identity
