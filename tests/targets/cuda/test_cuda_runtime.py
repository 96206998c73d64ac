"""Programs on a GPU by the runtime: calls, arrays, streams, memory, errors. Where there is no GPU,
the CPU takes its place (`support/cuda_runtime.py`), as late as it can."""

import os
import pickle
import re
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cuda_programs import FOLDER, compiled
from cuda_runtime import cudart_on_cpu, is_on_gpu, using_toolkit
from test_cuda_programs import PROGRAMS
from thorough import thorough

import transpile as tp
from transpile.artifact.provenance import read_provenance
from transpile.errors import (
    CompilerNotFoundError,
    DeviceNotFoundError,
    LaunchError,
    LibraryNotFoundError,
    UnsupportedError,
)
from transpile.targets.cuda.runtime import interop
from transpile.targets.cuda.runtime.streams import size_class
from transpile.targets.cuda.toolchain import cublas
from transpile.targets.cuda.toolchain.cudart import cudart
from transpile.targets.cuda.toolchain.nvcc import find_nvcc

on_the_cpu = pytest.mark.skipif(is_on_gpu(), reason="for the CPU in the place of a GPU")
X = np.arange(12.0).reshape(3, 4)


@pytest.fixture(scope="module", autouse=True)
def _toolkit():
    with using_toolkit():
        yield


@pytest.fixture
def gpu():
    return tp.devices("gpu")[0]


def scaled(x, y):
    return np.sqrt(x) * y + x


ON_GPU = tp.jit(scaled, device="cuda")
ANYWHERE = tp.jit(scaled)


def check(result, expected=None):
    assert isinstance(result, tp.Array) and str(result.device) == "cuda:0"
    np.testing.assert_allclose(np.asarray(result), scaled(X, 2) if expected is None else expected)


def test_calls_take_arrays_and_numbers_and_leave_results_on_the_device(gpu):
    result = ON_GPU(X, 2)
    check(result)
    check(ON_GPU(np.asfortranarray(X), 2.0))
    check(ON_GPU(result, 2), scaled(scaled(X, 2), 2))
    check(ANYWHERE(tp.device_put(X, gpu), 2))
    assert type(ANYWHERE(X, 2)) is np.ndarray
    assert (result.shape, result.dtype, result.ndim, result.size) == ((3, 4), X.dtype, 2, 12)
    assert (result.nbytes, result.devices(), len(result)) == (96, {gpu}, 3)
    assert tp.jit(scaled, backend="gpu").lower(X, 2).as_text() == ON_GPU.lower(X, 2).as_text()


def test_results_are_computed_when_somebody_asks(gpu):
    first = ON_GPU(X, 2)
    many = [first]
    for _ in range(20):  # free blocks are reused while the stream is behind
        many = [ON_GPU(many[0], 0.5)]
    expected = scaled(X, 2)
    for _ in range(20):
        expected = scaled(expected, 0.5)
    check(many[0].block_until_ready(), expected)
    assert many[0].is_ready() and tp.block_until_ready({"a": first, "b": X})["a"] is first
    tp.copy_to_host_async([first])
    check(first)


def test_default_device_and_auto_device(gpu):
    local = tp.jit(scaled, auto_device=False)
    with tp.default_device("cuda"):
        check(ANYWHERE(X, 2))
        check(ANYWHERE(X, 2))
        assert tp.default_backend() == "cuda" and type(local(X, 2)) is np.ndarray
        assert type(tp.jit(scaled, device="cpu")(X, 2)) is np.ndarray
        assert ANYWHERE.lower(X, 2).as_text() == ON_GPU.lower(X, 2).as_text()
        check(tp.device_put(X), X)
        with tp.default_device(tp.devices()[0]):
            assert type(ANYWHERE(X, 2)) is np.ndarray
    assert type(ANYWHERE(X, 2)) is np.ndarray
    tp.config.update("jax_default_device", gpu)
    try:
        check(ANYWHERE(X, 2))
        assert tp.config.jax_default_device is gpu
    finally:
        tp.config.update("jax_default_device", None)
    with pytest.raises(ValueError, match="'y' on the CPU"):
        local(tp.device_put(X, gpu), X)
    check(tp.jit(scaled, device="cuda", warm_up="numpy")(X, 2))
    with pytest.raises(ValueError, match="invalid value: tpu"):
        tp.jit(scaled, device="tpu")


