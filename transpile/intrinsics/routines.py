"""Routines: intrinsics that do what a primitive does to the last axes of its operands.

A primitive of the kind `routine` is a loop over the leading axes around calls of such an intrinsic.
Operands and results are in row-major order and those of the primitive, in its order; the sizes that
the signature names are those of the operands' last axes; the other numbers are the params of these
names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from transpile.ir.calls import Call, Invocation
from transpile.ir.operand_signature import parse
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES


class Routine(Call):
    """What routines have in common. The helper of C, which has the name of the routine and the
    dtype of the first operand, takes sizes, operands, results and scratch memory, in this order.

    primitive  what it does
    where      params of the primitive with which it does that
    """

    primitive: ClassVar[str]
    where: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers that the helper takes first: its own, where it says nothing else."""
        return tuple(int(x) for x in self.operands.values() if isinstance(x, int))

    def numpy(self, *arrays: Any) -> Any:
        sizes = {size for names in parse(self.signature).reads.values() for size in names or ()}
        fields = self.operands.keys() - self.arrays.keys() - sizes
        params = {name: self.operands[name] for name in fields}
        return TABLE[self.primitive].numpy(*arrays, **params, **self.where)

    def helper(self, routines: tuple[tuple[str, str], ...] = ()) -> Invocation:
        """The call of its helper, which calls these routines of a library."""
        arrays = [array.first for array in self.arrays.values()]
        suffix = SHORT_NAMES[arrays[0].dtype]
        return Invocation(f"{self.name}_{suffix}", (*self.sizes, *arrays), routines)
