"""`python -m fuzz_numpy --count 10000 --seed 1 --folder found`: each finding becomes a file."""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

# In turn, a hundred programs each.
OPTIONS = (
    {"opt_level": 0, "openmp": False},
    {"opt_level": 3},
    {"opt_level": 1, "openmp": False},
    {"opt_level": 2, "num_threads": 3},
)
MOST_MEMORY = 8 << 30  # bytes


def main():
    parser = argparse.ArgumentParser(description="Compare drawn NumPy programs with NumPy.")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_findings"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--level", type=int, help="of optimisation; all in turn if not given")
    parser.add_argument("--sizes", action="store_true", help="programs over runtime sizes")
    asked = parser.parse_args()
    # A program may draw an array that no machine has the memory for.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRANSPILE_CACHE_DIR"] = cache
        return run(asked)


def run(asked):
    """Search, some programs at a time; the exit code says whether something was found."""
    import transpile
    from fuzz_numpy.search import search, tally
    from fuzz_numpy.sizes import search_sizes

    asked.folder.mkdir(parents=True, exist_ok=True)
    start, findings, done = time.monotonic(), [], 0
    ran, refused = 0, []

    def keep(finding):
        path = asked.folder / f"{finding.kind}_{finding.seed}.py"
        path.write_text(finding.text(), encoding="utf-8")

    while done < asked.count and time.monotonic() - start < asked.seconds:
        here = range(asked.seed + done, asked.seed + min(done + 100, asked.count))
        options = OPTIONS[done // 100 % len(OPTIONS)]
        if asked.level is not None:
            options = {"opt_level": asked.level}
        if asked.sizes:
            found, programs, texts = search_sizes(here, options, keep=keep)
            findings += found
            ran += programs
            refused += texts
        else:
            findings += search(here, options, keep=keep)
        done += len(here)
        transpile.clear_caches()
        seconds = time.monotonic() - start
        print(f"{done} programs, {seconds:.0f} s, found: {dict(tally(findings))}", flush=True)
    if asked.sizes:
        print(f"{ran} for all sizes; refused: {dict(Counter(refused).most_common(20))}")
    return int(bool(findings))


if __name__ == "__main__":
    raise SystemExit(main())
