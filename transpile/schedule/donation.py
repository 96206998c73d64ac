"""Donation: a result takes the memory of an argument that the caller gives up.

Legal if no dependence is violated, that is if no element of the argument is read after the result's
element was written there: kernels that read the argument run before the one that writes the result,
or are that kernel, which reads each element before, and in the same iteration in which, it
overwrites it. The kernel then reads the result's buffer, so that no two of its pointers alias.

A loop that reads what lies ahead of the elements that it writes, by so many iterations, runs in
order, and one that reads what lies behind them backwards, as memmove does:

    for i in 1..n: for j: y[i, j] = x[i, j] - x[i - 1, j]
    for i in 1..n ordered: for j: x[n - i, j] = x[n - i, j] - x[n - i - 1, j]

An argument that the function assigns to always takes its new value. Where that is not legal, it is
copied before, and kernels read the copy.

An innermost loop that runs backwards does so a block of iterations at a time, of which what is
behind is copied before. All have one thread: that is for loops that wait for memory, and elementary
functions are worth another array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from transpile.analysis.cost_model import function_work
from transpile.analysis.elements.bounds import OUTSIDE, inside, is_in_bounds
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import COALESCED, NO_ALIASES, NO_DEAD_SCALARS
from transpile.ir.dims import Dim, Index, Shape, Symbol, sole_symbol, symbols_of
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Buffer,
    Declare,
    Expr,
    For,
    Kernel,
    Load,
    Program,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    children,
    is_independent,
    loads,
    map_statement,
    names_in,
    substitute_index,
    used_buffers,
    walk,
    with_bodies,
    without_copies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.staged_values import staged, staged_in_blocks
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

# The position of a statement: its enclosing loops, and its index in the body at each level.
Position = tuple[tuple[For | While, ...], tuple[int, ...]]
# The position and the subscripts of an element that is read or written.
Access = tuple[Position, Shape]
Body = tuple[Statement, ...]


@contract(destroys=(NO_ALIASES, COALESCED, NO_DEAD_SCALARS))
def donate_arguments(program: Program, options: Options) -> Program:
    """The program with results in donated arguments, where that is legal."""
    aliases: list[tuple[str, str]] = []
    names = Names(names_in(program))
    inputs = {b.name: b for b in program.inputs}
    own = dict(program.written)
    varying = {name for name, _ in program.results}  # a caller has no array as long before the call
    for name in (*own, *program.donated):
        for output in program.outputs:
            taken = {n for pair in aliases for n in pair}
            if output.name in taken | varying or name in taken or not _fits(inputs[name], output):
                continue
            if own.get(name, output.name) != output.name or (
                name not in own and output.name in own.values()
            ):
                continue  # an argument that the function mutates holds its own new value
            position = _writer(program, name, output.name)
            if position is None:
                continue
            kernel = _in_order(
                program.kernels[position], inputs[name], output, names, options.machine
            )
            if kernel is None:
                continue
            kernels = list(program.kernels)
            kernels[position] = _in_place(kernel, name, output.name)
            program = replace(program, kernels=tuple(kernels))
            aliases.append((output.name, name))
    placed = {name for _, name in aliases}
    for name, value in own.items():
        if name not in placed and value not in varying:
            program = _copied_before(program, inputs[name], value, names)
            aliases.append((value, name))
    return replace(program, aliases=tuple(aliases))


def _copied_before(program: Program, argument: Buffer, output: str, names: Names) -> Program:
    """The program whose kernels read a copy of an argument that the output's memory holds when the
    program begins."""
    copy = replace(argument, name=names.new(f"old_{argument.name}"))
    kernels = [_reading(k, argument.name, copy.name) for k in program.kernels]
    size = product(argument.shape)
    symbol = Symbol("i", 0, size)
    index: Shape = (Dim.of(symbol),) if size != 1 else (0,)
    store = Store(copy.name, index, Load(output, index, argument.dtype))
    body: Body = (For(symbol, size, (store,)),) if size != 1 else (store,)
    shapes: tuple[tuple[str, Shape], ...] = ((copy.name, (size,)), (output, (size,)))
    first = Kernel(names.new(f"{program.name}_{copy.name}"), body, shapes=shapes)
    temporaries = (*program.temporaries, copy)
    return replace(program, kernels=(first, *kernels), temporaries=temporaries)


def _fits(donated: Buffer, output: Buffer) -> bool:
    return donated.shape == output.shape and donated.dtype == output.dtype


def _writer(program: Program, donated: str, output: str) -> int | None:
    """The position of the first kernel that writes the output; None if a read of the donated array
    may follow."""
    readers = [p for p, k in enumerate(program.kernels) if donated in used_buffers(k)[0]]
    writers = [p for p, k in enumerate(program.kernels) if output in used_buffers(k)[1]]
    if not writers or any(r > writers[0] for r in readers):
        return None
    shapes = dict(program.kernels[writers[0]].shapes)
    is_view = writers[0] in readers and shapes.get(donated) != shapes.get(output)
    return None if is_view else writers[0]


def _in_order(
    kernel: Kernel, donated: Buffer, output: Buffer, names: Names, machine: Machine
) -> Kernel | None:
    """The kernel, whose loops are in an order in which each read of the donated array precedes the
    write that overwrites it; None if there is none."""
    conflicts = _conflicts(kernel, donated.name, output.name)
    shifts = None if conflicts is None else [_Shift.of(*pair) for pair in conflicts]
    if shifts is None:
        return None
    body = kernel.body
    for first in shifts:
        own = [s for s in shifts if s is not None and first is not None and s.loop is first.loop]
        if first is None or any(s.is_ahead != first.is_ahead for s in own):
            return None
        if own[0] is first:
            if not _may_run_in_order(first.loop, [s.loop for s in shifts if s is not None]):
                return None
            elements = dict.fromkeys(Load(donated.name, s.read, donated.dtype) for s in own)
            shape = dict(kernel.shapes).get(donated.name, donated.shape)
            arrays = {donated.name: replace(donated, shape=shape)}
            new = first.in_order(tuple(elements), arrays, names, machine)
            if new is None:
                return None
            body = _replaced(body, first.loop, new)
    return changed(kernel, body=same(kernel.body, body))


def _conflicts(kernel: Kernel, donated: str, output: str) -> list[tuple[Access, Access]] | None:
    """The reads of the donated array that may follow the write that overwrites them, with these
    writes; None where that is not known."""
    if _is_call_in_place(kernel, donated, output):
        return []
    reads: list[Access] = []
    writes: list[Access] = []
    for location, statement in _with_positions(kernel.body, ((), ())):
        if isinstance(statement, Swap) or (isinstance(statement, Call) and not statement.is_local):
            return None
        if isinstance(statement, Call) and any(a.buffer == donated for a in loads(statement)):
            return None
        reads += [(location, load.index) for load in loads(statement) if load.buffer == donated]
        if output in written(statement) and not _is_copy(statement, donated):
            match statement:
                case Store(index=index) | Update(target=Load(index=index)):
                    writes.append((location, index))
                case _:
                    return None
    return [(r, w) for r in reads for w in writes if not _is_safe(r, w)]


def _is_call_in_place(kernel: Kernel, donated: str, output: str) -> bool:
    """True for a kernel that is one call, which may write its results where it reads these."""
    match kernel.body:
        case (Call(is_in_place=True) as call,):
            x, (out,) = next(iter(call.arrays.values())), call.results
            reads = [a for a in loads(call) if a.buffer == donated]
            return (
                (x.first.buffer, out.first.buffer) == (donated, output)
                and (x.first.index, x.strides) == (out.first.index, out.strides)
                and len(reads) == 1
            )
        case _:
            return False


@dataclass(frozen=True)
class _Shift:
    """A loop, and those around it, whose iterations read, at certain subscripts, what other
    iterations write: those a fixed number after them, if that is ahead, or before them."""

    around: tuple[For, ...]
    loop: For
    is_ahead: bool
    read: Shape

    @staticmethod
    def of(read: Access, write: Access) -> _Shift | None:
        """That of two accesses; None if there is no such loop around both."""
        pairs = list(zip(read[1], write[1], strict=True))
        around: list[For] = []
        for loop, other in zip(read[0][0], write[0][0], strict=False):
            if loop is not other or not isinstance(loop, For):
                return None
            own = Dim.of(loop.symbol)
            if any(one == two == own for one, two in pairs):
                around.append(loop)
                continue  # other iterations have other elements
            distances = [
                one - two for one, two in pairs if isinstance(two - own, int) and one != two
            ]
            if not distances or not isinstance(distances[0], int):
                return None
            return _Shift((*around,), loop, distances[0] > 0, read[1])
        return None

    def in_order(
        self,
        elements: tuple[Load, ...],
        arrays: Mapping[str, Buffer],
        names: Names,
        machine: Machine,
    ) -> Body | None:
        """The loop in the order in which these elements are read before they are written; None if
        they have to be copied and may not be there."""
        loop = replace(self.loop, ordered=True)
        if not self.is_ahead and _is_innermost(loop):
            extent, size = self.loop.extent, machine.packed_block
            ranges = reduce(lambda ranges, f: inside(f, ranges), (*self.around, loop), OUTSIDE)
            if not isinstance(extent, int) or not all(
                is_in_bounds(e, arrays, ranges) for e in elements
            ):
                return None
            values: dict[Expr, str] = {element: f"{element.buffer}_behind" for element in elements}
            if extent <= size:
                return tuple(staged(self.loop, extent, values, names))
            loop = replace(staged_in_blocks(self.loop, extent, size, values, names), ordered=True)
        if self.is_ahead:
            return (loop,)
        backwards = loop.start + loop.stop - 1 - Dim.of(loop.symbol)
        body = tuple(substitute_index(s, loop.symbol, backwards) for s in loop.body)
        return (replace(loop, body=body),)


def _may_run_in_order(loop: For, others: Sequence[For]) -> bool:
    """True for a loop without functions whose iterations may have any order, apart from others."""
    inner = [s for s in walk(loop.body) if isinstance(s, For)]
    return (
        is_independent(loop)
        and not loop.ordered
        and loop.limit is None
        and function_work(tuple(walk(loop.body))) == 0
        and (inner or all(isinstance(s, Store | Declare) for s in loop.body))
        and not any(s is other for s in inner for other in others)
    )


def _is_innermost(loop: For) -> bool:
    return not any(isinstance(s, For) for s in loop.body)


def _replaced(body: Body, loop: For, new: Body) -> Body:
    """Statements with others in the place of a loop."""
    parts: list[Statement] = []
    for statement in body:
        if statement is loop:
            parts += new
        else:
            parts.append(with_bodies(statement, lambda inner: _replaced(inner, loop, new)))
    return same(body, tuple(parts))


def _is_copy(statement: Statement, donated: str) -> bool:
    """True for a statement that in place does nothing, as an element is stored where it lies."""
    return (
        isinstance(statement, Store)
        and isinstance(statement.value, Load)
        and statement.value.buffer == donated
        and statement.value.index == statement.index
    )


def _is_safe(read: Access, write: Access) -> bool:
    (read_loops, read_order), read_index = read
    (write_loops, write_order), write_index = write
    shared = 0
    for a, b in zip(read_loops, write_loops, strict=False):
        if a is not b:
            break
        shared += 1
    if not shared and read_order[0] < write_order[0]:
        return True
    if _are_apart(read_index, read_loops, write_index, write_loops):
        return True
    if _are_apart_in_iterations(read, write, shared):
        return True
    if read_index != write_index:
        return False
    used = {s for i in write_index for s in symbols_of(i)}
    for loop in reversed(write_loops):  # the loops over tiles determine the starts of inner ones
        if isinstance(loop, For) and loop.symbol in used:
            used |= symbols_of(loop.start)
    around = read_loops[:shared]
    each_once = all(
        isinstance(loop, For) and (loop.symbol in used or loop.independent) for loop in around
    )
    return each_once and read_order <= write_order


def _are_apart(
    read: Shape,
    read_loops: tuple[For | While, ...],
    write: Shape,
    write_loops: tuple[For | While, ...],
) -> bool:
    """True if two accesses never alias: along some axis their ranges are disjoint."""
    for one, other in zip(read, write, strict=True):
        a, b = _range(one, read_loops), _range(other, write_loops)
        if a is not None and b is not None and (a[1] < b[0] or b[1] < a[0]):
            return True
    return False


def _are_apart_in_iterations(read: Access, write: Access, shared: int) -> bool:
    """True if two accesses alias in no iteration of the loops that they share, and no others do:
    subscripts tell the iterations apart."""
    (read_loops, _), read_index = read
    (write_loops, _), write_index = write
    pairs = list(zip(read_index, write_index, strict=True))
    for loop in read_loops[:shared]:
        own = Dim.of(loop.symbol) if isinstance(loop, For) else None
        if own is None or not any(one == other == own for one, other in pairs):
            return False
    inside = read_loops[shared:], write_loops[shared:]
    if not all(isinstance(loop, For) for loops in inside for loop in loops):
        return False
    for pair in pairs:
        (low, high), (least, most) = map(_extremes, pair, inside)
        above, below = low - most, high - least
        if (isinstance(above, int) and above > 0) or (isinstance(below, int) and below < 0):
            return True
    return False


def _extremes(index: Index, loops: Sequence[For | While]) -> tuple[Index, Index]:
    """The least and the greatest value of an index in loops in which it is linear."""
    low = high = index
    for loop in reversed(loops):
        if isinstance(loop, For):
            low = _extreme(low, loop, is_least=True)
            high = _extreme(high, loop, is_least=False)
    return low, high


def _extreme(index: Index, loop: For, *, is_least: bool) -> Index:
    factor = dict(index.terms).get((loop.symbol,), 0) if isinstance(index, Dim) else 0
    rest = index - Dim.of(loop.symbol) * factor
    if factor == 0 or loop.symbol in symbols_of(rest):
        return index
    return rest + (loop.start if (factor > 0) == is_least else loop.stop - 1) * factor


def _range(index: Index, loops: tuple[For | While, ...]) -> tuple[int, int] | None:
    """The first and last value of a subscript that is a constant or a loop's symbol."""
    if isinstance(index, int):
        return index, index
    symbol = sole_symbol(index)
    own = (loop for loop in loops if isinstance(loop, For) and loop.symbol == symbol)
    loop = next(own, None)
    if loop is None or not isinstance(loop.start, int) or not isinstance(loop.stop, int):
        return None
    return loop.start, loop.stop - 1


def _with_positions(
    body: tuple[Statement, ...], location: Position
) -> Iterator[tuple[Position, Statement]]:
    loops, order = location
    for position, statement in enumerate(body):
        order_inside = (*order, position)
        yield (loops, order_inside), statement
        inner = (*loops, statement) if isinstance(statement, For | While) else loops
        yield from _with_positions(children(statement), (inner, order_inside))


def _in_place(kernel: Kernel, donated: str, output: str) -> Kernel:
    kept = tuple((n, s) for n, s in kernel.shapes if n != donated)
    kernel = _reading(replace(kernel, shapes=kept), donated, output)
    return replace(kernel, body=without_copies(kernel.body) or kernel.body)


def _reading(kernel: Kernel, array: str, other: str) -> Kernel:
    """The kernel that reads another array in the place of one."""

    def swap(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == array:
            return replace(expr, buffer=other)
        return expr

    shapes = tuple((other if n == array else n, s) for n, s in kernel.shapes)
    body = tuple(map_statement(s, swap) for s in kernel.body)
    return changed(kernel, body=same(kernel.body, body), shapes=same(kernel.shapes, shapes))
