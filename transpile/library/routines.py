"""Which routine an equation of the kind `routine` is, for which sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from transpile.errors import UnsupportedError
from transpile.intrinsics.lapack import DECOMPOSITIONS, PivotsToPermutation
from transpile.intrinsics.routines import Routine
from transpile.ir.calls import Strided
from transpile.ir.dims import Shape
from transpile.ir.graph import Equation
from transpile.ir.operand_signature import parse
from transpile.util.frozen_records import dataclass

ROUTINES: tuple[type[Routine], ...] = (*DECOMPOSITIONS, PivotsToPermutation)


@dataclass(frozen=True)
class RoutineLoop:
    """An equation as a loop of calls over its leading axes: the intrinsic, the numbers of its
    calls by name, and the axes."""

    intrinsic: type[Routine]
    numbers: Mapping[str, Any]
    axes: Shape

    def call(self, arrays: Sequence[Strided]) -> Routine:
        """The call for these operands and results, in the order of the signature."""
        signature = parse(self.intrinsic.signature)
        names = (*signature.reads, *signature.writes)
        return self.intrinsic(**self.numbers, **dict(zip(names, arrays, strict=True)))


def as_routine(equation: Equation) -> RoutineLoop:
    """The calls that an equation of the kind `routine` is.

    Raises UnsupportedError where a matrix has a runtime size.
    """
    primitive, params = equation.primitive.name, equation.params
    (intrinsic,) = (
        r for r in ROUTINES if r.primitive == primitive and r.where.items() <= params.items()
    )
    sizes: dict[str, Any] = dict(params)
    axes: Shape = ()
    reads = parse(intrinsic.signature).reads
    for atom, known in zip(equation.inputs, reads.values(), strict=True):
        shape, names = atom.type.shape, known or ()
        leading = len(shape) - len(names)
        axes = shape[:leading]
        sizes.update(zip(names, shape[leading:], strict=True))
    if not all(isinstance(size, int) for size in sizes.values()):
        raise UnsupportedError(f"{equation.source}: {primitive} of a matrix with a runtime size")
    numbers = {name: size for name, size in sizes.items() if name not in intrinsic.where}
    return RoutineLoop(intrinsic, MappingProxyType(numbers), axes)
