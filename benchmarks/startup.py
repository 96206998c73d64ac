"""How long a new process takes: to import transpile, and from there to its first result.

    python -m benchmarks.startup [--rounds N] [--python PATH ...]

Each line is the best of so many processes, and in brackets the median. `NumPy` is its import alone,
`package` the import after that one, `first` the time from there to the first result of a function
that is compiled: from a cold cache (the C compiler runs) and from a warm one. `usual` is a sum of
exponentials, `further` a program of functions whose modules are imported when they are used,
`gradient` a derivative. JAX and Numba are measured beside it where this Python, or one that is
given, has them; Numba keeps its programs in a cache too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

# What a process does: (package, what is imported, what gives the first result).
PROGRAMS = {
    "usual": ("transpile", "import transpile", "transpile.jit(lambda x: np.exp(x).sum())(X)"),
    "further": (
        "transpile",
        "import transpile",
        "transpile.jit(lambda x: np.median(np.sort(x)) + np.linalg.norm(x))(X)",
    ),
    "gradient": (
        "transpile",
        "import transpile",
        "transpile.jit(transpile.grad(lambda x: np.exp(x).sum()))(X)",
    ),
    "JAX": (
        "jax",
        "import jax",
        "jax.jit(lambda x: jax.numpy.exp(x).sum())(X).block_until_ready()",
    ),
    "Numba": (
        "numba",
        "import numba",
        "numba.njit('f8(f8[:])', cache=True)(function)(X)",
    ),
}
CODE = """
import json, time
start = time.perf_counter()
import numpy as np
X = np.ones(1000)
def function(x):
    return np.exp(x).sum()
numpy = time.perf_counter()
{imports}
package = time.perf_counter()
{first}
end = time.perf_counter()
print(json.dumps([numpy - start, package - numpy, end - package]))
"""


def measure(python, program, cache):
    """Seconds for NumPy's import, the package's, and the first result, in one new process."""
    _, imports, first = PROGRAMS[program]
    file = Path(cache, f"{program}.py")  # Numba's cache belongs to a file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CODE.format(imports=imports, first=first))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TRANSPILE_CACHE_DIR": str(Path(cache, "transpile")),
        "NUMBA_CACHE_DIR": str(Path(cache, "numba")),
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
    }
    done = subprocess.run(
        [python, str(file)], check=True, env=environment, cwd=cache, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def has(python, package):
    """Tell whether a Python can import a package."""
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", code], cwd=ROOT).returncode == 0


def contestants(pythons):
    """The programs that can run, each with the Python that runs it."""
    ours = {name for name, (package, *_) in PROGRAMS.items() if package == "transpile"}
    found = {name: sys.executable for name in PROGRAMS if name in ours}
    for name, (package, *_) in PROGRAMS.items():
        able = [p for p in (sys.executable, *pythons) if name not in ours and has(p, package)]
        if able:
            found[name] = able[0]
    return found


def take_turns(pythons, rounds):
    """{program: {"cold" or "warm": the times of each round}}."""
    chosen = contestants(pythons)
    times = {name: {"cold": [], "warm": []} for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        for name, python in chosen.items():  # Python's own caches are filled by now, or here
            measure(python, name, Path(folder, "warm"))
        for number in range(rounds):
            for name, python in chosen.items():
                times[name]["cold"].append(measure(python, name, Path(folder, f"cold{number}")))
                times[name]["warm"].append(measure(python, name, Path(folder, "warm")))
    return times


def milliseconds(seconds):
    """The best, and the median in brackets."""
    return f"{min(seconds) * 1e3:.1f} ({statistics.median(seconds) * 1e3:.1f})"


def table(times):
    """The lines to print."""
    lines = [f"{'ms':10}{'NumPy':>18}{'package':>18}{'first, cold':>20}{'first, warm':>20}"]
    for name, found in times.items():
        numpy, package, warm = zip(*found["warm"], strict=True)
        cold = [first for _, _, first in found["cold"]]
        lines.append(
            f"{name:10}{milliseconds(numpy):>18}{milliseconds(package):>18}"
            f"{milliseconds(cold):>20}{milliseconds(warm):>20}"
        )
    return lines


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="processes of each kind (10)")
    parser.add_argument("--python", action="append", default=[], help="a Python that has others")
    options = parser.parse_args()
    print("\n".join(table(take_turns(options.python, options.rounds))))


if __name__ == "__main__":
    main()
