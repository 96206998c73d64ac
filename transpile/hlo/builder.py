"""A computation under construction: a method for each instruction whose type others determine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from transpile.hlo.module import Computation, Instruction, Type
from transpile.ir.graph import UNKNOWN_SOURCE, Graph, Source
from transpile.ir.primitive import Axis
from transpile.ir.types import BOOL, INT64, ArrayType
from transpile.util.frozen_records import dataclass

# A rule, or an expansion, by the name of a primitive.
Rule = Callable[..., Any]
Rules = dict[str, Rule]
Emit = Callable[["Builder", Graph, Sequence[Instruction]], list[Instruction]]


@dataclass(frozen=True)
class Shared:
    """What the computations of a module have in common: numbers, those of callbacks, those that are
    finished, those that were made of traced functions, how a graph becomes one, and the axes of the
    replicas."""

    emit: Emit
    numbers: Any
    places: Any
    finished: list[Computation]
    combiners: dict[Any, Computation]
    axes: tuple[Axis, ...]

    @classmethod
    def new(cls, emit: Emit, axes: Sequence[Axis] = ()) -> Shared:
        """For a new module."""
        return cls(emit, count(1), count(0), [], {}, tuple(axes))


class Builder:
    """The instructions of one computation so far. `source` is that of the equation in hand."""

    def __init__(self, shared: Shared, name: str) -> None:
        self.shared, self.name = shared, name
        self.source: Source = UNKNOWN_SOURCE
        self._instructions: list[Instruction] = []
        self._constants: dict[tuple[Any, ...], Instruction] = {}
        self._parameters = 0

    # ------------------------------------------------------------------------------ instructions

    def add(
        self,
        opcode: str,
        type: Type,
        *operands: Instruction,
        literal: Any = None,
        layout: tuple[Any, ...] | None = None,
        **attributes: Any,
    ) -> Instruction:
        """Append an instruction."""
        number = next(self.shared.numbers)
        instruction = Instruction(
            opcode, type, operands, attributes, number, self.source, literal, layout
        )
        self._instructions.append(instruction)
        return instruction

    def parameter(self, type: Type, **attributes: Any) -> Instruction:
        """Append the next parameter."""
        number, self._parameters = self._parameters, self._parameters + 1
        return self.add("parameter", type, number=number, **attributes)

    def constant(self, value: Any) -> Instruction:
        """A constant of the value's shape and dtype; equal ones are one instruction."""
        array = np.asarray(value)
        key = (array.shape, array.dtype, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.add(
                "constant", ArrayType(array.shape, array.dtype), literal=array
            )
        return self._constants[key]

    def splat(self, value: Any, like: ArrayType) -> Instruction:
        """An array of one number."""
        return self.broadcast(self.constant(np.asarray(value).astype(like.dtype)), like.shape, ())

    def same(self, opcode: str, *operands: Instruction, **attributes: Any) -> Instruction:
        """An elementwise instruction whose result has the type of its first operand."""
        return self.add(opcode, operands[0].array.strong, *operands, **attributes)

    def compare(self, direction: str, x: Instruction, y: Instruction) -> Instruction:
        """The bools of a comparison: EQ, NE, LT, LE, GT, GE."""
        return self.add("compare", ArrayType(x.shape, BOOL), x, y, direction=direction)

    def select(self, test: Instruction, x: Instruction, y: Instruction) -> Instruction:
        """Elements of x where the test is true, else of y."""
        return self.add("select", x.array.strong, test, x, y)

    def convert(self, x: Instruction, dtype: np.dtype[Any]) -> Instruction:
        """The elements as another dtype."""
        return x if x.dtype == dtype else self.add("convert", ArrayType(x.shape, dtype), x)

    def reshape(self, x: Instruction, shape: Sequence[Any]) -> Instruction:
        """The same elements, row-major, in another shape."""
        shape = tuple(shape)
        return x if x.shape == shape else self.add("reshape", x.array.with_shape(shape), x)

    def broadcast(
        self, x: Instruction, shape: Sequence[Any], dimensions: Sequence[int]
    ) -> Instruction:
        """Repeat an array: its axes become the axes `dimensions` of the result. An axis of one
        element is repeated where the result has more, which takes a reshape first."""
        shape, dimensions = tuple(shape), tuple(dimensions)
        kept = [a for a, d in enumerate(dimensions) if x.shape[a] == shape[d]]
        if len(kept) != len(dimensions):
            x = self.reshape(x, [x.shape[a] for a in kept])
            dimensions = tuple(dimensions[a] for a in kept)
        if x.shape == shape and dimensions == tuple(range(len(shape))):
            return x
        return self.add("broadcast", x.array.with_shape(shape), x, dimensions=dimensions)

    def transpose(self, x: Instruction, permutation: Sequence[int]) -> Instruction:
        """The axes in another order."""
        if tuple(permutation) == tuple(range(len(x.shape))):
            return x
        shape = tuple(x.shape[a] for a in permutation)
        return self.add("transpose", x.array.with_shape(shape), x, dimensions=tuple(permutation))

    def concatenate(self, parts: Sequence[Instruction], axis: int) -> Instruction:
        """The parts one after the other along an axis."""
        if len(parts) == 1:
            return parts[0]
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        kind = parts[0].array.with_shape(tuple(shape))
        return self.add("concatenate", kind, *parts, dimensions=(axis,))

    def iota(self, kind: ArrayType, axis: int) -> Instruction:
        """The index along an axis; of bools, which StableHLO has no ranges of, whether it is not
        0."""
        if kind.dtype == BOOL:
            index = self.iota(ArrayType(kind.shape, INT64), axis)
            return self.compare("NE", index, self.splat(0, index.array))
        return self.add("iota", kind.strong, iota_dimension=axis)

    def tuple(self, parts: Sequence[Instruction], **attributes: Any) -> Instruction:
        """The parts as one value."""
        return self.add("tuple", tuple(p.type for p in parts), *parts, **attributes)

    def element(self, x: Instruction, index: int) -> Instruction:
        """A part of a tuple."""
        assert isinstance(x.type, tuple)
        return self.add("get-tuple-element", x.type[index], x, index=index)

    def elements(self, x: Instruction) -> list[Instruction]:
        """All parts of a tuple."""
        assert isinstance(x.type, tuple)
        return [self.element(x, k) for k in range(len(x.type))]

    # ------------------------------------------------------------------------------ computations

    def computation(self, name: str) -> Builder:
        """A further computation of the module, which instructions of this one may call."""
        inner = Builder(self.shared, name)
        inner.source = self.source
        return inner

    def finish(self, root: Instruction) -> Computation:
        """The computation, with this result."""
        done = Computation(self.name, next(self.shared.numbers), tuple(self._instructions), root)
        self.shared.finished.append(done)
        return done

    def emit(self, graph: Graph, operands: Sequence[Instruction]) -> list[Instruction]:
        """The results of a graph whose inputs are these instructions."""
        before = self.source
        results = self.shared.emit(self, graph, operands)
        self.source = before
        return results
