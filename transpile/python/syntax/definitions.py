"""Find the syntax tree of a function in the file that it was compiled from.

The tree of a file is parsed once, and compiled: the code that comes of it is that of the function,
or the lines that Python remembers are older than the file, which is read again. Of what has the
code, a `def` is found by its first line and name, a lambda, of which a line may have several, by
the columns of its code. Code that no file has, as of `exec`, is refused with a reason; so is a file
that has changed since. Functions with `assert` are found by place alone, as pytest rewrites them.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from transpile.errors import TranspileError
from transpile.util.frozen_records import dataclass

# The bits of a code object's flags that `from __future__` sets.
FUTURE = 0x1FF0000
Function = ast.FunctionDef | ast.Lambda


class NoSourceError(TranspileError):
    """The source of a function cannot be had, or cannot be converted; the text says why."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A function in a file, and the class around it, "" for none."""

    node: Function
    class_name: str


def definition(code: CodeType) -> Definition:
    """The definition that was compiled to this code. Raises NoSourceError."""
    found = _found(code)
    if not found:
        linecache.checkcache(code.co_filename)
        found = _found(code)
    if not found:
        raise NoSourceError(
            f"{code.co_filename}:{code.co_firstlineno} does not have it any more: the file has "
            f"changed since it was imported, or an import hook changes what it is compiled to"
        )
    return found[-1]  # of lambdas inside each other, the innermost that has all of the code


def _found(code: CodeType) -> list[Definition]:
    """What may be the definition, in the lines of the file that Python remembers."""
    lines = _lines(code)
    index = _definitions(code.co_filename, lines)
    found = [d for d in index.get((code.co_firstlineno, code.co_name), ()) if _fits(d.node, code)]
    if code in _codes(code.co_filename, lines, code.co_flags & FUTURE):
        return found
    return [d for d in found if any(isinstance(n, ast.Assert) for n in ast.walk(d.node))]


def _lines(code: CodeType) -> tuple[str, ...]:
    lines = tuple(linecache.getlines(code.co_filename))
    if not lines:
        raise NoSourceError(f"its source, {code.co_filename}, is no file")
    return lines


@lru_cache(maxsize=64)
def _codes(filename: str, lines: tuple[str, ...], flags: int) -> set[CodeType]:
    """What the functions of a file are compiled to."""
    pending = [compile(_tree(filename, lines), filename, "exec", flags, dont_inherit=True)]
    codes: set[CodeType] = set()
    while pending:
        code = pending.pop()
        codes.add(code)
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return codes


@lru_cache(maxsize=64)
def _tree(filename: str, lines: tuple[str, ...]) -> ast.Module:
    try:
        return ast.parse("".join(lines), filename)
    except SyntaxError as problem:
        raise NoSourceError(f"its source, {filename}, does not parse: {problem}") from None


@lru_cache(maxsize=64)
def _definitions(filename: str, lines: tuple[str, ...]) -> dict[tuple[int, str], list[Definition]]:
    """The functions of a file by first line, with decorators, and name."""
    tree = _tree(filename, lines)
    index: dict[tuple[int, str], list[Definition]] = {}
    for node, class_name in _functions(tree, ""):
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        first = min([node.lineno, *[d.lineno for d in decorators]])
        index.setdefault((first, name), []).append(Definition(node, class_name))
    return index


def _functions(node: ast.AST, class_name: str) -> Iterator[tuple[Function, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child, class_name
        inner = child.name if isinstance(child, ast.ClassDef) else class_name
        yield from _functions(child, inner)


def _fits(node: Function, code: CodeType) -> bool:
    """Whether code may be that of a function: the parameters, and for a lambda the columns."""
    spec = node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    names += [a.arg for a in (spec.vararg, spec.kwarg) if a is not None]
    more = [code.co_flags & inspect.CO_VARARGS, code.co_flags & inspect.CO_VARKEYWORDS]
    count = code.co_argcount + code.co_kwonlyargcount + sum(map(bool, more))
    own = [name.rpartition("__")[2] for name in code.co_varnames[:count]]
    if own != [name.rpartition("__")[2] for name in names]:
        return False
    if not isinstance(node, ast.Lambda):
        return True
    body = node.body
    inside = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [(p[0], p[2]) for p in code.co_positions() if p[2] is not None and p[3]]
    return all(inside[0] <= place <= inside[1] for place in places)
