"""HLO as data: instructions, computations and the module, as XLA's documentation describes them.

An instruction has the name OPCODE.NUMBER, and numbers are unique in a module. Attributes have XLA's
names; their values are integers, truth values, names, tuples of integers, computations, and the
records of this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.ir.types import ArrayType
from transpile.util.frozen_records import dataclass

# A value of an instruction is an array or a tuple of values.
Type = ArrayType | tuple["Type", ...]

_ELEMENTS = {"b1": "pred", "f2": "f16", "f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128"}


def element_name(dtype: np.dtype[Any]) -> str:
    """XLA's name of an element type."""
    if dtype.name == "bfloat16":
        return "bf16"
    code = f"{dtype.kind}{dtype.itemsize}"
    return _ELEMENTS.get(code) or f"{'s' if dtype.kind == 'i' else 'u'}{8 * dtype.itemsize}"


@dataclass(frozen=True)
class Window:
    """The windows of a convolution or of a reduction: an entry for each axis that they move along.

    `padding` has what is added before and after; `base_dilation` and `window_dilation` are the
    distances between elements of the array and of the window.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]


@dataclass(frozen=True)
class Labels:
    """The axes of a convolution: (batch, feature, *spatial) of the array and of the result, and
    (output feature, input feature, *spatial) of the kernel."""

    array: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]


def axis_letters(names: str, axes: tuple[int, ...]) -> list[str]:
    """A letter or number for each axis: the two named ones, then the axes of space from 0 on."""
    letters = dict(zip(axes, [*names, *map(str, range(len(axes) - 2))], strict=True))
    return [letters[a] for a in range(len(axes))]


@dataclass(frozen=True, eq=False)
class Instruction:
    """One instruction: what it computes, from which others.

    `layout` has the order of a matrix's axes where a library asks for one, minor axis first; of a
    tuple, one for each element.
    """

    opcode: str
    type: Type
    operands: tuple[Instruction, ...]
    attributes: Mapping[str, Any]
    number: int
    source: Source = UNKNOWN_SOURCE
    literal: Any = None
    layout: tuple[Any, ...] | None = None

    @property
    def name(self) -> str:
        """The name in the module, which no other instruction has."""
        return f"{self.opcode}.{self.number}"

    @property
    def array(self) -> ArrayType:
        """The type, of an instruction that is no tuple."""
        assert isinstance(self.type, ArrayType)
        return self.type

    @property
    def shape(self) -> Shape:
        """The shape, of an instruction that is no tuple."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, of an instruction that is no tuple."""
        return self.array.dtype


@dataclass(frozen=True, eq=False)
class Computation:
    """A function of the module: its instructions in order, and the one that is its result."""

    name: str
    number: int
    instructions: tuple[Instruction, ...]
    root: Instruction

    @property
    def parameters(self) -> list[Instruction]:
        """Its parameters, in order."""
        found = [i for i in self.instructions if i.opcode == "parameter"]
        return sorted(found, key=lambda i: int(i.attributes["number"]))


@dataclass(frozen=True, eq=False)
class Module:
    """A module: computations, each before those that call it; the last one is the entry.

    `aliases` are pairs: the output, and the argument whose buffer it may take; `is_tuple` says that
    the arguments are the parts of a single parameter.
    """

    name: str
    computations: tuple[Computation, ...]
    aliases: tuple[tuple[int, int], ...] = field(default=())
    is_tuple: bool = False

    @property
    def entry(self) -> Computation:
        """The computation that a caller runs."""
        return self.computations[-1]


def called(instruction: Instruction) -> Iterator[Computation]:
    """The computations that an instruction calls."""
    for value in instruction.attributes.values():
        if isinstance(value, Computation):
            yield value
        elif isinstance(value, tuple):
            yield from (part for part in value if isinstance(part, Computation))
