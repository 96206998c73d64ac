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
BAR = 0.17  # inches


def draw(found, path):
    """Write the chart; the sentence that says so, or why there is none.

    `found` is {workload: {"ours": seconds, "ratios": {contestant: ratio}}}.
    """
    if Figure is None:
        return "no chart: matplotlib is missing (pip install 'transpile[bench]')"
    place, ticks, edges = 0.0, [], []
    bars = {who: ([], []) for who in COLOURS}
    for name, line in found.items():
        start = place
        for who in COLOURS:
            if who in line["ratios"]:
                bars[who][0].append(place)
                bars[who][1].append(line["ratios"][who])
                place += 1
        ticks.append((name, (start + place - 1) / 2))
        place += 1
        edges.append(place - 1)
    figure = Figure(figsize=(9, 1.2 + BAR * place), layout="constrained")
    axes = figure.subplots()
    for who, (places, ratios) in bars.items():
        if places:  # bars start at 1: to the right ours is faster, to the left they are
            widths = [ratio - 1 for ratio in ratios]
            axes.barh(places, widths, left=1, height=0.9, color=COLOURS[who], label=who)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks([at for _, at in ticks], [name for name, _ in ticks])
    axes.set_ylim(place - 0.5, -1)
    for edge in edges[:-1]:
        axes.axhline(edge, color="#dddddd", linewidth=0.6)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("best time as a multiple of ours (to the right of 1: ours is faster)")
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)
    return f"chart in {Path(path).name}, beside it"
