"""Numbers of cells: what is divided into row and column, and put together again, is one number.

    r = x // m;  c = x % m                    r = x // m;  c = x % m
    at = subscript(r, n)                      at = subscript(r, n);  x2 = cell(x, n, m)
    if a[at][c] == old:                 ->    if a[x2] == old:
        queue[top] = (r - 1) * m + c              queue[top] = x - m

`x // m * m + x % m` is x for all integers, as Python's quotient rounds down and its remainder has
the sign of m; in int64 it is so for those that wrap around, too. An element of a cell is then found
before the quotient is, which takes longer than a load. Runs late: other passes read subscripts of
rows and columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, NO_DEAD_SCALARS, OWN_SHAPES
from transpile.ir.dims import Dim, Shape, Symbol
from transpile.ir.indices.row_major import product, row_major
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    map_accesses,
    map_expr,
    map_kernels,
    map_statement,
    names_in,
    names_read,
    seen_by,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.types import INT64
from transpile.options import Options
from transpile.schedule.cleanup.subscripts.wrapping_sums import (
    Sum,
    plus,
    sum_of,
    value_of,
    wrapped,
)
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]
Parts = tuple[Ref, int]  # of a quotient or remainder: the dividend and the divisor


@contract(requires=(LANES_BOUND,), destroys=(OWN_SHAPES, NO_DEAD_SCALARS))
def recombine_cells(program: Program, options: Options) -> Program:
    """The program with such sums and subscripts in its scalar code."""
    names = Names(names_in(program))
    return map_kernels(program, lambda kernel: _kernel(kernel, seen_by(program, kernel), names))


def _remainder(value: Expr | None) -> Parts | None:
    """The dividend, a scalar, and the divisor of a remainder; None for other expressions."""
    match value:
        case Apply(op="remainder", args=(Ref() as x, Literal(value=m))) if m > 0:
            return x, int(m)
        case Apply(op="bitwise_and", args=(Ref() as x, Literal(value=mask))) if (
            mask > 0 and mask & (mask + 1) == 0
        ):
            return x, int(mask) + 1
    return None


def _quotient(value: Expr | None) -> Parts | None:
    """The same of a quotient that is rounded down."""
    match value:
        case Apply(op="floor_divide", args=(Ref() as x, Literal(value=m))) if m > 0:
            return x, int(m)
        case Apply(op="right_shift", args=(Ref() as x, Literal(value=bits))) if 0 < bits < 62:
            return x, 1 << int(bits)
    return None


def _kernel(kernel: Kernel, buffers: Mapping[str, Buffer], names: Names) -> Kernel:
    declared = [s.value for s in walk(kernel.body) if isinstance(s, Declare)]
    if not any(map(_remainder, declared)):
        return kernel
    fixed = {s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc)}
    fixed |= {n for s in walk(kernel.body) if isinstance(s, Swap) for n in (s.first, s.second)}
    shapes = {n: b.shape for n, b in buffers.items() if n not in fixed and len(b.shape) == 2}
    cells = _Cells(shapes, frozenset(), names)
    body = cells.body(kernel.body, _Known())
    if not cells.found:
        return changed(kernel, body=same(kernel.body, body))
    flat = {name: (product(shapes[name]),) for name in cells.found}
    return replace(
        kernel,
        body=_Cells(shapes, flat.keys(), names).body(kernel.body, _Known()),
        shapes=tuple(sorted((dict(kernel.shapes) | flat).items())),
    )


@dataclass(frozen=True)
class _Cell:
    """The number of a cell, of so many rows and columns, and the scalar that it is made of."""

    symbol: Symbol
    made_of: Ref
    rows: int
    columns: int


class _Known:
    """What is known where a statement begins.

    values  the expressions of constants, which have not changed since
    cells   those of symbols that are their rows
    named   all cells whose numbers have names
    """

    def __init__(self, other: _Known | None = None) -> None:
        self.values: dict[str, Expr] = dict(other.values) if other else {}
        self.cells: dict[str, _Cell] = dict(other.cells) if other else {}
        self.named: tuple[_Cell, ...] = other.named if other else ()

    def forget(self, statement: Statement) -> None:
        """What a statement changes, or declares anew, is not known."""
        names = {s.name for s in (statement,) if isinstance(s, Declare)}
        targets = (s.target for s in walk((statement,)) if isinstance(s, Update))
        names |= {x.name for x in targets if isinstance(x, Ref)}
        for name in names:
            self.values = {
                n: v
                for n, v in self.values.items()
                if n != name and name not in names_read(Declare(n, v))
            }
            self.named = tuple(c for c in self.named if c.made_of.name != name)
            self.cells = {
                n: c for n, c in self.cells.items() if n != name and c.made_of.name != name
            }

    def row_of(self, row: Declare) -> tuple[Ref, int, int] | None:
        """The dividend, and the numbers of rows and columns, of a row that is a quotient."""
        value = row.value
        if isinstance(value, Ref):  # that has been tested
            value = self.values.get(value.name, value)
        match value:
            case Apply(op="subscript", args=(Ref(name=q), Literal(value=n))):
                found = _quotient(self.values.get(q))
            case Apply(op="checked_subscript", args=(Ref(name=q), Literal(value=n))):
                found = _quotient(self.values.get(q))
            case _:
                return None
        return None if found is None or n <= 0 else (found[0], int(n), found[1])

    def cell_of(self, index: Shape, shape: Shape) -> Symbol | None:
        """The number of the cell that these subscripts are row and column of."""
        names = [_name_of(i) for i in index]
        if len(names) != 2:
            return None
        cell, column = self.cells.get(names[0]), self.values.get(names[1])
        if cell is None or shape != (cell.rows, cell.columns):
            return None
        return cell.symbol if _remainder(column) == (cell.made_of, cell.columns) else None


def _name_of(index: object) -> str:
    match index:
        case Dim(terms=(((Symbol(name=name),), 1),)):
            return name
    return ""


class _Cells:
    """Rewrites statements in order.

    shapes  of the arrays that may be accessed in one dimension
    flat    those of them that are
    found   those of which a cell is read or stored
    """

    def __init__(self, shapes: Mapping[str, Shape], flat: Set[str], names: Names) -> None:
        self._shapes = shapes
        self._flat = flat
        self._names = names
        self.found: set[str] = set()

    def body(self, body: Body, around: _Known) -> Body:
        """The statements of a scope."""
        known = _Known(around)
        result: list[Statement] = []
        for statement in body:
            known.forget(statement)
            result.append(self._statement(statement, known))
            if isinstance(statement, Declare) and statement.constant and statement.dtype == INT64:
                known.values[statement.name] = statement.value
                result += self._cell(statement, known)
        return same(body, tuple(result))

    def _cell(self, row: Declare, known: _Known) -> Body:
        """Make the cell known that a symbol is the row of, and declare its number if it is new."""
        found = None if row.symbol is None else known.row_of(row)
        if found is None:
            return ()
        for cell in known.named:
            if (cell.made_of, cell.rows, cell.columns) == found:
                known.cells[row.name] = cell
                return ()
        x, *extents = found
        symbol = Symbol(self._names.new(x.name) if self._flat else "")
        known.cells[row.name] = _Cell(symbol, *found)
        known.named = (*known.named, known.cells[row.name])
        sizes = (Literal(np.int64(extent), INT64) for extent in extents)
        value = Apply("cell", (x, *sizes), INT64)
        declared = Declare(symbol.name, value, symbol=symbol, source=row.source)
        return (declared,) if self._flat else ()

    def _statement(self, statement: Statement, known: _Known) -> Statement:
        def on_access(name: str, index: Shape) -> Shape:
            return self._subscripts(name, index, known)

        def on_load(e: Expr) -> Expr:
            return changed(e, index=on_access(e.buffer, e.index)) if isinstance(e, Load) else e

        if not isinstance(statement, For | If | While):
            return map_accesses(_summed(statement, known), on_access)
        if not isinstance(statement, For):
            condition = map_expr(statement.condition, on_load)
            statement = changed(statement, condition=condition)
        inside = known
        if isinstance(statement, While):
            inside = _Known(known)
            for prepared in statement.test:  # what it declares is seen in the body
                inside.forget(prepared)
        return with_bodies(statement, lambda inner: self.body(inner, inside))

    def _subscripts(self, name: str, index: Shape, known: _Known) -> Shape:
        shape = self._shapes.get(name)
        cell = None if shape is None else known.cell_of(index, shape)
        if cell is not None:
            self.found.add(name)
        if name not in self._flat:
            return index
        return (row_major(index, self._shapes[name]) if cell is None else Dim.of(cell),)


def _summed(statement: Statement, known: _Known) -> Statement:
    """The statement with what is put together again in sums replaced by what it is."""
    if not any(_remainder(value) for value in known.values.values()):
        return statement

    def on_expr(expr: Expr) -> Expr:
        return _put_together(expr, known.values) if isinstance(expr, Apply) else expr

    return map_statement(statement, on_expr)


def _put_together(expr: Apply, values: Mapping[str, Expr]) -> Expr:
    """The sum with x for what is `x // m * m + x % m`, if that takes fewer operations."""
    atoms: dict[str, Expr] = {}
    total = sum_of(expr, values, atoms) if expr.primitive.on_indices is not None else None
    found = None if total is None else _without_remainder(total, values, atoms)
    if found is None:
        return expr
    after = value_of(found, atoms)
    return after if _operations(after) < _operations(expr) else expr


def _without_remainder(
    total: Sum, values: Mapping[str, Expr], atoms: dict[str, Expr]
) -> Sum | None:
    """A sum with fewer remainders; None where no quotient belongs to one."""
    for monomial, factor in total.items():
        for place, name in enumerate(monomial):
            parts = _remainder(values.get(name))
            if parts is None:
                continue
            x, m = parts
            rest = (*monomial[:place], *monomial[place + 1 :])
            for q in [n for n in atoms if _quotient(values.get(n)) == parts]:
                whole = tuple(sorted((q, *rest)))
                if total.get(whole) == wrapped(factor * m):
                    gone = {monomial: factor, whole: factor * m}
                    atoms[x.name] = x
                    put = {tuple(sorted((x.name, *rest))): factor}
                    return plus(plus(total, gone, -1), put, 1)
    return None


def _operations(expr: Expr) -> int:
    return sum(isinstance(part, Apply) for part in subexpressions(expr))