def test_device_put_and_get(gpu):
    placed = tp.device_put({"a": X, "b": 2.5}, gpu)
    assert tp.device_put(placed["a"], "cuda") is placed["a"]
    check(placed["b"], 2.5)
    back = tp.device_get(placed)
    assert type(back["a"]) is np.ndarray and type(tp.device_put(placed["b"], "cpu")) is np.ndarray
    np.testing.assert_array_equal(back["a"], X)
    key = tp.device_put(tp.random.key(3), gpu)
    draw = tp.jit(lambda k: tp.random.normal(k, (5,)))
    np.testing.assert_allclose(draw(key), draw(tp.random.key(3)), rtol=1e-13)
    assert tp.device_get(key) == tp.random.key(3)


def test_arrays_have_views_and_values(gpu):
    d = tp.device_put(X, gpu)
    check(d[1], X[1])
    check(d[-1:], X[-1:])
    check(d.reshape(2, -1), X.reshape(2, -1))
    assert d[1].unsafe_buffer_pointer() == d.unsafe_buffer_pointer() + 32
    assert (float(d[1, 2]), int(d[2, 0]), bool(d[0, 0]), d[0].tolist()) == (
        6,
        8,
        False,
        [0, 1, 2, 3],
    )
    assert repr(d[0]) == "Array([0., 1., 2., 3.], dtype=float64, device='cuda:0')"
    check(pickle.loads(pickle.dumps(d)), X)
    assert d.copy().unsafe_buffer_pointer() != d.unsafe_buffer_pointer()
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        d[3]
    with pytest.raises(ValueError, match="cannot reshape array of size 12"):
        d.reshape(5, 2)
    odd = tp.device_put(np.arange(5.0), gpu)[1:]  # begins where no program reads
    check(tp.jit(lambda x: x + 1)(odd), np.arange(2.0, 6.0))


def test_operators_and_functions_stay_on_the_device(gpu):
    d = tp.device_put(X, gpu)
    check(2 * d + X, 3 * X)
    check(np.concatenate([d.T, d.T], axis=1)[0], [0, 4, 8, 0, 4, 8])
    check(d.at[0].set(7.0).max(axis=0), [8, 9, 10, 11])
    with pytest.raises(TypeError, match=r"write x = x.at\[index\].set"):
        d[0] = 1
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = d.nonsense


def test_transformations_and_loops(gpu):
    def loss(p, x):
        return (np.tanh(x @ p["w"]) ** 2).sum()

    def trained(p, x):
        step = lambda _, p: {"w": p["w"] - 0.1 * tp.grad(loss)(p, x)["w"]}
        return tp.lax.fori_loop(0, 3, step, p)

    p = {"w": np.ones((4, 2)) / 4}
    result = tp.jit(trained, device="cuda", donate_argnums=0)(p, X)
    check(result["w"], tp.jit(trained)(p, X)["w"])
    check(tp.jit(tp.vmap(np.sum), device="cuda")(X), X.sum(axis=1))


def test_a_loop_whose_predicate_the_host_reads(gpu):
    def halved(x):
        return tp.lax.while_loop(lambda x: (x * x).sum() > 1, lambda x: 0.5 * x, x)

    x = np.full(1 << 17, 2.0**-8, np.float32)
    on_gpu = tp.jit(halved, device="cuda")
    assert "read_back" in on_gpu.lower(x).as_text("cuda")
    check(on_gpu(x), x / 2)


def test_static_arguments_runtime_sizes_and_dynamic_mode(gpu):
    power = tp.jit(lambda x, n: x**n, static_argnums=1, device="cuda")
    check(power(X, 2), X**2)
    sums = tp.jit(np.cumsum, dynamic_shapes=True, device="cuda")
    for count in (5, 7):
        check(sums(np.arange(float(count))), np.arange(count).cumsum())
    assert sums._cache_size() == 1
    signed = tp.djit(lambda x: x if x.sum() > 0 else -x)
    check(signed(tp.device_put(-X, gpu)), X)


