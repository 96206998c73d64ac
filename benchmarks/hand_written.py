"""The C of `benchmarks/c`, written by hand: the limit that our own C is measured against.

Compiled with the flags that transpile uses, and leave to contract `a * b + c`, it is called through
ctypes with pointers that were prepared before. Results have memory that is allocated once and
written again by each call, which no contestant that returns new arrays can have: this is what is
possible, not what is convenient.

A function of C takes its sizes, the arrays of its arguments and those of its results; those of a
training step are updated in place.
"""

import ctypes
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import transpile
from benchmarks.trees import leaves, mapped
from transpile.build import compiler_probe, toolchain

FOLDER = Path(__file__).parent / "c"
FURTHER_FLAGS = ("-ffp-contract=fast",)  # transpile rounds products as NumPy does; C need not
BUILT = "HAND_WRITTEN_C"  # the environment's name of a folder to keep the libraries in


@dataclass(frozen=True)
class Routine:
    """A function of C.

    file      where it is, in benchmarks/c
    name      what it is called there
    results   arguments -> a pytree of the arrays that it writes; arguments among them are
              updated, and not passed a second time
    sizes     arguments -> the integers that it takes first
    grouped   parameters and their gradients are passed as one array of pointers each
    """

    file: str
    name: str
    results: Callable[..., Any]
    sizes: Callable[..., tuple[int, ...]] = lambda *arguments: arguments[0].shape
    grouped: bool = False


def like(array, *_):
    """One result, like the first argument."""
    return np.empty_like(array)


def first_size(array, *_):
    return array.shape[:1]


def new(*shape, dtype=np.float32):
    return np.empty(shape, dtype)


def statistics(axis):
    return lambda x: tuple(new(x.shape[1 - axis]) for _ in range(4))


def product(a, b, *_):
    return np.empty((a.shape[0], b.shape[1]), a.dtype)


def product_sizes(a, b, *_):
    return (*a.shape, b.shape[1])


def value_and_like(params, *_):
    """A number, and arrays like the parameters."""
    return new(), mapped(np.empty_like, params)


def value_and_updated(params, *_):
    """A number, and the parameters themselves."""
    return new(), params


def none(*_):
    return ()


DRAWS = 10_000_000

ROUTINES = {
    "elementwise": Routine("elementwise", "elementwise", like),
    "black_scholes": Routine("elementwise", "black_scholes", lambda x, *_: (like(x), like(x))),
    "softmax": Routine("elementwise", "softmax", like),
    "layer_norm": Routine("elementwise", "layer_norm", like),
    "logsumexp": Routine("elementwise", "logsumexp", lambda x: new(x.shape[0])),
    "row_statistics": Routine("elementwise", "row_statistics", statistics(1)),
    "column_statistics": Routine("elementwise", "column_statistics", statistics(0)),
    "transposed_add": Routine("elementwise", "transposed_add", like, first_size),
    "stencil_step": Routine(
        "elementwise", "stencil_step", lambda u: new(*(n - 2 for n in u.shape)), first_size
    ),
    "nbody": Routine("elementwise", "nbody", like, first_size),
    "tiny_chain": Routine("elementwise", "tiny_chain", like),
    "small_expression": Routine("elementwise", "small_expression", like),
    "small_call": Routine("elementwise", "small_call", like),
    "ten_arguments": Routine("elementwise", "ten_arguments", like),
    "cumulative_sum": Routine("counting", "cumulative_sum", like),
    "gather": Routine(
        "counting",
        "gather",
        lambda table, index: new(*index.shape),
        lambda table, index: index.shape,
    ),
    "scatter": Routine(
        "counting", "scatter", lambda *_: new(65536), lambda values, index: (len(values), 65536)
    ),
    "histogram": Routine("counting", "histogram", lambda x: new(256, dtype=np.int64)),
    "sort": Routine("counting", "sort", like),
    "kmeans_step": Routine("counting", "kmeans_step", lambda _, centres: like(centres), first_size),
    "fourier": Routine("fourier", "fourier", like, none),
    "normals": Routine("random", "normals", lambda key: new(DRAWS), lambda key: (DRAWS,)),
    "monte_carlo": Routine(
        "random", "monte_carlo", lambda key: new(dtype=np.float64), lambda key: (DRAWS,)
    ),
    "matmul_float32": Routine("networks", "matmul_float32", product, product_sizes),
    "matmul_float64": Routine("networks", "matmul_float64", product, product_sizes),
    "dense_gelu": Routine("networks", "dense_gelu", product, product_sizes),
    "mlp": Routine("networks", "mlp", lambda _, x: new(len(x), 10), lambda _, x: (len(x),)),
    "mlp_small": Routine("networks", "mlp_small", lambda _, x: new(len(x), 4), none),
    "mlp_gradient_small": Routine("networks", "mlp_gradient_small", value_and_like, none),
    "mlp_training_step": Routine(
        "networks", "mlp_training_step", value_and_updated, lambda _, x, targets: (len(x),)
    ),
    "attention": Routine("networks", "attention", like, lambda q, *_: (q.shape[0] * q.shape[1],)),
    "rosenbrock_hessian": Routine(
        "networks",
        "rosenbrock_hessian",
        lambda x: new(len(x), len(x), dtype=np.float64),
    ),
    "conv2d": Routine(
        "convolution",
        "conv2d",
        lambda x, kernel: new(x.shape[0], kernel.shape[0], *x.shape[2:]),
        lambda x, kernel: (*x.shape, kernel.shape[0]),
    ),
    "attention_training_step": Routine(
        "transformer",
        "attention_training_step",
        value_and_like,
        lambda params, x, target: x.shape,
        grouped=True,
    ),
    "lstm_gradient": Routine(
        "recurrent",
        "lstm_gradient",
        value_and_like,
        lambda params, xs, target: (*xs.shape, target.shape[1]),
    ),
    "convolutional_training_step": Routine(
        "convolution",
        "convolutional_training_step",
        value_and_updated,
        lambda params, x, targets: (len(x),),
    ),
    "lu_numbers": Routine("loops", "lu", like, first_size),
    "lu_rows": Routine("loops", "lu", like, first_size),
    "floyd_warshall": Routine("loops", "floyd_warshall", like, first_size),
    "nussinov": Routine(
        "loops", "nussinov", lambda s: new(len(s), len(s), dtype=np.int64), first_size
    ),
    "moving_average": Routine("loops", "moving_average", like),
    "newton": Routine("loops", "newton", like),
    "stencil": Routine("loops", "stencil", like, first_size),
    "mandelbrot": Routine(
        "loops",
        "mandelbrot",
        lambda x, y: new(*x.shape, dtype=np.int32),
        lambda x, y: (x.size,),
    ),
}


