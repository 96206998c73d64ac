"""Interchange: a loop of the user's that treats each element of its arrays by itself goes through
all its iterations for a few elements, and then for the next ones.

`for step: for i: x[i] = f(x[i])` moves the arrays through memory in every step. Instead, the
elements of a tile are read once into local arrays, which stay in the cache or in registers; and
`while any(p(x))` ends for each tile when it has come to rest, where it can be proved that what
has come to rest does not change any more (`standstill.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from transpile.ir.loop_ir import (
    Buffer,
    Declare,
    Expr,
    For,
    Kernel,
    Program,
    Ref,
    Statement,
    Store,
    While,
)
from transpile.ir.loop_rewrite import (
    loads,
    map_kernels,
    map_sequences,
    map_statement,
    names_in,
    of_one_kernel,
    seen_by,
    walk,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.blocking.elementwise_regions import Elementwise, as_elementwise, same_nest
from transpile.schedule.blocking.elementwise_tiles import Tiles
from transpile.schedule.blocking.fixpoint import stands_still
from transpile.schedule.domain.index_set_split import distinct
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


def interchange(program: Program, options: Options) -> Program:
    """The program with such loops inside loops over tiles of elements."""
    names = Names(names_in(program))
    temporaries = {b.name for b in program.temporaries} & of_one_kernel(program)
    gone: set[str] = set()

    def interchanged(kernel: Kernel) -> Kernel:
        if not any(map(_is_loop_of_users, walk(kernel.body))):
            return kernel
        uses = _uses(kernel.body)
        work = _Sequences(seen_by(program, kernel), names, temporaries, uses, gone, options.machine)
        body = map_sequences(kernel.body, work.changed)
        shapes = tuple((n, s) for n, s in kernel.shapes if n not in gone)
        return replace(kernel, body=body, shapes=shapes)

    found = map_kernels(program, interchanged)
    left = tuple(b for b in program.temporaries if b.name not in gone)
    return changed(found, temporaries=same(program.temporaries, left))


def _is_loop_of_users(statement: Statement) -> bool:
    return isinstance(statement, While) or (isinstance(statement, For) and statement.ordered)


def _uses(body: Body) -> Counter[str]:
    """How many statements read or write each buffer."""
    return Counter(name for s in walk(body) for name in _touched(s))


def _touched(statement: Statement) -> set[str]:
    return {*written(statement), *(load.buffer for load in loads(statement))}


@dataclass(frozen=True)
class _Sequences:
    """The sequences of statements of a kernel.

    temporaries   the buffers that only this kernel uses
    uses          how many of its statements use each buffer
    gone          the temporaries that are needed no more
    """

    buffers: Mapping[str, Buffer]
    names: Names
    temporaries: set[str]
    uses: Counter[str]
    gone: set[str]
    machine: Machine

    def changed(self, body: Body) -> Body:
        """The statements of one sequence, its elementwise loops interchanged."""
        result: list[Statement] = []
        for position, statement in enumerate(body):
            tiles = None
            if isinstance(statement, For | While) and _is_loop_of_users(statement):
                tiles = self._tiles(statement, result, body[position + 1 :])
            if tiles is None:
                result.append(statement)
                continue
            moved = {id(s) for s in tiles.moved}
            result = [s for s in tiles.before if id(s) not in moved]
            result += tiles.statements()
            self.gone.update(tiles.unneeded)
        return distinct(tuple(result), self.names) if tuple(result) != body else body

    def _tiles(self, loop: For | While, before: list[Statement], later: Body) -> Tiles | None:
        found = as_elementwise(loop)
        if found is None or not _pays(found, self.machine):
            return None
        moved = _moved(found, before, later)
        if moved is None:
            return None
        if found.going_on is not None and not stands_still(
            found.going_on, found.steps, found.state
        ):
            return None
        kept, first = _split_off(found, before)
        inside = _uses((loop,))
        alone = {
            name
            for name in (*found.state, *found.scratch)
            if name in self.temporaries and self.uses[name] == inside[name] + (name in first)
        }
        if not alone.issuperset(found.scratch):
            return None
        unneeded = {n for n in alone if n in first or n in found.scratch}
        width = self.machine.element_tile
        return Tiles(found, self.buffers, kept, first, unneeded, moved, self.names, width)


def _pays(found: Elementwise, machine: Machine) -> bool:
    """Tell whether tiles are faster: not where each iteration reads or writes arrays of its own,
    which are best gone through from one end to the other."""
    if found.has_streams or found.extents[-1] < machine.shortest_innermost:
        return False
    return math.prod(found.extents) >= machine.least_elements


def _moved(found: Elementwise, before: list[Statement], later: Body) -> tuple[Declare, ...] | None:
    """The declarations of the numbers that the iterations change, which each tile makes for itself;
    None where that may not be."""
    declared = {s.name: (k, s) for k, s in enumerate(before) if isinstance(s, Declare)}
    moved = []
    for name in found.numbers:
        if name not in declared:
            return None
        position, declaration = declared[name]
        if any(load.buffer in found.written for load in loads(declaration)):
            return None
        if any(_mentions(s, name) for s in (*before[position + 1 :], *later)):
            return None
        moved.append(declaration)
    return tuple(moved)


def _mentions(statement: Statement, name: str) -> bool:
    """Tell whether a variable is used in a statement, or inside it."""
    seen: set[str] = set()

    def note(expr: Expr) -> Expr:
        if isinstance(expr, Ref):
            seen.add(expr.name)
        return expr

    map_statement(statement, note)
    return name in seen


def _split_off(
    found: Elementwise, before: list[Statement]
) -> tuple[list[Statement], dict[str, Expr]]:
    """The statements before a loop without the nests that give its arrays their first elements, and
    the expressions of these."""
    kept: list[Statement] = []
    first: dict[str, Expr] = {}
    touched: set[str] = set()  # by the statements that are kept between here and the loop
    changed = set(found.written)
    for statement in reversed(before):
        inside = list(walk((statement,)))
        reads = {load.buffer for s in inside for load in loads(s)}
        store = _single_store(statement, found)
        if (
            store is not None
            and found.state.get(store.buffer) == store.index
            and store.buffer not in first
            and store.buffer not in touched
            and changed.isdisjoint(reads)
        ):
            first[store.buffer] = store.value
            continue
        kept.append(statement)
        touched |= {name for s in inside for name in _touched(s)}
        changed |= {name for s in inside for name in written(s)}
    return kept[::-1], first


def _single_store(statement: Statement, found: Elementwise) -> Store | None:
    """What a nest over the same elements stores, if that is all that it does."""
    inner = same_nest(statement, found.symbols, found.extents)
    if inner is None or len(inner) != 1 or not isinstance(inner[0], Store):
        return None
    return inner[0]
