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


MAIN = """#include <stdlib.h>
#include "blended.h"
int main(void)
{
    double *x = calloc(100, 8), *y = calloc(100 - SHORT, 8), *out = calloc(100, 8);
    return blended(x, (double *)((char *)y + ODD), out, malloc(blended_workspace_size() + 1));
}
"""


@needs("gcc")
def test_sanitizers_name_lines_of_python_and_of_the_c_file(tmp_path):
    """A main in C that gives too short an array, and one at an odd address."""
    options = {"debug": True, "cc": "gcc", "extra_cflags": ("-fsanitize=address,undefined",)}
    jitted = transpile.jit(blended, compiler_options={**options, "march": "x86-64"})
    jitted.lower(np.ones(100), np.ones(100)).save(tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    words = ["-fsanitize=address,undefined", "-I.", "-L.", "-l:blended.so", "-Wl,-rpath,."]
    said = []
    for defined in (["-DSHORT=10", "-DODD=0"], ["-DSHORT=0", "-DODD=4"]):
        command = ["gcc", "-g", *defined, "main.c", *words, "-o", "main"]
        subprocess.run(command, cwd=tmp_path, check=True)
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(
            "./main", cwd=tmp_path, capture_output=True, text=True, env=environment
        )
        said.append(done.stderr)
    short, odd = said
    line = f"{os.path.realpath(__file__)}:{blended.__code__.co_firstlineno + 3}"
    frames = re.findall(r"^ +#\d+ \S+ in (\w+) (\S+)", short.partition("is located")[0], re.M)
    assert "heap-buffer-overflow" in short and frames[0][1] == line
    entry = next(place for name, place in frames if name == "blended")
    number = int(entry.removeprefix("blended.c:"))
    text = (tmp_path / "blended.c").read_text().splitlines()[number - 1]
    assert re.match(r" +blended_(kernel|\d+)\(", text), text
    assert re.search(rf"^{line}:\d+: runtime error: load of misaligned address", odd, re.M), odd


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
