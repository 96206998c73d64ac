"""Drawn functions of Python's statements do what Python does: some here, more by `make fuzz`."""

from __future__ import annotations

import pytest
from fuzz_statements.programs import draw
from fuzz_statements.search import by_python, difference, function_of, search
from thorough import one_in

COUNT, TOGETHER = 180, 20


@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
@one_in(3)
def test_drawn_functions_do_what_python_does(first, tmp_path):
    options = {"opt_level": 0, "openmp": False}
    findings, ran = search(range(first, first + TOGETHER), tmp_path, options)
    assert not findings, "\n\n".join(f.text() for f in findings)
    assert ran >= TOGETHER // 3


def test_functions_are_drawn_again_from_their_seeds():
    assert draw(17) == draw(17)
    assert draw(17) != draw(18)


def test_drawn_functions_have_statements_of_all_kinds():
    text = "".join(draw(seed).text for seed in range(100))
    wanted = ("elif", "else:", "while", "break", "continue", "enumerate", "zip", "reversed", "not")
    assert not [word for word in wanted if word not in text]


def test_oracle_tells_integers_from_floats(tmp_path):
    program = draw(2)
    wanted = by_python(function_of(program, tmp_path), program)
    assert not difference(wanted, wanted)
    assert difference([1, *wanted[1:]], [2, *wanted[1:]]) == "leaf 0 is 1 and not 2"
    assert not difference([1.0 + 1e-15], [1.0])
    assert difference([1.0 + 1e-6], [1.0])
