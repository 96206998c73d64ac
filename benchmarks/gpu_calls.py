"""What calls on a GPU cost: the first one, those of tiny functions, and copies to and from it,
beside PyTorch, CuPy and JAX where they are installed.

    python -m benchmarks.gpu_calls [--profile]

Microseconds are the best of several rounds of a thousand calls, which wait for the device at their
end alone. Bandwidths are of arrays of 256 MiB in ordinary memory of the host.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import os
import pstats
import tempfile
import time

import numpy as np

import transpile

ROUNDS, CALLS = 7, 1000
LARGE = 1 << 28


def best(call, wait):
    """Microseconds of a call."""
    for _ in range(200):
        call()
    wait()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        wait()
        times.append(time.perf_counter() - begin)
    return min(times) / CALLS * 1e6


def peer(name):
    """A module, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def overhead():
    """Print the microseconds of calls of tiny functions."""
    gpu = transpile.devices("gpu")[0]
    x = transpile.device_put(np.arange(100, dtype=np.float32), gpu)
    many = [transpile.device_put(np.arange(100, dtype=np.float32), gpu) for _ in range(10)]
    two = transpile.jit(lambda x, y: x * y + x, device="cuda")
    ten = transpile.jit(lambda *xs: sum(xs), device="cuda")
    free = transpile.jit(lambda x, y: x * y + x)
    print(f"{'transpile, x * y + x':44}{best(lambda: two(x, x), gpu.synchronize):8.2f} us")
    print(f"{'  without device=':44}{best(lambda: free(x, x), gpu.synchronize):8.2f} us")
    print(f"{'  with a number of Python':44}{best(lambda: two(x, 2.5), gpu.synchronize):8.2f} us")
    print(f"{'  ten arguments':44}{best(lambda: ten(*many), gpu.synchronize):8.2f} us")
    run = two.lower(x, x).compile().runtime_executable().call.run
    print(f"{'  the program alone':44}{best(lambda: run([x, x]), gpu.synchronize):8.2f} us")
    if (torch := peer("torch")) is not None:
        t = torch.arange(100, dtype=torch.float32, device="cuda")
        wait = torch.cuda.synchronize
        print(f"{'torch, x * y':44}{best(lambda: t * t, wait):8.2f} us")
        print(f"{'torch, x * y + x (two kernels)':44}{best(lambda: t * t + t, wait):8.2f} us")
        print(f"{'transpile, of tensors of torch':44}{best(lambda: two(t, t), wait):8.2f} us")
        compiled = torch.compile(lambda x, y: x * y + x)
        print(f"{'torch.compile, x * y + x':44}{best(lambda: compiled(t, t), wait):8.2f} us")
    if (cupy := peer("cupy")) is not None:
        c = cupy.arange(100, dtype=cupy.float32)
        wait = cupy.cuda.runtime.deviceSynchronize

        @cupy.fuse()
        def fused(x, y):
            return x * y + x

        print(f"{'cupy, x * y':44}{best(lambda: c * c, wait):8.2f} us")
        print(f"{'cupy.fuse, x * y + x':44}{best(lambda: fused(c, c), wait):8.2f} us")
        print(f"{'transpile, of arrays of cupy':44}{best(lambda: two(c, c), wait):8.2f} us")
    if (jax := peer("jax")) is not None:
        j = jax.device_put(np.arange(100, dtype=np.float32))
        jitted = jax.jit(lambda x, y: x * y + x)
        wait = lambda: jax.block_until_ready(jitted(j, j))  # noqa: E731
        print(f"{'jax.jit, x * y + x':44}{best(lambda: jitted(j, j), wait):8.2f} us")
        print(
            f"{'transpile, of arrays of jax':44}{best(lambda: two(j, j), gpu.synchronize):8.2f} us"
        )


def first_calls():
    """Print the milliseconds of first calls: built, and from the cache."""
    x = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)

    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    transpile.device_put(x, "cuda").block_until_ready()
    for what in ("built", "from the cache"):
        transpile.clear_caches()
        jitted = transpile.jit(lambda x: softmax(x), device="cuda")
        begin = time.perf_counter()
        transpile.block_until_ready(jitted(x))
        elapsed = time.perf_counter() - begin
        info = jitted.lower(x).compile().build_info()
        phases = {n: f"{getattr(info, f'{n}_seconds') * 1e3:.0f}" for n in PHASES}
        print(f"first call of softmax, {what}: {elapsed * 1e3:.0f} ms, {phases}")
    if (jax := peer("jax")) is not None:
        import jax.numpy as jnp

        j = jax.device_put(x)
        begin = time.perf_counter()
        jitted = jax.jit(lambda x: jnp.exp(x - x.max(1, keepdims=True)))
        jax.block_until_ready(jitted(j))
        print(f"first call of jax.jit: {(time.perf_counter() - begin) * 1e3:.0f} ms")
    if (torch := peer("torch")) is not None:
        t = torch.tensor(x, device="cuda")
        compiled = torch.compile(lambda t: torch.exp(t - t.amax(1, keepdim=True)))
        begin = time.perf_counter()
        compiled(t)
        torch.cuda.synchronize()
        print(f"first call of torch.compile: {(time.perf_counter() - begin) * 1e3:.0f} ms")


PHASES = ("trace", "lower", "render", "compile")


def bandwidth(name, size, copy):
    """Print the bandwidth of a copy."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        copy()
        times.append(time.perf_counter() - begin)
    print(f"{name:44}{size / min(times) / 1e9:8.2f} GB/s")


def transfers():
    """Print the bandwidths of copies to the device and back."""
    gpu = transpile.devices("gpu")[0]
    x = np.random.default_rng(0).random(LARGE // 8)
    d = transpile.device_put(x, gpu)
    size = x.nbytes
    bandwidth("transpile, to the device", size, lambda: gpu.put(x).block_until_ready())
    bandwidth("transpile, to the host", size, lambda: np.asarray(d))
    if (torch := peer("torch")) is not None:
        t = torch.from_numpy(x)
        g = t.cuda()
        wait = torch.cuda.synchronize
        bandwidth("torch, to the device", size, lambda: (t.cuda(), wait()))
        bandwidth("torch, to the host", size, g.cpu)
        pinned = t.pin_memory()
        bandwidth("torch, to the device, pinned", size, lambda: (pinned.cuda(), wait()))
    if (cupy := peer("cupy")) is not None:
        c = cupy.asarray(x)
        wait = cupy.cuda.runtime.deviceSynchronize
        bandwidth("cupy, to the device", size, lambda: (cupy.asarray(x), wait()))
        bandwidth("cupy, to the host", size, c.get)
    if (jax := peer("jax")) is not None:
        jax.config.update("jax_enable_x64", True)
        j = jax.device_put(x)
        bandwidth("jax, to the device", size, lambda: jax.device_put(x).block_until_ready())
        bandwidth("jax, to the host", size, lambda: np.asarray(j + 0))


def profile():
    """Print where the time of calls goes."""
    gpu = transpile.devices("gpu")[0]
    x = transpile.device_put(np.arange(100, dtype=np.float32), gpu)
    two = transpile.jit(lambda x, y: x * y + x, device="cuda")
    two(x, x)
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [two(x, x) for _ in range(10000)])
    pstats.Stats(profiler).sort_stats("tottime").print_stats(12)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="where the time of calls goes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRANSPILE_CACHE_DIR"] = cache
        first_calls()
        overhead()
        transfers()
        if asked.profile:
            profile()


if __name__ == "__main__":
    main()
