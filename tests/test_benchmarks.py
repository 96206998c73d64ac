"""The benchmarks run, check that the contestants agree, and keep what they measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import check_agreement
from benchmarks.cases import CASES
from benchmarks.hand_written import FUNCTIONS
from benchmarks.peer import fingerprint

ROOT = Path(__file__).parent.parent


def run(*words):
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ)


def test_a_benchmark_prints_a_table_and_keeps_the_numbers(tmp_path):
    words = ("--only", "small_call", "--rounds", "1", "--without-peers", "--results", str(tmp_path))
    done = run(*words)
    assert done.returncode == 0, done.stderr
    for word in ("best", "median", "transpile", "numpy"):
        assert word in done.stdout
    (file,) = tmp_path.glob("*.json")
    kept = json.loads(file.read_text())
    assert set(kept["cases"]["small_call"]) == {"transpile", "numpy"}
    assert kept["machine"]["cores"] >= 1


def test_a_benchmark_of_a_gradient_tells_the_steps_of_the_first_call_and_the_memory(tmp_path):
    words = ("--only", "mlp_gradient_small", "--rounds", "2", "--without-peers")
    done = run(*words, "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "C compiler" in done.stdout
    (file,) = tmp_path.glob("*.json")
    (ours,) = json.loads(file.read_text())["cases"]["mlp_gradient_small"].values()
    assert len(ours["seconds"]) == 6
    assert ours["steps"]["C compiler"] > ours["steps"]["run"] > 0
    assert ours["peak"] >= ours["before"] > 2**24


@pytest.mark.parametrize("case", ["lu_numbers", "nussinov", "newton"])
def test_a_loop_gives_what_hand_written_c_gives(case, tmp_path):
    words = ("--only", case, "--rounds", "1", "--without-peers", "--results", str(tmp_path))
    done = run(*words)
    assert done.returncode == 0, done.stderr  # results that differ end it with an error
    (file,) = tmp_path.glob("*.json")
    assert set(json.loads(file.read_text())["cases"][case]) == {"transpile", "c"}


def test_every_loop_has_its_hand_written_c():
    loops = {name for name, case in CASES.items() if "c" in case.contestants}
    assert loops == set(FUNCTIONS)


@pytest.mark.parametrize("change", ["transposed", "negated", "one element", "not a number"])
def test_a_different_result_is_noticed(change):
    value, gradient = np.array(2.0), np.random.default_rng(0).standard_normal((30, 30))
    other = {"transposed": gradient.T, "negated": -gradient}.get(change, gradient).copy()
    if change in ("one element", "not a number"):
        other[3, 4] += 1 if change == "one element" else np.nan
    ours, same = fingerprint([value, gradient]), fingerprint([value, gradient * (1 + 1e-6)])
    check_agreement("mlp_gradient_small", {"transpile": ours, "jax": same})
    with pytest.raises(SystemExit, match="result 1 of jax is not ours"):
        check_agreement(
            "mlp_gradient_small", {"transpile": ours, "jax": fingerprint([value, other])}
        )


def test_an_unknown_benchmark_is_refused_with_the_names_there_are():
    done = run("--only", "nothing")
    assert done.returncode == 2
    for name in ("elementwise", "softmax", "nbody", "small_expression", "small_call", "startup"):
        assert name in done.stderr
