"""Select the elements of a sorted array that are read, where those are few.

    slice(sort(x), ranks 500 to 501)   ->   slice(order_statistics(x, ranks=(500, 501)))
    partition(x, ranks=(500,))         ->   sort(x), of short rows

A median reads one or two elements of a sorted row, and the last one for NaN. Selection finds them
in time proportional to the row. Short rows of many are sorted in vector lanes, which is as fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS
from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Primitive
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import slice_
from transpile.primitives.sorting import ALL_RANKS, argsort, order_statistics, sort

Ranks = tuple[int, ...]


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS,))
def select_ranks(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which long rows of which a few ranks are read are not sorted."""
    if not any(_sorts(primitive) or primitive in ALL_RANKS for primitive in graph.primitives):
        return graph
    chosen = _chosen(graph, machine)
    selected: dict[Atom, tuple[int, Ranks]] = {}  # the new graph's statistics

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if _sorts(equation.primitive) and equation.output in chosen:
            axis, ranks = equation.params["axis"], chosen[equation.output]
            result = builder.apply(order_statistics, *equation.inputs, axis=axis, ranks=ranks)
            selected[result] = axis, ranks
            return [result]
        if equation.primitive is slice_ and equation.inputs[0] in selected:
            return [_slice(builder, equation, *selected[equation.inputs[0]])]
        if equation.primitive in ALL_RANKS and not _pays(equation, machine):
            whole = ALL_RANKS[equation.primitive]
            return [builder.apply(whole, *equation.inputs, axis=equation.params["axis"])]
        return None

    return rewrite(graph, rule, machine)


def _chosen(graph: Graph, machine: Machine) -> Mapping[Atom, Ranks]:
    """The sorted arrays of which only slices of few ranks are read, and those ranks."""
    sorts = [e for e in graph.equations if _sorts(e.primitive)]
    axes = {e.output: e.params["axis"] for e in sorts}
    axes = {x: axis for x, axis in axes.items() if _is_long(x, axis, machine)}
    ranks: dict[Atom, set[int]] = {x: set() for x in axes}
    for x in graph.outputs:
        ranks.pop(x, None)
    for equation in graph.equations:
        for x in equation.inputs:
            if x in ranks and isinstance(x, Var):
                read = _ranks(equation, axes[x])
                ranks[x].update(read)
                if not read:
                    del ranks[x]
    most = dict.fromkeys(ranks, machine.most_ranks)
    most |= {x: machine.most_complex_ranks for x in ranks if x.type.dtype.kind == "c"}
    return {x: tuple(sorted(r)) for x, r in ranks.items() if 0 < len(r) <= most[x]}


def _sorts(primitive: Primitive) -> bool:
    """True if the elements at ranks are those of the sorted array."""
    return primitive is sort or ALL_RANKS.get(primitive) is sort


def _pays(equation: Equation, machine: Machine) -> bool:
    """True if rows are partitioned, not sorted: long ones of real numbers, at few ranks. Bytes are
    counted, and the positions of numbers of 16 bits are sorted with them."""
    x, ranks = equation.inputs[0], len(equation.params["ranks"])
    size, most, narrowest = x.type.dtype.itemsize, machine.most_ranks, 2
    if ALL_RANKS[equation.primitive] is argsort:
        narrowest = 4
        most = machine.most_wide_ranks if size == 8 else most
    is_wide = x.type.dtype.kind in "iuf" and size >= narrowest
    return is_wide and ranks <= most and _is_long(x, equation.params["axis"], machine)


def _is_long(x: Atom, axis: int, machine: Machine) -> bool:
    """True for rows that are not sorted in vector lanes."""
    n, size = x.type.shape[axis], product(x.type.shape)
    if not isinstance(n, int) or not isinstance(size, int):
        return False
    return n > machine.longest_sorted_in_lanes or size == n > machine.shortest_selection


def _ranks(equation: Equation, axis: int) -> range:
    """The ranks that a slice of a sorted array reads, without gaps; none for other equations."""
    if equation.primitive is not slice_:
        return range(0)
    start, limit, stride = (equation.params[key][axis] for key in ("start", "limit", "strides"))
    is_known = isinstance(start, int) and isinstance(limit, int) and stride == 1
    return range(start, limit) if is_known else range(0)


def _slice(builder: Builder, equation: Equation, axis: int, ranks: Ranks) -> Atom:
    """The slice of the statistics for a slice of the sorted array."""
    params = {key: list(equation.params[key]) for key in ("start", "limit")}
    read = _ranks(equation, axis)
    params["start"][axis] = ranks.index(read[0])
    params["limit"][axis] = ranks.index(read[0]) + len(read)
    bounds = {key: tuple(values) for key, values in params.items()}
    strides = equation.params["strides"]
    return builder.apply(slice_, equation.inputs[0], strides=strides, **bounds)
