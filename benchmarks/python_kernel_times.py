"""Times of the kernels of `benchmarks.python_kernels`, `further_kernels`, `textbook_kernels`,
`polybench_kernels` and `element_kernels`: as they are, under `transpile.jit`, under Numba's `njit`,
and, most of them, written by hand in C.

    python -m benchmarks.python_kernel_times [name ...] [--numba FOLDER] [--rounds N] [--no-python]
                                             [--runtime-sizes]

Numba is imported from the folder of packages that is given, such as
`.venv-bench/lib/python3.11/site-packages` after `make bench`, or from this environment. For each
kernel: milliseconds of all processors at the large size, interleaved, the best of several rounds
after one that is not counted, in which short ones are called often; how the time of Numba, and that
of C, is to ours; seconds of the trace and the loops, and of the C compiler, with an empty cache,
and of Numba's first call; and whose results, or arguments after the call, differ from Python's.
With `--runtime-sizes` one program serves arrays of every size, as Numba's does.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import transpile
from benchmarks.element_kernels import ELEMENTS
from benchmarks.further_kernels import FURTHER
from benchmarks.hand_written import library, pointer
from benchmarks.polybench_kernels import POLYBENCH
from benchmarks.python_kernels import KERNELS, Kernel
from benchmarks.python_kernels_in_c import TWINS, Twin
from benchmarks.textbook_kernels import TEXTBOOK
from benchmarks.trees import leaves, mapped
from transpile.runtime import fast_call

_ROUND = 0.003  # seconds that a round of a short kernel lasts
_MOST = 300  # calls in a round

Function = Callable[..., Any]


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return mapped(lambda x: x.copy() if isinstance(x, np.ndarray) else x, arguments)


def _number(value: Any) -> Any:
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


def in_c(name: str, twin: Twin, arguments: tuple[Any, ...]) -> Function:
    """The kernel's twin; results have memory that is written again by each call."""
    compiled = getattr(library(f"python/{twin.file}", further_flags=()), name)
    compiled.restype = None
    results = twin.results(*arguments)
    written = [pointer(x) for x in results]
    sizes = [ctypes.c_int64(n) for n in twin.sizes(*arguments)]

    def call(*given: Any) -> Any:
        words = [pointer(x) if isinstance(x, np.ndarray) else _number(x) for x in given]
        compiled(*sizes, *words, *written)
        return results

    return call


def _timed(function: Function, calls: list[tuple[Any, ...]]) -> tuple[float, Any]:
    """Seconds of one of the calls, and the last one's result."""
    result = None
    begin = time.process_time()
    for arguments in calls:
        result = function(*arguments)
    return (time.process_time() - begin) / len(calls), result


def _differs(one: Any, other: Any) -> bool:
    pairs = zip(leaves(one), leaves(other), strict=True)
    return not all(np.allclose(x, y, rtol=1e-9, equal_nan=True) for x, y in pairs)


