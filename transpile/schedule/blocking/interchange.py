"""Interchange the user's sequential loops with the elementwise nests inside them, a tile at a time.

`for step: for i: x[i] = f(x[i])` streams the arrays through memory in every iteration. If each
element depends on nothing but itself, the loop over elements may go outside:

    for tile: local = x[tile];  for step: for i in tile: local[i] = f(local[i]);  x[tile] = local

A tile stays in the first-level cache or in registers. `while any(p(x))` then ends per tile, which
is legal only if elements whose condition is false are a fixpoint of the body (`fixpoint.py`).
Scalars that iterations update, such as a counter, are recomputed by each tile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, OF_TEMPORARIES, STACK_BOUNDED
from transpile.ir.indices.estimates import estimate
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
    accessed,
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
from transpile.schedule.blocking.fixpoint import is_fixpoint
from transpile.schedule.domain.index_set_split import unique_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, *OF_TEMPORARIES, STACK_BOUNDED))
def interchange(program: Program, options: Options) -> Program:
    """The program with such loops inside loops over tiles of elements."""
    names = Names(names_in(program))
    temporaries = {b.name for b in program.temporaries} & of_one_kernel(program)
    gone: set[str] = set()

    def interchanged(kernel: Kernel) -> Kernel:
        if not any(map(_is_user_loop, walk(kernel.body))):
            return kernel
        uses = _uses(kernel.body)
        work = _Sequences(seen_by(program, kernel), names, temporaries, uses, gone, options.machine)
        body = map_sequences(kernel.body, work.changed)
        shapes = tuple((n, s) for n, s in kernel.shapes if n not in gone)
        return replace(kernel, body=body, shapes=shapes)

    after = map_kernels(program, interchanged)
    left = tuple(b for b in program.temporaries if b.name not in gone)
    return changed(after, temporaries=same(program.temporaries, left))


def _is_user_loop(statement: Statement) -> bool:
    return isinstance(statement, While) or (isinstance(statement, For) and statement.ordered)


def _uses(body: Body) -> Counter[str]:
    """The number of statements that access each buffer."""
    return Counter(name for s in walk(body) for name in accessed(s))


@dataclass(frozen=True)
class _Sequences:
    """Interchanges the loops in the statement sequences of a kernel.

    temporaries   the buffers that only this kernel uses
    uses          how many of its statements use each buffer
    gone          the temporaries that become unused
    """

    buffers: Mapping[str, Buffer]
    names: Names
    temporaries: set[str]
    uses: Counter[str]
    gone: set[str]
    machine: Machine

    def changed(self, body: Body) -> Body:
        """The statements of a sequence with its elementwise loops interchanged."""
        result: list[Statement] = []
        for position, statement in enumerate(body):
            tiles = None
            if isinstance(statement, For | While) and _is_user_loop(statement):
                tiles = self._tiles(statement, result, body[position + 1 :])
            if tiles is None:
                result.append(statement)
                continue
            moved = {id(s) for s in tiles.moved}
            result = [s for s in tiles.before if id(s) not in moved]
            result += tiles.statements()
            self.gone.update(tiles.unneeded)
        return unique_names(tuple(result), self.names) if tuple(result) != body else body

    def _tiles(self, loop: For | While, before: list[Statement], later: Body) -> Tiles | None:
        elementwise = as_elementwise(loop)
        if elementwise is None or not _pays(elementwise, self.machine):
            return None
        moved = _moved(elementwise, before, later)
        if moved is None:
            return None
        if elementwise.active is not None and not is_fixpoint(
            elementwise.active, elementwise.statements, elementwise.state
        ):
            return None
        kept, first = _split_off(elementwise, before)
        inside = _uses((loop,))
        alone = {
            name
            for name in (*elementwise.state, *elementwise.scratch)
            if name in self.temporaries and self.uses[name] == inside[name] + (name in first)
        }
        if not alone.issuperset(elementwise.scratch):
            return None
        unneeded = {n for n in alone if n in first or n in elementwise.scratch}
        width = self.machine.element_tile
        return Tiles(elementwise, self.buffers, kept, first, unneeded, moved, self.names, width)


def _pays(elementwise: Elementwise, machine: Machine) -> bool:
    """True if tiles are faster: not for loops with streams, which are best read from one end to the
    other, nor for small or short arrays."""
    if elementwise.has_streams or estimate(elementwise.extents[-1]) < machine.shortest_innermost:
        return False
    return math.prod(map(estimate, elementwise.extents)) >= machine.least_elements


def _moved(
    elementwise: Elementwise, before: list[Statement], later: Body
) -> tuple[Declare, ...] | None:
    """The declarations of the scalars that iterations update, which every tile needs for itself;
    None if other statements use them or they cannot move."""
    declared = {s.name: (k, s) for k, s in enumerate(before) if isinstance(s, Declare)}
    moved = []
    for name in elementwise.scalars:
        if name not in declared:
            return None
        position, declaration = declared[name]
        if any(load.buffer in elementwise.written for load in loads(declaration)):
            return None
        if any(_uses_variable(s, name) for s in (*before[position + 1 :], *later)):
            return None
        moved.append(declaration)
    return tuple(moved)


def _uses_variable(statement: Statement, name: str) -> bool:
    """True if a statement uses a variable."""
    seen: set[str] = set()

    def note(expr: Expr) -> Expr:
        if isinstance(expr, Ref):
            seen.add(expr.name)
        return expr

    map_statement(statement, note)
    return name in seen


def _split_off(
    elementwise: Elementwise, before: list[Statement]
) -> tuple[list[Statement], dict[str, Expr]]:
    """The statements before a loop without the nests that initialise its arrays, and the initial
    values: these are computed in the tiles."""
    kept: list[Statement] = []
    first: dict[str, Expr] = {}
    between: set[str] = set()  # by statements that stay between this one and the loop
    changed = set(elementwise.written)
    for statement in reversed(before):
        inside = list(walk((statement,)))
        reads = {load.buffer for s in inside for load in loads(s)}
        store = _single_store(statement, elementwise)
        if (
            store is not None
            and elementwise.state.get(store.buffer) == store.index
            and store.buffer not in first
            and store.buffer not in between
            and changed.isdisjoint(reads)
        ):
            first[store.buffer] = store.value
            continue
        kept.append(statement)
        between |= {name for s in inside for name in accessed(s)}
        changed |= {name for s in inside for name in written(s)}
    return kept[::-1], first


def _single_store(statement: Statement, elementwise: Elementwise) -> Store | None:
    """The store that is the only statement of a nest over the same elements; None for any other."""
    inner = same_nest(statement, elementwise.symbols, elementwise.extents)
    if inner is None or len(inner) != 1 or not isinstance(inner[0], Store):
        return None
    return inner[0]