def flags(further_flags=FURTHER_FLAGS):
    """The compiler's command, and what it is to do."""
    options = transpile.Options()
    compiler = compiler_probe.find_compiler(options)
    return [*compiler.command], [*toolchain.flags(compiler, options), *further_flags]


def library(file, further_flags=FURTHER_FLAGS):
    """The functions of one file, compiled unless they are where the environment says."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(os.environ.get(BUILT, folder), f"{file}.so")
        if not built.exists():
            command, chosen = flags(further_flags)
            unfinished = Path(folder, Path(file).with_suffix(".so").name)
            words = [*command, str(FOLDER / f"{file}.c"), *chosen, "-o", str(unfinished)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{shlex.join(words)}\n{done.stderr}")
            built.parent.mkdir(parents=True, exist_ok=True)
            if built != unfinished:
                built.write_bytes(unfinished.read_bytes())
        return ctypes.CDLL(str(built))


def pointer(array):
    """What to pass for an array, which must stay alive."""
    if not array.flags.c_contiguous:
        raise ValueError("hand-written C takes contiguous arrays")
    return ctypes.c_void_p(array.ctypes.data)


def passed(routine, arguments, results):
    """What a routine is called with."""
    sizes = [ctypes.c_int64(size) for size in routine.sizes(*arguments)]
    if routine.grouped:
        parts = [list(map(pointer, leaves(part))) for part in (*arguments, *results)]
        groups = [(ctypes.c_void_p * len(part))(*part) for part in parts]
        pairs = zip(parts, groups, strict=True)
        return (*sizes, *(part[0] if len(part) == 1 else group for part, group in pairs))
    given = leaves(arguments)
    known = {id(array) for array in given}
    written = [array for array in leaves(results) if id(array) not in known]
    return (*sizes, *map(pointer, given + written))


def function(case):
    """The function of a case; it prepares anew when the first argument is another object."""
    routine = ROUTINES[case]
    compiled = getattr(library(routine.file), routine.name)
    compiled.restype = None
    prepared, results, words = (), None, ()

    def call(*arguments):
        nonlocal prepared, results, words
        if not prepared or arguments[0] is not prepared[0]:
            prepared, results = arguments, routine.results(*arguments)
            words = passed(routine, arguments, results)
        compiled(*words)
        return results

    return call