def _results(result: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """What a call leaves: results, without the arguments among them, and the arguments."""
    given = {id(x) for x in leaves(arguments) if isinstance(x, np.ndarray)}
    own = [x for x in leaves(result) if x is not None and id(x) not in given]
    return [*own, *leaves(arguments)]


def stages(jitted: Any, arguments: tuple[Any, ...]) -> tuple[float, float]:
    """Seconds from the function to its C, and from there to machine code."""
    begin = time.perf_counter()
    lowered = jitted.trace(*arguments).lower()
    lowered.as_text()
    text = time.perf_counter()
    lowered.compile()
    return text - begin, time.perf_counter() - text


def contestants(
    name: str, kernel: Kernel, jitted: Function, arguments: tuple[Any, ...]
) -> dict[str, Function]:
    """Who computes a kernel."""
    chosen: dict[str, Function] = {"ours": jitted}
    if name in TWINS:
        chosen["C"] = in_c(name, TWINS[name], arguments)
    try:
        import numba
    except ModuleNotFoundError:
        return chosen
    return {**chosen, "Numba": numba.njit(kernel.function)}


def _best(
    function: dict[str, Function], arguments: tuple[Any, ...], rounds: int
) -> dict[str, float]:
    once = {who: _timed(f, [_copied(arguments)])[0] for who, f in function.items()}
    count = max(1, min(_MOST, int(_ROUND / min(once.values()))))
    times: dict[str, list[float]] = {who: [] for who in function}
    for _ in range(rounds + 1):
        for who, own in times.items():
            own.append(_timed(function[who], [_copied(arguments) for _ in range(count)])[0])
    return {who: min(own[1:]) for who, own in times.items()}


def compare(name: str, kernel: Kernel, asked: argparse.Namespace) -> dict[str, float]:
    """Print the line of a kernel; its ratios."""
    arguments = kernel.arguments(np.random.default_rng(1), kernel.large)
    jitted = transpile.jit(kernel.function, dynamic_shapes=asked.runtime_sizes or None)
    trace, compiler = stages(jitted, arguments)
    functions = contestants(name, kernel, jitted, arguments)
    first, left = {}, {}
    for who, function in functions.items():
        given = _copied(arguments)
        first[who], result = _timed(function, [given])
        left[who] = mapped(np.copy, _results(result, given))
    python = float("nan")
    wrong = [who for who in left if _differs(left[who], left["ours"])]
    if not asked.no_python:
        given = _copied(arguments)
        python, result = _timed(kernel.function, [given])
        wrong = [who for who in left if _differs(left[who], _results(result, given))]
    times = _best(functions, arguments, asked.rounds)
    ours = times["ours"]
    theirs, hand = (times.get(who, float("nan")) for who in ("Numba", "C"))
    print(
        f"{name:21} {1e3 * ours:9.4f} {1e3 * theirs:9.4f} {1e3 * hand:9.4f} {1e3 * python:9.1f}"
        f" {theirs / ours:6.2f} {hand / ours:6.2f} {trace:6.2f} {compiler:6.2f}"
        f" {first.get('Numba', float('nan')):6.2f}"
        + (f"  DIFFERENT: {' '.join(wrong)}" if wrong else ""),
        flush=True,
    )
    return {"Numba": theirs / ours, "C": hand / ours}


def _chosen(names: list[str]) -> Iterator[tuple[str, Kernel]]:
    every = {**KERNELS, **FURTHER, **TEXTBOOK, **POLYBENCH, **ELEMENTS}
    for table in [{name: every[name] for name in names}] if names else [every]:
        yield from table.items()


def _summary(ratios: list[dict[str, float]]) -> str:
    parts = []
    for who in ("Numba", "C"):
        own = [ratio[who] for ratio in ratios if ratio[who] == ratio[who]]
        if own:
            mean = statistics.geometric_mean(own)
            parts.append(
                f"{who} / ours: geometric mean {mean:.2f}, least {min(own):.2f},"
                f" under 0.85: {sum(x < 0.85 for x in own)} of {len(own)}"
            )
    return "\n".join(parts)


def main() -> None:
    """Compare the kernels named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--numba", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-python", action="store_true")
    parser.add_argument("--runtime-sizes", action="store_true")
    given = parser.parse_args()
    if given.numba:
        sys.path.append(given.numba)
    print(
        f"{'ms':21} {'ours':>9} {'Numba':>9} {'C':>9} {'Python':>9} {'Numba/':>6} {'C/':>6}"
        f" {'trace':>6} {'C comp':>6} {'Numba1':>6}"
    )
    titles = {
        "thirty kernels": KERNELS,
        "loops for each element": ELEMENTS,
        "PolyBench": POLYBENCH,
    }
    ratios: dict[str, list[dict[str, float]]] = {
        title: [] for title in (*titles, "further kernels")
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRANSPILE_CACHE_DIR"] = folder
        fast_call.module()  # a compiler's second, once for a cache: till then calls are Python's
        for name, kernel in _chosen(given.names):
            own = compare(name, kernel, given)
            title = next((t for t, table in titles.items() if name in table), "further kernels")
            ratios[title].append(own)
        for title, found in ratios.items():
            if found:
                print(f"{title}\n{_summary(found)}")


if __name__ == "__main__":
    main()
