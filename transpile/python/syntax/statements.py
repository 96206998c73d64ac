"""Rewrite statements that choose or repeat into calls, whose arguments are functions of the state.

    while x > 1:             def condition(x, k):
        x = x / 2                return x > 1
        k += 1         ->    def body(x, k):
                                 x = x / 2
                                 k += 1
                                 return (x, k)
                             x, k = python.while_(condition, body, x=x, k=k)

The state of a statement are the variables that it binds and that are read later (`flow.py`). All
other variables are read where they are, by the closures. The functions are called at once, so that
all have these names, also in each other.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from transpile.python.syntax.expressions import Expressions
from transpile.python.syntax.flow import Flow, is_errstate, is_exchange, only_raises_again
from transpile.python.syntax.generators import has_own
from transpile.python.syntax.jumps import without_jumps
from transpile.python.syntax.named_values import without_named_values
from transpile.python.syntax.names import Names, copied, free_name, names_of, own_nodes, placed
from transpile.python.syntax.nones import returning
from transpile.python.syntax.writing import with_line

Node = TypeVar("Node", bound=ast.AST)
Block = list[ast.stmt]
# What the functions are called that statements become, and the parameter that is an item.
_ROLES = ("then", "otherwise", "condition", "body", "item")
# What may make an array, or a list, that nobody else has.
_MAKING = (
    *(ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript),
    *(ast.List, ast.ListComp),
)
_NOT_CONVERTED = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


class Statements:
    """Rewrites the statements of one function.

    ops    the name of the module of the operations
    taken  all names of the function, and those that have been made
    around variables of the functions around that may have no value
    place  the variable of the function around that says where this one was defined
    ending the variables that it returns, of a generator that calls what consumes its items
    """

    def __init__(
        self,
        node: ast.FunctionDef,
        ops: str,
        taken: set[str],
        around: frozenset[str] = frozenset(),
        place: str = "",
        ending: Sequence[str] | None = None,
    ) -> None:
        self.ops = ops
        self.taken = taken
        self._place = place
        self.is_plain = has_own(node.body, _NOT_CONVERTED)
        local = frozenset(names_of(node.body).bound)
        plain = node.body if self.is_plain else without_named_values(node.body, taken)
        lowered = without_jumps(plain, taken) if not self.is_plain else None
        self._body = lowered.body if lowered else plain
        self._stops = lowered.stops if lowered else {}
        self._result = lowered.result if lowered and ending is None else ""
        if ending is not None:
            last = self._body[-1]
            values = ast.Tuple([ast.Name(name, ast.Load()) for name in ending], ast.Load())
            rest = self._body[:-1] if isinstance(last, ast.Return) else self._body
            self._body = [*rest, placed(ast.Return(values), last)]
        declared = [n for n in own_nodes(node.body) if isinstance(n, ast.Global | ast.Nonlocal)]
        self._outer = {name for n in declared for name in n.names}
        self._flow = Flow(self._body, _parameters(node), self._stops, around, local - self._outer)
        unbound = self._flow.unbound
        self._starts_unbound = set(self._flow.starting)
        self._names = names_of(self._body)
        self._expressions = Expressions(ops, unbound)
        self._jumps = lowered.flags if lowered else frozenset[str]()
        self._returning = returning(node)
        self._roles = {role: free_name(role, taken) for role in _ROLES}

    def converted(self) -> Block:
        """The body of the function."""
        if self.is_plain:
            return self._body
        last = self._body[-1]
        body = self._block(self._body if not self._result else self._body[:-1])
        if self._result:
            body = self._without_unread(body, [self._result])
            value = ast.Name(self._result, ast.Load())
            end = ast.Return(self._expressions.call(self._returning, value, at=last))
            body.append(placed(end, last))
        elif self._returning != "returned" and isinstance(body[-1], ast.Return):
            own = body[-1].value or ast.Constant(None)
            body[-1].value = self._expressions.call(self._returning, own, at=last)
        first = self._body[0]
        starts = [self._unbound(name, first) for name in sorted(self._starts_unbound - self._outer)]
        texts = [s for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
        outer = [s for s in body if isinstance(s, ast.Global | ast.Nonlocal)]
        rest = [s for s in body if s not in texts and s not in outer]
        return [*texts, *outer, *self._checks(first), *starts, *rest]

    def _checks(self, at: ast.stmt) -> Block:
        """A check of where variables of outer scopes are assigned to."""
        names = sorted(self._outer & names_of(self._body).bound)
        if not names:
            return []
        place = _load(self._place) if self._place else ast.Constant(None)
        call = self._expressions.call("only_here", place, *map(ast.Constant, names), at=at)
        return [placed(ast.Expr(call), at)]

    def _unbound(self, name: str, at: ast.AST) -> ast.stmt:
        names = [] if name == self._result else [ast.Constant(name)]
        value = self._expressions.call("Unbound", *names, at=at)
        return placed(ast.Assign([ast.Name(name, ast.Store())], value), at)

    def _block(self, block: Sequence[ast.stmt]) -> Block:
        return [s for statement in block for s in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> Block:
        match node:
            case ast.If() if self._is_convertible(node):
                return self._if(node)
            case ast.For() | ast.While() if self._is_convertible(node):
                return self._loop(node)
            case ast.FunctionDef():
                return self._function(node)
            case ast.ClassDef() | ast.Import() | ast.ImportFrom():
                return [node]
            case ast.Assert():
                return self._assert(node)
            case ast.Raise() if node.exc is not None:
                return self._raise(node)
            case ast.Try():
                return [self._try(node)]
            case ast.With():
                return [self._with(node)]
            case ast.Delete():
                return self._delete(node)
            case ast.Expr(ast.Call(ast.Name("print"))):
                return [placed(ast.Expr(self._text(node.value)), node)]
            case ast.AugAssign() if id(node.target) in self._flow.unbound:
                assert isinstance(node.target, ast.Name)
                name = ast.Name(node.target.id, ast.Load())
                target = ast.Name(node.target.id, ast.Store())
                checked = self._expressions.call("bound", name, at=node)
                self._starts_unbound.add(node.target.id)
                return [placed(ast.Assign([target], checked), node), self._generic(node)]
        whole: Any = self._generic(node)
        if is_exchange(node):
            values = copied(whole.targets[0].elts[0].value), *whole.value.elts
            whole.value = self._expressions.call("exchanged", *values, at=node)
        return [whole, *self._made(node)]

    def _made(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """What follows an assignment that may make arrays: each is one of the function's own."""
        for target, value in _pairs(node):
            if isinstance(target, ast.Attribute) and isinstance(value, ast.List):
                if isinstance(target.value, ast.Name) and isinstance(target.value.ctx, ast.Load):
                    of = target.value.id
                    held = ast.Attribute(_load(of), target.attr, ast.Load())
                    made = self._expressions.call("fresh", held, at=node)
                    place = ast.Attribute(_load(of), target.attr, ast.Store())
                    yield placed(ast.Assign([place], made), node)
                continue
            if not (isinstance(target, ast.Name) and isinstance(value, _MAKING)):
                continue
            if target.id not in self._outer:
                made = self._expressions.call("fresh", _load(target.id), at=node)
                name = ast.Name(target.id, ast.Store())
                yield placed(ast.Assign([name], made), node)

    def _is_convertible(self, node: ast.AST) -> bool:
        """False where names of outer scopes are bound."""
        return not names_of([node]).bound & self._outer

    def _generic(self, node: Node) -> Node:
        """A node of which blocks are rewritten as statements, and all else as expressions."""
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                fields[name] = self._block(value)
            elif isinstance(value, list):
                fields[name] = [self._part(x) for x in value]
            else:
                fields[name] = self._part(value)
        return placed(type(node)(**fields), node)

    def _part(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            self._note_unbound(value)
            return self._expressions.visit(value)
        if isinstance(value, ast.ExceptHandler | ast.match_case | ast.withitem):
            return self._generic(value)
        return value

    def _note_unbound(self, node: ast.AST) -> None:
        for inner in ast.walk(node):
            if id(inner) in self._flow.unbound:
                assert isinstance(inner, ast.Name)
                if inner.id in self._flow.locals:
                    self._starts_unbound.add(inner.id)

    # ----------------------------------------------------------------------- branches and loops

    def _state(self, node: ast.stmt) -> list[str]:
        """The variables that a statement binds and that are read later."""
        names = Names(node)
        state = sorted(names.bound & self._flow.live[id(node)])
        self._starts_unbound |= set(state) - self._flow.bound[id(node)]
        return state

    def _if(self, node: ast.If) -> Block:
        state = self._state(node)
        test = self._part(node.test)
        read = self._flow.entered[id(node)]
        then = self._nested(self._roles["then"], state, node.body, node, also=read[0])
        arguments, functions = [test, _load(self._roles["then"])], [then]
        if node.orelse:
            functions.append(
                self._nested(self._roles["otherwise"], state, node.orelse, node, also=read[1])
            )
            arguments.append(_load(self._roles["otherwise"]))
        call = self._call("if_", arguments, state, node)
        if not names_of([node.test]).read & self._jumps:
            with_line(functions[0], node.lineno)
        return [*functions, call]

    def _loop(self, node: ast.For | ast.While) -> Block:
        state = self._state(node)
        plain = Names(node).plain
        stops = [name for name in state if name in self._stops.get(id(node), ())]
        updated = [name for name in state if name not in plain]
        marks: list[ast.expr] = []
        for word, names in (("until", stops), ("updating", updated)):
            if names:
                texts = [ast.Constant(name) for name in names]
                marks.append(self._expressions.call(word, *texts, at=node))
        if isinstance(node, ast.While):
            test = placed(ast.Return(self._part(node.test)), node.test)
            functions = [
                self._define(self._roles["condition"], state, [test], node),
                self._nested(self._roles["body"], state, node.body, node),
            ]
            arguments = [_load(self._roles["condition"]), _load(self._roles["body"]), *marks]
            name = "while_"
        else:
            item, first = self._item(node, state)
            functions = [
                self._nested(
                    self._roles["body"],
                    [item, *state],
                    node.body,
                    node,
                    before=first,
                    results=state,
                )
            ]
            arguments = [self._part(node.iter), _load(self._roles["body"]), *marks]
            name = "for_"
        with_line(functions[0], node.lineno)
        return [*functions, self._call(name, arguments, state, node)]

    def _item(self, node: ast.For, state: Sequence[str]) -> tuple[str, Block]:
        """The parameter of a body that is the item, and the assignment to what it is taken apart
        to, or to a variable that is read behind the loop."""
        if isinstance(node.target, ast.Name) and node.target.id not in state:
            return node.target.id, []
        value = ast.Name(self._roles["item"], ast.Load())
        return self._roles["item"], [placed(ast.Assign([node.target], value), node)]

    def _nested(
        self,
        name: str,
        parameters: Sequence[str],
        block: Sequence[ast.stmt],
        at: ast.AST,
        *,
        before: Iterable[ast.stmt] = (),
        results: Sequence[str] | None = None,
        also: Iterable[str] = (),
    ) -> ast.stmt:
        """A function of variables that returns what they are behind a block. What this binds, and
        reads before, has the value from outside as default: `also`."""
        results = parameters if results is None else results
        own = sorted(names_of(block).bound & set(also) - set(parameters))
        self._starts_unbound |= set(own) - self._flow.bound[id(at)]
        body = [*before, *self._without_unread(self._block(block), results)]
        end = placed(ast.Return(_variables(results, ast.Load())), at) if results else None
        return self._define(name, parameters, _ended(body, end, at), at, own)

    def _without_unread(self, block: Block, results: Sequence[str]) -> Block:
        """A block without assignments to flags that nothing reads behind them."""
        unread = self._jumps - {*results} - names_of(block).read
        return [s for s in block if not (_target(s) in unread and isinstance(s, ast.Assign))]

    def _define(
        self,
        name: str,
        parameters: Sequence[str],
        body: Block,
        at: ast.AST,
        given: Sequence[str] = (),
    ) -> ast.stmt:
        arguments = [ast.arg(p) for p in (*parameters, *given)]
        defaults: list[ast.expr] = [_load(p) for p in given]
        spec = ast.arguments([], arguments, None, [], [], None, defaults)
        return placed(defined(name, spec, body), at)

    def _call(self, name: str, arguments: list[ast.expr], state: list[str], at: ast.AST) -> Any:
        """Call an operation on the state, which is assigned to the variables."""
        call = self._expressions.call(name, *arguments, at=at)
        needed = self._flow.needed.get(id(at), state)
        call.keywords = [
            ast.keyword(name, _load(name) if name in needed else ast.Constant(None))
            for name in state
        ]
        if not state:
            return placed(ast.Expr(call), at)
        return placed(ast.Assign([_variables(state, ast.Store())], call), at)

    # --------------------------------------------------------------------------------- the others

    def _function(self, node: ast.FunctionDef) -> Block:
        """A function inside, whose decorators and defaults belong to this one."""
        before, place = [], ""
        if any(isinstance(n, ast.Nonlocal) for n in own_nodes(node.body)):
            place = free_name("here", self.taken)
            self.taken.add(place)
            here = self._expressions.call("here", at=node)
            before = [placed(ast.Assign([ast.Name(place, ast.Store())], here), node)]
        inside = Statements(node, self.ops, self.taken, self._flow.unsure, place).converted()
        spec = node.args
        arguments = ast.arguments(
            spec.posonlyargs,
            spec.args,
            spec.vararg,
            spec.kwonlyargs,
            [d if d is None else self._part(d) for d in spec.kw_defaults],
            spec.kwarg,
            [self._part(d) for d in spec.defaults],
        )
        decorators = [self._part(d) for d in node.decorator_list]
        return [*before, placed(defined(node.name, arguments, inside, decorators), node)]

    def _assert(self, node: ast.Assert) -> Block:
        test = self._part(node.test)
        nothing = ast.arguments([], [], None, [], [], None, [])
        message = self._text(node.msg) if node.msg is not None else ast.Constant(None)
        later = placed(ast.Lambda(nothing, message), node)
        return [placed(ast.Expr(self._expressions.call("assert_", test, later, at=node)), node)]

    def _raise(self, node: ast.Raise) -> Block:
        """What the exception is is asked of the operations, which note it where it depends on
        traced values."""
        assert node.exc is not None
        nothing = ast.arguments([], [], None, [], [], None, [])
        later = placed(ast.Lambda(nothing, self._text(node.exc)), node)
        cause = ast.Constant(None) if node.cause is None else self._part(node.cause)
        call = self._expressions.call("raise_", later, cause, at=node)
        return [placed(ast.Expr(call), node)]

    def _try(self, node: ast.Try) -> ast.stmt:
        """The body says what is handled, for exceptions that only the program would raise; what is
        done finally is not done where a trace ends."""
        whole = self._generic(node)
        if node.finalbody:
            first = node.finalbody[0]
            goes_on = self._expressions.call("goes_on", at=first)
            whole.finalbody = [placed(ast.If(goes_on, whole.finalbody, []), first)]
        if not node.handlers:
            return whole
        for handler in whole.handlers:
            first = handler.body[0]
            named = () if handler.type is None else names_of([handler.type]).read
            if handler.type is None or "BaseException" in named:
                call = self._expressions.call("passed_on", at=first)
                handler.body = [placed(ast.Expr(call), first), *handler.body]
        kinds = [self._part(h.type) if h.type else _load("BaseException") for h in node.handlers]
        nothing = ast.arguments([], [], None, [], [], None, [])
        later = placed(ast.Lambda(nothing, ast.Tuple(kinds, ast.Load())), node)
        again = [n for n, handler in enumerate(node.handlers) if only_raises_again(handler)]
        numbers = [ast.Tuple([*map(ast.Constant, again)], ast.Load())] if again else []
        call = self._expressions.call("handled", later, *numbers, at=node)
        whole.body = [placed(ast.With([ast.withitem(call)], whole.body), node)]
        return whole

    def _with(self, node: ast.With) -> ast.With:
        """A manager may suppress exceptions."""
        whole = self._generic(node)
        for item in whole.items:
            if not is_errstate(item.context_expr):
                item.context_expr = self._expressions.call("managed", item.context_expr, at=node)
        return whole

    def _text(self, node: ast.expr) -> Any:
        """An expression whose f-strings may have traced values."""
        return _Texts(self._expressions).visit(self._part(node))

    def _delete(self, node: ast.Delete) -> Block:
        done: Block = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id not in self._outer:
                done.append(self._unbound(target.id, node))
            else:
                done.append(placed(ast.Delete([self._part(target)]), node))
        return done


def roles_of(taken: Iterable[str]) -> frozenset[str]:
    """The names of the functions that statements become, in a function that has these names."""
    return frozenset(free_name(role, taken) for role in _ROLES)


def defined(
    name: str, parameters: ast.arguments, body: Block, decorators: Sequence[ast.expr] = ()
) -> ast.FunctionDef:
    """A definition, in the form of the running Python."""
    fields: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
    return ast.FunctionDef(name, parameters, body, list(decorators), **fields)


def _variables(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    """A variable, or the tuple of several."""
    if len(names) == 1:
        return ast.Name(names[0], context)
    return ast.Tuple([ast.Name(name, context) for name in names], context)


class _Texts(ast.NodeTransformer):
    """Rewrites f-strings as calls."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions

    def visit(self, node: ast.AST) -> Any:
        """The rewritten tree."""
        node = self.generic_visit(node)
        return self._text(node) if isinstance(node, ast.JoinedStr) else node

    def _text(self, node: ast.JoinedStr) -> ast.expr:
        pieces: list[ast.expr] = []
        for piece in node.values:
            if isinstance(piece, ast.FormattedValue):
                spec = piece.format_spec or ast.Constant("")
                parts = [piece.value, ast.Constant(piece.conversion), spec]
                pieces.append(placed(ast.Tuple(parts, ast.Load()), piece))
            else:
                pieces.append(piece)
        return self._expressions.call("text", *pieces, at=node)


def _target(node: ast.stmt) -> str | None:
    """The variable that a statement assigns to alone."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None


def _ended(body: Block, end: ast.Return | None, at: ast.AST) -> Block:
    """A block with what it returns; the call of a statement is returned without a name."""
    body = [s for s in body if not isinstance(s, ast.Pass)]
    if end is None:
        return body or [placed(ast.Pass(), at)]
    match body:
        case [*others, ast.Assign(targets=[target], value=ast.Call(keywords=[_, *_]) as call)]:
            if end.value is not None and ast.unparse(target) == ast.unparse(end.value):
                return [*others, placed(ast.Return(call), body[-1])]
    return [*body, end]


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _parameters(node: ast.FunctionDef) -> list[str]:
    spec = node.args
    given = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    return [a.arg for a in (*given, spec.vararg, spec.kwarg) if a is not None]


def _pairs(node: ast.stmt) -> Iterable[tuple[ast.expr, ast.expr | None]]:
    """The targets of an assignment, each with its value."""
    match node:
        case ast.Assign([ast.Tuple(names) | ast.List(names)], ast.Tuple(values)):
            return zip(names, values, strict=False)
        case ast.Assign([target], value) | ast.AnnAssign(target, _, value):
            return [(target, value)]
    return []
