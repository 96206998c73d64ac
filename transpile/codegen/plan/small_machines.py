"""What programs for small machines may not have: a C library, or numbers of double precision."""

from __future__ import annotations

import re
from collections.abc import Iterable

from transpile.errors import UnsupportedError
from transpile.ir.dims import bounds
from transpile.ir.graph import Graph, Source
from transpile.ir.loop_ir import DType, Program
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.symbols.lapack import Libraries

_COMMENT = re.compile(r"/\*.*?\*/|^#[^\n]*$", re.DOTALL | re.MULTILINE)
_DOUBLE = re.compile(r"\bdouble\b")
_WIDE = ("float64", "complex128")


def check_freestanding(program: Program, options: Options, libraries: Libraries) -> None:
    """Raise UnsupportedError for a program that cannot be `freestanding`, where it has to be."""
    if not options.freestanding:
        return
    problem = ""
    asked = next((s.callback for s in program.sites if not s.callback.failure), None)
    if asked is not None:
        problem = f"calls {asked.__name__} of Python, or prints"
    elif any(libraries):
        problem = "calls a library for linear algebra"
    if problem:
        raise UnsupportedError(f"{program.name} {problem}: it is not freestanding")


def most_workspace(program: Program) -> int | None:
    """The bytes that a workspace needs for all sizes; None where sizes have no upper bound."""
    return bounds(program.workspace)[1]


def check_float_only(graph: Graph, options: Options) -> None:
    """Raise UnsupportedError that names the first number of double precision of a graph, where the
    options ask for none."""
    if not options.float_only:
        return
    for argument in graph.inputs:
        if _is_wide(argument.type.dtype):
            raise UnsupportedError(
                f"{graph.name} is not float_only: its argument {argument.name or '?'} is of double "
                "precision; make it float32"
            )
    if first := _first_wide(graph):
        source, what = first
        place = f" ({source})" if source.line else ""
        raise UnsupportedError(
            f"{graph.name} is not float_only: `{source.text or what}`{place} gives numbers of "
            "double precision; make them float32"
        )


def check_c(program: Program, text: str, names: Iterable[str], options: Options) -> None:
    """The same for the text of a program and the helpers that it calls, of which some compute in
    double precision for single."""
    if options.float_only:
        for name in sorted(names):
            items = c_helpers.needed([name], options.num_threads, single=True)
            if any(_DOUBLE.search(_COMMENT.sub("", item.text)) for item in items):
                raise UnsupportedError(
                    f"{program.name} is not float_only: {name} computes in double precision, "
                    "so that its results in single precision are right; with the option "
                    "precise_math=True elementary functions are those of math.h"
                )
        if _DOUBLE.search(_COMMENT.sub("", text)):
            raise UnsupportedError(f"{program.name} is not float_only: its loops have doubles")


def _first_wide(graph: Graph) -> tuple[Source, str] | None:
    for equation in graph.equations:
        if any(_is_wide(output.type.dtype) for output in equation.outputs):
            return equation.source, equation.primitive.name
    inner = (_first_wide(region) for region in graph.subgraphs())
    return next((found for found in inner if found is not None), None)


def _is_wide(dtype: DType) -> bool:
    return dtype.name in _WIDE
