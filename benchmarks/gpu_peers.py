"""The workloads of `benchmarks.gpu_workloads` by PyTorch, JAX and CuPy, as many of them as there
are, on the arrays of our programs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.gpu_device import Array, ask, seconds_of
from benchmarks.gpu_workloads import Workload

Call = Callable[[], Any]
_ROUNDS = 5

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _torch(workload: Workload, inputs: list[Array], is_compiled: bool) -> Call:
    import torch

    tensors = [torch.as_tensor(array, device="cuda") for array in inputs]
    function = workload.torch or workload.function
    if workload.eager is not None and not is_compiled:
        function = workload.eager
    if is_compiled:
        torch._dynamo.reset()
        compiled = torch.compile(lambda *arrays: function(torch, *arrays), dynamic=False)
        return lambda: compiled(*tensors)
    return lambda: function(torch, *tensors)


def _jax(workload: Workload, inputs: list[Array]) -> Call:
    import jax
    import torch

    jax.config.update("jax_enable_x64", True)
    arrays = [jax.dlpack.from_dlpack(torch.as_tensor(a, device="cuda")) for a in inputs]
    function = workload.jax or workload.function
    compiled = jax.jit(lambda *arrays: function(jax.numpy, *arrays))
    return lambda: compiled(*arrays)


def _cupy(workload: Workload, inputs: list[Array]) -> Call:
    import cupy

    arrays = [cupy.asarray(array) for array in inputs]
    return lambda: workload.function(cupy, *arrays)


def _seconds_of_jax(call: Call) -> float:
    """The median time of calls in a row: JAX has streams of its own."""
    import jax

    jax.block_until_ready(call())
    start = time.perf_counter()
    jax.block_until_ready(call())
    count = max(1, min(100, int(0.01 / (time.perf_counter() - start))))
    taken = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            result = call()
        jax.block_until_ready(result)
        taken.append((time.perf_counter() - start) / count)
    return statistics.median(taken)


PEERS: dict[str, tuple[str, Callable[[Workload, list[Array]], Call]]] = {
    "torch": ("torch", lambda w, a: _torch(w, a, False)),
    "compiled": ("torch", lambda w, a: _torch(w, a, True)),
    "jax": ("jax", _jax),
    "cupy": ("cupy", _cupy),
}


def there() -> list[str]:
    """The peers that are installed."""
    return [name for name, (package, _) in PEERS.items() if find_spec(package)]


def times(workload: Workload, inputs: list[Array], names: list[str]) -> Iterator[tuple[str, float]]:
    """The seconds that a call of each peer takes; one that fails says so."""
    for name in names:
        if name not in workload.peers:
            continue
        try:
            call = PEERS[name][1](workload, inputs)
            seconds = _seconds_of_jax(call) if name == "jax" else seconds_of(call)
            ask("cudaDeviceSynchronize")
        except Exception as error:  # of any package: the others are measured
            print(f"    {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            continue
        yield name, seconds


def difference(workload: Workload, inputs: list[Array], outputs: list[Array]) -> float:
    """The largest difference from PyTorch's results in float64 where that fits, of all elements,
    as a part of the largest number."""
    import torch

    tensors = [torch.as_tensor(array, device="cuda") for array in inputs]
    found = [torch.as_tensor(array, device="cuda") for array in outputs]
    function = workload.torch or workload.function
    expected = function(torch, *tensors)
    expected = expected if isinstance(expected, tuple) else (expected,)
    worst = 0.0
    for x, y in zip(found, expected, strict=True):
        apart = (x.double() - y.double()).abs().max().item()
        worst = max(worst, apart / max(y.double().abs().max().item(), 1e-30))
        if not bool(torch.isfinite(x).all()):
            return float("inf")
    return worst
