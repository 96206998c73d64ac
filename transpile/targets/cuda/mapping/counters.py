"""Whether the counters of a kernel, and all that is computed of them, fit into an int.

A GPU has registers of 32 bits: sums of 64 bits are two instructions, products four, quotients
dozens. Subscripts are computed as ints where nothing that is computed on the way leaves their
range; runtime sizes, and numbers from memory, are of 64 bits, and what is computed with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from transpile.ir.dims import Atom, Dim, Index, Quotient, Symbol, bounds, terms_of
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import For, If, Load, While
from transpile.ir.loop_rewrite import indices, indices_in
from transpile.targets.cuda.device_ir import (
    Barrier,
    Combine,
    DeviceKernel,
    DeviceStatement,
    EndIf,
    FromFirst,
    Pack,
    Registers,
    Section,
    Shared,
    Single,
    Slice,
    Spread,
    TeamCall,
    Together,
    Unrolled,
)

# Behind it is room for the last step of a loop that strides over the grid.
_MOST = 1 << 30


def fit_ints(kernel: DeviceKernel) -> bool:
    """True if the counters of a kernel may be ints."""
    statements = list(kernel.walk())
    loops = [loop for s in statements for loop in _loops(s)]
    counted = {loop.symbol for loop in loops}
    counted |= {s.turn for s in statements if isinstance(s, Spread) and s.turn is not None}
    finishes = [s.finish for s in statements if isinstance(s, TeamCall) and s.finish is not None]
    counted |= {symbol for finish in finishes for symbol in (finish.row, finish.column)}
    gathers = [s.gather for s in statements if isinstance(s, TeamCall) and s.gather is not None]
    counted |= {symbol for gather in gathers for symbol in (gather.row, gather.term)}
    every = [index for s in statements for index in _indices(s)]
    every += [end for f in loops for end in (f.start, f.stop, f.limit) if end is not None]
    every += [Dim.of(symbol) for symbol in counted]
    every += [product(f.extent for f in s.loops) for s in statements if isinstance(s, Spread)]
    return all(_largest(index, counted) <= _MOST for index in every)


def _loops(statement: DeviceStatement) -> Iterator[For]:
    match statement:
        case For():
            yield statement
        case Spread(loops=loops):
            yield from loops
        case Unrolled(loop=loop):
            yield loop
        case Together(head=For() as head):
            yield head
        case _:
            pass


def _indices(statement: DeviceStatement) -> Iterator[Index]:
    """The indices that a statement computes itself."""
    match statement:
        case Together(head=For()) | Spread() | Section() | Single() | Combine() | FromFirst():
            pass
        case Barrier() | Shared() | Slice() | Registers() | Unrolled():
            pass
        case Pack(index=index):
            yield from index
        case Together(head=If(condition=condition) | While(condition=condition)):
            yield from indices_in(condition)
        case TeamCall(arguments=arguments):
            for argument in arguments:
                if isinstance(argument, Load):
                    yield from argument.index
                elif not isinstance(argument, str):
                    yield argument
        case Together() | EndIf():
            pass
        case _:
            yield from indices(statement)


def _largest(index: Index, counted: set[Symbol]) -> int:
    """A bound of everything that is computed as an int on the way to an index."""
    return sum(
        abs(factor) * prod(_of_atom(atom, counted) for atom in atoms)
        for atoms, factor in terms_of(index)
    )


def _of_atom(atom: Atom, counted: set[Symbol]) -> int:
    """A bound of an int; 1 for numbers of 64 bits, beside which all is of 64 bits."""
    if isinstance(atom, Symbol):
        return _bound(Dim.of(atom)) if atom in counted else 1
    inside = max(_largest(atom.dividend, counted), _largest(atom.divisor, counted))
    return inside if isinstance(atom, Quotient) else max(inside, _bound(atom.divisor))


def _bound(index: Index) -> int:
    low, high = bounds(index)
    return 2 * _MOST if low is None or high is None else max(abs(low), abs(high))
