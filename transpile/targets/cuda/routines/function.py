"""A function of `templates/cuda/routines/` with its arguments: what a call of a routine becomes."""

from __future__ import annotations

from transpile.ir.calls import Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import Load
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass

Arguments = tuple[Index | Load | str, ...]


@dataclass(frozen=True)
class Function:
    """The function `name` of a dtype, its arguments behind the first two, the blocks that it has
    use for, what one has, in words, and its threads; 0: as many as others have."""

    name: str
    dtype: str
    arguments: Arguments
    items: Index
    mapping: str
    threads: int = 0


def of_matrix(name: str, x: Strided, *arguments: Index | Load | str) -> Function:
    """A decomposition of one matrix, by its dtype: a block has it."""
    return Function(name, SHORT_NAMES[x.dtype], arguments, 1, "a block for the matrix")


def truth(condition: int) -> str:
    """A condition as an argument."""
    return "true" if condition else "false"
