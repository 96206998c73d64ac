"""Convolutions and pooling against JAX and PyTorch, in one run, turn about.

    python benchmarks/convolution.py [--peers PYTHON] [--threads 2] [--rounds 9] [CASE ...]

PYTHON is an interpreter that has the other libraries; those that it has not are left out. Each
library has a process of its own. A line gives the best and the median time of each in milliseconds,
and both as a multiple of ours: above 1, ours is faster. With one thread the time is that of the
processor, which others on the machine do not change much.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PEER_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
NAMES = ("transpile", "jax", "torch")
PAUSE = 0.02

# (what is computed, batch, channels, pixels, features, window, stride, groups, layout)
CASES = {
    "3x3": ("forward", 8, 32, 56, 64, 3, 1, 1, "NCHW"),
    "3x3 NHWC": ("forward", 8, 32, 56, 64, 3, 1, 1, "NHWC"),
    "3x3 bias, relu": ("layer", 8, 32, 56, 64, 3, 1, 1, "NCHW"),
    "3x3 gradient of operand": ("operand", 8, 32, 56, 64, 3, 1, 1, "NCHW"),
    "3x3 gradient of weights": ("weights", 8, 32, 56, 64, 3, 1, 1, "NCHW"),
    "3x3 gradient of weights NHWC": ("weights", 8, 32, 56, 64, 3, 1, 1, "NHWC"),
    "stride 2": ("forward", 8, 32, 56, 64, 3, 2, 1, "NCHW"),
    "stride 2 gradient of operand": ("operand", 8, 32, 56, 64, 3, 2, 1, "NCHW"),
    "stride 2 gradient of weights": ("weights", 8, 32, 56, 64, 3, 2, 1, "NCHW"),
    "7x7 pixels": ("forward", 8, 512, 7, 512, 3, 1, 1, "NCHW"),
    "first layer": ("forward", 4, 3, 224, 64, 7, 2, 1, "NCHW"),
    "1x1": ("forward", 8, 32, 56, 64, 1, 1, 1, "NCHW"),
    "1x1 NHWC": ("forward", 8, 32, 56, 64, 1, 1, 1, "NHWC"),
    "small": ("forward", 1, 3, 32, 8, 5, 1, 1, "NCHW"),
    "depthwise": ("forward", 8, 32, 56, 32, 3, 1, 32, "NCHW"),
    "depthwise NHWC": ("forward", 8, 32, 56, 32, 3, 1, 32, "NHWC"),
    "depthwise gradient of weights": ("weights", 8, 32, 56, 32, 3, 1, 32, "NCHW"),
    "max pool": ("pool", 8, 32, 56, 0, 2, 2, 1, "NCHW"),
    "max pool 3x3": ("pool", 8, 32, 56, 0, 3, 2, 1, "NCHW"),
    "max pool gradient": ("pool gradient", 8, 32, 56, 0, 2, 2, 1, "NCHW"),
}


def operands(case):
    """The operand, the weights and the cotangent, and a bias."""
    import numpy as np

    _, n, c, size, o, k, stride, groups, layout = case
    random = np.random.default_rng(0)
    out = -(-size // stride)
    shapes = [(n, c, size, size), (o, c // groups, k, k), (n, o, out, out), (o,)]
    if layout == "NHWC":
        shapes = [(n, size, size, c), (k, k, c // groups, o), (n, out, out, o), (o,)]
    return [random.standard_normal(s).astype(np.float32) for s in shapes]


def as_jax(case, jax, numpy):
    """The function of the operands, in JAX's words."""
    kind, _, _, _, _, k, stride, groups, layout = case
    numbers = ("NHWC", "HWIO", "NHWC") if layout == "NHWC" else ("NCHW", "OIHW", "NCHW")

    def convolved(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", None, None, numbers, groups
        )

    def pooled(x):
        padding = "VALID" if k == stride else "SAME"
        return jax.lax.reduce_window(
            x, -numpy.inf, jax.lax.max, (1, 1, k, k), (1, 1, stride, stride), padding
        )

    return jax.jit(
        {
            "forward": lambda x, w, ct, b: convolved(x, w),
            "layer": lambda x, w, ct, b: numpy.maximum(convolved(x, w) + b[:, None, None], 0),
            "operand": lambda x, w, ct, b: jax.vjp(lambda x: convolved(x, w), x)[1](ct)[0],
            "weights": lambda x, w, ct, b: jax.vjp(lambda w: convolved(x, w), w)[1](ct)[0],
            "pool": lambda x, w, ct, b: pooled(x),
            "pool gradient": lambda x, w, ct, b: jax.grad(lambda x: pooled(x).sum())(x),
        }[kind]
    )


