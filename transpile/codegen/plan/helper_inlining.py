"""Outlined helpers: what a long program calls, where a short one has a copy at each use.

C compilers put a small function where it is called, and a loop over a sine in vector lanes. With
hundreds of sines that takes seconds and megabytes, and from some size on they give up, and leave
the loops out of vector lanes as well. In a program of that size the helpers are functions proper,
of which there is one copy for numbers and one for vectors: as fast, and compiled once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from transpile.analysis.value_range import ordinary_angles
from transpile.codegen.c_functions import Calls
from transpile.ir.loop_ir import Apply, For, If, Kernel, Statement, While
from transpile.ir.loop_rewrite import parts
from transpile.options import Options
from transpile.symbols import c_helpers

Body = tuple[Statement, ...]

_CALL = re.compile(r"\b([a-z]\w*)\(")
_SCALARS = r"(?:float|double|bool|u?int\d+_t)"
_HEAD = re.compile(rf"static inline {_SCALARS} \w+\({_SCALARS} \w+(?:, {_SCALARS} \w+)*\)\n")
_WIDE = re.compile(r"\bu?int64_t\b|\bdouble\b")
_BRANCHES = re.compile(r"\b(?:if|for|while|do|switch|goto)\b")


def outlined(kernels: Iterable[Kernel], options: Options) -> dict[str, tuple[int, ...]]:
    """The helpers that these kernels call, where others have them inlined; for each the numbers of
    lanes for which there is to be a copy.

    gcc does not make vectors of a loop with a choice in it that calls anything but its own, so
    helpers that stand beside choices are none of them.
    """
    counts: Counter[str] = Counter()
    beside_choices: set[str] = set()
    for kernel in kernels:
        calls = Calls(options.precise_math, ordinary_angles(kernel))
        for sequence, near in _sequences(kernel.body, near=False):
            names = Counter(name for s in sequence for name in calls.of_statement(s, near))
            counts.update(names)
            if any(map(_has_choice, sequence)):
                beside_choices.update(names)
    sizes = {name: _size(name) for name in counts}
    least = options.machine.fewest_called_statements
    heavy = {name for name, size in sizes.items() if size >= least and _is_plain(name)}
    copied = sum(counts[name] * sizes[name] for name in heavy)
    if copied <= options.machine.most_inlined_statements:
        return {}
    return {name: _lanes(name) for name in sorted(heavy - beside_choices)}


def _sequences(body: Body, near: bool) -> Iterator[tuple[Body, bool]]:
    """Each sequence of statements, and whether its angles are taken for ordinary ones. The
    condition of a branch belongs to no loop's statements, so it is a sequence of its own."""
    yield tuple(s for s in body if not isinstance(s, If)), near
    for statement in body:
        match statement:
            case For(body=inner):
                yield from _sequences(inner, near or statement.near)
            case While(body=inner, test=test):
                yield from _sequences(test + inner, near)
            case If(body=inner, orelse=orelse):
                yield (statement,), near
                yield from _sequences(inner, near)
                yield from _sequences(orelse, near)
            case _:
                pass


def _has_choice(statement: Statement) -> bool:
    """Tell whether a statement itself chooses between values."""
    return any(isinstance(p, Apply) and p.op == "select" for p in parts(statement))


def _lanes(name: str) -> tuple[int, ...]:
    """The numbers of lanes that the loops around a helper may have: of vectors of 64, 32 and 16
    bytes. None where it branches, of which gcc makes no vectors."""
    item = c_helpers.find(name)
    assert item is not None
    if _BRANCHES.search(item.text):
        return ()
    widest = 8 if _WIDE.search(item.text.partition("\n")[0]) else 16
    return widest, widest // 2, widest // 4


def _is_plain(name: str) -> bool:
    """Tell whether a helper takes numbers and gives one."""
    item = c_helpers.find(name)
    return item is not None and item.names == (name,) and _HEAD.match(item.text) is not None


@cache
def _size(name: str) -> int:
    """The number of statements of a helper and of all that it calls."""
    item = c_helpers.find(name)
    if item is None:
        return 0
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", item.text, flags=re.DOTALL)
    called = [n for n in _CALL.findall(code) if n not in item.names]
    return code.count(";") + sum(map(_size, called))
