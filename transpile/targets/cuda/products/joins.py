"""Elementwise work before and behind a matrix product, in the launch of the product.

    call t = x w                                  call x w, and of each of its elements
    for i, j: out[i, j] = tanh(t[i, j] + b[j])        out[i, j] = tanh(element + b[j])

Where a nest is all that reads a product, and reads each element in one iteration, the block that
has computed the element runs that iteration, and the product is never stored. The nest may be
anything elementwise: activations, sums with other arrays, conversions, several results. It stays a
launch of its own behind products of the library, of few vectors, and of sums in parts.

    for i, p: t[i, p] = x[i + p - 1] if i + p >= 1 else 0     call of product (w), whose rows
    call out = t w                                                are gathered from x

Likewise the left operand is not stored where a nest repeats numbers, as the patches of a
convolution do, and only the product reads it: threads compute an element when they would load it.
As that is done again for each tile beside another one, it is for products of few columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from transpile.analysis.cost_model import work
from transpile.intrinsics.products import ComplexMatmul, Matmul, MatmulBatch
from transpile.ir.dims import Index, Symbol
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.lengths import lengths_of
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Declare,
    Expr,
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
    used_buffers,
    walk,
    written,
)
from transpile.ir.types import is_half
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import DeviceKernel, Step, TeamCall, steps_inside, with_steps
from transpile.targets.cuda.gpu import WARP
from transpile.targets.cuda.mapping.grid import Mapper
from transpile.targets.cuda.products.finish import Finish, Gather
from transpile.targets.cuda.products.nests import Nest, nest_of, over_matrix
from transpile.targets.cuda.routines.functions import WIDEST, routine
from transpile.targets.cuda.routines.library_products import library_product
from transpile.targets.cuda.routines.tiles import FINISHES, GATHERS
from transpile.util.frozen_records import dataclass, replace

_Product = Matmul | ComplexMatmul | MatmulBatch
# The functions that have a place for both, and their arguments for the left operand, and for the
# result.
_FUNCTIONS = ("matmul", "matmul_wide")
_LEFT, _OF_RESULT = slice(4, 8), 3
# Tiles beside each other for which an operand is gathered anew; the loads of a gather, and its
# work; and how often it has each number that it reads.
_MOST_ACROSS, _MOST_LOADS, _MOST_WORK, _LEAST_REPEATED = 2, 2, 16, 2


def with_joined_products(
    steps: Sequence[Step], program: Program, mapper: Mapper
) -> tuple[Step, ...]:
    """The steps, in which a product and the nests around it are one mapped kernel."""
    return _Joiner(steps, program, mapper).joined(steps)


@dataclass(frozen=True)
class _Behind:
    """The kernel behind a product: scalars, and a nest over its elements."""

    kernel: Kernel
    before: tuple[Statement, ...]
    nest: Nest


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
        gathered: dict[int, Nest] = {}
        gone: set[int] = set()
        for number, step in enumerate(steps):
            found = self._gathered(steps, number, step)
            if found is not None:
                gathered[number], position = found
                gone.add(position)
        made: list[Step] = []
        for number, step in enumerate(steps):
            if number in gone:
                continue
            call = self._product(step)
            if call is None:
                made.append(with_steps(step, self.joined))
                continue
            nest = gathered.get(number)
            behind = self._behind(call, steps[number + 1 : number + 2], _read(nest))
            if behind is not None:
                gone.add(number + 1)
            is_joined = behind is not None or nest is not None
            made.append(self._mapped(step, call, behind, nest) if is_joined else step)
        return tuple(made)

    def _product(self, step: Step) -> _Product | None:
        """The product that is all of a kernel, by tiles of our own; None for others."""
        match step:
            case Kernel(body=(Matmul() | ComplexMatmul() | MatmulBatch() as call,)):
                pass
            case _:
                return None
        gpu = self.mapper.gpu
        if any(map(lengths_of, call.numbers)) or library_product(call, gpu) is not None:
            return None
        function = routine(call, step.source, gpu, is_shared_out=True).call.routine
        return call if function in _FUNCTIONS else None

    def _is_between(self, name: str) -> bool:
        """True for a temporary that one kernel fills and another one reads."""
        return name in self.temporaries and name not in self.swapped and self.users[name] == 2

    # ------------------------------------------------------------------------------- behind

    def _behind(self, call: _Product, steps: Sequence[Step], gathered: set[str]) -> _Behind | None:
        """The kernel behind a product, if it is all that reads the product, element by element, and
        stores nothing that the product, or what comes first there, reads: other blocks are not as
        far."""
        t, rows = call.c.buffer, _rows(call)
        if not (steps and isinstance(steps[0], Kernel) and steps[0].body and self._is_between(t)):
            return None
        *next_, row, column = call.c.strides
        is_whole = self.temporaries[t].shape == (product((rows, call.n)),)
        in_order = (row, column) == (call.n, 1) and next_ in ([], [call.m * call.n])
        if not (is_whole and in_order and call.c.first.index == (0,)):
            return None
        *before, last = steps[0].body
        if not all(isinstance(s, Declare) and s.constant for s in before):
            return None
        plain = nest_of(last)
        if plain is None or any(t in accessed(s) for s in before):
            return None
        found = {load.index for s in plain[1] for load in loads(s) if load.buffer == t}
        stores = {name for s in plain[1] for name in written(s)}
        kept = {load.buffer for s in before for load in loads(s)} | gathered
        kept |= {call.a.buffer, call.b.buffer}
        if len(found) != 1 or t in stores or not stores or stores & kept:
            return None
        ((index,),) = found
        nest = over_matrix(*plain, index, rows, call.n)
        return None if nest is None else _Behind(steps[0], tuple(before), nest)

    # ------------------------------------------------------------------------------- before

    def _gathered(self, steps: Sequence[Step], number: int, step: Step) -> tuple[Nest, int] | None:
        """The nest that fills the left operand of a product, if the product alone reads that, and
        its position among the steps."""
        call = self._product(step)
        if call is None or call.a.buffer == call.b.buffer or is_half(call.a.dtype):
            return None
        if not self._is_between(call.a.buffer) or estimate(call.n) > _MOST_ACROSS * WIDEST:
            return None
        *next_, row, column = call.a.strides
        whole = self.temporaries[call.a.buffer].shape == (product((_rows(call), call.k)),)
        in_order = (row, column) == (call.k, 1) and next_ in ([], [call.m * call.k])
        if not (whole and in_order and call.a.first.index == (0,)):
            return None
        changed: set[str] = {call.c.buffer}
        for position in reversed(range(number)):
            made = steps[position]
            if isinstance(made, Kernel) and call.a.buffer in _accessed(made.body):
                nest = self._gather(call, made)
                stays = _read(nest).isdisjoint(changed)
                return (nest, position) if nest is not None and stays else None
            if not isinstance(made, Kernel):
                return None
            changed |= used_buffers(made)[1]
        return None

    def _gather(self, call: _Product, kernel: Kernel) -> Nest | None:
        """The nest of a kernel that does nothing but fill the left operand, with little work, and
        repeats what it reads: else the operand is no larger, and read faster where it is stored."""
        plain = nest_of(kernel.body[0]) if len(kernel.body) == 1 else None
        if plain is None:
            return None
        stores = [s for s in plain[1] if isinstance(s, Store)]
        read = [load for s in plain[1] for load in loads(s)]
        is_little = 1 <= len(read) <= _MOST_LOADS and all(
            load.buffer != call.a.buffer for load in read
        )
        if len(stores) != 1 or not is_little or sum(map(work, plain[1])) > _MOST_WORK:
            return None
        sources = {load.buffer: self.mapper.buffers.get(load.buffer) for load in read}
        size = sum(product(b.shape) for b in sources.values() if b is not None)
        rows = _rows(call)
        if None in sources.values() or not isinstance(rows, int) or not isinstance(size, int):
            return None
        if _LEAST_REPEATED * size > rows * estimate(call.k):
            return None
        return over_matrix(*plain, stores[0].index[0], rows, call.k)

    # ------------------------------------------------------------------------------- mapping

    def _mapped(
        self, step: Step, call: _Product, behind: _Behind | None, gathered: Nest | None
    ) -> DeviceKernel:
        assert isinstance(step, Kernel)
        gpu, names = self.mapper.gpu, self.mapper.names.inner()
        called = routine(call, step.source, gpu, is_shared_out=True)
        whole, team_call = call, called.call
        before: tuple[Statement, ...] = ()
        # By these statements the memory of the launch is known.
        others: list[Statement] = []
        words, comment = called.mapping, step.comment
        if gathered is not None:
            gather = _gather_of(call, gathered, names)
            read = next(load for s in gathered.body for load in loads(s))
            whole = replace(whole, a=replace(whole.a, first=replace(read, index=(0,))))
            others += [s for s in gather.body if isinstance(s, Declare)]
            team_call = _with_gather(team_call, call, gather)
        if behind is not None:
            finish = _finish_of(call, behind.nest, names)
            stored = next(s for s in finish.body if isinstance(s, Store))
            result = Load(stored.buffer, (0,), stored.value.dtype)
            whole = replace(whole, c=replace(whole.c, first=result))
            before, others = behind.before, [*others, *finish.body]
            team_call = _with_finish(team_call, call, finish)
            words = f"{words}, and what is computed of it"
            comment = tuple(dict.fromkeys((*comment, *behind.kernel.comment)))
        kernel = replace(step, body=(whole, *before, *others), comment=comment)
        return DeviceKernel(
            kernel, (*before, team_call), called.items, 1, called.threads or gpu.block, WARP,
            gpu.most_blocks, words,
        )  # fmt: skip


def _gather_of(call: _Product, nest: Nest, names: Names) -> Gather:
    """What computes an element of the left operand."""
    row = Symbol(names.new("row"), 0, _rows(call))
    term = Symbol(names.new("term"), 0, call.k)
    element = Ref(names.new("gathered"), call.a.dtype)
    body = tuple(
        Declare(element.name, s.value) if isinstance(s, Store) else s
        for s in nest.body_at(row, term)
    )
    return Gather(names.new("gather"), row, term, element, body)


def _with_gather(made: TeamCall, call: _Product, gather: Gather) -> TeamCall:
    """The call of a routine that gathers its left operand."""
    arguments = (*made.arguments[: _LEFT.start], gather.name, *made.arguments[_LEFT.stop :])
    reads = (call.b.buffer,)
    suffix = f"{GATHERS}{made.suffix}"
    return replace(made, suffix=suffix, arguments=arguments, reads=reads, gather=gather)


def _finish_of(call: _Product, nest: Nest, names: Names) -> Finish:
    """What is computed of an element of a product."""
    row = Symbol(names.new("row"), 0, _rows(call))
    column = Symbol(names.new("column"), 0, call.n)
    element = Ref(names.new("element"), call.c.dtype)

    def on_expr(expr: Expr) -> Expr:
        is_element = isinstance(expr, Load) and expr.buffer == call.c.buffer
        return element if is_element else expr

    body = tuple(map_statement(s, on_expr) for s in nest.body_at(row, column))
    return Finish(names.new("finish"), row, column, element, body, nest.goes_down())


def _with_finish(made: TeamCall, call: _Product, finish: Finish) -> TeamCall:
    """The call of a routine that hands out its results."""
    sums = is_half(call.a.dtype) and not is_half(call.c.dtype)
    suffix = f"{FINISHES['sums' if sums else 'then']}{made.suffix}"
    arguments = made.arguments[:-_OF_RESULT]
    return replace(made, suffix=suffix, arguments=arguments, writes=(), finish=finish)


def _rows(call: _Product) -> Index:
    """The rows of all products."""
    return product((call.m, call.count if isinstance(call, MatmulBatch) else 1))


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


def _read(nest: Nest | None) -> set[str]:
    """The buffers that a nest reads."""
    return set() if nest is None else {load.buffer for s in nest.body for load in loads(s)}
