"""Interpret the loop language element by element with NumPy scalars: the oracle of the tests.

It checks what C leaves undefined. Errors are: a subscript out of bounds, a read of an uninitialised
element, live temporaries that overlap in the workspace, and iterations of a parallel loop that race
for an element or a scalar. Parallel loops run backwards.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from transpile.analysis.oracle.index_evaluator import Indices
from transpile.analysis.oracle.shadow_memory import Memory, Team, Unwritten, Workspace, settled
from transpile.errors import InternalError
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Call, Strided, parsed_signature
from transpile.ir.dims import Index, Shape, evaluate, symbols_of
from transpile.ir.indices.lengths import lengths_in, most_of
from transpile.ir.indices.row_major import product
from transpile.ir.indices.size_solver import solved
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import seen_by, used_buffers
from transpile.ir.primitive import TABLE

# The result of near versions for operands that are not near: a value that tests notice.
FAR = -777.0


def run(program: Program, values: Sequence[Any]) -> list[Any]:
    """The outputs of a program for these inputs, as arrays.

    Raises IndexError for a subscript out of bounds and InternalError for any other error of the
    program.
    """
    with np.errstate(all="ignore"):
        return _Run(program, values).outputs()


class _Run:
    def __init__(self, program: Program, values: Sequence[Any]) -> None:
        self.program = program
        inputs = zip(program.inputs, values, strict=True)
        self.sizes = solved(program.sizes, ((b.name, b.shape, np.shape(x)) for b, x in inputs))
        self.memories: dict[str, Memory] = {}
        for buffer, value in zip(program.inputs, values, strict=True):
            self._own(buffer).fill(value)
        for buffer in program.constants:
            self._own(buffer).fill(buffer.value)
        aliases = dict(program.aliases)
        for buffer in program.outputs:
            if buffer.name in aliases:
                self.memories[buffer.name] = self.memories[aliases[buffer.name]]
            else:
                self._own(buffer)
        shared = Workspace(evaluate(program.workspace, self.sizes))
        offsets = program.offsets or (None,) * len(program.temporaries)
        for buffer, offset in zip(program.temporaries, offsets, strict=True):
            if offset is None:
                self._own(buffer)
            else:
                self.memories[buffer.name] = Memory(
                    _with_room(buffer), self.sizes, shared, evaluate(offset, self.sizes)
                )

    def _own(self, buffer: Buffer) -> Memory:
        buffer = _with_room(buffer)
        size = evaluate(buffer.size_in_bytes, self.sizes)
        self.memories[buffer.name] = Memory(buffer, self.sizes, Workspace(size), 0)
        return self.memories[buffer.name]

    def outputs(self) -> list[Any]:
        for kernel in self.program.kernels:
            _KernelRun(self, kernel).body(kernel.body)
            self._find_lengths(used_buffers(kernel)[1])
        results = []
        for buffer in self.program.returned:
            memory = self.memories[buffer.name]
            shape = tuple(evaluate(d, self.sizes) for d in buffer.shape)
            elements = [settled(memory.read(p)) for p in range(math.prod(shape))]
            results.append(np.array(elements, buffer.dtype).reshape(shape))
        return results

    def _find_lengths(self, written: Container[str]) -> None:
        """Read the lengths that a kernel has counted, and check what they must be."""
        for length, name in self.program.lengths:
            if name in written:
                self.sizes[length.name] = int(settled(self.memories[name].read(0)))
        for smaller, larger, text in self.program.required:
            is_known = {s.name for s in symbols_of(larger - smaller)} <= self.sizes.keys()
            if is_known and evaluate(smaller - larger, self.sizes) > 0:
                raise ValueError(text)


def _with_room(buffer: Buffer) -> Buffer:
    """A buffer with room for as many elements as there may be."""
    if not lengths_in([buffer.shape]):
        return buffer
    return Buffer(buffer.name, (most_of(product(buffer.shape)),), buffer.dtype)


class _KernelRun:
    """The state of one kernel's run: scalars, local arrays, values of symbols."""

    def __init__(self, run: _Run, kernel: Kernel) -> None:
        self.indices = Indices(run.sizes)
        self.memories = dict(run.memories)
        self.shapes: dict[str, Shape] = {
            name: b.shape for name, b in seen_by(run.program, kernel).items()
        }
        self.scalars: dict[str, Any] = {}
        self.hidden: list[tuple[dict[str, Any], str, Any]] = []
        self.private: set[str] | None = None
        self.near = False
        self.teams: list[Team] = []

    # ------------------------------------------------------------------------------ statements

    def body(self, statements: tuple[Statement, ...]) -> None:
        """Run the statements of one scope and drop its declarations."""
        around, self.hidden = self.hidden, []
        for statement in statements:
            self.statement(statement)
        self.leave(around)

    def leave(self, around: list[tuple[dict[str, Any], str, Any]]) -> None:
        """Leave a scope: restore the declarations that it shadowed."""
        for names, name, value in reversed(self.hidden):
            if value is None:
                del names[name]
            else:
                names[name] = value
        self.hidden = around

    def declare(self, names: dict[str, Any], name: str, value: Any) -> None:
        self.hidden.append((names, name, names.get(name)))
        names[name] = value

    def statement(self, statement: Statement) -> None:
        match statement:
            case For():
                self.loop(statement)
            case If():
                chosen = settled(self.value(statement.condition))
                self.body(statement.body if chosen else statement.orelse)
            case While():
                self.repeat(statement)
            case Swap(first=first, second=second):
                names = self.memories
                names[first], names[second] = names[second], names[first]
            case Declare(name=name):
                self.declare(self.scalars, name, self.value(statement.value))
                if statement.symbol is not None:
                    self.declare(self.indices, name, int(settled(self.scalars[name])))
                if self.private is not None:
                    self.private.add(name)
            case Update(target=target, op=op):
                self.update(target, op, settled(self.value(statement.value)))
            case Store(buffer=buffer, index=index):
                self.write(buffer, index, settled(self.value(statement.value)))
            case Alloc(buffer=buffer):
                size = evaluate(buffer.size_in_bytes, self.indices)
                memory = Memory(buffer, self.indices, Workspace(size), 0)
                self.declare(self.memories, buffer.name, memory)
                self.declare(self.shapes, buffer.name, buffer.shape)
            case Call():
                self.call(statement)

    def repeat(self, loop: While) -> None:
        """Run a while loop: one scope for test, condition and body."""
        goes_on = True
        while goes_on:
            around, self.hidden = self.hidden, []
            for statement in loop.test:
                self.statement(statement)
            goes_on = bool(settled(self.value(loop.condition)))
            if goes_on:
                self.body(loop.body)
            self.leave(around)

    def loop(self, loop: For) -> None:
        start, stop = self.index(loop.start), self.index(loop.stop)
        if loop.limit is not None:
            stop = min(stop, self.index(loop.limit))
        iterations = range(start, stop)
        if loop.parallel or (loop.simd and not loop.reductions):
            iterations = iterations[::-1]
        outer, outside = (self.private, self.near), self.indices.get(loop.symbol.name)
        self.near = self.near or loop.near
        if loop.parallel:
            self.private = {name for _, name in loop.reductions}
            self.teams.append(Team())
        for index in iterations:
            self.indices[loop.symbol.name] = index
            if loop.parallel:
                self.teams[-1].iteration = index
            self.body(loop.body)
        if loop.parallel:
            self.teams.pop()
        self.private, self.near = outer
        if outside is None:
            self.indices.pop(loop.symbol.name, None)
        else:
            self.indices[loop.symbol.name] = outside

    def read(self, buffer: str, index: Shape) -> Any:
        memory, position = self.memories[buffer], self.position(buffer, index)
        for team in self.teams:
            team.note(memory, position)
        return memory.read(position)

    def write(self, buffer: str, index: Shape, value: Any) -> None:
        memory, position = self.memories[buffer], self.position(buffer, index)
        for team in self.teams:
            team.note(memory, position)
            team.writers[memory, position] = team.iteration
        memory.write(position, value)

    def update(self, target: Ref | Load, op: str, value: Any) -> None:
        result = value
        if op != "set":
            result = _apply(op, target.dtype, (settled(self.value(target)), value))
        if isinstance(target, Load):
            self.write(target.buffer, target.index, result)
        elif self.private is not None and target.name not in self.private:
            raise InternalError(f"the parallel loop updates {target.name}, which all threads share")
        else:
            self.scalars[target.name] = result

    def call(self, call: Call) -> None:
        """Run a call by its meaning in NumPy."""
        if isinstance(call, Callback):
            self.call_back(call)
            return
        call = call.mapped(lambda load: load, self.indices.value)
        signature = parsed_signature(call.signature)
        known = [n for n, sizes in signature.reads.items() if sizes is not None]
        kept = [n for n, sizes in signature.writes.items() if sizes is not None]
        results = call.numpy(*(self.array(call.arrays[n], call.shape(n)) for n in known))
        results = results if isinstance(results, tuple | list) else (results,)
        for name, value in zip(kept, results, strict=True):
            self.put_array(call.arrays[name], call.shape(name), value)
        for name in signature.writes.keys() - kept:
            self.memories[call.arrays[name].buffer].fill(0)
        for buffer in call.scratch:
            self.memories[buffer].fill(0)

    def positions(self, array: Strided, shape: tuple[int, ...]) -> Any:
        """The flat positions of an array's elements in their buffer."""
        strides = array.strides or [math.prod(shape[a + 1 :]) for a in range(len(shape))]
        begin = self.position(array.buffer, array.first.index) if 0 not in shape else 0
        offsets = [np.arange(n) * self.index(s) for n, s in zip(shape, strides, strict=True)]
        positions = begin + sum(np.ix_(*offsets), np.zeros(shape, np.int64))
        if positions.size and positions.min() < 0:
            raise IndexError(f"{array.buffer} is used before its beginning")
        return positions

    def array(self, array: Strided, shape: tuple[int, ...]) -> Any:
        """The elements of an array that a call reads."""
        positions = self.positions(array, shape)
        memory = self.memories[array.buffer]
        for team in self.teams:
            for position in positions.ravel():
                team.note(memory, int(position))
        return memory.gather(positions)

    def put_array(self, array: Strided, shape: tuple[int, ...], value: Any) -> None:
        """Write an array that a call returns."""
        positions = self.positions(array, shape)
        memory = self.memories[array.buffer]
        for team in self.teams:
            for position in map(int, positions.ravel()):
                team.note(memory, position)
                team.writers[memory, position] = team.iteration
        memory.scatter(positions, value)

    def call_back(self, call: Callback) -> None:
        """Call Python with copies of the arrays, and write its results."""
        site = call.site
        values = [
            np.empty(kind.static_shape(), kind.dtype)
            if value is None
            else self.array(value, kind.static_shape())
            for kind, value in zip(site.types, call.values, strict=True)
        ]
        results = site.callback.results(values, site.results)
        for kind, array, result in zip(site.results, call.given, results, strict=True):
            if array is not None:
                self.put_array(array, kind.static_shape(), result)

    # ------------------------------------------------------------------- expressions, indices

    def value(self, expr: Expr) -> Any:
        match expr:
            case Apply(op="select", args=(test, x, y)):
                return self.value(x if settled(self.value(test)) else y)
            case Apply(op=op, args=args, dtype=dtype):
                values = [self.value(a) for a in args]
                for value in values:
                    if isinstance(value, Unwritten):
                        return value
                if self.near and _is_far(expr, values):
                    return dtype.type(FAR)
                return _apply(op, dtype, values)
            case Load(buffer=buffer, index=index):
                return self.read(buffer, index)
            case Ref(name=name):
                return self.scalars[name]
            case Literal(value=value, dtype=dtype):
                return dtype.type(value)
            case IndexValue(index=index, dtype=dtype):
                return dtype.type(self.index(index))
            case Within(index=index, low=low, high=high):
                return np.bool_(self.index(low) <= self.index(index) < self.index(high))

    def index(self, index: Index) -> int:
        return self.indices.value(index)

    def position(self, buffer: str, index: Shape) -> int:
        """The flat position of an element; IndexError if a subscript is out of bounds."""
        shape = self.shapes[buffer]
        position = 0
        for part, extent in zip(index, shape, strict=True):
            subscript, size = self.index(part), self.index(extent)
            if not 0 <= subscript < size:
                raise IndexError(
                    f"{buffer}[{', '.join(map(str, index))}]: {part} is {subscript}, "
                    f"outside an axis of {size}"
                )
            position = position * size + subscript
        return position


def _is_far(call: Apply, values: Sequence[Any]) -> bool:
    """True if a near version does not compute a call of these operands."""
    limit, of = call.primitive.near, call.primitive.near_of.get(call.dtype.kind)
    if not limit or of is None or (of == "divide" and (np.isinf(values[0]) or values[1] == 0)):
        return False
    return bool(abs(TABLE[of].numpy(*values) if of else values[0]) > limit)


def _apply(op: str, dtype: np.dtype[Any], args: Sequence[Any]) -> Any:
    if op == "convert_element_type":
        return np.asarray(args[0]).astype(dtype)[()]
    if op == "float_from_bits":
        return np.asarray(args[0]).view(dtype)[()]
    return np.asarray(TABLE[op].numpy(*args), dtype)[()]
