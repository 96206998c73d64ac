"""Compare compiled functions with NumPy, and with JAX where it is installed.

    python -m benchmarks [--only NAME] [--rounds N]

Every contestant runs in a process of its own on the same inputs. They take turns, and each turn
starts after a pause, so that all see the same machine and nobody's threads are still spinning. The
table has the best and the median time of each, and both as a multiple of ours: above 1, ours is
faster. The numbers, and the machine they belong to, are kept in benchmarks/results/.

Scripts of their own: benchmarks/matmul.py for matrix products, benchmarks/runtime_math.py for
elementary functions.
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
    """A process that measures when it is told to."""

    def __init__(self, name, python):
        self.name = name
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.peer", name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
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


def interpreter_with_jax():
    """The Python that has JAX, if any."""
    for python in (sys.executable, str(PEER_PYTHON)):
        if Path(python).exists():
            found = subprocess.run([python, "-c", "import jax"], capture_output=True)
            if found.returncode == 0:
                return python
    return None


def compare(name, contestants, rounds):
    """{contestant: seconds of every measurement} of one case."""
    answers = {who.name: who.ask(f"case {name}") for who in contestants}
    expected = answers["numpy"]["checksum"]
    for who, answer in answers.items():
        if abs(answer["checksum"] - expected) > 1e-4 * abs(expected):
            raise SystemExit(f"{name}: {who} has another result than numpy: {answers}")
    times = {who.name: [] for who in contestants}
    for _ in range(rounds):
        for who in contestants:
            time.sleep(PAUSE)
            times[who.name] += who.ask(f"run {TURN}")
    return times


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


def print_case(title, times):
    print(f"\n{title}")
    print(f"  {'':12}{'best':>10}{'median':>10}{'to our best':>15}{'to our median':>15}")
    ours = times["transpile"]
    for who, taken in times.items():
        best, median = min(taken), statistics.median(taken)
        ratios = f"{best / min(ours):15.2f}{median / statistics.median(ours):15.2f}"
        print(f"  {who:12}{text(best):>10}{text(median):>10}{ratios}", flush=True)


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
    parser.add_argument("--without-jax", action="store_true", help="do not look for JAX")
    return parser.parse_args()


def main():
    options = arguments()
    chosen = options.only or [*CASES, "startup"]
    jax_python = None if options.without_jax else interpreter_with_jax()
    about = machine()
    print(f"{about['processor']}, {about['cores']} cores, {about['compiler']}")
    results = {"machine": about, "seconds": {}}
    peers = {"transpile": sys.executable, "numpy": sys.executable}
    if jax_python:
        peers["jax"] = jax_python
    contestants = [Contestant(*peer) for peer in peers.items()]
    try:
        for name in (name for name in chosen if name in CASES):
            times = compare(name, contestants, options.rounds)
            print_case(CASES[name].title, times)
            results["seconds"][name] = times
    finally:
        for who in contestants:
            who.close()
    if "startup" in chosen:
        times = startup(jax_python, options.rounds)
        print_startup(times)
        results["seconds"]["startup"] = times
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}.json"
    path.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nkept in {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
