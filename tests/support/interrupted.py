"""First calls that an interrupt ends: `python interrupted.py SEED COUNT` tells what it breaks.

Each point is a process of its own, forked from one that has imported the package and called
nothing. In it a KeyboardInterrupt is raised at one of the moments of a first call: in the package,
in NumPy, in the standard library, anywhere. Afterwards everything must work.
"""

import collections
import gc
import json
import os
import random
import signal
import sys
import threading
import traceback

import numpy as np

import transpile
from transpile.trace import trace
from transpile.util import fork_safe_lock
from transpile.util.interrupt_safety import THREAD

SECONDS = 60  # a process that takes longer hangs
KEPT = {name: getattr(np, name) for name in dir(np) if not name.startswith("__")}
METHODS = {cls: dict(vars(cls)) for cls in (np.vectorize, np.ndenumerate, type(np.r_).__mro__[1])}


def program(number):
    """A function that nobody has called before: conversions, a product, a gradient, a loop."""

    def f(x, y):
        h = np.tanh(x @ y)
        z = np.array([h[0, 0], 1.0 + number])
        total = transpile.lax.fori_loop(0, 3, lambda i, s: s + h[i], h[0])
        slope = transpile.grad(lambda v: (v * v).sum())(h)
        return (slope * h).sum(axis=0) + z[0] * z[1] + total

    def expected(x, y):
        h = np.tanh(x @ y)
        return (2 * h * h).sum(axis=0) + h[0, 0] * (1 + number) + h[0] + h[:3].sum(axis=0)

    return transpile.jit(f, compiler_options={"opt_level": 0}), expected


class Interrupter:
    """Interrupts at one of the moments at which Python looks for signals: when a function begins,
    and when one of C has returned, before anything is done with its result."""

    def __init__(self, point):
        self.point, self.count, self.where = point, 0, ""

    def __call__(self, frame, event, argument):
        if event in ("call", "c_return") and frame.f_code.co_filename != __file__:
            self.count += 1
            if self.count - 1 == self.point:
                code = frame.f_code
                place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno} {code.co_name}"
                self.where = f"{event} {place}"
                sys.setprofile(None)
                raise KeyboardInterrupt


def in_a_thread(check):
    """Run in another thread, for which what this one holds is locked; what it raises is raised."""
    problems = []

    def run():
        try:
            check()
        except BaseException:
            problems.append(traceback.format_exc(limit=-2))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS / 3)
    assert not thread.is_alive(), "another thread hangs"
    assert not problems, problems


def check_state():
    """What an interrupt may have left behind."""
    changed = [name for name, value in KEPT.items() if getattr(np, name) is not value]
    changed += [
        f"{cls.__name__}.{name}"
        for cls, before in METHODS.items()
        for name, value in before.items()
        if vars(cls).get(name) is not value
    ]
    assert not changed, f"still replaced in NumPy: {changed}"
    assert trace.current_trace() is None and not THREAD.__dict__.get("traces"), "a trace"
    assert not THREAD.scope and not THREAD.axes and THREAD.most_equations is None, "a state"
    assert gc.isenabled(), "the collector is off"
    taken = [lock for lock in tuple(fork_safe_lock._locks) if lock.is_ours()]
    assert not taken, f"taken locks: {taken}"


def interrupted(point):
    """Interrupt a first call at a point; the problems found, and how many events there were."""
    x, y = np.random.default_rng(0).normal(size=(8, 6)), np.ones((6, 5))
    f, expected = program(abs(point))
    interrupter = Interrupter(point)
    problems = []
    sys.setprofile(interrupter)
    try:
        f(x, y)
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        problems.append(f"it became {type(error).__name__}: {error}")
    sys.setprofile(None)
    other, other_expected = program(0.5)
    checks = [
        check_state,
        lambda: np.testing.assert_allclose(f(x, y), expected(x, y)),
        lambda: in_a_thread(lambda: np.testing.assert_allclose(f(x, y), expected(x, y))),
        lambda: in_a_thread(lambda: np.testing.assert_allclose(other(x, y), other_expected(x, y))),
        lambda: np.testing.assert_allclose(transpile.jit(np.sort)(x), np.sort(x)),
        check_state,
    ]
    for check in checks:
        try:
            check()
        except BaseException as error:
            problems.append(f"{type(error).__name__}: {str(error)[:300]}")
    return interrupter.count, f"{'; '.join(problems)} (at {interrupter.where})" if problems else ""


def in_a_process(point):
    """As `interrupted`, in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.write(writing, json.dumps(interrupted(point)).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if text and not status else (0, f"the process ended with {status}")


def main():
    """Try so many random points."""
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    total, problem = in_a_process(-1)
    assert total and not problem, problem
    draw = random.Random(seed)
    points = [draw.randrange(total) for _ in range(count)]
    bad = collections.Counter()
    for point in points:
        _, problem = in_a_process(point)
        if problem:
            bad[f"{point}: {problem}"] += 1
    print(json.dumps({"events": total, "points": len(points), "bad": list(bad)}, indent=1))


if __name__ == "__main__":
    main()
