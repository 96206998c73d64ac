"""The C text of some functions, kept beside them in tests/golden so that a change is seen and read.

Only the kernels and the entry function are kept: helpers and includes have tests of their own.
After a wanted change: TRANSPILE_REGENERATE_GOLDEN=1 python -m pytest tests/codegen/test_golden.py
"""

import difflib
import os
import re
import subprocess
import sys

import pytest
from golden_functions import FOLDER, FUNCTIONS
from places import importing

import transpile
from transpile.codegen.line_wrapping import WIDTH

pytestmark = pytest.mark.full_level

BY_NAME = {f.__name__: (f, arguments) for f, arguments in FUNCTIONS.items()}
# The same text on every machine: nothing of the processor or of OpenMP's presence is in it.
OPTIONS = {"openmp": True, "blas": "none"}


def text_of(name):
    """The whole C text of a function."""
    function, arguments = BY_NAME[name]
    return transpile.jit(function, compiler_options=OPTIONS).lower(*arguments).as_text("c")


def body(name, text):
    """The kernels and the entry function, which stand behind the last helper."""
    lines = text.splitlines()
    kernel = re.compile(rf"static void {name}_(kernel|\d+)\(")
    start = next(k for k, line in enumerate(lines) if kernel.match(line))
    while lines[start - 1].strip():
        start -= 1
    return "\n".join(lines[start:]) + "\n"


@pytest.mark.parametrize("name", BY_NAME)
def test_text_is_the_golden_one(name):
    path = FOLDER / f"{name}.c"
    found = body(name, text_of(name))
    if os.environ.get("TRANSPILE_REGENERATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    difference = "\n".join(
        difflib.unified_diff(kept.splitlines(), found.splitlines(), str(path), "now", lineterm="")
    )
    assert found == kept, difference


def test_every_golden_file_belongs_to_a_function():
    assert {path.stem for path in FOLDER.glob("*.c")} == BY_NAME.keys()
    assert "softmax" in BY_NAME


def test_lines_are_no_longer_than_the_width():
    for name in BY_NAME:
        long = [line for line in body(name, text_of(name)).splitlines() if len(line) > WIDTH]
        assert not long, name


def test_text_does_not_depend_on_the_order_of_sets():
    """Two processes with different hashes render every byte alike."""
    code = "import test_golden as t; print('\\f'.join(t.text_of(n) for n in t.BY_NAME))"
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**importing(__file__), "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] and texts[0].count(b"\f") == len(BY_NAME) - 1
