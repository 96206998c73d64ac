"""KeyboardInterrupt at any moment: what is other for a while is as it was, all can be done again.

Small things are interrupted at every one of their moments, whole first calls at random ones.
The thorough tier tries many more random moments of first calls.
"""

import copy
import dataclasses
import gc
import json
import os
import random
import subprocess
import sys
import textwrap
from dataclasses import field

import numpy as np
import pytest
from helpers import fresh_seed, trace_to_graph
from interrupted import Interrupter, check_state
from places import SUPPORT
from thorough import THOROUGH, one_in

from transpile.disk_cache import file_locks
from transpile.disk_cache.file_locks import locked
from transpile.util import frozen_records
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import cached_property
from transpile.util.gc_pause import without_collector
from transpile.util.lazy.registry import Rest, Table

# Python loses an interrupt that comes while it does away with a generator, or in a callback of its
# collector (hypothesis has one), and says so.
pytestmark = [
    pytest.mark.full_level,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
MOMENTS = 300 if THOROUGH else 2


def interrupted(function, point):
    """Run a function with an interrupt at an event; tell whether there was one."""
    interrupter = Interrupter(point)
    sys.setprofile(interrupter)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return interrupter.count > point


def at_every_event(fresh, check, most=20_000):
    """Interrupt what `fresh()` gives at each of its events, then check; count them."""
    for point in range(most):
        if not interrupted(fresh(), point):
            return point
        check()
    raise AssertionError("it does not end")


def test_the_first_instance_of_a_dataclass():
    made = []

    def fresh():
        @frozen_records.dataclass(frozen=True)
        class Point:
            x: int
            y: list = field(default_factory=list)
            name: str = "p"

        @frozen_records.dataclass(frozen=True)
        class Marked(Point):
            mark: int = 3

        made[:] = [Point, Marked]
        return lambda: Marked(1)

    def check():
        point, marked = made
        a = copy.copy(marked(1, [2], mark=5))
        assert a == marked(1, [2], "p", 5) and a != marked(2) and hash(point(1, (2,)))
        assert repr(a).endswith("Marked(x=1, y=[2], name='p', mark=5)")
        assert point(1).y == [] and point(1).y is not point(1).y
        assert [f.name for f in dataclasses.fields(marked)] == ["x", "y", "name", "mark"]
        assert not {"__setstate__", "y"} & (vars(point).keys() | vars(marked).keys())
        with pytest.raises(dataclasses.FrozenInstanceError):
            a.x = 2

    assert at_every_event(fresh, check) > 100


def test_the_first_copy_of_a_dataclass():
    made = []

    def fresh():
        @frozen_records.dataclass(frozen=True)
        class Point:
            x: int
            y: list = field(default_factory=list)

        made[:] = [Point]
        return lambda: Point.__new__(Point).__setstate__({"x": 1, "y": []})

    def check():
        assert made[0](1) == made[0](1, []) and repr(made[0](1)).endswith("Point(x=1, y=[])")

    assert at_every_event(fresh, check) > 50


def test_a_trace():
    def f(x):
        return np.array([x[0], 1.0]) + np.vectorize(lambda v: v + 1)(x)

    graph = str(trace_to_graph(f, np.ones(2)))

    def check():
        check_state()
        assert str(trace_to_graph(f, np.ones(2))) == graph

    def count():
        counter = Interrupter(10**9)
        sys.setprofile(counter)
        trace_to_graph(f, np.ones(2))
        sys.setprofile(None)
        return counter.count

    # Each event would take a minute; those of the beginning and of the end, and some in between.
    # Some traces have events of their own: a collection, a cache that is filled.
    events = min(count() for _ in range(5))
    draw = random.Random(7)
    edges = [*range(100), *range(events - 100, events)]
    for point in [*edges, *(draw.randrange(events) for _ in range(50))]:
        assert interrupted(lambda: trace_to_graph(f, np.ones(2)), point)
        check_state()
    check()


def test_the_collector_is_on_again():
    def run():
        without_collector(lambda: without_collector(lambda: gc.isenabled() or 1))

    def check():
        assert gc.isenabled()

    assert at_every_event(lambda: run, check) > 20


def test_the_collector_stays_off_where_it_was():
    gc.disable()
    try:
        assert without_collector(gc.isenabled) is False
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert without_collector(gc.isenabled) is False and gc.isenabled()


def test_locks_are_free():
    lock = Lock()

    def run():
        with lock, lock:
            pass

    def check():
        assert not lock.is_ours()

    assert at_every_event(lambda: run, check) >= 3


def test_locks_between_processes(tmp_path):
    """One that stays taken has the next call wait for ten minutes."""
    folder = os.open(tmp_path, os.O_RDONLY)

    def run():
        with locked(folder, "name", 0) as ours:
            assert ours

    def check():
        assert not file_locks._held_locks
        with locked(folder, "name", 0) as ours:
            assert ours

    assert at_every_event(lambda: run, check) > 20
    # An interrupt between the opening of the file and the next line loses a file without a lock.
    os.close(folder)


def test_a_fork():
    """What no fork divides is free again. Python itself loses the interrupt."""
    code = f"""
        import functools, json, os, sys
        sys.path.insert(0, {str(SUPPORT)!r})
        from interrupted import Interrupter, in_a_thread
        from transpile.util import fork_safe_lock

        os.register_at_fork(after_in_child=functools.partial(os._exit, 0))
        sys.unraisablehook = lambda problem: None

        def enter():
            with fork_safe_lock.undivided():
                pass

        in_a_thread(enter)
        points, taken = 0, []
        interrupter = Interrupter(-1)
        while points < 3 or interrupter.where:
            interrupter = Interrupter(points)
            points += 1
            try:
                sys.setprofile(interrupter)
                os.fork()
            except KeyboardInterrupt:
                pass
            sys.setprofile(None)
            if any(lock.is_ours() for lock in tuple(fork_safe_lock._locks)):
                taken.append(interrupter.where)
                fork_safe_lock._after_fork()
        print(json.dumps([points, taken]))
    """
    points, taken = python(code)
    assert points > 10 and not taken


def test_the_rest_of_a_table():
    made = []

    def fresh():
        rest = Rest()
        table = Table(rest)

        def load():
            for key in "abc":
                table[key] = ord(key)

        rest.comes_from(load)
        made[:] = [table]
        return lambda: table["c"]

    def check():
        assert dict(made[0]) == {"a": 97, "b": 98, "c": 99} and "d" not in made[0]

    assert at_every_event(fresh, check) > 10


def test_a_property_that_is_kept():
    class Kept:
        @cached_property
        def value(self):
            return object()

    made = []

    def fresh():
        made[:] = [Kept()]
        return lambda: made[0].value

    def check():
        assert made[0].value is made[0].value

    assert at_every_event(fresh, check) >= 3
    assert isinstance(Kept.value, cached_property)


def python(code, *arguments):
    """What a new process prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300 + 10 * MOMENTS,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_import_of_the_package():
    """The cell of a notebook with the import in it is run again."""
    code = """
        import json, os, random, sys
        import numpy as np, numpy.fft  # whose modules in C are loaded once in a process

        class Interrupt:
            def __init__(self, point):
                self.left = point
            def __call__(self, frame, event, argument):
                self.left -= event in ("call", "c_return")
                if self.left == 0:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        def attempt(point):
            sys.setprofile(interrupt := Interrupt(point))
            try:
                import transpile, transpile.numpy
            except KeyboardInterrupt:
                pass
            except RuntimeError as error:  # Python 3.11 wraps what __set_name__ raises
                assert isinstance(error.__cause__, KeyboardInterrupt), error
            sys.setprofile(None)
            if point < 0:
                return -interrupt.left
            import transpile, transpile.numpy as tnp
            f = transpile.jit(lambda x: np.array([np.sort(x)[0], 1.0]) + tnp.trace(np.outer(x, x)))
            np.testing.assert_allclose(f.lower(np.ones(3)).out_info.shape, (2,))
            transpile.make_jaxpr(transpile.grad(lambda x: np.sin(x).sum()))(np.ones(3)).check()
            assert "for (" in f.lower(np.ones(3)).as_text()
            return 0

        def in_a_process(point):
            reading, writing = os.pipe()
            if os.fork() == 0:
                try:
                    said = attempt(point)
                except BaseException as error:
                    said = f"{type(error).__name__}: {error}"
                os.write(writing, json.dumps(said).encode())
                os._exit(0)
            os.close(writing)
            with open(reading) as file:
                text = file.read()
            os.wait()
            return json.loads(text)

        total = in_a_process(-1)
        draw = random.Random(int(sys.argv[1]))
        points = [draw.randrange(1, total) for _ in range(int(sys.argv[2]))]
        print(json.dumps([(p, said) for p in points if (said := in_a_process(p))]))
    """
    assert python(code, fresh_seed(), MOMENTS) == []


@pytest.mark.parametrize("seed", [fresh_seed(), 5], ids=["fresh", "fixed"])
@one_in(2)
def test_first_calls(seed):
    code = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n"
    code += "import interrupted; interrupted.main()"
    found = python(code, seed, MOMENTS)
    assert found["points"] == MOMENTS and found["bad"] == [], f"seed {seed}"
