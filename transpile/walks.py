"""Going over programs of loops: what a part reads and writes, rebuilding it, checking it."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping
from operator import is_
from typing import Any, TypeVar, cast

from transpile.dims import Index, Shape, Symbol, substitute, symbols_of
from transpile.errors import InternalError
from transpile.loops import (
    Alloc,
    Apply,
    Buffer,
    Call,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
    Within,
)
from transpile.records import replace
from transpile.types import BOOL

# ---------------------------------------------------------------------------------- traversals


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it, the outermost first."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Apply):
            waiting += part.args[::-1]


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement, targets left out."""
    match statement:
        case Declare(value=value) | Update(value=value) | Store(value=value):
            return (value,)
        case If(condition=condition) | While(condition=condition):
            return (condition,)
        case Call(args=args):
            return tuple(a for a in args if isinstance(a, Load))
        case _:
            return ()


def children(statement: Statement) -> tuple[Statement, ...]:
    """The statements inside a statement."""
    match statement:
        case For(body=body):
            return body
        case If(body=body, orelse=orelse):
            return body + orelse
        case While(body=body, test=test):
            return test + body
        case _:
            return ()


T = TypeVar("T")
Bodies = Callable[[tuple[Statement, ...]], tuple[Statement, ...]]


def with_bodies(statement: Statement, function: Bodies) -> Statement:
    """The statement with each body that it has replaced by what the function makes of it; the same
    object where that changes nothing."""
    match statement:
        case For(body=body):
            inner = same(body, function(body))
            return statement if inner is body else replace(statement, body=inner)
        case If(body=body, orelse=orelse):
            inner, other = same(body, function(body)), same(orelse, function(orelse))
            if inner is body and other is orelse:
                return statement
            return replace(statement, body=inner, orelse=other)
        case While(body=body, test=test):
            inner, other = same(body, function(body)), same(test, function(test))
            if inner is body and other is test:
                return statement
            return replace(statement, body=inner, test=other)
        case _:
            return statement


def same(before: tuple[T, ...], after: tuple[T, ...]) -> tuple[T, ...]:
    """The tuple before, if the one after has the same objects in it."""
    if after is before or len(after) != len(before):
        return after
    return before if all(map(is_, before, after)) else after


def is_sequence(statement: Statement) -> bool:
    """Tell whether what stands inside is a sequence of loop nests, as in a kernel: the user's own
    loops and branches."""
    return isinstance(statement, If | While) or (isinstance(statement, For) and statement.ordered)


def map_sequences(body: tuple[Statement, ...], function: Bodies) -> tuple[Statement, ...]:
    """A kernel's body, and those of the loops and branches of the user's inside it, each replaced
    by what the function makes of it; the inner ones first."""
    inner = tuple(
        with_bodies(s, lambda b: map_sequences(b, function)) if is_sequence(s) else s for s in body
    )
    return function(inner)


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement, in order, an outer one before those inside it."""
    for statement in statements:
        yield statement
        if type(statement) in _COMPOUND:
            yield from _inside(statement)


_COMPOUND = frozenset({For, If, While})


def _inside(statement: Statement) -> tuple[Statement, ...]:
    """All statements inside one, which keeps them: programs are walked over often, and a step
    leaves most of their parts as they are."""
    found: tuple[Statement, ...] | None = statement.__dict__.get("_inside")
    if found is None:
        found = statement.__dict__["_inside"] = tuple(walk(children(statement)))
    return found


def computes_complex(program: Program) -> bool:
    """Tell whether a number is complex on the way, though perhaps no array is."""
    statements = (s for k in program.kernels for s in walk(k.body))
    return any(p.dtype.kind == "c" for s in statements for p in parts(s))


def loads(statement: Statement) -> tuple[Load, ...]:
    """The elements that a statement itself reads, an updated one among them."""
    found: tuple[Load, ...] | None = statement.__dict__.get("_loads")
    if found is None:
        found = tuple(p for p in parts(statement) if isinstance(p, Load))
        if isinstance(statement, Update) and isinstance(statement.target, Load):
            found = (*found, statement.target)
        statement.__dict__["_loads"] = found
    return found


def parts(statement: Statement) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement and everything in them."""
    found: tuple[Expr, ...] | None = statement.__dict__.get("_parts")
    if found is None:
        found = tuple(p for e in expressions(statement) for p in subexpressions(e))
        statement.__dict__["_parts"] = found
    return found


