"""Fuse matrix products with the kernels before and after them, in blocks of rows.

In `relu(x @ w + b)` a row of the result needs one row of the product. Consecutive kernels over the
same leading axes become one loop over blocks of rows, in parallel, with prologues and epilogues in
cache:

    call matmul(all rows);  for i: for j: out[i, j] = relu(...)
    for block: call matmul_rows(a block of rows);  for i in block: for j: out[i, j] = relu(...)

The product of a matrix and its own transpose stays whole if it is long, as half of it is a copy.

A value that only these kernels use is a local array of one block, or shares the buffer of what is
computed from it: the scores of attention and the hidden layers of a network are never stored as a
whole. Right operands are the same for all blocks; those that must be packed into panels are packed
once, before the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import accumulate

from transpile.intrinsics.products import (
    MatmulEitherRows,
    MatmulPanelRows,
    MatmulPanels,
    MatmulRows,
)
from transpile.ir.calls import Call, Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    NO_ALIASES,
    NO_LANES,
    OF_LOOPS,
    OF_TEMPORARIES,
    OWN_SHAPES,
    STACK_BOUNDED,
)
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks, product
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Statement,
    Store,
    While,
)
from transpile.ir.loop_rewrite import (
    accesses,
    children,
    map_statement,
    names_in,
    used_buffers,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.blocking.panels import (
    fills_cache,
    is_local,
    needs_panels,
    panels_of,
    rows_that_decide,
)
from transpile.schedule.blocking.row_regions import (
    Lead,
    RowNest,
    RowProduct,
    as_nest,
    declared_rows,
    has_rows,
    in_parallel,
    long_axes,
    product_in_rows,
    row_shape,
    rows_of_blocks,
)
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import cached_property, changed, dataclass, replace, same

Part = RowProduct | RowNest


# Kernels that become one must name memory in one way, and agree on the axes of it.
@contract(
    requires=(OWN_SHAPES, NO_ALIASES, NO_LANES),
    destroys=(*OF_LOOPS, *OF_TEMPORARIES, STACK_BOUNDED),
)
def fuse_products(program: Program, options: Options) -> Program:
    """The program with kernels around products fused; unchanged with a BLAS, which makes whole
    products only."""
    machine = options.machine
    if options.blas != "none":
        return program
    users = Counter(name for kernel in program.kernels for name in used_buffers(kernel)[0])
    products = [product_in_rows(kernel, program.buffers(), machine) for kernel in program.kernels]
    flops = [0, *accumulate(0 if p is None else p.flops for p in products)]
    kernels: list[Kernel] = []
    position = 0
    while position < len(program.kernels):
        end = min(position + machine.most_merged_kernels, len(products))
        within_reach = flops[end] - flops[position]
        fusion = None
        if within_reach >= machine.least_product_flops:
            group = _Group(program, position, products, users, machine)
            fusion = _fusion_of(group)
        if fusion is None:
            kernels.append(program.kernels[position])
            position += 1
            continue
        kernels.append(fusion.kernel(options))
        temporaries = fusion.temporaries()
        position += len(group.parts)
        program = replace(program, temporaries=temporaries)
    return changed(program, kernels=same(program.kernels, tuple(kernels)))


@dataclass
class _Group:
    """The longest sequence of kernels, from `start` on, that keep to the same rows: products, and
    nests which access only the row of their iteration of what the others write.

    candidates  the kernels that are products, by position
    users       the number of kernels that use each buffer
    uses        for each buffer the numbers of the parts that access it, in order
    changes     for each buffer the numbers of the parts that write it
    """

    program: Program
    start: int
    candidates: Sequence[RowProduct | None]
    users: Counter[str]
    machine: Machine
    parts: list[Part] = field(default_factory=list)
    lead: Lead = ()
    uses: dict[str, list[int]] = field(default_factory=dict)
    changes: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buffers = self.program.buffers()
        end = self.start + self.machine.most_merged_kernels
        for position in range(self.start, min(end, len(self.candidates))):
            part = self._part(position)
            if part is None or not self._may_follow(part):
                break
            for numbers in self._numbers(part):
                numbers.append(len(self.parts))
            self.parts.append(part)
        while self.parts and not self._is_linked(self.parts[-1]):
            for numbers in self._numbers(self.parts.pop()):
                numbers.pop()
        self.products = [p for p in self.parts if isinstance(p, RowProduct)]
        self.is_large = any(fills_cache(p, self.machine) for p in self.products)

    def _numbers(self, part: Part) -> Iterator[list[int]]:
        """The lists of `uses` and `changes` that a part belongs to."""
        uses, changes = used_buffers(part.kernel)
        yield from (self.uses.setdefault(name, []) for name in uses)
        yield from (self.changes.setdefault(name, []) for name in changes)

    def _part(self, position: int) -> Part | None:
        """A kernel as one over these rows. The first product, of the first two kernels, determines
        the rows."""
        kernel, part = self.program.kernels[position], self.candidates[position]
        if self.parts:
            if part is None:
                return as_nest(kernel, self.lead)
            return part if part.lead == self.lead else None
        nearby = self.candidates[position : position + 2]
        first = next((p for p in nearby if p is not None), None)
        if first is None or not first.lead:
            return None
        self.lead = first.lead
        return part or as_nest(kernel, self.lead)

    def _may_follow(self, part: Part) -> bool:
        """True if fusion violates no dependence: the kernel reads only the same rows of what
        earlier ones write, and writes nothing that they use."""
        uses, changes = used_buffers(part.kernel)
        if not changes.isdisjoint(self.uses):
            return False
        for name in uses:
            for number in self.changes.get(name, ()):
                before = self.parts[number]
                if not (self._keeps_rows(before, name) and self._keeps_rows(part, name)):
                    return False
        scratch = {part.scratch} if isinstance(part, RowProduct) else set()
        return all(self._keeps_rows(part, name) for name in changes - scratch)

    def _keeps_rows(self, part: Part, name: str) -> bool:
        """True if a kernel accesses only the row of its iteration of a buffer."""
        is_buffer = name in self.buffers and has_rows(self.buffers[name].shape, self.lead)
        return is_buffer and part.keeps_rows(name, self.buffers)

    def _is_linked(self, part: Part) -> bool:
        """True if a dependence connects the kernel with another one of the group."""
        uses, changes = used_buffers(part.kernel)
        others = [*(self.uses[n] for n in changes), *(self.changes.get(n, []) for n in uses)]
        return any(self.parts[number] is not part for numbers in others for number in numbers)

    @cached_property
    def local(self) -> list[str]:
        """The temporaries that only these kernels use."""
        inside = {n for n in self.changes if len(self.uses[n]) == self.users[n]}
        inside -= {p.scratch for p in self.products}
        return [b.name for b in self.program.temporaries if b.name in inside]

    @cached_property
    def homes(self) -> dict[str, str]:
        """The buffer that a local value shares with a value computed from it elementwise, in the
        nest that reads it last."""
        homes: dict[str, str] = {}
        for position in range(len(self.parts) - 1, -1, -1):
            part = self.parts[position]
            if not isinstance(part, RowNest):
                continue
            taken = set(homes.values())
            uses, changes = used_buffers(part.kernel)
            for result in sorted(changes):
                for name in self.local:
                    if (
                        name in uses
                        and name not in homes
                        and homes.get(result, result) not in taken
                        and self._is_alike(name, result)
                        and self.changes[name][0] < position == self.uses[name][-1]
                        and _replaces(part.body, name, result)
                    ):
                        homes[name] = homes.get(result, result)
                        break
        return homes

    def _is_alike(self, name: str, other: str) -> bool:
        one, two = self.buffers[name], self.buffers[other]
        return name != other and (one.shape, one.dtype) == (two.shape, two.dtype)

    def rows(self) -> int:
        """The rows of a block: a divisor of the last leading axis, so that blocks are alike; 0 if
        no divisor is good."""
        *outer, extent = self.lead
        around = product(outer)
        machine = self.machine
        if not isinstance(extent, int):
            return self._rows_of_any()
        blocks = machine.fewest_blocks // around if isinstance(around, int) else 1
        share = extent // max(blocks, 1)
        most = min(machine.most_block_rows, max(machine.usual_block_rows, share))
        fewest = machine.product_tile_rows
        if self.is_large:
            most, fewest = machine.most_block_rows, machine.most_block_rows // 2
        if size := sum(self._row_bytes(name) for name in self.local if name not in self.homes):
            most = min(most, machine.block_bytes // size)
        divisors = [d for d in range(1, min(most, extent) + 1) if extent % d == 0]
        return divisors[-1] if divisors and divisors[-1] >= min(fewest, extent) else 0

    def _rows_of_any(self) -> int:
        """The most rows of a block of a runtime size, of which the last block may have fewer."""
        machine = self.machine
        rows = machine.most_block_rows
        if size := sum(self._row_bytes(name) for name in self.local if name not in self.homes):
            rows = min(rows, machine.block_bytes // size)
        tile = machine.product_tile_rows
        return rows // tile * tile

    def blocks(self, rows: int) -> int:
        """The number of blocks, or an estimate for not too many rows."""
        if not isinstance(self.lead[-1], int):
            rows = min(rows, 2 * self.machine.usual_block_rows)
        return estimate(product(self.lead)) // rows

    def _row_bytes(self, name: str) -> int:
        buffer = self.buffers[name]
        size = product(row_shape(buffer.shape, self.lead))
        return size * buffer.dtype.itemsize if isinstance(size, int) else self.machine.block_bytes


def _replaces(loop: For, name: str, result: str) -> bool:
    """True if a nest may store `result` in the buffer of `name`: each element once, after the last
    read of the same element."""
    if any(isinstance(s, While) for s in walk((loop,))):
        return False
    element_accesses = [t for t in _accesses_of((loop,), ()) if t[0] in (name, result)]
    stores = [position for position, access in enumerate(element_accesses) if access[3]]
    return (
        stores == [len(element_accesses) - 1]
        and len({index for _, index, _, _ in element_accesses}) == 1
        and all(Dim.of(s) in index for _, index, around, _ in element_accesses for s in around)
    )


def _accesses_of(
    body: Sequence[Statement], around: tuple[Symbol, ...]
) -> Iterator[tuple[str, Shape, tuple[Symbol, ...], bool]]:
    """The element accesses of statements in order: buffer, subscript, enclosing loops, whether it
    is written."""
    for statement in body:
        for buffer, index in accesses(statement):
            yield buffer, index, around, buffer in written(statement)
        inner = (*around, statement.symbol) if isinstance(statement, For) else around
        yield from _accesses_of(children(statement), inner)


def _fusion_of(group: _Group) -> _Fusion | None:
    """The fused kernel of a group; None where fusion does not pay."""
    products, machine = group.products, group.machine
    flops = sum(p.flops for p in products)
    if len(group.parts) < 2 or flops < machine.least_product_flops:
        return None
    largest = machine.right_operand_bytes
    if any(p.call.n * p.call.k * p.call.c.dtype.itemsize > largest for p in products):
        return None
    rows = group.rows()
    is_known = isinstance(group.lead[-1], int)
    fewest = max(
        machine.fewest_shared_blocks, machine.fewest_blocks * (group.is_large and is_known)
    )
    if rows == 0 or (group.blocks(rows) < fewest and flops > machine.most_flops_alone):
        return None
    return _Fusion(group, rows)


class _Fusion:
    """Builds the fused kernel of a group, with blocks of `rows` rows. Those of a runtime size are
    so long for many rows alone: the program finds the rows of a block, so that blocks are enough.
    """

    def __init__(self, group: _Group, rows: int) -> None:
        self.group = group
        self.rows = rows
        names = Names(names_in(group.program))
        nests = [p for p in group.parts if isinstance(p, RowNest)]
        self.loops = [Symbol(names.new("i"), 0, extent) for extent in group.lead]
        if nests:
            self.loops = list(nests[0].symbols)
        self.row = Dim.of(self.loops[-1])
        extent = group.lead[-1]
        self.block_rows = rows_of_blocks(group.lead, rows, names)
        self.stride = rows if self.block_rows is None else Dim.of(self.block_rows)
        self.block = Symbol(names.new("block"), 0, blocks_of(extent, self.stride))
        self.limit = limit_of_blocks(extent, extent, self.stride)
        here = Symbol(names.new("rows"), 1, rows + 1)
        self.here = here if self.limit is not None else None
        self.first: Index = Dim.of(self.block) * self.stride if self.block.extent != 1 else 0
        self.local: dict[str, Buffer] = {}
        for name in group.local:
            if name not in group.homes:
                buffer = group.buffers[name]
                shape = (rows, *row_shape(buffer.shape, group.lead))
                self.local[name] = Buffer(name, shape, buffer.dtype)
        machine = group.machine
        wanting = (p for p in group.products if needs_panels(p, machine))
        self.panels = {p: panels_of(p, names, machine) for p in wanting}
        self.deciding_rows = {p: rows_that_decide(p, machine) for p in self.panels}

    def kernel(self, options: Options) -> Kernel:
        """The fused kernel."""
        body = tuple(self._block())
        if self.block.extent != 1:
            body = (For(self.block, self.block.extent or 0, body),)
        for depth in range(len(self.loops) - 1, -1, -1):
            body = (*self._before(depth), *body)
            if depth:
                symbol = self.loops[depth - 1]
                body = (For(symbol, symbol.extent or 0, body),)
        body = tuple(map(in_parallel, body)) if options.threaded else body
        if self.block_rows is not None:
            machine = self.group.machine
            sizes = self.group.lead, self.rows, self.group.is_large
            body = (declared_rows(self.block_rows, *sizes, machine), *body)
        kernels = [part.kernel for part in self.group.parts]
        source = next((k.source for k in kernels if k.source.line), kernels[0].source)
        comment = tuple(dict.fromkeys(line for k in kernels for line in k.comment))
        return Kernel(kernels[0].name, body, source, comment)

    def temporaries(self) -> tuple[Buffer, ...]:
        """The temporaries that remain, and panels in memory."""
        gone = {*self.group.local, *(p.scratch for p in self.group.products)}
        kept = (b for b in self.group.program.temporaries if b.name not in gone)
        machine = self.group.machine
        return (*kept, *(b for p, b in self.panels.items() if not is_local(p, b, machine)))

    def _before(self, depth: int) -> Iterator[Statement]:
        """The packing of right operands that are invariant inside `depth` loops."""
        for part, buffer in self.panels.items():
            if part.stack == depth:
                if is_local(part, buffer, self.group.machine):
                    yield Alloc(buffer)
                n, k, panels = part.call.n, part.call.k, Strided(self._panels(part))
                rows = self.deciding_rows[part]
                yield MatmulPanels(n, k, self._right(part), panels, rows)

    def _block(self) -> Iterator[Statement]:
        """The statements of one block."""
        yield from map(Alloc, self.local.values())
        if self.here is not None and self.limit is not None:
            left = IndexValue(self.limit - self.first)
            most = IndexValue(self.stride) if self.block_rows else Literal(self.rows, INT64)
            value = Apply("minimum", (left, most), INT64)
            yield Declare(self.here.name, value, symbol=self.here)
        for part in self.group.parts:
            yield self._call(part) if isinstance(part, RowProduct) else self._nest(part)

    def _right(self, part: RowProduct) -> Strided:
        """The right operand of a product, inside the loops over batch axes."""
        _, b_row, b_column = part.call.b.strides
        return Strided(part.right(self.loops, self.group.buffers), (b_row, b_column))

    def _call(self, part: RowProduct) -> Call:
        index: list[Index] = [*map(Dim.of, self.loops[:-1]), self.first]
        n, k = part.call.n, part.call.k
        _, _, a_column = part.call.a.strides
        buffers = self.group.buffers
        left, a_row = part.left(index, buffers), part.a_strides[-1]
        home = self._home(part.call.a.buffer)
        if home in self.local:
            left, a_row = _start(self.local[home]), k
        elif home != part.call.a.buffer:
            left = replace(left, buffer=home)
        home = self._home(part.call.c.buffer)
        out = _start(self.local[home]) if home in self.local else part.out(index, buffers[home])
        a, c = Strided(left, (a_row, a_column)), Strided(out, (n, 1))
        if part not in self.panels:
            return MatmulRows(self._count, n, k, a, self._right(part), c)
        panels = Strided(self._panels(part))
        rows = self.deciding_rows[part]
        if rows is None:
            return MatmulPanelRows(self._count, n, k, a, panels, c)
        return MatmulEitherRows(self._count, n, k, a, self._right(part), panels, c, rows)

    @property
    def _count(self) -> Index:
        """The rows of this block."""
        return self.rows if self.here is None else Dim.of(self.here)

    def _panels(self, part: RowProduct) -> Load:
        """The address of the panels of a product, inside the loops over batch axes."""
        buffer = self.panels[part]
        around = [Dim.of(s) for s in self.loops[: len(buffer.shape) - 1]]
        return Load(buffer.name, (*around, 0), buffer.dtype)

    def _home(self, name: str) -> str:
        return self.group.homes.get(name, name)

    def _nest(self, part: RowNest) -> Statement:
        """A nest restricted to the rows of a block."""
        renamed: dict[Symbol, Index] = {
            old: Dim.of(new) for old, new in zip(part.symbols, self.loops, strict=True)
        }
        inside = (
            map_statement(s, lambda e: e, lambda i: substitute(i, renamed)) for s in part.body.body
        )
        body = tuple(self._in_block(s) for s in inside)
        return For(self.loops[-1], self.first + self.stride, body, self.first, self.limit)

    def _in_block(self, statement: Statement) -> Statement:
        """A statement with local values in the arrays of a block."""

        def on_expr(expr: Expr) -> Expr:
            if isinstance(expr, Load):
                return replace(expr, buffer=self._home(expr.buffer), index=self._index(expr))
            return expr

        def on_store(inner: Statement) -> Statement:
            if isinstance(inner, Store):
                name, index = self._home(inner.buffer), self._index(inner)
                return Store(name, index, inner.value)
            return with_bodies(inner, lambda body: tuple(map(on_store, body)))

        return on_store(map_statement(statement, on_expr, lambda index: index))

    def _index(self, element: Load | Store) -> Shape:
        if self._home(element.buffer) not in self.local:
            return element.index
        axes = long_axes(self.group.buffers[element.buffer].shape)[len(self.loops) :]
        return (self.row - self.first, *(element.index[a] for a in axes))


def _start(buffer: Buffer) -> Load:
    return Load(buffer.name, (0,) * len(buffer.shape), buffer.dtype)
