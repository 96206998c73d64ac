"""The programs of the cookbook compute what NumPy does, and their pages have the C of today."""

from __future__ import annotations

import copy
import re
import runpy
import shlex

import numpy as np
import pytest
from thorough import each
from website import cookbook

from transpile import tree
from transpile.__main__ import main

PROGRAMS = cookbook.paths()


def test_there_are_programs_of_many_fields():
    assert len(PROGRAMS) >= 25
    assert len({path.stem for path in PROGRAMS}) == len(PROGRAMS)
    assert len({path.parent.name for path in PROGRAMS}) >= 7


def test_the_page_lists_every_program():
    text = cookbook.PAGE.read_text(encoding="utf-8")
    assert cookbook.table() in text, "run: PYTHONPATH=docs python -m website.cookbook"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_computes_what_numpy_does(path, capsys):
    program = cookbook.program(path)
    arguments = program.module.example()
    for_numpy = copy.deepcopy(arguments)
    results = tree.leaves(program.function(*arguments))
    expected = tree.leaves(program.function.__wrapped__(*for_numpy))
    for result, numbers in zip(results, expected, strict=True):
        scale = np.abs(numbers, where=np.isfinite(numbers), out=np.zeros(np.shape(numbers))).max()
        np.testing.assert_allclose(result, numbers, rtol=1e-12, atol=1e-13 * scale)
    for changed, numbers in zip(arguments, for_numpy, strict=True):
        np.testing.assert_allclose(changed, numbers, rtol=1e-12)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@each("path", PROGRAMS, ordinary=lambda path: path.stem in ("tridiagonal", "least_risk"))
def test_the_command_line_gives_the_c_of_the_page(path, capsys):
    page = cookbook.page(cookbook.program(path))
    command = re.search(r"python -m transpile build (.*?)\n```", page, re.DOTALL)[1]
    words = shlex.split(command.replace("\\\n", " "))
    file, function = words[0].split(":")
    words = [f"{cookbook.ROOT / file}:{function}", *words[1:]]
    show = [word for word in words if word != "--private-libraries"]
    assert main(["show", *show]) == 0
    assert re.search(r"## In C.*?```c\n(.*?)```", page, re.DOTALL)[1] in capsys.readouterr().out


def test_a_page_has_the_program_and_its_c():
    (path,) = [path for path in PROGRAMS if path.stem == "moving_average"]
    page = cookbook.page(cookbook.program(path))
    assert path.read_text(encoding="utf-8").strip() in page
    assert "--arg 'float64[1000]' --arg 'float'" in page
    text = page[page.index("## In C") : page.index("<details>")]
    assert "static void smoothed_kernel(" in text and "mean += weight * (x[i] - mean);" in text
    assert "#include" not in text and "workspace_size" not in text
    assert "#include <stdint.h>" in page
