"""Hoist loop-invariant subscripts: move their declarations out of loops that they do not depend on.

A subscript that is read from an index array is first a variable of the innermost loop:

    for i: for j: k = rows[i];  out[i, j] = x[k, j]
    for i: k = rows[i];  for j: out[i, j] = x[k, j]

Other invariant code is left to compilers, which cannot tell that the stores of the loop do not
alias the index array. A declaration moves if the loop neither writes nor declares an operand of it;
of parallel loops out of the user's alone, whose guards ask what loops inside end at: locals of the
others are private. Dead scalars are removed first.
"""

from __future__ import annotations

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS, SUBEXPRESSIONS_SHARED, THREADS_BOUND
from transpile.ir.dims import Symbol, bounds, symbols_of
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import (
    loads_of,
    map_kernels,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import INT64
from transpile.options import Options
from transpile.schedule.cleanup.dead_scalars import remove_dead_scalars
from transpile.schedule.domain.index_set_split import unique_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, same


# Declarations stay in the loops that threads share; shared ones may be subscripts.
@contract(
    requires=(THREADS_BOUND, SUBEXPRESSIONS_SHARED),
    provides=(NO_DEAD_SCALARS,),
    destroys=(SUBEXPRESSIONS_SHARED,),
)
def hoist_invariants(program: Program, options: Options) -> Program:
    """The program with the declarations of subscripts outside all loops that they do not
    depend on."""
    program = remove_dead_scalars(program, options)  # earlier passes leave some
    taken = Names(names_in(program))

    def hoisted(kernel: Kernel) -> Kernel:
        if not any(isinstance(s, Declare) and s.symbol for s in walk(kernel.body)):
            return kernel
        written_buffers = {name for s in walk(kernel.body) for name in written(s)}
        return changed(kernel, body=_hoisted(kernel.body, written_buffers, taken.inner()))

    return map_kernels(program, hoisted)


def _hoisted(
    body: tuple[Statement, ...], written_buffers: set[str], names: Names
) -> tuple[Statement, ...]:
    """The statements, with invariant declarations before the loops that contained them. Where two
    of one name come to stand in one scope, the second is renamed."""
    result: list[Statement] = []
    declared: dict[str, Declare] = {}  # the last declaration of each name
    for statement in body:
        if isinstance(statement, For):
            if statement.collapse > 1:  # collapsed loops must stay a perfect nest
                (within,) = statement.body
                assert isinstance(within, For)
                inner: tuple[Statement, ...] = (
                    changed(within, body=_hoisted(within.body, written_buffers, names)),
                )
            else:
                inner = _hoisted(statement.body, written_buffers, names)
            if not statement.parallel or statement.ordered:
                invariant, inner = _split(statement.symbol, inner)
                for declaration in _in_any_case(invariant, statement):
                    if not (
                        _is_kernel_invariant(declaration, written_buffers)
                        and declared.get(declaration.name) == declaration
                    ):
                        result.append(declaration)
                        declared[declaration.name] = declaration
            result.append(changed(statement, body=same(statement.body, inner)))
        elif isinstance(statement, If | While):
            result.append(
                with_bodies(statement, lambda inner: _hoisted(inner, written_buffers, names))
            )
        else:
            result.append(statement)
            if isinstance(statement, Declare):
                declared[statement.name] = statement
    return unique_names(same(body, tuple(result)), names)


def _in_any_case(moved: list[Declare], loop: For) -> list[Declare]:
    """What a loop declared, where it may have no iterations: the places at which other
    declarations read are in range all the same."""
    if (bounds(loop.extent)[0] or 0) > 0:
        return moved
    indices = [i for d in moved for load in loads_of(d.value) for i in load.index]
    read = {symbol for index in indices for symbol in symbols_of(index)}
    return [
        changed(d, value=in_range(d.value, d.symbol)) if d.symbol and d.symbol in read else d
        for d in moved
    ]


def in_range(value: Expr, symbol: Symbol) -> Expr:
    """What a place is, whatever the conditions around it: these may have saved a clamp."""
    if symbol.extent is None:
        return value
    low, high = as_value(symbol.lower), as_value(symbol.extent - 1)
    match value:
        case Apply(op="subscript", args=(_, n)):
            is_clamped = n == as_value(symbol.extent) and symbol.lower == 0
        case Apply(op="minimum", args=(Apply(op="maximum", args=(_, least)), most)):
            is_clamped = (least, most) == (low, high)
        case Apply(op="maximum", args=(Apply(op="minimum", args=(_, most)), least)):
            is_clamped = (least, most) == (low, high)
        case _:
            is_clamped = False
    if is_clamped:
        return value
    return Apply("maximum", (Apply("minimum", (value, high), INT64), low), INT64)


def _is_kernel_invariant(statement: Statement, written_buffers: set[str]) -> bool:
    """True if the subscript has one value throughout the kernel, so that parts of a split loop
    share it."""
    return not any(
        isinstance(p, Ref) or getattr(p, "buffer", None) in written_buffers
        for p in parts(statement)
    )


def _split(
    symbol: Symbol, body: tuple[Statement, ...]
) -> tuple[list[Declare], tuple[Statement, ...]]:
    """The loop-invariant subscript declarations of a body, and the rest of it."""
    if not any(isinstance(s, Declare) and s.symbol for s in body):
        return [], body
    updated = {
        s.target.name for s in walk(body) if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    stored = {name for s in walk(body) for name in written(s)}
    own = {s.name for s in body if isinstance(s, Declare)}
    inside = {symbol, *(s.symbol for s in body if isinstance(s, Declare) and s.symbol)}
    invariant: list[Declare] = []
    rest: list[Statement] = []
    for statement in body:
        if (
            isinstance(statement, Declare)
            and statement.symbol is not None
            and all(is_invariant(part, inside, own | updated, stored) for part in parts(statement))
        ):
            invariant.append(statement)
            own.discard(statement.name)
            inside.discard(statement.symbol)
        else:
            rest.append(statement)
    return invariant, same(body, tuple(rest))


def is_invariant(part: Expr, symbols: set[Symbol], names: set[str], stored: set[str]) -> bool:
    """True if the value of a subexpression itself depends on none of these symbols, scalars and
    buffers."""
    match part:
        case Ref(name=name):
            return name not in names
        case Load(buffer=buffer, index=index):
            return buffer not in stored and all(symbols.isdisjoint(symbols_of(i)) for i in index)
        case IndexValue(index=index):
            return symbols.isdisjoint(symbols_of(index))
        case Within(index=index, low=low, high=high):
            return all(symbols.isdisjoint(symbols_of(i)) for i in (index, low, high))
        case _:
            return True


class Invariant:
    """Which expressions have one value in all iterations of a loop."""

    def __init__(self, loop: For) -> None:
        inside = list(walk(loop.body))
        declared = [s for s in inside if isinstance(s, Declare)]
        self.symbols = {loop.symbol, *(s.symbol for s in declared if s.symbol is not None)}
        self.names = {s.name for s in declared}
        self.names |= {
            s.target.name for s in inside if isinstance(s, Update) and isinstance(s.target, Ref)
        }
        self.stored = {name for s in inside for name in written(s)}

    def has(self, expr: Expr) -> bool:
        """True if no operand of the expression changes in the loop."""
        return all(
            is_invariant(part, self.symbols, self.names, self.stored)
            for part in subexpressions(expr)
        )
