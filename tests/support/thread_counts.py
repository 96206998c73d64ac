"""Prints for each library call how many threads of this process work while it runs, as JSON.

    python thread_counts.py THREADS [NAME...]

Each line: the name, the intrinsics that the program calls, and the number of threads that the
system has seen at work. THREADS is the option `num_threads`; without names all calls are made.
"""

import json
import os
import sys
import time

import numpy as np

import transpile
from transpile import lax
from transpile.codegen.plan.summary import summary_of
from transpile.scipy import linalg

SOME = 20_000_000  # nanoseconds: less is a thread that falls asleep
ENOUGH = 5 * SOME  # of the thread that calls

random = np.random.default_rng(0)


def normal(*shape, dtype=np.float64):
    return random.standard_normal(shape).astype(dtype)


A = normal(300, 300)
S = A @ A.T + 300 * np.eye(300)
F32 = np.float32


def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


def conv(x, w):
    return lax.conv(x, w, (1, 1), "SAME")


PRODUCTS = {
    "product": (np.matmul, (normal(600, 600, dtype=F32), normal(600, 600, dtype=F32))),
    "layer": (layer, (normal(600, 600), normal(600, 200), normal(200))),
    "products": (np.matmul, (normal(100, 64, 64), normal(100, 64, 64))),
    "long sums": (np.matmul, (normal(16, 100_000), normal(100_000, 16))),
    "integers": (np.matmul, (np.ones((300, 300), int), np.ones((300, 300), int))),
    "convolution": (conv, (normal(16, 16, 32, 32, dtype=F32), normal(32, 16, 3, 3, dtype=F32))),
}
OTHERS = {
    "fft": (np.fft.fft2, (normal(512, 512),)),
    "sort": (np.sort, (normal(300_000),)),
    "argsort": (np.argsort, (normal(300_000),)),
    "cumsum": (np.cumsum, (normal(3_000_000),)),
    "elements": (np.sin, (normal(1_000_000),)),
    "cholesky": (np.linalg.cholesky, (S,)),
    "solve": (np.linalg.solve, (S, A)),
    "qr": (np.linalg.qr, (A,)),
    "reflectors": (lambda x: np.linalg.qr(x, mode="raw"), (A,)),
    "eig": (np.linalg.eig, (A,)),
    "eigvals": (np.linalg.eigvals, (A,)),
    "eigh": (np.linalg.eigh, (S,)),
    "eigvalsh": (np.linalg.eigvalsh, (S,)),
    "svd": (np.linalg.svd, (A,)),
    "svdvals": (lambda x: np.linalg.svd(x, compute_uv=False), (A,)),
    "sqrtm": (linalg.sqrtm, (S[:80, :80].copy(),)),
    "schur": (linalg.schur, (A,)),
}


def times():
    """{thread: nanoseconds for which it has run}."""
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/schedstat") as file:
            found[thread] = int(file.read().split()[0])
    return found


def when_others_sleep():
    """The times, once no other thread works."""
    own = str(os.getpid())
    before, now = {}, times()
    while any(now[thread] != before.get(thread) for thread in now if thread != own):
        time.sleep(0.2)
        before, now = now, times()
    return now


def count(function, arguments, threads, blas):
    options = {"num_threads": threads, "blas": blas}
    lowered = transpile.jit(function, compiler_options=options).lower(*arguments)
    compiled = lowered.compile()
    compiled(*arguments)
    own, before = str(os.getpid()), when_others_sleep()
    while times()[own] - before[own] < ENOUGH:
        compiled(*arguments)
    after = when_others_sleep()
    worked = sum(spent - before.get(thread, 0) >= SOME for thread, spent in after.items())
    called = summary_of(lowered.compiler_ir("loops").kernels).intrinsics
    return sorted(intrinsic.__name__ for intrinsic in called), worked


def main():
    threads, names = int(sys.argv[1]), sys.argv[2:]
    calls = [(name, *call, "none") for name, call in (PRODUCTS | OTHERS).items()]
    calls += [(f"{name}, BLAS", *call, "auto") for name, call in PRODUCTS.items()]
    for name, function, arguments, blas in calls:
        if not names or name in names:
            print(json.dumps([name, *count(function, arguments, threads, blas)]), flush=True)


if __name__ == "__main__":
    main()
