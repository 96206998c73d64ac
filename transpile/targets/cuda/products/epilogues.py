"""Elementwise work behind a matrix product, in the launch of the product.

    call t = x w                                  call x w, and of each of its elements
    for i, j: out[i, j] = tanh(t[i, j] + b[j])        out[i, j] = tanh(element + b[j])

Where a nest is all that reads a product, and reads each element in one iteration, the block that
has computed the element runs that iteration, and the product is never stored. The nest may be
anything elementwise: activations, sums with other arrays, conversions, several results. It stays a
launch of its own behind products of the library, of few vectors, and of sums in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from transpile.intrinsics.products import ComplexMatmul, Matmul, MatmulBatch
from transpile.ir.dims import Dim, Index, Symbol, is_within, substitute
from transpile.ir.indices.lengths import lengths_of
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Buffer,
    Declare,
    Expr,
    For,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
)
from transpile.ir.loop_rewrite import (
    accessed,
    loads,
    map_statement,
    substitute_index,
    walk,
    written,
)
from transpile.ir.types import is_half
from transpile.targets.cuda.device_ir import DeviceKernel, Step, steps_inside, with_steps
from transpile.targets.cuda.gpu import WARP
from transpile.targets.cuda.mapping.grid import Mapper
from transpile.targets.cuda.mapping.launches import may_be_spread
from transpile.targets.cuda.mapping.team import rectangular
from transpile.targets.cuda.products.finish import Finish
from transpile.targets.cuda.routines.functions import routine
from transpile.targets.cuda.routines.library_products import library_product
from transpile.targets.cuda.routines.tiles import FINISHES
from transpile.util.frozen_records import dataclass, replace

_Product = Matmul | ComplexMatmul | MatmulBatch
# The functions that have a place for it, and their arguments for the result.
_FUNCTIONS = ("matmul", "matmul_wide")
_OF_RESULT = 3


def with_epilogues(steps: Sequence[Step], program: Program, mapper: Mapper) -> tuple[Step, ...]:
    """The steps, in which a product and the nest behind it are one mapped kernel."""
    return _Joiner(steps, program, mapper).joined(steps)


class _Joiner:
    def __init__(self, steps: Sequence[Step], program: Program, mapper: Mapper) -> None:
        self.mapper = mapper
        self.temporaries = {b.name: b for b in program.temporaries}
        kernels = list(_kernels(steps))
        self.users = Counter(n for k in kernels for n in _accessed(k.body))
        self.swapped = {
            name
            for k in kernels
            for s in walk(k.body)
            if isinstance(s, Swap)
            for name in (s.first, s.second)
        }

    def joined(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps, also those inside others."""
        made: list[Step] = []
        for step in steps:
            one = self._one(made[-1], step) if made else None
            if one is not None:
                made[-1] = one
            else:
                made.append(with_steps(step, self.joined))
        return tuple(made)

    def _one(self, first: Step, second: Step) -> DeviceKernel | None:
        """A product and the nest behind it as one kernel; None where they are not these."""
        if not (isinstance(first, Kernel) and isinstance(second, Kernel)):
            return None
        match first.body, second.body:
            case (Matmul() | ComplexMatmul() | MatmulBatch() as call,), (*before, For() as loop):
                pass
            case _:
                return None
        if not self._is_read_there(call, before) or library_product(call, self.mapper.gpu):
            return None
        nest = _nest_of(call, loop)
        if nest is None or not _may_be_moved(call, before, nest):
            return None
        return self._mapped(first, second, call, before, nest)

    def _is_read_there(self, call: _Product, before: Sequence[Statement]) -> bool:
        """True if a product fills a temporary that it and the kernel behind it use alone, but not
        the scalars that come first there."""
        buffer = self.temporaries.get(call.c.buffer)
        return (
            buffer is not None
            and buffer.name not in self.swapped
            and self.users[buffer.name] == 2
            and _is_whole(call, buffer)
            and all(isinstance(s, Declare) and s.constant for s in before)
            and not any(buffer.name in accessed(s) for s in before)
            and not any(map(lengths_of, call.numbers))
        )

    def _mapped(
        self,
        first: Kernel,
        second: Kernel,
        call: _Product,
        before: Sequence[Statement],
        nest: _Nest,
    ) -> DeviceKernel | None:
        called = routine(call, first.source, self.mapper.gpu, is_shared_out=True)
        if called.call.routine not in _FUNCTIONS:
            return None
        names = self.mapper.names.inner()
        rows = product((call.m, call.count if isinstance(call, MatmulBatch) else 1))
        row, column = Symbol(names.new("row"), 0, rows), Symbol(names.new("column"), 0, call.n)
        element = Ref(names.new("element"), call.c.dtype)
        places = {
            f.symbol: _number(Dim.of(row), Dim.of(column), call.n, step, f.extent)
            for f, step in nest.steps
        }

        def on_expr(expr: Expr) -> Expr:
            is_element = isinstance(expr, Load) and expr.buffer == call.c.buffer
            return element if is_element else expr

        body = tuple(map_statement(s, on_expr) for s in nest.body)
        for symbol, place in places.items():
            body = tuple(substitute_index(s, symbol, place) for s in body)
        goes_down = nest.goes_down(call.n)
        finish = Finish(names.new("finish"), row, column, element, body, goes_down)
        stored = next(s for s in nest.body if isinstance(s, Store))
        result = Load(stored.buffer, (0,), stored.value.dtype)
        whole = replace(call, c=replace(call.c, first=result))  # by which its memory is known
        loops = tuple(map_statement(s, on_expr) for s in (nest.loop,))
        team_call = replace(
            called.call,
            suffix=f"{FINISHES[_results(call)]}{called.call.suffix}",
            arguments=called.call.arguments[:-_OF_RESULT],
            writes=(),
            finish=finish,
        )
        comment = tuple(dict.fromkeys((*first.comment, *second.comment)))
        kernel = replace(first, body=(whole, *before, *loops), comment=comment)
        return DeviceKernel(
            kernel, (*before, team_call), called.items, 1, called.threads or self.mapper.gpu.block,
            WARP, self.mapper.gpu.most_blocks, f"{called.mapping}, and what is computed of it",
        )  # fmt: skip


