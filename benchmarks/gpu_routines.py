"""The routines of CUDA beside those of PyTorch and CuPy, on a GPU: products in parts of cuBLAS,
sums, sorts, transforms, convolutions, decompositions, attention.

    python -m benchmarks.gpu_routines              all of them
    python -m benchmarks.gpu_routines sort fft     those whose names begin so
    python -m benchmarks.gpu_routines --libraries cublas product     with NVIDIA's library

It takes nvcc (in CUDA_HOME), PyTorch, whose events time, and CuPy, which NumPy's functions find. A
time is the median of warm calls between events, in milliseconds, on fresh random data; results are
written where NaNs were, and compared with PyTorch's in double precision. Programs are called by
their C entry: what a call of Python takes is in the peers' times alone. PyTorch computes in
float32, not in tf32.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import transpile
from transpile.targets.cuda.lowering import CudaLowering
from transpile.targets.cuda.toolchain.cublas import find_cublas

FLAGS = ("-std=c++17", "--fmad=false", "-shared", "-Xcompiler", "-fPIC")
CALLS = 15
HALF, SINGLE, DOUBLE, COMPLEX = "float16", "float32", "float64", "complex64"


@dataclass(frozen=True)
class Case:
    """A function as NumPy spells it, and as PyTorch does; `work` is in floating-point operations,
    or in bytes where `of_bytes`. Results are compared where they are `exact`, up to rounding."""

    name: str
    function: Callable[..., Any]
    operands: tuple[tuple[tuple[int, ...], str], ...]
    work: float
    of_bytes: bool = False
    torch: Callable[..., Any] | None = None
    exact: bool = True
    in_cupy: bool = True


def _product(x: Any, y: Any) -> Any:
    return x @ y


def _transposed(x: Any, y: Any) -> Any:
    return x @ y.swapaxes(-1, -2)


def _products() -> list[Case]:
    cases = []
    for dtype, sides in (
        (SINGLE, (512, 1024, 2048, 4096, 8192)),
        (DOUBLE, (1024, 4096)),
        (HALF, (1024, 2048, 4096, 8192)),
        (COMPLEX, (2048,)),
    ):
        for n in sides:
            square = ((n, n), dtype)
            flops = 2.0 * n**3 * (4 if dtype == COMPLEX else 1)
            cases.append(Case(f"product {dtype} {n}", _product, (square, square), flops))
    for dtype in (SINGLE, HALF):
        square = ((4096, 4096), dtype)
        flops = 2.0 * 4096**3
        cases.append(Case(f"product {dtype} 4096, a b'", _transposed, (square, square), flops))
        for m in (1, 4, 16):
            operands = (((m, 4096), dtype), square)
            cases.append(Case(f"product {dtype} {m} x 4096", _product, operands, 2.0 * m * 4096**2))
            name = f"product {dtype} {m} x 4096, a b'"
            cases.append(Case(name, _transposed, operands, 2.0 * m * 4096**2))
    for count, n in ((4096, 32), (256, 128), (64, 256)):
        operands = (((count, n, n), SINGLE), ((count, n, n), SINGLE))
        cases.append(Case(f"products {count} of {n}", _product, operands, 2.0 * count * n**3))
    return cases


def _of_rows() -> list[Case]:
    cases = []
    for exponent in (6, 7, 8):
        n = 10**exponent
        x = (((n,), SINGLE),)
        cases += [
            Case(f"sort 1e{exponent}", np.sort, x, 8.0 * n, True, lambda x: x.sort()[0]),
            Case(f"cumsum 1e{exponent}", np.cumsum, x, 8.0 * n, True, lambda x: x.cumsum(0)),
        ]
    n = 10**7
    x = (((n,), SINGLE),)
    cases += [
        Case(
            "argsort 1e7", np.argsort, x, 12.0 * n, True, lambda x: x.argsort(stable=True),
            exact=False,
        ),
        Case("median 1e7", np.median, x, 4.0 * n, True, lambda x: x.sort()[0][n // 2], exact=False),
        Case(
            "sort 10000 rows of 1000", np.sort, (((10000, 1000), SINGLE),), 8e7, True,
            lambda x: x.sort(-1)[0],
        ),
        Case(
            "cumsum 1000 rows of 100000", lambda x: np.cumsum(x, axis=1),
            (((1000, 100000), SINGLE),), 8e8, True, lambda x: x.cumsum(1),
        ),
    ]  # fmt: skip
    return cases


def _transforms() -> list[Case]:
    cases = []
    for rows, n in ((1 << 17, 64), (1 << 14, 1024), (1, 1 << 20), (1000, 1000), (1024, 2048)):
        operands = (((rows, n), COMPLEX),)
        cases.append(
            Case(
                f"fft {rows} of {n}", transform, operands, 16.0 * rows * n, True,
                lambda x: importlib.import_module("torch").fft.fft(x),
            )
        )  # fmt: skip
    return cases


def transform(x: Any) -> Any:
    """The transform of the last axis."""
    return np.fft.fft(x)


def _linear() -> list[Case]:
    def torch_of(name: str) -> Callable[..., Any]:
        return lambda *x: getattr(importlib.import_module("torch").linalg, name)(*x)

    many, one = ((10000, 16, 16), SINGLE), ((1, 512, 512), DOUBLE)
    cases = []
    for what, (shape, dtype) in (("10000 of 16", many), ("1 of 512", one)):
        n, count = shape[-1], shape[0]
        right = ((count, n, 1), dtype)
        flops = 2 / 3 * count * n**3
        cases += [
            Case(f"solve {what}", np.linalg.solve, ((shape, dtype), right), flops, False,
                 torch_of("solve"), exact=False),
            Case(f"qr {what}", np.linalg.qr, ((shape, dtype),), 2 * flops, False,
                 lambda x: importlib.import_module("torch").linalg.qr(x)[0], exact=False),
        ]  # fmt: skip
    return cases


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.swapaxes(-1, -2) * np.float32(1 / np.sqrt(q.shape[-1]))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def _networks() -> list[Case]:
    def convolution(x: Any, w: Any) -> Any:
        return transpile.lax.conv_general_dilated(x, w, (1, 1), "SAME")

    def torch_convolution(x: Any, w: Any) -> Any:
        functional = importlib.import_module("torch").nn.functional
        return functional.conv2d(x, w, padding="same")

    def torch_attention(q: Any, k: Any, v: Any) -> Any:
        functional = importlib.import_module("torch").nn.functional
        return functional.scaled_dot_product_attention(q, k, v)

    cases = []
    for c, side in ((64, 56), (128, 28), (256, 14), (512, 7)):
        x, w = ((32, c, side, side), SINGLE), ((c, c, 3, 3), SINGLE)
        flops = 2.0 * 32 * c * c * 9 * side**2
        cases.append(
            Case(
                f"conv {c} x {side}", convolution, (x, w), flops, False, torch_convolution,
                in_cupy=False,
            )
        )  # fmt: skip
    heads = ((16, 1024, 64), SINGLE)
    cases.append(
        Case("attention 16 x 1024 x 64", _attention, (heads, heads, heads), 4.0 * 16 * 1024**2 * 64,
             False, torch_attention)
    )  # fmt: skip
    return cases


def every_case() -> list[Case]:
    """All cases."""
    return [*_products(), *_of_rows(), *_transforms(), *_linear(), *_networks()]


def built(case: Case, folder: Path, libraries: str) -> tuple[Any, list[Any]]:
    """The entry of a case's program, and its outputs as (shape, dtype)."""
    options = {"cuda_libraries": libraries}
    shapes = [transpile.ShapeDtypeStruct(shape, np.dtype(dtype)) for shape, dtype in case.operands]
    stage = transpile.jit(case.function, compiler_options=options).lower(*shapes)
    lowering = stage._lowering
    program = CudaLowering(lowering.graph, lowering.options).loops
    source = folder / f"{abs(hash(case.name))}.cu"
    source.write_text(stage.as_text("cuda"))
    compiler = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc"
    library = source.with_suffix(".so")
    command = [compiler, *FLAGS, "-arch=native", source, "-o", library]
    if libraries != "none" and (path := find_cublas()) is not None:
        command += ["-L", path.parent, f"-l:{path.name}", "-Xlinker", f"-rpath={path.parent}"]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    room = getattr(loaded, f"{program.name}_workspace_size")
    room.restype = ctypes.c_size_t
    entry = getattr(loaded, program.name)
    return (entry, room()), [(b.shape, b.dtype) for b in program.outputs]


