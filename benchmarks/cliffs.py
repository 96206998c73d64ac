"""Cliffs: drawn NumPy programs against NumPy.

    make cliffs COUNT=1000 SEED=7

Each program is a few statements over the whole of the NumPy surface (the grammar of `make fuzz`) on
arrays of the sizes at which time is spent. A process of its own draws it, compiles it, compares the
results and times both in turns; what counts is the quotient of the best times. Programs that come
out slower are measured again, with more turns, and at the end in processes of their own: other work
on the machine is no cliff. The end says which share is at least as fast, the geometric mean, the
slowest twenty with their texts, what took the compiler long, in processor seconds, and how busy the
machine was.

Where JAX is installed, here or in the Python of `--python`, it runs the same programs in a process
of its own (`benchmarks.cliffs_jax`), in turns with ours. The programs that it runs, with NumPy's
results, have figures of their own.
"""

import argparse
import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import REFUSALS, draw, quiet
from fuzz_numpy.search import judged

import transpile
from benchmarks.cliff_times import MOST_ELEMENTS, best_times
from benchmarks.contest import ROOT, ContestantError, Peer, interpreter_with
from benchmarks.large_arguments import argument
from transpile.runtime import fast_call

MEMORY = 8 << 30  # bytes of address space: what a drawn outer product does not fit into is refused
DRAWN = 512 << 20  # bytes more that a statement which is drawn may want: others take NumPy minutes
PATIENCE = 40  # seconds for a program in all
LONG = 3.0  # processor seconds that no first call should take
AGAIN = 4  # processes in which a program that seems slow is measured again
SHOWN = 20
SHOWN_AGAINST_JAX = 5
ENDED = "no answer"  # why JAX has no time, where its process has to be begun anew


@dataclass(frozen=True)
class Outcome:
    """What came of a program: seconds of a call, and processor seconds of the first one with its
    compiler's, or why there are none. `refused` says why JAX has none; it is empty also where JAX
    was not asked."""

    seed: int
    text: str
    numpy: float = 0.0
    ours: float = 0.0
    first: float = 0.0
    failure: str = ""
    jax: float = 0.0
    jax_first: float = 0.0
    refused: str = ""

    @property
    def ratio(self):
        """How many times faster than NumPy."""
        return self.numpy / self.ours

    @property
    def ratio_to_jax(self):
        """How many times faster than JAX."""
        return self.jax / self.ours


class Jax:
    """JAX's process; `restarted` begins it anew after a program at which it ended, or which ended
    itself while it was asked."""

    def __init__(self, python, folder):
        self.command = [python, "-m", "benchmarks.cliffs_jax"]
        self.errors = Path(folder, "jax.errors")
        self.restarted()

    def restarted(self):
        self.peer = Peer(self.command, self.errors)
        self.peer.answer()

    def ask(self, command):
        """What it answers; ContestantError where it does not."""
        return self.peer.ask(command, PATIENCE)

    def close(self):
        """End the process."""
        self.peer.close()


