"""Sorts, argsorts and selection in arrays/: formats, strides, rows, threads, sanitizers."""

import ctypes
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH, one_in, tries

from transpile.symbols import c_helpers

pytestmark = pytest.mark.full_level

NAMES = ("sort", "argsort", "sort_pairs", "select")
HELPERS = [f"{name}_u{bits}" for name in NAMES for bits in (8, 16, 32, 64)]
HEADERS = ("stdint", "stdbool", "stddef", "string", "stdlib")
FLAGS = ["-std=c11", "-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
FLAGS.append("-O3" if THOROUGH else "-O1")  # gcc takes 12 s at -O3; programs sort at any level
FRACTIONS = {"f2": 10, "f4": 23, "f8": 52, "c8": 23, "c16": 52}
PARAMETERS = "int64_t, int64_t, int64_t, int64_t, int64_t, const void *"

# Every buffer has exactly its size, so that the sanitizer sees each step outside.
SANITIZED = """
static int check(int64_t outer, int64_t n, int64_t inner, int64_t format, int64_t places)
{
    size_t count = (size_t)(outer * n * inner);
    uint64_t *x = malloc(count * 8), *out = malloc(count * 8);
    int64_t *order = malloc(count * 8);
    void *scratch = malloc((size_t)(64 + 16 * places * n));
    uint64_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = state >> 60 << 40 | state >> 62;
    }
    sort_u64(outer, n, inner, format, 1, x, out, places, scratch);
    argsort_u64(outer, n, inner, format, 1, x, order, 0, places, scratch);
    int wrong = 0;
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < inner; k++) {
                int64_t at = (i * n + j) * inner + k;
                wrong += out[at] != x[(i * n + order[at]) * inner + k];
                wrong += j > 0 && out[at - inner] > out[at];
            }
        }
    }
    uint64_t *pairs = malloc(count * 16), *sorted = malloc(count * 16);
    memcpy(pairs, x, count * 8), memcpy(pairs + count, x, count * 8);
    sort_pairs_u64(outer, n, inner, 52, 2, pairs, sorted, places, scratch);
    argsort_u64(outer, n, inner, 52, 2, pairs, order, 0, places, scratch);
    for (int64_t i = 0; i < outer * n * inner; i++) {
        int64_t first = i / (n * inner) * n * inner + i % inner;
        wrong += memcmp(sorted + 2 * i, pairs + 2 * (first + order[i] * inner), 16) != 0;
    }
    int64_t ranks[] = {0, n / 2, n - 1}, first = n < 3 ? 2 : 0, some = 3 - first;
    select_u64(outer, n, inner, format, 1, x, some, ranks + first, out, places, scratch);
    argsort_u64(outer, n, inner, format, 1, x, order, 0, places, scratch);
    for (int64_t i = 0; i < outer * some * inner; i++) {
        int64_t row = i / (some * inner), rank = ranks[first + i / inner % some];
        int64_t at = order[(row * n + rank) * inner + i % inner];
        wrong += out[i] != x[(row * n + at) * inner + i % inner];
    }
    select_u64(outer, n, inner, 52, 2, pairs, 1, ranks + 2, sorted, places, scratch);
    free(x), free(out), free(order), free(scratch), free(pairs), free(sorted);
    return wrong;
}

int main(void)
{
    static const int64_t sizes[][4] = {
        {1, 1, 1, 1}, {3, 2, 5, 15}, {2, 48, 3, 1}, {2, 49, 3, 2}, {1, 300, 1, 1}, {4, 257, 2, 8},
        {1, 9000, 2, 2}, {1, 17000, 1, 1}, {20, 1000, 1, 16},
        {21, 256, 1, 2}, {21, 128, 1, 2}, {3, 31, 19, 4}, {8, 1, 1, 1}, {9, 2, 2, 1},
    };
    int wrong = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int64_t format = -2; format < 53; format += 27) {
            wrong += check(sizes[s][0], sizes[s][1], sizes[s][2], format, sizes[s][3]);
        }
    }
    return wrong != 0;
}
"""


def source(*texts):
    headers = "\n".join(f"#include <{name}.h>" for name in HEADERS)
    return "\n\n".join([headers, *c_helpers.collect(HELPERS), *texts])


def build(folder, text, output, *flags):
    (folder / "sort.c").write_text(text)
    command = ["gcc", *FLAGS, *flags, str(folder / "sort.c"), "-o", str(folder / output)]
    subprocess.run(command, check=True)
    return folder / output


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All helpers, by pointers that the library exports."""
    pointers = []
    for name in HELPERS:
        rest = "int64_t *, int64_t, " if name.startswith("argsort") else "void *, "
        rest = "int64_t, const int64_t *, void *, " if name.startswith("select") else rest
        pointers.append(f"void (*const of_{name})({PARAMETERS}, {rest}int64_t, void *) = {name};")
    path = build(tmp_path_factory.mktemp("sort"), source(*pointers), "sort.so", "-shared", "-fPIC")
    return ctypes.CDLL(str(path))


def call(library, name, x, axis, *, again=None, places=1, ranks=(), in_place=False):
    """A helper's result for all rows of x along an axis, with scratch memory of the least size."""
    words = 2 if x.dtype.kind == "c" else 1
    bits = 8 * x.dtype.itemsize // words
    layout = {"b": -2, "u": -2, "i": -1}.get(x.dtype.kind, FRACTIONS.get(x.dtype.str[1:]))
    shape = (int(np.prod(x.shape[:axis])), x.shape[axis], int(np.prod(x.shape[axis + 1 :])))
    found = (shape[0], len(ranks), shape[2]) if name == "select" else x.shape
    out = np.empty(found, np.int64 if name == "argsort" else x.dtype)
    if in_place:
        x = out = x.copy()
    scratch = np.full(64 + 16 * places * shape[1] + 8, 77, np.uint8)
    arguments = [*map(ctypes.c_int64, (*shape, layout, words)), x.ctypes, out.ctypes]
    wanted = np.array(ranks, np.int64)
    if name == "select":
        arguments[-1:] = [ctypes.c_int64(len(ranks)), wanted.ctypes, out.ctypes]
    if name == "argsort":
        out[...] = -1 if again is None else again
        arguments.append(ctypes.c_int64(again is not None))
    address = ctypes.c_void_p.in_dll(library, f"of_{name}_u{bits}").value
    kinds = [type(a) if isinstance(a, ctypes.c_int64) else ctypes.c_void_p for a in arguments]
    kinds += [ctypes.c_int64, ctypes.c_void_p]
    arguments = [a.data if hasattr(a, "data") else a for a in arguments]
    function = ctypes.CFUNCTYPE(None, *kinds)(address)
    function(*arguments, ctypes.c_int64(places), scratch.ctypes.data)
    assert np.all(scratch[-8:] == 77), "the scratch memory was too small"
    return out


DTYPES = ["?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16"]


def any_bits(dtype, shape, seed, span):
    """Elements of any bits, of which `span` are drawn from: few of them make many equal ones."""
    random = np.random.default_rng(seed)
    if dtype == "?":
        return random.random(shape) < 0.5
    itemsize = np.dtype(dtype).itemsize
    pool = random.integers(0, 256, span * itemsize, np.uint8).view(dtype)
    special = np.array([0, -0.0, np.nan, -np.nan, np.inf])
    if pool.dtype.kind == "c":
        parts = np.stack(np.meshgrid(special, special), -1).reshape(-1)
        special = parts.astype(f"f{itemsize // 2}").view(dtype)
    if pool.dtype.kind in "fc":
        pool = np.concatenate([pool, special.astype(dtype)])
    return random.choice(pool, shape)


@given(
    st.sampled_from(DTYPES),
    st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 47, 48, 49, 200, 8500]), st.integers(1, 3)),
    st.integers(0, 999),
    st.sampled_from([3, 5000]),
    st.integers(1, 3),
)
@settings(max_examples=tries(120), deadline=None)
def test_rows_are_sorted_as_numpys_stable_sort_does(library, dtype, shape, seed, span, places):
    x = any_bits(dtype, shape, seed, span)
    order = call(library, "argsort", x, 1, places=places)
    np.testing.assert_array_equal(order, np.argsort(x, 1, kind="stable"))
    found = call(library, "sort_pairs" if x.dtype.kind == "c" else "sort", x, 1, places=places)
    wanted = np.take_along_axis(x, order, 1)
    assert found.tobytes() == wanted.tobytes()  # to the bit: payloads of NaN, signs of zeros
    if x.dtype.kind != "c":
        found = call(library, "sort", x, 1, places=places, in_place=True)
        assert found.tobytes() == wanted.tobytes()


