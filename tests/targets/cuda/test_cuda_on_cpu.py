"""What the CPU meaning of CUDA finds: races, barriers that not all threads reach, accesses outside
of arrays, reads of what nobody has written."""

import ctypes

import numpy as np
import pytest
from cuda_programs import built
from thorough import one_in

PROGRAM = """
#include <stdint.h>
template <int N> static __device__ void turned(int64_t *x)
{{
    __shared__ int64_t own[N];
    own[threadIdx.x] = threadIdx.x;
    x[N * blockIdx.x + threadIdx.x] = own[N - 1 - threadIdx.x];
}}

static __global__ void kernel(int64_t *x)
{{
    __shared__ int64_t shared[64];
    const int64_t t = threadIdx.x;
    shared[t] = t;
    (void)shared;
    (void)x;
    {body}
}}
extern "C" int program(int64_t *x, cudaStream_t stream)
{{
    LAUNCH(kernel, 2, 64, stream)(x);
    return cudaPeekAtLastError() != cudaSuccess;
}}
"""
WRONG = {
    "race in shared memory": (
        "x[64 * blockIdx.x + t] = t ? shared[t - 1] : 0;",
        "shared memory that thread",
    ),
    "race in the shared memory of a template": ("turned<64>(x);", "shared memory that thread"),
    "race in global memory": ("x[t / 2 + 32 * blockIdx.x] = t;", "global memory that thread"),
    "race between blocks": ("x[t] = t;", "of block"),
    "race behind a read": (
        "__syncthreads(); x[t + 64 * blockIdx.x] = t == 60 ? shared[5] : 0;"
        "if (t == 5) { shared[5] = 0; }",
        "has read",
    ),
    "a warp's barrier for two warps": (
        "__syncwarp(); x[64 * blockIdx.x + t] = shared[63 - t];",
        "shared memory that thread",
    ),
    "a shuffle is no barrier": (
        "x[64 * blockIdx.x + t] = __shfl_sync(0xffffffff, t, 0) + shared[t ^ 1];",
        "shared memory that thread",
    ),
    "a divergent barrier": (
        "if (t < 32) { __syncthreads(); }",
        "a barrier that not all threads reach",
    ),
    "two barriers": (
        "if (t < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}",
        "a barrier that not all threads reach",
    ),
    "an atomic addition and a read": (
        "__syncthreads(); atomicAdd((unsigned *)&shared[5], 1u);"
        "x[64 * blockIdx.x + t] = shared[5];",
        "shared memory that thread",
    ),
    "behind the end": ("if (t == 5) { x[128] = 1; }", "outside of all arrays"),
    "before the beginning": ("if (t == 5) { x[-1] = 1; }", "outside of all arrays"),
    "not written": ("x[64 * blockIdx.x + t] += 1;", "nobody has written"),
    "not written in shared memory": (
        "__shared__ int64_t other[64]; x[64 * blockIdx.x + t] = other[t];",
        "nobody has written",
    ),
}
RIGHT = {
    "barrier": "__syncthreads(); x[64 * blockIdx.x + t] = shared[63 - t];",
    "warp barrier": "__syncwarp(); x[64 * blockIdx.x + t] = shared[t ^ 31];",
    "atomic additions": """__syncthreads();
        atomicAdd((unsigned *)&shared[5], 1u);
        __syncthreads();
        x[64 * blockIdx.x + t] = shared[5];""",
    "shuffles": "x[64 * blockIdx.x + t] = __shfl_down_sync(0xffffffff, t, 1);",
}
BEFORE = -1


def run(body):
    """The array that a kernel writes, and what is wrong with it."""
    library = ctypes.CDLL(str(built(PROGRAM.format(body=body))))
    room = np.full(128 + 16, BEFORE, np.int64)
    x = room[8:136]
    address, size, filled = (
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_int64(x.nbytes),
        ctypes.c_int(0),
    )
    library.cuda_on_cpu_begin(1, ctypes.byref(address), ctypes.byref(size), ctypes.byref(filled))
    code = library.program(address, None)
    library.cuda_on_cpu_error.restype = ctypes.c_char_p
    error = library.cuda_on_cpu_error().decode()
    assert code == (error != "")
    assert (room[:8] == BEFORE).all() and (room[136:] == BEFORE).all()
    return x.reshape(2, 64), error


@pytest.mark.parametrize("name", WRONG)
@one_in(2)
def test_what_is_wrong_is_found(name):
    body, expected = WRONG[name]
    _, error = run(body)
    assert expected in error


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not(name):
    x, error = run(RIGHT[name])
    assert error == ""
    t = np.arange(64)
    below = np.where(t % 32 < 31, t + 1, t)
    expected = {"barrier": 63 - t, "warp barrier": t ^ 31, "shuffles": below}
    expected["atomic additions"] = 5 + 64
    expected = expected[name]
    assert (x == expected).all()
