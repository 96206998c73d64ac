"""Drawn functions of Python's statements do what Python does: some here, more by `make fuzz`."""

from __future__ import annotations

import pytest
from fuzz_statements import search as programs_search
from fuzz_statements.programs import draw
from fuzz_statements.search import (
    by_python,
    compiled,
    difference,
    function_of,
    interpreted,
    search,
)
from thorough import THOROUGH, one_in

COUNT, TOGETHER = 2400, 20
# Most are interpreted, which takes a third of the time: every so many is compiled.
IN_C = 8 if THOROUGH else 20


@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
@one_in(60)
def test_drawn_functions_do_what_python_does(first, tmp_path):
    options = {"opt_level": 0, "openmp": False}
    findings, ran = search(range(first, first + TOGETHER), tmp_path, options, in_c=IN_C)
    assert not findings, "\n\n".join(f.text() for f in findings)
    assert ran >= TOGETHER // 3


@pytest.mark.parametrize("run", [compiled, interpreted])
def test_search_tells_what_is_not_pythons(run, tmp_path, monkeypatch):
    def wrong(*given):
        first, *others = run(*given)
        return [first + 1, *others]

    monkeypatch.setattr(programs_search, "interpreted", wrong)
    monkeypatch.setattr(programs_search, "compiled", wrong)
    findings, _ = search([2], tmp_path, {"opt_level": 0, "openmp": False})
    assert [f.kind for f in findings] == ["difference"]


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