@given(
    st.sampled_from(DTYPES),
    st.tuples(st.integers(1, 70), st.integers(1, 40) | st.sampled_from([127, 128, 129, 256, 257])),
    st.sampled_from([1, 3, 17]),
    st.integers(0, 999),
    st.sampled_from([3, 5000]),
    st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_many_short_rows_are_sorted_as_numpys_stable_sort_does(
    library, dtype, sizes, inner, seed, span, places
):
    x = any_bits(dtype, (*sizes, inner), seed, span)
    found = call(library, "sort_pairs" if x.dtype.kind == "c" else "sort", x, 1, places=places)
    order = np.argsort(x, 1, kind="stable")
    wanted = np.take_along_axis(x, order, 1)
    assert found.tobytes() == wanted.tobytes()
    if x.dtype.kind != "c":
        found = call(library, "sort", x, 1, places=places, in_place=True)
        assert found.tobytes() == wanted.tobytes()
    np.testing.assert_array_equal(call(library, "argsort", x, 1, places=places), order)


@given(
    st.sampled_from(DTYPES),
    st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 48, 49, 200, 3000]), st.integers(1, 3)),
    st.sets(st.floats(0, 1), min_size=1, max_size=8),
    st.integers(0, 999),
    st.sampled_from([3, 5000]),
    st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_selected_elements_are_those_of_the_sorted_row(
    library, dtype, shape, where, seed, span, places
):
    x = any_bits(dtype, shape, seed, span)
    ranks = sorted({round(part * (shape[1] - 1)) for part in where})
    found = call(library, "select", x, 1, places=places, ranks=ranks)
    wanted = np.sort(x, 1, kind="stable")[:, ranks]
    np.testing.assert_array_equal(found.real, wanted.real)
    np.testing.assert_array_equal(found.imag, wanted.imag)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d[0] != "c"])
