"""Drawn graphs as C: at every level of optimization, or under the sanitizers.

    python tests/fuzz_graphs.py --count 5000 --seed 0
    python tests/fuzz_graphs.py --count 10000 --seed 0 --sanitize

Each program is a random graph (`graphs.random_graph`), or in one of four a graph with loops and
branches (`loop_graphs.random_loops`); every other one is made for a machine for which small
arrays meet every pass. Its results, on three threads, are compared with those of
the graph. The programs run in child processes, which end at the first fault: the next child goes on
after the program that was at fault. The seeds of those are the answer, on the last line; the exit
status is 1 where there are any.

The address and undefined-behaviour sanitizers have to be in a process from its start; they complain
of what happens in C, at the level -O1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

from graphs import assert_same_results, random_graph, small_machine
from loop_graphs import random_loops

from transpile.build import toolchain
from transpile.options import Options
from transpile.runtime.executable import Lowering
from transpile.transforms.interpret import interpret

SANITIZED = Options(opt_level=1, num_threads=3, sanitize=True)
# Programs are never unloaded: a child takes so many, then ends.
PER_CHILD = 100
# Bytes of programs that the cache keeps: each runs once.
CACHE = 4 << 20


def check(seed: int, options: Options) -> None:
    """Build and run the program of a seed; AssertionError where it is not what its graph means."""
    drawn = partial(random_loops, Random(seed), reshapes=seed % 16 > 7)
    graph, values = drawn() if seed % 8 > 5 else random_graph(seed)
    machine = small_machine(seed) if seed % 2 else options.machine
    results = Lowering(graph, replace(options, machine=machine)).build()(values)
    assert_same_results(results, interpret(graph, values), f"C at -O{options.opt_level}")


def child(first: int, end: int, sanitize: bool) -> None:
    """Check the programs of a range of seeds, each announced before it runs."""
    os.environ.pop("LD_PRELOAD", None)  # the compiler itself need not run under the sanitizer
    for seed in range(first, end):
        print(seed, flush=True)
        for level in () if sanitize else range(4):
            check(seed, Options(opt_level=level, num_threads=3))
        if sanitize:
            check(seed, SANITIZED)
    print("done", flush=True)


def failures(
    first: int, end: int, flags: list[str], environment: dict[str, str]
) -> Iterator[tuple[int, str]]:
    """The seeds at which a child has stopped, with the end of what it said."""
    while first < end:
        last = min(first + PER_CHILD, end)
        words = [sys.executable, "-W", "ignore", __file__, *flags]
        words += ["--child", str(first), str(last)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        said = done.stdout.split()
        if said[-1:] == ["done"]:
            first = last
            continue
        if not said:
            raise SystemExit(f"a child does not start:\n{done.stderr[-4000:]}")
        first = int(said[-1]) + 1
        yield first - 1, done.stderr[-4000:]


def main() -> int:
    """Read the command line, run all, print the count and the seeds at fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--sanitize", action="store_true", help="under the sanitizers")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(*chosen.child, chosen.sanitize)
        return 0
    added, flags = {}, []
    if chosen.sanitize:
        flags = ["--sanitize"]
        added = toolchain.sanitizer_environment(toolchain.find_compiler(SANITIZED))
        if not Path(added["LD_PRELOAD"]).is_absolute():
            raise SystemExit("the compiler has no address sanitizer library")
    with tempfile.TemporaryDirectory(prefix="transpile-sanitize-") as cache:
        settings = {"TRANSPILE_CACHE_DIR": cache, "TRANSPILE_CACHE_MAX_BYTES": str(CACHE)}
        faults = []
        for seed, text in failures(
            chosen.seed, chosen.seed + chosen.count, flags, {**os.environ, **added, **settings}
        ):
            print(f"--- seed {seed}\n{text}", flush=True)
            faults.append(seed)
    print(f"{chosen.count} programs, {len(faults)} at fault: {faults}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
