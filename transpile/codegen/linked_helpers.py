"""Large helpers of `runtime_c/` as object files, compiled once and linked into programs for Python.

A matrix product takes gcc half a second, a Fourier transform one and a half, and either has the
same code in all programs. So a program that is built for Python has only the declarations of such
functions, and is linked with an object file of each that the cache keeps. A saved program has all
of its C in one file, and computes the same bits: these functions leave no rounding to the compiler.

Functions that are small are better inlined, which propagates the sizes of a call into them.

A long function that a helper calls, and that is not inlined, has a file of its own, too: compilers
run side by side, and helpers share it. All Fourier transforms of a dtype have the same passes, all
matrix products the same microkernels.
"""

from __future__ import annotations

from collections.abc import Iterable

from transpile.codegen.compile_budget import Effort
from transpile.codegen.dialect import Dialect
from transpile.codegen.templates.filling import filled_in
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class LinkedHelper:
    """A function in a C file of its own.

    declaration  its head, for files that call it
    effort       with which the file is compiled
    """

    name: str
    declaration: str
    source: str
    effort: Effort


def linked_helpers(
    functions: Iterable[str], options: Options, dialect: Dialect
) -> dict[str, LinkedHelper]:
    """Of these functions of `runtime_c/` those that are large, and the long parts of them, by name;
    none for programs that are debugged."""
    if options.debug:
        return {}
    least = options.machine.largest_inlined_routine
    large = [name for name in sorted(functions) if c_helpers.length(name) > least]
    parts = {part for name in large for part in c_helpers.parts(name, least)}
    linked = [_linked(part, options, dialect) for part in sorted(parts)]
    # What takes the compiler longest begins first.
    return {helper.name: helper for helper in sorted(linked, key=lambda each: -len(each.source))}


def _linked(name: str, options: Options, dialect: Dialect) -> LinkedHelper:
    parts = c_helpers.parts(name, options.machine.largest_inlined_routine)
    items = c_helpers.needed([name], options.num_threads, parts)
    declaration = c_helpers.declaration(items[-1])
    is_complex = any("complex" in item.text for item in items)
    source = filled_in(
        "linked_helper.c.j2",
        name=name,
        includes=dialect.headers(is_complex),
        directives=c_helpers.has_directives(items),
        helpers=items[:-1],
        declaration=declaration,
        definition=c_helpers.definition(items[-1]),
    )
    is_product = any(each.startswith("MATMUL_") for item in items for each in item.names)
    return LinkedHelper(name, declaration, source, "vectors" if is_product else "usual")
