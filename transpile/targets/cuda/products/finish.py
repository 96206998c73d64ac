"""What becomes of the results of a product in its launch, and what its left operand is there."""

from __future__ import annotations

from transpile.ir.dims import Symbol
from transpile.ir.loop_ir import Ref, Statement
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Finish:
    """What a product does with each result, in place of storing it: `body`, for the `element` in a
    `row` of all products and a `column`.

    name        of the function that it becomes
    goes_down   neighbours in memory are below each other
    """

    name: str
    row: Symbol
    column: Symbol
    element: Ref
    body: tuple[Statement, ...]
    goes_down: bool


@dataclass(frozen=True)
class Gather:
    """The left operand of a product, which nobody has stored: `body` declares the `element` in a
    `row` of all products, and in the column of a `term`.

    name   of the function that it becomes
    """

    name: str
    row: Symbol
    term: Symbol
    element: Ref
    body: tuple[Statement, ...]
