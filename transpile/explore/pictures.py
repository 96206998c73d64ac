"""Drawings as SVG: the graph in layers, and the workspace over time.

An equation stands in the layer below those that it reads; in a layer, equations are in the order of
the mean position of their operands (Sugiyama, Tagawa and Toda, Methods for visual understanding of
hierarchical system structures, 1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from transpile.explore.costs import Lifetime
from transpile.explore.drawing import document
from transpile.explore.places import Places
from transpile.ir.graph import Const, Graph, Var
from transpile.util.frozen_records import dataclass

# A larger graph is a text only: nobody could read its drawing.
MOST_EQUATIONS = 250

_WIDTH, _HEIGHT, _GAP, _STEP = 150, 38, 18, 74
_COLUMN = 7.4  # pixels of a letter, at most

# A box, or an edge from it that goes on behind a layer: the number of the box, and the layer.
_Item = tuple[int, int]


@dataclass(frozen=True)
class _Box:
    title: str
    type: str
    places: tuple[int, ...]
    reads: tuple[int, ...]
    kind: str


def graph_svg(graph: Graph, places: Places) -> str:
    """The graph, from its inputs down to its results; "" if it has too many equations."""
    if len(graph.equations) > MOST_EQUATIONS:
        return ""
    boxes = _boxes(graph, places)
    depth: list[int] = []
    for box in boxes:
        depth.append(1 + max((depth[r] for r in box.reads), default=-1))
    layers, parents = _layers(boxes, depth)
    middle = _placed(layers, parents, depth)
    parts = []
    for item in (item for layer in layers for item in layer):
        for read in parents[item]:
            parts.append(_edge(middle[read], read[1], middle[item], item[1]))
        if item[1] != depth[item[0]]:  # it goes on behind the layer
            parts.append(
                f'<path class="edge" d="M{middle[item]:.1f} {item[1] * _STEP}v{_HEIGHT}"/>'
            )
    parts += [
        _drawn(box, middle[number, depth[number]] - _WIDTH / 2, depth[number] * _STEP)
        for number, box in enumerate(boxes)
    ]
    size = max(middle.values(), default=0.0) + _WIDTH / 2 + _GAP, len(layers) * _STEP
    return document(*size, parts, f"The graph of {graph.name}", "transpile-graph")


def _layers(
    boxes: list[_Box], depth: list[int]
) -> tuple[list[list[_Item]], dict[_Item, list[_Item]]]:
    """The items of each layer, and those of the layer above that they hang from. An edge over
    several layers has an item in each, which edges from the same box share: it meets no box."""
    layers: list[list[_Item]] = [[] for _ in range(max(depth, default=-1) + 1)]
    parents: dict[_Item, list[_Item]] = {}

    def item_of(number: int, layer: int) -> _Item:
        item = number, layer
        if item not in parents:
            parents[item] = [item_of(number, layer - 1)]
            layers[layer].append(item)
        return item

    for number, box in enumerate(boxes):
        item = number, depth[number]
        parents[item] = []
        layers[depth[number]].append(item)
        parents[item] += [item_of(read, depth[number] - 1) for read in box.reads]
    return layers, parents


def _placed(
    layers: list[list[_Item]], parents: Mapping[_Item, Sequence[_Item]], depth: Sequence[int]
) -> dict[_Item, float]:
    """The middle of each item: in its layer they are in the order of the means of what they hang
    from, and as near to these as their widths allow."""
    middle: dict[_Item, float] = {}
    for layer in layers:
        layer.sort(key=lambda item: _mean([middle[r] for r in parents[item]], 0.0))
        end, moved = float("-inf"), 0.0
        for item in layer:
            half = _WIDTH / 2 if item[1] == depth[item[0]] else 0.0
            wanted = _mean([middle[r] for r in parents[item]], max(end, 0.0) + half)
            middle[item] = max(end + half, wanted)
            end = middle[item] + half + _GAP
            moved += middle[item] - wanted
        middle.update((item, middle[item] - moved / len(layer)) for item in layer)
    left = min(middle.values(), default=0.0) - _WIDTH / 2
    return {item: x - left for item, x in middle.items()}


def _mean(numbers: list[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _boxes(graph: Graph, places: Places) -> list[_Box]:
    boxes: list[_Box] = []
    made: dict[Var | Const, int] = {}
    for var in graph.inputs:
        made[var] = len(boxes)
        boxes.append(_Box(var.name or "argument", str(var.type), (), (), "input"))
    for equation in graph.equations:
        reads = tuple(dict.fromkeys(made[a] for a in equation.inputs if a in made))
        name = equation.outputs[0].name if len(equation.outputs) == 1 else ""
        title = f"{name} = {equation.primitive.name}" if name else equation.primitive.name
        types = ", ".join(str(v.type) for v in equation.outputs)
        for var in equation.outputs:
            made[var] = len(boxes)
        here = places.at(equation.source.file, equation.source.line)
        boxes.append(_Box(title, types, here, reads, equation.primitive.kind))
    for position, atom in enumerate(graph.outputs):
        name = graph.output_names[position] if graph.output_names else f"result {position}"
        reads = (made[atom],) if atom in made else ()
        boxes.append(_Box(name, str(atom.type), (), reads, "result"))
    return boxes


def _drawn(box: _Box, x: float, y: float) -> str:
    places = " ".join(map(str, box.places))
    focus = f' tabindex="0" data-places="{places}"' if places else ""
    title, kind = _short(box.title), _short(box.type)
    return (
        f'<g class="box {escape(box.kind)}"{focus} transform="translate({x:.1f} {y:.1f})">'
        f"<title>{escape(box.title)}: {escape(box.type)}</title>"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="4"/>'
        f'<text x="{_WIDTH / 2}" y="16">{escape(title)}</text>'
        f'<text class="type" x="{_WIDTH / 2}" y="31">{escape(kind)}</text></g>'
    )


def _short(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:19]}…"


def _end_of(text: str, width: int) -> str:
    """As much of the end of a text as fits: kernels of a program differ in their last letters."""
    most = int(width / _COLUMN)
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _edge(x: float, depth: int, to_x: float, to_depth: int) -> str:
    y, to_y = depth * _STEP + _HEIGHT, to_depth * _STEP
    bend = min(30.0, (to_y - y) / 2)
    curve = f"M{x:.1f} {y} C{x:.1f} {y + bend} {to_x:.1f} {to_y - bend} {to_x:.1f} {to_y}"
    return f'<path class="edge" d="{curve}"/>'


def memory_svg(arrays: tuple[Lifetime, ...], kernels: tuple[str, ...]) -> str:
    """The workspace: a column for each kernel, downwards the bytes; "" if there is none."""
    total = max((a.offset + a.size for a in arrays), default=0)
    if not total:
        return ""
    width, height = 110, 220
    parts = [
        f'<g><title>{escape(name)}</title><text class="type" x="{k * width + width / 2}" y="12">'
        f"{escape(_end_of(name, width))}</text></g>"
        for k, name in enumerate(kernels)
    ]
    for array in arrays:
        x, columns = array.first * width, array.last - array.first + 1
        y = 20 + height * array.offset / total
        tall = max(height * array.size / total, 3.0)
        label = f"{array.name}: {array.size:,} bytes at {array.offset:,}"
        wide = columns * width - 12
        fitting = (x for x in (label, f"{array.name}: {array.size:,}") if _COLUMN * len(x) <= wide)
        written = next(fitting, _end_of(array.name, wide))
        text = f'<text x="{x + 8}" y="{y + 13:.1f}">{escape(written)}</text>' if tall > 15 else ""
        size = f'width="{columns * width - 4}" height="{tall:.1f}"'
        parts.append(
            f'<g class="array"><title>{escape(label)}</title>'
            f'<rect x="{x + 2}" y="{y:.1f}" {size} rx="2"/>{text}</g>'
        )
    return document(len(kernels) * width, height + 26, parts, "The workspace over time")
