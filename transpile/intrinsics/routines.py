"""Routines: the intrinsics of primitives of the kind `routine`, which compute the last axes of
their operands.

Such a primitive is lowered to a loop over the leading axes around calls of its intrinsic. Operands
and results are those of the primitive, in its order and row-major; sizes that the signature names
are extents of the operands' last axes; other numbers are the params of these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from transpile.ir.calls import Call, Invocation, parsed_signature
from transpile.ir.dims import Dim, Index
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES

# Of a size that is known at run time: twice its square is counted by LAPACK's integers.
_LARGEST = (1 << 15) - 1


class Routine(Call):
    """An intrinsic that computes a primitive. Its C helper is named by the routine and the dtype of
    the first operand, and takes sizes, operands, results and workspace, in this order.

    primitive  the name of the primitive
    where      the params of the primitive for which the routine computes it
    """

    primitive: ClassVar[str]
    where: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @property
    def sizes(self) -> tuple[Index, ...]:
        """The leading integer arguments of the helper: the integer fields, unless overridden."""
        numbers = (x for x in self.operands.values() if isinstance(x, int | Dim))
        return tuple(int(x) if isinstance(x, int) else x for x in numbers)

    @property
    def limits(self) -> tuple[tuple[Index, int], ...]:
        return tuple((self.operands[s], _LARGEST) for s in ("m", "n") if s in self.operands)

    def numpy(self, *arrays: Any) -> Any:
        sizes = {
            size
            for names in parsed_signature(self.signature).reads.values()
            for size in names or ()
        }
        fields = self.operands.keys() - self.arrays.keys() - sizes
        params = {name: self.operands[name] for name in fields}
        return TABLE[self.primitive].numpy(*arrays, **params, **self.where)

    def helper(self, routines: tuple[tuple[str, str], ...] = ()) -> Invocation:
        """The call of the C helper, which calls these routines of a library."""
        arrays = [array.first for array in self.arrays.values()]
        suffix = SHORT_NAMES[arrays[0].dtype]
        return Invocation(f"{self.name}_{suffix}", (*self.sizes, *arrays), routines)
