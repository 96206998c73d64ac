"""One saved gradient on all machines that libraries are built for: sizes of files, and results.

    PYTHONPATH=tests/support python -m benchmarks.machines    (`make machines` runs it, too)

The gradient is that of a network with a hidden layer, in single precision. The error is the largest
of the loss and all of its derivatives, beside the same function called from Python here, in units
in the last place of the largest number of each array.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from other_machines import PLACES, built, example, gradient, results, ulps

import transpile


def line_of(place, leaves, want):
    """The table's line of a machine."""
    if missing := place.missing(to_run=False):
        return f"{place.name:32}  not built: {', '.join(missing)} is missing"
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        lowered, paths = built(place, gradient, example(), Path(folder))
        seconds = time.perf_counter() - begin
        shown = f"{place.name:32}{paths[0].name:14}{paths[0].stat().st_size:>9,}{seconds:>7.1f} s"
        if missing := place.missing():
            return f"{shown}   not run: {', '.join(missing)} is missing"
        got = results(place, lowered, paths, leaves, want)
    error = max(map(ulps, got, want))
    return f"{shown}   {float(got[0]):.8f}   {error:.2f} ulp"


def main():
    weights, x, y = arguments = example()
    value, slopes = transpile.jit(gradient)(*arguments)
    names = sorted(weights)
    leaves = [*(weights[name] for name in names), x, y]
    want = [np.asarray(value), *(np.asarray(slopes[name]) for name in names)]
    print(f"{'machine, compiler':32}{'file':14}{'bytes':>9}{'built in':>9}   {'loss':12} error")
    print(f"{'here, called from Python':32}{'':32}   {float(value):.8f}")
    for place in PLACES:
        print(line_of(place, leaves, want), flush=True)


if __name__ == "__main__":
    main()
