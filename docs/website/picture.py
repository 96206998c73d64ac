"""Flowcharts of Mermaid as SVG, so that no page needs a script: boxes in ranks, and curves."""

from __future__ import annotations

import re
from collections import defaultdict

BLOCK = re.compile(r"^```mermaid\n(flowchart TD\n.*?)^```$", re.MULTILINE | re.DOTALL)
EDGE = re.compile(r"^ *(\w+) --> (\w+)$", re.MULTILINE)
WIDE, HIGH, ACROSS, DOWN = 98, 24, 112, 58  # a box, and the distances of their corners


def drawn(text):
    """A page with its flowcharts as pictures."""
    return BLOCK.sub(lambda block: svg(EDGE.findall(block[1])), text)


def ranks(edges):
    """Boxes by rank: each stands below all that lead to it, as close as that allows, and in its
    rank near the mean of those."""
    before = defaultdict(list)
    for a, b in edges:
        before[b].append(a)
    rank = {}

    def depth(name):
        if name not in rank:
            rank[name] = 1 + max(map(depth, before[name]), default=-1)
        return rank[name]

    names = list(dict.fromkeys(name for edge in edges for name in edge))
    rows = defaultdict(list)
    for name in names:
        rows[depth(name)].append(name)
    place = {}
    for row in (rows[k] for k in sorted(rows)):
        means = {name: _mean([place[a] for a in before[name]]) for name in row}
        for k, name in enumerate(sorted(row, key=means.get)):
            place[name] = k - (len(row) - 1) / 2
    return {name: (place[name], rank[name]) for name in names}


def svg(edges):
    """The picture of a graph."""
    spots = ranks(edges)
    left = min(across for across, _ in spots.values())
    right = max(across for across, _ in spots.values())
    at = {name: ((x - left) * ACROSS + 2, y * DOWN + 2) for name, (x, y) in spots.items()}
    width = (right - left) * ACROSS + WIDE + 4
    height = max(y for _, y in at.values()) + HIGH + 4
    parts = [curve(at[a], at[b]) for a, b in edges]
    for name, (x, y) in at.items():
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="4"/>')
        parts.append(f'<text x="{x + WIDE / 2:g}" y="{y + 16:g}">{name}</text>')
    body = "\n".join(parts)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    return f'<div class="flowchart"><svg {size} role="img">\n{body}\n</svg></div>'


def curve(start, end):
    """From the lower edge of a box to the upper edge of another."""
    x1, y1 = start[0] + WIDE / 2, start[1] + HIGH
    x2, y2 = end[0] + WIDE / 2, end[1]
    bend = (y2 - y1) / 2
    return f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"/>'


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0
