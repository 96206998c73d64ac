"""Diagonals: arrays whose rows have one number everywhere but where diagonals are.

Derivatives by each element begin with unit vectors, `i == j`, and what is linear in them has such
rows. Kept in memory, they are as large as the whole result. Computed where they are read they cost
next to nothing: loops are cut at diagonals (`transpile.schedule.domain.triangular_split`), and
between them there is one number for a row.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.fusion.inline_cost import LARGEST_EXPRESSION
from transpile.fusion.materialize import Placement, Stage
from transpile.ir.dims import symbols_of
from transpile.ir.graph import Atom, Var
from transpile.ir.loop_ir import Apply, IndexValue, Load
from transpile.ir.loop_rewrite import subexpressions
from transpile.ir.primitive import TABLE


def diagonals(placement: Placement, fixed: set[Atom]) -> frozenset[Var]:
    """The values in memory that are such arrays, with all that they are computed from in one go;
    `fixed` are those that have to be in memory."""
    sizes: dict[str, int] = {}
    found: set[Var] = set()
    for stage in placement.stages:
        key = placement.key(stage.var)
        if stage.kind == "map" and stage.var not in fixed and _is_read_as_it_is(placement, stage):
            size = _size(stage, sizes)
            if 0 < size <= LARGEST_EXPRESSION:
                sizes[key] = size
                found |= {stage.var} | _inline_parts(placement, stage.var)
    return frozenset(found)


def _is_read_as_it_is(placement: Placement, stage: Stage) -> bool:
    """Tell whether no reader goes over its elements again and again."""
    readers = placement.readers.get(placement.key(stage.var), [])
    return all(r.kind == "map" and len(r.order) <= len(stage.order) for r in readers)


def _size(stage: Stage, sizes: Mapping[str, int]) -> int:
    """Of how many operations an element is made if its row differs from it at diagonals only, or
    where others do whose size is known; 0 if elsewhere as well."""
    if stage.body is None or stage.bound or not stage.axes:
        return 0
    column = stage.axes[-1]
    size = 0
    differs = False
    for part in subexpressions(stage.body):
        size += isinstance(part, Apply)
        match part:
            case Apply(op="equal", args=(IndexValue(index=a), IndexValue(index=b))):
                differs |= column in symbols_of(a - b)
            case Apply(op=op) if TABLE[op].transcendental:
                return 0
            case Load(buffer=name, index=index) if any(column in symbols_of(i) for i in index):
                if name not in sizes:
                    return 0
                differs = True
                size += sizes[name]
            case _:
                pass
    return size if differs else 0


def _inline_parts(placement: Placement, var: Var) -> set[Var]:
    """The values without memory that one is computed from."""
    found: set[Var] = set()
    waiting = [var]
    while waiting:
        for atom in placement.producers[waiting.pop()].inputs:
            is_inline = atom in placement.producers and atom not in placement.staged
            if isinstance(atom, Var) and is_inline and atom not in found:
                found.add(atom)
                waiting.append(atom)
    return found