def test_many_selected_elements_are_those_of_the_sorted_row(library, dtype):
    for n, span in ((40, 7), (700, 3), (5000, 5000)):
        x = any_bits(dtype, (2, n, 1), n, span)
        for ranks in (range(20), range(n - 30, n), range(n // 3, n // 3 + 9), [0, *range(5, n, 3)]):
            found = call(library, "select", x, 1, places=1, ranks=[*ranks])
            wanted = np.sort(x, 1, kind="stable")[:, [*ranks]]
            np.testing.assert_array_equal(found, wanted)


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_sorting_again_by_another_key_is_a_lexsort(library, first, second, seed):
    x, y = (any_bits(dtype, (2, 120), seed + k, 4) for k, dtype in enumerate((first, second)))
    order = call(library, "argsort", y, 1)
    order = call(library, "argsort", x, 1, again=order)
    np.testing.assert_array_equal(order, np.lexsort((y, x), 1))


def test_integers_in_a_narrow_range_and_in_order_are_sorted(library):
    for x in (np.arange(20000), np.arange(20000)[::-1].copy(), np.arange(20000) % 7 - 3):
        for dtype in ("i8", "u4", "i2", "f8"):
            y = x.astype(dtype)
            np.testing.assert_array_equal(call(library, "sort", y, 0), np.sort(y))
            order = call(library, "argsort", y, 0)
            np.testing.assert_array_equal(order, np.argsort(y, kind="stable"))


@given(st.sampled_from(DTYPES[1:-2]), st.integers(0, 999), st.sampled_from([3, 5000]))
@settings(max_examples=tries(40), deadline=None)
def test_rows_that_ascend_up_to_an_element_are_sorted(library, dtype, seed, span):
    drawn = any_bits(dtype, (3, 1000, 1), seed, span)
    x = np.sort(drawn, 1, kind="stable")  # of zeros of both signs as they came
    np.testing.assert_array_equal(call(library, "sort", x, 1).view("u1"), x.view("u1"))
    for place in (1, 255, 256, 257, 999):
        x[0, place], x[1, place - 1] = x[0, 0], x[1, -1]
        found = call(library, "sort", x, 1)
        assert found.tobytes() == np.sort(x, 1, kind="stable").tobytes()


@pytest.fixture(scope="module")
def quicksorts(tmp_path_factory):
    """Libraries with the quicksorts in the vectors of this processor, and in the least ones."""
    bits = (8, 16, 32, 64)  # of bytes too: they are compiled, though counts sort them
    sorts = [f"sort_{name}_u{b}" for name in ("quick", "unstable") for b in bits]
    parts = [f"argpartition_u{b}" for b in (32, 64)]
    texts = c_helpers.collect([*sorts, *parts])
    kinds = [
        ("quick", f"int64_t, int64_t, sort_word_u{b} *, sort_word_u{b} *, int64_t", b) for b in bits
    ]
    kinds += [
        ("unstable", f"int64_t, int64_t, sort_word_u{b} *, sort_word_u{b} *", b) for b in bits
    ]
    texts += [f"void (*const of_{n}_u{b})({takes}) = sort_{n}_u{b};" for n, takes, b in kinds]
    sizes = "int64_t, " * 5
    rest = "const void *, int64_t, const int64_t *, int64_t *, int64_t, void *"
    texts += [f"void (*const of_{name})({sizes}{rest}) = {name};" for name in parts]
    text = "\n\n".join([*(f"#include <{name}.h>" for name in HEADERS), *texts])
    folder = tmp_path_factory.mktemp("quicksort")
    flags = "-shared", "-fPIC", "-Wno-unused-function"
    native = build(folder, text, "native.so", *flags, "-march=native")
    return [ctypes.CDLL(str(path)) for path in (native, build(folder, text, "least.so", *flags))]


def quicksorted(library, x, *partitions):
    """The keys sorted; the radix sort takes over after so many partitions."""
    name = "quick" if partitions else "unstable"
    address = ctypes.c_void_p.in_dll(library, f"of_{name}_u{8 * x.itemsize}").value
    sizes = [ctypes.c_int64] * 2
    kinds = [*sizes, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * len(partitions)]
    room = 16  # what is behind the arrays stays as it is
    keys, other = np.full(x.size + room, 77, x.dtype), np.full(x.size + room, 77, x.dtype)
    keys[: x.size] = x
    layout = {"u": -2, "i": -1}.get(x.dtype.kind, FRACTIONS.get(x.dtype.str[1:]))
    ctypes.CFUNCTYPE(None, *kinds)(address)(
        layout, x.size, keys.ctypes.data, other.ctypes.data, *partitions
    )
    assert np.all(keys[x.size :] == 77)
    assert np.all(other[x.size :] == 77)
    return keys[: x.size]


ORDERS = {
    "random": lambda random, n, most: random.integers(0, most, n, np.uint64, endpoint=True),
    "ascending": lambda random, n, most: np.arange(n),
    "descending": lambda random, n, most: np.arange(n)[::-1],
    "up and down": lambda random, n, most: np.minimum(np.arange(n), np.arange(n)[::-1]),
    "equal": lambda random, n, most: np.full(n, 5),
    "the largest": lambda random, n, most: np.where(random.random(n) < 0.9, np.uint64(most), 3),
    "few": lambda random, n, most: random.integers(0, 7, n),
}


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("order", ORDERS)
@one_in(3)
def test_keys_in_every_order_are_sorted(quicksorts, order, dtype):
    random, most = np.random.default_rng(0), np.iinfo(dtype).max
    for n in (0, 1, 2, 31, 64, 65, 127, 128, 129, 255, 256, 257, 300, 2047, 2050, 20000, 70001):
        x = ORDERS[order](random, n, most).astype(dtype)
        for library in quicksorts:
            np.testing.assert_array_equal(quicksorted(library, x), np.sort(x))


@pytest.mark.parametrize("dtype", ["i2", "f2", "i4", "f4", "i8", "f8"])
def test_elements_are_sorted_by_their_keys_where_they_lie(quicksorts, dtype):
    """Every number of them that a network has, which few rows of vectors or many take."""
    for n in [*range(1, 130), *range(130, 1100, 13), *range(1100, 4200, 97)]:
        x = any_bits(dtype, n, n, 5000)
        x = np.where(np.isnan(x), x.dtype.type(1), x) if dtype[0] == "f" else x
        for library in quicksorts:
            np.testing.assert_array_equal(quicksorted(library, x), np.sort(x))


@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_after_bad_pivots_the_radix_sort_takes_over(quicksorts, partitions):
    x = np.random.default_rng(1).integers(0, 1 << 63, 30000, np.uint64)
    for keys in (
        x,
        (x >> 32).astype("u4"),
        (x >> 47).astype("u2"),
        x.astype("i8") - (1 << 62),
        x - 4e18,
    ):
        for library in quicksorts:
            np.testing.assert_array_equal(quicksorted(library, keys, partitions), np.sort(keys))


@pytest.mark.parametrize("dtype", ["u4", "u8"])
@pytest.mark.parametrize("order", ORDERS)
def test_positions_in_every_order_are_partitioned(quicksorts, order, dtype):
    """Nothing behind the positions, or behind the scratch memory, is written."""
    random, most = np.random.default_rng(0), np.iinfo(dtype).max
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(None, *[number] * 5, pointer, number, *[pointer] * 2, number, pointer)
    for n in (1, 7, 8, 64, 65, 127, 300, 2050, 20000):
        x = ORDERS[order](random, n, most).astype(dtype)
        ranks = np.unique(random.integers(0, n, 3))
        for library in quicksorts:
            name = f"of_argpartition_u{8 * x.itemsize}"
            positions, scratch = np.full(n + 16, 77), np.full(2 * n + 8 + 16, 77)
            kind(pointer.in_dll(library, name).value)(
                *(1, n, 1, -2, 1, x.ctypes.data, ranks.size, ranks.ctypes.data),
                *(positions.ctypes.data, 1, scratch.ctypes.data),
            )
            assert np.all(positions[n:] == 77)
            assert np.all(scratch[2 * n + 8 :] == 77)
            np.testing.assert_array_equal(np.sort(positions[:n]), np.arange(n))
            found, ends = x[positions[:n]], [0, *ranks, n]
            parts = [np.sort(found[a:b]) for a, b in pairwise(ends)]
            np.testing.assert_array_equal(np.concatenate(parts), np.sort(x))
            np.testing.assert_array_equal(found[ranks], np.sort(x)[ranks])


@pytest.mark.sanitized
def test_nothing_is_read_or_written_outside(tmp_path):
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    program = build(tmp_path, source(SANITIZED), "check", *flags)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_helpers_compile_without_openmp(tmp_path):
    (tmp_path / "plain.c").write_text(source())
    flags = [f for f in FLAGS if f != "-fopenmp"]
    flags += ["-Wno-unknown-pragmas", "-Wno-unused-function", "-c"]
    command = ["gcc", *flags, str(tmp_path / "plain.c"), "-o", str(tmp_path / "plain.o")]
    subprocess.run(command, check=True)