def written(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself writes."""
    match statement:
        case Store(buffer=buffer):
            return (buffer,)
        case Update(target=Load(buffer=buffer)):
            return (buffer,)
        case Call(writes=writes):
            return writes
        case Swap(first=first, second=second):
            return (first, second)
        case _:
            return ()


def map_expr(expr: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """The expression rebuilt from the leaves up, `function` applied to every part."""
    if isinstance(expr, Apply):
        args = same(expr.args, tuple([map_expr(arg, function) for arg in expr.args]))
        if args is not expr.args:
            expr = replace(expr, args=args)
    return function(expr)


def map_statement(
    statement: Statement, on_expr: Callable[[Expr], Expr], on_index: Callable[[Index], Index]
) -> Statement:
    """The statement with every expression and every index rebuilt, all the way down; the same
    object where that changes nothing."""

    def expression(expr: Expr) -> Expr:
        return map_expr(expr, lambda e: on_expr(map_indices(e, on_index)))

    def body(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map_statement(s, on_expr, on_index) for s in statements)

    match statement:
        case For():
            limit = None if statement.limit is None else on_index(statement.limit)
            return changed(
                statement,
                start=on_index(statement.start),
                limit=limit,
                stop=on_index(statement.stop),
                body=same(statement.body, body(statement.body)),
            )
        case If() | While():
            condition = expression(statement.condition)
            return changed(with_bodies(statement, body), condition=condition)
        case Declare():
            return changed(statement, value=expression(statement.value))
        case Update():
            target = expression(statement.target)
            if not isinstance(target, (Ref, Load)):
                raise InternalError(f"an update of {target}")
            return changed(statement, target=target, value=expression(statement.value))
        case Store(index=index):
            mapped = same(index, tuple(map(on_index, index)))
            return changed(statement, index=mapped, value=expression(statement.value))
        case Call():
            args: list[Index | Load] = []
            for arg in statement.args:
                if isinstance(arg, Load):
                    element = expression(arg)
                    args.append(element if isinstance(element, Load) else arg)
                else:
                    args.append(on_index(arg))
            return changed(statement, args=same(statement.args, tuple(args)))
        case Alloc() | Swap():
            return statement


def changed(record: T, **values: Any) -> T:
    """The record with these values; itself where it has them already."""
    kept = record.__dict__
    for name, value in values.items():
        if kept[name] is not value:
            return replace(record, **values)
    return record


def map_indices(expr: Expr, on_index: Callable[[Index], Index]) -> Expr:
    """One expression (not its operands) with its indices rebuilt."""
    match expr:
        case Apply() | Ref() | Literal():
            return expr
        case Load(index=index):
            mapped = same(index, tuple(map(on_index, index)))
            return expr if mapped is index else replace(expr, index=mapped)
        case IndexValue(index=value):
            other = on_index(value)
            return expr if other is value else replace(expr, index=other)
        case Within():
            bounds = {"low": on_index(expr.low), "high": on_index(expr.high)}
            return changed(expr, index=on_index(expr.index), **bounds)
        case _:
            return expr


def map_accesses(statement: Statement, on_access: Callable[[str, Shape], Shape]) -> Statement:
    """The statement with the subscripts of every element that is read or stored rebuilt."""

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load):
            return replace(expr, index=on_access(expr.buffer, expr.index))
        return expr

    def on_store(inner: Statement) -> Statement:
        if isinstance(inner, Store):
            return replace(inner, index=on_access(inner.buffer, inner.index))
        return with_bodies(inner, lambda body: tuple(map(on_store, body)))

    return on_store(map_statement(statement, on_expr, lambda index: index))


def accesses(statement: Statement) -> Iterator[tuple[str, Shape]]:
    """The elements (buffer, subscripts) that a statement itself reads or stores."""
    for load in loads(statement):
        yield load.buffer, load.index
    if isinstance(statement, Store):
        yield statement.buffer, statement.index


# What changes no largest or smallest number.
_LEAST = {"maximum": -float("inf"), "minimum": float("inf")}


def without_copies(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements without those that store an element where it is, or take the larger of a number
    and -inf; and without loops around nothing else."""
    kept: list[Statement] = []
    for statement in body:
        match statement:
            case Store(buffer=buffer, index=index, value=Load() as value):
                if (value.buffer, value.index) == (buffer, index):
                    continue
            case Update(op=op, value=Literal(value=value)) if op in _LEAST and value == _LEAST[op]:
                continue
            case For():
                inner = without_copies(statement.body)
                if not inner:
                    continue
                statement = replace(statement, body=inner)
            case _:
                statement = with_bodies(statement, without_copies)
        kept.append(statement)
    return tuple(kept)


def substitute_index(statement: Statement, symbol: Symbol, value: Index) -> Statement:
    """The statement with a loop's symbol replaced by an index."""
    return map_statement(statement, lambda e: e, lambda i: substitute(i, {symbol: value}))


def seen_by(program: Program, kernel: Kernel) -> Mapping[str, Buffer]:
    """The buffers of a program in the shapes in which a kernel sees them."""
    buffers = program.buffers()
    if not kernel.shapes:
        return buffers
    others = {n: replace(buffers[n], shape=shape) for n, shape in kernel.shapes}
    return ChainMap(others, cast("dict[str, Buffer]", buffers))


def used_buffers(kernel: Kernel) -> tuple[list[str], set[str]]:
    """The buffers that a kernel reads or writes, in order of use, and those that it writes."""
    local = {s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc)}
    used: dict[str, None] = {}
    writes: set[str] = set()
    for statement in walk(kernel.body):
        for load in loads(statement):
            used.setdefault(load.buffer)
        for name in written(statement):
            used.setdefault(name)
            writes.add(name)
    return [name for name in used if name not in local], writes - local


