"""The table of primitives on other machines and by other compilers: what was built, what ran, and
how many cases agree with NumPy.

    PYTHONPATH=tests/support python -m benchmarks.machines_table ["gcc 14" zig] [--dtypes f64]

A program holds every elementwise primitive of a dtype, on edge values, or every primitive over
arrays; see tests/support/primitive_programs.py. It is a saved library, and a main in C that calls
it is run: under an emulator for another machine. A case agrees by the rules of
tests/support/primitive_checks.py.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from other_machines import PLACES, results_of
from primitive_checks import numpy_results, verdicts
from primitive_programs import NAMES, array_program, elementwise_program

from transpile.errors import CompilationError
from transpile.ir.types import DTYPES, SHORT_NAMES
from transpile.options import Options
from transpile.runtime.executable import Lowering

BY_NAME = {SHORT_NAMES[d]: d for d in DTYPES}
MAKERS = (elementwise_program, array_program)
COUNTED = ("programs", "built", "ran", "pairs", "pairs that agree", "cases", "same bits", "agree")


def tried(place, batch):
    """The results of a batch at a place; what is not built or does not run raises."""
    options = Options().replace({**place.settings, "opt_level": 1})
    with tempfile.TemporaryDirectory() as folder:
        paths = Lowering(batch.graph(), options).save(Path(folder), "wanted")
        yield
        yield results_of(place, paths, batch.values, numpy_results(batch))


def counts_of(place, names):
    """The numbers of COUNTED for a place; what fails is printed."""
    counts, pairs = Counter(), {}
    for name in names:
        for make in MAKERS:
            batch = make(BY_NAME[name])
            counts["programs"] += 1
            steps = tried(place, batch)
            try:
                next(steps)
                counts["built"] += 1
                results = next(steps)
                counts["ran"] += 1
            except (CompilationError, AssertionError, OSError) as error:
                print(f"{place.name}, {name}, {make.__name__}: {str(error)[:2000]}", flush=True)
                results = ()
            for each in verdicts(batch, results, place.elsewhere) if results else ():
                good = bool(np.all(each.good))
                counts["cases"] += 1
                counts["same bits"] += each.exact
                counts["agree"] += good
                pairs[each.name, name] = pairs.get((each.name, name), True) and good
                if not good:
                    print(f"{place.name}, {name}: {each}", flush=True)
    return {**counts, "pairs": len(pairs), "pairs that agree": sum(pairs.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="*", help="parts of the names of places; all if none")
    parser.add_argument("--dtypes", nargs="+", choices=NAMES, default=list(NAMES))
    given = parser.parse_args()
    warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
    print(f"{'machine, compiler':32}" + "".join(f"{title:>17}" for title in COUNTED), flush=True)
    failed = False
    for place in PLACES:
        if given.places and not any(part in place.name for part in given.places):
            continue
        if missing := place.missing():
            print(f"{place.name:32}  not run: {', '.join(missing)} is missing", flush=True)
            continue
        begin = time.perf_counter()
        counts = counts_of(place, given.dtypes)
        seconds = time.perf_counter() - begin
        shown = "".join(f"{counts.get(title, 0):>17,}" for title in COUNTED)
        print(f"{place.name:32}{shown}   {seconds:.0f} s", flush=True)
        failed |= counts.get("agree") != counts.get("cases") or counts["ran"] < counts["programs"]
    sys.exit(failed)


if __name__ == "__main__":
    main()
