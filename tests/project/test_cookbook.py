"""The programs of the cookbook compute what NumPy does, and their pages have the C of today."""

from __future__ import annotations

import copy
import runpy

import numpy as np
import pytest
from website import cookbook

from transpile import tree

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


def test_a_page_has_the_program_and_its_c():
    (path,) = [path for path in PROGRAMS if path.stem == "moving_average"]
    page = cookbook.page(cookbook.program(path))
    assert path.read_text(encoding="utf-8").strip() in page
    assert "--arg 'float64[1000]' --arg 'float'" in page
    text = page[page.index("## In C") : page.index("<details>")]
    assert "static void smoothed_kernel(" in text and "mean += weight * (x[i] - mean);" in text
    assert "#include" not in text and "workspace_size" not in text
    assert "#include <stdint.h>" in page
