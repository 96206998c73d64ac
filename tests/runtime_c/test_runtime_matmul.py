"""runtime_c/products/matmul.h against NumPy: values, strides, threads, workspace, sanitizers."""

import ctypes
import platform
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, thorough, tries

from transpile.symbols import c_helpers

pytestmark = pytest.mark.full_level

HELPERS = [
    f"{name}_{dtype}"
    for name in ("matmul", "matmul_workspace", "matmul_panels", "matmul_rows")
    for dtype in ("f32", "f64")
]
FLAGS = [
    *("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
]
X86_64 = platform.machine() == "x86_64"

DRIVER = """
int64_t workspace_F(int64_t m, int64_t n, int64_t k)
{
    return matmul_workspace_F(m, n, k);
}

void product_F(int64_t m, int64_t n, int64_t k, const F *a, int64_t a_row, int64_t a_col,
               const F *b, int64_t b_row, int64_t b_col, F *c, int64_t c_row, void *workspace)
{
    matmul_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, workspace);
}

/* The same by matmul_rows, `block` rows at a time; the panels are in the workspace, if wanted. */
void rows_F(int64_t m, int64_t n, int64_t k, const F *a, int64_t a_row, int64_t a_col,
            const F *b, int64_t b_row, int64_t b_col, F *c, int64_t c_row, F *workspace,
            int64_t block, bool with_panels)
{
    if (with_panels) {
        matmul_panels_F(n, k, b, b_row, b_col, workspace);
    }
    for (int64_t i = 0; i < m; i += block) {
        matmul_rows_F(matmul_min(block, m - i), n, k, a + i * a_row, a_row, a_col,
                      with_panels ? workspace : b, with_panels ? 0 : b_row, c + i * c_row, c_row);
    }
}
"""

# Every buffer has exactly its size, so that the sanitizer sees each step outside.
SANITIZED = """
static int check_F(int64_t m, int64_t n, int64_t k, bool a_by_columns, bool b_by_columns)
{
    int64_t a_row = a_by_columns ? 1 : k, a_col = a_by_columns ? m : 1;
    int64_t b_row = b_by_columns ? 1 : n, b_col = b_by_columns ? k : 1;
    F *a = malloc((size_t)(m * k) * sizeof(F)), *b = malloc((size_t)(k * n) * sizeof(F));
    F *c = malloc((size_t)(m * n) * sizeof(F));
    void *workspace = malloc((size_t)matmul_workspace_F(m, n, k));
    for (int64_t i = 0; i < m * k; i++) a[i] = (F)(i % 7 - 3);
    for (int64_t i = 0; i < k * n; i++) b[i] = (F)(i % 5 - 2);
    matmul_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, n, workspace);
    int wrong = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            F sum = 0;
            for (int64_t p = 0; p < k; p++) {
                sum += a[i * a_row + p * a_col] * b[p * b_row + j * b_col];
            }
            wrong += c[i * n + j] != sum;
        }
    }
    free(a), free(b), free(c), free(workspace);
    return wrong;
}
"""

SANITIZED_MAIN = """
int main(void)
{
    static const int64_t shapes[][3] = {
        {0, 3, 4}, {3, 4, 0}, {2, 1100, 0}, {1, 1, 1}, {8, 8, 8}, {7, 33, 5}, {9, 15, 400},
        {70, 65, 70}, {65, 67, 385}, {5, 3, 4100}, {16, 17, 19000}, {3, 1100, 90},
        {1030, 5, 70}, {2, 1300, 3}, {300, 16, 60}, {3, 1605, 2001},
    };
    int wrong = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int order = 0; order < 4; order++) {
            int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
            wrong += check_f32(m, n, k, order & 1, order & 2);
            wrong += check_f64(m, n, k, order & 1, order & 2);
        }
    }
    return wrong != 0;
}
"""


def instantiate(text: str) -> str:
    """Each item that speaks of F twice, for float and for double; the others once."""
    items = re.split(r"\n\n+(?=\S)", text)
    copies = []
    for item in items:
        code = re.sub(r"/\*.*?\*/", "", item, flags=re.DOTALL)
        if not re.search(r"\b(\w+_)?F\b", code):
            copies.append(item)
            continue
        for ctype, suffix in (("float", "_f32"), ("double", "_f64")):
            copies.append(re.sub(r"_F\b", suffix, re.sub(r"\bF\b", ctype, item)))
    return "\n\n".join(copies)


def program(*texts: str) -> str:
    """A C file: the headers a saved program includes, the kernel, then `texts`."""
    names = ("math", "stdint", "stdbool", "stddef", "string", "stdlib")
    includes = [f"#include <{name}.h>" for name in names]
    return "\n\n".join(["\n".join(includes), *c_helpers.collect(HELPERS), *map(instantiate, texts)])


def build(folder: Path, source: str, output: str, *flags: str) -> Path:
    (folder / "matmul.c").write_text(source)
    command = ["gcc", *FLAGS, *flags, str(folder / "matmul.c"), "-o", str(folder / output), "-lm"]
    subprocess.run(command, check=True)
    return folder / output


class Kernel:
    """A compiled kernel, called with NumPy arrays."""

    def __init__(self, folder: Path, *flags: str):
        path = build(folder, program(DRIVER), "matmul.so", "-shared", "-fPIC", *flags)
        self.library = ctypes.CDLL(str(path))
        for suffix in ("_f32", "_f64"):
            getattr(self.library, "workspace" + suffix).restype = ctypes.c_int64

    def workspace_bytes(self, m, n, k, dtype):
        sizes = map(ctypes.c_int64, (m, n, k))
        return self.function("workspace", dtype)(*sizes)

    def function(self, name, dtype):
        return getattr(self.library, f"{name}_f{8 * np.dtype(dtype).itemsize}")

    def __call__(self, a, b, threads=1):
        """a @ b, checking that nothing outside of the result and the workspace is written."""
        size = self.workspace_bytes(*a.shape[:1], b.shape[1], a.shape[1], a.dtype)
        return self.checked("product", a, b, threads, size)

    def rows(self, a, b, threads, block, with_panels):
        """a @ b, some rows at a time."""
        size = -(-b.shape[1] // 32) * 32 * b.shape[0] * b.itemsize
        further = (ctypes.c_int64(block), ctypes.c_bool(with_panels))
        return self.checked("rows", a, b, threads, size, *further)

    def checked(self, name, a, b, threads, size, *further):
        (m, k), (_, n), dtype = a.shape, b.shape, a.dtype
        c = np.full((m + 1, n + 3), 77, dtype)
        workspace = np.full(size + 64, 77, np.uint8)

        def operand(x):
            rows, columns = (stride // x.itemsize for stride in x.strides)
            return ctypes.c_void_p(x.ctypes.data), ctypes.c_int64(rows), ctypes.c_int64(columns)

        self.library.omp_set_num_threads(threads)
        self.function(name, dtype)(
            *map(ctypes.c_int64, (m, n, k)),
            *operand(a),
            *operand(b),
            *operand(c)[:2],
            ctypes.c_void_p(workspace.ctypes.data),
            *further,
        )
        assert (workspace[size:] == 77).all()
        assert (c[m:] == 77).all()
        assert (c[:, n:] == 77).all()
        return c[:m, :n]


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return Kernel(tmp_path_factory.mktemp("matmul"), "-march=native")


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "every_second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "padded": lambda x: np.pad(x, ((0, 1), (2, 3)))[: x.shape[0], 2 : 2 + x.shape[1]],
    "backward": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
}
dtypes = st.sampled_from([np.float32, np.float64])
layouts = st.sampled_from(sorted(LAYOUTS))
short = st.sampled_from([0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64, 65])
long = st.sampled_from([0, 1, 5, 63, 65, 100, 127, 130, 384, 385, 800, 1024, 1025, 1100])
deep = st.sampled_from([4096, 4097, 5000, 18433, 20000])
shapes = st.one_of(
    st.tuples(short, short, short),
    st.tuples(long, short, short),
    st.tuples(short, long, short),
    st.tuples(short, short, long),
    st.tuples(short, long, long),
    st.tuples(long, short, long),
    st.tuples(short, short, deep),
)


def may_be_dotted(a, b):
    """True for few rows by a right operand whose columns are contiguous."""
    return len(a) <= 4 and b.strides[0] == b.itemsize


def check_close(kernel, a, b):
    """Within k roundings of the exact sum of the absolute products, whatever the order."""
    exact_enough = a.astype(np.longdouble) @ b.astype(np.longdouble)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = (a.shape[1] + 1) * np.finfo(a.dtype).eps * size
    assert (np.abs(kernel(a, b) - exact_enough) <= bound).all()


@settings(max_examples=tries(80), deadline=None)
@given(shapes, dtypes, layouts, layouts, st.integers(0, 2**32 - 1))
def test_product_is_exact_when_the_numbers_are_small_integers(
    native, shape, dtype, layout, other, seed
):
    m, n, k = shape
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (k, n))
    got = native(LAYOUTS[layout](a.astype(dtype)), LAYOUTS[other](b.astype(dtype)), threads=2)
    np.testing.assert_array_equal(got, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("march", ["native", *(["x86-64", "x86-64-v3"] if X86_64 else [])])
@one_in(3)
def test_every_edge_of_a_tile_is_exact(tmp_path, march):
    """Rows and columns that fill no tile, no vector or a narrow one, or flat tiles; in place, and
    over parts of k whose sums are added."""
    kernel = Kernel(tmp_path, f"-march={march}")
    rng = np.random.default_rng(2)
    a, b = rng.integers(-3, 4, (70, 390)), rng.integers(-3, 4, (390, 200))
    sizes = [(m, n, k) for m in range(1, 18) for n in range(1, 50) for k in (1, 6)]
    sizes += [(m, n, k) for m in (1, 5, 8, 13, 70) for n in range(1, 70) for k in (12, 390)]
    flat = (127, 128, 129, 143, 144, 160, 192, 200)  # and tiles of few rows beside others
    sizes += [(m, n, k) for m in (1, 2, 3, 4, 5, 11) for n in flat for k in (12, 390)]
    for m, n, k in sizes:
        expected = a[:m, :k] @ b[:k, :n]
        for dtype in (np.float32, np.float64):
            x, y = a[:m, :k].astype(dtype), b[:k, :n].astype(dtype)
            np.testing.assert_array_equal(kernel(x, y), expected, str((m, n, k)))


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(short, short, long),
    dtypes,
    st.integers(0, 2**32 - 1),
)
def test_product_is_within_rounding_when_the_numbers_are_normal(native, shape, dtype, seed):
    m, n, k = shape
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    check_close(native, a.astype(dtype), b.astype(dtype))


@settings(max_examples=40, deadline=None)
@given(shapes, dtypes, layouts, layouts, st.integers(0, 2**32 - 1))
def test_an_element_has_the_same_bits_whatever_surrounds_it(
    native, shape, dtype, layout, other, seed
):
    m, n, k = shape
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, k)).astype(dtype)
    b = rng.standard_normal((k, n)).astype(dtype)
    got = native(a, b)
    rows, columns = slice(m // 3, m), slice(n // 3, n)
    left, right = LAYOUTS[layout](a[rows]), LAYOUTS[other](b[:, columns])
    if may_be_dotted(left, right):
        check_close(native, left, right)
    else:
        assert got[rows, columns].tobytes() == native(left, right).tobytes()


@pytest.mark.parametrize(
    ("dtype", "n", "k"), [("f4", 1612, 2003), ("f8", 1029, 1602), ("f8", 20, 90000)]
)
def test_few_rows_by_a_large_operand_have_the_bits_of_more_rows(native, dtype, n, k):
    """In pieces of its columns, the last of which fills no vector, and parts of k."""
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((17, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    expected = native(a, b, threads=2)
    np.testing.assert_allclose(expected, a @ b, rtol=1e-3, atol=1e-2)
    for m in (1, 2, 3, 4, 5, 6, 11, 16):
        assert native(a[:m], b, threads=2).tobytes() == expected[:m].tobytes(), m
    part = native.rows(a[:13], np.ascontiguousarray(b[:, : n // 16 * 16]), 1, 5, False)
    assert part.tobytes() == np.ascontiguousarray(expected[:13, : n // 16 * 16]).tobytes()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 90), st.integers(1, 900), dtypes, st.integers(0, 99))
def test_few_rows_by_contiguous_columns_are_sums_over_lanes(native, m, n, k, dtype, seed):
    """Of which each is the same for other rows, columns and threads."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, k)).astype(dtype)
    b = rng.standard_normal((n, k)).astype(dtype).T
    check_close(native, a, b)
    got = native(a, b, threads=2)
    part = native(a[m // 3 :], b[:, n // 3 :])
    if n - n // 3 > 1:
        assert got[m // 3 :, n // 3 :].tobytes() == part.tobytes()
    a, b = rng.integers(-8, 9, a.shape), rng.integers(-8, 9, (n, k)).T
    np.testing.assert_array_equal(native(a.astype(dtype), b.astype(dtype)), a @ b)


sizes = st.integers(1, 70)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(st.tuples(sizes, sizes, sizes), st.tuples(sizes, long, long)),
    dtypes,
    layouts,
    layouts,
    st.integers(1, 80),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_rows_have_the_bits_of_the_product(
    native, shape, dtype, layout, other, block, with_panels, seed
):
    m, n, k = (max(size, 1) for size in shape)
    n = n if with_panels else (n + 15) // 16 * 16
    rng = np.random.default_rng(seed)
    a = LAYOUTS[layout](rng.standard_normal((m, k)).astype(dtype))
    b = LAYOUTS[other if with_panels else "rows"](rng.standard_normal((k, n)).astype(dtype))
    got = native.rows(a, b, 2, block, with_panels)
    if may_be_dotted(a, b):
        np.testing.assert_allclose(got, native(a, b), rtol=1e-3, atol=1e-3)
    else:
        assert got.tobytes() == native(a, b).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape",
    [(256, 256, 256), (128, 500, 784), (1100, 33, 400), (9, 1500, 70), (16, 8, 100000)],
)
@one_in(2)
def test_product_has_the_same_bits_whatever_the_threads(native, shape, dtype):
    m, n, k = shape
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(dtype)
    b = rng.standard_normal((k, n)).astype(dtype)
    once = native(a, b).tobytes()
    for threads in (1, 2, 3, 2):
        assert native(a, b, threads).tobytes() == once


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_stays_in_its_row_and_column(native, value):
    for m, n, k in ((5, 11, 3), (40, 70, 400)):
        a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
        a[2, 1] = b[1, 3] = value
        with np.errstate(invalid="ignore"):
            expected = a @ b
        np.testing.assert_array_equal(native(a, b), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_workspace_is_the_documented_number(native, dtype):
    for m, n, k in ((1, 1, 1), (8, 2000, 300), (5000, 3, 5000), (1024, 1024, 1024)):
        panels = min(m, 1024) + min(n, 1024) + 64
        bytes_needed = panels * min(k, 384) * np.dtype(dtype).itemsize + 128
        assert native.workspace_bytes(m, n, k, dtype) == bytes_needed


@thorough
@pytest.mark.skipif(not X86_64, reason="names of x86 processors")
@pytest.mark.parametrize("march", ["x86-64", "x86-64-v3"])
@one_in(2)
def test_product_is_within_rounding_when_built_for_older_processors(tmp_path, march):
    kernel = Kernel(tmp_path, f"-march={march}")
    rng = np.random.default_rng(1)
    for m, n, k in ((5, 3, 4), (17, 35, 40), (70, 69, 400), (300, 200, 100), (8, 1040, 64)):
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        for dtype in (np.float32, np.float64):
            check_close(kernel, a.astype(dtype), b.astype(dtype))
            check_close(kernel, a.T.astype(dtype).T, b.T.astype(dtype).T)


@pytest.mark.sanitized
def test_product_is_clean_when_built_with_sanitizers(tmp_path):
    source = program(SANITIZED, SANITIZED_MAIN)
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    binary = build(tmp_path, source, "matmul", "-O1", "-march=native", *sanitizers)
    done = subprocess.run([binary], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
