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
import builtins
from collections.abc import Iterable, Sequence
from typing import Any

from transpile.python.syntax.flow import BoundFlags
from transpile.python.syntax.named_values import with_assignments
from transpile.python.syntax.names import copied, free_name, names_of, placed

Block = list[ast.stmt]
# How a variable is read: as it is, since no path to here makes it None; behind a test.
_PLAIN, _TESTED = "", "given"
Known = dict[str, str]
_OPTIONAL = "returns_none_or_a_value"  # the attribute of such a function
_LIBRARIES = frozenset(("np", "numpy", "math", "cmath"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.While)


def with_nones(node: ast.FunctionDef, ops: str, taken: set[str]) -> None:
    """Rewrite a function, and those in it. `ops` is the name of the module of the operations; new
    names are added to `taken`."""
    for inner in _own(node.body):
        if isinstance(inner, ast.FunctionDef):
            with_nones(inner, ops, taken)
    node.body = with_assignments(node.body)
    names = _candidates(node.body)
    unsure = sorted(names - _surely_bound(node))
    flags = {name: free_name(f"{name}_is_bound", taken) for name in unsure}
    taken.update(flags.values())
    of_results = f"{node.name}()" if _may_return_none(node, names) else ""
    if of_results and not isinstance(node.body[-1], ast.Return | ast.Raise):
        node.body.append(placed(ast.Return(None), node.body[-1]))
    node.body, _ = _Nones(names, ops, of_results).block(node.body, {})
    if flags:
        BoundFlags(flags, ops).rewrite(node)
    if of_results:
        setattr(node, _OPTIONAL, True)


def _candidates(body: Sequence[ast.stmt]) -> set[str]:
    """The variables that assignments make None, and others not, and that belong to no other
    scope, too."""
    nones, values, others = set[str](), set[str](), set(names_of(body).inner)
    tested = set(_tested_names(body))
    for node in _own(body):
        if isinstance(node, ast.Assign):
            for name, value in _pairs(node):
                is_open = _may_be_none(value) and (name in tested or not _is_users_call(value))
                nones |= {name} if is_open else set()
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


def returning(node: ast.FunctionDef) -> str:
    """The operation that makes the result of a function of what its paths return."""
    return "returned_or_none" if getattr(node, _OPTIONAL, False) else "returned"


def _may_return_none(node: ast.FunctionDef, names: set[str]) -> bool:
    """True for a function of which some paths return a value, and others may return None."""
    own = list(_own(node.body))
    values = [inner.value for inner in own if isinstance(inner, ast.Return)]
    if all(map(_is_nothing, values)) or any(isinstance(x, ast.Yield | ast.YieldFrom) for x in own):
        return False
    ends = isinstance(node.body[-1], ast.Return | ast.Raise)
    return not ends or any(
        _is_nothing(x) or _may_be_none(x) or (isinstance(x, ast.Name) and x.id in names)
        for x in values
    )


def _is_nothing(node: ast.expr | None) -> bool:
    return node is None or _is_none(node)


def _is_users_call(node: ast.AST | None) -> bool:
    """True for a call of what may be a function of the user's, whose result may be None."""
    if not isinstance(node, ast.Call):
        return False
    callee = node.func
    if isinstance(callee, ast.Name):
        return not hasattr(builtins, callee.id)
    while isinstance(callee, ast.Attribute):
        callee = callee.value
    return isinstance(callee, ast.Name) and callee.id not in _LIBRARIES


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


def _tested_names(body: Iterable[ast.AST]) -> Iterable[str]:
    """The variables that are compared with None."""
    for node in _own(body):
        match node:
            case ast.Compare(ast.Name(id=name), [_], [other]) if _is_none(other):
                yield name


def _copies(node: ast.Assign) -> Iterable[tuple[str, str]]:
    """The variables that become other ones, with these."""
    return ((name, x.id) for name, x in _pairs(node) if isinstance(x, ast.Name))


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _may_be_none(node: ast.expr | None) -> bool:
    """True for None, what a function of the user's gives, and for a choice of such values."""
    if isinstance(node, ast.IfExp):
        return _may_be_none(node.body) or _may_be_none(node.orelse)
    return _is_none(node) or _is_users_call(node)


class _Nones:
    """Rewrites the statements of one function. `known`: which of the variables are not None.

    of_results  what its result is called, if that may be None
    """

    def __init__(self, names: set[str], ops: str, of_results: str) -> None:
        self.names = names
        self.ops = ops
        self.of_results = of_results

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
        if isinstance(node, ast.Return) and self.of_results:
            node.value = self._returned(node, known)
            return [node], None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._parts(node.value, known)  # its result is not used
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
        if isinstance(node, ast.Call):
            self._parts(node, known)
            return self._call("passed", [node, _text(name)], node)
        assert isinstance(node, ast.IfExp)
        arms = {id(arm): name for arm in (node.body, node.orelse) if _may_be_none(arm)}
        then, otherwise = self._tested(node.test, known)
        test = self._part(node.test, known, is_truth=True)
        body, orelse = self._value(node.body, arms, then), self._value(node.orelse, arms, otherwise)
        return placed(ast.IfExp(test, body, orelse), node)

    def _returned(self, node: ast.Return, known: Known) -> ast.expr:
        """What a path returns, of a function whose result may be None."""
        value = ast.Constant(None) if node.value is None else node.value
        is_open = _may_be_none(value) or self._is_open(value, known)
        made = {id(value): self.of_results} if is_open else {}
        returned: ast.expr = self._value(placed(value, node), made, known)
        return returned

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
        if (of_call := self._part_of_call(node, known, is_truth, how)) is not None:
            return of_call
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

    def _part_of_call(self, node: Any, known: Known, is_truth: bool, how: str) -> Any:
        """An expression in which the result of a call may be None; None: another one."""
        match node:
            case ast.Compare(left, [op], [right]) if _is_users_call(left) and (
                isinstance(op, ast.Eq | ast.NotEq)
                or (isinstance(op, ast.Is | ast.IsNot) and _is_none(right))
            ):
                self._parts(left, known)
                differs = ast.Constant(isinstance(op, ast.NotEq | ast.IsNot))
                return self._call("equals", [left, self._part(right, known), differs], node)
            case ast.NamedExpr(_, ast.Call() as call) if _is_users_call(call):
                self._parts(call, known)
                text = _text(f"{ast.unparse(call.func)}()")
                node.value = self._call("never_none", [call, text], call)
                return node
            case ast.BoolOp(ast.Or(), [first, *others]) if not is_truth and _is_users_call(first):
                self._parts(first, known)
                rest = others[0] if len(others) == 1 else placed(ast.BoolOp(ast.Or(), others), node)
                nothing = ast.arguments([], [], None, [], [], None, [])
                later = placed(ast.Lambda(nothing, self._part(rest, known)), node)
                return self._call("or_given", [first, later], node)
            case ast.Call() if _is_users_call(node):
                self._parts(node, known)
                function = "holds" if is_truth else how
                text = _text(f"{ast.unparse(node.func)}()")
                return self._call(function, [node] if is_truth else [node, text], node)
        return None

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