def test_donated_and_assigned_arguments(gpu):
    d = tp.device_put(X, gpu)
    check(tp.jit(lambda x: x + 1, donate_argnums=0)(d), X + 1)
    assert d.is_deleted() and repr(d) == "<deleted array of cuda:0>"
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        np.asarray(d)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        ON_GPU(d, 2)

    def assign(x, y):
        x[0] = y
        return x[0, 0] + y

    known = X.copy()
    check(tp.jit(assign, device="cuda")(known, 5.0), 10)
    assert known[0, 0] == 5
    e = tp.device_put(X, gpu)
    e.copy_to_host_async()
    check(tp.jit(assign)(e, 5.0), 10)
    check(e, known)


def test_stages(gpu):
    compiled = ON_GPU.lower(X, 2.0).compile()
    check(compiled(X, 2.0))
    assert "__global__" in compiled.as_text() and "restrict" in compiled.as_text("c")
    assert compiled.memory_analysis().output_size_in_bytes == X.nbytes
    assert compiled.cost_analysis()["flops"] == ANYWHERE.lower(X, 2.0).cost_analysis()["flops"]
    assert ".target" in compiled.as_text("asm")
    check(pickle.loads(pickle.dumps(compiled))(X, 2.0))
    check(ANYWHERE.lower(X, 2.0).compile({"device": "cuda"})(X, 2.0))
    with pytest.raises(
        TypeError, match=r"compiled with float64\[3,4\] and called with float64\[4\]"
    ):
        compiled(X[0], 2.0)
    with pytest.raises(ValueError, match="'march' takes 'auto', or architectures such as 'sm_90'"):
        ON_GPU.lower(X, 2.0).compile({"march": "x86-64"})
    with pytest.raises(UnsupportedError, match="'sanitize' is for C"):
        ON_GPU.lower(X, 2.0).compile({"sanitize": True})


