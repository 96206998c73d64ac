"""Dependence tests: a user's loop whose iterations provably do not meet is independent, as those of
array operations are, so that threads share it and lanes compute it.

    for i ordered                                       for i independent
      out[i, 0] = 0                                  ->   out[i, 0] = 0
      for j ordered                                       for j ordered
        out[i, j + 1] = out[i, j] + x[i, j]                 out[i, j + 1] = ...

Two accesses of an array, of which one is an assignment, do not meet if along some axis

* both subscripts are c*i + r, with the same c, and their r are less than c apart: the strong test
  for a single index, where the rest of the subscript moves in a strip
* or their difference is not 0, whatever the iterations are: the ranges are apart, as those of the
  rows below a pivot and its own row are.

After R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapter 3.
"""

from __future__ import annotations

from transpile.analysis.elements.accesses import Access, element_accesses
from transpile.analysis.elements.bounds import OUTSIDE, Ranges, inside
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, symbols_of
from transpile.ir.loop_ir import (
    For,
    Kernel,
    Program,
    Ref,
    Statement,
    Swap,
    Update,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    map_kernels,
    may_reorder,
    parts,
    walk,
    with_bodies,
)
from transpile.options import Options
from transpile.util.frozen_records import changed, replace, same

Body = tuple[Statement, ...]

_ONE, _OTHER = "'", "''"  # mark what two iterations count
_MOST_PAIRS = 4096  # of accesses that are compared


@contract()
def find_independent_loops(program: Program, options: Options) -> Program:
    """The program with the user's loops marked that carry no dependence."""

    def marked(kernel: Kernel) -> Kernel:
        return changed(kernel, body=_marked(kernel.body, OUTSIDE))

    return map_kernels(program, marked)


def _marked(body: Body, ranges: Ranges) -> Body:
    """Statements with their loops marked. `ranges` has those of the loops around."""
    return same(body, tuple(_statement(s, ranges) for s in body))


def _statement(statement: Statement, ranges: Ranges) -> Statement:
    if not isinstance(statement, For):
        return with_bodies(statement, lambda body: _marked(body, ranges))
    loop = changed(statement, body=_marked(statement.body, inside(statement, ranges)))
    if not loop.ordered or loop.independent or not _carries_nothing(loop, ranges):
        return loop
    return replace(loop, independent=True)


def _carries_nothing(loop: For, ranges: Ranges) -> bool:
    """True if no iteration assigns to a scalar of all, or to an element that another one reads or
    assigns to."""
    own, sums = declared_names(loop.body), _exact_reductions(loop)
    around = {symbol.name for symbol in (*ranges.counted, loop.symbol)}
    for statement in walk(loop.body):
        match statement:
            case Swap():
                return False
            case Call() if not (statement.is_local and own.issuperset(statement.written)):
                return False
            case Update(target=Ref(name=name)) if name not in own and name not in sums:
                return False
            case For(symbol=symbol) if symbol.name in around:  # the outer one is hidden
                return False
            case _:
                pass
    return elements_are_apart(loop, ranges)


def _exact_reductions(loop: For) -> set[str]:
    """The scalars that iterations only add to, or the like, by one operation whose result is the
    same in any order."""
    statements = list(walk(loop.body))
    ops: dict[str, set[str]] = {}
    for statement in statements:
        if isinstance(statement, Update) and isinstance(statement.target, Ref):
            op = statement.op if may_reorder(statement) else ""
            ops.setdefault(statement.target.name, set()).add(op)
    read = {p.name for s in statements for p in parts(s) if isinstance(p, Ref)}
    return {name for name, own in ops.items() if len(own) == 1 and "" not in own} - read


def elements_are_apart(loop: For, ranges: Ranges) -> bool:
    """True if no iteration assigns to an element that another one reads or assigns to. `ranges` has
    those of the loops around."""
    one, other = (
        element_accesses(loop.body, inside(loop, ranges, mark), mark) for mark in (_ONE, _OTHER)
    )
    if sum(len(accesses) ** 2 for accesses in one.values()) > _MOST_PAIRS:
        return False
    return all(
        _are_apart(loop.symbol, write, access)
        for name, accesses in one.items()
        for write in accesses
        if write.writes
        for access in other[name]
    )


def _are_apart(symbol: Symbol, one: Access, other: Access) -> bool:
    """True if two accesses are of different elements in different iterations."""
    return one.is_apart(other) or any(_stride_apart(symbol, i, j) for i, j in one.axes(other))


def _stride_apart(symbol: Symbol, one: Index, other: Index) -> bool:
    """True if subscripts are c*i + r and c*i + q, and r and q are less than c apart."""
    (stride, rest), (others, other_rest) = (
        _linear(i, f"{symbol}{mark}") for i, mark in ((one, _ONE), (other, _OTHER))
    )
    if stride is None or stride != others:
        return False
    apart = rest - other_rest
    return any(
        all((bounds(width + way * apart)[0] or 0) >= 1 for way in (1, -1))
        for width in (stride, stride * -1)
    )


def _linear(index: Index, name: str) -> tuple[Index | None, Index]:
    """(c, r) of a subscript c*i + r, where i is the symbol of this name, and c the same in all
    iterations; c is None for others."""
    found = [s for s in symbols_of(index) if s.name == name]
    if len(found) != 1:
        return None, index
    rest = substitute(index, {found[0]: 0})
    stride = substitute(index, {found[0]: 1}) - rest
    is_same = not any(s.name.endswith(_ONE) and s.name != name for s in symbols_of(stride))
    is_linear = is_same and stride * Dim.of(found[0]) + rest == index
    return (stride, rest) if is_linear else (None, index)
