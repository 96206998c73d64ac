"""CUDA text as nvcc compiles it, without a warning, for two generations of GPUs; and as a GPU runs
it, where there is one.

`make cuda` has an environment with nvcc; elsewhere these tests are skipped.
"""

import ctypes

import numpy as np
import pytest
from cuda_device import NO_NVCC, NVCC, compile_for, run_on_device, shared_object, why_not
from cuda_programs import WIDE, lowered
from graphs import random_graph
from primitive_programs import array_program, elementwise_program
from test_cuda_effects import CODES
from test_cuda_effects import X as NUMBERS
from test_cuda_epilogues import DTYPES as DTYPES_OF_EPILOGUES
from test_cuda_epilogues import FUNCTIONS as WITH_EPILOGUES
from test_cuda_epilogues import check_epilogue, text_of
from test_cuda_gathers import CONVOLUTIONS, check_convolution, convolved
from test_cuda_lengths import FUNCTIONS
from test_cuda_primitives import BY_NAME, check_arrays, check_elementwise, some
from test_cuda_programs import GPUS, PROGRAMS, check_drawn, check_program
from test_cuda_routines import (
    DECOMPOSITIONS,
    DTYPES,
    LARGE,
    PREFIXES,
    TRANSFORMS,
    check_batch,
    check_blocked,
    check_columns,
    check_cumulative_sum,
    check_decomposition,
    check_eigenvectors,
    check_order,
    check_prefixes,
    check_product,
    check_sorts,
    check_tensor_floats,
    check_transform,
)
from test_cuda_scatters import SCATTERS, TABLES, check_scatters
from test_cuda_spectra import (
    LENGTHS,
    SINGULAR,
    SQUARE,
    check_eigenvalues,
    check_length,
    check_singular_values,
    check_square_root,
    stage_of_length,
)
from thorough import each, one_in

import transpile
import transpile.scipy.linalg
from transpile import lax
from transpile.options import Options
from transpile.targets.cuda.gpu import USUAL
from transpile.targets.cuda.render import cuda_text

pytestmark = pytest.mark.skipif(NVCC is None, reason=NO_NVCC)
FEW = 16  # cases of a graph
on_a_gpu = pytest.mark.skipif(why_not() != "", reason=f"no GPU: {why_not()}")


