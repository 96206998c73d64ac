"""Drawn NumPy programs give what NumPy gives: some here, many more by `make fuzz`."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz_numpy.grammar import GROUPS
from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import Program, _accepted, draw
from fuzz_numpy.search import OPTIONS, Finding, search, smallest
from fuzz_numpy.sizes import Sized, _tried, search_sizes, sized
from thorough import one_in

COUNT, TOGETHER = 300, 25


@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
@one_in(6)
def test_drawn_programs_give_what_numpy_gives(first):
    findings = search(range(first, first + TOGETHER), OPTIONS, TOGETHER)
    assert not findings, "\n\n".join(f.text() for f in findings)


@pytest.mark.parametrize("first", range(0, 240, 12))
@one_in(20)
def test_drawn_programs_over_runtime_sizes_give_what_numpy_gives(first):
    findings, ran, refused = search_sizes(range(first, first + 12), OPTIONS)
    assert not findings, "\n\n".join(f.text() for f in findings)
    assert ran > 2 * len(refused)


def test_a_wrong_result_for_one_size_is_found():
    """A program that knows its size, where the test gives it others."""
    found = next(one for seed in range(100) if (one := sized(seed)) and "n0" in one.names)
    wrong = found.program.without(statements=(("v0", "x0 * 0 + len(x0)", False),), results=("v0",))

    def compiled(*arguments):
        value = len(found.program.arguments["x0"])
        return (arguments[0] * 0 + value,)

    one = Sized(wrong, found.shapes)
    assert _tried(1, one, compiled, OPTIONS).kind in ("value", "dtype")


def test_programs_are_drawn_again_from_their_seeds():
    assert draw(17).text() == draw(17).text()


def test_drawn_programs_are_of_all_kinds():
    programs = [draw(seed) for seed in range(100)]
    arguments = [x for p in programs for x in p.arguments.values()]
    assert len({x.dtype for x in arguments}) == 14
    assert {x.ndim for x in arguments} == {0, 1, 2, 3}
    assert any(x.size == 0 for x in arguments)
    assert any(not x.flags.aligned for x in arguments)
    assert any(not x.flags.c_contiguous and x.size > 1 for x in arguments)
    assert any(np.isnan(x).any() for x in arguments if x.dtype.kind == "f")


@pytest.mark.parametrize(("rows", "is_drawn"), [(60, True), (100, False)])
def test_no_matrix_is_inverted_that_is_larger_than_results_may_be(rows, is_drawn):
    text = "np.linalg.det({a} @ np.conj(np.swapaxes({a}, -1, -2)) + 3 * np.eye({a}.shape[-2]))"
    assert any(text in group.templates for group in GROUPS)
    found = _accepted(text.replace("{a}", "x"), "v", {"x": np.ones((rows, 1))}, 4000)
    assert (found is not None) == is_drawn


# ---------------------------------------------------------------------------------- the oracle


def oracle_of(text, x, rounds=True):
    return Oracle(Program({"x": x}, (("v", text, rounds),), ("v",)))


def test_oracle_tells_dtypes_shapes_values_and_signs():
    oracle = oracle_of("np.sin(x)", np.array([1.0, -0.0]))
    right = np.sin([1.0, -0.0])
    assert not oracle.difference("v", right)
    assert not oracle.difference("v", right * (1 + 1e-15))
    assert "dtype float32" in oracle.difference("v", right.astype("f4"))
    assert "shape (1, 2)" in oracle.difference("v", right[None])
    assert "value" in oracle.difference("v", right * (1 + 1e-12))
    assert "sign of zero" in oracle.difference("v", np.abs(right))
    assert "value" in oracle.difference("v", np.array([np.nan, -0.0]))


def test_oracle_wants_exact_numbers_where_nothing_rounds():
    oracle = oracle_of("x[::2]", np.arange(4), rounds=False)
    assert "value" in oracle.difference("v", np.array([0, 3]))
    assert not oracle.difference("v", np.array([0, 2]))


def test_oracle_is_patient_where_numpy_itself_is_unsure():
    x = np.array([1e16, 1.0, -1e16])
    assert not oracle_of("np.sum(x)", x).difference("v", np.float64(1.0))
    assert not oracle_of("np.sum(x)", x).difference("v", np.float64(0.0))
    assert oracle_of("np.sum(x)", x).difference("v", np.float64(1e6))


# ------------------------------------------------------------------------------- making small


def test_failing_programs_become_small():
    """A program of which one statement fails: without the others, and with values for what they
    compute."""
    statements = (
        ("v0", "x * 2", True),
        ("v1", "np.histogram_bin_edges(v0, 'auto')", False),  # as many as the values say
        ("v2", "np.cos(x)", True),
    )
    program = Program({"x": np.arange(3.0), "y": np.ones(2)}, statements, ("v1", "v2"))
    small, said = smallest(program, OPTIONS, "unsupported", "")
    assert [text for _, text, _ in small.statements] == ["np.histogram_bin_edges(v0, 'auto')"]
    assert list(small.arguments) == ["v0"] and small.results == ("v1",)
    assert "histogram" in said
    text = Finding(5, "unsupported", said, small).text()
    assert text.startswith("# seed 5\n# unsupported: ") and "def program(v0):" in text
