"""Large helpers are compiled once, into object files that programs for Python are linked with."""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from thorough import one_in, thorough

import transpile
from transpile.build import toolchain
from transpile.symbols import c_helpers

PROGRAM = """
import sys
import numpy as np
import transpile
n = int(sys.argv[1])
x = np.linspace(0, 1, n * n).reshape(n, n)
print(np.abs(transpile.jit(lambda x: x @ x)(x) - x @ x).max() < 1e-12 * n)
"""


def product(x, y):
    return np.tanh(x) @ y


def square(x):
    return x @ x


def convolution(x, w):
    return transpile.lax.conv_general_dilated(x, w, (1, 1), "SAME")


def spectrum(x):
    return np.fft.ifft(np.fft.fft(x) * 2).real


def order(x):
    return np.sort(x, 0), np.argsort(x, -1), np.cumsum(x, 1)


@pytest.fixture
def compilers(monkeypatch):
    """The names of the C files for which a compiler was started, but that of the pool."""
    started = []
    original = toolchain.run

    def run(command, directory, source, limit=0.0):
        if source.name != "threads.c" and source.name in command:  # else it links
            started.append(source.name)
        return original(command, directory, source, limit)

    monkeypatch.setattr(toolchain, "run", run)
    return started


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def of_saved(compiled, arguments, results, folder):
    """What the function gives that a saved program exports."""
    library = ctypes.CDLL(str(compiled.save(folder, "saved")[0]))
    library.saved_workspace_size.restype = ctypes.c_size_t
    work = np.empty(max(library.saved_workspace_size(), 1), np.uint8)
    outputs = [np.empty_like(r) for r in results]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arguments, *outputs, work)]
    assert library.saved(*pointers) == 0
    return outputs


def drawn(data, shape, dtype):
    seed = data.draw(st.integers(0, 1000))
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@thorough
@pytest.mark.full_level
@pytest.mark.parametrize(
    ("function", "dtype"),
    [(product, "f4"), (product, "f8"), (convolution, "f4"), (spectrum, "f8"), (order, "f4")],
)
@given(data=st.data())
@settings(max_examples=1, phases=[Phase.generate])
@one_in(3)
def test_saved_programs_compute_the_same_bits(function, dtype, data, tmp_path_factory):
    sizes = data.draw(st.lists(st.integers(33, 90), min_size=3, max_size=3))
    m, n, k = sizes
    arguments = {
        product: lambda: [drawn(data, (m, k), dtype), drawn(data, (k, n), dtype)],
        convolution: lambda: [drawn(data, (2, 9, m, 9), dtype), drawn(data, (12, 9, 3, 3), dtype)],
    }.get(function, lambda: [drawn(data, (m, n), dtype)])()
    compiled = transpile.jit(function).lower(*arguments).compile()
    results = transpile.tree.leaves(compiled(*arguments))
    saved = of_saved(compiled, arguments, results, tmp_path_factory.mktemp("saved"))
    for ours, theirs in zip(results, saved, strict=True):
        np.testing.assert_array_equal(ours.view(np.uint8), theirs.view(np.uint8))


def test_a_helper_is_compiled_once_for_all_programs(cache, compilers):
    x = np.ones((70, 70))
    np.testing.assert_array_equal(transpile.jit(lambda x: x @ x)(x), x @ x)
    assert compilers == ["matmul_f64.c", "matmul_microkernel_f64.c", "entry.c"]
    np.testing.assert_array_equal(transpile.jit(lambda x: x @ x + 1)(x), x @ x + 1)
    assert compilers[3:] == ["entry.c"]
    transpile.jit(lambda x: x @ x)(x.astype("f4"))
    assert compilers[4:] == ["matmul_f32.c", "matmul_microkernel_f32.c", "entry.c"]


