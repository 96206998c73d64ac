"""One contestant in a process of its own: `python -m benchmarks.peer NAME CASE`.

NAME is a name of `CONTESTANTS`, CASE one of `benchmarks.every_case`. It makes the arguments, says
so with a line of JSON, then reads a command a line and answers each with such a line:

    first   calls once: the seconds of each step of that call, and peak memory before it, in bytes
    call    calls once, as a user does: the seconds by the clock and of all processors, and the time
            of the monotonic clock at its end
    run N   the seconds of N measurements, after one that is not counted, and peak memory by then
    check   of each array of the result for new arguments its norm and a few products with random
            vectors: enough to tell results apart

An empty line ends it.
"""

import json
import os
import resource
import sys
import time
from importlib import metadata

import numpy as np

from benchmarks.every_case import base_name, find
from benchmarks.trees import leaves, mapped

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
DIRECTIONS = 4


class NumPy:
    """The function as it is."""

    def __init__(self):
        self.version = np.__version__

    def prepare(self, array):
        return array

    def compiled(self, name, case):
        return case.build(np, None)

    def first(self, function, arguments):
        """The result of the first call, and the seconds of each step of it."""
        start = time.perf_counter()
        result = self.wait(function(*arguments))
        return result, {"first call": time.perf_counter() - start}

    def wait(self, result):
        return result

    def as_numpy(self, array):
        return np.asarray(array)


class HandWritten(NumPy):
    """C that was written by hand."""

    def compiled(self, name, case):
        from benchmarks import hand_written

        return hand_written.function(name)


class Transpile(NumPy):
    def __init__(self):
        import transpile

        self.library, self.version = transpile, metadata.version("transpile")

    def compiled(self, name, case):
        donated = (0,) if case.carries else ()
        function = case.build(np, self.library)
        return self.library.jit(function, donate_argnums=donated) if case.compiles else function

    def first(self, function, arguments):
        if not hasattr(function, "trace"):  # a program that calls compiled functions
            return super().first(function, arguments)
        times = [time.perf_counter()]
        traced = function.trace(*arguments)
        times.append(time.perf_counter())
        lowered = traced.lower()
        lowered.as_text()
        times.append(time.perf_counter())
        lowered.compile()
        times.append(time.perf_counter())
        result = function(*arguments)
        times.append(time.perf_counter())
        steps = ("trace", "lower and print", "C compiler", "run")
        return result, dict(zip(steps, np.diff(times).tolist(), strict=True))


class Jax(NumPy):
    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.library, self.version = jax, jax.__version__

    def prepare(self, array):
        return self.library.numpy.array(array)

    def compiled(self, name, case):
        donated = (0,) if case.carries else ()
        function = case.build(self.library.numpy, self.library)
        return self.library.jit(function, donate_argnums=donated) if case.compiles else function

    def wait(self, result):
        return self.library.block_until_ready(result)


class Torch(NumPy):
    def __init__(self):
        import torch

        from benchmarks import torch_peer

        self.library, self.version = torch, torch.__version__
        self.functions = torch_peer.FUNCTIONS

    def prepare(self, array):
        return self.library.from_numpy(array)

    def compiled(self, name, case):
        return self.functions[name]()

    def as_numpy(self, array):
        return array.detach().numpy()


class Numba(NumPy):
    def __init__(self):
        import numba

        from benchmarks import numba_peer

        self.version, self.functions = numba.__version__, numba_peer.FUNCTIONS

    def compiled(self, name, case):
        return self.functions[name]


CONTESTANTS = {
    "transpile": Transpile,
    "c": HandWritten,
    "numpy": NumPy,
    "numba": Numba,
    "jax": Jax,
    "torch": Torch,
}


def in_double_precision(array):
    """A copy; complex numbers as pairs of real ones."""
    if np.iscomplexobj(array):
        return np.stack([array.real, array.imag]).astype(np.float64)
    return array.astype(np.float64)


def fingerprint(arrays):
    """[norm, products with random vectors] of each array."""
    random = np.random.default_rng(1)
    found = []
    for array in (x.ravel() for x in arrays):
        products = [float(random.standard_normal(array.size) @ array) for _ in range(DIRECTIONS)]
        found.append([float(np.linalg.norm(array)), *products])
    return found


class Measured:
    """A case of a contestant: the function, and the arguments of its next call."""

    def __init__(self, contestant, name):
        self.contestant, self.case = contestant, find(name)
        self.function = contestant.compiled(base_name(name), self.case)
        self.arguments = self.made()

    def made(self):
        arguments = self.case.make(np.random.default_rng(0))
        return list(mapped(self.contestant.prepare, arguments))

    def carry(self, result):
        if self.case.carries:
            self.arguments[0] = result[1]

    def first(self):
        result, steps = self.contestant.first(self.function, self.arguments)
        self.carry(result)
        return steps

    def called(self):
        """The seconds of a call, by the clock and of the processors, other processes included."""
        before, start = processor_seconds(), time.perf_counter()
        result = self.contestant.wait(self.function(*self.arguments))
        wall, cpu = time.perf_counter() - start, processor_seconds() - before
        end = time.monotonic()
        self.carry(result)
        return {"wall": wall, "cpu": cpu, "end": end}

    def seconds(self):
        """Of a call, from one measurement."""
        function, arguments = self.function, self.arguments
        start = time.perf_counter()
        for _ in range(self.case.calls):
            result = function(*arguments)
        self.contestant.wait(result)
        taken = (time.perf_counter() - start) / self.case.calls
        self.carry(result)
        return taken

    def results(self):
        """The arrays to compare: of updated arguments the change, which the gradient is."""
        arguments = self.made()
        if not self.case.carries:
            return self.leaves(self.function(*arguments))
        before = self.leaves(arguments[0])
        value, updated = self.function(*arguments)
        changes = [new - old for new, old in zip(self.leaves(updated), before, strict=True)]
        return self.leaves(value) + changes

    def leaves(self, tree):
        """Copies, in double precision."""
        return [in_double_precision(self.contestant.as_numpy(x)) for x in leaves(tree)]


def processor_seconds():
    """Of this process, and of those that it has started and waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def peak():
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def main():
    name, case = sys.argv[1:]
    contestant = CONTESTANTS[name]()
    # What a case prints, from C or from Python, is no answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    measured = Measured(contestant, case)
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        word, _, value = line.strip().partition(" ")
        if word == "first":
            answer = {"version": contestant.version, "before": peak(), "steps": measured.first()}
        elif word == "call":
            answer = measured.called()
        elif word == "run":
            measured.seconds()
            answer = {"seconds": [measured.seconds() for _ in range(int(value))], "peak": peak()}
        elif word == "check":
            answer = fingerprint(measured.results())
        else:
            break
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
