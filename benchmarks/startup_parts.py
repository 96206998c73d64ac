"""What each part of the start-up machinery saves: transpile as it is against copies without it.

    python -m benchmarks.startup_parts [--rounds N]

In a copy one part of `transpile/util/` is replaced by what the standard library has for it. All
take turns, each time in a new process. The columns are milliseconds of CPU time that the copy takes
more than transpile itself (the median of the rounds): to import it after NumPy, for a first call of
a program from the cache after that, and for the way from a function of some hundred operations to
its C, which a program from the cache does without. The first line has transpile's own times.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPIED = ("transpile", "runtime_c", "templates")

# What is added at the end of a module of `transpile/util/`, in the place of what it has.
PARTS = {
    "dataclass": ("frozen_records", "from dataclasses import dataclass"),
    "replace": ("frozen_records", "from dataclasses import replace"),
    "Later": (
        "lazy.imports",
        """
_later, _postponed = Later, []
def Later(name):
    _postponed.append(name)
    return _later(name)
def load_all():
    for name in _postponed:
        if name.partition(".")[0] != "mpi4py":  # its import initialises MPI
            import_module(name)
""",
    ),
    "on_demand": (
        "lazy.imports",
        """
_late = on_demand
def on_demand(package, modules, names):
    attribute, every = _late(package, modules, names)
    for name in (*modules, *" ".join(names.values()).split()):
        attribute(name)
    return attribute, every
""",
    ),
    "lazy.registry": ("lazy.registry", "Rest.comes_from = lambda self, load: load()"),
    "lazy.loggers": (
        "lazy.loggers",
        """
import logging
def Log(name):
    logger = logging.getLogger(name)
    logger.hears_information = lambda: logger.isEnabledFor(logging.INFO)
    return logger
""",
    ),
    "hashing": ("hashing", "from hashlib import blake2b"),
    "gc_pause": ("gc_pause", "def without_collector(run):\n    return run()"),
}
CODE = """
import json, sys, time
import numpy as np
X = np.ones(1000)
def long(x):
    for k in range(100):
        x = np.sin(x * k) + x[::-1]
    return x
now = time.process_time
start = now()
import transpile
getattr(sys.modules["transpile.util.lazy.imports"], "load_all", int)()
package = now()
transpile.jit(lambda x: np.exp(x - x.max()).sum())(X)
first = now()
transpile.jit(long).lower(X).as_text("c")
print(json.dumps([package - start, first - package, now() - first]))
"""


def copy(part, folder):
    """The path of a copy of transpile without a part, or of all of it."""
    tree = Path(folder, part)
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    if part in PARTS:
        module, text = PARTS[part]
        with open(
            tree / "transpile" / "util" / f"{module.replace('.', '/')}.py", "a", encoding="utf-8"
        ) as file:
            file.write(f"\n{text}\n")
    return tree


def measure(tree):
    """Seconds of CPU time for the import, the first call, and the way to C, in a new process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "TRANSPILE_CACHE_DIR": str(tree / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        check=True,
        env=environment,
        cwd=tree,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def take_turns(rounds, parts=tuple(PARTS)):
    """{part, or "transpile": the times of each round}."""
    with tempfile.TemporaryDirectory() as folder:
        trees = {part: copy(part, folder) for part in ("transpile", *parts)}
        times = {part: [] for part in trees}
        for tree in trees.values():  # Python's caches of modules and ours of programs are filled
            measure(tree)
        for _ in range(rounds):
            for part, tree in trees.items():
                times[part].append(measure(tree))
    return times


def table(times):
    """The lines to print: transpile's own times, and what a copy takes more than they are."""
    lines = [f"{'ms':16}{'import':>10}{'first':>10}{'to C':>10}"]
    for part, found in times.items():
        own = zip(*found, strict=True)
        if part != "transpile":
            pairs = zip(found, times["transpile"], strict=True)
            own = zip(*([a - b for a, b in zip(*pair, strict=True)] for pair in pairs), strict=True)
        sign = "" if part == "transpile" else "+"
        lines.append(
            f"{part:16}" + "".join(f"{statistics.median(c) * 1e3:{sign}10.1f}" for c in own)
        )
    return lines


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="processes of each kind (20)")
    print("\n".join(table(take_turns(parser.parse_args().rounds))))


if __name__ == "__main__":
    main()
