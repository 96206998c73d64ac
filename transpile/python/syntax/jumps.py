"""Remove `return`, `break` and `continue` within a function: what follows a conditional jump moves
into the other branch, and where several paths meet again, flags say which one was taken.

    if x > 0:            if x > 0:
        return a     ->      result = a
    b = f(x)             else:
    return b                 b = f(x)
                             result = b
                         return result

A loop that a jump may leave has the flags in `stops`, of which each one ends it. Afterwards a
function has one `return`, its last statement.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

from transpile.python.syntax.names import free_name

FALL, RETURN, BREAK, CONTINUE = "fall", "return", "break", "continue"
Exits = frozenset[str]
_FALLS: Exits = frozenset((FALL,))
_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)
Block = list[ast.stmt]
Node = TypeVar("Node", bound=ast.AST)


class Result:
    """The body of a function without jumps.

    result  the name of its value; "" where the last statement alone returns one
    stops   by id of a loop: the flags that end it
    flags   all of them
    """

    def __init__(
        self,
        body: Block,
        result: str,
        stops: dict[int, list[str]],
        flags: frozenset[str] = frozenset(),
    ) -> None:
        self.body = body
        self.result = result
        self.stops = stops
        self.flags = flags


def without_jumps(body: Sequence[ast.stmt], taken: set[str]) -> Result:
    """A function body with one `return`, at its end. New names are added to `taken`."""
    body = list(body)
    if not any(_has_jump(s) for s in body[:-1]) and (
        isinstance(body[-1], ast.Return) or not _has_jump(body[-1])
    ):
        return Result(body, "", {})
    removal = _Removal(taken)
    end = ast.copy_location(ast.Return(None), body[-1])
    end.lineno = end.end_lineno = body[-1].end_lineno or body[-1].lineno
    lowered, exits = removal.block([*body, end])
    removal.drop_unread_flags(lowered)
    last = ast.copy_location(ast.Return(_load(removal.result, end)), end)
    flags = [_assign(removal.returned, False, body[0])] if removal.is_kept(removal.returned) else []
    if RETURN not in exits:  # it always raises an exception
        return Result([*flags, *lowered], "", removal.stops, removal.flags)
    return Result([*flags, *lowered, last], removal.result, removal.stops, removal.flags)


def _has_jump(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return False
    if isinstance(node, ast.For | ast.While) and node.orelse:  # a loop without jumps has no `else`
        return True
    return isinstance(node, _JUMPS) or any(_has_jump(c) for c in ast.iter_child_nodes(node))


def _is_endless(node: ast.For | ast.While) -> bool:
    """True for `while True`."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and bool(node.test.value)
    )


