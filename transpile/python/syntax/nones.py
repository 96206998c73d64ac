"""Rewrite variables that are None first, or on some path, and values on others.

    best = None                         best = python.Unbound("best")
    for v in x:                         for v in x:
        if best is None or v < best:        if python.is_none(best) or v < python.given(best):
            best = v                ->          best = v
    if best is not None:                if not python.is_none(best):
        total += best                       total += python.given(best)

None is what a variable without a value is: statements keep a flag beside the value. A read behind a
test for None is `given`; one of an operand, for which Python raises TypeError, tests the flag
(`not_none`); and what would hand None on to others is an error where the flag is traced (`handed`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from transpile.python.syntax.names import copied, free_name, names_of, placed

Block = list[ast.stmt]
# How a variable is read: as it is, since no path to here makes it None; behind a test.
_PLAIN, _TESTED = "", "given"
Known = dict[str, str]
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.While)


def with_nones(node: ast.FunctionDef, ops: str, taken: set[str]) -> None:
    """Rewrite a function, and those in it. `ops` is the name of the module of the operations; new
    names are added to `taken`."""
    for inner in _own(node.body):
        if isinstance(inner, ast.FunctionDef):
            with_nones(inner, ops, taken)
    names = _candidates(node.body)
    if names:
        unsure = sorted(names - _surely_bound(node))
        flags = {name: free_name(f"{name}_is_bound", taken) for name in unsure}
        taken.update(flags.values())
        node.body, _ = _Nones(names, ops).block(node.body, {})
        if flags:
            _Bound(flags, ops).rewrite(node)


def _candidates(body: Sequence[ast.stmt]) -> set[str]:
    """The variables that assignments make None, and others not, and that belong to no other
    scope, too."""
    nones, values, others = set[str](), set[str](), set(names_of(body).inner)
    for node in _own(body):
        if isinstance(node, ast.Assign):
            for name, value in _pairs(node):
                nones |= {name} if _may_be_none(value) else set()
                values |= set() if _is_none(value) else {name}
        elif isinstance(node, ast.Global | ast.Nonlocal):
            others |= {*node.names}
        elif isinstance(node, ast.NamedExpr | ast.comprehension):
            others |= names_of([node.target]).bound
        elif isinstance(node, ast.For | ast.AugAssign | ast.withitem | ast.AnnAssign):
            values |= names_of([node]).bound
        elif isinstance(node, ast.Delete):
            others |= names_of([node]).bound
    copies = {pair for node in _own(body) if isinstance(node, ast.Assign) for pair in _copies(node)}
    while further := {name for name, of in copies if of in nones} - nones:
        nones |= further
    return (nones & values) - others


def _surely_bound(node: ast.FunctionDef) -> set[str]:
    """The variables that are bound before anything reads them: by a parameter, or one of the first
    statements."""
    spec = node.args
    given = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    bound = {a.arg for a in given if a is not None}
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            bound |= {name for name, _ in _pairs(statement)}
    return bound


class _Bound(ast.NodeTransformer):
    """Keeps a flag for each variable that may be None, or not bound yet: reading it then is
    Python's error. The flag of a variable has another name."""

    def __init__(self, flags: dict[str, str], ops: str) -> None:
        self._flags = flags
        self._ops = ops

    def rewrite(self, node: ast.FunctionDef) -> None:
        """Rewrite the body of a function."""
        first = node.body[0]
        starts: Block = []
        for name, flag in self._flags.items():
            value = self._call("Unbound", [_text(name)], first)
            starts.append(placed(ast.Assign([ast.Name(name, ast.Store())], value), first))
            starts.append(self._set(flag, False, first))
        node.body = [*starts, *self._block(node.body)]

    def _set(self, flag: str, value: bool, at: ast.AST) -> ast.stmt:
        return placed(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value)), at)

    def _call(self, function: str, arguments: list[ast.expr], at: ast.AST) -> ast.expr:
        callee = ast.Attribute(ast.Name(self._ops, ast.Load()), function, ast.Load())
        return placed(ast.Call(callee, arguments, []), at)

    def _block(self, body: Sequence[ast.stmt]) -> Block:
        done: Block = []
        for statement in body:
            done.append(self.visit(statement))
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                done += self._bound_by(statement, statement)
        return done

    def _bound_by(self, node: ast.AST, at: ast.AST) -> Block:
        names = sorted(names_of([node]).bound & self._flags.keys())
        return [self._set(self._flags[name], True, at) for name in names]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A node, of which blocks note what they bind."""
        if isinstance(node, _SCOPES):
            return node
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                bound: Block = []
                if field == "body" and isinstance(node, ast.For):
                    bound = self._bound_by(node.target, node)
                elif field == "body" and isinstance(node, ast.With):
                    bound = [s for item in node.items for s in self._bound_by(item, node)]
                setattr(node, field, [*bound, *self._block(value)])
            elif isinstance(value, list):
                setattr(
                    node, field, [self.visit(x) if isinstance(x, ast.AST) else x for x in value]
                )
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A read of such a variable."""
        if node.id not in self._flags or not isinstance(node.ctx, ast.Load):
            return node
        flag: ast.expr = ast.Name(self._flags[node.id], ast.Load())
        return self._call("bound_if", [flag, node, _text(node.id)], node)


