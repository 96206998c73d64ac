"""What to write in the place of Python that wants the value of a tracer, as `max(x, y)` does.

A conversion fails inside a call, a comparison or an operator of the user's line. The bytecode under
way says which part of the source that is (PEP 657); what it calls is looked up by name in the
frame, without running anything. This happens once an error is certain.
"""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from transpile.ir.source_info import user_frame, user_source
from transpile.trace.static_lookup import in_class

_PRINT = (
    "To print a value when the program runs, write transpile.debug.print('{{}}', x), whose braces "
    "take a format, as in '{{:.3f}}'; what stands here is printed once, while tracing."
)
_LENGTH = (
    "The number of elements decides a shape, which must be known while tracing: make that argument "
    "static (static_argnums or static_argnames), take it from a shape, or make an array of the "
    "largest length and choose from it with numpy.where."
)
# NumPy's functions of which arguments decide the shape of the result.
_MAKERS = (
    *("arange", "linspace", "logspace", "geomspace", "zeros", "ones", "full", "empty", "eye"),
    *("identity", "tri", "bincount"),
)
_STRIDED = (
    "A traced array has no memory of its own: numpy.lib.stride_tricks.sliding_window_view has its "
    "windows, and x[numpy.arange(rows)[:, None] * step + numpy.arange(columns)] its elements by "
    "their numbers."
)
# Functions of `math` and `cmath` that NumPy has under another name.
_MATH = {
    "acos": "numpy.arccos",
    "acosh": "numpy.arccosh",
    "asin": "numpy.arcsin",
    "asinh": "numpy.arcsinh",
    "atan": "numpy.arctan",
    "atan2": "numpy.arctan2",
    "atanh": "numpy.arctanh",
    "comb": "transpile.scipy.special.comb",
    "dist": "numpy.linalg.norm",
    "erf": "transpile.scipy.special.erf",
    "erfc": "transpile.scipy.special.erfc",
    "factorial": "transpile.scipy.special.factorial",
    "fsum": "numpy.sum",
    "gamma": "transpile.scipy.special.gamma",
    "lgamma": "transpile.scipy.special.gammaln",
    "phase": "numpy.angle",
    "pow": "numpy.power",
}
_BUILTINS: dict[Any, Callable[[int], str]] = {
    max: lambda count: "numpy.max(x)" if count == 1 else "numpy.maximum(x, y)",
    min: lambda count: "numpy.min(x)" if count == 1 else "numpy.minimum(x, y)",
    sorted: lambda _: "numpy.sort(x)",
    any: lambda _: "numpy.any(x)",
    all: lambda _: "numpy.all(x)",
    round: lambda _: "numpy.round(x)",
    pow: lambda _: "numpy.power(x, y)",
}


def hint() -> str:
    """What to write in the place of the user's expression under way; `""` where nothing is known
    about it."""
    frame = user_frame()
    expression = _under_way(frame) if frame is not None else None
    if frame is None or expression is None:
        return ""
    node, text = expression
    advice = _advice(node, frame)
    return f"In `{text}`: {advice}" if advice else ""


def format_hint(spec: str) -> str:
    """What to write in the place of a format with a specification."""
    return _PRINT.format().replace("{:.3f}", f"{{:{spec}}}")


def uncounted(value: Any) -> str:
    """Why Python cannot iterate over an array whose length the program finds."""
    return (
        f"{user_source()}: Python wants the elements of a traced value, {value!r}, of which the "
        f"program finds how many there are, one by one in `{user_source().text}`. Compute with the "
        "whole array, or in a `for` statement."
    )


def _under_way(frame: FrameType) -> tuple[ast.expr, str] | None:
    """The expression of a frame that is being evaluated, and its text."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    first, last, start, stop = positions
    if first is None or last is None or start is None or stop is None:
        return None
    lines = [
        linecache.getline(frame.f_code.co_filename, number).encode("utf-8", "replace")
        for number in range(first, last + 1)
    ]
    lines[-1] = lines[-1][:stop]  # the offsets are of bytes
    lines[0] = lines[0][start:]
    text = b"".join(lines).decode("utf-8", "replace")
    try:
        tree = ast.parse(f"({text})", mode="eval")
    except SyntaxError:  # the file has changed, or there is none
        return None
    return tree.body, " ".join(text.split())


def _advice(node: ast.expr, frame: FrameType) -> str:
    match node:
        case ast.Call():
            return _advice_for_call(_named(node.func, frame), len(node.args))
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return "for traced values write numpy.any(x == value), or numpy.isin."
        case ast.Compare(ops=[_, _, *_]):
            return "Python reads a chain of comparisons as `and`; write (a < b) & (b < c)."
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            return _PRINT.format()
    return ""


def _advice_for_call(function: Any, count: int) -> str:
    name = str(getattr(function, "__name__", ""))
    package = str(getattr(function, "__module__", "")).split(".")[0]
    if getattr(builtins, name, None) is function and function in _BUILTINS:
        return f"for traced values write {_BUILTINS[function](count)}."
    if package in ("math", "cmath"):
        other = _MATH.get(name, f"numpy.{name}" if hasattr(np, name) else "")
        return f"{package} takes numbers; for traced values write {other}." if other else ""
    if package in ("numpy", "transpile") and name in _MAKERS:
        return _LENGTH
    if package == "numpy" and name == "as_strided":
        return _STRIDED
    if package == "scipy":
        return (
            "SciPy wants values. docs/scipy.md has the functions of SciPy that can be traced; "
            "call this one outside the traced function."
        )
    return ""


def _named(node: ast.expr, frame: FrameType) -> Any:
    """What a name is in a frame, an attribute of a module, or a method; None for anything else."""
    match node:
        case ast.Name(id=name):
            for scope in (frame.f_locals, frame.f_globals, frame.f_builtins):
                if name in scope:
                    return scope[name]
        case ast.Attribute(value=base, attr=name):
            holder = _named(base, frame)
            if isinstance(holder, ModuleType):
                return getattr(holder, name, None)
            return in_class(type(holder), name)  # a method, without asking for an attribute
    return None
