"""`fail`: the program ends here with an error, whose text its callback has, and a code of its own.

A program in C returns the code. Python calls the function of the callback first, with the values of
the operands: it raises the exception. So `fail` is a callback in everything but that nothing comes
after it. Under vmap an example that fails ends the call. It has no derivative.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import Graph
from transpile.ir.primitive import TABLE, Axis, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType
from transpile.primitives.effects.callbacks import Callback, Same, one_by_one
from transpile.primitives.rules import bind_call
from transpile.trace.bytecode.handlers import refuse_handled
from transpile.trace.trace import bind, the_trace
from transpile.transforms.closed import close


def _failed(*values: Any, callback: Callback) -> list[Any]:
    callback(*values)
    return []


def _no_types(*_: ArrayType, callback: Callback) -> tuple[ArrayType, ...]:
    return ()


def _batch(
    axis: Axis, batched: Sequence[bool], *operands: Any, callback: Callback
) -> tuple[list[Any], list[bool]]:
    one_by_one(fail, axis, batched, operands, {"callback": callback})
    return [], []


fail = register(
    Primitive(
        "fail",
        "callback",
        _failed,
        _no_types,
        effect=True,
        jvp=lambda tangents, results, *operands, callback: [],
        transpose=lambda _, *operands, callback: [None] * len(operands),
        batch=_batch,
    )
)


def fail_where(
    fails: Any,
    operands: Sequence[Any],
    raising: Callable[..., object],
    text: str,
    values: Callable[..., Sequence[Any]] = lambda *operands: operands,
) -> None:
    """End the program where a traced bool is true.

    raising  raises the exception, of the `values` of the operands, in Python
    text     the class and the text of the exception, with `{}` for a value
    """

    kind = getattr(builtins, text.partition(":")[0], None)  # LIST_IS_LONGER is none of Python's
    if isinstance(kind, type) and issubclass(kind, Exception):
        refuse_handled(kind, the_trace())

    def failing(*operands: Any) -> list[Any]:
        callback = Callback(text.partition(":")[0], raising, Same(raising), failure=text)
        bind(fail, *values(*operands), callback=callback)
        return []

    source = user_source()
    branch = close(failing, [x.variable for x in operands], name="failing", source=source)
    nothing = Graph(branch.graph.inputs, (), (), "passing", source=source)
    graphs = nothing, branch.graph
    bind_call(TABLE["cond"], fails, *branch.captured, *operands, branches=graphs)
