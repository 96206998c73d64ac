"""Products of halves that store halves: where their sums, in float32, are only read as halves.

    call t = x y                    call t = x y        (t of halves)
    for i: out[i] = f16(t[i]) + 1   for i: out[i] = t[i] + 1

A loop that only copies what a product has stored is removed, and the product stores its elements
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.intrinsics.products import Matmul, MatmulBatch
from transpile.ir.dims import Dim
from transpile.ir.loop_ir import Apply, Buffer, DType, Expr, For, Load, Program, Statement, Store
from transpile.ir.loop_rewrite import expressions, loads, map_statement, walk, written
from transpile.ir.types import is_half
from transpile.primitives.elementwise import convert
from transpile.util.frozen_records import replace


def with_half_results(program: Program) -> Program:
    """The program, whose arrays have one dimension, with such products."""
    made = _narrowed(program)
    return program if made is program else _without_copies(made)


def _narrowed(program: Program) -> Program:
    """The program whose sums of halves are halves where nothing else is read of them."""
    statements = [s for kernel in program.kernels for s in walk(kernel.body)]
    sums = {
        s.c.buffer: s.a.dtype
        for s in statements
        if isinstance(s, Matmul | MatmulBatch) and is_half(s.a.dtype)
    }
    narrow = {
        buffer.name: sums[buffer.name]
        for buffer in program.temporaries
        if buffer.name in sums and _is_read_as(buffer.name, sums[buffer.name], statements)
    }
    if not narrow:
        return program

    def on_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer in narrow:
            return replace(expr, dtype=narrow[expr.buffer])
        if isinstance(expr, Apply) and narrow.get(_converted(expr)) == expr.dtype:
            return expr.args[0]  # what converts it back to float32 stays
        return expr

    return replace(
        program,
        kernels=tuple(
            replace(kernel, body=tuple(map_statement(s, on_expr) for s in kernel.body))
            for kernel in program.kernels
        ),
        temporaries=tuple(
            replace(b, dtype=narrow.get(b.name, b.dtype)) for b in program.temporaries
        ),
    )


def _is_read_as(name: str, dtype: DType, statements: Sequence[Statement]) -> bool:
    """True if one product writes a buffer, and all reads of it are converted to this dtype."""
    writers = [s for s in statements if name in written(s)]
    if len(writers) != 1:
        return False
    for statement in statements:
        whole = [e for x in expressions(statement) for e in _reads(x, name, dtype)]
        used = [load for load in loads(statement) if load.buffer == name]
        if statement is not writers[0] and (len(whole) < len(used) or False in whole):
            return False
    return True


def _reads(expr: Expr, name: str, dtype: DType) -> Iterator[bool]:
    """For each read of a buffer whether it is converted to a dtype."""
    if isinstance(expr, Apply):
        if _converted(expr) == name:
            yield expr.dtype == dtype
            return
        for arg in expr.args:
            yield from _reads(arg, name, dtype)
    elif isinstance(expr, Load) and expr.buffer == name:
        yield False


def _converted(expr: Apply) -> str:
    """The buffer of the element that is converted; "" for other expressions."""
    (first, *_) = expr.args
    is_element = expr.op == convert.name and isinstance(first, Load)
    return first.buffer if is_element and isinstance(first, Load) else ""


def _without_copies(program: Program) -> Program:
    """The program whose products store where their elements are copied to."""
    body = [s for kernel in program.kernels for s in kernel.body]
    buffers = program.buffers()
    for position, call in enumerate(body):
        if not isinstance(call, Matmul | MatmulBatch) or not is_half(call.c.dtype):
            continue
        users = [s for s in body if s is not call and _uses(s, call.c.buffer)]
        if len(users) != 1 or call.c.first.index != (0,):
            continue
        copied = _copied(users[0], buffers[call.c.buffer])
        between = body[: body.index(users[0])]
        if copied is None or any(_uses(s, copied) for s in between):
            continue
        c = replace(call.c, first=replace(call.c.first, buffer=copied))
        body[position] = replace(call, c=c)
        return _without_copies(_replaced(program, {id(call): body[position], id(users[0]): None}))
    return program


def _uses(statement: Statement, name: str) -> bool:
    return any(
        name in written(s) or any(load.buffer == name for load in loads(s))
        for s in walk((statement,))
    )


def _copied(statement: Statement, buffer: Buffer) -> str | None:
    """The buffer that a loop copies the whole of another one to; None for other statements."""
    match statement:
        case For(start=0, limit=None, body=(Store() as store,)):
            index = (Dim.of(statement.symbol),)
            is_copy = store.value == Load(buffer.name, index, buffer.dtype)
            is_whole = (statement.stop,) == buffer.shape and store.index == index
            return store.buffer if is_copy and is_whole else None
        case _:
            return None


def _replaced(program: Program, statements: dict[int, Statement | None]) -> Program:
    """The program with some statements of kernels replaced, or left out."""
    kernels = []
    for kernel in program.kernels:
        made = (statements.get(id(s), s) for s in kernel.body)
        body = tuple(s for s in made if s is not None)
        kernels += [replace(kernel, body=body)] if body else []
    return replace(program, kernels=tuple(kernels))
