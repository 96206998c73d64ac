"""CUDA text as nvcc compiles it: without a warning, for two generations of GPUs. No GPU is needed.

`make cuda` has an environment with nvcc; elsewhere these tests are skipped.
"""

import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from primitive_programs import array_program, elementwise_program
from test_cuda_primitives import BY_NAME, NOT_YET, some
from test_cuda_programs import GPUS, PROGRAMS
from thorough import each

import transpile
from transpile.options import Options
from transpile.runtime.executable import Lowering
from transpile.targets.cuda.gpu import USUAL
from transpile.targets.cuda.render import cuda_text

# Where the package `nvidia-cuda-nvcc` puts it: the nvcc of a machine may be of any age.
NVCC = next(iter(Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin/nvcc")), None)
pytestmark = pytest.mark.skipif(
    NVCC is None, reason="no nvcc in this environment: `make cuda` installs it, the extra `cuda`"
)
FLAGS = ("-std=c++17", "--fmad=false", "-cubin", "-Werror", "all-warnings")


def compiled(text, folder, generation):
    """Compile a text for a GPU; AssertionError with what nvcc says."""
    source = folder / "program.cu"
    source.write_text(text)
    words = [NVCC, *FLAGS, f"-arch={generation}", source, "-o", folder / "program.cubin"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[:8000]


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_80",))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, generation, tmp_path):
    function, arguments = PROGRAMS[name]
    text = transpile.jit(function).lower(*arguments).as_text("cuda")
    compiled(text, tmp_path, generation)


@each("generation", ("sm_80", "sm_90"), ordinary=("sm_90",))
@pytest.mark.parametrize("name", BY_NAME)
def test_elementwise_primitives(name, generation, tmp_path):
    graph, _, _ = some(elementwise_program(BY_NAME[name]), lambda *_: True)
    program = Lowering(graph, Options())._pipeline.lowered
    compiled(cuda_text(program, Options()), tmp_path, generation)


@each("gpu", ("usual", *GPUS), ordinary=("wide",))
@each("name", tuple(BY_NAME), ordinary=("f64", "bool", "f16", "c64"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_primitives_over_arrays(name, gpu, tmp_path):
    graph, _, _ = some(array_program(BY_NAME[name]), lambda _, case: case[0] not in NOT_YET)
    program = Lowering(graph, Options())._pipeline.lowered
    text = cuda_text(program, Options(), gpu=GPUS.get(gpu, USUAL))
    compiled(text, tmp_path, "sm_80")


def test_runtime_sizes(tmp_path):
    n = transpile.ShapeDtypeStruct(("n", 40), np.float64)
    text = transpile.jit(PROGRAMS["softmax"][0]).lower(n).as_text("cuda")
    compiled(text, tmp_path, "sm_80")
