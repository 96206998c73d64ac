"""Diagonals: arrays whose rows have one number everywhere but where diagonals are.

Derivatives by each element begin with unit vectors, `i == j`, and what is linear in them has such
rows. Kept in memory, they are as large as the whole result. Computed where they are read they cost
next to nothing: loops are cut at diagonals (`transpile.schedule.domain.triangular_split`), and
between them there is one number for a row.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.fusion.nodes import Block, Map
from transpile.ir.dims import symbols_of
from transpile.ir.graph import Atom, Var
from transpile.ir.loop_ir import Apply, IndexValue, Load
from transpile.ir.loop_rewrite import subexpressions
from transpile.ir.primitive import TABLE


def diagonals(block: Block, fixed: set[Atom]) -> frozenset[Var]:
    """The values in memory that are such arrays, with all that they are computed from in one go;
    `fixed` are those that have to be in memory."""
    sizes: dict[str, int] = {}
    arrays: set[Var] = set()
    for node in block.nodes:
        if isinstance(node, Map) and node.var not in fixed and _is_read_as_it_is(block, node):
            size = _size(node, sizes)
            if 0 < size <= block.scope.machine.largest_expression:
                sizes[block.key(node.var)] = size
                arrays |= {node.var} | _inlined_parts(block, node.var)
    return frozenset(arrays)


def _is_read_as_it_is(block: Block, node: Map) -> bool:
    """Tell whether no reader goes over its elements again and again."""
    readers = block.readers.get(block.key(node.var), [])
    return all(isinstance(r, Map) and len(r.order) <= len(node.order) for r in readers)


def _size(node: Map, sizes: Mapping[str, int]) -> int:
    """Of how many operations an element is made if its row differs from it at diagonals only, or
    where others do whose size is known; 0 if elsewhere as well."""
    if node.value.bound or not node.order:
        return 0
    column = node.order[-1]
    size = 0
    differs = False
    for part in subexpressions(node.value.body):
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


def _inlined_parts(block: Block, var: Var) -> set[Var]:
    """The values without memory that one is computed from."""
    inlined: set[Var] = set()
    waiting = [var]
    while waiting:
        for atom in block.values.producers[waiting.pop()].inputs:
            if isinstance(atom, Var) and block.values.is_inlined(atom) and atom not in inlined:
                inlined.add(atom)
                waiting.append(atom)
    return inlined