def as_torch(case, torch):
    """The function of the operands, by the operations that torch.nn calls."""
    kind, _, _, _, _, k, stride, groups, _ = case
    functional, pad = torch.nn.functional, k // 2

    def gradient(x, w, ct, which):
        return torch.ops.aten.convolution_backward(
            *(ct, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, which)
        )

    def convolved(x, w, b=None):
        return functional.conv2d(x, w, b, stride=stride, padding=pad, groups=groups)

    def pool_gradient(x):
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            functional.max_pool2d(x, k, stride).sum().backward()
        return x.grad

    return {
        "forward": lambda x, w, ct, b: convolved(x, w),
        "layer": lambda x, w, ct, b: convolved(x, w, b).relu_(),
        "operand": lambda x, w, ct, b: gradient(x, w, ct, [True, False, False]),
        "weights": lambda x, w, ct, b: gradient(x, w, ct, [False, True, False]),
        "pool": lambda x, w, ct, b: functional.max_pool2d(x, k, stride, 0 if k == stride else pad),
        "pool gradient": lambda x, w, ct, b: pool_gradient(x),
    }[kind]


def contestant(name, case):
    """A function of nothing that computes the case and waits for it."""
    arrays = operands(case)
    if name == "torch":
        import torch

        torch.set_grad_enabled(False)
        if case[-1] == "NHWC":
            order = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2), (0,))
            arrays = [x.transpose(p) for x, p in zip(arrays, order, strict=True)]
        tensors = [torch.from_numpy(x) for x in arrays]
        function = as_torch(case, torch)
        return lambda: function(*tensors)
    if name == "jax":
        import jax
        import jax.numpy

        placed = [jax.numpy.asarray(x) for x in arrays]
        function = as_jax(case, jax, jax.numpy)
        return lambda: function(*placed).block_until_ready()
    sys.path.insert(0, str(ROOT))
    import transpile
    import transpile.numpy

    function = as_jax(case, transpile, transpile.numpy)
    return lambda: function(*arrays)


def serve(name, clock):
    """Answer each line, the name of a case, with the time of one call; an empty line ends it."""
    ready = {}
    for line in sys.stdin:
        case = line.strip()
        if not case:
            return
        if case not in ready:
            ready.clear()
            ready[case] = contestant(name, CASES[case])
            ready[case]()
        ready[case]()  # what others have left in the caches is not counted
        start = clock()
        ready[case]()
        print(clock() - start, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--peers", default=str(PEER_PYTHON), metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        if hasattr(os, "sched_setaffinity"):  # JAX has a thread for each processor that it sees
            os.sched_setaffinity(0, range(options.threads))
        if importlib.util.find_spec(options.serve) or options.serve == "transpile":
            print("ready", flush=True)
            serve(options.serve, time.process_time if options.threads == 1 else time.perf_counter)
        return
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    peers = {}
    for name in NAMES:
        python = sys.executable if name == "transpile" else options.peers
        if not Path(python).exists():
            continue
        process = subprocess.Popen(
            [python, __file__, "--serve", name, "--threads", str(options.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        if process.stdout.readline().strip() == "ready":
            peers[name] = process
    print(f"{'':30}" + "".join(f"{name:>20}" for name in peers))
    for case in options.cases:
        times = {name: [] for name in peers}
        for _ in range(options.rounds):
            for name, process in peers.items():
                print(case, file=process.stdin, flush=True)
                times[name].append(1000 * float(process.stdout.readline()))
                time.sleep(PAUSE)
        ours = [f(times["transpile"]) for f in (min, statistics.median)]
        line = f"{case:30}"
        for name, found in times.items():
            best, median = min(found), statistics.median(found)
            line += f"{best:9.3f}{median:8.3f}"
            if name != "transpile":
                line += f"  x{best / ours[0]:4.2f} x{median / ours[1]:4.2f}"
        print(line, flush=True)
    for process in peers.values():
        print(file=process.stdin, flush=True)


if __name__ == "__main__":
    main()
