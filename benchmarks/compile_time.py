"""What compiling costs: programs of 100 to 20000 equations, from their trace to the machine's code.

    python -m benchmarks.compile_time [--kind NAME ...] [--size N ...] [--limit SECONDS]
                                      [--python PATH]

Each program is compiled in a process of its own with an empty cache, by transpile and by JAX, where
this Python, or one that is given, has it. JAX's `trace` is to its own text, its `compile` is XLA;
ours are the trace, the loops and the C text, and the C compiler. Who exceeds the limit is not asked
for larger programs of the kind.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

from benchmarks.compile_programs import KINDS
from benchmarks.contest import ROOT, contestants
from benchmarks.tables import text

SIZES = (100, 1000, 5000, 20_000)
DEFAULT_KINDS = ("chain", "layers")
LIMIT = 45.0
STEPS = {"transpile": ("trace", "lower and print", "C compiler"), "jax": ("trace", "compile")}


def transpile_steps(kind, size):
    """Seconds of each step."""
    import numpy as np

    import transpile

    function, arguments = KINDS[kind].build(size, np, transpile)
    times = [time.perf_counter()]
    traced = transpile.jit(function).trace(*arguments)
    times.append(time.perf_counter())
    lowered = traced.lower()
    lowered.as_text()
    times.append(time.perf_counter())
    lowered.compile()
    times.append(time.perf_counter())
    return times


def jax_steps(kind, size):
    """Seconds of each step."""
    import jax

    jax.config.update("jax_enable_x64", True)
    function, arguments = KINDS[kind].build(size, jax.numpy, jax)
    times = [time.perf_counter()]
    lowered = jax.jit(function).lower(*arguments)
    times.append(time.perf_counter())
    lowered.compile()
    times.append(time.perf_counter())
    return times


MEASURED = {"transpile": transpile_steps, "jax": jax_steps}


def measure(who, python, kind, size, limit):
    """{step: seconds} of one program in a new process, or words that say what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        words = [python, "-m", "benchmarks.compile_time", "--one", who, kind, str(size)]
        environment = {**os.environ, "TRANSPILE_CACHE_DIR": folder}
        try:
            done = subprocess.run(
                words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return f"over {limit:.0f} s"
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return f"FAILED: {said[-1] if said else f'exit status {done.returncode}'}"
    times = json.loads(done.stdout.splitlines()[-1])
    steps = (end - start for start, end in itertools.pairwise(times))
    return dict(zip(STEPS[who], steps, strict=True))


def measure_all(pythons, kinds=DEFAULT_KINDS, sizes=SIZES, limit=LIMIT):
    """{kind: {size: {who: what `measure` gives}}}."""
    found = {}
    for kind in kinds:
        out = set()
        found[kind] = {}
        for size in sizes:
            line = found[kind][str(size)] = {}
            for who in (who for who in MEASURED if who in pythons and who not in out):
                line[who] = measure(who, pythons[who], kind, size, limit)
                if isinstance(line[who], str):
                    out.add(who)
    return found


def lines(found):
    """The table of each kind."""
    titles = [f"{who}: {step}" for who, steps in STEPS.items() for step in steps]
    out = []
    for kind, sizes in found.items():
        out.append(f"\ncompiling {KINDS[kind].title}, by the number of equations")
        out.append(f"  {'':>7}" + "".join(f"{title:>27}" for title in titles))
        for size, line in sizes.items():
            words = []
            for who, steps in STEPS.items():
                measured = line.get(who, "-")
                if isinstance(measured, str):
                    words += [measured] + [""] * (len(steps) - 1)
                else:
                    words += [text(measured[step]) for step in steps]
            out.append(f"  {size:>7}" + "".join(f"{word:>27}" for word in words))
    return out


def main():
    """Measure and print, or measure one program for the process that asks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--one", nargs=3, metavar=("WHO", "KIND", "SIZE"), help="one program")
    parser.add_argument("--kind", action="append", choices=KINDS, help="one of them")
    parser.add_argument("--size", action="append", type=int, help="so many equations")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a program (45)")
    parser.add_argument("--python", default="", help="a Python that has JAX")
    options = parser.parse_args()
    if options.one:
        who, kind, size = options.one
        print(json.dumps(MEASURED[who](kind, int(size))))
        return
    pythons = contestants(True, options.python or sys.executable)
    found = measure_all(
        pythons, options.kind or DEFAULT_KINDS, options.size or SIZES, options.limit
    )
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
