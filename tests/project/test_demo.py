"""The demonstration runs, what it says is true, and it is pleasant to read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """What the demonstration prints, with a cold cache, into a pipe."""
    environment = {**os.environ, "TRANSPILE_CACHE_DIR": "cache"}
    done = subprocess.run(
        [sys.executable, DEMO],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path_factory.mktemp("demo"),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_results_of_the_demo_are_right(text):
    assert len(re.findall(r"^result +NumPy's", text, re.MULTILINE)) == 3
    assert text.count("the same bits") == 3
    assert "WRONG" not in text
    assert "DIFFERENT" not in text
    assert len(re.findall(r"^kept in +\S+", text, re.MULTILINE)) == 3
    assert len(re.findall(r"^time +NumPy", text, re.MULTILINE)) == 3


def test_the_demo_fits_a_terminal_of_100_columns_and_is_plain_text(text):
    lines = text.splitlines()
    assert [line for line in lines if len(line) > 100] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert text.isascii()
    assert "\033" not in text
    assert "cache/black_scholes-" in text