def deciding(program: Program) -> set[str]:
    """The arrays of bools whose elements decide between values, and become no numbers."""
    found: dict[str, set[str]] = {"select": set(), "convert_element_type": set()}
    for statement in (s for k in program.kernels for s in walk(k.body)):
        for part in parts(statement):
            if isinstance(part, Apply) and part.op in found:
                read = (p for p in subexpressions(part.args[0]) if isinstance(p, Load))
                found[part.op] |= {p.buffer for p in read if p.dtype == BOOL}
    return found["select"] - found["convert_element_type"]


def of_one_kernel(program: Program) -> set[str]:
    """The buffers that a single kernel reads or writes."""
    users = Counter(name for kernel in program.kernels for name in used_buffers(kernel)[0])
    return {name for name, count in users.items() if count == 1}


def names_in(program: Program) -> set[str]:
    """Every name in a program: buffers, scalars, local arrays and loops."""
    names = set(program.buffers())
    for kernel in program.kernels:
        names |= declared_names(kernel.body)
        names.update(s.symbol.name for s in walk(kernel.body) if isinstance(s, For))
    return names


def declared_names(body: tuple[Statement, ...]) -> set[str]:
    """The scalars and local arrays that statements declare."""
    names = {s.name for s in walk(body) if isinstance(s, Declare)}
    return names | {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}


def is_independent(loop: For) -> bool:
    """Tell whether the iterations of a loop do not depend on each other: none changes a scalar, or
    the same element of an array, that was declared outside. (Subscripts that depend on the loop are
    different ones in different iterations, by construction.)"""
    if loop.ordered and not loop.independent:
        return False
    inside = list(walk(loop.body))
    declared = {s.name for s in inside if isinstance(s, Declare)}
    declared |= {s.buffer.name for s in inside if isinstance(s, Alloc)}
    own = {loop.symbol}  # with the loops inside that begin where this one stands
    for statement in inside:
        match statement:
            case For(symbol=symbol, start=start):
                if not own.isdisjoint(symbols_of(start)):
                    own.add(symbol)
            case Update(target=Ref(name=name)):
                if name not in declared:
                    return False
            case Update(target=Load(buffer=name, index=index)) | Store(buffer=name, index=index):
                if name not in declared and all(own.isdisjoint(symbols_of(i)) for i in index):
                    return False
            case _:
                pass
    return True


