"""What is known of the lengths that a program finds, where they are known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transpile.analysis.integer_ranges import Facts
from transpile.ir.loop_ir import (
    Apply,
    Expr,
    For,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import written
from transpile.ir.types import INT64

_ZERO = Literal(np.int64(0), INT64)


def tell_lengths(program: Program, kernel: Kernel, facts: Facts) -> None:
    """Add to the facts behind a kernel what the lengths are that it finds. Those of an array that
    `zeros(n)` makes are the numbers that loops over it count to; that n is not negative is one of
    the program's requirements, behind which it runs on."""
    found = {name for statement in kernel.body for name in written(statement)}
    required = {str(most) for most, limit, _ in program.required if limit == 0}
    for symbol, name in program.lengths:
        if name not in found:
            continue
        if str(symbol) in required:
            for truth in _none_of(kernel, name):
                facts.refute(truth)
        else:
            facts.equate_length(symbol, Load(name, (), INT64))


def _none_of(kernel: Kernel, name: str) -> Iterator[Expr]:
    """The truth that a length of 0 counts: it does not hold."""
    for loop, store in zip(kernel.body, kernel.body[1:], strict=False):
        match loop, store:
            case (
                For(start=0, stop=1, body=(Update(target=target, op="add", value=value),)),
                Store(buffer=buffer, index=(), value=Ref() as total),
            ) if buffer == name and total == target:
                if isinstance(value, Apply) and value.op == "convert_element_type":
                    yield value.args[0]
