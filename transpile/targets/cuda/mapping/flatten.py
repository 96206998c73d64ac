"""One subscript for every array, a name for each local array, and no loops of one iteration.

C++ has no arrays of runtime extents, and what is next to what in memory is the constant by which a
subscript multiplies an index. Passes know the arrays of a kernel by their names, of which C may
have one for several arrays, in scopes of their own. A loop of one iteration only hides what is
inside from the mapping.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.dims import Index, Shape
from transpile.ir.indices.row_major import product, recombine, row_major
from transpile.ir.loop_ir import Alloc, Buffer, Expr, For, Kernel, Load, Program, Statement, Store
from transpile.ir.loop_rewrite import (
    declared_names,
    map_accesses,
    map_bodies,
    map_statement,
    names_in,
    names_of_kernel,
    seen_by,
    substitute_index,
    walk,
    with_bodies,
)
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

Body = tuple[Statement, ...]


def flatten(program: Program) -> Program:
    """The program with all arrays in one dimension; numbers stay without any.

    No two local arrays have one name, not even in different kernels: those that several launches of
    a kernel use become temporaries of the program.
    """
    groups = (program.inputs, program.outputs, program.temporaries, program.constants)
    inputs, outputs, temporaries, constants = (tuple(map(_flat, group)) for group in groups)
    names = Names(names_in(program).union(*map(names_of_kernel, program.kernels)))
    seen = {buffer.name for group in groups for buffer in group}
    return replace(
        program,
        kernels=tuple(_kernel(program, kernel, seen, names) for kernel in program.kernels),
        inputs=inputs,
        outputs=outputs,
        temporaries=temporaries,
        constants=constants,
        results=(),
    )


def _flat(buffer: Buffer) -> Buffer:
    if len(buffer.shape) < 2:
        return buffer
    value = buffer.value if buffer.value is None else buffer.value.reshape(-1)
    return replace(buffer, shape=(product(buffer.shape),), value=value)


def _kernel(program: Program, kernel: Kernel, seen: set[str], names: Names) -> Kernel:
    shapes = {name: buffer.shape for name, buffer in seen_by(program, kernel).items()}
    kernel = replace(kernel, body=_with_own_names(kernel.body, seen, names))
    for statement in walk(kernel.body):
        if isinstance(statement, Alloc):
            shapes[statement.buffer.name] = statement.buffer.shape

    def on_access(name: str, index: Shape) -> Shape:
        shape = shapes[name]
        return index if len(shape) < 2 else (_position(index, shape),)

    body = tuple(_with_flat_allocs(map_accesses(s, on_access)) for s in kernel.body)
    return replace(kernel, body=body, shapes=())


def _with_own_names(body: Body, seen: set[str], names: Names) -> Body:
    """The statements of a scope, where arrays whose names were `seen` before have others."""
    others: dict[str, str] = {}
    made: list[Statement] = []
    for statement in body:
        statement = with_bodies(statement, lambda inner: _with_own_names(inner, seen, names))
        if isinstance(statement, Alloc):
            name = statement.buffer.name
            if name in seen:
                others[name] = names.new(name)
                statement = Alloc(replace(statement.buffer, name=others[name]))
            seen.add(name)
        made.append(_renamed(statement, others) if others else statement)
    return tuple(made)


def _renamed(statement: Statement, others: Mapping[str, str]) -> Statement:
    """The statement with other names for the arrays that it accesses."""

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer in others:
            return replace(expr, buffer=others[expr.buffer])
        return expr

    def on_store(inner: Statement) -> Statement:
        if isinstance(inner, Store) and inner.buffer in others:
            return replace(inner, buffer=others[inner.buffer])
        return with_bodies(inner, lambda body: tuple(map(on_store, body)))

    return on_store(map_statement(statement, on_expr))


def _position(index: Shape, shape: Shape) -> Index:
    return recombine(row_major(index, shape))


def _with_flat_allocs(statement: Statement) -> Statement:
    if isinstance(statement, Alloc):
        return Alloc(_flat(statement.buffer))
    return with_bodies(statement, lambda body: tuple(map(_with_flat_allocs, body)))


def without_single_iterations(program: Program) -> Program:
    """The program with the body of each such loop in its place, where names allow it."""
    return map_bodies(program, _without_single)


def _without_single(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for position, statement in enumerate(body):
        inner = with_bodies(statement, _without_single)
        if not isinstance(inner, For) or inner.limit is not None or inner.extent != 1:
            made.append(inner)
            continue
        others = declared_names((*body[:position], *body[position + 1 :]))
        if declared_names(inner.body) & others:
            made.append(inner)
            continue
        made += (substitute_index(s, inner.symbol, inner.start) for s in inner.body)
    return tuple(made)
