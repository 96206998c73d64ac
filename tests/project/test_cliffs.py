"""The search for slow programs times what it draws, and says what is slow, wrong or without end."""

import time

import numpy as np
import pytest

from benchmarks import cliff_times, cliffs
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


def test_rounds_of_slow_functions_end(monkeypatch):
    monkeypatch.setattr(cliff_times, "LONGEST", 0.05)
    calls = []

    def slow():
        calls.append(time.sleep(0.02))

    cliffs.best_times((slow,), (), 1000)
    assert len(calls) < 10


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


def test_statements_that_want_much_memory_are_refused():
    x = np.ones((1 << 15, 1), np.float32)
    with cliffs.at_most(64 << 20):
        assert (x + x[:64, 0]).shape == (1 << 15, 64)
        with pytest.raises(MemoryError):
            x + x[:, 0]
    assert (x[:, 0] + x[: 1 << 10]).shape == (1 << 10, 1 << 15)


@pytest.mark.parametrize(("ending", "said"), [("exit", "exit 1"), ("alarm", "signal 14")])
def test_a_program_that_ends_its_process_is_named(monkeypatch, capfd, ending, said):
    def measure(seed, jax):
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
    assert "first call 4.0 s  seed 3" in text
    assert text.splitlines()[-1] == (
        "3 programs: 66.7% at least as fast as NumPy, 1 under 0.8, geometric mean 1.59, least 0.50;"
        " 1 without a time; first calls, in processor seconds: median 0.30, longest 4.00, 1 over 3"
    )


def test_what_seems_slow_is_measured_again_and_the_best_times_count(monkeypatch):
    times = [(2e-6, 3e-6), (3e-6, 1.5e-6), (9e-6, 9e-6)]
    asked = []

    def in_a_process(seed):
        asked.append(seed)
        if len(asked) == 1:
            return cliffs.Outcome(seed, "", failure="no answer (signal 14)")
        return cliffs.Outcome(seed, "two", *times[len(asked) - 2], 0.1)

    monkeypatch.setattr(cliffs, "in_a_process", in_a_process)
    made = [
        cliffs.Outcome(1, "one", 2e-6, 1e-6, 0.1),
        cliffs.Outcome(2, "two", 2.5e-6, 4e-6, 0.2),
        cliffs.Outcome(3, "three", failure="results differ: v0"),
    ]
    one, two, three = cliffs.settled(made)
    assert (one, three) == (made[0], made[2])
    assert asked == [2, 2, 2]
    assert (two.numpy, two.ours, two.first) == (2e-6, 1.5e-6, 0.2)


class JaxThatAnswers:
    """JAX's process with answers given beforehand; it counts its restarts."""

    def __init__(self, *answers):
        self.answers, self.restarts = list(answers), 0

    def ask(self, command):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self):
        pass

    def restarted(self):
        self.restarts += 1


def test_jax_takes_turns_until_it_is_slower():
    outcome = cliffs.Outcome(3, "three", 4e-6, 2e-6, 0.1)
    calls = []
    jax = JaxThatAnswers({"first": 0.5}, {"seconds": 1e-6}, *[{"seconds": 3e-7}] * 40)
    found = cliffs.beside_jax(outcome, lambda: calls.append(1), jax)
    assert (found.jax, found.jax_first, found.refused) == (3e-7, 0.5, "")
    assert calls and found.ours <= 2e-6


def test_what_jax_refuses_or_does_not_answer_has_no_time():
    outcome = cliffs.Outcome(3, "three", 4e-6, 2e-6, 0.1)
    found = cliffs.beside_jax(outcome, None, JaxThatAnswers({"refused": "other dtype"}))
    assert (found.jax, found.refused) == (0.0, "other dtype")
    jax = JaxThatAnswers({"first": 0.5}, cliffs.ContestantError("the process has ended"))
    found = cliffs.beside_jax(outcome, None, jax)
    assert (found.jax, found.refused) == (0.0, "no answer: the process has ended")


def test_jax_is_begun_anew_where_it_or_we_did_not_answer(monkeypatch, capsys):
    made = {
        1: cliffs.Outcome(1, "one", 2e-6, 1e-6, refused="other dtype"),
        2: cliffs.Outcome(2, "two", 2e-6, 1e-6, refused="no answer: no answer within 40 s"),
        3: cliffs.Outcome(3, "three", failure="no answer (signal 11)"),
    }
    monkeypatch.setattr(cliffs, "in_a_process", lambda seed, jax: made[seed])
    jax = JaxThatAnswers()
    assert cliffs.outcomes_of(range(1, 4), jax) == list(made.values())
    assert jax.restarts == 2
    assert "no answer (signal 11)  seed 3" in capsys.readouterr().out


def test_the_report_has_what_jax_runs():
    made = [
        cliffs.Outcome(1, "one", 4e-6, 2e-6, 0.1, jax=1e-6, jax_first=0.2),
        cliffs.Outcome(2, "two", 8e-6, 1e-6, 0.3, jax=4e-6, jax_first=0.4),
        cliffs.Outcome(3, "three", 2e-6, 1e-6, 0.3, refused="other dtype"),
    ]
    text = cliffs.report(made)
    assert "0.50 of JAX  JAX 1.0 -> 2.0 us  seed 1" in text
    assert text.splitlines()[-1] == (
        "JAX runs 2 of these 3 (other dtype 1): 50.0% of them here at least as fast as JAX, 1 under"
        " 0.8, geometric mean 1.41, least 0.50; JAX itself is at least as fast as NumPy in 100.0%,"
        " geometric mean 2.83; its first calls: median 0.30 s"
    )