# --------------------------------------------------------------------------------------- check


def check(program: Program, before: Program | None = None) -> None:
    """Raise InternalError unless every name is known, every subscript has its buffer's rank, and
    every symbol belongs to a loop around its use. Kernels that stand in a program that was checked
    `before`, among the same buffers, are not looked at again."""
    known: set[int] = set()
    if before is not None and dict(before.buffers()) == dict(program.buffers()):
        known = {id(kernel) for kernel in before.kernels}
    for kernel in program.kernels:
        if id(kernel) not in known:
            _Scope(seen_by(program, kernel), frozenset(), frozenset(), {}).check(kernel.body)


class _Scope:
    """What statements may name: the buffers, the loops around them, the scalars and local arrays
    declared before."""

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        symbols: frozenset[Symbol],
        names: frozenset[str],
        local: dict[str, Buffer],
    ) -> None:
        self.buffers = buffers
        self.symbols = set(symbols)
        self.names = set(names)
        self.local = dict(local)
        self.own: set[str] = set()

    def inner(self, *symbols: Symbol) -> _Scope:
        """A scope inside this one."""
        around = frozenset(self.symbols.union(symbols))
        return _Scope(self.buffers, around, frozenset(self.names), self.local)

    def check(self, body: tuple[Statement, ...]) -> None:
        """Check statements, in order."""
        for statement in body:
            if isinstance(statement, While):
                once = (*statement.test, If(statement.condition, statement.body))
                self.inner().check(once)
                continue
            self.check_reads(statement)
            match statement:
                case Declare():
                    self.declare(statement)
                case Alloc(buffer=buffer):
                    self.local[buffer.name] = buffer
                case Store(buffer=name, index=index):
                    self.check_load(Load(name, index, BOOL))
                case For(symbol=symbol, start=start, stop=stop):
                    self.check_indices((start, stop))
                    self.inner(symbol).check(statement.body)
                case If():
                    self.inner().check(statement.body)
                    self.inner().check(statement.orelse)
                case Swap(first=first, second=second):
                    one, other = self.buffers.get(first), self.buffers.get(second)
                    if one is None or other is None or one.shape != other.shape:
                        raise InternalError(f"{first} and {second} cannot be exchanged")

    def declare(self, statement: Declare) -> None:
        """A new scalar."""
        if statement.name in self.own:
            raise InternalError(f"{statement.name} is declared twice")
        self.own.add(statement.name)
        self.names.add(statement.name)
        if statement.symbol is not None:
            self.symbols.add(statement.symbol)

    def check_reads(self, statement: Statement) -> None:
        """Check what a statement itself reads."""
        for part in parts(statement):
            if isinstance(part, Ref) and part.name not in self.names:
                raise InternalError(f"{part.name} is read before it is declared")
        for load in loads(statement):
            self.check_load(load)

    def check_load(self, load: Load) -> None:
        """Check an element."""
        buffer = self.local.get(load.buffer) or self.buffers.get(load.buffer)
        if buffer is None:
            raise InternalError(f"unknown buffer {load.buffer}")
        if len(buffer.shape) != len(load.index):
            raise InternalError(
                f"{load.buffer} has {len(buffer.shape)} axes, not {len(load.index)}"
            )
        self.check_indices(load.index)

    def check_indices(self, indices: Shape) -> None:
        """Check subscripts, or the ends of a loop."""
        for index in indices:
            free = {s for s in symbols_of(index) if s.extent is not None} - self.symbols
            if free:
                raise InternalError(f"{', '.join(map(str, free))} is not a loop here: {index}")