def beside_jax(outcome, call, jax):
    """The outcome with JAX's times; `call` is our call, which takes turns with JAX's."""
    try:
        answer = jax.ask(f"program {outcome.seed}")
        if "refused" in answer:
            return replace(outcome, refused=answer["refused"])
        ours, theirs = outcome.ours, jax.ask("run")["seconds"]
        for rounds in (5, 15, 40):
            if theirs < 1.05 * ours:
                ours = min(ours, *best_times((call,), (), rounds))
                theirs = min(theirs, *(jax.ask("run")["seconds"] for _ in range(rounds // 5)))
    except ContestantError as error:
        return replace(outcome, refused=f"{ENDED}: {error}")
    return replace(outcome, ours=ours, jax=theirs, jax_first=answer["first"])


@contextlib.contextmanager
def at_most(further):
    """Have this process get so many further bytes of memory, or a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + further, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def with_copies(function, results, arguments):
    """The function with copies of those results that are views of an argument, or of an earlier
    result, as ours are not."""
    owners = [(*arguments, *results[:k]) for k in range(len(results))]
    views = [
        k
        for k, (result, others) in enumerate(zip(results, owners, strict=True))
        if any(np.may_share_memory(result, x) for x in others)
    ]
    if not views:
        return function

    def copying(*arguments):
        results = [*function(*arguments)]
        for k in views:
            results[k] = np.array(results[k])
        return results

    return copying


def measure(seed, jax=None):
    """The outcome of the program of a seed, with JAX's times where that is given."""
    with quiet():
        with at_most(DRAWN):
            program = draw(seed, argument, MOST_ELEMENTS)
        function, arguments = program.function(), list(program.arguments.values())
        text = describe(program)
        want = function(*arguments)
        compiled = transpile.jit(function)
        start = processor_seconds()
        try:
            got = compiled(*arguments)
        except (transpile.errors.TranspileError, NotImplementedError, *REFUSALS) as error:
            return Outcome(seed, text, failure=f"{type(error).__name__}: {error}".split("\n")[0])
        first = processor_seconds() - start
        _, said = judged(Oracle(program), program, got)
        if said:
            return Outcome(seed, text, first=first, failure=f"results differ: {said}")
        both = with_copies(function, want, arguments), compiled
        times = best_times(both, arguments, 5)
        for rounds in (15, 40):
            if times[0] < 1.05 * times[1]:
                again = best_times(both, arguments, rounds)
                times = [min(pair) for pair in zip(times, again, strict=True)]
        outcome = Outcome(seed, text, *times, first)
        if jax is None:
            return outcome
        signal.alarm(2 * PATIENCE)  # JAX has a compiler, too
        return beside_jax(outcome, lambda: compiled(*arguments), jax)


def processor_seconds():
    """Of this process and of the compilers that it has run."""
    return sum(os.times()[:4])


def describe(program):
    """The text of a program, and what its arguments are."""
    kinds = []
    for name, x in program.arguments.items():
        strides = "" if x.flags.c_contiguous else f" strides {x.strides}"
        kinds.append(f"{name}: {x.dtype.name}{list(x.shape)}{strides}")
    return f"# {', '.join(kinds)}\n{program.source()}"


def in_a_process(seed, jax=None):
    """The outcome of a program that may crash, or fill the memory, or never end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(PATIENCE)
        status = 1
        try:
            os.write(writing, json.dumps(asdict(measure(seed, jax))).encode())
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


def outcomes_of(seeds, jax=None):
    """The outcome of each seed's program; those that are slow are printed as they come."""
    outcomes = []
    for seed in seeds:
        outcome = in_a_process(seed, jax)
        outcomes.append(outcome)
        if outcome.failure or outcome.ratio < 1:
            print(f"{len(outcomes)} of {len(seeds)}: {shown(outcome)}", flush=True)
        if jax is not None and (outcome.failure or outcome.refused.startswith(ENDED)):
            jax.close()
            jax.restarted()
    return outcomes


def settled(outcomes):
    """The outcomes, with those that seem slow measured again: the best times of all processes."""
    return [again(outcome) for outcome in outcomes]


def again(outcome):
    """An outcome with the best times of more processes, until it is no slower than NumPy."""
    for _ in range(AGAIN):
        if outcome.failure or outcome.ratio >= 1:
            break
        other = in_a_process(outcome.seed)
        if not other.failure:
            best = min(outcome.numpy, other.numpy), min(outcome.ours, other.ours)
            outcome = replace(outcome, numpy=best[0], ours=best[1])
    return outcome


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
    lines += [f"\nfirst call {o.first:.1f} s  seed {o.seed}\n{o.text}" for o in slow]
    if not timed:
        return "\n".join(lines)
    firsts = [o.first for o in timed]
    lines.append(
        f"\n{len(timed)} programs: {np.mean(ratios >= 1):.1%} at least as fast as NumPy,"
        f" {np.sum(ratios < 0.8)} under 0.8, geometric mean {mean(ratios):.2f},"
        f" least {ratios[0]:.2f}; {len(outcomes) - len(timed)} without a time; first calls, in"
        f" processor seconds: median {np.median(firsts):.2f}, longest {max(firsts):.2f},"
        f" {len(slow)} over {LONG:.0f}"
    )
    return "\n".join(lines + jax_report(timed))


def jax_report(timed):
    """The figures of the programs that JAX runs, and why it does not run others."""
    both = sorted((o for o in timed if o.jax), key=lambda o: o.ratio_to_jax)
    refused = Counter(o.refused for o in timed if o.refused)
    if not both and not refused:
        return []
    lines = []
    for o in both[:SHOWN_AGAINST_JAX]:
        times = f"JAX {o.jax * 1e6:.1f} -> {o.ours * 1e6:.1f} us"
        lines.append(f"\n{o.ratio_to_jax:.2f} of JAX  {times}  seed {o.seed}\n{o.text}")
    why = ", ".join(f"{reason} {count}" for reason, count in refused.most_common())
    line = f"\nJAX runs {len(both)} of these {len(timed)} ({why or 'all'})"
    if both:
        ratios = np.array([o.ratio_to_jax for o in both])
        numpy = np.array([o.numpy / o.jax for o in both])
        line += (
            f": {np.mean(ratios >= 1):.1%} of them here at least as fast as JAX,"
            f" {np.sum(ratios < 0.8)} under 0.8, geometric mean {mean(ratios):.2f}, least"
            f" {ratios[0]:.2f}; JAX itself is at least as fast as NumPy in"
            f" {np.mean(numpy >= 1):.1%}, geometric mean {mean(numpy):.2f}; its first calls:"
            f" median {np.median([o.jax_first for o in both]):.2f} s"
        )
    return [*lines, line]


def mean(ratios):
    """The geometric mean."""
    return np.exp(np.mean(np.log(ratios)))


def main():
    parser = argparse.ArgumentParser(description="Time drawn NumPy programs against NumPy.")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    default = ROOT / ".venv-bench" / "bin" / "python"
    parser.add_argument("--python", default=str(default), help="a Python that may have JAX")
    asked = parser.parse_args()
    python = interpreter_with("jax", (sys.executable, asked.python))
    with tempfile.TemporaryDirectory() as cache, contextlib.ExitStack() as stack:
        os.environ["TRANSPILE_CACHE_DIR"] = cache
        fast_call.module()  # for all processes: each would begin with a compiler for it
        jax = stack.enter_context(contextlib.closing(Jax(python, cache))) if python else None
        outcomes = settled(outcomes_of(range(asked.seed, asked.seed + asked.count), jax))
    print(report(outcomes))
    print(f"load {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
