"""How long the first call of a function takes, from three states of the caches.

    python -m benchmarks.first_calls [--only CASE ...] [--rounds N] [--python PATH]

Each first call is one of a new process, which has imported its package and made the arguments; it
traces, compiles, loads and runs. The states:

    cold      there is nothing: no program, no helper's object file, no facts about the compiler;
              modules and templates have been compiled by Python, as for all contestants
    objects   the machine has compiled other programs of this kind: all is there but the program
    warm      another process has made the same call
    numpy     as cold, but with `warm_up="numpy"`: NumPy computes the result while a process builds
              the program, which is not in `CPU`

JAX and Numba are measured beside it where this Python, or one that is given, has them. JAX is cold
without its persistent cache, and warm with one, which keeps everything; Numba's functions are
compiled anew in each process. Contestants take turns, `--rounds` times; a number is the median of
its rounds. `wall` is the time that the caller waits, `CPU` that of all processors, compilers
included. `later` is the time of a later call: the median over processes of each one's best.

One contestant imports much before the first call, another one in it. So the second table has the
seconds from the start of the process to the first result: Python, NumPy, the package, arguments,
and the first call.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.contest import ROOT, Contestant, ContestantError, contestants
from benchmarks.first_call_cases import CASES
from benchmarks.tables import ratio, text
from transpile.disk_cache.cache import Cache

STATES = {
    "transpile": ("cold", "objects", "warm", "numpy"),
    "jax": ("cold", "warm"),
    "numba": ("cold",),
}
MEASURED = ("wall", "cpu", "start", "later")
LATER = 5  # calls after the first one that are measured
GENEROUS = 1.5  # times JAX's first call that ours may take


PERSISTENT = {  # JAX keeps programs, all of them
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def measure(who, python, case, folder, further=None):
    """{name of MEASURED: seconds} of a first call in a new process, whose caches are those of
    `folder`; None: it has none. `further` has variables of the environment."""
    with tempfile.TemporaryDirectory() as passing:
        if folder:
            further = {
                **PERSISTENT,
                "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
                **(further or {}),
            }
        contestant = Contestant(who, python, case, folder or passing, passing, further)
        try:
            contestant.answer()
            answer = contestant.ask("call")
            later = min(contestant.ask(f"run {LATER}")["seconds"])
        finally:
            contestant.close()
    started = answer["end"] - contestant.begin
    return {"wall": answer["wall"], "cpu": answer["cpu"], "start": started, "later": later}


def remove_programs(folder):
    """Remove the programs of a cache, and keep what is compiled once."""
    cache = Cache(Path(folder, "transpile"))
    for usage in cache.entries():
        name = usage.directory.name
        if not name.startswith("transpile_"):
            cache.clear(name)


def turns(who, python, case, folder):
    """{state: what `measure` gives}, one after the other, with the caches of `folder`."""
    found = {"cold": measure(who, python, case, folder if who == "transpile" else None)}
    if who == "transpile":
        kept = Path(folder, "kept")
        shutil.copytree(Path(folder, "transpile"), kept / "transpile", symlinks=True)
        remove_programs(kept)
        found["objects"] = measure(who, python, case, kept)
        found["numpy"] = measure(who, python, case, None, {"TRANSPILE_WARM_UP": "numpy"})
    elif "warm" in STATES[who]:
        measure(who, python, case, folder)
    if "warm" in STATES[who]:
        found["warm"] = measure(who, python, case, folder)
    return found


def compare(case, pythons, rounds):
    """{(who, state): {name of MEASURED: the seconds of each round}}, and failures. A process before
    the first round has Python compile modules."""
    every = [(who, state) for who in pythons for state in STATES[who]]
    found = {key: {name: [] for name in MEASURED} for key in every}
    failed = {}
    for number in range(rounds + 1):
        for who, python in pythons.items():
            if who in failed or who not in CASES[case].contestants:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    if number == 0:
                        measure(who, python, case, None)
                        continue
                    outcome = turns(who, python, case, folder)
                except ContestantError as error:
                    failed[who] = str(error)
                    continue
            for state, numbers in outcome.items():
                for name, seconds in numbers.items():
                    found[who, state][name].append(seconds)
    return found, failed


def medians(found):
    """{(who, state): {name of MEASURED: the median}} of what there is."""
    return {
        key: {name: statistics.median(seconds) for name, seconds in numbers.items()}
        for key, numbers in found.items()
        if numbers["wall"]
    }


def title():
    """The two lines above the table."""
    columns = [f"{who} {state}" for who, states in STATES.items() for state in states]
    first = f"{'':14}" + "".join(f"{column:>21}" for column in columns)
    second = f"{'':14}" + "".join(f"{'wall':>11}{'CPU':>10}" for _ in columns)
    return [
        first + f"{'to JAX':>9}{'warm':>7}{'numpy':>7}{'later: ours':>14}{'JAX':>10}{'Numba':>10}",
        second,
    ]


def line(case, found):
    """The line of a case, see `title`."""
    words = [f"{case:14}"]
    for who, states in STATES.items():
        for state in states:
            numbers = found.get((who, state))
            wall, cpu = (text(numbers["wall"]), text(numbers["cpu"])) if numbers else ("-", "-")
            words.append(f"{wall:>11}{cpu:>10}")
    cold, warm, numpy = (times(found, "wall", state) for state in ("cold", "warm", "numpy"))
    words.append(f"{ratio(cold):>9}{ratio(warm):>7}{ratio(numpy):>7}")
    for who, width in (("transpile", 14), ("jax", 10), ("numba", 10)):
        numbers = found.get((who, "cold"))
        words.append(f"{text(numbers['later']) if numbers else '-':>{width}}")
    return "".join(words)


def from_start(every):
    """The lines of the second table: by case, the seconds from the start of the process to the
    first result, and those of ours in times of JAX's."""
    columns = [(who, state) for who, states in STATES.items() for state in states]
    head = "".join(f"{f'{who} {state}':>19}" for who, state in columns)
    lines = ["from the start of the process", f"{'':14}{head}{'to JAX':>9}{'warm':>7}{'numpy':>7}"]
    for case, found in every.items():
        seconds = [text(found[key]["start"]) if key in found else "-" for key in columns]
        ratios = [ratio(times(found, "start", state)) for state in ("cold", "warm", "numpy")]
        words = "".join(f"{word:>19}" for word in seconds)
        lines.append(f"{case:14}{words}{ratios[0]:>9}{ratios[1]:>7}{ratios[2]:>7}")
    return lines


