"""Liveness and definite assignment over statements without jumps.

Both walk over the structure, as no jump crosses it: backwards with the variables that are read
later, forwards with those that are bound on every path. What functions inside a function read is
live everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from transpile.python.syntax.names import Names, names_of, placed

Variables = frozenset[str]
_NONE: Variables = frozenset()
_INSIDE = (ast.FunctionDef, ast.Lambda, ast.ClassDef)  # what has variables of its own


class Flow:
    """What is known of the variables of a function, whose body may have lost parts that nothing
    reaches, and that bind variables: `unreached`.

    live     by id of an `if` or a loop: what is read behind it, or by its next iteration
    entered  by id of an `if`: what its branches read of what was there before
    needed   by id of an `if`: of which variables the value of before is read, in it or behind it
    bound    by id of an `if` or a loop: what is bound on every path to it
    unbound  ids of the reads that some path reaches without a value
    starting locals that only functions inside read, and no statement binds
    unsure   variables that statements may leave without a value, those of functions around among
             them
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        parameters: Iterable[str],
        stops: Mapping[int, list[str]],
        around: Variables = _NONE,
        unreached: Variables = _NONE,
    ) -> None:
        self.live: dict[int, Variables] = {}
        self.entered: dict[int, tuple[Variables, Variables]] = {}
        self.needed: dict[int, Variables] = {}
        self.bound: dict[int, Variables] = {}
        self.unbound: set[int] = set()
        self._unsure: list[Variables] = []
        names = names_of(body)
        self.locals = frozenset((*names.bound, *parameters, *unreached))
        self._always = frozenset(names.inner)
        self._stops = stops
        self._backward(body, _NONE)
        self._forward(body, frozenset(parameters))
        outer = around - self.locals
        left_out = unreached - names.bound - frozenset(parameters)
        self.unsure = outer.union(*self._unsure, left_out)
        self.starting = left_out & self._always
        for node in body:
            self.unbound |= _reads(node, outer)
            for inner in ast.walk(node):
                if isinstance(inner, ast.Lambda):
                    self.unbound |= _reads(inner.body, self.unsure - names_of([inner.args]).bound)

    # ---------------------------------------------------------------------------------- liveness

    def _backward(self, block: Iterable[ast.AST], live: Variables) -> Variables:
        for node in reversed(list(block)):
            live = self._before(node, live)
        return live

    def _before(self, node: ast.AST, live: Variables) -> Variables:
        match node:
            case ast.If():
                self.live[id(node)] = live | self._always
                then, otherwise = (self._backward(b, live) for b in (node.body, node.orelse))
                self.entered[id(node)] = then, otherwise
                self.needed[id(node)] = then | otherwise | self._always
                return then | otherwise | names_of([node.test]).read
            case ast.For() | ast.While():
                return self._before_loop(node, live)
            case ast.With():
                live = self._backward(node.body, live)
                return self._backward(node.items, live)
            case ast.Try():
                live = self._backward(node.finalbody, live)
                behind = live.union(*[self._backward(h.body, live) for h in node.handlers])
                return behind | self._backward([*node.body, *node.orelse], behind)
            case ast.Match():
                cases = [self._backward(c.body, live) for c in node.cases]
                tests = names_of([c.pattern for c in node.cases] + [node.subject])
                guards = names_of([c.guard for c in node.cases if c.guard is not None])
                return live.union(tests.read, guards.read, *cases)
        names = Names(node)
        kept = live - (names.bound if not isinstance(node, ast.AugAssign) else set())
        return kept | names.read

    def _before_loop(self, node: ast.For | ast.While, live: Variables) -> Variables:
        flags = frozenset(self._stops.get(id(node), ()))
        first = node.test if isinstance(node, ast.While) else None
        head = live | flags
        while True:
            again = self._backward(node.body, head)
            if isinstance(node, ast.For):
                again = self._backward([node.target], again)
            elif first is not None:
                again |= names_of([first]).read
            if again <= head:
                break
            head |= again
        self.live[id(node)] = head | self._always
        return head | (names_of([node.iter]).read if isinstance(node, ast.For) else _NONE)

    # ----------------------------------------------------------------------- definite assignment

    def _forward(self, block: Iterable[ast.AST], bound: Variables) -> Variables:
        for node in block:
            bound = self._after(node, bound)
        return bound

    def _after(self, node: ast.AST, bound: Variables) -> Variables:
        match node:
            case ast.If():
                bound = self._expression(node.test, bound)
                self._begin(node, bound)
                return self._forward(node.body, bound) & self._forward(node.orelse, bound)
            case ast.While():
                self._begin(node, bound)
                bound = self._expression(node.test, bound)
                self._forward(node.body, bound)
                return bound
            case ast.For():
                bound = self._expression(node.iter, bound)
                self._begin(node, bound)
                self._forward(node.body, bound | names_of([node.target]).bound)
                return bound
            case ast.With():
                return self._forward([*node.items, *node.body], bound)
            case ast.Try():
                after = self._forward([*node.body, *node.orelse], bound)
                for handler in node.handlers:
                    named = {handler.name} if handler.name else _NONE
                    after &= self._forward(handler.body, bound | named)
                return self._forward(node.finalbody, after)
            case ast.Match():
                bound = self._expression(node.subject, bound)
                ends = [self._case(case, bound) for case in node.cases]
                return bound | frozenset.intersection(*ends) if _takes_all(node) else bound
            case ast.Raise():
                self._expression(node, bound)
                return self.locals  # nothing comes behind it
            case ast.Delete():
                return bound - {t.id for t in node.targets if isinstance(t, ast.Name)}
        return self._expression(node, bound)

    def _begin(self, node: ast.AST, bound: Variables) -> None:
        self.bound[id(node)] = bound
        self._unsure.append(frozenset(names_of([node]).bound - bound))

    def _case(self, case: ast.match_case, bound: Variables) -> Variables:
        bound |= names_of([case.pattern]).bound
        if case.guard is not None:
            bound = self._expression(case.guard, bound)
        return self._forward(case.body, bound)

    def _expression(self, node: ast.AST, bound: Variables) -> Variables:
        """Note the reads that may find nothing; what is bound behind it."""
        names = Names(node)
        missing = (names.read & self.locals) - bound
        if missing:
            for inner in _own_names(node):
                if isinstance(inner.ctx, ast.Load) and inner.id in missing:
                    self.unbound.add(id(inner))
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.unbound |= {id(node.target)} if node.target.id in missing else set()
        return bound | names.bound


