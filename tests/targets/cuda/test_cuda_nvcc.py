"""CUDA text as nvcc compiles it, without a warning, for two generations of GPUs; and as a GPU runs
it, where there is one.

`make cuda` has an environment with nvcc; elsewhere these tests are skipped.
"""

import ctypes

import numpy as np
import pytest
from cuda_device import NO_NVCC, NVCC, compile_for, run_on_device, shared_object, why_not
from cuda_programs import lowered
from graphs import random_graph
from primitive_programs import array_program, elementwise_program
from test_cuda_primitives import BY_NAME, NOT_YET, check_arrays, check_elementwise, some
from test_cuda_programs import GPUS, PROGRAMS, check_drawn, check_program
from thorough import each

import transpile
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
@pytest.mark.parametrize("name", BY_NAME)
def test_elementwise_primitives(name, generation, tmp_path):
    batch = elementwise_program(BY_NAME[name])
    # nvcc takes more than twice as long for twice as many in one kernel.
    for first in range(0, len(batch.cases), FEW):
        graph, _, _ = some(batch, lambda number, _, first=first: number // FEW * FEW == first)
        compiled(cuda_text(lowered(graph, Options()), Options()), tmp_path, generation)


@each("gpu", ("usual", *GPUS), ordinary=("wide",))
@each("name", tuple(BY_NAME), ordinary=("f64", "bool", "f16", "c64"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_primitives_over_arrays(name, gpu, tmp_path):
    graph, _, _ = some(array_program(BY_NAME[name]), lambda _, case: case[0] not in NOT_YET)
    program = lowered(graph, Options())
    text = cuda_text(program, Options(), gpu=GPUS.get(gpu, USUAL))
    compiled(text, tmp_path, "sm_80")


def test_runtime_sizes(tmp_path):
    n = transpile.ShapeDtypeStruct(("n", 40), np.float64)
    text = transpile.jit(PROGRAMS["softmax"][0]).lower(n).as_text("cuda")
    compiled(text, tmp_path, "sm_80")


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
@pytest.mark.parametrize("name", BY_NAME)
def test_elementwise_primitives_on_a_gpu(name):
    check_elementwise(name, USUAL, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("gpu", ("usual", *GPUS))
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_primitives_over_arrays_on_a_gpu(name, gpu):
    check_arrays(name, GPUS.get(gpu, USUAL), lambda _, case: case[0] not in NOT_YET, run_on_device)


@on_a_gpu
@pytest.mark.parametrize("seed", range(50))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_drawn_graphs_on_a_gpu(seed):
    check_drawn(*random_graph(seed), Options(), USUAL, run_on_device)
