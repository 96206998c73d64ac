"""A module as a function of arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from transpile.functional.flatten_fun import as_value, cast_weak, run_outside, value_type
from transpile.hlo.parse.assemble import Parsed
from transpile.hlo.parse.hlo_text import parse_hlo_text
from transpile.hlo.parse.proto import parse_proto
from transpile.hlo.parse.stablehlo import parse_stablehlo
from transpile.hlo_import.computations import graph_of
from transpile.ir.graph import Graph
from transpile.ir.types import ArrayType, ShapeDtypeStruct
from transpile.symbols.identifiers import identifier
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.transforms.closed import apply


@api_boundary
def from_stablehlo(text: str, *, file_name: str = "module.mlir") -> Callable[..., Any]:
    """A function that computes what a module of StableHLO says: of the text that
    `jax.jit(f).lower(x).as_text()` is, or of MLIR's generic form.

    It takes the arrays of the module's `main` one by one, and gives an array, or a tuple of
    several; `jit`, `grad`, `vmap` and `make_jaxpr` take it. `in_avals` and `out_avals` have the
    shapes and dtypes of its arguments and results, and `donate_argnums` the arguments whose buffers
    the module gives to results: `jit(f, donate_argnums=f.donate_argnums).lower(*f.in_avals)`.

    file_name  what comments in C call the text, whose lines they name

    Nothing of the text is evaluated. Raises HloError, with the line and the column, for a text that
    is no such module, and for operations that have no meaning here.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a module is a str, not {type(text).__name__}")
    return _function(parse_stablehlo(text, file_name))


@api_boundary
def from_hlo(module: str | bytes, *, file_name: str = "module.hlo") -> Callable[..., Any]:
    """A function that computes what a module of HLO says: its text, before XLA's optimisation or
    after it, or the bytes of an HloModuleProto.

    What it gives, and what it raises, are those of `from_stablehlo`. Bytes need the package
    protobuf, of the extra `hlo`: ImportError without it.
    """
    if isinstance(module, str):
        return _function(parse_hlo_text(module, file_name))
    if not isinstance(module, bytes | bytearray | memoryview):
        raise TypeError(f"a module is a str or bytes, not {type(module).__name__}")
    return _function(parse_proto(bytes(module)))


def _function(parsed: Parsed) -> Callable[..., Any]:
    graph, module = graph_of(parsed), parsed.module
    name = identifier(module.name)
    is_tuple = isinstance(module.entry.root.type, tuple) and len(graph.outputs) != 1
    types = [v.type.strong for v in graph.inputs]

    def function(*arguments: Any) -> Any:
        results = _called(graph, _values(name, arguments, types))
        return tuple(results) if is_tuple else results[0]

    function.__name__ = function.__qualname__ = name
    shapes: Any = function
    kind = inspect.Parameter.POSITIONAL_ONLY
    names = [inspect.Parameter(f"arg{k}", kind) for k in range(len(types))]
    shapes.__signature__ = inspect.Signature(names)
    shapes.in_avals = tuple(ShapeDtypeStruct(t.static_shape(), t.dtype) for t in types)
    shapes.out_avals = tuple(
        ShapeDtypeStruct(a.type.static_shape(), a.type.dtype) for a in graph.outputs
    )
    shapes.donate_argnums = tuple(sorted({argument for _, argument in module.aliases}))
    return function


def _avals(types: Sequence[ArrayType]) -> tuple[ShapeDtypeStruct, ...]:
    return tuple(ShapeDtypeStruct(t.static_shape(), t.dtype) for t in types)


def _values(name: str, arguments: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """The arguments, which have the types of the module; Python numbers take them."""
    if len(arguments) != len(types):
        raise TypeError(f"{name} takes {len(types)} arrays, not {len(arguments)}")
    values = []
    for position, (given, kind) in enumerate(zip(arguments, types, strict=True)):
        value = cast_weak(as_value(given, f"{position} of {name}"), kind.dtype)
        found = value_type(value).strong
        if found != kind:
            raise TypeError(f"argument {position} of {name} is {kind}, not {found}")
        values.append(value)
    return values


def _called(graph: Graph, values: list[Any]) -> list[Any]:
    """The results in the trace under way, or of arrays."""
    return apply(graph, values) if current_trace() is not None else run_outside(graph, values)
