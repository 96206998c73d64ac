"""Drawn programs under the address and undefined-behaviour sanitizers.

    python tests/sanitize.py --count 10000 --seed 0

Each program is a random graph (`graphs.random_graph`), compiled with `sanitize=True` and run on
three threads; every other one at thresholds so small that small arrays meet every step of the
schedule. Its results are compared with those of the graph. The sanitizers have to be in the process
from its start, so the programs run in child processes, which end at the first complaint: the next
child goes on after the program that was at fault. The seeds of those are the answer, on the last
line; the exit status is 1 where there are any.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from graphs import assert_same_results, random_graph, small_thresholds

from transpile.build import toolchain
from transpile.options import Options
from transpile.runtime.executable import Lowering
from transpile.transforms.interpret import interpret

OPTIONS = Options(opt_level=1, num_threads=3, sanitize=True)
# Programs are never unloaded: a child takes so many, then ends.
PER_CHILD = 100
# Bytes of programs that the cache keeps: each runs once.
CACHE = 4 << 20


def check(seed: int) -> None:
    """Build and run the program of a seed; AssertionError where it is not what its graph means."""
    graph, values = random_graph(seed)
    with ExitStack() as stack:
        for patch in small_thresholds(seed) if seed % 2 else ():
            stack.enter_context(patch)
        results = Lowering(graph, OPTIONS).build()(values)
    assert_same_results(results, interpret(graph, values), "C")


def child(first: int, end: int) -> None:
    """Check the programs of a range of seeds, each announced before it runs."""
    os.environ.pop("LD_PRELOAD")  # the compiler itself need not run under the sanitizer
    for seed in range(first, end):
        print(seed, flush=True)
        check(seed)
    print("done", flush=True)


def failures(first: int, end: int, environment: dict[str, str]) -> Iterator[tuple[int, str]]:
    """The seeds at which a child has stopped, with the end of what it said."""
    while first < end:
        last = min(first + PER_CHILD, end)
        words = [sys.executable, "-W", "ignore", __file__, "--child", str(first), str(last)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        said = done.stdout.split()
        if said[-1:] == ["done"]:
            first = last
            continue
        if not said:
            raise SystemExit(f"a child with the sanitizers does not start:\n{done.stderr[-4000:]}")
        first = int(said[-1]) + 1
        yield first - 1, done.stderr[-4000:]


def main() -> int:
    """Read the command line, run all, print the count and the seeds at fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(*chosen.child)
        return 0
    added = toolchain.sanitizer_environment(toolchain.find_compiler(OPTIONS))
    if not Path(added["LD_PRELOAD"]).is_absolute():
        raise SystemExit("the compiler has no address sanitizer library")
    with tempfile.TemporaryDirectory(prefix="transpile-sanitize-") as cache:
        settings = {"TRANSPILE_CACHE_DIR": cache, "TRANSPILE_CACHE_MAX_BYTES": str(CACHE)}
        faults = []
        for seed, text in failures(
            chosen.seed, chosen.seed + chosen.count, {**os.environ, **added, **settings}
        ):
            print(f"--- seed {seed}\n{text}", flush=True)
            faults.append(seed)
    print(f"{chosen.count} programs, {len(faults)} at fault: {faults}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