def test_saved_files(tmp_path, gpu):
    paths = ON_GPU.lower(X, 2.0).save(tmp_path, "scaling")
    assert {path.name for path in paths} == {"scaling.so", "scaling.h", "scaling.cu"}
    header = (tmp_path / "scaling.h").read_text()
    assert "int scaling(const double *x, const double *y, double *out, void *workspace" in header
    assert '#include "scaling.h"' in (tmp_path / "scaling.cu").read_text()
    for name in ("scaling.so", "scaling.cu"):
        (made,) = read_provenance(tmp_path / name)
        assert (
            made["source"].startswith("test_cuda_runtime.py:")
            and "cuda" in made["options"]["device"]
        )
    library = Path(cudart().path)
    program, folders = tmp_path / "program", (tmp_path, library.parent)
    words = [w for folder in folders for w in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    linked = ["-l:scaling.so", f"-l:{library.name}"]
    source = FOLDER / "host_program.c"
    compiled(["gcc", "-Wall", "-Werror", f"-I{tmp_path}", source, *words, *linked, "-o", program])
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    first, *numbers = done.stdout.split()
    assert first == "success"
    np.testing.assert_allclose(np.array(numbers, float).reshape(X.shape), scaled(X, 2))


def test_products_of_nvidias_library(tmp_path, gpu):
    x = np.random.default_rng(3).normal(size=(340, 340)).astype(np.float16)

    def product(x, y):
        return x @ y

    def compiled_with(libraries):
        options = {} if libraries is None else {"cuda_libraries": libraries}
        return tp.jit(product, device="cuda", compiler_options=options).lower(x, x)

    expected = x.astype(np.float32) @ x.astype(np.float32)
    for libraries, is_called in ((None, True), ("none", False), ("cublas", True)):
        compiled = compiled_with(libraries).compile()
        assert ("library_matmul(1, 340, " in compiled.as_text()) == is_called
        np.testing.assert_allclose(np.asarray(compiled(x, x)), expected, rtol=2e-3, atol=2e-3)
    assert "library_matmul" not in compiled_with(None).as_text()
    # Parts of the host are linked by the compiler of C: they need no library of C++.
    parts = list(Path(os.environ["TRANSPILE_CACHE_DIR"]).glob("product-*/program.so"))
    assert parts
    for part in parts:
        words = ["nm", "--dynamic", "--undefined-only", part]
        needed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert re.findall(r" (_Z\w+|__cxa_g\w+)", needed) == []
    paths = compiled_with("cublas").save(tmp_path, "of_the_library")
    assert {path.suffix for path in paths} == {".so", ".h", ".cu"}
    assert "cuBLASLt" in (tmp_path / "of_the_library.h").read_text()
    assert b"libcublasLt.so" in (tmp_path / "of_the_library.so").read_bytes()
    compiled_with(None).save(tmp_path, "ours")
    assert "cuBLASLt" not in (tmp_path / "ours.h").read_text()


def test_a_library_that_is_missing_is_said(monkeypatch, gpu):
    monkeypatch.setattr(cublas, "find_cublas", lambda: None)
    asks = tp.jit(scaled, device="cuda", compiler_options={"cuda_libraries": "cublas"})
    with pytest.raises(LibraryNotFoundError, match=r"neither beside nvcc nor .* nvidia-cublas"):
        asks(X, 2)
    check(tp.jit(scaled, device="cuda")(X, 2))
    with pytest.raises(ValueError, match="takes 'auto', 'none' or 'cublas', not 'cudnn'"):
        tp.jit(scaled, compiler_options={"cuda_libraries": "cudnn"})


def test_streams_wait_for_each_other(gpu):
    d = tp.device_put(X, gpu)
    first = ON_GPU(d, 2)
    with gpu.stream() as own:
        assert own.handle and gpu.current.stream is own
        second = ON_GPU(first, 2)
        assert second.stream is own
        del first  # its memory is not reused before `own` has read it
    with gpu.stream(own):
        ON_GPU(d, 3)
    junk = [ON_GPU(d, 100) for _ in range(4)]
    check(second, scaled(scaled(X, 2), 2))
    check(junk[0], scaled(X, 100))
    with pytest.raises(TypeError, match="a stream, or its address, is wanted"):
        gpu.stream("x").__enter__()


def test_memory_is_kept_and_given_back(gpu):
    gpu.empty_cache()
    before = gpu.memory_stats()
    d = tp.device_put(np.zeros(10_000), gpu)
    used = gpu.memory_stats()["bytes_in_use"] - before["bytes_in_use"]
    assert used == size_class(80_000) < 100_000
    del d
    after = gpu.memory_stats()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["bytes_reserved"] - before["bytes_reserved"] == used
    gpu.empty_cache()
    assert gpu.memory_stats()["bytes_reserved"] == before["bytes_reserved"]
    for size in (0, 1, 511, 512, 513, 5000, 1 << 20, (1 << 20) + 1, 1 << 33):
        assert size <= size_class(size) <= max(512, size * 5 // 4 + 512)
        assert size_class(size) % 512 == 0


class Foreign:
    """An array of another library: by DLPack, of a version or without, or by the interface."""

    def __init__(self, array, has_versions=True):
        self.array, self.has_versions = array, has_versions

    def __dlpack__(self, **asked):
        if not self.has_versions and "max_version" in asked:
            raise TypeError("no versions")
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Described:
    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


@pytest.mark.parametrize("has_versions", [True, False])
def test_arrays_of_other_libraries_share_memory(gpu, has_versions):
    d = tp.device_put(X, gpu)
    given = Foreign(d, has_versions)
    check(ANYWHERE(given, 2))
    taken = tp.device_put(given, gpu)
    assert taken.unsafe_buffer_pointer() == d.unsafe_buffer_pointer()
    count = len(interop._given)
    del taken
    gpu.synchronize()
    gpu.synchronize()
    assert len(interop._given) < count
    d.__dlpack__()  # which nobody takes
    with pytest.raises((RuntimeError, BufferError)):
        np.from_dlpack(d)  # nor does NumPy, while an exception is on its way
    assert len(interop._given) < count
    assert tp.dlpack.from_dlpack(given).unsafe_buffer_pointer() == d.unsafe_buffer_pointer()


def test_interfaces_and_strides(gpu):
    d = tp.device_put(X, gpu)
    check(ANYWHERE(Described(d), 2))
    turned = Described(d, shape=(4, 3), strides=(8, 32))
    check(ANYWHERE(turned, 2), scaled(X.T, 2))
    fixed = Described(d, data=(d.unsafe_buffer_pointer(), True))

    @tp.jit
    def assign(x):
        x[0] = 1.0
        return x.sum()

    with pytest.raises(ValueError, match="assignment destination is read-only: argument 'x'"):
        assign(fixed)


@thorough
def test_the_page_about_gpus_is_true(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "cuda.md").read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)))
    runpy.run_path(str(script))