def test_helpers_share_the_files_of_their_long_functions(cache, compilers):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 32))
    np.testing.assert_allclose(transpile.jit(np.fft.rfft)(x), np.fft.rfft(x))
    assert "fft_real_alone_c128.c" in compilers and "fft_lanes_f64.c" in compilers
    compilers.clear()
    np.testing.assert_allclose(transpile.jit(np.fft.ifft)(x + 1j), np.fft.ifft(x + 1j))
    assert compilers == ["fft_complex_alone_c128.c", "entry.c"]
    compilers.clear()
    many = rng.standard_normal((200, 32)) + 1j
    np.testing.assert_allclose(transpile.jit(np.fft.ifft)(many), np.fft.ifft(many))
    assert "fft_together_f64.c" in compilers and "fft_alone_f64.c" not in compilers


@pytest.mark.parametrize(
    "name",
    ["fft_real_alone_c64", "fft_complex_together_c64", "matmul_f64", "sort_u32", "conv_planes_f32"],
)
def test_long_functions_that_are_not_inlined_are_parts(name):
    least = 5000
    *inner, last = parts = c_helpers.parts(name, least)
    assert last == name and len(set(parts)) == len(parts)
    compiled = {part: c_helpers.needed([part], 0, parts) for part in parts}
    defined = {i.names[0] for items in compiled.values() for i in items if not i.is_declared}
    assert defined == {item.names[0] for item in c_helpers.needed([name])}
    for part in inner:
        items = compiled[part]
        assert items[-1].text.startswith("__attribute__((noinline))\nstatic "), part
        assert sum(len(item.text) for item in items) > least / 2, part
        # Before it come its own parts, which are parts wherever they are called.
        assert set(c_helpers.parts(part, least)) <= set(parts[: parts.index(part) + 1])
    # Nothing else that is kept apart is as long.
    for item in (each for items in compiled.values() for each in items):
        if item.text.startswith("__attribute__((noinline))") and item.names[0] not in parts:
            own = c_helpers.needed([item.names[0]], 0, parts)
            assert sum(len(each.text) for each in own if not each.is_declared) <= least


def test_what_changes_its_code_makes_another_object(cache, compilers):
    x = np.ones((70, 70))
    for options in (
        {},
        {"num_threads": 2},
        {"openmp": False},
        {"march": "x86-64"},
        {"opt_level": 1},
    ):
        compilers.clear()
        transpile.jit(lambda x: x @ x, compiler_options=options)(x)
        assert compilers[0] == "matmul_f64.c" and compilers[-1] == "entry.c", options


def test_a_program_keeps_its_text_and_no_object(cache):
    compiled = transpile.jit(lambda x: x @ x).lower(np.ones((70, 70))).compile()
    assert "static void matmul_blocks_f64(" in compiled.as_text("c")
    names = {path.name for path in cache.glob("_lambda_-*/*")}
    assert {"program.c", "entry.c", "program.so"} <= names
    assert not any(name.endswith(".o") or name == "linked.c" for name in names)


def test_small_helpers_and_batches_of_small_products_are_inlined(cache, compilers):
    transpile.jit(lambda x: x @ x)(np.ones((30, 8, 8)))
    transpile.jit(lambda x: np.sin(x))(np.ones(30))
    assert compilers == ["entry.c", "entry.c"]


def test_a_damaged_object_is_compiled_again(cache, compilers):
    x = np.ones((70, 70))
    transpile.jit(lambda x: x @ x)(x)
    [path] = cache.glob("transpile_matmul_f64-*/matmul_f64.o")
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))
    np.testing.assert_array_equal(transpile.jit(lambda x: x @ x + 1)(x), x @ x + 1)
    assert compilers[3:] == ["matmul_f64.c", "entry.c"]


def test_programs_do_without_the_object_once_they_are_linked(cache, compilers):
    x = np.ones((70, 70))
    transpile.jit(square)(x)
    [path] = cache.glob("transpile_matmul_f64-*/matmul_f64.o")
    path.unlink()
    compilers.clear()
    np.testing.assert_array_equal(transpile.jit(square)(x), x @ x)
    assert compilers == []


@thorough
def test_processes_that_start_together_compile_it_once(cache):
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(n)], stdout=subprocess.PIPE, text=True)
        for n in (70, 80, 90)
    ]
    assert [process.communicate()[0] for process in started] == ["True\n"] * 3
    assert len(list(Path(cache).glob("transpile_matmul_f64-*"))) == 1
