"""Lowering: the fused stages become kernels in the loop language.

Each outermost loop is a kernel; scalar statements between loops go with the kernel before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, count, islice

import numpy as np

from transpile import walks
from transpile.dims import Dim, Index, Shape, Symbol, bounds, substitute, symbols_of, unravel
from transpile.errors import InternalError
from transpile.fourier import Transform, transform_calls, transform_flops, transform_function
from transpile.graph import UNKNOWN_SOURCE, Atom, Const, Graph, Source
from transpile.loops import (
    Alloc,
    Buffer,
    Call,
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
    Store,
    Update,
)
from transpile.names import LOOP_NAMES, Names
from transpile.nest import Fused, Home, Nest, explain, fuse, reads_in_place
from transpile.placement import Scatter, Stage
from transpile.primitives.indexing import dynamic_update_slice
from transpile.primitives.reductions import identity
from transpile.products import workspace_bytes
from transpile.routines import Routine
from transpile.sorts import sort_calls, sort_workspace
from transpile.types import SHORT_NAMES
from transpile.walks import map_expr

Donated = tuple[int | tuple[int, int], ...]

# A kernel's comment quotes at most this many lines of Python.
LONGEST_COMMENT = 6


def lower(graph: Graph, donated: Donated = ()) -> Program:
    """The program that computes an optimised graph; `donated` are positions of its inputs, with
    that of the only output that may take its memory where an input is assigned to."""
    return _Lowering(graph, fuse(graph)).program(donated)


class _Lowering:
    def __init__(self, graph: Graph, fused: Fused) -> None:
        self.graph = graph
        self.fused = fused
        self.placement = fused.placement
        self.names = Names()
        self.function = self.names.new(graph.name)
        self.buffers: dict[Atom, Buffer] = {}
        self.temporaries: list[Buffer] = []
        self.constants: list[Buffer] = []
        self.inputs = tuple(self._buffer(v, v.name or "x") for v in graph.inputs)
        self.outputs = tuple(self._output_buffers())
        self.updated_in_place = self._share_buffers()
        for key, atom in list(self.placement.atoms.items()):  # global names before local ones
            producer = self.placement.by_key.get(key)
            if producer is None or self.fused.homes[producer].kind == "stored":
                self._stored(atom)
        self.in_place = self._values_read_in_place()
        self.scalars: dict[Stage, str] = {}
        self.rows: dict[Stage, Buffer] = {}
        self.symbols: dict[Stage, dict[Symbol, Index]] = {}
        self.scope = self.names.inner()

    # ------------------------------------------------------------------------------ buffers

    def _buffer(self, atom: Atom, hint: str) -> Buffer:
        value = atom.value if isinstance(atom, Const) else None
        buffer = Buffer(self.names.new(hint), atom.type.shape, atom.type.dtype, value)
        self.buffers[atom] = buffer
        return buffer

    def _output_buffers(self) -> Iterator[Buffer]:
        hints = self.graph.output_names
        several = len(self.graph.outputs) > 1
        for position, atom in enumerate(self.graph.outputs):
            default = f"out_{position}" if several else "out"
            hint = hints[position] if hints else getattr(atom, "name", "")
            yield self._buffer(atom, hint or default)

    def _stored(self, atom: Atom) -> Buffer:
        """The buffer of a value in memory; constants and temporaries get theirs when first met."""
        buffer = self.buffers.get(atom)
        if buffer is None:
            buffer = self._buffer(atom, atom.name or ("c" if isinstance(atom, Const) else "t"))
            (self.constants if isinstance(atom, Const) else self.temporaries).append(buffer)
        return buffer

    def _values_read_in_place(self) -> set[Stage]:
        found: set[Stage] = set()
        for stage in self.placement.stages:
            for key, reads in stage.reads.items():
                producer = self.placement.by_key.get(key)
                if (
                    producer is not None
                    and self.fused.homes[producer].kind == "stored"
                    and all(reads_in_place(self.fused, producer, stage, r) for r in reads)
                ):
                    found.add(producer)
        return found

    # ------------------------------------------------------------------------------ kernels

    def program(self, donated: Donated) -> Program:
        kernels: list[Kernel] = []
        group: list[Nest | Stage] = []
        for item in self.fused.items:
            if _starts_kernel(item) and any(map(_starts_kernel, group)):
                kernels.append(self._kernel(group, len(kernels)))
                group = []
            group.append(item)
        if group:
            kernels.append(self._kernel(group, len(kernels)))
        if len(kernels) == 1:
            kernels = [
                Kernel(
                    self.names.new(f"{self.function}_kernel"),
                    kernels[0].body,
                    kernels[0].source,
                    kernels[0].comment,
                )
            ]
        program = Program(
            self.function,
            self.inputs,
            self.outputs,
            tuple(kernels),
            tuple(self.temporaries),
            tuple(self.constants),
            placements=tuple(explain(self.fused)),
            donated=tuple(self.inputs[p].name for p in donated if isinstance(p, int)),
            written=tuple(
                (self.inputs[p[0]].name, self.outputs[p[1]].name)
                for p in donated
                if not isinstance(p, int)
            ),
        )
        walks.check(program)
        return program

    def _kernel(self, items: list[Nest | Stage], number: int) -> Kernel:
        self.scope = self.names.inner()
        body = tuple(self._items(items, 0))
        sources: dict[Source, None] = {}
        for stage in _stages(items):
            for source in stage.sources:
                if source.line:
                    sources.setdefault(source)
        ordered = sorted(sources, key=lambda s: (s.file, s.line))
        comment = tuple(f"{s}: {s.text}" if s.text else str(s) for s in ordered)
        if len(comment) > LONGEST_COMMENT:
            comment = (*comment[: LONGEST_COMMENT - 1], "...")
        return Kernel(
            self.names.new(f"{self.function}_{number + 1}"),
            body,
            ordered[0] if ordered else UNKNOWN_SOURCE,
            comment,
        )

    def _items(self, items: list[Nest | Stage], depth: int) -> Iterator[Statement]:
        for item in items:
            if isinstance(item, Nest):
                yield from self._loop(item)
            elif item.routine is not None:
                yield from self._routine(item, item.routine)
            elif item.transform is not None:
                yield from self._transform(item, item.transform)
            elif item.sorted:
                yield from self._sort(item)
            elif item.kind == "call":
                yield from self._call(item)
            elif item.scatter is not None:
                yield from self._scatter(item, item.scatter)
            else:
                yield from self._leaf(item, depth)

    def _loop_name(self, depth: int) -> str:
        """The name of the loops at a depth: i, j, k and so on, where no array is called that."""
        free = (n for n in chain(LOOP_NAMES, map("i{}".format, count(1))) if n not in self.names)
        return next(islice(free, depth, None))

    def _loop(self, nest: Nest) -> Iterator[Statement]:
        depth = nest.depth
        name = self._loop_name(depth)
        symbol = Symbol(name, 0, nest.symbol.extent)
        accumulating: list[Stage] = []
        for stage in nest.stages:
            self.symbols.setdefault(stage, {})[stage.order[depth]] = Dim.of(symbol)
            if (depth == stage.rank and stage.kind == "reduce") or (
                depth == stage.rank - 1 and stage.kind == "scan"
            ):
                accumulating.append(stage)
        for stage in accumulating:
            yield Declare(self._scalar(stage), self._start(stage), constant=False)
        body: list[Statement] = []
        for stage in nest.stages:
            home = self.fused.homes[stage]
            if home.kind == "row" and home.loop is nest:
                body.append(Alloc(self._row(stage, home)))
        body += self._items(nest.items, depth + 1)
        if symbol.extent is None:
            raise InternalError(f"the loop {name} has no extent")
        yield For(symbol, symbol.extent, tuple(body))
        for stage in accumulating:
            if stage.kind == "reduce":
                yield from self._keep(stage, Ref(self.scalars[stage], stage.var.type.dtype))

    def _leaf(self, stage: Stage, depth: int) -> Iterator[Statement]:
        if stage.body is None:
            raise InternalError(f"{stage.equation.primitive} has no expression")
        yield from self._subscripts(stage)
        value = self._expression(stage, stage.body)
        dtype = stage.var.type.dtype
        if stage.kind in ("reduce", "scan"):
            accumulator = Ref(self._scalar(stage), dtype)
            if stage.rank + (stage.kind == "reduce") > depth and not stage.order:
                yield Declare(accumulator.name, self._start(stage), constant=False)
            yield Update(accumulator, stage.combine, value)
            if stage.kind == "scan":
                yield from self._keep(stage, accumulator)
        elif self.fused.homes[stage].kind == "scalar" or stage in self.in_place:
            name = self._scalar(stage)
            yield Declare(name, value)
            yield from self._keep(stage, Ref(name, dtype))
        else:
            yield from self._keep(stage, value)

    def _subscripts(self, stage: Stage, whole: Stage | None = None) -> Iterator[Statement]:
        """The variables for subscripts that are read from arrays."""
        for symbol, value in stage.bound.items():
            variable = Symbol(self.scope.new("at"), symbol.lower, symbol.extent)
            yield Declare(variable.name, self._expression(stage, value, whole), symbol=variable)
            self.symbols.setdefault(stage, {})[symbol] = Dim.of(variable)

    def _keep(self, stage: Stage, value: Expr) -> Iterator[Statement]:
        """Put a computed element where it lives, unless that is the scalar it is in."""
        home = self.fused.homes[stage]
        index = self._index(stage, stage.index)
        if home.kind == "row":
            yield Store(self.rows[stage].name, tuple(index[a] for a in home.kept), value)
        elif home.kind == "stored":
            yield Store(self._stored(stage.var).name, index, value)

    # ------------------------------------------------------------------------- names, values

    def _scalar(self, stage: Stage) -> str:
        if stage not in self.scalars:
            default = "acc" if stage.kind in ("reduce", "scan") else "t"
            self.scalars[stage] = self.scope.new(stage.var.name or default)
        return self.scalars[stage]

    def _row(self, stage: Stage, home: Home) -> Buffer:
        name = self.scope.new(stage.var.name or "row")
        self.rows[stage] = Buffer(name, home.shape, stage.var.type.dtype)
        return self.rows[stage]

    def _start(self, stage: Stage) -> Literal:
        dtype = stage.var.type.dtype
        return Literal(identity(stage.combine, dtype).value[()], dtype)

    def _index(self, stage: Stage, index: Shape) -> Shape:
        values = self.symbols.get(stage, {})
        return tuple(substitute(i, values) for i in index)

    def _expression(self, stage: Stage, expr: Expr, whole: Stage | None = None) -> Expr:
        """The expression in the names of the program; `whole` is what the stage is a part of."""
        values = self.symbols.get(stage, {})

        def resolve(part: Expr) -> Expr:
            part = walks.map_indices(part, lambda i: substitute(i, values))
            return self._load(whole or stage, part) if isinstance(part, Load) else part

        return map_expr(expr, resolve)

    def _load(self, reader: Stage, load: Load) -> Expr:
        """A read of a value, from wherever it lives."""
        atom = self.placement.atoms[load.buffer]
        producer = self.placement.by_key.get(load.buffer)
        if producer is not None:
            home = self.fused.homes[producer]
            if home.kind == "row":
                return Load(
                    self.rows[producer].name, tuple(load.index[a] for a in home.kept), load.dtype
                )
            here = producer in self.in_place and all(
                reads_in_place(self.fused, producer, reader, r) for r in reader.reads[load.buffer]
            )
            if home.kind == "scalar" or here:
                return Ref(self._scalar(producer), load.dtype)
        return Load(self._stored(atom).name, load.index, load.dtype)

    # ---------------------------------------------------------------------------- scatters

    def _scatter(self, stage: Stage, found: Scatter) -> Iterator[Statement]:
        """All elements first, unless they are there already; then the updates, in order."""
        out = self._stored(stage.var)
        if stage not in self.updated_in_place:
            yield from self._nest(found.first, stage, lambda i, v: [Store(out.name, i, v)])

        def update(index: Shape, value: Expr) -> list[Statement]:
            target = Load(out.name, index, out.dtype)
            step: Statement = Store(out.name, index, value)
            if found.then.combine != "set":
                step = Update(target, found.then.combine, value)
            for test in found.tests:
                step = If(self._expression(found.then, test, stage), (step,))
            return [step]

        yield from self._nest(found.then, stage, update)

    def _nest(
        self, part: Stage, whole: Stage, write: Callable[[Shape, Expr], list[Statement]]
    ) -> Iterator[Statement]:
        """The loops of a part of a stage around what `write` makes of its element."""
        loops = [Symbol(self._loop_name(d), 0, s.extent) for d, s in enumerate(part.order)]
        self.symbols[part] = {s: Dim.of(named) for s, named in zip(part.order, loops, strict=True)}
        if part.body is None:
            raise InternalError(f"{part.equation.primitive} has no expression")
        body = list(self._subscripts(part, whole))
        body += write(self._index(part, part.index), self._expression(part, part.body, whole))
        for symbol in reversed(loops):
            body = [For(symbol, symbol.extent or 0, tuple(body))]
        yield from body

    def _share_buffers(self) -> set[Stage]:
        """The updates that find their operand in the buffer of their result: nothing reads it
        later, and they themselves read nothing of it that they have changed."""
        ordered = list(_stages(self.fused.items))
        last = {key: stage for stage in ordered for key in stage.reads}
        found: set[Stage] = set()
        for stage in reversed(ordered):
            if stage.scatter is None:
                continue
            x = stage.equation.inputs[0]
            key = self.placement.key(x)
            if (
                key in self.placement.by_key
                and x not in self.buffers
                and last.get(key) is stage
                and _reads_in_time(stage.scatter, key)
            ):
                self.buffers[x] = self._stored(stage.var)
                found.add(stage)
        return found

    # ------------------------------------------------------------- sorts, matrix products

    def _sort(self, stage: Stage) -> Iterator[Statement]:
        size = sort_workspace(stage.equation)
        scratch = Buffer(self.names.new("scratch"), (size,), np.dtype("uint8"))
        self.temporaries.append(scratch)
        keys = [self._stored(atom) for atom in stage.sorted]
        yield from sort_calls(stage.equation, keys, self._stored(stage.var), scratch)

    def _call(self, stage: Stage) -> Iterator[Statement]:
        found = stage.product
        if found is None:
            raise InternalError(f"{stage.equation.primitive} is no library call")
        out = self._stored(stage.var)
        batch = [Symbol(self._loop_name(d), 0, extent) for d, extent in enumerate(found.batch)]
        where: list[Index] = [0 if s.extent == 1 else Dim.of(s) for s in batch]
        arguments: list[Index | Load] = [found.m, found.n, found.k]
        for operand in found.operands:
            offset = operand.offset
            for position, stride in zip(where, operand.batch_strides, strict=True):
                offset = offset + position * stride
            buffer = self._stored(operand.base)
            arguments += [
                Load(buffer.name, unravel(offset, buffer.shape), buffer.dtype),
                operand.row_stride,
                operand.column_stride,
            ]
        inner = (0,) * (len(out.shape) - len(where))
        scratch = Buffer(
            self.names.new("scratch"),
            (workspace_bytes(found, out.dtype.itemsize),),
            np.dtype("uint8"),
        )
        self.temporaries.append(scratch)
        arguments += [
            Load(out.name, (*where, *inner), out.dtype),
            found.n,
            Load(scratch.name, (0,), scratch.dtype),
        ]
        suffix = SHORT_NAMES[out.dtype]
        body: tuple[Statement, ...] = (
            Call(f"matmul_{suffix}", tuple(arguments), (out.name, scratch.name)),
        )
        yield from _looped(batch, body)

    def _transform(self, stage: Stage, found: Transform) -> Iterator[Statement]:
        """A call for each axis; all but the first work in the memory of the result."""
        out, source = self._stored(stage.var), self._stored(found.base)
        calls = list(transform_calls(stage.equation, found, self._loop_name))
        size = max(call[0].workspace for call in calls)
        scratch = Buffer(self.names.new("scratch"), (size,), np.dtype("uint8"))
        self.temporaries.append(scratch)
        function = transform_function(stage.equation)
        for plan, loops, numbers, start, to in calls:
            constants = [
                self._stored(Const(v, name=n))
                for n, v in (("plan", plan.numbers), ("factors", plan.table))
            ]
            places = ((source, start, numbers[2:5]), (out, to, numbers[5:]))
            arguments: list[Index | Load] = [Load(c.name, (0,), c.dtype) for c in constants]
            arguments += numbers[:2]
            for buffer, first, steps in places:
                arguments.append(Load(buffer.name, unravel(first, buffer.shape), buffer.dtype))
                arguments += steps
            arguments.append(Load(scratch.name, (0,), scratch.dtype))
            flops = transform_flops(plan, numbers)
            body = (Call(function, tuple(arguments), (out.name, scratch.name), flops=flops),)
            yield from _looped(list(loops), body)
            source = out
            if out.dtype.kind == "c":
                function = f"fft_complex_{SHORT_NAMES[out.dtype]}"

    def _routine(self, stage: Stage, found: Routine) -> Iterator[Statement]:
        """A loop over the leading axes around the call of a library."""
        batch = [Symbol(self._loop_name(d), 0, extent) for d, extent in enumerate(found.batch)]
        where = tuple(0 if s.extent == 1 else Dim.of(s) for s in batch)
        buffers = [self._stored(a) for a in (*stage.equation.inputs, *stage.results)]
        scratch = Buffer(self.names.new("scratch"), (found.workspace,), np.dtype("uint8"))
        self.temporaries.append(scratch)
        shapes = (*found.operands, *found.results)
        arguments: list[Index | Load] = list(found.sizes)
        arguments += [
            Load(b.name, (*where, *[0] * len(shape)), b.dtype)
            for b, shape in zip(buffers, shapes, strict=True)
        ]
        arguments.append(Load(scratch.name, (0,), scratch.dtype))
        writes = (*(b.name for b in buffers[len(found.operands) :]), scratch.name)
        yield from _looped(batch, (Call(found.function, tuple(arguments), writes, found),))


def _looped(loops: list[Symbol], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements inside loops, of which those of one iteration are left out."""
    for symbol in reversed(loops):
        if symbol.extent is not None and symbol.extent != 1:
            body = (For(symbol, symbol.extent, body),)
    return body


