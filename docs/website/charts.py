"""The chart of the benchmarks: the ratios of a results file, as bars of HTML that fit any page.

A results file is what `python -m benchmarks --only site --results docs/benchmarks` keeps: the
newest one there is shown.
"""

from __future__ import annotations

import json
import math

from benchmarks.cases import CASES
from benchmarks.chart import COLOURS
from benchmarks.tables import geometric_mean, text
from website import docstrings
from website.pages import ROOT

FOLDER = ROOT / "docs" / "benchmarks"
LEAST, MOST = 0.25, 1000.0  # ratios at the ends of the scale
NAMES = {"c": "C by hand", "numpy": "NumPy", "numba": "Numba", "jax": "JAX", "torch": "PyTorch"}


def newest():
    """The results file that is shown."""
    return max(FOLDER.glob("*.json"))


def listed():
    """The part of the page with the chart, and a table of the same numbers."""
    path = newest()
    results = json.loads(path.read_text(encoding="utf-8"))
    machine, found = results["machine"], results["summary"]
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}"
    versions = ", ".join(f"{NAMES[who]} {machine[who]}" for who in NAMES if who in machine)
    parts = [
        f"\n## Measured on {machine['date']}\n",
        f"On {where}; {versions}. {busy(machine)}",
        f"The numbers are those of `docs/benchmarks/{path.name}`"
        + (f": {results['from']}.\n" if "from" in results else ".\n"),
        "Bars begin at 1, the time of transpile, on a logarithmic scale: to the right others take",
        "longer.\n",
        chart(found),
        "\n## The same as a table\n",
        table(found),
        "",
    ]
    return "\n".join(parts)


def busy(machine):
    """What has to be said of a machine that others used as well."""
    if machine.get("load", 0) < 0.5 * machine["cores"]:
        return ""
    return (
        f"**The machine was busy**: its load was {machine['load']:g} when this began. Best times "
        "are those of the turns that were disturbed the least; ratios near 1 say little."
    )


def chart(found):
    """Bars for each workload."""
    return "\n".join(
        f'<div class="bars">\n{bars(name, line)}\n</div>' for name, line in found.items()
    )


def bars(name, line):
    rows = [f"<p>{CASES[name].title}: {text(line['ours'])}</p>"]
    for who in (who for who in COLOURS if who in line["ratios"]):
        ratio = line["ratios"][who]
        colour = "var(--color-foreground-muted)" if who == "c" else COLOURS[who]  # dark or light
        left, right = sorted((place(1.0), place(ratio)))
        style = f"left:{left:.1f}%;width:{right - left:.1f}%;background:{colour}"
        rows.append(
            f'<div><span>{NAMES[who]}</span><span class="bar"><i style="{style}"></i></span>'
            f"<span>{number(ratio)}</span></div>"
        )
    return "\n".join(rows)


def place(ratio):
    """Where a ratio is on the scale, in percent."""
    share = math.log(ratio / LEAST) / math.log(MOST / LEAST)
    return 100 * min(max(share, 0.0), 1.0)


def number(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def table(found):
    """Our times, and the ratios, with their geometric means."""
    present = [who for who in COLOURS if any(who in line["ratios"] for line in found.values())]
    names = [NAMES[who] for who in present]
    rows = [f"| workload | transpile | {' | '.join(names)} |", "|---|--:|" + "--:|" * len(names)]
    for name, line in found.items():
        ratios = [number(line["ratios"][who]) if who in line["ratios"] else "" for who in present]
        title = docstrings.inline(CASES[name].title, {}.get)
        rows.append(f"| {title} | {text(line['ours'])} | {' | '.join(ratios)} |")
    means = [
        geometric_mean([line["ratios"].get(who) for line in found.values()]) for who in present
    ]
    rows.append(f"| geometric mean of these | | {' | '.join(map(number, means))} |")
    return "\n".join(rows)
