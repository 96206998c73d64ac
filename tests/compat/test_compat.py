"""Packages that are written for JAX give the same numbers with transpile in its place.

Each group of problems runs in two processes: one has JAX, in the other transpile is in its place.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GROUPS = ("optax", "jaxopt", "blackjax", "chex")
pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("jax", *GROUPS)),
    reason="needs the packages of the extra `compat`",
)
# Problems that do not agree, each with its reason.
OPEN: dict[str, dict[str, str]] = {}
# What transpile has not yet, by the words of the error.
MISSING = ("module 'transpile.scipy' has no attribute 'sparse'",)
# Iterations that amplify rounding are compared less closely.
CLOSENESS = {"hager-zhang": 1e-4}


def solved(group, *further):
    """What a process prints: the numbers, or the error, of each problem."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{HERE}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, HERE / "problems.py", group, *further],
        capture_output=True,
        text=True,
        env=environment,
        cwd=HERE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}


def differs(name, expected, found):
    """Why two lines are not the same, or nothing."""
    if "error" in found:
        return found["error"]
    if len(expected["values"]) != len(found["values"]):
        return "another structure"
    closeness = next((v for k, v in CLOSENESS.items() if k in name), 1e-6)
    for x, y in zip(expected["values"], found["values"], strict=True):
        if not np.allclose(np.asarray(y), np.asarray(x), closeness, 1e-9, equal_nan=True):
            return f"{y}, not {x}"
    return ""


@pytest.mark.parametrize("group", GROUPS)
def test_problems_have_the_solutions_of_jax(group):
    expected, found = solved(group), solved(group, "--transpile")
    assert list(expected) == list(found)
    assert not [line for line in expected.values() if "error" in line]
    wrong = {name: differs(name, expected[name], found[name]) for name in expected}
    wrong = {name: why for name, why in wrong.items() if why}
    print(f"{group}: {len(expected) - len(wrong)} of {len(expected)} agree; others: {wrong}")
    known = {name for name, why in wrong.items() if any(text in why for text in MISSING)}
    assert set(wrong) - known == set(OPEN.get(group, {})), wrong
