"""Functions converted from source: the same globals, closure cells, defaults and lines, and other
code.

The tree is compiled inside a function that has the names of the closure as parameters, so that the
code refers to them as the original does; its code object is taken from there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence, Set
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType
from typing import Any

from transpile.python.syntax.definitions import FUTURE, definition
from transpile.python.syntax.expressions import Comparisons, Expressions
from transpile.python.syntax.generators import Consumed
from transpile.python.syntax.matches import Matches
from transpile.python.syntax.names import copied, free_name
from transpile.python.syntax.nones import with_nones
from transpile.python.syntax.scopes.shared_variables import with_shared_variables
from transpile.python.syntax.statements import Statements, defined, roles_of
from transpile.python.syntax.writing import written
from transpile.util.frozen_records import dataclass

_OPS = "python"
_IS_GENERATOR = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines
_CHOOSING = (
    *(ast.If, ast.For, ast.While, ast.Match, ast.IfExp, ast.BoolOp, ast.Assert, ast.Raise, ast.Try),
    ast.With,  # which may suppress exceptions
    *(ast.comprehension, ast.Not, ast.In, ast.NotIn),
    *(ast.Global, ast.Nonlocal),  # which may be assigned to where values choose
)


@dataclass(frozen=True, eq=False)
class Conversion:
    """The converted code of a function.

    code   whose free variables are those of the original, and the module of the operations
    ops    the name of that module in the code
    lines  gives its source, with the line of the statement that a comment is for, or 0
    parameters  further ones of a generator: the consumer, and its variables
    is_endless  of a generator: it has no end of its own
    """

    code: CodeType
    ops: str
    lines: Callable[[], tuple[tuple[str, int], ...]]
    parameters: tuple[str, ...] = ()
    is_endless: bool = False


@dataclass(frozen=True)
class Consumer:
    """What consumes the items of a generator: the names of its variables, and the positions of the
    flags among them that end it."""

    names: tuple[str, ...]
    stops: tuple[int, ...]


@lru_cache(maxsize=1024)
def conversion(
    code: CodeType,
    filename: str,
    consumer: Consumer | None = None,
    compared: frozenset[int] = frozenset(),
    has_nones: bool = False,
) -> Conversion | None:
    """The conversion of some code; None where it has nothing to convert, as a straight line.

    `filename` is that of the code: equal code of two files is not the same. With a consumer, a
    generator becomes a function that calls it; None where that is impossible. `compared` are lines
    whose comparisons are those of tuples. With `has_nones`, variables may be None in the program.
    Raises NoSourceError.
    """
    if code.co_flags & (_IS_GENERATOR if consumer is None else _IS_GENERATOR & ~0x20):
        return None
    found = definition(code)
    choices = (isinstance(node, _CHOOSING) or _is_chain(node) for node in ast.walk(found.node))
    node = copied(found.node)
    own_lines = compared.intersection(getattr(inner, "lineno", 0) for inner in ast.walk(node))
    is_plain = not any(choices) and not _assigns_to_list(found.node) and not own_lines
    may_have_none = has_nones and any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    if consumer is None and is_plain and not may_have_none:
        return None
    if found.class_name:
        _Private(found.class_name).visit(node)
    taken = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    taken |= {*code.co_freevars, *code.co_varnames, *code.co_cellvars, *code.co_names}
    ops = free_name(_OPS, taken)
    taken.add(ops)
    if isinstance(node, ast.FunctionDef):
        with_shared_variables(node, ops, taken)
        if has_nones:
            with_nones(node, ops, taken)
    if own_lines:
        node = Comparisons(ops, own_lines).visit(node)
    consumed = None if consumer is None else Consumed(node, consumer.names, consumer.stops, taken)
    if consumed is not None and consumed.node is None:
        return None
    function = _converted(node, ops, taken, None if consumed is None else consumed.names)
    outer = defined("surroundings", _parameters([*code.co_freevars, ops]), [function])
    ast.copy_location(outer, node)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    flags = code.co_flags & FUTURE
    whole = compile(module, filename, "exec", flags=flags, dont_inherit=True)
    (around,) = _codes(whole)
    (own,) = _codes(around)
    own = _with_users_names(own, code.co_name, code.co_qualname, roles_of(taken))
    function.name = node.name if isinstance(node, ast.FunctionDef) else function.name
    lines = partial(written, function, filename)
    if consumed is None:
        return Conversion(own, ops, lines)
    parameters = consumed.consume, *consumed.names
    return Conversion(own, ops, lines, parameters, consumed.is_endless)


def converted(function: FunctionType, made: Conversion, ops: Any) -> FunctionType:
    """The function with converted code; `ops` is the module of the operations."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[made.ops] = CellType(ops)
    copied = FunctionType(
        made.code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in made.code.co_freevars),
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__qualname__, copied.__module__ = function.__qualname__, function.__module__
    copied.__dict__.update(function.__dict__)
    return copied


def _assigns_to_list(node: ast.AST) -> bool:
    """True where a list is made, and an element is assigned to, perhaps of that list, or an
    attribute, which it may be."""
    is_made = any(isinstance(inner, ast.List) for inner in ast.walk(node))
    return is_made and any(
        isinstance(inner, ast.Subscript | ast.Attribute) and isinstance(inner.ctx, ast.Store)
        for inner in ast.walk(node)
    )


def _is_chain(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) > 1


def _converted(
    node: Any, ops: str, taken: set[str], ending: Sequence[str] | None
) -> ast.FunctionDef:
    """The definition, without what belongs to its surroundings: decorators, defaults, hints."""
    if isinstance(node, ast.Lambda):
        value = Expressions(ops, set()).visit(node.body)
        body: list[ast.stmt] = [ast.copy_location(ast.Return(value), node.body)]
    else:
        node = Matches(taken, ops).visit(node)
        body = Statements(node, ops, taken, ending=ending).converted()
    spec = node.args
    for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
        if argument is not None:
            argument.annotation = None
    arguments = ast.arguments(
        spec.posonlyargs,
        spec.args,
        spec.vararg,
        spec.kwonlyargs,
        [None] * len(spec.kwonlyargs),
        spec.kwarg,
        [],
    )
    # Not by its own name, which may be a global one that it calls itself by.
    function = defined(free_name("function", taken), arguments, body)
    return ast.fix_missing_locations(ast.copy_location(function, node))


def _with_users_names(code: CodeType, name: str, qualname: str, roles: Set[str]) -> CodeType:
    """Code that is called like the user's function; so are the blocks of its statements."""
    inner: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            is_block = constant.co_name in roles
            names = (name, qualname) if is_block else (constant.co_name, constant.co_qualname)
            constant = _with_users_names(constant, *names, roles)
        inner.append(constant)
    return code.replace(co_name=name, co_qualname=qualname, co_consts=tuple(inner))


def _parameters(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


class _Private(ast.NodeTransformer):
    """Writes private names as the compiler of a class does: `__x` is `_Class__x`."""

    def __init__(self, class_name: str) -> None:
        self._prefix = f"_{class_name.lstrip('_')}"

    def _name(self, name: str) -> str:
        is_private = name.startswith("__") and not name.endswith("__")
        return f"{self._prefix}{name}" if is_private else name

    def visit(self, node: ast.AST) -> Any:
        """The rewritten tree."""
        if isinstance(node, ast.Name):
            node.id = self._name(node.id)
        elif isinstance(node, ast.Attribute):
            node.attr = self._name(node.attr)
        elif isinstance(node, ast.arg):
            node.arg = self._name(node.arg)
        return self.generic_visit(node)
