"""CUDA programs that run on the CPU: the rendered text, compiled by g++ with `cuda/cuda_on_cpu.h`,
which checks barriers, races and every access."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from transpile.targets.cuda.gpu import USUAL, Gpu
from transpile.targets.cuda.lowering import CudaLowering
from transpile.targets.cuda.render import cuda_text

# A GPU for which small arrays are large: each recipe of the mapping has something to do.
WIDE = Gpu(
    block=64, most_threads=128, least_grid_work=1, enough_iterations=64, enough_threads=64,
    enough_teams=16, least_split_work=64, shortest_slice=4, shortest_slice_of_row=16, tile=8,
    least_work_of_host=1,
)  # fmt: skip
FOLDER = Path(__file__).parent / "cuda"
HEADER = FOLDER / "cuda_on_cpu.h"
SHARED_MEMORY = FOLDER / "shared.ld"
# Contractions are ours to decide, as on the device (`nvcc --fmad=false`).
FLAGS = ("-std=c++17", "-fPIC", "-ffp-contract=off", "-march=native", "-Wall", "-Wextra", "-Werror")
# The functions of a program may be of use to no kernel of it, and drawn ones compare x with itself;
# `#pragma unroll` is nvcc's.
QUIET = ("-Wno-unused-function", "-Wno-tautological-compare", "-Wno-unknown-pragmas")


def lowered(graph, options):
    """The loops of a graph for a GPU."""
    return CudaLowering(graph, options).loops


def compiled(command):
    """Run a compiler; AssertionError with what it says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr[:8000]}"


def folder():
    """Where programs are kept, by their texts: beside the cache of this run."""
    path = Path(os.environ["TRANSPILE_CACHE_DIR"]).with_name("cuda_on_cpu")
    path.mkdir(parents=True, exist_ok=True)
    return path


@cache
def runtime():
    """The object file of what the header declares."""
    source = FOLDER / "cuda_on_cpu.cpp"
    digest = hashlib.blake2b(source.read_bytes() + HEADER.read_bytes())
    path = folder() / f"runtime-{digest.hexdigest()[:16]}.o"
    if not path.exists():
        own = path.with_suffix(f".{os.getpid()}.o")
        compiled(["g++", *FLAGS, "-O2", "-c", source, "-o", own])
        own.replace(path)
    return path


@cache
def library():
    """The object file of cuBLASLt's functions, whose accesses are checked like a program's."""
    source = FOLDER / "cublas_on_cpu.cpp"
    digest = hashlib.blake2b(source.read_bytes() + HEADER.read_bytes())
    path = folder() / f"library-{digest.hexdigest()[:16]}.o"
    if not path.exists():
        own = path.with_suffix(f".{os.getpid()}.o")
        words = ("-O1", "-fsanitize=thread", "-include", HEADER)
        compiled(["g++", *FLAGS, *QUIET, *words, "-c", source, "-o", own])
        own.replace(path)
    return path


def with_copies(text):
    """The text whose complex numbers are copied by functions of their own: g++ calls nothing before
    it stores what a function has returned in registers."""
    return re.sub(
        r"    (complex\d+)\(\) = default;\n",
        r"\g<0>    \1(const \1 &x) : re(x.re), im(x.im) {}\n"
        r"    \1 &operator=(const \1 &x) { re = x.re; im = x.im; return *this; }\n",
        text,
    )


def built(text):
    """The shared object of a CUDA text, for the CPU."""
    text = with_copies(text)
    objects = [runtime()] if "cublasLtMatmul" not in text else [library(), runtime()]
    names = "".join(path.name for path in objects)
    digest = hashlib.blake2b(text.encode() + names.encode()).hexdigest()[:16]
    path = folder() / f"program-{digest}.so"
    if not path.exists():
        source = folder() / f"program-{digest}.{os.getpid()}.cu"
        own = source.with_suffix(".so")
        source.write_text(text)
        own_words = ("-fsanitize=thread", "-include", HEADER)
        compile_ = [*FLAGS, *QUIET, *own_words, "-x", "c++"]
        compiled(["g++", *compile_, "-c", source, "-o", source.with_suffix(".o")])
        linked = [source.with_suffix(".o"), *objects, f"-Wl,-T,{SHARED_MEMORY}"]
        compiled(["g++", "-shared", *linked, "-o", own])
        own.replace(path)
    return path


def placed(value, dtype, offset):
    """A copy of an array, so many elements behind where memory is aligned."""
    value = np.asarray(value, dtype)
    room = np.zeros(value.size + offset, dtype)
    view = room[offset:].reshape(value.shape)
    view[...] = value
    return view


def run(program, text, values, offset=0, code=0):
    """The results of a lowered program with this CUDA text, which returns a code; AssertionError
    for what it does that no program may. Arrays are so many elements behind where memory is
    aligned."""
    library = ctypes.CDLL(str(built(text)))
    sizes = sizes_of(program, values)
    pairs = zip(program.inputs, values, strict=True)
    inputs = [placed(v, b.dtype, offset) for b, v in pairs]
    outputs = [placed(np.zeros(shape_of(b, sizes)), b.dtype, offset) for b in program.outputs]
    numbers = [ctypes.c_int64(sizes[s.name]) for s in program.sizes]
    size = getattr(library, f"{program.name}_workspace_size")
    size.restype = ctypes.c_size_t
    # In a block of its own each: what is beside an array belongs to nobody.
    workspace = np.zeros(max(1, size(*numbers)), np.uint8)
    arrays = [*inputs, *outputs, workspace]
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    bytes_ = (ctypes.c_int64 * len(arrays))(*(a.nbytes for a in arrays))
    filled = (ctypes.c_int * len(arrays))(*(k < len(inputs) for k in range(len(arrays))))
    library.cuda_on_cpu_begin(len(arrays), pointers, bytes_, filled)
    before = [a.tobytes() for a in inputs]
    entry = getattr(library, program.name)
    found = entry(*numbers, *map(ctypes.c_void_p, pointers), None)
    library.cuda_on_cpu_error.restype = ctypes.c_char_p
    error = library.cuda_on_cpu_error().decode()
    assert error == "", f"{program.name} {error}"
    assert found == code
    assert before == [a.tobytes() for a in inputs], "an argument has changed"
    return outputs


def sizes_of(program, values):
    """The runtime sizes of a program for these arguments."""
    from transpile.ir.indices.size_solver import solved

    pairs = zip(program.inputs, values, strict=True)
    return solved(program.sizes, ((b.name, b.shape, np.shape(v)) for b, v in pairs))


def shape_of(buffer, sizes):
    """The shape of a buffer for these sizes."""
    from transpile.ir.dims import evaluate

    return tuple(evaluate(d, sizes) for d in buffer.shape)


def results(lowering, values, gpu=USUAL, runs=run):
    """The results of a lowered function, by CUDA on the CPU."""
    program = lowered(lowering.graph, lowering.options)
    return runs(program, cuda_text(program, lowering.options, gpu=gpu), values)
