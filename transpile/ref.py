"""Mutable references, as in `jax.ref`: an array that functions read and assign to.

    total = new_ref(np.zeros(3))

    @jit
    def add(total, x):
        total[...] += x

    add(total, x)  # total[...] has changed

A reference holds an array of its own. In a traced function it is a traced array that is assigned
to: as an argument it takes its new values when the call returns; one that the function makes ends
with it. A reference of the surroundings of a traced function may be read there and not assigned to,
as other arrays: pass it as an argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import tree
from transpile.ir.source_info import user_source
from transpile.ir.types import as_dtype
from transpile.numpy.core.promotion import as_array, fill
from transpile.primitives import elementwise
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import Tracer

__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]


class Ref:
    """A reference to an array: `ref[key]` is a copy of its elements, `ref[key] = x` replaces
    them.

    As an argument of a traced function it is a container of its array.
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def _held(self) -> Any:
        if self._array is None:
            raise ValueError(f"{user_source()}: the reference has been frozen or freed")
        return self._array

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of the array."""
        return tuple(self._held().shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        dtype: np.dtype[Any] = self._held().dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self._held().size

    def __len__(self) -> int:
        return len(self._held())

    def __getitem__(self, key: Any) -> Any:
        return _copied(self._held()[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        array = self._held()
        if isinstance(value, Tracer) and not isinstance(array, Tracer):
            raise ValueError(
                f"{user_source()}: a reference of the surroundings cannot be assigned to in a "
                f"traced function; pass it as an argument"
            )
        array[key] = value

    def get(self, key: Any = ..., /) -> Any:
        """A copy of the elements at a subscript; by default of all."""
        return self[key]

    def set(self, value: Any, /, key: Any = ...) -> None:
        """Replace the elements at a subscript; by default all."""
        self[key] = value

    def swap(self, value: Any, /, key: Any = ...) -> Any:
        """Replace the elements at a subscript, and return a copy of what they were."""
        before = self[key]
        self[key] = value
        return before

    def addupdate(self, value: Any, /, key: Any = ...) -> None:
        """Add to the elements at a subscript; by default to all."""
        self[key] = self[key] + value

    def __repr__(self) -> str:
        return f"Ref({self._array!r})"


AbstractRef = Ref  # of which there is no other type here
tree.register_pytree_node(Ref, lambda ref: ((ref._held(),), None), lambda _, held: Ref(held[0]))


def _copied(value: Any) -> Any:
    """The values as they are now."""
    return bind(elementwise.copy, value) if isinstance(value, Tracer) else np.array(value)[()]


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> Ref:
    """A reference to a copy of an array or number; in a traced function to a traced one.

    memory_space, kind  None: there is one memory
    """
    if memory_space is not None or kind is not None:
        raise NotImplementedError("new_ref: there is one memory, and one kind of references")
    value = as_array(init_val)
    if current_trace() is None:
        return Ref(np.array(value))
    return Ref(bind(elementwise.copy, value))


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to an array of the shape and dtype of an object, of zeros."""
    return (
        new_ref(fill(0, tuple(ty.shape), as_dtype(ty.dtype)), memory_space=memory_space)
        if (current_trace() is not None)
        else new_ref(np.zeros(ty.shape, as_dtype(ty.dtype)), memory_space=memory_space)
    )


def freeze(ref: Ref) -> Any:
    """The array of a reference, which may not be used afterwards."""
    value = ref._held()
    ref._array = None
    return value


def free_ref(ref: Ref) -> None:
    """End a reference, which may not be used afterwards."""
    freeze(ref)


def get(ref: Ref, idx: Any = None) -> Any:
    """A copy of the elements of a reference at a subscript; for None of all."""
    return ref.get(... if idx is None else idx)


def set(ref: Ref, idx: Any, value: Any) -> None:
    """Replace the elements of a reference at a subscript; for None all."""
    ref.set(value, ... if idx is None else idx)


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Replace the elements of a reference at a subscript, and return a copy of what they were."""
    return ref.swap(value, ... if idx is None else idx)


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add to the elements of a reference at a subscript; for None to all."""
    ref.addupdate(x, ... if idx is None else idx)
