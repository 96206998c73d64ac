"""What an operation requires of runtime sizes, asked while a function is traced."""

from __future__ import annotations

from transpile.errors import UndecidedSizeError
from transpile.ir.dims import Dim, Index, bounds, sides
from transpile.ir.indices.polynomial_text import declaration


def may_be_0(extent: Index) -> bool:
    """True if an extent is a runtime size for which 0 is allowed."""
    return isinstance(extent, Dim) and bounds(extent)[0] in (None, 0)


def require(smaller: Index, larger: Index, what: str) -> None:
    """Raise UndecidedSizeError unless `smaller <= larger` for all runtime sizes, which `what`
    needs."""
    low = bounds(larger - smaller)[0]
    if low is None or low < 0:
        a, b = sides(larger - smaller)
        raise UndecidedSizeError(
            f"{what} needs {smaller} <= {larger}, which does not follow from what is declared of "
            f"the sizes; declare it: {declaration(a, '<=', b)}"
        )
