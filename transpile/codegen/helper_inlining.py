"""Outlined helpers: what a long program calls, where a short one has a copy at each use.

C compilers put a small function where it is called, and a loop over a sine in vector lanes. With
hundreds of sines that takes seconds and megabytes, and from some size on they give up, and leave
the loops out of vector lanes as well. In a program of that size the helpers are functions proper,
of which there is one copy for numbers and one for vectors: as fast, and compiled once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from transpile.symbols import c_helpers

# More statements than this in all copies of helpers together make a program long: gcc takes a
# millisecond for three of them in vector lanes.
LONGEST_INLINED = 2000
# Helpers of fewer statements are cheaper to copy than to call.
SMALLEST = 10

_CALL = re.compile(r"\b([a-z]\w*)\(")
_SCALARS = r"(?:float|double|bool|u?int\d+_t)"
_HEAD = re.compile(
    rf"^static inline (?={_SCALARS} \w+\({_SCALARS} \w+(?:, {_SCALARS} \w+)*\)$)", re.MULTILINE
)
_HEAD_LINE = re.compile(r"^static inline .*$", re.MULTILINE)
_BRANCHES = re.compile(r"\b(?:if|for|while|do|switch|goto)\b")


def outlined(kernels: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The helpers that a program calls, with their texts, from the statements of its kernels as
    they are printed.

    gcc does not make vectors of a loop with a choice in it that calls anything but its own, so
    helpers that stand beside choices are none of them.
    """
    counts: Counter[str] = Counter()
    chosen: set[str] = set()
    for lines in (lines for kernel in kernels for lines in _sequences(kernel["body"])):
        text = "\n".join(lines)
        names = _CALL.findall(text)
        counts.update(names)
        if "?" in text:
            chosen.update(names)
    sizes = {name: _size(name) for name in counts}
    heavy = {name for name, size in sizes.items() if size >= SMALLEST and _is_plain(name)}
    if sum(counts[name] * sizes[name] for name in heavy) <= LONGEST_INLINED:
        return {}
    return {name: _as_called(name) for name in sorted(heavy - chosen)}


def _as_called(name: str) -> str:
    """The text of a helper, as a function that is called: on x86, where gcc would make a copy for
    the longest vectors alone, with copies for shorter ones, as loops over few elements need them.
    """
    item = c_helpers.find(name)
    assert item is not None
    text = item.text
    copies, on_others = "", "noinline"
    if not _BRANCHES.search(text):
        widest = 8 if re.search(r"\bu?int64_t\b|\bdouble\b", _HEAD_LINE.findall(text)[0]) else 16
        lines = (f"#pragma omp declare simd notinbranch simdlen({widest >> k})\n" for k in range(3))
        copies, on_others = "".join(lines), 'noinline, simd("notinbranch")'
    head = (
        "#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)\n"
        f"{copies}__attribute__((noinline))\n"
        "#elif defined(__GNUC__) && !defined(__clang__)\n"
        f"__attribute__(({on_others}))\n#endif\nstatic "
    )
    return _HEAD.sub(head, text, count=1)


def _sequences(nodes: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """The lines of each sequence of statements, as the templates get them."""
    statements = list(nodes)
    yield [node[key] for node in statements for key in ("text", "head") if key in node]
    for node in statements:
        yield from _sequences(node.get("branches", ()))
        yield from _sequences(node.get("body", ()))


def _is_plain(name: str) -> bool:
    """Tell whether a helper takes numbers and gives one."""
    item = c_helpers.find(name)
    return item is not None and item.names == (name,) and _HEAD.search(item.text) is not None


@cache
def _size(name: str) -> int:
    """The number of statements of a helper and of all that it calls."""
    item = c_helpers.find(name)
    if item is None:
        return 0
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", item.text, flags=re.DOTALL)
    called = [n for n in _CALL.findall(code) if n not in item.names]
    return code.count(";") + sum(map(_size, called))
