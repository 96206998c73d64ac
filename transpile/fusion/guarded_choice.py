"""Choices by subscripts, whose operands are read only where their test holds.

Choices between complex numbers call a function in C (`runtime_c/arithmetic/choose.h`), whose
operands are all computed: also elements behind the end of an array. So these choose each part.
"""

from __future__ import annotations

from transpile.ir.loop_ir import Apply, Expr, Literal
from transpile.ir.primitive import Primitive
from transpile.ir.types import real_dtype
from transpile.primitives.elementwise import COMPLEX_PARTS, make_complex, select


def guarded(test: Expr, value: Expr, otherwise: Expr) -> Expr:
    """The value where the test holds, which is not computed elsewhere."""
    if value.dtype.kind != "c":
        return Apply(select.name, (test, value, otherwise), value.dtype)
    dtype = real_dtype(value.dtype)
    parts = [
        Apply(select.name, (test, _part(value, place), _part(otherwise, place)), dtype)
        for place in range(2)
    ]
    return Apply(make_complex.name, tuple(parts), value.dtype)


def _part(x: Expr, place: int) -> Expr:
    """The real or imaginary part of a complex number."""
    primitive: Primitive = COMPLEX_PARTS[place]
    match x:
        case Literal(value=value):
            return Literal(primitive.numpy(value), real_dtype(x.dtype))
        case Apply() if x.primitive is make_complex:
            return x.args[place]
        case _:
            return Apply(primitive.name, (x,), real_dtype(x.dtype))