def times(found, name, state):
    """How many times JAX's seconds ours are; None without one of them."""
    ours = found.get(("transpile", state))
    theirs = found.get(("jax", "warm" if state == "warm" else "cold"))
    return ours[name] / theirs[name] if ours and theirs else None


def summary(every):
    """The lines about all cases: medians by state, and how many are within reach of JAX."""
    lines = []
    for who, states in STATES.items():
        for state in states:
            there = [f[who, state] for f in every.values() if (who, state) in f]
            if there:
                wall, start = (statistics.median(f[n] for f in there) for n in ("wall", "start"))
                lines.append(
                    f"median of {who}, {state}: {text(wall)}, from the start {text(start)}"
                )
    for state in STATES["transpile"]:
        theirs = "warm" if state == "warm" else "cold"
        near = [
            f["transpile", state]["wall"] <= GENEROUS * f["jax", theirs]["wall"]
            for f in every.values()
            if ("transpile", state) in f and ("jax", theirs) in f
        ]
        if near:
            lines.append(f"{state}: {sum(near)} of {len(near)} within {GENEROUS} times JAX's time")
    return lines


def main():
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=CASES, help="one of the cases")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind (3)")
    default = ROOT / ".venv-bench" / "bin" / "python"
    parser.add_argument("--python", default=str(default), help="a Python that has the others")
    options = parser.parse_args()
    able = contestants(True, options.python)
    pythons = {who: able[who] for who in STATES if who in able}
    print("\n".join(title()), flush=True)
    every, failures = {}, []
    for case in options.only or CASES:
        found, failed = compare(case, pythons, options.rounds)
        every[case] = medians(found)
        print(line(case, every[case]), flush=True)
        failures += [f"{case}: {who} FAILED: {why}" for who, why in failed.items()]
    print("\n".join(["", *from_start(every), "", *summary(every), *failures]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
