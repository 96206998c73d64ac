"""The package's modules, for the tests of its shape: a file is parsed once in a process."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "transpile"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes_of(path):
    """Every node of that tree, breadth first."""
    return tuple(ast.walk(tree_of(path)))


def nodes_in(text):
    """Every node of the tree of a text."""
    return tuple(ast.walk(ast.parse(text)))
