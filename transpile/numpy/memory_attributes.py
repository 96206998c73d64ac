"""What arrays in memory say of it: `flags`, `strides` and `base`; and assignments to the attributes
`shape`, `dtype`, `real`, `imag` and `flat`.

They say how an array would lie in memory if NumPy ran the function (`trace/views/memory.py`), where
arguments count as arrays that lie in rows. What depends on a runtime size is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import symbols_of
from transpile.ir.graph import Equation, Var
from transpile.numpy.core.promotion import Array, as_array, implements, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.numpy.manipulation.shapes import shape_argument
from transpile.trace.trace import Trace, current_trace
from transpile.trace.tracer import FUNCTIONS, UFUNC_METHODS, Tracer, add_property
from transpile.trace.views.arguments import note_asked
from transpile.trace.views.memory import by_sizes, in_memory
from transpile.trace.views.sizes import GENERAL, Sizes

# Of what nobody knows: two rows with gaps are in no order.
_GAPS = np.empty((2, 2, 2))[:, ::2, ::2]


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
        return self._known(name, lambda flags: getattr(flags, name))

    def __getitem__(self, name: str) -> Any:
        def read(flags: Any) -> Any:
            return flags[name]

        read(_GAPS.flags)  # KeyError for a name that is none
        if name in ("WRITEABLE", "W"):
            return self.writeable
        if name in ("OWNDATA", "O"):
            return self.owndata
        return self._known(name, read)

    def _known(self, name: str, read: Callable[[Any], Any]) -> Any:
        trace, var = self._array.owner, self._array.original
        note_asked(trace, var)

        def flag(sizes: Sizes) -> Any:
            array = in_memory(trace, var, sizes)
            if array is None:
                return None if sizes is not GENERAL else read(_GAPS.flags)
            return read(array.flags)

        known = by_sizes(trace, var, (), flag, f"the flag {name} of a traced array is set", 0)
        if known.reason:
            raise unsupported(str(known.reason))
        return known.value

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
        return self._array.original not in self._array.owner.layouts.locked

    @writeable.setter
    def writeable(self, value: Any) -> None:
        trace, var = self._array.owner, self._array.original
        if not value:
            trace.layouts.locked.add(var)
        elif not _may_be_written(trace, var):
            raise located(ValueError, "cannot set WRITEABLE flag to True of this array")
        else:
            trace.layouts.locked.discard(var)


def _may_be_written(trace: Trace, var: Var) -> bool:
    """False for a view of an array that is read-only; UnsupportedError where it has an element of
    that more than once."""
    while (view := trace.viewed(var)) is not None:
        base = view.inputs[0]
        assert isinstance(base, Var)  # `viewed` has no views of constants
        name, is_larger = view.primitive.name, base.type.size != view.output.type.size
        has_windows = name == "gather" and view.inputs[1].type.ndim == 2
        if has_windows or (name == "broadcast_in_dim" and is_larger):
            raise unsupported("to make an array writeable that has elements more than once")
        if trace.roots.get(base, base) in trace.layouts.locked:
            return False
        var = base
    return True


def _view(x: Tracer) -> Equation | None:
    return x.owner.viewed(x.original)


def _flags(x: Tracer) -> Flags:
    """How the array lies in memory, and whether it may be written."""
    return Flags(x)


@implements(np.isfortran)
def isfortran(a: Array) -> bool:
    """Whether an array lies in columns and not in rows: a Python bool, known while tracing."""
    return bool(as_array(a).flags.fnc)


def _base(x: Tracer) -> Any:
    """The array that this one is a view of; None for others."""
    if _view(x) is None:
        return None
    root = x.owner.root_of(x.original)
    holder = x.owner.layouts.holders.get(root)
    return Tracer(x.owner, root) if holder is None else holder


def _strides(x: Tracer) -> tuple[int, ...]:
    """The bytes from one element to the next along each axis."""
    trace, var = x.owner, x.original
    note_asked(trace, var)
    array = in_memory(trace, var)
    if any(symbols_of(d) for d in (*x.shape, *trace.root_of(var).type.shape)):
        raise unsupported("the strides of an array of a runtime size, which are no Python numbers")
    if array is None or array.doubt:
        why = array.doubt if array is not None else "traced numbers choose its elements"
        raise unsupported(f"the strides of a traced array: {why}")
    return array.strides


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
    if result.original in x.owner.layouts.own:
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
add_property("strides", _strides)
add_property("base", _base)
UFUNC_METHODS["set_shape"] = _set_shape
UFUNC_METHODS["set_dtype"] = _set_dtype
