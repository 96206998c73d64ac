"""Plan calls for primitives of the kind `routine`: the intrinsic, its sizes, the loops around."""

from __future__ import annotations

from typing import Any

from transpile.errors import InternalError
from transpile.intrinsics.lapack import DECOMPOSITIONS, PivotsToPermutation
from transpile.intrinsics.routines import Routine
from transpile.ir.calls import parsed_signature
from transpile.ir.dims import Dim, Shape, Symbol
from transpile.ir.graph import Equation
from transpile.library.plan import CallPlan, LoopedCall, part

ROUTINES: tuple[type[Routine], ...] = (*DECOMPOSITIONS, PivotsToPermutation)


def plan_routine(equation: Equation) -> CallPlan:
    """A call for the last axes of the operands, in loops over the leading ones.

    Raises UndecidedSizeError where which of two sizes is the smaller one decides how much memory a
    matrix takes.
    """
    params = equation.params
    intrinsic = _intrinsic_of(equation)
    signature = parsed_signature(intrinsic.signature)
    sizes: dict[str, Any] = dict(params)
    axes: Shape = ()
    for atom, known in zip(equation.inputs, signature.reads.values(), strict=True):
        shape, names = atom.type.shape, known or ()
        leading = len(shape) - len(names)
        axes = shape[:leading]
        sizes.update(zip(names, shape[leading:], strict=True))
    numbers = {name: size for name, size in sizes.items() if name not in intrinsic.where}
    loops = tuple(Symbol(f"b{axis}", 0, extent) for axis, extent in enumerate(axes))
    where = tuple(0 if s.extent == 1 else Dim.of(s) for s in loops)
    reads = dict(zip(signature.reads, equation.inputs, strict=True))
    writes = dict(zip(signature.writes, equation.outputs, strict=True))
    arrays: dict[str, Any] = {
        name: part(name, value, where) for name, value in {**reads, **writes}.items()
    }
    return CallPlan(reads, writes, {}, (LoopedCall(loops, intrinsic(**numbers, **arrays)),))


def _intrinsic_of(equation: Equation) -> type[Routine]:
    """The intrinsic that computes an equation. Raises InternalError for none, for several, and for
    one of other operands."""
    primitive, params = equation.primitive.name, equation.params
    found = [r for r in ROUTINES if r.primitive == primitive and r.where.items() <= params.items()]
    if len(found) != 1:
        names = ", ".join(r.__name__ for r in found) or "none"
        raise InternalError(
            f"{primitive} of {dict(params)} has {len(found)} of the ROUTINES, not one: {names}"
        )
    signature = parsed_signature(found[0].signature)
    counts = len(signature.reads), len(signature.writes)
    if counts != (len(equation.inputs), len(equation.outputs)):
        raise InternalError(
            f"{primitive} has {len(equation.inputs)} operands and {len(equation.outputs)} results, "
            f"and not those of {found[0].__name__}: {found[0].signature}"
        )
    return found[0]