def test_decompositions_of_arrays_on_the_device(gpu):
    values = tp.jit(lambda x: np.linalg.svd(x, compute_uv=False), device="cuda")(X)
    np.testing.assert_allclose(np.asarray(values), np.linalg.svd(X, compute_uv=False), atol=1e-12)


@on_the_cpu
def test_a_launch_that_is_refused_names_the_kernel_and_its_line(gpu):
    ON_GPU(X, 2)
    cudart_on_cpu().cudart_on_cpu_refuse(9)
    with pytest.raises(LaunchError, match="scaled_kernel was not launched") as caught:
        ON_GPU(X, 2)
    assert "invalid configuration" in str(caught.value)
    assert "return np.sqrt(x) * y + x" in str(caught.value)
    check(ON_GPU(X, 2))


@on_the_cpu
def test_memory_that_runs_out(gpu):
    gpu.empty_cache()
    kept = tp.device_put(np.zeros(1 << 16), gpu)
    del kept
    library = cudart_on_cpu()
    before = gpu.memory_stats()
    used = before["bytes_limit"] - before["bytes_available"]  # also what other tests have kept
    library.cudart_on_cpu_limit(used + 4096)
    try:
        check(tp.device_put(np.ones(1 << 15), gpu)[:2], [1, 1])  # what is kept is given back
        with pytest.raises(MemoryError, match="of the memory of cuda:0"):
            tp.device_put(np.zeros(1 << 20), gpu)
    finally:
        library.cudart_on_cpu_limit(1 << 30)


@on_the_cpu
def test_what_is_missing_is_said(monkeypatch, tmp_path):
    for count, reason in (("0", "the driver is there and has no device"), ("-1", "no driver")):
        monkeypatch.setenv("CUDART_ON_CPU_DEVICES", count)
        with using_toolkit():
            with pytest.raises(RuntimeError, match=f"'gpu' requested, but no platforms.*{reason}"):
                tp.devices("gpu")
            with pytest.raises(DeviceNotFoundError, match=reason):
                tp.jit(lambda x: x - 3, device="cuda")(X)
    with (
        using_toolkit(tmp_path),
        pytest.raises(CompilerNotFoundError, match=r"which the .* CUDA_HOME"),
    ):
        find_nvcc()


@on_the_cpu
@thorough
def test_several_devices(monkeypatch):
    monkeypatch.setenv("CUDART_ON_CPU_DEVICES", "2")
    with using_toolkit():
        first, second = tp.devices("gpu")
        a, b = tp.device_put(X, first), tp.device_put(X, second)
        assert str(tp.jit(scaled)(b, 2).device) == "cuda:1"
        assert str(tp.jit(scaled, device="cuda:1")(X, 2).device) == "cuda:1"
        np.testing.assert_array_equal(tp.device_put(b, first), X)
        with pytest.raises(ValueError, match="'x' on cuda:0, 'y' on cuda:1"):
            tp.jit(scaled)(a, b)


def test_large_copies_to_the_host_have_memory_of_their_own(gpu):
    many = np.arange(300_000.0)
    d = tp.device_put(many, gpu)
    first = np.asarray(d)
    address = first.ctypes.data
    second = np.asarray(d + 1)
    np.testing.assert_array_equal(first, many)
    np.testing.assert_array_equal(second, many + 1)
    assert first.flags.writeable and second.ctypes.data != address
    del first
    assert np.asarray(d).ctypes.data == address  # what nobody has any more is used again


def test_programs_called_as_functions_of_cuda_have_another_name():
    def norm(x):
        return np.sqrt((x * x).sum())

    text = tp.jit(norm, device="cuda").lower(X).as_text()
    assert 'extern "C" int x_norm(' in text


def test_functions_for_platforms_are_chosen_by_the_device():
    def chosen(x):
        return tp.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2)

    assert "+ 2.0" in tp.jit(chosen, device="cuda").lower(X).as_text()
    np.testing.assert_array_equal(tp.jit(chosen)(X), X + 1)


@thorough
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_mapping_run(name, gpu):
    function, arguments = PROGRAMS[name]
    expected = tp.tree.leaves(tp.jit(function)(*arguments))
    results = tp.tree.leaves(tp.jit(function, device="cuda")(*arguments))
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), value, rtol=1e-5, atol=1e-5)
