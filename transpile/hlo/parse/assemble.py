"""A module under construction from what a parser finds: numbers, bodies, computations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.hlo.module import Computation, Instruction, Module, Type
from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.ir.types import ArrayType
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class Parsed:
    """A module, and where each instruction stands, for messages."""

    module: Module
    where: dict[Instruction, str]


class Assembler:
    """The computations so far, and the numbers that are taken. Fresh ones are above `highest`."""

    def __init__(self, highest: int) -> None:
        self.computations: list[Computation] = []
        self.where: dict[Instruction, str] = {}
        self._taken: set[int] = set()
        self._next = highest + 1

    def number(self, wanted: int | None = None) -> int:
        """The wanted number, if nothing has it yet; else a fresh one."""
        if wanted is None or wanted in self._taken:
            wanted = self._next
            self._next += 1
        self._taken.add(wanted)
        return wanted

    def finish(
        self, name: str, body: Body, root: Instruction, number: int | None = None
    ) -> Computation:
        """The computation of these instructions."""
        done = Computation(name, self.number(number), tuple(body.instructions), root)
        self.computations.append(done)
        return done

    def parsed(
        self, name: str, aliases: Sequence[tuple[int, int]] = (), *, is_tuple: bool = False
    ) -> Parsed:
        """The module, whose entry is the computation that was finished last."""
        module = Module(name, tuple(self.computations), tuple(aliases), is_tuple=is_tuple)
        return Parsed(module, self.where)


class Body:
    """The instructions of a computation so far."""

    def __init__(self, assembler: Assembler) -> None:
        self.assembler = assembler
        self.instructions: list[Instruction] = []
        self.where, self.source = "", UNKNOWN_SOURCE

    def at(self, where: str, source: Source) -> None:
        """What is added from now on stands there."""
        self.where, self.source = where, source

    def add(
        self,
        opcode: str,
        type: Type,
        /,
        *operands: Instruction,
        as_number: int | None = None,
        literal: Any = None,
        layout: tuple[Any, ...] | None = None,
        **attributes: Any,
    ) -> Instruction:
        """Append an instruction."""
        instruction = Instruction(
            opcode, type, operands, attributes, self.assembler.number(as_number), self.source,
            literal, layout,
        )  # fmt: skip
        self.instructions.append(instruction)
        self.assembler.where[instruction] = self.where
        return instruction

    def copy(self, instruction: Instruction) -> Instruction:
        """Append a constant of another body."""
        return self.add(instruction.opcode, instruction.type, literal=instruction.literal)

    def tuple(self, parts: Sequence[Instruction]) -> Instruction:
        """The parts as one value."""
        return self.add("tuple", tuple(p.type for p in parts), *parts)

    def elements(self, x: Instruction) -> list[Instruction]:
        """All parts of a tuple."""
        assert not isinstance(x.type, ArrayType)
        return [self.add("get-tuple-element", t, x, index=k) for k, t in enumerate(x.type)]
