"""Large helpers of `runtime_c/` as object files, compiled once and linked into programs for Python.

A matrix product takes gcc half a second, a Fourier transform one and a half, and either has the
same code in all programs. So a program that is built for Python has only the declarations of such
functions, and is linked with an object file of each that the cache keeps. A saved program has all
of its C in one file, and computes the same bits: these functions leave no rounding to the compiler.

Functions that are small are better inlined, which propagates the sizes of a call into them.
"""

from __future__ import annotations

from collections.abc import Iterable

from transpile.codegen.compile_budget import Effort
from transpile.codegen.dialect import Dialect
from transpile.codegen.templates.filling import filled_in
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.symbols.c_helpers import Item
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class LinkedHelper:
    """A function in a C file of its own, and the effort with which that is compiled."""

    name: str
    item: Item
    source: str
    effort: Effort


def linked_helpers(
    functions: Iterable[str], options: Options, dialect: Dialect
) -> dict[str, LinkedHelper]:
    """Of these functions of `runtime_c/` those that are large, by name; none for programs that are
    debugged."""
    if options.debug:
        return {}
    return {
        name: _linked(name, options.num_threads, dialect)
        for name in sorted(functions)
        if c_helpers.length(name) > options.machine.largest_inlined_routine
    }


def _linked(name: str, threads: int, dialect: Dialect) -> LinkedHelper:
    items = c_helpers.needed([name], threads)
    is_complex = any("complex" in item.text for item in items)
    source = filled_in(
        "linked_helper.c.j2",
        name=name,
        includes=dialect.headers(is_complex),
        directives=c_helpers.has_directives(items),
        helpers=items[:-1],
        last=items[-1],
    )
    is_product = any(each == "MATMUL_ROWS" for item in items for each in item.names)
    return LinkedHelper(name, items[-1], source, "vectors" if is_product else "usual")
