"""The benchmarks run, check that the contestants agree, and keep what they measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*words):
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ)


def test_a_benchmark_prints_a_table_and_keeps_the_numbers(tmp_path):
    words = ("--only", "small_call", "--rounds", "1", "--without-jax", "--results", str(tmp_path))
    done = run(*words)
    assert done.returncode == 0, done.stderr
    for word in ("best", "median", "transpile", "numpy"):
        assert word in done.stdout
    (file,) = tmp_path.glob("*.json")
    kept = json.loads(file.read_text())
    assert set(kept["seconds"]["small_call"]) == {"transpile", "numpy"}
    assert kept["machine"]["cores"] >= 1


def test_an_unknown_benchmark_is_refused_with_the_names_there_are():
    done = run("--only", "nothing")
    assert done.returncode == 2
    for name in ("elementwise", "softmax", "nbody", "small_expression", "small_call", "startup"):
        assert name in done.stderr
