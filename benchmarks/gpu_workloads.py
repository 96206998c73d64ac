"""Kernels for a GPU that are made from loops: what `benchmarks.gpu_kernels` times.

A workload is written once, over a module `xp` of NumPy's names, where NumPy, PyTorch and JAX agree
on them, and more often where they do not. `bytes` is what it has to read and write, each element
once; `flops` is given for those that compute more than they move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

F32, F64, F16, I32, I64 = map(np.dtype, ("float32", "float64", "float16", "int32", "int64"))
# 256 MB in float32: five times the L2 of an H100.
MANY = 1 << 26
Spec = tuple[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True)
class Workload:
    """A function of arrays.

    function  of NumPy's names; `torch` and `jax` where theirs is another, and `eager` where PyTorch
              has a function for the whole
    inputs    shapes and dtypes
    outputs   the elements that are written, as shapes and dtypes
    flops     the operations, of what is bound by them
    traffic   bytes, where they are not those of all inputs and outputs once
    below     integers are drawn below this
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    torch: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None
    eager: Callable[..., Any] | None = None
    flops: int = 0
    traffic: int = 0
    below: int = 1
    tolerance: float = 1e-4
    peers: tuple[str, ...] = field(default=("torch", "compiled", "jax", "cupy"))

    @property
    def bytes(self) -> int:
        """What has to be read and written."""
        every = (*self.inputs, *self.outputs)
        return self.traffic or sum(math.prod(s) * d.itemsize for s, d in every)


def _one(shape: tuple[int, ...], dtype: np.dtype[Any] = F32) -> tuple[Spec, ...]:
    return ((shape, dtype),)


def scaled(xp: Any, x: Any, y: Any) -> Any:
    return x * 2 + y


def gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def many(xp: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return a * b + c * d - e * f


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.amax(x, axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_of_torch(xp: Any, x: Any) -> Any:
    return xp.softmax(x, 1)


def layer_norm(xp: Any, x: Any, gain: Any, shift: Any) -> Any:
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * gain + shift


def layer_norm_of_torch(xp: Any, x: Any, gain: Any, shift: Any) -> Any:
    return xp.nn.functional.layer_norm(x, x.shape[1:], gain, shift)


def cross_entropy(xp: Any, x: Any, labels: Any) -> Any:
    largest = xp.amax(x, axis=1, keepdims=True)
    total = xp.log(xp.exp(x - largest).sum(axis=1)) + largest[:, 0]
    rows = xp.arange(x.shape[0])
    return (total - x[rows, labels]).mean()


def cross_entropy_of_torch(xp: Any, x: Any, labels: Any) -> Any:
    largest = xp.amax(x, axis=1, keepdims=True)
    total = xp.log(xp.exp(x - largest).sum(axis=1)) + largest[:, 0]
    return (total - xp.gather(x, 1, labels[:, None])[:, 0]).mean()


def masked(xp: Any, x: Any, y: Any) -> Any:
    z = xp.where(x > 0, x, y)
    return xp.where((z < 1) & (y > -1), z * 2, xp.where(x < -1, y, x))


def heat(xp: Any, u: Any) -> Any:
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return u[1:-1, 1:-1] + 0.1 * (around - 4 * u[1:-1, 1:-1])


def laplacian(xp: Any, u: Any) -> Any:
    middle = u[1:-1, 1:-1, 1:-1]
    around = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1]
    around = around + u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
    return around - 6 * middle


def bodies(xp: Any, p: Any) -> Any:
    apart = p[None, :, :] - p[:, None, :]
    squares = (apart * apart).sum(axis=-1) + 1e-3
    return (apart / (squares * xp.sqrt(squares))[:, :, None]).sum(axis=1)


def mandelbrot(xp: Any, re: Any, im: Any) -> Any:
    x, y, count = re, im, re * 0
    for _ in range(40):
        x, y = x * x - y * y + re, 2 * x * y + im
        count = count + (x * x + y * y < 4)
    return count


def adam(xp: Any, *arrays: Any) -> Any:
    """A step of Adam for parameters, gradients and two moments, which come in this order."""
    count = len(arrays) // 4
    results: list[Any] = []
    for k in range(count):
        p, g, m, v = arrays[k::count]
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        results += [p - 1e-3 * m / (xp.sqrt(v) + 1e-8), m, v]
    return tuple(results)


def _of_adam(name: str, shapes: tuple[tuple[int, ...], ...]) -> Workload:
    # The second moment is positive: arrays are drawn from [0, 1).
    every = tuple((shape, F32) for _ in range(4) for shape in shapes)
    return Workload(name, adam, every, tuple((s, F32) for s in shapes for _ in range(3)))


def heat_steps(xp: Any, u: Any) -> Any:
    from transpile import lax

    return lax.fori_loop(0, 100, lambda _, u: u.at[1:-1, 1:-1].set(heat(xp, u)), u)


def heat_steps_of_jax(xp: Any, u: Any) -> Any:
    from jax import lax

    return lax.fori_loop(0, 100, lambda _, u: u.at[1:-1, 1:-1].set(heat(xp, u)), u)


def heat_steps_of_torch(xp: Any, u: Any) -> Any:
    u = u.clone()
    for _ in range(100):
        u[1:-1, 1:-1] = heat(xp, u)
    return u


def halving(xp: Any, x: Any) -> Any:
    from transpile import lax

    return lax.while_loop(lambda x: (x * x).mean() > 1e-6, lambda x: 0.5 * x, x)


def halving_of_jax(xp: Any, x: Any) -> Any:
    from jax import lax

    return lax.while_loop(lambda x: (x * x).mean() > 1e-6, lambda x: 0.5 * x, x)


def halving_of_torch(xp: Any, x: Any) -> Any:
    while (x * x).mean() > 1e-6:
        x = 0.5 * x
    return x


def added(xp: Any, x: Any, places: Any) -> Any:
    from transpile.numpy import zeros

    return zeros(1 << 20, np.float32).at[places].add(x)


def added_by_jax(xp: Any, x: Any, places: Any) -> Any:
    return xp.zeros(1 << 20, np.float32).at[places].add(x)


def added_by_torch(xp: Any, x: Any, places: Any) -> Any:
    return xp.zeros(1 << 20, device=x.device).index_add_(0, places, x)


def counted(xp: Any, places: Any) -> Any:
    from transpile.numpy import zeros

    return zeros(256, np.int64).at[places].add(1)


def counted_by_torch(xp: Any, places: Any) -> Any:
    return xp.bincount(places, minlength=256)


def counted_by_jax(xp: Any, places: Any) -> Any:
    return xp.bincount(places, length=256)


def summed(xp: Any, x: Any, places: Any) -> Any:
    from transpile.ops import segment_sum

    return segment_sum(x, places, 1000)


def summed_by_torch(xp: Any, x: Any, places: Any) -> Any:
    return xp.zeros(1000, device=x.device).index_add_(0, places, x)


def summed_by_jax(xp: Any, x: Any, places: Any) -> Any:
    from jax.ops import segment_sum

    return segment_sum(x, places, 1000)


def rows_added(xp: Any, x: Any, places: Any) -> Any:
    from transpile.numpy import zeros

    return zeros((50000, x.shape[1]), np.float32).at[places].add(x)


def rows_added_by_torch(xp: Any, x: Any, places: Any) -> Any:
    return xp.zeros(50000, x.shape[1], device=x.device).index_add_(0, places, x)


def rows_added_by_jax(xp: Any, x: Any, places: Any) -> Any:
    return xp.zeros((50000, x.shape[1]), np.float32).at[places].add(x)


def largest(xp: Any, x: Any, places: Any) -> Any:
    from transpile.numpy import zeros

    return zeros(1 << 20, np.float32).at[places].max(x)


def largest_by_torch(xp: Any, x: Any, places: Any) -> Any:
    return xp.zeros(1 << 20, device=x.device).index_reduce_(0, places, x, "amax")


def network_of_steps(xp: Any, h: Any, inputs: Any, w: Any, u: Any) -> Any:
    """A recurrent network, by scans of transpile's and of JAX's."""
    from transpile import lax

    return lax.scan(lambda h, x: (xp.tanh(h @ w * 0.05 + x @ u * 0.05), None), h, inputs)[0]


def network_of_jax(xp: Any, h: Any, inputs: Any, w: Any, u: Any) -> Any:
    from jax import lax

    return lax.scan(lambda h, x: (xp.tanh(h @ w * 0.05 + x @ u * 0.05), None), h, inputs)[0]


def network_of_torch(xp: Any, h: Any, inputs: Any, w: Any, u: Any) -> Any:
    for x in inputs:
        h = xp.tanh(h @ w * 0.05 + x @ u * 0.05)
    return h


def descent(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """A thousand steps down a quadratic function."""
    from transpile import lax

    return lax.fori_loop(0, 1000, lambda _, x: x - 1e-6 * (a.T @ (a @ x - b)), x)


def descent_of_jax(xp: Any, a: Any, b: Any, x: Any) -> Any:
    from jax import lax

    return lax.fori_loop(0, 1000, lambda _, x: x - 1e-6 * (a.T @ (a @ x - b)), x)


def descent_of_torch(xp: Any, a: Any, b: Any, x: Any) -> Any:
    for _ in range(1000):
        x = x - 1e-6 * (a.T @ (a @ x - b))
    return x


def _scatters() -> Iterator[Workload]:
    few, many = 1 << 22, 1 << 24
    size = 1 << 20
    for name, count in (("scatter-add", few), ("scatter-add, many", many)):
        yield Workload(
            name, added, (((count,), F32), ((count,), I64)), _one((size,)),
            below=size, torch=added_by_torch, jax=added_by_jax, tolerance=1e-3,
            peers=("torch", "jax"),
        )  # fmt: skip
    yield Workload(
        "scatter-max", largest, (((few,), F32), ((few,), I64)), _one((size,)), below=size,
        torch=largest_by_torch, peers=("torch",),
    )  # fmt: skip
    yield Workload(
        "count of 256", counted, (((1 << 25,), I64),), _one((256,), I64), below=256,
        torch=counted_by_torch, jax=counted_by_jax, peers=("torch", "jax"),
    )  # fmt: skip
    yield Workload(
        "sums of 1000 segments", summed, (((many,), F32), ((many,), I64)), _one((1000,)),
        below=1000, torch=summed_by_torch, jax=summed_by_jax, tolerance=1e-2,
        peers=("torch", "jax"),
    )  # fmt: skip
    yield Workload(
        "rows added, 16384 of 512", rows_added, (((16384, 512), F32), ((16384,), I64)),
        _one((50000, 512)), below=50000, torch=rows_added_by_torch, jax=rows_added_by_jax,
        tolerance=1e-3, peers=("torch", "jax"),
    )  # fmt: skip


def _loops() -> Iterator[Workload]:
    square, rows = ((256, 256), F32), ((64, 256), F32)
    yield Workload(
        "scan of 100 products", network_of_steps, (rows, ((100, 64, 256), F32), square, square),
        (rows,), torch=network_of_torch, jax=network_of_jax, peers=("torch", "jax"), tolerance=1e-2,
    )  # fmt: skip
    yield Workload(
        "descent of 1000 steps", descent, (((1024, 256), F32), ((1024,), F32), ((256,), F32)),
        _one((256,)), torch=descent_of_torch, jax=descent_of_jax, peers=("torch", "jax"),
        tolerance=1e-2,
    )  # fmt: skip


def _elementwise() -> Iterator[Workload]:
    two = ((MANY,), F32)
    for dtype in (F32, F64, F16):
        shape = (MANY,)
        tolerance = {2: 2e-2, 4: 1e-5, 8: 1e-12}[dtype.itemsize]
        yield Workload(
            f"x * 2 + y, {dtype.name}", scaled, 2 * _one(shape, dtype), _one(shape, dtype),
            tolerance=tolerance,
        )  # fmt: skip
        yield Workload(
            f"gelu, {dtype.name}", gelu, _one(shape, dtype), _one(shape, dtype),
            tolerance=tolerance,
        )  # fmt: skip
    yield Workload("a b + c d - e f", many, 6 * (two,), (two,))
    yield Workload("where, where, where", masked, 2 * (two,), (two,))
    square = ((8192, 8192), F32)
    odd = ((8191, 8193), F32)
    row, column = ((8192,), F32), ((8192, 1), F32)
    yield Workload("x + row", lambda xp, x, y: x + y, (square, row), (square,))
    yield Workload("x + column", lambda xp, x, y: x + y, (square, column), (square,))
    yield Workload("x + row, odd", lambda xp, x, y: x + y, (odd, ((8193,), F32)), (odd,))
    yield Workload(
        "(x + 1).T, made", lambda xp, x: (x + 1).T * xp.ones_like(x), (square,), (square,),
        peers=("torch", "compiled", "jax"),
    )  # fmt: skip
    yield Workload("x.T + y", lambda xp, x, y: x.T + y, 2 * (square,), (square,))
    yield Workload("heat, a step", heat, (square,), (((8190, 8190), F32),))
    cube = ((512, 512, 512), F32)
    yield Workload("laplacian in 3-d", laplacian, (cube,), (((510, 510, 510), F32),))


def _rows() -> Iterator[Workload]:
    for n in (32, 100, 1000, 1001, 1024, 4096, 32768):
        x = ((MANY // n, n), F32)
        yield Workload(f"softmax of {n}", softmax, (x,), (x,), eager=softmax_of_torch)
    half, gain = ((MANY // 1024, 1024), F16), ((1024,), F16)
    yield Workload("softmax of 1024, float16", softmax, (half,), (half,), tolerance=2e-2)
    yield Workload(
        "layer norm of 1024, float16", layer_norm, (half, gain, gain), (half,), tolerance=5e-2
    )
    for n in (32, 100, 1000, 1001, 1024, 4096, 32768):
        x, gain = ((MANY // n, n), F32), ((n,), F32)
        yield Workload(
            f"layer norm of {n}", layer_norm, (x, gain, gain), (x,), eager=layer_norm_of_torch,
            tolerance=1e-3,
        )  # fmt: skip
    yield Workload(
        "cross-entropy of 32000", cross_entropy, (((4096, 32000), F32), ((4096,), I64)), _one(()),
        torch=cross_entropy_of_torch, below=32000,
    )  # fmt: skip


def _reductions() -> Iterator[Workload]:
    square = ((8192, 8192), F32)
    tall, wide = ((1 << 21, 32), F32), ((32, 1 << 21), F32)
    for name, x in (("square", square), ("tall", tall), ("wide", wide)):
        rows, columns = x[0]
        yield Workload(
            f"row sums, {name}", lambda xp, x: x.sum(axis=1), (x,), _one((rows,)), tolerance=1e-3
        )
        yield Workload(
            f"column sums, {name}", lambda xp, x: x.sum(axis=0), (x,), _one((columns,)),
            tolerance=1e-3,
        )  # fmt: skip
    yield Workload("sum", lambda xp, x: x.sum(), (square,), _one(()), tolerance=1e-3)
    yield Workload(
        "mean, variance", lambda xp, x: (x.mean(), ((x - x.mean()) ** 2).mean()), (square,),
        2 * _one(()), tolerance=1e-3,
    )  # fmt: skip
    yield Workload(
        "column means, variances",
        lambda xp, x: (x.mean(axis=0), ((x - x.mean(axis=0)) ** 2).mean(axis=0)), (square,),
        2 * _one((8192,)), tolerance=1e-3,
    )  # fmt: skip
    yield Workload("argmax", lambda xp, x: x.argmax(axis=1), (square,), _one((8192,), I64))
    for n in (100, 1001, 1024):
        rows_ = (MANY // n, n)
        yield Workload(
            f"running sums of {n}", lambda xp, x: x.cumsum(axis=1), _one(rows_), _one(rows_),
            tolerance=1e-3,
        )  # fmt: skip

    yield Workload(
        "running sums of columns", lambda xp, x: x.cumsum(axis=0), (square,), (square,),
        tolerance=1e-3,
    )  # fmt: skip


def _others() -> Iterator[Workload]:
    few, table, places = 1 << 24, ((MANY,), F32), ((1 << 24,), I64)
    yield Workload(
        "gather", lambda xp, x, i: x[i], (table, places), _one((few,)), below=MANY,
        traffic=few * (8 + 4 + 32),
    )  # fmt: skip
    yield _of_adam("adam, 12 large", 4 * ((4096, 1024), (1024, 4096), (4096,)))
    plate = ((4096, 4096), F32)
    yield Workload(
        "heat, 100 steps", heat_steps, (plate,), (plate,), torch=heat_steps_of_torch,
        jax=heat_steps_of_jax, traffic=200 * 4 * 4096**2, peers=("torch", "jax"), tolerance=1e-2,
    )  # fmt: skip
    yield Workload(
        "while a mean is large", halving, _one((1 << 24,)), _one((1 << 24,)),
        torch=halving_of_torch, jax=halving_of_jax, traffic=30 * 4 << 24, peers=("torch", "jax"),
    )  # fmt: skip
    plane = ((2048, 2048), F32)
    yield Workload(
        "mandelbrot, 40 steps", mandelbrot, 2 * (plane,), (plane,), flops=40 * 11 * 2048**2,
        peers=("torch", "compiled", "jax"), tolerance=1.0,
    )  # fmt: skip
    yield Workload(
        "16384 bodies", bodies, _one((16384, 3)), _one((16384, 3)), flops=20 * 16384**2,
        peers=("compiled", "jax"), tolerance=1e-2,
    )  # fmt: skip


def _small() -> Iterator[Workload]:
    yield Workload("small: x * 2 + y", scaled, 2 * _one((1000,)), _one((1000,)))
    x, gain = ((64, 256), F32), ((256,), F32)
    yield Workload("small: softmax", softmax, (x,), (x,))
    yield Workload("small: layer norm", layer_norm, (x, gain, gain), (x,), tolerance=1e-3)
    yield _of_adam("small: adam, 24", 12 * ((64, 64), (64,)))
    yield _of_adam("small: adam, 48", 24 * ((256, 256), (256,)))
    yield Workload("small: sum", lambda xp, x: x.sum(), _one((100, 1000)), _one(()), tolerance=1e-3)


_ALL = (_elementwise, _rows, _reductions, _scatters, _loops, _others, _small)
WORKLOADS = {w.name: w for made in _ALL for w in made()}