def compiled(text, folder, generation):
    """Compile a text for a GPU; AssertionError with what nvcc says."""
    compile_for(text, folder / "program.cubin", generation, "-cubin")


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_80",))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, generation, tmp_path):
    function, arguments = PROGRAMS[name]
    text = transpile.jit(function).lower(*arguments).as_text("cuda")
    compiled(text, tmp_path, generation)


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_90",))
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters(name, generation, tmp_path):
    function, arguments = SCATTERS[name]
    text = transpile.jit(function).lower(*arguments).as_text("cuda")
    compiled(text, tmp_path, generation)


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_90",))
@pytest.mark.parametrize("name", BY_NAME)
def test_elementwise_primitives(name, generation, tmp_path):
    batch = elementwise_program(BY_NAME[name])
    # nvcc takes more than twice as long for twice as many in one kernel.
    for first in range(0, len(batch.cases), FEW):
        graph, _, _ = some(batch, lambda number, _, first=first: number // FEW * FEW == first)
        compiled(cuda_text(lowered(graph, Options()), Options()), tmp_path, generation)


ROUTINES = {
    "products": lambda x: (x @ x, x[:3] @ x, x[:, :3].T @ x, (x + 1j * x) @ x),
    "tensor floats": lambda x: (
        lax.dot(x, x, precision="high"),
        lax.dot(x.T, x, precision="high"),
        lax.batch_matmul(x.reshape(4, 32, 128), x.reshape(4, 128, 32), precision="high"),
    ),
    "halves": lambda x: x.astype(np.float16) @ x.astype(np.float16).T,
    "sums and sorts": lambda x: (
        np.cumsum(x),
        np.minimum.accumulate(x, axis=1),
        np.sort(x.ravel()),
        np.argsort(x.ravel()),
    ),
    "transforms": lambda x: (np.fft.fft2(x), np.fft.rfft(x.ravel()), np.fft.irfft(x)),
    "decompositions": lambda x: (np.linalg.solve(x, x), np.linalg.qr(x), np.linalg.eigh(x)),
    "cholesky": np.linalg.cholesky,
    "spectra": lambda x: (
        np.linalg.svd(x),
        np.linalg.svd(x, compute_uv=False),
        np.linalg.eig(x),
        np.linalg.eigvals(x),
        lax.linalg.schur(x),
        transpile.scipy.linalg.sqrtm(x),
    ),
}


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_80",))
@each("dtype", ("float32", "float64", "complex64"), ordinary=("float32",))
@pytest.mark.parametrize("name", ROUTINES)
def test_routines(name, dtype, generation, tmp_path):
    if np.dtype(dtype).kind == "c" and name in ("halves", "transforms", "sums and sorts"):
        return
    if dtype != "float32" and name == "tensor floats":
        return
    text = transpile.jit(ROUTINES[name]).lower(np.ones((128, 128), dtype)).as_text("cuda")
    compiled(text, tmp_path, generation)


EPILOGUES = {
    "float32": lambda x: np.tanh(x @ x + x[0]),
    "float64": lambda x: (x + x @ x, np.moveaxis((x @ x.T).reshape(8, 16, 128), 2, 1) * 2),
    "float16": lambda x: np.maximum(x @ x + x[0], 0),
    "complex64": lambda x: np.exp(x @ x) + x,
    "tensor floats": lambda x: lax.dot(x, x, precision="high") * 2,
}


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_90",))
@each("gpu", ("usual", "large"), ordinary=("large",))
@each("name", tuple(EPILOGUES), ordinary=("float32", "float16"))
def test_epilogues(name, gpu, generation, tmp_path):
    x = np.ones((128, 128), "float32" if name == "tensor floats" else name)
    stage = transpile.jit(EPILOGUES[name]).lower(x)
    text = text_of(stage, {"usual": USUAL, "large": LARGE}[gpu])
    assert "_then_" in text
    compiled(text, tmp_path, generation)


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_80",))
@each("dtype", ("float32", "float64", "float16", "tensor floats"), ordinary=("float32",))
@each("name", tuple(CONVOLUTIONS), ordinary=("padded", "channels last"))
def test_convolutions(name, dtype, generation, tmp_path):
    x, w, options = CONVOLUTIONS[name]
    own = "float32" if dtype == "tensor floats" else dtype
    types = [transpile.ShapeDtypeStruct(shape, own) for shape in (x, w)]
    with transpile.default_matmul_precision("high" if dtype == "tensor floats" else None):
        stage = transpile.jit(convolved(options)).lower(*types)
    text = text_of(stage, LARGE)
    assert ("_gathered_" in text) == (dtype != "float16")
    compiled(text, tmp_path, generation)


@each("gpu", ("usual", *GPUS), ordinary=("wide",))
@each("name", tuple(BY_NAME), ordinary=("f64", "bool", "f16", "c64"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_primitives_over_arrays(name, gpu, tmp_path):
    graph, _, _ = some(array_program(BY_NAME[name]), lambda *_: True)
    program = lowered(graph, Options())
    text = cuda_text(program, Options(), gpu=GPUS.get(gpu, USUAL))
    compiled(text, tmp_path, "sm_80")


@each("name", LENGTHS, ordinary=("a prime of floats", "columns of a size"))
def test_transforms(name, tmp_path):
    compiled(stage_of_length(name)[0].as_text("cuda"), tmp_path, "sm_90")


def test_runtime_sizes(tmp_path):
    n = transpile.ShapeDtypeStruct(("n", 40), np.float64)
    text = transpile.jit(PROGRAMS["softmax"][0]).lower(n).as_text("cuda")
    compiled(text, tmp_path, "sm_80")


@pytest.mark.parametrize("name", (*CODES, *FUNCTIONS))
def test_errors_and_lengths(name, tmp_path):
    function, x = (CODES[name][0], NUMBERS) if name in CODES else (FUNCTIONS[name], np.ones(3000))
    compiled(transpile.jit(function).lower(x).as_text("cuda"), tmp_path, "sm_80")


def test_what_others_have_written_is_read_behind_a_barrier(tmp_path):
    """The numbers that atomics have changed are loaded again by the threads that stored them."""
    x, places = np.zeros((300, 3), np.uint8), np.zeros(6, np.int64)

    def added(x, places):
        return transpile.numpy.asarray(x).at[places].add(x[:6])

    text = transpile.jit(added).lower(x, places).as_text("cuda")
    compile_for(text, tmp_path / "program.ptx", "sm_80", "-ptx")
    _, *behind = (tmp_path / "program.ptx").read_text().split("atom.global.add.u32")
    assert len(behind) == 1
    assert behind[0].rpartition("bar.sync")[2].count("ld.global.u32") == 4


def test_a_program_is_a_shared_object(shared_cache):
    text = transpile.jit(PROGRAMS["softmax"][0]).lower(np.ones((3, 4))).as_text("cuda")
    library = ctypes.CDLL(str(shared_object(text, "sm_80")))
    library.softmax_workspace_size.restype = ctypes.c_size_t
    assert library.softmax_workspace_size() == 0


# ------------------------------------------------------------------------------------ on a GPU


@on_a_gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_a_gpu(name):
    check_program(name, USUAL, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("gpu", (USUAL, WIDE, TABLES), ids=("usual", "wide", "tables"))
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters_on_a_gpu(name, gpu):
    check_scatters(name, gpu, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("name", BY_NAME)
@one_in(3)
def test_elementwise_primitives_on_a_gpu(name):
    check_elementwise(name, USUAL, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("gpu", ("usual", *GPUS))
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_primitives_over_arrays_on_a_gpu(name, gpu):
    check_arrays(name, GPUS.get(gpu, USUAL), lambda *_: True, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("seed", range(50))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_drawn_graphs_on_a_gpu(seed):
    check_drawn(*random_graph(seed), Options(), USUAL, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_on_a_gpu(dtype):
    for shape in ((300, 260, 515), (1, 1000, 700), (1000, 16, 700)):
        check_product(shape, dtype, run_on_device, USUAL)
    check_product((300, 260, 515), dtype, run_on_device, LARGE)
    for order in ("a' b'", "strided"):
        check_order(order, dtype, 136, 72, 100, run_on_device, LARGE)
    check_batch((6, 33, 18, 20), dtype, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("order", ("a b", "a' b", "a b'"))
def test_products_on_tensor_cores_of_a_gpu(order):
    check_tensor_floats((300, 260, 515), order, run_on_device, USUAL)
    check_tensor_floats((300, 260, 515), order, run_on_device, LARGE)


@on_a_gpu
@pytest.mark.parametrize("dtype", DTYPES_OF_EPILOGUES[:-1])
@pytest.mark.parametrize("name", WITH_EPILOGUES)
def test_epilogues_on_a_gpu(name, dtype):
    launches = 3 if (name, dtype) == ("a network", "bfloat16") else None
    check_epilogue(name, dtype, run_on_device, LARGE, launches)


@on_a_gpu
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_on_a_gpu(name, dtype):
    launches = 2 if name == "channels last" else 1
    check_convolution(name, dtype, run_on_device, LARGE, launches)


@on_a_gpu
@pytest.mark.parametrize("name", PREFIXES)
def test_prefixes_on_a_gpu(name):
    check_prefixes(name, run_on_device)
    check_columns(name, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_cumulative_sums_on_a_gpu(dtype):
    for shape, reverse in (((3, 9000), True), ((200, 9000), False), ((1_000_003,), True)):
        check_cumulative_sum(shape, dtype, reverse, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("name", BY_NAME)
def test_sorts_on_a_gpu(name):
    for shape in ((2, 300), (2, 100_000)):
        check_sorts(BY_NAME[name], shape, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("name", TRANSFORMS)
def test_fourier_transforms_on_a_gpu(name):
    for single in (False, True):
        check_transform(name, single, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("dtype", DTYPES[2:])
def test_large_matrices_on_a_gpu(dtype):
    check_blocked(dtype, 200, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("dtype", DTYPES[2:])
def test_decompositions_on_a_gpu(dtype):
    for name in DECOMPOSITIONS:
        check_decomposition(name, dtype, run_on_device, USUAL)
    check_eigenvectors(dtype, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("dtype", DTYPES[2:])
def test_spectra_on_a_gpu(dtype):
    for name in SINGULAR:
        check_singular_values(name, dtype, run_on_device, USUAL)
    for name in SQUARE:
        check_eigenvalues(name, dtype, run_on_device, USUAL)
    check_square_root(dtype, run_on_device, USUAL)


@on_a_gpu
@pytest.mark.parametrize("name", LENGTHS)
def test_transforms_of_every_length_on_a_gpu(name):
    check_length(name, run_on_device, USUAL)
