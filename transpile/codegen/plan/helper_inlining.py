"""Outline helpers in long programs: call one copy of a helper in the place of inlining it.

C compilers inline helpers and vectorise the loops around them. With hundreds of sines that takes
seconds and megabytes, and above some size compilers stop inlining, and so vectorising. In such a
program helpers are functions with a scalar and a vector version (`declare simd`): as fast, and
compiled once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from transpile.analysis.value_range import ordinary_angles
from transpile.codegen.c_functions import Calls
from transpile.ir.loop_ir import Apply, Expr, For, If, Kernel, Statement, While
from transpile.ir.loop_rewrite import parts
from transpile.options import Options
from transpile.symbols import c_helpers

Body = tuple[Statement, ...]

# Not shorter integers: loops have more lanes of them than gcc makes copies of a helper for.
_SCALARS = r"(?:float|double|bool|u?int(?:32|64)_t)"
_HEAD = re.compile(rf"static inline {_SCALARS} \w+\({_SCALARS} \w+(?:, {_SCALARS} \w+)*\)\n")
_WIDE = re.compile(r"\bu?int64_t\b|\bdouble\b")


def outlined(kernels: Iterable[Kernel], options: Options) -> dict[str, tuple[int, ...]]:
    """The helpers that are outlined, with the numbers of lanes of their vector versions.

    gcc does not vectorise a loop with a call in the arm of a select. So helpers that arms call are
    inlined; `convert_ifs` names the arms of long programs.
    """
    counts: Counter[str] = Counter()
    chosen: set[str] = set()
    for kernel in kernels:
        calls = Calls(options.precise_math, ordinary_angles(kernel))
        for sequence, near, lanes in _sequences(kernel.body, near=False, lanes=False):
            names = Counter(name for s in sequence for name in calls.of_statement(s, near, lanes))
            counts.update(names)
            arms = (arm for s in sequence for arm in _arms(s))
            chosen.update(name for arm in arms for name in calls.of_expression(arm, near, lanes))
    sizes = {name: _size(name) for name in counts}
    least = options.machine.fewest_called_statements
    heavy = {name for name, size in sizes.items() if size >= least and _is_plain(name)}
    copied = sum(counts[name] * sizes[name] for name in heavy)
    if copied <= options.machine.most_inlined_statements:
        return {}
    return {name: _lanes(name) for name in sorted(heavy - chosen)}


def _sequences(body: Body, near: bool, lanes: bool) -> Iterator[tuple[Body, bool, bool]]:
    """Each sequence of statements, True if its loop is a version for ordinary angles, and True if
    it runs in lanes. The condition of a branch is a sequence of its own."""
    yield tuple(s for s in body if not isinstance(s, If)), near, lanes
    for statement in body:
        match statement:
            case For(body=inner):
                yield from _sequences(inner, near or statement.near, lanes or statement.simd)
            case While(body=inner, test=test):
                yield from _sequences(test + inner, near, lanes)
            case If(body=inner, orelse=orelse):
                yield (statement,), near, lanes
                yield from _sequences(inner, near, lanes)
                yield from _sequences(orelse, near, lanes)
            case _:
                pass


def _arms(statement: Statement) -> Iterator[Expr]:
    """The arms of the selects in a statement itself."""
    for part in parts(statement):
        if isinstance(part, Apply) and part.op == "select":
            yield from part.args[1:]


def _lanes(name: str) -> tuple[int, ...]:
    """The numbers of lanes of a helper's vector versions, for vectors of 64, 32 and 16 bytes; none
    for a helper with branches, which gcc does not vectorise."""
    item = c_helpers.find(name)
    assert item is not None
    if c_helpers.has_branches(name):
        return ()
    widest = 8 if _WIDE.search(item.text.partition("\n")[0]) else 16
    return widest, widest // 2, widest // 4


def _is_plain(name: str) -> bool:
    """True if a helper is a function from numbers to a number."""
    item = c_helpers.find(name)
    return item is not None and item.names == (name,) and _HEAD.match(item.text) is not None


@cache
def _size(name: str) -> int:
    """The number of statements of a helper and of all that it calls."""
    item = c_helpers.find(name)
    if item is None:
        return 0
    called = [n for n in c_helpers.calls_in(item.text) if n not in item.names]
    return c_helpers.statements_in(item.text) + sum(map(_size, called))
