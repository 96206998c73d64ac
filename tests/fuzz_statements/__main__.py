"""`python -m fuzz_statements --count 1000 --seed 1 --folder found`: each finding becomes a file."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

LEVELS = (0, 1, 3)


def main():
    parser = argparse.ArgumentParser(description="Compare drawn functions with Python's runs.")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_findings"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRANSPILE_CACHE_DIR"] = str(Path(folder, "cache"))
        return run(asked, Path(folder))


def run(asked, sources):
    """Search, some programs at a time; the exit code says whether something was found."""
    import transpile
    from fuzz_statements.search import search, tally

    asked.folder.mkdir(parents=True, exist_ok=True)
    findings, ran = [], 0

    def keep(finding):
        path = asked.folder / f"statements_{finding.kind}_{finding.seed}.py"
        path.write_text(finding.text(), encoding="utf-8")

    for number, done in enumerate(range(0, asked.count, 100)):
        seeds = range(asked.seed + done, asked.seed + min(done + 100, asked.count))
        options = {"opt_level": LEVELS[number % len(LEVELS)]}
        found, some = search(seeds, sources, options, keep)
        findings += found
        ran += some
        transpile.clear_caches()
        print(f"{done + len(seeds)} drawn, {ran} ran, found: {dict(tally(findings))}", flush=True)
    return int(bool(findings))


if __name__ == "__main__":
    raise SystemExit(main())
