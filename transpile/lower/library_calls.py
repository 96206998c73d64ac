"""Library calls: the statements for what is not a loop of its own, but the call of a routine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transpile.errors import InternalError
from transpile.fusion.materialize import Stage
from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.graph import Atom, Const
from transpile.ir.lapack_calls import Routine
from transpile.ir.loop_ir import Call, For, Load, Statement
from transpile.ir.types import SHORT_NAMES
from transpile.library.convolution import Convolution
from transpile.library.fft import Transform, transform_calls, transform_flops, transform_function
from transpile.library.matmul import Product, stacked, workspace_bytes
from transpile.lower.scan_calls import sum_call, sum_workspace
from transpile.lower.sort_calls import sort_calls, sort_workspace
from transpile.lower.storage import Memory, Place

LoopName = Callable[[int], str]


class Calls:
    """Writes calls; `stored` finds the place of a value, `loop_name` the name of a loop."""

    def __init__(
        self, memory: Memory, stored: Callable[[Atom], Place], loop_name: LoopName
    ) -> None:
        self.memory = memory
        self.stored = stored
        self.loop_name = loop_name

    def statements(self, stage: Stage) -> Iterator[Statement]:
        """The call that a stage is, in loops over what it does not do itself."""
        if stage.routine is not None:
            yield from self._routine(stage, stage.routine)
        elif stage.transform is not None:
            yield from self._transform(stage, stage.transform)
        elif stage.wholes and stage.equation.primitive.kind == "sort":
            yield from self._sort(stage)
        elif stage.wholes:
            yield self._cumulative_sum(stage)
        elif isinstance(stage.product, Convolution):
            yield self._convolution(stage, stage.product)
        elif stage.product is not None:
            yield from self._product(stage, stage.product)
        else:
            raise InternalError(f"{stage.equation.primitive} is no library call")

    def _sort(self, stage: Stage) -> Iterator[Statement]:
        scratch = self.memory.scratch(sort_workspace(stage.equation))
        keys = [self.stored(atom) for atom in stage.wholes]
        yield from sort_calls(stage.equation, keys, self.stored(stage.var), scratch)

    def _cumulative_sum(self, stage: Stage) -> Call:
        scratch = self.memory.scratch(sum_workspace(stage.equation))
        (operand,) = map(self.stored, stage.wholes)
        return sum_call(stage.equation, operand, self.stored(stage.var), scratch)

    def _product(self, stage: Stage, found: Product) -> Iterator[Statement]:
        """Loops over the leading axes around a product, or around a stack of small ones."""
        out = self.stored(stage.var)
        stack = stacked(found)
        loops = found.batch[: len(found.batch) - stack.axes]
        batch = [Symbol(self.loop_name(d), 0, extent) for d, extent in enumerate(loops)]
        where: list[Index] = [0 if s.extent == 1 else Dim.of(s) for s in batch]
        places = [self.stored(o.base) for o in found.operands]
        arguments: list[Index | Load] = [found.m, found.n, found.k]
        for operand, place, step in zip(found.operands, places, stack.steps, strict=True):
            offset = operand.offset
            for position, stride in zip(where, operand.batch_strides, strict=False):
                offset = offset + position * stride
            arguments.append(place.at(offset))
            arguments += [step] * (stack.count > 1)
            arguments += [operand.row_stride, operand.column_stride]
        arguments.append(out.load((*where, *[0] * (len(out.shape) - len(where)))))
        size = workspace_bytes(found, out.dtype.itemsize)
        function, flops = "matmul", 2 * found.m * found.n * found.k
        if stack.count > 1:
            function, flops = "matmul_batch", flops * stack.count
            arguments = [stack.count, *arguments, found.m * found.n, found.n, stack.places]
            size = (size + 63) // 64 * 64 * stack.places
        else:
            arguments.append(found.n)
        scratch = self.memory.scratch(size)
        writes = (out.name, scratch.name)
        call = Call(
            f"{function}_{SHORT_NAMES[out.dtype]}",
            (*arguments, scratch.first),
            writes,
            flops=flops,
        )
        yield from looped(batch, (call,))

    def _convolution(self, stage: Stage, found: Convolution) -> Statement:
        out, suffix = self.stored(stage.var), SHORT_NAMES[stage.var.type.dtype]
        scratch = self.memory.scratch(found.workspace)
        plan = self.memory.constant(Const(found.plan, name="plan"))
        operands = (self.stored(o.base).at(o.offset) for o in found.operands)
        arguments: tuple[Index | Load, ...]
        arguments = (plan.first, found.flops, *operands, out.first, scratch.first)
        writes = (out.name, scratch.name)
        return Call(f"{found.function}_{suffix}", arguments, writes, flops=found.flops)

    def _transform(self, stage: Stage, found: Transform) -> Iterator[Statement]:
        """A call for each axis; all but the first work in the memory of the result."""
        out, source = self.stored(stage.var), self.stored(found.base)
        calls = list(transform_calls(stage.equation, found, self.loop_name))
        scratch = self.memory.scratch(max(call[0].workspace for call in calls))
        function = transform_function(stage.equation)
        for plan, loops, numbers, start, to in calls:
            constants = [
                self.memory.constant(Const(v, name=n))
                for n, v in (("plan", plan.numbers), ("factors", plan.table))
            ]
            places = ((source, start, numbers[2:5]), (out, to, numbers[5:]))
            arguments: list[Index | Load] = [c.first for c in constants]
            arguments += numbers[:2]
            for place, first, steps in places:
                arguments += [place.at(first), *steps]
            arguments.append(scratch.first)
            flops = transform_flops(plan, numbers)
            body = (Call(function, tuple(arguments), (out.name, scratch.name), flops=flops),)
            yield from looped(list(loops), body)
            source = out
            if out.dtype.kind == "c":
                function = f"fft_complex_{SHORT_NAMES[out.dtype]}"

    def _routine(self, stage: Stage, found: Routine) -> Iterator[Statement]:
        """A loop over the leading axes around the call of a library."""
        batch = [Symbol(self.loop_name(d), 0, extent) for d, extent in enumerate(found.batch)]
        where = tuple(0 if s.extent == 1 else Dim.of(s) for s in batch)
        places = [self.stored(a) for a in (*stage.equation.inputs, *stage.results)]
        scratch = self.memory.scratch(found.workspace)
        shapes = (*found.operands, *found.results)
        arguments: list[Index | Load] = list(found.sizes)
        arguments += [
            place.load((*where, *[0] * len(shape)))
            for place, shape in zip(places, shapes, strict=True)
        ]
        arguments.append(scratch.first)
        writes = (*(place.name for place in places[len(found.operands) :]), scratch.name)
        yield from looped(batch, (Call(found.function, tuple(arguments), writes, found),))


def looped(loops: list[Symbol], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements inside loops, of which those of one iteration are left out."""
    for symbol in reversed(loops):
        if symbol.extent is not None and symbol.extent != 1:
            body = (For(symbol, symbol.extent, body),)
    return body