class BoundFlags(ast.NodeTransformer):
    """Keeps a flag for each variable that may be None, or not bound yet: reading it then is
    Python's error. The flag of a variable has another name."""

    def __init__(self, flags: dict[str, str], ops: str) -> None:
        self._flags = flags
        self._ops = ops

    def rewrite(self, node: ast.FunctionDef) -> None:
        """Rewrite the body of a function."""
        first = node.body[0]
        starts: list[ast.stmt] = []
        for name, flag in self._flags.items():
            value = self._call("Unbound", [ast.Constant(name)], first)
            starts.append(placed(ast.Assign([ast.Name(name, ast.Store())], value), first))
            starts.append(self._set(flag, False, first))
        node.body = [*starts, *self._block(node.body)]

    def _set(self, flag: str, value: bool, at: ast.AST) -> ast.stmt:
        return placed(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value)), at)

    def _call(self, function: str, arguments: list[ast.expr], at: ast.AST) -> ast.expr:
        callee = ast.Attribute(ast.Name(self._ops, ast.Load()), function, ast.Load())
        return placed(ast.Call(callee, arguments, []), at)

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in body:
            done.append(self.visit(statement))
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                done += self._bound_by(statement, statement)
        return done

    def _bound_by(self, node: ast.AST, at: ast.AST) -> list[ast.stmt]:
        names = sorted(names_of([node]).bound & self._flags.keys())
        return [self._set(self._flags[name], True, at) for name in names]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A node, of which blocks note what they bind."""
        if isinstance(node, _INSIDE):
            return node
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                bound: list[ast.stmt] = []
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
        return self._call("bound_if", [flag, node, ast.Constant(node.id)], node)


def _takes_all(node: ast.Match) -> bool:
    last = node.cases[-1]
    pattern = last.pattern
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None and last.guard is None


def _reads(node: ast.AST, variables: Variables) -> set[int]:
    """The ids of the reads of variables, but in functions inside."""
    names = _own_names(node)
    return {id(n) for n in names if isinstance(n.ctx, ast.Load) and n.id in variables}


def _own_names(node: ast.AST) -> list[ast.Name]:
    """The names in a tree, but not in functions inside."""
    names: list[ast.Name] = []
    left = [node]
    while left:
        node = left.pop()
        if isinstance(node, ast.Name):
            names.append(node)
        else:
            left += [c for c in ast.iter_child_nodes(node) if not isinstance(c, _INSIDE)]
    return names


def only_raises_again(handler: ast.ExceptHandler) -> bool:
    """True for a handler that does nothing but `raise`."""
    return all(isinstance(s, ast.Raise) and s.exc is None for s in handler.body)


def is_errstate(node: ast.expr) -> bool:
    """True for NumPy's `errstate`, a manager that suppresses nothing."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) in (
        "np.errstate",
        "numpy.errstate",
    )


def is_exchange(node: ast.stmt) -> bool:
    """True where two elements of a variable exchange their values: `m[i], m[k] = m[k], m[i]`. Of
    three, two may be one, which would then be in two places."""
    match node:
        case ast.Assign([ast.Tuple([_, _] as targets)], ast.Tuple(values)):
            given, taken = (sorted(map(ast.unparse, x)) for x in (values, targets))
            names = {_of_variable(x) for x in targets}
            return given == taken and len(names) == 1 and None not in names
    return False


def _of_variable(node: ast.expr) -> str | None:
    """The variable that a subscript is of."""
    match node:
        case ast.Subscript(ast.Name(id=name)):
            return name
    return None
