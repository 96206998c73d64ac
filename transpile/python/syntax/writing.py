"""Write a converted function as text for people: with a comment that has the user's line for each
statement that has become a call.
"""

from __future__ import annotations

import ast
import linecache
from typing import Any, TypeVar

from transpile.python.syntax.names import copied

Node = TypeVar("Node", bound=ast.AST)
_NAME = "line_of_user"  # the attribute of a node that has such a comment
_MARK = "\0"
_WIDTH = 100


def with_line(node: Node, line: int) -> Node:
    """The node, before which a comment has the user's line."""
    setattr(node, _NAME, line)
    return node


def written(function: ast.FunctionDef, filename: str) -> tuple[tuple[str, int], ...]:
    """The lines of a function, each with the number of the user's line that it is a comment for, or
    with 0."""
    lines: list[tuple[str, int]] = []
    for line in ast.unparse(_Marks().visit(copied(function))).splitlines():
        indent, mark, number = line.partition(_MARK)
        if mark:
            text = linecache.getline(filename, int(number)).strip()
            lines.append((f"{indent}# line {number}: {text}", int(number)))
        elif line.strip():  # `unparse` has an empty line before each definition
            lines += [(part, 0) for part in _wrapped(line)]
    return tuple(lines)


def _wrapped(line: str) -> list[str]:
    """A line, or where that is long and calls something, lines with the arguments."""
    code = line.lstrip()
    if len(line) <= _WIDTH or code.startswith(("def ", '"', "'")):
        return [line]
    try:
        (node,) = ast.parse(code).body
    except SyntaxError:  # a part of a statement, or of a text
        return [line]
    match node:
        case ast.Assign(value=ast.Call() as call) | ast.Expr(ast.Call() as call):
            pass
        case ast.Return(value=ast.Call() as call):
            pass
        case _:
            return [line]
    indent = line[: len(line) - len(code)]
    function = ast.unparse(call.func)
    inner = f"{indent}    "
    arguments = [f"{ast.unparse(a)}," for a in (*call.args, *call.keywords)]
    filled = [inner]
    for argument in arguments:
        if filled[-1] != inner and len(filled[-1]) + len(argument) >= _WIDTH:
            filled.append(inner)
        filled[-1] += argument if filled[-1] == inner else f" {argument}"
    return [f"{indent}{code[: code.index(function)]}{function}(", *filled, f"{indent})"]


class _Marks(ast.NodeTransformer):
    """Puts a mark before each node that has a comment."""

    def visit(self, node: ast.AST) -> Any:
        """The tree."""
        node = self.generic_visit(node)
        number = getattr(node, _NAME, 0)
        return [ast.Expr(ast.Name(f"{_MARK}{number}", ast.Load())), node] if number else node
