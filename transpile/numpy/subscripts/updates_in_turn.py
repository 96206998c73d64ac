"""Updates of elements by any ufunc, one after the other: `ufunc.at`."""

from __future__ import annotations

from typing import Any

from transpile.ir.indices.row_major import product
from transpile.numpy.core.promotion import as_array, broadcast_to, convert, reshape_to, strengthen
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import call
from transpile.numpy.loops import scanned
from transpile.numpy.subscripts.advanced import iota_of
from transpile.numpy.subscripts.at import at
from transpile.numpy.subscripts.basic import get_item, set_item


def updated_in_turn(ufunc: Any, x: Any, indices: Any, other: Any) -> Any:
    """The array in which a ufunc has changed the elements at indices, each as often as its index
    occurs; traced indices out of range change nothing."""
    if ufunc.nin > 2 or ufunc.nout > 1:
        raise located(ValueError, "Only single output ufuncs supported at this time")
    if (other is None) != (ufunc.nin == 1):
        wanted = "needed for" if other is None else "provided for unary"
        raise located(ValueError, f"second operand {wanted} ufunc")
    shape = get_item(x, indices).shape  # or NumPy's IndexError
    positions = reshape_to(iota_of(x.size), x.shape)
    places = at(positions)[indices].get(mode="fill", fill_value=x.size)
    elements = [places]
    if other is not None:
        elements.append(broadcast_to(as_array(other), shape))
    count = product(shape)
    if count == 0:
        return x

    def changed(carry: list[Any], element: list[Any]) -> list[Any]:
        (flat,), (place, *operands) = carry, element
        value = call(ufunc, get_item(flat, (place,)), *operands)
        return [set_item(flat, (place,), convert(value, x.dtype))]  # cast as NumPy's `at` does

    flat = reshape_to(strengthen(x), (x.size,))
    rows = [reshape_to(e, (count,)) for e in elements]
    return reshape_to(scanned(changed, [flat], rows, count)[0], x.shape)
