"""What a program with callbacks does by itself, when it is called without Python: the messages that
it prints, and the codes with which it fails.

Such a program has a second entry, which takes a callback for the values of a site, and a context
for it. Its first entry prints the messages of the sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transpile.codegen.line_wrapping import type_text
from transpile.intrinsics.callbacks import Callback
from transpile.ir.graph import Site
from transpile.ir.loop_ir import Kernel, Program
from transpile.ir.loop_rewrite import walk
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass, replace

# In characters of up to 4 bytes: C11 guarantees literals of 4095 bytes.
_LONGEST_LITERAL = 1000
# Codes of failures are greater than those that a caller's function may return (docs/c_contract.md).
FIRST_FAILURE = 1001


@dataclass(frozen=True)
class PrintedArray:
    """The array or number at a position of a site's values, which `helper` of runtime_c prints."""

    position: int
    size: Any
    is_array: bool
    helper: str


MessagePart = str | PrintedArray
Messages = tuple[tuple[int, tuple[MessagePart, ...]], ...]


def messages_of(program: Program) -> Messages:
    """The number of each site with a message, and its parts."""
    return tuple(
        (number, tuple(_parts(site)))
        for number, site in enumerate(program.sites)
        if site.callback.message
    )


def places_of(program: Program) -> tuple[str, ...]:
    """A line for each site: its number, the name of the function, its values and its results."""
    lines = []
    for number, site in enumerate(program.sites):
        values, results = (", ".join(map(type_text, kinds)) for kinds in (site.types, site.results))
        given = f" -> {results}" if results else ""
        ends = f", code {FIRST_FAILURE + number}" if site.callback.failure else ""
        lines.append(f"{number}: {site.callback.__name__}({values}){given}{ends}")
    return tuple(lines)


def without_sites(program: Program) -> Program:
    """The program that asks nobody, as one that only ends with codes need not."""
    return replace(program, sites=())


def failures_of(program: Program) -> tuple[tuple[int, str], ...]:
    """The code and the text of each site at which the program fails."""
    return tuple(
        (FIRST_FAILURE + number, site.callback.failure[:_LONGEST_LITERAL])
        for number, site in enumerate(program.sites)
        if site.callback.failure
    )


def code_of(program: Program, failure: Callback) -> int:
    """The code with which a program ends at a failure."""
    return FIRST_FAILURE + program.sites.index(failure.site)


def calls_back(kernel: Kernel) -> bool:
    """True if a kernel calls functions of the caller."""
    return any(isinstance(statement, Callback) for statement in walk(kernel.body))


def asks_for_codes(kernel: Kernel) -> bool:
    """True if a kernel calls functions of the caller whose codes say if it goes on."""
    return any(isinstance(s, Callback) and not s.fails for s in walk(kernel.body))


def helpers_of(messages: Messages) -> set[str]:
    """The helpers that print the arrays of messages, except empty ones."""
    arrays = (p for _, parts in messages for p in parts if isinstance(p, PrintedArray))
    return {array.helper for array in arrays if array.size != 0}


def includes_of(messages: Messages) -> tuple[str, ...]:
    """The headers that messages need."""
    return ("stdio.h",) if messages else ()


def _parts(site: Site) -> Iterator[MessagePart]:
    """The texts of a message, split to the length of literals, and its arrays."""
    for part in site.callback.message:
        if isinstance(part, str):
            for start in range(0, len(part), _LONGEST_LITERAL):
                yield part[start : start + _LONGEST_LITERAL]
        else:
            kind = site.types[part]
            if not isinstance(kind.size, int):  # what prints knows no sizes
                yield type_text(kind)
                continue
            helper = f"print_values_{SHORT_NAMES[kind.dtype]}"
            yield PrintedArray(part, kind.size, bool(kind.shape), helper)
