"""Which right operands of products in blocks of rows are packed into panels, and where these are.

A right operand is read in place if its rows are whole vectors, and either lie near each other or
are multiplied by few rows of the left one, which do not repay packing; so is one whose columns are
contiguous, for a few rows. Where the number of these is a runtime size, the program decides in each
call.
"""

from __future__ import annotations

from transpile.ir.dims import Index, bounds
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Buffer
from transpile.machine import Machine
from transpile.schedule.blocking.row_regions import RowProduct
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


def needs_panels(part: RowProduct, machine: Machine) -> bool:
    """True if a right operand is packed, or may be: if it cannot be read in place, or its rows lie
    far apart and all blocks read them often enough."""
    if not _is_in_rows(part, machine):
        return True
    distance = part.call.b.strides[1] * part.call.c.dtype.itemsize
    is_near = isinstance(distance, int) and 0 < distance <= machine.near_row_bytes
    _, most = bounds(product(part.lead))
    is_often = most is None or most > machine.rows_in_place
    return is_often and not part.stack and not is_near


def rows_that_decide(part: RowProduct, machine: Machine) -> Index | None:
    """The number of rows of all blocks if an operand that may be packed is so for many of them
    alone, which is known at run time."""
    rows = product(part.lead)
    least, _ = bounds(rows)
    if _is_in_rows(part, machine):
        most = machine.rows_in_place
    elif _is_in_columns(part):
        most = machine.rows_dotted
    else:
        return None
    return rows if least is None or least <= most else None


def _is_in_rows(part: RowProduct, machine: Machine) -> bool:
    """True if a right operand can be read in place: if its rows are whole vectors."""
    _, row, column = part.call.b.strides
    return column == 1 and part.call.n % machine.lanes == 0 and row != 0


def _is_in_columns(part: RowProduct) -> bool:
    """True if a right operand of one product can be read in place by few rows: if its columns, and
    rows of the left one, are contiguous."""
    _, row, column = part.call.b.strides
    return not part.stack and row == 1 and column != 1 and part.call.a.strides[-1] == 1


def panels_of(part: RowProduct, names: Names, machine: Machine) -> Buffer:
    """The buffer for packed right operands, with panels for the widest vectors: one for each
    product of a batch unless it fits into a local array."""
    width = 2 * machine.lanes  # of a panel
    columns = -(-part.call.n // width) * width
    panels = Buffer(names.new("panels"), (columns * part.call.k,), part.call.c.dtype)
    if part.stack and not is_local(part, panels, machine):
        return replace(panels, shape=(*part.lead[: part.stack], *panels.shape))
    return panels


def is_local(part: RowProduct, panels: Buffer, machine: Machine) -> bool:
    """True if panels are on the stack of a thread, which packs them for its part of a batch."""
    size = product(panels.shape) * panels.dtype.itemsize
    return part.stack > 0 and isinstance(size, int) and size <= machine.block_bytes


def fills_cache(part: RowProduct, machine: Machine) -> bool:
    """True if a right operand is as large as a core's cache, so that each block reads it from the
    one behind that: as long as the products of about 32 rows take."""
    size = part.call.n * part.call.k * part.call.c.dtype.itemsize
    return isinstance(size, int) and size >= machine.l2_bytes
