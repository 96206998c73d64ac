"""One contestant in a process of its own: `python -m benchmarks.peer transpile|numpy|jax`.

It reads a command a line and answers with a line of JSON. `case NAME` makes the arguments, calls
once, and gives a checksum of the result and the time that first call took; `run N` gives the
seconds of N measurements, after one that is not counted. An empty line ends it.
"""

import json
import sys
import time

import numpy as np

from benchmarks.cases import CASES


def contestant(name):
    """(prepare an argument, namespace, compile, wait for a result)"""
    if name == "numpy":
        return (lambda x: x), np, (lambda f: f), (lambda result: result)
    if name == "transpile":
        import transpile

        return (lambda x: x), np, transpile.jit, (lambda result: result)
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray, jax.numpy, jax.jit, (lambda result: result.block_until_ready())


def measure(function, arguments, wait, calls):
    """Seconds a call."""
    start = time.perf_counter()
    for _ in range(calls):
        result = function(*arguments)
    wait(result)
    return (time.perf_counter() - start) / calls


def main():
    prepare, xp, compiled, wait = contestant(sys.argv[1])
    for line in sys.stdin:
        word, _, value = line.strip().partition(" ")
        if word == "case":
            case = CASES[value]
            arguments = [prepare(x) for x in case.make(np.random.default_rng(0))]
            function = compiled(case.build(xp))
            start = time.perf_counter()
            result = np.asarray(wait(function(*arguments)), np.float64)
            first = time.perf_counter() - start
            answer = {"checksum": float(np.abs(result).mean()), "first": first}
        elif word == "run":
            measure(function, arguments, wait, case.calls)
            answer = [measure(function, arguments, wait, case.calls) for _ in range(int(value))]
        else:
            break
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
