"""Debuggers and profilers find lines of Python in programs that are compiled with `debug`."""

import os
import re
import subprocess

import numpy as np
import pytest
from programs import needs

import transpile

pytestmark = pytest.mark.full_level


def blended(x, y):
    a = np.sqrt(x) * 2.0  # first
    b = a.sum()
    return np.where(y > b, a * y, 0.25)  # last


@needs("objdump")
def test_binutils_find_every_statement(tmp_path, monkeypatch):
    """By them perf and addr2line do. The statements of a loop on several threads are functions of
    their own; the C of the program is included by another file."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    x = np.ones(300_000)
    jitted = transpile.jit(blended, compiler_options={"debug": True})
    executable = jitted.lower(x, x).compile().runtime_executable()
    command = ["objdump", "-d", "-l", "--no-show-raw-insn", executable.entry.path("program.so")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, found = blended.__code__.co_firstlineno, set()
    for function in re.split(r"\n\n", done.stdout):
        if re.match(r"[0-9a-f]+ <blended_(?:kernel|\d+)", function):
            found.update(re.findall(r"^(\S+/\S+):(\d+)", function, re.MULTILINE))
    lines = {(os.path.basename(file), int(number) - first) for file, number in found}
    assert {("test_debug_lines.py", k) for k in (1, 2, 3)} <= lines
    assert not [line for line in lines if line[0] == "entry.c"]
