"""Callbacks and errors as the templates get them."""

from __future__ import annotations

from collections.abc import Callable

from transpile.codegen.callback_messages import (
    MessagePart,
    Messages,
    PrintedArray,
    failures_of,
    messages_of,
)
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import Program
from transpile.ir.types import ArrayType
from transpile.targets.cuda.device_ir import Failure
from transpile.targets.cuda.effects.lengths import FIRST_REFUSED
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class CallText:
    """A callback, for the templates: the number of its site, and of each array that it reads and
    writes the address and the size in bytes."""

    site: int
    values: tuple[tuple[str, Index], ...]
    results: tuple[tuple[str, Index], ...] = ()


def call_text(program: Program, call: Callback, printed: Callable[[Index], str]) -> CallText:
    """A callback, of which the host knows where its arrays are."""

    def address(array: Strided | None) -> str:
        if array is None:
            return "nullptr"
        index = array.first.index
        if not index or index[0] == 0:
            return array.buffer
        return f"{array.buffer} + {printed(index[0])}"

    pairs = zip(call.values, call.site.types, strict=True)
    given = zip(call.given, call.site.results, strict=True)
    values, results = (
        tuple((address(x), _bytes(kind)) for x, kind in arrays) for arrays in (pairs, given)
    )
    return CallText(program.sites.index(call.site), values, results)


def failure_text(program: Program, failure: Failure) -> CallText | None:
    """The call of the function of a failure; None for one that has none."""
    if failure.site is None:
        return None
    kinds = program.sites[failure.site].types
    pairs = zip(failure.values, kinds, strict=True)
    values = tuple((name or "nullptr", _bytes(kind)) for name, kind in pairs)
    return CallText(failure.site, values)


def texts_of_codes(program: Program) -> list[tuple[int, str]]:
    """The codes and texts of errors, of those of lengths, too."""
    refused = [(FIRST_REFUSED - k, text) for k, (_, _, text) in enumerate(program.required)]
    return [*failures_of(program), *refused]


def plain_messages(program: Program) -> Messages:
    """The messages of a program, with the types of arrays of complex numbers and halves in the
    place of their elements: what prints these is made of functions of the device here."""
    return tuple(
        (number, tuple(part if isinstance(part, str) else _plain(part) for part in parts))
        for number, parts in messages_of(program)
    )


def _plain(part: PrintedArray) -> MessagePart:
    suffix = part.helper.removeprefix("print_values_")
    if part.size == 0:
        return "[]"
    return f"{suffix}[{part.size}]" if suffix in ("c64", "c128", "f16", "bf16") else part


def _bytes(kind: ArrayType) -> Index:
    """The bytes of an array."""
    return kind.size * kind.dtype.itemsize