def _load(name: str, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def _assign(name: str, value: ast.expr | bool | None, at: ast.AST) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    if not isinstance(value, ast.expr):
        value = ast.copy_location(ast.Constant(value), at)
    return ast.copy_location(ast.Assign([target], value), at)


class _Removal:
    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self.result = self._new("result")
        self.returned = self._new("returned")
        self.stops: dict[int, list[str]] = {}
        self._flags = {self.returned}
        self._loops: list[tuple[str, str]] = []  # names of the flags of `break` and `continue`

    @property
    def flags(self) -> frozenset[str]:
        """The names of the flags."""
        return frozenset(self._flags)

    def _new(self, wanted: str) -> str:
        name = free_name(wanted, self._taken)
        self._taken.add(name)
        return name

    def block(self, statements: Sequence[ast.stmt]) -> tuple[Block, Exits]:
        """Statements without jumps, and how they may be left."""
        done: Block = []
        for number, statement in enumerate(statements):
            rest = list(statements[number + 1 :])
            if isinstance(statement, _JUMPS):
                lowered, exits = self._jump(statement)
                return done + lowered, exits
            if not _has_jump(statement):
                done.append(statement)
                continue
            lowered, exits = self._statement(statement, rest)
            return done + lowered, exits
        return done, _FALLS

    def _jump(self, node: ast.stmt) -> tuple[Block, Exits]:
        if isinstance(node, ast.Raise):
            return [node], frozenset()
        if isinstance(node, ast.Return):
            return [
                _assign(self.result, node.value, node),
                _assign(self.returned, True, node),
            ], frozenset((RETURN,))
        kind = BREAK if isinstance(node, ast.Break) else CONTINUE
        return [_assign(self._flag(kind), True, node)], frozenset((kind,))

    def _flag(self, kind: str) -> str:
        if kind == RETURN:
            return self.returned
        return self._loops[-1][kind == CONTINUE]

    def _statement(self, node: ast.stmt, rest: Block) -> tuple[Block, Exits]:
        """A statement that has jumps, and those behind it."""
        if isinstance(node, ast.If):
            return self._if(node, rest)
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, rest)
        if isinstance(node, ast.With):
            body, exits = self.block(node.body)
            return self._before(_with_fields(node, body=body), exits, rest)
        if isinstance(node, ast.Try):
            return self._try(node, rest)
        if isinstance(node, ast.Match):
            return self._match(node, rest)
        return self._before(node, _FALLS, rest)

    def _if(self, node: ast.If, rest: Block) -> tuple[Block, Exits]:
        body, first = self.block(node.body)
        orelse, second = self.block(node.orelse)
        if rest and first - _FALLS and FALL not in first and FALL in second:
            orelse, second = self.block([*node.orelse, *rest])
        elif rest and second - _FALLS and FALL not in second and FALL in first:
            body, first = self.block([*node.body, *rest])
        else:
            whole = _with_fields(node, body=_filled(body, node), orelse=orelse)
            return self._before(whole, first | second, rest)
        whole = _with_fields(node, body=_filled(body, node), orelse=orelse)
        return [whole], first | second

    def _before(self, node: ast.stmt, exits: Exits, rest: Block) -> tuple[Block, Exits]:
        """A statement that may jump, and those behind it, which run where it did not."""
        if FALL not in exits or not rest:
            return [node], exits
        jumps = exits - _FALLS
        following, further = self.block(rest)
        if not jumps:
            return [node, *following], further
        flags = [self._flag(kind) for kind in (RETURN, BREAK, CONTINUE) if kind in jumps]
        guard = ast.If(_none_of(flags, rest[0]), following, [])
        return [node, ast.copy_location(guard, rest[0])], jumps | further

    def _loop(self, node: ast.For | ast.While, rest: Block) -> tuple[Block, Exits]:
        names = self._new("broken"), self._new("continued")
        self._flags |= set(names)
        self._loops.append(names)
        body, exits = self.block(node.body)
        self._loops.pop()
        broken, continued = names
        if CONTINUE in exits:
            body = [_assign(continued, False, node), *body]
        loop = _with_fields(node, body=body, orelse=[])
        stops = [name for kind, name in ((BREAK, broken), (RETURN, self.returned)) if kind in exits]
        self.stops[id(loop)] = stops
        before = [_assign(broken, False, node)] if BREAK in exits else []
        behind = exits & {RETURN}
        if BREAK in exits or not _is_endless(node):
            behind |= _FALLS
        if not node.orelse:
            lowered, further = self._before(loop, behind, rest)
            return before + lowered, further
        if not stops:
            following, further = self.block([*node.orelse, *rest])
            return [*before, loop, *following], further
        if broken in stops:
            otherwise = ast.If(_none_of([broken], node), node.orelse, [])
            rest = [ast.copy_location(otherwise, node), *rest]
        else:
            rest = [*node.orelse, *rest]
        following, further = self.block(rest)
        if RETURN in exits:
            guard = ast.If(_none_of([self.returned], node), following, [])
            return [*before, loop, ast.copy_location(guard, node)], further | {RETURN}
        return [*before, loop, *following], further

    def _try(self, node: ast.Try, rest: Block) -> tuple[Block, Exits]:
        body, exits = self.block(node.body)
        orelse, other = self.block(node.orelse)
        if orelse and exits - _FALLS:
            flags = [self._flag(kind) for kind in (RETURN, BREAK, CONTINUE) if kind in exits]
            guard = ast.If(_none_of(flags, orelse[0]), orelse, [])
            orelse = [ast.copy_location(guard, orelse[0])]
            exits |= other
        elif orelse:
            exits = exits - _FALLS | other
        handlers = []
        for handler in node.handlers:
            inside, left = self.block(handler.body)
            handlers.append(_with_fields(handler, body=inside))
            exits |= left
        final, left = self.block(node.finalbody)
        if FALL not in left:
            exits = left
        elif left != _FALLS:
            exits |= left
        whole = _with_fields(node, body=body, handlers=handlers, orelse=orelse, finalbody=final)
        return self._before(whole, exits, rest)

    def _match(self, node: ast.Match, rest: Block) -> tuple[Block, Exits]:
        exits: Exits = frozenset()
        cases = []
        for case in node.cases:
            body, left = self.block(case.body)
            cases.append(_with_fields(case, body=_filled(body, node)))
            exits |= left
        last = node.cases[-1]
        takes_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        if not takes_all or last.guard is not None:
            exits |= _FALLS
        return self._before(_with_fields(node, cases=cases), exits, rest)

    # ------------------------------------------------------------------------------------- flags

    def drop_unread_flags(self, body: Block) -> None:
        """Drop assignments to flags that nothing reads."""
        read = {n.id for s in body for n in ast.walk(s) if _is_load(n)}  # type: ignore[attr-defined]
        for names in self.stops.values():
            read |= set(names)
        self._kept = self._flags & read
        for holder in [*body, *[n for s in body for n in ast.walk(s)]]:
            self._drop_in(holder)
        body[:] = [s for s in body if not self._is_unread(s)]

    def is_kept(self, flag: str) -> bool:
        return flag in self._kept

    def _drop_in(self, node: ast.AST) -> None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and any(map(self._is_unread, block)):
                kept = [s for s in block if not self._is_unread(s)]
                setattr(node, name, kept if kept or name != "body" else _filled([], block[0]))

    def _is_unread(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in self._flags - self._kept
        )


def _is_load(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _with_fields(node: Node, **fields: object) -> Node:
    """A copy of a node with other fields."""
    values = {name: getattr(node, name, None) for name in node._fields}
    return ast.copy_location(type(node)(**{**values, **fields}), node)


def _filled(body: Block, at: ast.AST) -> Block:
    return body or [ast.copy_location(ast.Pass(), at)]


def _none_of(flags: Sequence[str], at: ast.AST) -> ast.expr:
    """The test that no flag is set."""
    tests: list[ast.expr] = [
        ast.copy_location(ast.UnaryOp(ast.Not(), _load(name, at)), at) for name in flags
    ]
    return tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), at)