def _starts_kernel(item: Nest | Stage) -> bool:
    return isinstance(item, Nest) or item.kind in ("call", "scatter")


def _reads_in_time(found: Scatter, key: str) -> bool:
    """Tell whether the updates of an array, made where it lies, read only what no other one has
    changed: the element that is updated next, or those that none updates."""
    then = found.then
    if any(load.buffer == key for load in _loads(*then.bound.values(), *found.tests)):
        return False
    once = {s for part in then.index for s in symbols_of(part)} >= set(then.order)
    plain = then.equation.primitive is dynamic_update_slice  # one start for all its elements
    return all(
        (once and plain and load.index == then.index)
        or any(map(_are_apart, load.index, then.index))
        for load in _loads(*([then.body] if then.body is not None else []))
        if load.buffer == key
    )


def _are_apart(a: Index, b: Index) -> bool:
    """Tell whether two subscripts never meet, in whatever iterations."""
    (low_a, high_a), (low_b, high_b) = bounds(a), bounds(b)
    return (high_a is not None and low_b is not None and high_a < low_b) or (
        high_b is not None and low_a is not None and high_b < low_a
    )


def _loads(*expressions: Expr) -> Iterator[Load]:
    for expression in expressions:
        yield from (p for p in walks.subexpressions(expression) if isinstance(p, Load))


def _stages(items: list[Nest | Stage]) -> Iterator[Stage]:
    for item in items:
        if isinstance(item, Nest):
            yield from item.stages
        else:
            yield item
