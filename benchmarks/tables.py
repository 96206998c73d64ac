"""Numbers as text: the table of a case, and the tables that sum up."""

import math
import statistics

from benchmarks.contest import PEERS

GOOD_AGAINST_PEERS = 1.0
GOOD_AGAINST_C = 0.8


def text(seconds):
    """Three digits and a unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def megabytes(size):
    return f"{size / 2**20:.0f} MB"


def ratio(number):
    """Three digits, or a dash."""
    return "-" if number is None else f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def case_lines(title, outcome):
    """The table of a case, with those who failed."""
    lines = [
        f"\n{title}",
        f"  {'':10}{'best':>9}{'median':>9}{'to our best':>13}{'to our median':>15}"
        f"{'first call':>12}{'memory':>9}{'beyond':>9}",
    ]
    ours = outcome.found.get("transpile")
    for who, measured in outcome.found.items():
        taken = measured["seconds"]
        best, median = min(taken), statistics.median(taken)
        to_best = ratio(best / min(ours["seconds"]) if ours else None)
        to_median = ratio(median / statistics.median(ours["seconds"]) if ours else None)
        lines.append(
            f"  {who:10}{text(best):>9}{text(median):>9}{to_best:>13}{to_median:>15}"
            f"{text(sum(measured['steps'].values())):>12}{megabytes(measured['peak']):>9}"
            f"{megabytes(measured['peak'] - measured['before']):>9}"
        )
    if ours:
        steps = ", ".join(f"{step} {text(taken)}" for step, taken in ours["steps"].items())
        lines.append(f"  our first call: {steps}")
    return lines + [f"  {who} FAILED: {reason}" for who, reason in outcome.failed.items()]


def summary(cases):
    """{case: ours in seconds, and how much longer each takes: {contestant: ratio}}.

    `cases` is {case: {contestant: what was measured}}; cases that we failed are left out.
    """
    found = {}
    for name, measured in cases.items():
        if "transpile" in measured:
            ours = min(measured["transpile"]["seconds"])
            ratios = {
                who: min(theirs["seconds"]) / ours
                for who, theirs in measured.items()
                if who != "transpile"
            }
            found[name] = {"ours": ours, "ratios": ratios}
    return found


def best_peer(ratios):
    """(ratio, name) of the fastest peer, or (None, "")."""
    return min(((ratios[who], who) for who in PEERS if who in ratios), default=(None, ""))


def geometric_mean(numbers):
    """Of what is there, or None."""
    numbers = [number for number in numbers if number is not None]
    return math.exp(statistics.fmean(map(math.log, numbers))) if numbers else None


def summary_lines(found):
    """A line a workload, the geometric means, and where we fall short."""
    lines = [
        "\nall workloads: our best time, and theirs as a multiple of it (above 1: ours is faster)",
        f"  {'':30}{'ours':>9}{'best peer':>12} {'':7}{'jax':>9}{'c':>9}",
    ]
    peers, jax, c = {}, {}, {}
    for name, line in found.items():
        ratios = line["ratios"]
        peers[name], who = best_peer(ratios)
        jax[name], c[name] = ratios.get("jax"), ratios.get("c")
        lines.append(
            f"  {name:30}{text(line['ours']):>9}{ratio(peers[name]):>12} {who:7}"
            f"{ratio(jax[name]):>9}{ratio(c[name]):>9}"
        )
    means = [ratio(geometric_mean(column.values())) for column in (peers, jax, c)]
    lines.append(f"  {'geometric mean':39}{means[0]:>12} {'':7}{means[1]:>9}{means[2]:>9}")
    lines.append(shortfall("slower than the best peer", peers, GOOD_AGAINST_PEERS))
    lines.append(shortfall(f"below {GOOD_AGAINST_C} of hand-written C", c, GOOD_AGAINST_C))
    return lines


def shortfall(title, ratios, limit):
    """A sentence: which ratios are below a limit, the smallest first."""
    below = {name: number for name, number in ratios.items() if number and number < limit}
    named = ", ".join(f"{name} {below[name]:.2f}" for name in sorted(below, key=below.get))
    return f"  {title}: {named or 'none'} ({len(below)} of {len(ratios)})"


def overhead_lines(lines):
    """Microseconds a call; `lines` is {title: {contestant: what was measured}}."""
    present = {who for measured in lines.values() for who in measured}
    names = [who for who in ("transpile", *PEERS, "c") if who in present]
    titles = ["c, ctypes" if who == "c" else who for who in names]
    out = ["\na call, best of all measurements, in microseconds", f"  {'':16}" + row(titles)]
    for title, measured in lines.items():
        taken = [
            f"{min(measured[who]['seconds']) * 1e6:.2f}" if who in measured else "-"
            for who in names
        ]
        out.append(f"  {title:16}{row(taken)}")
    return out


def row(words, width=11):
    return "".join(f"{word:>{width}}" for word in words)


def growth_lines(name, sizes):
    """Best times of a workload; `sizes` is {size: {contestant: what was measured}}."""
    names = list(dict.fromkeys(who for measured in sizes.values() for who in measured))
    out = [f"\n{name}: best time by size", f"  {'size':>10}{row(names)}"]
    for size, measured in sizes.items():
        taken = [text(min(measured[who]["seconds"])) if who in measured else "-" for who in names]
        out.append(f"  {size:>10}{row(taken)}")
    return out
