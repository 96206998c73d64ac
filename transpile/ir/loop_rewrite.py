"""Traverse and rewrite loop programs: reads, writes and names of statements, and bottom-up
rebuilding, which returns unchanged parts as the same objects."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from transpile.errors import InternalError
from transpile.ir.calls import Call
from transpile.ir.dims import Index, Shape, Symbol, substitute, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
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
    Slot,
    Statement,
    Store,
    Swap,
    Update,
    While,
    Within,
)
from transpile.util.frozen_records import changed, memoized, replace, same

# ---------------------------------------------------------------------------------- traversals


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """All subexpressions of an expression, in preorder."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Apply):
            waiting += part.args[::-1]


def loads_of(*expressions: Expr) -> Iterator[Load]:
    """The elements that expressions read."""
    for expression in expressions:
        yield from (p for p in subexpressions(expression) if isinstance(p, Load))


def name_of(part: Load | Ref) -> str:
    """The array or the scalar that is read."""
    return part.buffer if isinstance(part, Load) else part.name


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """The operands of a statement itself, without its targets."""
    match statement:
        case Declare(value=value) | Update(value=value) | Store(value=value):
            return (value,)
        case If(condition=condition) | While(condition=condition):
            return (condition,)
        case Call():
            return tuple(array.first for array in statement.arrays.values())
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


Bodies = Callable[[tuple[Statement, ...]], tuple[Statement, ...]]


def with_bodies(statement: Statement, function: Bodies) -> Statement:
    """The statement with a function applied to each of its bodies; the same object if unchanged."""
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


def is_sequence(statement: Statement) -> bool:
    """True if the body of a statement is a sequence of loop nests, as a kernel's is: the statement
    is a loop or branch of the user's."""
    return isinstance(statement, If | While) or (isinstance(statement, For) and statement.ordered)


def map_sequences(body: tuple[Statement, ...], function: Bodies) -> tuple[Statement, ...]:
    """Apply a function to a kernel's body and to the bodies of the user's loops and branches inside
    it, innermost first."""
    inner = tuple(
        with_bodies(s, lambda b: map_sequences(b, function)) if is_sequence(s) else s for s in body
    )
    return function(same(body, inner))


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, nested ones too, in preorder."""
    for statement in statements:
        yield statement
        if type(statement) in _COMPOUND:
            yield from _inside(statement)


_COMPOUND = frozenset({For, If, While})


@memoized
def _inside(statement: Statement) -> tuple[Statement, ...]:
    """All statements inside one."""
    return tuple(walk(children(statement)))


@memoized
def loads(statement: Statement) -> tuple[Load, ...]:
    """The elements that a statement itself reads, including the target of an update."""
    elements = tuple(p for p in parts(statement) if isinstance(p, Load))
    if isinstance(statement, Update) and isinstance(statement.target, Load):
        elements = (*elements, statement.target)
    return elements


@memoized
def parts(statement: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement itself, with their subexpressions."""
    return tuple(p for e in expressions(statement) for p in subexpressions(e))


def may_reorder(statement: Statement) -> bool:
    """True for the update of a scalar that gives the same in any order of iterations."""
    if not isinstance(statement, Update) or not isinstance(statement.target, Ref):
        return False
    primitive = statement.primitive
    return primitive is not None and primitive.may_reorder(statement.target.dtype)


