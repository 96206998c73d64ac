"""The pool of threads and the calls in C under the thread sanitizer.

    python tests/sanitize_threads.py --seconds 60 --threads 64

First `tests/c/pool_under_load.c` on the pool, with the sanitizer, and without it, where forked
children have threads too. Then, in Python, many threads that call the same and different functions,
with the pool, the extension module that makes the calls and the programs built with the sanitizer;
each result is compared with the first one. The exit status is 1 where anything was found.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import transpile
from transpile.build import pool_linking as pool
from transpile.build import support_libraries, toolchain
from transpile.build.compiler_probe import Compiler
from transpile.build.pool_linking import wrap_flags
from transpile.options import Options
from transpile.runtime import fast_call

ROOT = Path(__file__).parent.parent
POOL = ROOT / "runtime_c" / "python" / "threads.c"
LOAD = ROOT / "tests" / "c" / "pool_under_load.c"
SANITIZER = "-fsanitize=thread"


def built(compiler: Compiler, directory: Path, *words: str) -> Path:
    """`pool_under_load`, linked to the pool."""
    directory.mkdir(exist_ok=True)
    cc = [*compiler.command, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", *words]
    pool = directory / "libgomp.so"
    subprocess.run([*cc, "-fPIC", "-shared", "-pthread", POOL, "-o", pool], check=True)
    program = directory / "pool_under_load"
    link = [f"-L{directory}", f"-Wl,-rpath,{directory}", "-pthread", *wrap_flags()]
    subprocess.run([*cc, "-fopenmp", LOAD, "-o", program, *link], check=True)
    return program


def has_sanitizer(compiler: Compiler, directory: Path) -> bool:
    """Tell whether programs with the thread sanitizer can be built and run here."""
    probe = directory / "probe"
    cc = [*compiler.command, SANITIZER, "-x", "c", "-", "-o", probe]
    text = b"int main(void) { return 0; }"
    if subprocess.run(cc, input=text, capture_output=True).returncode:
        return False
    return subprocess.run([probe], capture_output=True).returncode == 0


def under_load(program: Path, threads: int, seconds: float) -> str:
    """What such a program found: nothing, as a rule."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    done = subprocess.run(
        [program, str(threads), str(seconds)],
        env={**kept, "TSAN_OPTIONS": "die_after_fork=0"},
        capture_output=True,
        text=True,
        timeout=20 * seconds + 120,
    )
    *complaints, counted = done.stderr.splitlines() or [""]
    print(f"{program.parent.name}: {threads} threads, {seconds:g} s, {counted}", flush=True)
    return "\n".join([done.stdout, *complaints]) if done.returncode or complaints else ""


# -- in Python -------------------------------------------------------------------------------------


def functions() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Functions of which each takes another way through the calls and the pool."""
    random = np.random.default_rng(0)
    square, rows = random.normal(size=(200, 200)), random.normal(size=(400, 300))
    short, large = random.normal(size=64), random.normal(size=(500, 400))

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return {
        "small": (lambda x: x * 2 + 1, (short,)),
        "products": (lambda a, b: np.tanh(a @ b) @ a, (square, square)),
        "softmax": (softmax, (rows,)),
        "sort": (lambda x: np.sort(x, axis=0), (rows,)),
        "sums": (lambda x: x.sum() + x.max(), (large,)),
        "reserve": (lambda x: np.exp(-x * x)[:, None, :] * np.ones((1, 3, 1)), (large,)),
        "transform": (lambda x: np.fft.rfft(x, axis=1), (rows,)),
        "pytree": (
            lambda d: {"a": d["a"] + 1, "b": (d["b"], d["a"].sum())},
            ({"a": short, "b": square},),
        ),
    }


def child(threads: int, seconds: float) -> int:
    """Call functions from many threads, everything in C built with the sanitizer; how many calls
    gave anything else than the first one did."""
    os.environ.pop("LD_PRELOAD")  # the compiler itself need not run under the sanitizer
    os.environ["TRANSPILE_CALLS"] = "c"
    sanitized = partial(_sanitized, support_libraries.obtaining_library)
    fast_call.obtaining_library = pool.obtaining_library = sanitized  # type: ignore[assignment]
    options = {"extra_cflags": (SANITIZER,), "num_threads": 3, "opt_level": 1}
    table = {
        name: (transpile.jit(function, compiler_options=options), arguments)
        for name, (function, arguments) in functions().items()
    }

    def bits(name: str) -> list[bytes]:
        function, arguments = table[name]
        return [np.asarray(leaf).tobytes() for leaf in transpile.tree.leaves(function(*arguments))]

    wanted = {name: bits(name) for name in table}
    end, calls, wrong = time.monotonic() + seconds, [0] * threads, [0] * threads

    def work(number: int) -> None:
        random = Random(number)
        while time.monotonic() < end:
            name = random.choice(list(table))
            calls[number] += 1
            wrong[number] += bits(name) != wanted[name]

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(f"{sum(calls)} calls, {sum(wrong)} wrong", flush=True)
    return sum(wrong)


def _sanitized(build: Any, source: str, words: Any, *rest: Any, **named: Any) -> Any:
    return build(source, (*words, SANITIZER, "-g"), *rest, **named)


def in_python(compiler: Compiler, cache: Path, threads: int, seconds: float) -> str:
    """What a child found."""
    library = subprocess.run(
        [*compiler.command, "-print-file-name=libtsan.so"], capture_output=True, text=True
    )
    settings = {"LD_PRELOAD": library.stdout.strip(), "TRANSPILE_CACHE_DIR": str(cache)}
    words = [sys.executable, "-W", "ignore", __file__, "--child"]
    words += ["--threads", str(threads), "--seconds", str(seconds)]
    done = subprocess.run(
        words,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=60 * seconds + 600,
    )
    print(f"in Python: {threads} threads, {seconds:g} s, {done.stdout.strip()}", flush=True)
    return done.stderr if done.returncode or done.stderr.strip() else ""


def main() -> int:
    """Read the command line, run all, print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20, help="for each of the runs")
    parser.add_argument("--threads", type=int, default=64, help="that call")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        return min(child(chosen.threads, chosen.seconds), 1)
    compiler = toolchain.find_compiler(Options())
    with tempfile.TemporaryDirectory(prefix="transpile-sanitize-") as temporary:
        directory = Path(temporary)
        if not has_sanitizer(compiler, directory):
            raise SystemExit("the compiler has no thread sanitizer that runs here")
        found = under_load(built(compiler, directory / "plain"), chosen.threads, chosen.seconds)
        program = built(compiler, directory / "sanitized", SANITIZER)
        found += under_load(program, chosen.threads, chosen.seconds)
        found += in_python(compiler, directory / "cache", chosen.threads, chosen.seconds)
    print(found or "nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
