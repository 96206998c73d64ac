"""Cliffs: drawn NumPy programs against NumPy.

    make cliffs COUNT=1000 SEED=7

Each program is a few statements over the whole of the NumPy surface (the grammar of `make fuzz`) on
arrays of the sizes at which time is spent. A process of its own draws it, compiles it, compares the
results and times both in turns; what counts is the quotient of the best times. Programs that come
out slower are measured again, with more turns. The end says which share is at least as fast, the
geometric mean, the slowest twenty with their texts, and what took the compiler long.
"""

import argparse
import json
import os
import resource
import signal
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass

import numpy as np
from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import REFUSALS, draw, quiet
from fuzz_numpy.search import judged

import transpile
from benchmarks.large_arguments import argument
from transpile.runtime import fast_call

MOST_ELEMENTS = 2_000_000
MEMORY = 8 << 30  # bytes of address space: what a drawn outer product does not fit into is refused
PATIENCE = 40  # seconds for a program in all
TURN = 1e-3  # seconds of calls that are measured as one
LONG = 3.0  # seconds that no compilation should take
SHOWN = 20


@dataclass(frozen=True)
class Outcome:
    """What came of a program: seconds of a call and of the first one, or why there are none."""

    seed: int
    text: str
    numpy: float = 0.0
    ours: float = 0.0
    first: float = 0.0
    failure: str = ""

    @property
    def ratio(self):
        """How many times faster than NumPy."""
        return self.numpy / self.ours


def best_times(functions, arguments, rounds):
    """The least seconds of a call of each function, measured in turns."""
    counts, best = [], []
    for function in functions:
        start = time.perf_counter()
        function(*arguments)
        taken = time.perf_counter() - start
        counts.append(max(1, min(10_000, int(TURN / taken))))
        best.append(taken)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(counts[k]):
                function(*arguments)
            best[k] = min(best[k], (time.perf_counter() - start) / counts[k])
    return best


def with_copies(function, results, arguments):
    """The function with copies of those results that are views of an argument, as ours are not."""
    views = [k for k, r in enumerate(results) if any(np.may_share_memory(r, x) for x in arguments)]
    if not views:
        return function

    def copying(*arguments):
        results = [*function(*arguments)]
        for k in views:
            results[k] = np.array(results[k])
        return results

    return copying


def measure(seed):
    """The outcome of the program of a seed."""
    with quiet():
        program = draw(seed, argument, MOST_ELEMENTS)
        function, arguments = program.function(), list(program.arguments.values())
        text = describe(program)
        want = function(*arguments)
        compiled = transpile.jit(function)
        start = time.perf_counter()
        try:
            got = compiled(*arguments)
        except (transpile.errors.TranspileError, NotImplementedError, *REFUSALS) as error:
            return Outcome(seed, text, failure=f"{type(error).__name__}: {error}".split("\n")[0])
        first = time.perf_counter() - start
        _, said = judged(Oracle(program), program, got)
        if said:
            return Outcome(seed, text, first=first, failure=f"results differ: {said}")
        both = with_copies(function, want, arguments), compiled
        times = best_times(both, arguments, 5)
        for rounds in (15, 40):
            if times[0] < 1.05 * times[1]:
                again = best_times(both, arguments, rounds)
                times = [min(pair) for pair in zip(times, again, strict=True)]
    return Outcome(seed, text, *times, first)


def describe(program):
    """The text of a program, and what its arguments are."""
    kinds = []
    for name, x in program.arguments.items():
        strides = "" if x.flags.c_contiguous else f" strides {x.strides}"
        kinds.append(f"{name}: {x.dtype.name}{list(x.shape)}{strides}")
    return f"# {', '.join(kinds)}\n{program.source()}"


def in_a_process(seed):
    """The outcome of a program that may crash, or fill the memory, or never end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(PATIENCE)
        status = 1
        try:
            os.write(writing, json.dumps(asdict(measure(seed))).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        text = file.read()
    status = os.waitpid(child, 0)[1]
    if text:
        return Outcome(**json.loads(text))
    why = f"signal {status & 127}" if status & 127 else f"exit {status >> 8}"
    return Outcome(seed, "", failure=f"no answer ({why})")


def shown(outcome):
    """A program and what came of it."""
    if outcome.failure:
        return f"{outcome.failure}  seed {outcome.seed}\n{outcome.text}"
    times = f"{outcome.numpy * 1e6:.1f} -> {outcome.ours * 1e6:.1f} us"
    return f"{outcome.ratio:.2f}  {times}  seed {outcome.seed}\n{outcome.text}"


def report(outcomes):
    """The figures, and the programs behind them."""
    timed = sorted((o for o in outcomes if not o.failure), key=lambda o: o.ratio)
    ratios = np.array([o.ratio for o in timed])
    lines = [f"\n{shown(o)}" for o in (*timed[:SHOWN], *(o for o in outcomes if o.failure))]
    slow = [o for o in timed if o.first > LONG]
    lines += [f"\ncompiled in {o.first:.1f} s  seed {o.seed}\n{o.text}" for o in slow]
    if not timed:
        return "\n".join(lines)
    firsts = [o.first for o in timed]
    lines.append(
        f"\n{len(timed)} programs: {np.mean(ratios >= 1):.1%} at least as fast as NumPy,"
        f" {np.sum(ratios < 0.8)} under 0.8, geometric mean {np.exp(np.mean(np.log(ratios))):.2f},"
        f" least {ratios[0]:.2f}; {len(outcomes) - len(timed)} without a time; first calls: median"
        f" {np.median(firsts):.2f} s, longest {max(firsts):.2f} s, {len(slow)} over {LONG:.0f} s"
    )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Time drawn NumPy programs against NumPy.")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    asked = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRANSPILE_CACHE_DIR"] = cache
        fast_call.module()  # for all processes: each would begin with a compiler for it
        for seed in range(asked.seed, asked.seed + asked.count):
            outcomes.append(in_a_process(seed))
            if outcomes[-1].failure or outcomes[-1].ratio < 1:
                print(f"{len(outcomes)} of {asked.count}: {shown(outcomes[-1])}", flush=True)
    print(report(outcomes))


if __name__ == "__main__":
    main()
