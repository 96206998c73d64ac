"""Compare compiled functions with hand-written C, NumPy, Numba, JAX and PyTorch.

    python -m benchmarks [--only NAME ...] [--rounds N] [--seconds S] [--without-peers]

NAME is a case or a section. The sections, all of which are the default: `workloads`, all cases,
each with a table (`benchmarks.contest` says how they are measured): the best and the median time of
each contestant, and both as a multiple of ours, above 1 where ours is faster; the time of the first
call, which traces and compiles; the most memory that the process ever had, in all and beyond what
it had before the first call. A summary and a chart follow. Then `overhead` of a call, `startup` of
a process, `compile_time` of programs of any size, `growth` of time with size, and `sizes`: what it
costs that a size is known at run time alone. `site` has some workloads of each kind, in under ten
minutes: those of the documentation's chart, `--only site --results docs/benchmarks`.

The numbers, and the machine they belong to, are kept in benchmarks/results/. The exit status is 1
if a contestant failed. Scripts of their own: benchmarks/matmul.py for matrix products,
benchmarks/runtime_math.py for elementary functions, benchmarks/startup.py for imports and first
calls, benchmarks/first_calls.py for first calls of twelve functions beside JAX and Numba,
benchmarks/compile_time.py for large programs.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np

import transpile
from benchmarks import chart, compile_time, growth, overhead, sizes, startup, tables
from benchmarks.cases import CASES
from benchmarks.contest import ROOT, Limits, compare, contestants
from benchmarks.every_case import EVERY_CASE
from transpile.build import toolchain

RESULTS = Path(__file__).parent / "results"
PEER_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
STARTUP_ROUNDS = 5
PEERS = ("numba", "jax", "torch")  # whose versions belong to the numbers


class Run:
    """One run: who takes part, what was asked for, what has been found."""

    def __init__(self, options, shared):
        self.options, self.shared = options, shared
        self.pythons = contestants(not options.without_peers, options.peers)
        self.limits = Limits(options.rounds, options.seconds)
        self.results = {"machine": machine(), "cases": {}, "failed": {}}

    def measure(self, name):
        """{contestant: what was measured} of a case; failures are kept."""
        outcome = compare(name, self.pythons, self.limits, self.shared)
        if outcome.failed:
            self.results["failed"][name] = outcome.failed
        return outcome

    def failures(self):
        """A line for each."""
        every = self.results["failed"].items()
        return [f"{name}: {who} FAILED: {why}" for name, by in every for who, why in by.items()]

    def show(self, name):
        outcome = self.measure(name)
        say(tables.case_lines(EVERY_CASE[name].title, outcome))
        self.results["cases"][name] = outcome.found
        versions = {who: found["version"] for who, found in outcome.found.items()}
        self.results["machine"].update((w, v) for w, v in versions.items() if w in PEERS)
        return outcome.found

    def workloads(self, names):
        for name in names:
            self.show(name)

    def overhead(self):
        known = self.results["cases"]
        found = {
            title: known[name] if name in known else self.show(name)
            for title, name in overhead.LINES.items()
        }
        self.results["overhead"] = found
        say(tables.overhead_lines(found))

    def startup(self):
        rounds = min(self.options.rounds, STARTUP_ROUNDS)
        further = [] if self.options.without_peers else [str(self.options.peers)]
        times = startup.take_turns(further, rounds)
        self.results["startup"] = times
        say(["\na new process: NumPy's import, ours or theirs after it, the first result"])
        say(f"  {line}" for line in startup.table(times))

    def compile_time(self):
        found = compile_time.measure_all(self.pythons)
        self.results["compile_time"] = found
        say(compile_time.lines(found))

    def growth(self):
        self.results["growth"] = {}
        for name, growing in growth.GROWING.items():
            sizes = {
                str(size): self.measure(f"{name}{growth.SEPARATOR}{size}").found
                for size in growing.sizes
            }
            self.results["growth"][name] = sizes
            say(tables.growth_lines(name, sizes))
            say(line for line in self.failures() if line.startswith(name + growth.SEPARATOR))

    def sizes(self):
        found = sizes.measure_all(self.options.rounds, self.options.seconds)
        self.results["sizes"] = found
        say(sizes.lines(found))

    def finish(self):
        """Sum up, keep the numbers, draw the chart."""
        found = tables.summary(self.results["cases"])
        self.results["summary"] = found
        if len(found) > 1:
            say(tables.summary_lines(found))
        self.options.results.mkdir(parents=True, exist_ok=True)
        stem = f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}"
        path = self.options.results / f"{stem}.json"
        path.write_text(json.dumps(self.results, indent=2) + "\n")
        say([f"\nkept in {os.path.relpath(path)}"])
        # The site draws its chart itself.
        if self.options.only != ["site"] and any(line["ratios"] for line in found.values()):
            say([chart.draw(found, path.with_suffix(".png"))])
        say(self.failures())
        return 1 if self.results["failed"] else 0


# What the documentation's chart has: some of each kind of workload.
SITE = (
    *("elementwise", "black_scholes", "softmax", "layer_norm", "row_statistics", "stencil_step"),
    *("nbody", "cumulative_sum", "gather", "histogram", "sort", "fourier", "small_call", "normals"),
    *("matmul_float32", "mlp", "attention", "conv2d", "convolutional_training_step"),
    *("lstm_gradient", "lu_numbers", "floyd_warshall", "mandelbrot", "program_kalman_filter"),
)
SECTIONS = {
    "workloads": lambda run: run.workloads(CASES),
    "overhead": Run.overhead,
    "startup": Run.startup,
    "compile_time": Run.compile_time,
    "growth": Run.growth,
    "sizes": Run.sizes,
}
BY_NAME = {**SECTIONS, "site": lambda run: run.workloads(SITE)}


def say(lines):
    for line in lines:
        print(line, flush=True)


def machine():
    """What the numbers belong to."""
    described = toolchain.describe(transpile.Options())
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return {
        "date": f"{datetime.date.today()}",
        "load": round(os.getloadavg()[0], 1),  # of others: at the beginning
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)),
        "compiler": described.get("version", "none"),
        "flags": described.get("flags", ""),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def arguments():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.partition("\n")[0]
    )
    names = [*BY_NAME, *CASES]
    parser.add_argument("--only", action="append", choices=names, help="a section or a case")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each at most (9)")
    parser.add_argument("--seconds", type=float, default=5, help="for the turns of a case (5)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to keep the numbers")
    parser.add_argument("--without-peers", action="store_true", help="no Numba, JAX or PyTorch")
    parser.add_argument("--peers", type=Path, default=PEER_PYTHON, help="a Python that has them")
    return parser.parse_args()


def main():
    """Measure what was asked for; the exit status."""
    options = arguments()
    chosen = options.only or list(SECTIONS)
    with tempfile.TemporaryDirectory() as shared:
        run = Run(options, shared)
        about = run.results["machine"]
        present = ", ".join(run.pythons)
        say([f"{about['processor']}, {about['cores']} cores, {about['compiler']}", present])
        run.workloads(name for name in chosen if name in CASES)
        for name in (name for name in chosen if name in BY_NAME):
            BY_NAME[name](run)
        return run.finish()


if __name__ == "__main__":
    sys.exit(main())
