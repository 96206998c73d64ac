"""Choices by subscripts, whose operands are read only where their test holds.

Choices between complex numbers call a function in C (`runtime_c/arithmetic/choose.h`), whose
operands are all computed: also elements behind the end of an array. So these choose each part.
"""

from __future__ import annotations

from transpile.ir.loop_ir import Apply, Expr, Literal
from transpile.ir.types import real_dtype


def guarded(test: Expr, value: Expr, otherwise: Expr) -> Expr:
    """The value where the test holds, which is not computed elsewhere."""
    if value.dtype.kind != "c":
        return Apply("select", (test, value, otherwise), value.dtype)
    part = real_dtype(value.dtype)
    parts = [
        Apply("select", (test, _part(value, name), _part(otherwise, name)), part)
        for name in ("real", "imag")
    ]
    return Apply("complex", tuple(parts), value.dtype)


def _part(x: Expr, name: str) -> Expr:
    """The real or imaginary part of a complex number."""
    match x:
        case Literal(value=value):
            return Literal(getattr(value, name), real_dtype(x.dtype))
        case Apply(op="complex", args=(real, imaginary)):
            return real if name == "real" else imaginary
        case _:
            return Apply(name, (x,), real_dtype(x.dtype))
