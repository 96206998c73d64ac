"""MLIR's operations as data: what `mlir.py` parses."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Slice:
    """`[0:4, 1:8:2]`, as text."""

    text: str


@dataclass(eq=False)
class Region:
    """The arguments, (name, type), and the operations of a region; of a single block.

    `free` are the values that it reads from its surroundings, in the order of their first uses;
    `span` is where its text begins and ends.
    """

    arguments: list[tuple[str, Any]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    free: dict[str, None] = field(default_factory=dict)
    span: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class Operation:
    """An operation as it is written: `types` are the types behind its colon, as a list or as a
    FunctionType."""

    name: str
    position: int
    results: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    words: list[Any] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    types: Any = None


@dataclass(eq=False)
class Function:
    """A function: `attributes` has those of its arguments."""

    name: str
    position: int
    region: Region | None
    results: list[Any]
    attributes: list[dict[str, Any]]


@dataclass(eq=False)
class File:
    """The functions of a module, by their names."""

    name: str
    functions: dict[str, Function]
