"""`fail`: the program ends here with an error, whose text its callback has, and a code of its own.

A program in C returns the code. Python calls the function of the callback first, with the values of
the operands: it raises the exception. So `fail` is a callback in everything but that nothing comes
after it. Under vmap an example that fails ends the call. It has no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.types import ArrayType
from transpile.primitives.effects.callbacks import Callback, one_by_one


def _failed(*values: Any, callback: Callback) -> list[Any]:
    callback(*values)
    return []


def _no_types(*_: ArrayType, callback: Callback) -> tuple[ArrayType, ...]:
    return ()


def _batch(
    axis: Axis, batched: Sequence[bool], *operands: Any, callback: Callback
) -> tuple[list[Any], list[bool]]:
    one_by_one(fail, axis, batched, operands, {"callback": callback})
    return [], []


fail = register(
    Primitive(
        "fail",
        "callback",
        _failed,
        _no_types,
        effect=True,
        jvp=lambda tangents, results, *operands, callback: [],
        transpose=lambda _, *operands, callback: [None] * len(operands),
        batch=_batch,
    )
)
