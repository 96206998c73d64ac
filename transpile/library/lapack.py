"""Decompositions as calls of LAPACK: which intrinsic an equation is, for which sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from transpile.errors import UnsupportedError
from transpile.intrinsics.lapack import DECOMPOSITIONS, Decomposition
from transpile.ir.calls import Strided
from transpile.ir.dims import Shape
from transpile.ir.graph import Equation
from transpile.ir.operand_signature import parse
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Decompositions:
    """An equation as a loop of calls over its leading axes: the intrinsic, the numbers of its
    calls by name, and the axes."""

    intrinsic: type[Decomposition]
    numbers: Mapping[str, Any]
    axes: Shape

    def call(self, arrays: Sequence[Strided]) -> Decomposition:
        """The call for these operands and results, in the order of the signature."""
        signature = parse(self.intrinsic.signature)
        names = (*signature.reads, *signature.writes)
        return self.intrinsic(**self.numbers, **dict(zip(names, arrays, strict=True)))


def as_decomposition(equation: Equation) -> Decompositions:
    """The calls that an equation of the kind `routine` is.

    Raises UnsupportedError where a matrix has a runtime size.
    """
    primitive, params = equation.primitive.name, equation.params
    (intrinsic,) = (
        d for d in DECOMPOSITIONS if d.primitive == primitive and d.where.items() <= params.items()
    )
    sizes: dict[str, Any] = dict(params)
    axes: Shape = ()
    for atom, names in zip(equation.inputs, parse(intrinsic.signature).reads.values(), strict=True):
        shape, rank = atom.type.shape, len(names or ())
        axes = shape[:-rank]
        sizes.update(zip(names or (), shape[-rank:], strict=True))
    if not all(isinstance(size, int) for size in sizes.values()):
        raise UnsupportedError(f"{equation.source}: {primitive} of a matrix with a runtime size")
    numbers = {name: size for name, size in sizes.items() if name not in intrinsic.where}
    return Decompositions(intrinsic, MappingProxyType(numbers), axes)
