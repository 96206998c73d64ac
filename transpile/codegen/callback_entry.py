"""What a program with effects has besides: whom it calls, and what it prints by itself.

Such a program has a second entry, which takes a function to call with the values of a site, and a
context for it. Called by the first one it prints its messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.codegen.line_wrapping import signature, string_literal, text_bytes
from transpile.ir.graph import Site
from transpile.ir.loop_ir import Program
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass

# In characters, of up to 4 bytes: every compiler takes literals of 4095.
_LONGEST_LITERAL = 1000


@dataclass(frozen=True)
class SiteText:
    """What the templates need for effects.

    entry      the second entry without the return type
    body       what both entries call, likewise
    arguments  what it hands on to the first one
    prints     for each site with a message the number and the statements that print it
    helpers    the functions of runtime_c that these call
    """

    entry: str
    body: str
    arguments: str
    prints: tuple[tuple[int, tuple[str, ...]], ...]
    helpers: tuple[str, ...]


def site_text(program: Program, parameters: Sequence[str]) -> SiteText | None:
    """The texts of a program with these parameters; None where it has no effects."""
    if not program.sites:
        return None
    prints = tuple(
        (number, tuple(_message_lines(site)))
        for number, site in enumerate(program.sites)
        if site.callback.message
    )
    helpers = {
        f"print_values_{SHORT_NAMES[site.types[part].dtype]}"
        for site in program.sites
        for part in site.callback.message or ()
        if isinstance(part, int) and site.types[part].size != 0
    }
    names = [b.name for b in (*program.inputs, *program.outputs)]
    further = [f"{program.name}_callback *callback_function", "void *callback_context"]
    return SiteText(
        signature(f"{program.name}_with_callback", [*parameters, *further]),
        signature(f"{program.name}_body", list(parameters), "static int "),
        ", ".join([*names, "workspace"]),
        prints,
        tuple(sorted(helpers)),
    )


def helpers_of(text: SiteText | None) -> set[str]:
    """The functions of runtime_c that print messages."""
    return set() if text is None else set(text.helpers)


def includes_of(text: SiteText | None) -> tuple[str, ...]:
    """The headers that messages need."""
    return ("stdio.h",) if text is not None and text.prints else ()


def _message_lines(site: Site) -> list[str]:
    lines: list[str] = []
    for part in site.callback.message:
        if isinstance(part, str):
            lines += _text_lines(part)
            continue
        kind = site.types[part]
        if kind.size == 0:
            lines.append('fputs("[]", stdout);')
            continue
        is_array = "true" if kind.shape else "false"
        helper = f"print_values_{SHORT_NAMES[kind.dtype]}"
        lines.append(f"{helper}(values[{part}], {kind.size}, {is_array});")
    return lines


def _text_lines(text: str) -> Iterator[str]:
    """What prints a text: bytes of 0 end no string, and no literal is longer than C11 wants it."""
    for start in range(0, len(text), _LONGEST_LITERAL):
        part = text[start : start + _LONGEST_LITERAL]
        size = len(text_bytes(part))
        if "\0" in part:
            yield f"fwrite({string_literal(part)}, 1, {size}, stdout);"
        else:
            yield f"fputs({string_literal(part)}, stdout);"