def _own(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """The nodes of a block, functions among them, but not what is in these."""
    for node in body:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own(ast.iter_child_nodes(node))


def _pairs(node: ast.Assign) -> Iterable[tuple[str, ast.expr | None]]:
    """The variables of an assignment, each with its value; None: a part of one."""
    for target in node.targets:
        match target, node.value:
            case ast.Name(id=name), value:
                yield name, value
            case (
                ast.Tuple(elts=parts) | ast.List(elts=parts),
                ast.Tuple(elts=values),
            ) if len(parts) == len(values):
                for part, value in zip(parts, values, strict=True):
                    if isinstance(part, ast.Name):
                        yield part.id, value
                    else:
                        yield from ((name, None) for name in names_of([part]).bound)
            case _:
                yield from ((name, None) for name in names_of([target]).bound)


def _copies(node: ast.Assign) -> Iterable[tuple[str, str]]:
    """The variables that become other ones, with these."""
    return ((name, x.id) for name, x in _pairs(node) if isinstance(x, ast.Name))


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _may_be_none(node: ast.expr | None) -> bool:
    """True for None, and for a choice of it and another value."""
    return _is_none(node) or (
        isinstance(node, ast.IfExp) and (_may_be_none(node.body) or _may_be_none(node.orelse))
    )


class _Nones:
    """Rewrites the statements of one function. `known`: which of the variables are not None."""

    def __init__(self, names: set[str], ops: str) -> None:
        self.names = names
        self.ops = ops

    # --------------------------------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt], known: Known) -> tuple[Block, Known | None]:
        """The statements, and what is known behind them; None where nothing comes there."""
        done: Block = []
        now: Known | None = dict(known)
        for statement in body:
            more, now = self._statement(statement, {} if now is None else now)
            done += more
        return done, now

    def _statement(self, node: ast.stmt, known: Known) -> tuple[Block, Known | None]:
        match node:
            case ast.Assign():
                return self._assignment(node, known)
            case ast.AugAssign(target=ast.Name(id=name)) if name in self.names:
                node.value = self._part(node.value, known)
                if known.get(name) == _PLAIN:
                    return [node], known
                value = self._part(ast.Name(name, ast.Load()), known, how="not_none")
                first = placed(ast.Assign([ast.Name(name, ast.Store())], value), node)
                return [first, node], known | {name: _PLAIN}
            case ast.If():
                return self._if(node, known)
            case ast.For() | ast.While():
                return [node], self._loop(node, known)
            case ast.With():
                stays = self._without_nones(node.body, known)
                for item in node.items:
                    item.context_expr = self._part(item.context_expr, known)
                node.body, _ = self.block(node.body, known)
                return [node], stays  # of the body a part is done where an exception is suppressed
            case ast.Try():
                return [node], self._try(node, known)
            case ast.Assert():
                holds, _ = self._tested(node.test, known)
                node.test = self._part(node.test, known, is_truth=True)
                node.msg = node.msg and self._part(node.msg, known)
                return [node], holds
            case ast.Match():
                stays = self._without_nones([node], known)
                node.subject = self._part(node.subject, known)
                for case in node.cases:
                    case.body, _ = self.block(case.body, stays)
                return [node], stays
        if isinstance(node, _SCOPES):
            return [node], known
        self._parts(node, known)
        ends = isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue)
        return [node], None if ends else known

    def _assignment(self, node: ast.Assign, known: Known) -> tuple[Block, Known]:
        if len(node.targets) > 1 and _is_none(node.value):
            apart: Block = []
            for target in node.targets:
                more, known = self._assignment(
                    placed(ast.Assign([target], ast.Constant(None)), node), known
                )
                apart += more
            return apart, known
        now = dict(known)
        made: dict[int, str] = {}
        for name, value in _pairs(node):
            if name not in self.names:
                continue
            of = value.id if isinstance(value, ast.Name) else None
            if _may_be_none(value) or (of in self.names and known.get(of or "") != _PLAIN):
                made[id(value)] = name
                now.pop(name, None)
                now |= {name: known[of]} if of in known else {}
            else:
                now[name] = _PLAIN
        if isinstance(node.value, ast.Tuple):
            node.value.elts = [self._value(x, made, known) for x in node.value.elts]
        else:
            node.value = self._value(node.value, made, known)
        for target in node.targets:
            self._parts(target, known)
        return [node], now

    def _value(self, node: ast.expr, made: dict[int, str], known: Known) -> Any:
        """What is assigned to a variable, which has no value where it is None."""
        name = made.get(id(node))
        if name is None:
            return self._part(node, known)
        if _is_none(node):
            return self._call("Unbound", [_text(name)], node)
        if isinstance(node, ast.Name):
            return self._call("passed", [node, _text(name)], node)
        assert isinstance(node, ast.IfExp)
        arms = {id(arm): name for arm in (node.body, node.orelse) if _may_be_none(arm)}
        then, otherwise = self._tested(node.test, known)
        test = self._part(node.test, known, is_truth=True)
        body, orelse = self._value(node.body, arms, then), self._value(node.orelse, arms, otherwise)
        return placed(ast.IfExp(test, body, orelse), node)

    def _if(self, node: ast.If, known: Known) -> tuple[Block, Known | None]:
        then, otherwise = self._tested(node.test, known)
        node.test = self._part(node.test, known, is_truth=True)
        node.body, one = self.block(node.body, then)
        node.orelse, other = self.block(node.orelse, otherwise)
        if one is None or other is None:
            return [node], other if one is None else one
        return [node], _both(one, other)

    def _loop(self, node: ast.For | ast.While, known: Known) -> Known:
        if isinstance(node, ast.For):
            node.iter = self._part(node.iter, known)
        stays = self._without_nones(node.body, known)
        first = stays
        if isinstance(node, ast.For):
            bound = names_of([node.target]).bound & self.names
            first = stays | dict.fromkeys(bound, _PLAIN)
        else:
            first, _ = self._tested(node.test, stays)
            node.test = self._part(node.test, stays, is_truth=True)
        node.body, _ = self.block(node.body, first)
        node.orelse, _ = self.block(node.orelse, stays)
        return stays

    def _try(self, node: ast.Try, known: Known) -> Known:
        stays = self._without_nones([node], known)
        for handler in node.handlers:
            handler.body, _ = self.block(handler.body, stays)
        node.body, _ = self.block(node.body, stays)
        node.orelse, _ = self.block(node.orelse, stays)
        node.finalbody, _ = self.block(node.finalbody, stays)
        return stays

    def _without_nones(self, body: Sequence[ast.stmt], known: Known) -> Known:
        """What stays known where these statements run any number of times, or in part."""
        pairs = [p for node in _own(body) if isinstance(node, ast.Assign) for p in _pairs(node)]
        nones = {
            name
            for name, value in pairs
            if _may_be_none(value) or (isinstance(value, ast.Name) and value.id in self.names)
        }
        return {name: how for name, how in known.items() if name not in nones}

    # -------------------------------------------------------------------------------- expressions

    def _part(self, node: Any, known: Known, *, is_truth: bool = False, how: str = "handed") -> Any:
        """An expression; `how`: a variable is read of which nothing is known."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in self.names:
                if name in known:
                    return node if not known[name] else self._call(known[name], [node], node)
                function = "holds" if is_truth else how
                given: list[ast.expr] = [node] if is_truth else [node, _text(name)]
                return self._call(function, given, node)
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op]) if (
                _is_none(node.comparators[0]) and name in self.names
            ):
                same = self._call("is_none", [node.left], node)
                is_not = isinstance(op, ast.IsNot)
                return placed(ast.UnaryOp(ast.Not(), same), node) if is_not else same
            case ast.BoolOp(ast.Or(), [first, *others]) if not is_truth and self._is_open(
                first, known
            ):  # `x or 0` is the other value where x is None
                rest = others[0] if len(others) == 1 else placed(ast.BoolOp(ast.Or(), others), node)
                return self._part(placed(ast.IfExp(copied(first), first, rest), node), known)
            case ast.Compare(left, [ast.Eq() | ast.NotEq()], [right]) if self._is_open(
                left, known
            ) != self._is_open(right, known) and all(map(_is_simple, (left, right))):
                return self._equality(node, known)
            case ast.BoolOp():
                now, values = known, []
                for value in node.values:
                    then, otherwise = self._tested(value, now)
                    values.append(self._part(value, now, is_truth=is_truth))
                    now = then if isinstance(node.op, ast.And) else otherwise
                node.values = values
                return node
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self._part(node.operand, known, is_truth=True)
                return node
            case ast.IfExp():
                then, otherwise = self._tested(node.test, known)
                node.test = self._part(node.test, known, is_truth=True)
                node.body = self._part(node.body, then)
                node.orelse = self._part(node.orelse, otherwise)
                return node
        if not isinstance(node, ast.Lambda):
            is_operand = isinstance(node, ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Attribute)
            is_ordered = isinstance(node, ast.Compare) and all(map(_is_order, node.ops))
            self._parts(node, known, "not_none" if is_operand or is_ordered else "handed")
        return node

    def _is_open(self, node: ast.expr, known: Known) -> bool:
        """True for a variable that may be None here."""
        return isinstance(node, ast.Name) and node.id in self.names and node.id not in known

    def _equality(self, node: ast.Compare, known: Known) -> ast.expr:
        """`x == y`: None differs from what is not None."""
        sides = node.left, node.comparators[0]
        name, other = sides if self._is_open(sides[0], known) else sides[::-1]
        assert isinstance(name, ast.Name)
        given = self._part(copied(other), known)
        test = self._call("is_none_alone", [copied(name), _text(name.id), given], node)
        self._parts(node, known | {name.id: _TESTED})
        if isinstance(node.ops[0], ast.NotEq):
            return placed(ast.BoolOp(ast.Or(), [test, node]), node)
        negated = placed(ast.UnaryOp(ast.Not(), test), node)
        return placed(ast.BoolOp(ast.And(), [negated, node]), node)

    def _parts(self, node: ast.AST, known: Known, how: str = "handed") -> None:
        """Rewrite the expressions in a node."""
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self._field(x, known, how) for x in value])
            else:
                setattr(node, field, self._field(value, known, how))

    def _field(self, value: Any, known: Known, how: str) -> Any:
        if isinstance(value, ast.expr):
            return self._part(value, known, how=how)
        if isinstance(value, ast.AST):
            self._parts(value, known)
        return value

    def _tested(self, test: ast.expr, known: Known) -> tuple[Known, Known]:
        """What is known where a test holds, and where it does not."""
        then, otherwise = dict(known), dict(known)
        match test:
            case ast.Name(id=name) if name in self.names:
                then[name] = known.get(name, _TESTED)
            case ast.Compare(ast.Name(id=name), [ast.Is() | ast.IsNot() as op], [none]) if (
                _is_none(none) and name in self.names
            ):
                found = then if isinstance(op, ast.IsNot) else otherwise
                found[name] = known.get(name, _TESTED)
            case ast.UnaryOp(ast.Not(), operand):
                then, otherwise = self._tested(operand, known)[::-1]
            case ast.BoolOp(op, values):
                number = isinstance(op, ast.Or)  # of the way on which all operands are asked
                now = dict(known)
                for value in values:
                    now = self._tested(value, now)[number]
                then, otherwise = (then, now) if number else (now, otherwise)
        return then, otherwise

    def _call(self, function: str, arguments: list[ast.expr], at: ast.AST) -> ast.expr:
        callee = ast.Attribute(ast.Name(self.ops, ast.Load()), function, ast.Load())
        return placed(ast.Call(callee, arguments, []), at)


def _both(one: Known, other: Known) -> Known:
    """What is known behind two paths."""
    return {name: one[name] or other[name] for name in one.keys() & other.keys()}


def _is_order(op: ast.cmpop) -> bool:
    return isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)


def _is_simple(node: ast.expr) -> bool:
    """True for what may be read twice."""
    return isinstance(node, ast.Name | ast.Constant)


def _text(name: str) -> ast.expr:
    return ast.Constant(name)
