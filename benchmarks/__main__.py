"""Compare compiled functions with NumPy or C, and with JAX and PyTorch where they are installed.

    python -m benchmarks [--only NAME] [--rounds N]

Every contestant runs in a process of its own, one for each case, on the same inputs and with empty
caches. They take turns, and each turn starts after a pause, so that all see the same machine and
nobody's threads are still spinning. The table has the best and the median time of each, and both as
a multiple of ours: above 1, ours is faster; then the time of the first call, which traces and
compiles, and the most memory that the process ever had, in all and beyond what it had before the
first call. The numbers, and the machine they belong to, are kept in benchmarks/results/.

Scripts of their own: benchmarks/matmul.py for matrix products, benchmarks/runtime_math.py for
elementary functions, benchmarks/startup.py for imports and first calls.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import transpile
from benchmarks.cases import CASES
from transpile import toolchain

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PEER_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PAUSE = 0.1
TURN = 3

IMPORT_NUMPY = "import numpy"
FIRST_RESULT = {
    "transpile": "import numpy, transpile; f = transpile.jit(lambda x: numpy.exp(x).sum()); "
    "f(numpy.ones(1000))",
    "jax": "import jax; jax.jit(lambda x: jax.numpy.exp(x).sum())(jax.numpy.ones(1000))"
    ".block_until_ready()",
}


class Contestant:
    """A process that measures one case when it is told to; its caches are in `folder`."""

    def __init__(self, name, python, case, folder):
        self.name = name
        caches = {
            "TRANSPILE_CACHE_DIR": str(Path(folder, "transpile")),
            "TORCHINDUCTOR_CACHE_DIR": str(Path(folder, "torch")),
        }
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.peer", name, case],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **caches},
        )

    def ask(self, command):
        print(command, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of {self.name} has ended")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def interpreter_with(module, peers):
    """The Python that has a module, if any."""
    for python in (sys.executable, str(peers)):
        if Path(python).exists():
            found = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
            if found.returncode == 0:
                return python
    return None


def compare(name, pythons, rounds):
    """{contestant: what was measured} of one case."""
    chosen = {who: pythons[who] for who in CASES[name].contestants if who in pythons}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        contestants = []
        for who, python in chosen.items():
            contestants.append(Contestant(who, python, name, folder))
            stack.callback(contestants[-1].close)
        found = {who.name: {**who.ask("first"), "seconds": []} for who in contestants}
        for _ in range(rounds):
            for who in contestants:
                time.sleep(PAUSE)
                answer = who.ask(f"run {TURN}")
                found[who.name]["seconds"] += answer["seconds"]
                found[who.name]["peak"] = answer["peak"]
        check_agreement(name, {who.name: who.ask("check") for who in contestants})
    return found


def check_agreement(name, fingerprints):
    """End where a result is not ours; see `benchmarks.peer.fingerprint`."""
    ours = fingerprints["transpile"]
    for who, theirs in fingerprints.items():
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            difference = max(abs(a - b) for a, b in zip(mine, other, strict=True))
            if not difference <= CASES[name].tolerance * other[0]:
                raise SystemExit(f"{name}: result {number} of {who} is not ours: {other} {mine}")


def startup(jax_python, rounds):
    """{what: seconds of every process} from its start to its first result, and to its end."""
    commands = {"import numpy": (sys.executable, IMPORT_NUMPY)}
    commands["cold cache"] = commands["warm cache"] = (sys.executable, FIRST_RESULT["transpile"])
    if jax_python:
        commands["jax"] = (jax_python, FIRST_RESULT["jax"])
    times = {what: [] for what in commands}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds + 1):
            for what, (python, code) in commands.items():
                cache = f"cold{turn}" if what == "cold cache" else "warm"
                environment = {
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "TRANSPILE_CACHE_DIR": str(Path(folder, cache)),
                }
                start = time.perf_counter()
                subprocess.run([python, "-c", code], check=True, env=environment, cwd=folder)
                times[what].append(time.perf_counter() - start)
    return {what: taken[1:] for what, taken in times.items()}  # the first filled the caches


def text(seconds):
    """Three digits and a unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def megabytes(size):
    return f"{size / 2**20:.0f} MB"


def print_case(title, found):
    print(f"\n{title}")
    print(
        f"  {'':10}{'best':>9}{'median':>9}{'to our best':>13}{'to our median':>15}"
        f"{'first call':>12}{'memory':>9}{'beyond':>9}"
    )
    ours = found["transpile"]["seconds"]
    for who, measured in found.items():
        taken = measured["seconds"]
        best, median = min(taken), statistics.median(taken)
        print(
            f"  {who:10}{text(best):>9}{text(median):>9}"
            f"{best / min(ours):13.2f}{median / statistics.median(ours):15.2f}"
            f"{text(sum(measured['steps'].values())):>12}{megabytes(measured['peak']):>9}"
            f"{megabytes(measured['peak'] - measured['before']):>9}",
            flush=True,
        )
    steps = found["transpile"]["steps"].items()
    print("  our first call: " + ", ".join(f"{step} {text(taken)}" for step, taken in steps))


def print_startup(times):
    print("\na new process, from its start to its end")
    print(f"  {'':36}{'best':>10}{'median':>10}")
    words = {
        "import numpy": "NumPy's import alone",
        "cold cache": "transpile, first result, cold cache",
        "warm cache": "transpile, first result, warm cache",
        "jax": "JAX, first result",
    }
    for what, taken in times.items():
        print(f"  {words[what]:36}{text(min(taken)):>10}{text(statistics.median(taken)):>10}")


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
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)),
        "compiler": described.get("version", "none"),
        "flags": described.get("flags", ""),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def arguments():
    names = [*CASES, "startup"]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--only", action="append", choices=names, help="one of them")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (default: 9)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to keep the numbers")
    parser.add_argument("--without-peers", action="store_true", help="neither JAX nor PyTorch")
    parser.add_argument("--peers", type=Path, default=PEER_PYTHON, help="a Python that has them")
    return parser.parse_args()


def main():
    options = arguments()
    chosen = options.only or [*CASES, "startup"]
    pythons = dict.fromkeys(("transpile", "numpy", "c"), sys.executable)
    for peer in () if options.without_peers else ("jax", "torch"):
        python = interpreter_with(peer, options.peers)
        if python:
            pythons[peer] = python
    about = machine()
    print(f"{about['processor']}, {about['cores']} cores, {about['compiler']}")
    results = {"machine": about, "cases": {}}
    for name in (name for name in chosen if name in CASES):
        found = compare(name, pythons, options.rounds)
        print_case(CASES[name].title, found)
        results["cases"][name] = found
    if "startup" in chosen:
        times = startup(pythons.get("jax"), options.rounds)
        print_startup(times)
        results["startup"] = times
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}.json"
    path.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nkept in {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
