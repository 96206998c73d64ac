"""JAX beside `benchmarks.cliffs`: `python -m benchmarks.cliffs_jax`, where JAX is installed.

It reads a command a line and answers each with a line of JSON:

    program SEED   compiles and calls the program of a seed, and compares its results with NumPy's:
                   {"first": seconds}, or {"refused": why there is nothing to measure}
    run            {"seconds": the least of a call of it, in a few turns}

The program is the text that NumPy runs, with `jax.numpy` in the place of `np`, under `jax.jit` and
with 64 bits enabled; its arguments are JAX's before the clock starts. JAX refuses what assigns to
an array or has shapes that depend on values. Where it computes in other dtypes than NumPy, its work
is another; such programs are refused, too, as are those whose results differ.
"""

import gc
import json
import sys
import time

import jax
import numpy as np
from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import draw, quiet

from benchmarks.cliff_times import MOST_ELEMENTS, best_times
from benchmarks.large_arguments import argument

ROUNDS = 5


class Refused(Exception):
    """There is nothing to compare; the text says why."""


def compiled(seed):
    """A function without arguments that waits for results, and the seconds of the first call."""
    program = draw(seed, argument, MOST_ELEMENTS)
    function = jax.jit(program.function(jax.numpy))
    arguments = [jax.numpy.asarray(x) for x in program.arguments.values()]

    def call():
        return jax.block_until_ready(function(*arguments))

    start = time.perf_counter()
    try:
        results = call()
    except Exception as error:  # JAX has no class of errors for what it does not support
        raise Refused(f"error: {type(error).__name__}") from error
    first = time.perf_counter() - start
    oracle = Oracle(program)
    for name, got in zip(program.results, results, strict=True):
        said = oracle.difference(name, np.asarray(got))
        if said:
            raise Refused(f"other {said.split()[0]}")
    return call, first


def main():
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    call = None
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        word, _, value = line.strip().partition(" ")
        with quiet():
            if word == "program":
                call = None
                jax.clear_caches()
                gc.collect()
                try:
                    call, first = compiled(int(value))
                    answer = {"first": first}
                except Refused as refused:
                    answer = {"refused": str(refused)}
            elif word == "run":
                answer = {"seconds": best_times((call,), (), ROUNDS)[0]}
            else:
                break
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
