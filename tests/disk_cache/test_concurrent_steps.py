"""Steps of one thread whose commands run side by side, and what is left of them where they end."""

import os
import signal
import sys
import time

import pytest
from interrupted import Interrupter
from thorough import THOROUGH

from transpile.build.commands import ChildProcess, running
from transpile.disk_cache import concurrent_steps
from transpile.disk_cache.concurrent_steps import SideBySide, finished, in_one_step, most_commands


class Clock:
    """A command that has ended when others have been asked often enough."""

    def __init__(self, turns):
        self.turns = turns

    def has_ended(self):
        self.turns -= 1
        return self.turns < 0


def work(log, name, *turns):
    """Steps with a command of that many turns each; the log has what happens."""
    try:
        for number in turns:
            log.append(f"{name} starts")
            yield Clock(number)
        log.append(f"{name} is done")
    finally:
        log.append(f"{name} is closed")


def sleeping(directory, seconds):
    """Steps that run a command, which takes so long."""
    yield from running(["/bin/sleep", str(seconds)], directory)


def no_child():
    with pytest.raises(ChildProcessError):  # there is none, and none to be waited for
        os.waitpid(-1, os.WNOHANG)


def test_steps_without_commands_are_done_at_once():
    log = []
    with SideBySide(2) as jobs:
        jobs.begin(work(log, "a"))
        assert log == ["a is done", "a is closed"] and not jobs.may_gain()


def test_what_ends_first_goes_on_first():
    log = []
    with SideBySide(3) as jobs:
        jobs.begin(work(log, "slow", 50))
        jobs.begin(work(log, "quick", 2, 3))
        assert jobs.may_gain()
        jobs.finish()
    order = [line for line in log if not line.endswith("closed")]
    assert order == ["slow starts", *["quick starts"] * 2, "quick is done", "slow is done"]


def test_what_is_dropped_is_not_waited_for():
    log = []
    with SideBySide(2) as jobs:
        kept, dropped = work(log, "kept", 2), work(log, "dropped", 600)
        jobs.begin(dropped)
        jobs.begin(kept)
        jobs.drop(dropped)
        assert log[-1] == "dropped is closed"
        jobs.drop(dropped)
        jobs.finish()
    assert "kept is done" in log and "dropped is done" not in log
    no_child()


def test_no_more_run_than_may():
    log = []
    with SideBySide(2) as jobs:
        for name in "abcd":
            jobs.begin(work(log, name, 5))
            assert sum(line.endswith("starts") for line in log) <= 2 + sum(
                line.endswith("done") for line in log
            )
        jobs.finish()
    assert sorted(line for line in log if line.endswith("done")) == [f"{n} is done" for n in "abcd"]


def test_one_at_a_time_gains_nothing():
    with SideBySide(1) as jobs:
        jobs.begin(work([], "a", 5))
        assert not jobs.may_gain()


def test_an_error_closes_the_others():
    def failing():
        yield Clock(1)
        raise ValueError("no")

    log = []
    with pytest.raises(ValueError, match="no"), SideBySide(2) as jobs:
        jobs.begin(work(log, "a", 1000))
        jobs.begin(failing())
        jobs.finish()
    assert log == ["a starts", "a is closed"]


def test_the_result_of_steps():
    def steps():
        yield Clock(0)
        return 7

    assert finished(steps()) == 7
    assert finished(in_one_step(lambda x: x + 1)(2)) == 3


def test_commands_run_at_the_same_time(tmp_path):
    begin = time.monotonic()
    with SideBySide(3) as jobs:
        for _ in range(3):
            jobs.begin(sleeping(tmp_path, 0.5))
        jobs.finish()
    assert time.monotonic() - begin < 1.2
    no_child()


def test_commands_are_ended_with_their_block(tmp_path):
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), SideBySide(3) as jobs:
        for _ in range(3):
            jobs.begin(sleeping(tmp_path, 60))
        raise KeyboardInterrupt
    assert time.monotonic() - begin < 10
    no_child()


def test_as_many_as_the_process_has_processors(monkeypatch):
    for count in (1, 3, 64):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=count: set(range(n)))
        assert most_commands() == min(count, 4)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of what was being opened
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_moment_leaves_no_process(tmp_path):
    files = (concurrent_steps.__file__, ChildProcess.__init__.__code__.co_filename)

    class Inside(Interrupter):
        """Interrupts at the events of these two modules."""

        def __call__(self, frame, event, argument):
            if frame.f_code.co_filename in files:
                super().__call__(frame, event, argument)

    ended = False
    for point in range(0, 2000, 1 if THOROUGH else 3):
        interrupter = Inside(point)
        try:
            sys.setprofile(interrupter)
            with SideBySide(2) as jobs:
                for _ in range(3):
                    jobs.begin(sleeping(tmp_path, 0.02))
                jobs.finish()
            ended = interrupter.count <= point
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        no_child()
        if ended:
            break
    assert ended and point > 50


def test_a_child_that_a_signal_handler_forks_ends_no_command(tmp_path):
    """It is told that the commands are its parent's, whose commands go on."""
    parent, children, status = os.getpid(), [], 1
    before = signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
    try:
        with SideBySide(2) as jobs:
            jobs.begin(sleeping(tmp_path, 0.6))
            jobs.begin(sleeping(tmp_path, 0.6))
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            jobs.finish()
    except ChildProcessError:
        status = 7
    finally:
        if os.getpid() != parent:
            os._exit(status)
        signal.signal(signal.SIGALRM, before)
    (child,) = children
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    no_child()