def _results(call: _Product) -> str:
    """Whether the results are sums of halves in float32, or numbers of the product's dtype."""
    return "sums" if is_half(call.a.dtype) and not is_half(call.c.dtype) else "then"


def _kernels(steps: Sequence[Step]) -> Iterator[Kernel]:
    for step in steps:
        if isinstance(step, Kernel):
            yield step
        elif (kernel := getattr(step, "kernel", None)) is not None:
            yield kernel
        yield from _kernels(steps_inside(step))


def _accessed(body: tuple[Statement, ...]) -> set[str]:
    """The buffers that statements use."""
    return {name for s in walk(body) for name in (*accessed(s), *written(s))}


def _is_whole(call: _Product, buffer: Buffer) -> bool:
    """True if the results of products fill a buffer in order."""
    *next_, row, column = call.c.strides
    count = call.count if isinstance(call, MatmulBatch) else 1
    return (
        call.c.first.index == (0,)
        and (row, column) == (call.n, 1)
        and next_ in ([], [call.m * call.n])
        and buffer.shape == (product((count, call.m, call.n)),)
    )


@dataclass(frozen=True)
class _Nest:
    """A nest whose iterations read an element each: its loops with the distances of these elements
    in the product, and its body."""

    loop: For
    steps: tuple[tuple[For, Index], ...]
    body: tuple[Statement, ...]

    def goes_down(self, columns: Index) -> bool:
        """True if it stores neighbours where the product has them below each other."""
        index = next(s.index for s in self.body if isinstance(s, Store))
        along = {f.symbol: step for f, step in self.steps if f.extent != 1}
        factors = {symbol: _factor(index[-1], symbol) for symbol in along}
        return any(
            factor == 1 and isinstance(along[s], int) and isinstance(columns, int)
            and along[s] >= columns > 1
            for s, factor in factors.items()
        )  # fmt: skip


def _nest_of(call: _Product, loop: For) -> _Nest | None:
    """The nest that reads each element of a product in an iteration of its own; None for others."""
    if not may_be_spread(loop):
        return None
    loops, inner = rectangular(loop, may_be_spread)
    plain = all(isinstance(s, Store) or (isinstance(s, Declare) and s.constant) for s in inner)
    if not plain or any(f.start != 0 or f.limit is not None for f in loops):
        return None
    found = {load.index for s in inner for load in loads(s) if load.buffer == call.c.buffer}
    if len(found) != 1 or call.c.buffer in {n for s in inner for n in written(s)}:
        return None
    ((index,),) = found
    steps = tuple((f, _factor(index, f.symbol)) for f in loops)
    if index != sum((Dim.of(f.symbol) * step for f, step in steps), 0):
        return None
    count = call.count if isinstance(call, MatmulBatch) else 1
    total: Index = 1
    for f, step in sorted(
        ((f, s) for f, s in steps if f.extent != 1), key=lambda pair: _size(pair[1])
    ):
        if step != total:
            return None
        total = total * f.extent
    whole = total == product((count, call.m, call.n))
    splits = [_is_apart(call.n, f, step) for f, step in steps if f.extent != 1]
    return _Nest(loop, steps, inner) if whole and all(splits) else None


def _is_apart(columns: Index, loop: For, step: Index) -> bool:
    """True if a loop goes along rows of a product, or from row to row, or is the only one."""
    if step == 1 and not isinstance(columns, int):
        return True
    if not (isinstance(columns, int) and isinstance(step, int)):
        return step == columns
    if step >= columns:
        return step % columns == 0
    if isinstance(loop.extent, int) and step * loop.extent <= columns:
        return columns % (step * loop.extent) == 0
    return step == 1


def _size(step: Index) -> int:
    return step if isinstance(step, int) else 1 << 62


def _factor(index: Index, symbol: Symbol) -> Index:
    """What a symbol is multiplied with in an index that is linear in it."""
    return substitute(index, {symbol: 1}) - substitute(index, {symbol: 0})


def _number(row: Dim, column: Dim, columns: Index, step: Index, extent: Index) -> Index:
    """The iteration of a loop for the element in a row and a column."""
    if extent == 1:
        return 0
    is_known = isinstance(columns, int) and isinstance(step, int)
    if step == columns or (is_known and step >= columns and step % columns == 0):
        found = row if step == columns else row // (step // columns)
    elif is_known and isinstance(extent, int) and step * extent <= columns:
        found = column if step == 1 else column // step
    else:  # along all of the product
        found = row * columns + column
    return found if _is_below(found, extent) else found % extent


def _is_below(index: Index, extent: Index) -> bool:
    return is_within(index, extent)


def _may_be_moved(call: _Product, before: Sequence[Statement], nest: _Nest) -> bool:
    """True if a nest stores nothing that the product, or what comes first, reads, as other blocks
    are not as far."""
    stores = {name for s in nest.body for name in written(s)}
    kept = {load.buffer for s in before for load in loads(s)} | {call.a.buffer, call.b.buffer}
    return bool(stores) and stores.isdisjoint(kept)
