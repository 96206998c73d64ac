"""The search for slow programs times what it draws, and says what is slow, wrong or without end."""

import time

import numpy as np
import pytest

from benchmarks import cliffs
from benchmarks.large_arguments import argument


def test_arguments_have_every_layout_and_ordinary_numbers():
    random = np.random.default_rng(3)
    shapes, kinds = [], set()
    for _ in range(300):
        x = argument(random, shapes if random.random() < 0.5 else [])
        assert 0 < x.size <= cliffs.MOST_ELEMENTS
        assert np.isfinite(x).all()
        kinds.add((x.flags.c_contiguous, x.flags.f_contiguous))
    assert kinds == {(True, True), (True, False), (False, True), (False, False)}


def test_a_slow_function_is_slower():
    quick, slow = cliffs.best_times((lambda: None, lambda: time.sleep(0.002)), (), 2)
    assert quick < 0.001 < 0.002 <= slow


def test_results_that_are_views_are_copied_in_turn():
    x = np.ones((3, 4))
    function = cliffs.with_copies(lambda x: (x.T, x + 1), (x.T, x + 1), (x,))
    view, other = function(x)
    assert not np.may_share_memory(view, x)
    np.testing.assert_array_equal(view, x.T)
    np.testing.assert_array_equal(other, x + 1)


def test_a_program_is_drawn_compiled_compared_and_timed():
    outcome = cliffs.in_a_process(3)
    assert outcome.failure == ""
    assert outcome.first > outcome.ours > 0
    assert outcome.numpy > 0
    assert "def program(" in outcome.text


@pytest.mark.parametrize(("ending", "said"), [("exit", "exit 1"), ("alarm", "signal 14")])
def test_a_program_that_ends_its_process_is_named(monkeypatch, capfd, ending, said):
    def measure(seed):
        if ending == "exit":
            raise ValueError("no such program")
        time.sleep(5)

    monkeypatch.setattr(cliffs, "measure", measure)
    monkeypatch.setattr(cliffs, "PATIENCE", 1)
    assert cliffs.in_a_process(3).failure == f"no answer ({said})"
    assert ("no such program" in capfd.readouterr().err) == (ending == "exit")


def test_the_report_has_the_share_the_mean_and_the_slowest_first():
    made = [
        cliffs.Outcome(1, "one", 1e-6, 2e-6, 0.1),
        cliffs.Outcome(2, "two", 8e-6, 1e-6, 0.3),
        cliffs.Outcome(3, "three", 1e-6, 1e-6, 4.0),
        cliffs.Outcome(4, "four", failure="results differ: v0"),
    ]
    text = cliffs.report(made)
    assert text.index("0.50  1.0 -> 2.0 us  seed 1") < text.index("1.00  1.0 -> 1.0 us  seed 3")
    assert "results differ: v0  seed 4" in text
    assert "compiled in 4.0 s  seed 3" in text
    assert text.splitlines()[-1] == (
        "3 programs: 66.7% at least as fast as NumPy, 1 under 0.8, geometric mean 1.59, least 0.50;"
        " 1 without a time; first calls: median 0.30 s, longest 4.00 s, 1 over 3 s"
    )
