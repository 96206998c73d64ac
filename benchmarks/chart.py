"""The ratios of a run as bars: how many times as long as ours everyone else takes."""

from pathlib import Path

try:
    from matplotlib.figure import Figure
except ImportError:  # the chart is optional
    Figure = None

COLOURS = {
    "c": "#4d4d4d",
    "numpy": "#4477aa",
    "numba": "#228833",
    "jax": "#ee6677",
    "torch": "#ccbb44",
}
BAR = 0.13  # inches
LONG = 15  # workloads: more are drawn side by side, in columns
COLUMNS = 3


def draw(found, path):
    """Write the chart; the sentence that says so, or why there is none.

    `found` is {workload: {"ours": seconds, "ratios": {contestant: ratio}}}.
    """
    if Figure is None:
        return "no chart: matplotlib is missing (pip install 'transpile[bench]')"
    parts = columns({name: line["ratios"] for name, line in found.items()})
    longest = max(sum(len(ratios) + 1 for ratios in part.values()) for part in parts)
    figure = Figure(figsize=(7.5 * len(parts), 1.5 + BAR * longest), layout="constrained")
    every = figure.subplots(1, len(parts), squeeze=False, sharex=True)[0]
    for axes, part in zip(every, parts, strict=True):
        bars(axes, part)
        axes.set_ylim(longest - 0.5, -1)
    labels = {}
    for axes in every:
        handles, names = axes.get_legend_handles_labels()
        labels |= dict(zip(names, handles, strict=True))
    figure.legend(
        [labels[who] for who in COLOURS if who in labels],
        [who for who in COLOURS if who in labels],
        loc="outside upper center",
        ncols=len(COLOURS),
        title="best time as a multiple of ours (to the right of 1: ours is faster)",
        frameon=False,
    )
    figure.savefig(path, dpi=110)
    return f"chart in {Path(path).name}, beside it"


def columns(workloads):
    """The workloads in parts of about as many bars each."""
    if len(workloads) <= LONG:
        return [workloads]
    total = sum(len(ratios) + 1 for ratios in workloads.values())
    parts, place = [{} for _ in range(COLUMNS)], 0
    for name, ratios in workloads.items():
        parts[place * COLUMNS // total][name] = ratios
        place += len(ratios) + 1
    return parts


def bars(axes, workloads):
    """The bars of one column, from the top: they begin at 1 and go to the right where ours is
    faster."""
    place, ticks = 0, []
    found = {who: ([], []) for who in COLOURS}
    for name, ratios in workloads.items():
        start = place
        for who in (who for who in COLOURS if who in ratios):
            found[who][0].append(place)
            found[who][1].append(ratios[who] - 1)
            place += 1
        ticks.append((name, (start + place - 1) / 2))
        axes.axhline(place, color="#dddddd", linewidth=0.6)
        place += 1
    for who, (places, widths) in found.items():
        if places:
            axes.barh(places, widths, left=1, height=0.9, color=COLOURS[who], label=who)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks([at for _, at in ticks], [name for name, _ in ticks])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
