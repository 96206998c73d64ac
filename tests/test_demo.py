"""The demonstration runs, and what it says is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


def test_the_demo_runs_and_its_results_are_right(tmp_path):
    environment = {**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, DEMO], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    text = done.stdout
    assert len(re.findall(r"^result +NumPy's", text, re.MULTILINE)) == 3
    assert text.count("the same bits") == 3
    assert "WRONG" not in text
    assert "DIFFERENT" not in text
    assert len(re.findall(r"^kept in +\S+", text, re.MULTILINE)) == 3
    assert len(re.findall(r"^time +NumPy", text, re.MULTILINE)) == 3


def test_the_demo_fits_a_terminal_of_100_columns_and_is_plain_text(tmp_path):
    environment = {**os.environ, "TRANSPILE_CACHE_DIR": "cache"}
    done = subprocess.run(
        [sys.executable, DEMO], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if len(line) > 100] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert done.stdout.isascii()
    assert done.stdout.isprintable() or "\033" not in done.stdout
    assert "cache/black_scholes-" in done.stdout