def written(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself writes."""
    match statement:
        case Store(buffer=buffer):
            return (buffer,)
        case Update(target=Load(buffer=buffer)):
            return (buffer,)
        case Call():
            return statement.written
        case Swap(first=first, second=second):
            return (first, second)
        case Alloc(slot=Slot(home=home)):
            return (home,)
        case _:
            return ()


def changed_by(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement itself writes, and the scalar that it updates."""
    match statement:
        case Update(target=Ref(name=name)):
            return (name,)
        case _:
            return written(statement)


def accessed(statement: Statement) -> set[str]:
    """The buffers that a statement itself reads, writes or exchanges."""
    return {*written(statement), *(load.buffer for load in loads(statement))}


def map_expr(expr: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """Rewrite an expression bottom-up, applying a function to every subexpression."""
    if isinstance(expr, Apply):
        args = same(expr.args, tuple([map_expr(arg, function) for arg in expr.args]))
        if args is not expr.args:
            expr = replace(expr, args=args)
    return function(expr)


def as_it_is(index: Index) -> Index:
    """The identity on indices, for rewrites of expressions only."""
    return index


def map_statement(
    statement: Statement,
    on_expr: Callable[[Expr], Expr],
    on_index: Callable[[Index], Index] = as_it_is,
) -> Statement:
    """Rewrite every expression and index of a statement, nested ones too; the same object if
    unchanged."""

    def expression(expr: Expr) -> Expr:
        if on_index is as_it_is:
            return map_expr(expr, on_expr)
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

            def address(load: Load) -> Load:
                element = expression(load)
                return element if isinstance(element, Load) else load

            return statement.mapped(address, on_index)
        case Alloc() | Swap():
            return statement


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

    return on_store(map_statement(statement, on_expr))


def accesses(statement: Statement) -> Iterator[tuple[str, Shape]]:
    """The elements (buffer, subscripts) that a statement itself reads or stores."""
    for load in loads(statement):
        yield load.buffer, load.index
    if isinstance(statement, Store):
        yield statement.buffer, statement.index


def indices(statement: Statement) -> Iterator[Index]:
    """The indices of a statement itself."""
    for _, subscripts in accesses(statement):
        yield from subscripts
    for part in parts(statement):
        yield from _indices_as_values(part)
    match statement:
        case For(start=start, stop=stop, limit=limit):
            yield from (start, stop) if limit is None else (start, stop, limit)
        case Call():
            yield from statement.numbers
        case _:
            pass


def indices_in(expr: Expr) -> Iterator[Index]:
    """The indices of an expression."""
    for part in subexpressions(expr):
        if isinstance(part, Load):
            yield from part.index
        yield from _indices_as_values(part)


def _indices_as_values(part: Expr) -> Iterator[Index]:
    """The indices that one part of an expression computes with or compares."""
    match part:
        case IndexValue(index=index):
            yield index
        case Within(index=index, low=low, high=high):
            yield from (index, low, high)
        case _:
            pass


@memoized
def symbols_read(statement: Statement) -> frozenset[Symbol]:
    """The symbols in the indices of a statement, including nested statements."""
    own = {symbol for index in indices(statement) for symbol in symbols_of(index)}
    return frozenset(own.union(*map(symbols_read, children(statement))))


@memoized
def names_read(statement: Statement) -> frozenset[str]:
    """The scalars and loop indices that a statement reads or updates, including nested
    statements."""
    own = {part.name for part in parts(statement) if isinstance(part, Ref)}
    own.update(symbol.name for index in indices(statement) for symbol in symbols_of(index))
    if isinstance(statement, Update) and isinstance(statement.target, Ref):
        own.add(statement.target.name)
    return frozenset(own.union(*map(names_read, children(statement))))


def without_copies(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Remove stores of an element to itself, updates by the neutral element, and loops that become
    empty."""
    kept: list[Statement] = []
    for statement in body:
        match statement:
            case Store(buffer=buffer, index=index, value=Load() as value):
                if (value.buffer, value.index) == (buffer, index):
                    continue
            case Update(value=Literal()) if _changes_nothing(statement):
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


def _changes_nothing(update: Update) -> bool:
    """True if a statement leaves its target unchanged, to the bit, for every value."""
    dtype = update.target.dtype
    neutral = None if update.primitive is None else update.primitive.neutral(dtype)
    return neutral is not None and update.value == Literal(neutral, dtype)


def substitute_index(statement: Statement, symbol: Symbol, value: Index) -> Statement:
    """The statement with a loop's symbol replaced by an index."""
    if symbol not in symbols_read(statement):
        return statement
    return map_statement(statement, lambda e: e, lambda i: substitute(i, {symbol: value}))


def map_kernels(program: Program, function: Callable[[Kernel], Kernel]) -> Program:
    """The program with a function applied to each kernel; the same object if unchanged."""
    return changed(program, kernels=same(program.kernels, tuple(map(function, program.kernels))))


def map_bodies(program: Program, function: Bodies) -> Program:
    """The program with a function applied to each kernel's body; the same object if unchanged."""
    return map_kernels(program, lambda k: changed(k, body=same(k.body, function(k.body))))


def seen_by(program: Program, kernel: Kernel) -> Mapping[str, Buffer]:
    """The buffers of a program in the shapes in which a kernel accesses them."""
    buffers = program.buffers()
    if not kernel.shapes:
        return buffers
    others = {n: replace(buffers[n], shape=shape) for n, shape in kernel.shapes}
    return ChainMap(others, cast("dict[str, Buffer]", buffers))


@memoized
def used_buffers(kernel: Kernel) -> tuple[tuple[str, ...], frozenset[str]]:
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
    return tuple(name for name in used if name not in local), frozenset(writes - local)


def of_one_kernel(program: Program) -> set[str]:
    """The buffers that a single kernel reads or writes, and nothing between kernels reads."""
    users = Counter(name for kernel in program.kernels for name in used_buffers(kernel)[0])
    users.update(name for _, name in program.lengths)
    return {name for name, count in users.items() if count == 1}


def names_in(program: Program) -> set[str]:
    """Every name in a program: runtime sizes, buffers, scalars, local arrays and loops."""
    own = {size.name for size in program.sizes} | program.buffers().keys()
    own |= {length.name for length, _ in program.lengths}
    return own.union(*map(names_of_kernel, program.kernels))


@memoized
def names_of_kernel(kernel: Kernel) -> frozenset[str]:
    """The scalars, local arrays and loops of a kernel."""
    loops = {s.symbol.name for s in walk(kernel.body) if isinstance(s, For)}
    return frozenset(declared_names(kernel.body) | loops)


def declared_names(body: tuple[Statement, ...]) -> set[str]:
    """The scalars and local arrays that statements declare."""
    return {name for s in walk(body) if (name := declared_name(s))}


def declared_name(statement: Statement) -> str:
    """The scalar or local array that a statement declares; "" where it declares none."""
    match statement:
        case Declare(name=name) | Alloc(buffer=Buffer(name=name)):
            return name
        case _:
            return ""


@memoized
def is_independent(loop: For) -> bool:
    """True if a loop carries no dependence: no iteration writes a scalar declared outside, or an
    element whose subscripts do not vary with the loop. (By construction, subscripts that vary are
    distinct in distinct iterations, and the workspace of calls carries no value.)"""
    if loop.ordered and not loop.independent:
        return False
    inside = list(walk(loop.body))
    declared = declared_names(loop.body)
    own = {loop.symbol}  # and the inner loops whose start depends on this one
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
            case Call():
                firsts = (array.first for array in statement.results)
                for first in (x for x in firsts if x.buffer not in declared):
                    if all(own.isdisjoint(symbols_of(i)) for i in first.index):
                        return False
            case _:
                pass
    return True
