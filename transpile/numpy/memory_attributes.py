"""What arrays in memory say of it: `flags` and `base`; and assignments to the attributes `shape`,
`dtype`, `real`, `imag` and `flat`.

How an array lies in memory is no part of a traced one. One that is no view lies in rows, and views
of it as NumPy's views of such an array do; arguments count as arrays that lie in rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.graph import Equation
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import unsupported
from transpile.numpy.manipulation.shapes import shape_argument
from transpile.trace.trace import current_trace
from transpile.trace.tracer import FUNCTIONS, UFUNC_METHODS, Tracer, add_property
from transpile.trace.views.memory import in_memory


class Flags:
    """The flags of a traced array, with the names of NumPy's, as attributes and as items.

    `writeable` can be set: assigning to an array that may not be written raises ValueError, as in
    NumPy. An array that a program returns may be written in any case.
    """

    def __init__(self, array: Tracer) -> None:
        self._array = array

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._known(), name)

    def __getitem__(self, name: str) -> Any:
        known = self._known()[name]  # KeyError for a name that is none
        if name in ("WRITEABLE", "W"):
            return self.writeable
        return self.owndata if name in ("OWNDATA", "O") else known

    def _known(self) -> Any:
        array = in_memory(self._array.owner, self._array.original)
        # Of what nobody knows: two rows with gaps are in no order.
        return (np.empty((2, 2, 2))[:, ::2, ::2] if array is None else array).flags

    def __setitem__(self, name: str, value: Any) -> None:
        if name in ("WRITEABLE", "W"):
            self.writeable = value
        else:
            raise located(KeyError, f"the flag {name} of a traced array cannot be set")

    @property
    def owndata(self) -> bool:
        """True for an array that is no view."""
        return _view(self._array) is None

    @property
    def writeable(self) -> bool:
        """True where the array may be assigned to."""
        return self._array.original not in self._array.owner.locked

    @writeable.setter
    def writeable(self, value: Any) -> None:
        locked = self._array.owner.locked
        (locked.discard if value else locked.add)(self._array.original)


def _view(x: Tracer) -> Equation | None:
    return x.owner.viewed(x.original)


def _flags(x: Tracer) -> Flags:
    """How the array lies in memory, and whether it may be written."""
    return Flags(x)


def _base(x: Tracer) -> Any:
    """The array that this one is a view of; None for others."""
    return None if _view(x) is None else Tracer(x.owner, x.owner.root_of(x.original))


def _set_shape(x: Tracer, shape: Any) -> None:
    """Give an array another shape, where it is: all variables that it has see it."""
    wanted = shape_argument(shape)
    if tuple(wanted) == tuple(x.shape):
        return
    if x.owner is not current_trace() or x.original in x.owner.inputs:
        raise unsupported(
            "an assignment to the shape of an array of the caller, or of another function or "
            "statement that is traced. Write x = x.reshape(shape)"
        )
    result = FUNCTIONS[np.reshape](x, wanted)
    if result.original in x.owner.own:
        raise located(
            AttributeError,
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
            "the desired shape.",
        )
    x.variable = result.original


def _set_dtype(x: Tracer, dtype: Any) -> None:
    """Raise: an array keeps its dtype."""
    raise located(
        AttributeError,
        f"a traced array keeps its dtype, {x.dtype}. Write x = x.view({np.dtype(dtype).name!r}) "
        f"for its memory as elements of another one, x.astype(...) to convert them",
    )


add_property("flags", _flags)
add_property("base", _base)
UFUNC_METHODS["set_shape"] = _set_shape
UFUNC_METHODS["set_dtype"] = _set_dtype