def timed(call: Callable[[], Any], torch: Any) -> float:
    """The median time of warm calls, in milliseconds."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(CALLS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return float(np.median(times))


def operands_of(case: Case, torch: Any) -> list[Any]:
    """Random operands; matrices of systems are well conditioned."""
    torch.manual_seed(1)
    given = [
        torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))
        for shape, dtype in case.operands
    ]
    if case.name.startswith("solve"):
        given[0] += 4 * torch.eye(given[0].shape[-1], device="cuda", dtype=given[0].dtype)
    return given


def difference(case: Case, peer: Any, given: list[Any], result: Any, torch: Any) -> float:
    """The error of a result relative to its size, by PyTorch in double precision."""
    wide = [x.to(torch.complex128 if x.is_complex() else torch.float64) for x in given]
    expected = peer(*wide)
    norm = torch.linalg.vector_norm
    return float(
        norm(result.to(expected.dtype).reshape(expected.shape) - expected) / norm(expected)
    )


def measure(case: Case, program: Any, outputs: list[Any]) -> str:
    """A line of the table."""
    torch = importlib.import_module("torch")
    torch.backends.cudnn.allow_tf32 = False
    entry, room = program
    given = operands_of(case, torch)
    results = [
        torch.full(shape, -1 if dtype.kind in "iu" else float("nan"), device="cuda",
                   dtype=getattr(torch, dtype.name))
        for shape, dtype in outputs
    ]  # fmt: skip
    workspace = torch.empty(room + 1, dtype=torch.uint8, device="cuda")
    pointers = [ctypes.c_void_p(x.data_ptr()) for x in (*given, *results, workspace)]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def own() -> None:
        code = entry(*pointers, stream)
        if code:
            raise RuntimeError(f"launch {code} of {case.name} failed")

    peer = case.torch or case.function
    own()
    is_compared = case.exact and sum(x.numel() for x in given) < 5e7
    error = difference(case, peer, given, results[0], torch) if is_compared else float("nan")
    times = {"ours": timed(own, torch), "torch": timed(lambda: peer(*given), torch)}
    if case.in_cupy:
        cupy = importlib.import_module("cupy")
        arrays = [cupy.from_dlpack(x) for x in given]
        times["cupy"] = timed(lambda: case.function(*arrays), torch)
    best = min(t for name, t in times.items() if name != "ours") / times["ours"]
    rate, unit = case.work / times["ours"] / 1e6, "GB/s" if case.of_bytes else "GFLOP/s"
    columns = " ".join(f"{name} {t:8.3f}" for name, t in times.items())
    return f"{case.name:31s} {columns} {rate:8.0f} {unit:7s} {best:5.2f} of best, error {error:.0e}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--libraries", choices=("none", "cublas"), default="none")
    asked = parser.parse_args()
    cases = [case for case in every_case() if case.name.startswith(tuple(asked.names))]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        programs = list(pool.map(lambda case: built(case, Path(folder), asked.libraries), cases))
        for case, (program, outputs) in zip(cases, programs, strict=True):
            print(measure(case, program, outputs), flush=True)


if __name__ == "__main__":
    main()
