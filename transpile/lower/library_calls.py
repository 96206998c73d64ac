"""Library calls: the statements for what is not a loop of its own, but the call of a routine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transpile.fusion.nodes import LibraryCall, RunningSum, Sorting
from transpile.intrinsics.convolutions import Convolve
from transpile.intrinsics.fourier import Fft
from transpile.intrinsics.products import Matmul
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.graph import Atom, Const
from transpile.ir.loop_ir import For, Statement
from transpile.library.convolution import Convolution
from transpile.library.fft import Transform, axis_transforms
from transpile.library.matmul import Product, stacked
from transpile.library.routines import RoutineLoop
from transpile.lower.scan_calls import sum_call
from transpile.lower.sort_calls import sort_calls
from transpile.lower.storage import Memory, Place
from transpile.machine import Machine
from transpile.util.frozen_records import replace

LoopName = Callable[[int], str]


class Calls:
    """Writes calls; `stored` finds the place of a value, `loop_name` the name of a loop."""

    def __init__(
        self,
        machine: Machine,
        memory: Memory,
        stored: Callable[[Atom], Place],
        loop_name: LoopName,
    ) -> None:
        self.machine = machine
        self.memory = memory
        self.stored = stored
        self.loop_name = loop_name

    def statements(self, node: LibraryCall) -> Iterator[Statement]:
        """The call that a node is, in loops over what it does not do itself."""
        match node.call:
            case RoutineLoop():
                yield from self._routine(node, node.call)
            case Transform():
                yield from self._transform(node, node.call)
            case Sorting():
                yield from self._sort(node)
            case RunningSum():
                yield from self._cumulative_sum(node)
            case Convolution():
                yield from self._convolution(node, node.call)
            case Product():
                yield from self._product(node, node.call)

    def _with_scratch(self, *calls: Call) -> tuple[Call, ...]:
        """Calls, with the scratch memory that they share, if they need some."""
        if not any("workspace" in call.arrays for call in calls):
            return calls
        scratch = self.memory.scratch(max(call.scratch_bytes for call in calls))
        return tuple(replace(call, workspace=Strided(scratch.first)) for call in calls)

    def _sort(self, node: LibraryCall) -> Iterator[Statement]:
        keys = [self.stored(atom) for atom in node.operands]
        yield from self._with_scratch(
            *sort_calls(node.equation, keys, self.stored(node.var), self.machine)
        )

    def _cumulative_sum(self, node: LibraryCall) -> Iterator[Statement]:
        (operand,) = map(self.stored, node.operands)
        yield from self._with_scratch(sum_call(node.equation, operand, self.stored(node.var)))

    def _product(self, node: LibraryCall, product: Product) -> Iterator[Statement]:
        """Loops over the leading axes around a product, or around a batch of small ones."""
        out = self.stored(node.var)
        stack = stacked(product, self.machine)
        loops = product.batch[: len(product.batch) - stack.axes]
        batch = [Symbol(self.loop_name(d), 0, extent) for d, extent in enumerate(loops)]
        where: list[Index] = [0 if s.extent == 1 else Dim.of(s) for s in batch]
        places = [self.stored(o.base) for o in product.operands]
        first = [
            place.at(sum((i * s for i, s in zip(where, o.batch_strides, strict=False)), o.offset))
            for place, o in zip(places, product.operands, strict=True)
        ]
        steps = [(o.row_stride, o.column_stride) for o in product.operands]
        a, b = map(Strided, first, steps)
        to = out.load((*where, *[0] * (len(out.shape) - len(where))))
        one = Matmul(product.m, product.n, product.k, a, b, Strided(to, (product.n, 1)))
        several = stack.count > 1
        call = one.batch(stack.count, stack.steps, stack.places) if several else one
        yield from looped(batch, self._with_scratch(call))

    def _convolution(self, node: LibraryCall, convolution: Convolution) -> Iterator[Statement]:
        out, layout = self.stored(node.var), convolution.plan
        plan = self.memory.constant(Const(layout.numbers, name="plan"))
        x, w = (self.stored(o.base).at(o.offset) for o in convolution.operands)
        sizes = layout.sizes
        call = Convolve(
            Strided(plan.first),
            Strided(x, sizes.x),
            Strided(w, sizes.w),
            Strided(out.first, sizes.out),
            layout,
        )
        yield from self._with_scratch(call)

    def _transform(self, node: LibraryCall, transform: Transform) -> Iterator[Statement]:
        """A call for each axis; all but the first work in the memory of the result."""
        out, source = self.stored(node.var), self.stored(transform.base)
        axes = list(axis_transforms(node.equation, transform, self.machine, self.loop_name))
        calls = []
        for part in axes:
            plan = self.memory.constant(Const(part.plan.numbers, name="plan"))
            factors = self.memory.constant(Const(part.plan.table, name="factors"))
            call = Fft(
                Strided(plan.first),
                Strided(factors.first),
                *(part.outer, part.inner),
                Strided(source.at(part.start), part.strides),
                Strided(out.at(part.out_start), part.out_strides),
                part.plan,
            )
            calls.append(call)
            source = out
        for part, with_scratch in zip(axes, self._with_scratch(*calls), strict=True):
            yield from looped(list(part.loops), (with_scratch,))

    def _routine(self, node: LibraryCall, loop: RoutineLoop) -> Iterator[Statement]:
        """A loop over the leading axes around the call of a library."""
        batch = [Symbol(self.loop_name(d), 0, extent) for d, extent in enumerate(loop.axes)]
        where = tuple(0 if s.extent == 1 else Dim.of(s) for s in batch)
        places = (self.stored(a) for a in (*node.operands, *node.results))
        arrays = [Strided(p.part(where).first) for p in places]
        yield from looped(batch, self._with_scratch(loop.call(arrays)))


def looped(loops: list[Symbol], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements inside loops, of which those of one iteration are left out."""
    for symbol in reversed(loops):
        if symbol.extent is not None and symbol.extent != 1:
            body = (For(symbol, symbol.extent, body),)
    return body
