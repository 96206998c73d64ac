"""Arrays in the memory of a GPU.

What they hold is computed in the order of a stream, and perhaps not yet: whoever reads it waits.
Operators, methods and NumPy's functions are jitted functions of the array, which stay on the device
(`EAGER`); views of whole rows, and other shapes of the same elements, copy nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, partialmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.pytree.device_arrays import EAGER, DeviceArray, DeviceKind, kind_of
from transpile.targets.cuda.runtime.streams import Stream
from transpile.trace.tracer import BINARY
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import transpile.targets.cuda.runtime.interop as interop
    import transpile.targets.cuda.runtime.transfers as transfers
else:
    interop = Later("transpile.targets.cuda.runtime.interop")
    transfers = Later("transpile.targets.cuda.runtime.transfers")

# Kernels read and write up to so many bytes at once: what begins elsewhere is copied first.
ALIGNMENT = 16


class Array(DeviceArray):
    """An array in the memory of a GPU, in row-major order.

    pointer   the address of its first element
    owner     what keeps the memory: a Block, or what another library has given
    stream    in which its elements are computed
    ready     the stream in which a program may read it as it is; None where it begins at an address
              that programs do not take, and where it has been deleted
    """

    __slots__ = ("__weakref__", "host", "owner", "pointer", "ready", "stream")

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100
    weak_type = False

    def __init__(
        self, kind: DeviceKind, pointer: int, owner: Any, stream: Stream, ready: Stream | None
    ) -> None:
        self.kind = kind
        self.pointer = pointer
        self.owner = owner
        self.stream = stream
        self.ready = ready
        self.host: Any = None  # a copy that is under way, or None

    # ------------------------------------------------------------------------------- its type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def devices(self) -> set[Any]:
        """The devices that have it: one."""
        return {self.device}

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # ------------------------------------------------------------------------------- its life

    def is_deleted(self) -> bool:
        """True if it has been deleted, or donated to a call."""
        return self.owner is None

    def delete(self) -> None:
        """Give the memory back now. Further uses raise RuntimeError."""
        self.ready = self.owner = self.host = None

    def alive(self) -> Array:
        """The array itself; RuntimeError for one that has been deleted."""
        if self.owner is None:
            raise RuntimeError(
                f"Array has been deleted with shape={self.dtype.name}{list(self.shape)}: it was "
                "donated to a call, or `delete` was called"
            )
        return self

    def block_until_ready(self) -> Array:
        """Wait until its elements have been computed; the array itself."""
        self.alive().stream.synchronize()
        return self

    def is_ready(self) -> bool:
        """True if its elements have been computed."""
        return self.alive().stream.is_idle()

    def copy_to_host_async(self) -> None:
        """Begin to copy the elements to the host; `numpy.asarray` waits for the end of that."""
        if self.alive().host is None:
            self.host = transfers.HostCopy(self)

    def unsafe_buffer_pointer(self) -> int:
        """The address of its first element."""
        return self.alive().pointer

    # ------------------------------------------------------------------------------- its values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A copy in the memory of the host. Raises ValueError for `copy=False`."""
        if copy is False:
            raise ValueError(f"an array on {self.device} has no values on the host without a copy")
        found = transfers.to_host(self.alive())
        return found if dtype is None else found.astype(dtype, copy=False)

    def __repr__(self) -> str:
        if self.owner is None:
            return f"<deleted array of {self.device}>"
        values = np.array2string(np.asarray(self), separator=", ", prefix="Array(")
        return f"Array({values}, dtype={self.dtype.name}, device={str(self.device)!r})"

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self), spec) if self.shape else format(self.item(), spec)

    def __reduce__(self) -> Any:
        return transfers.put, (np.asarray(self), str(self.device))

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, _: Any) -> Array:
        return self.copy()

    def copy(self) -> Array:
        """A copy on the device."""
        return transfers.copied(self.alive(), self.device.current.stream)

    def item(self, *args: int) -> Any:
        """An element as a number of Python."""
        return np.asarray(self).item(*args)

    def tolist(self) -> Any:
        """The elements in lists."""
        return np.asarray(self).tolist()

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __index__(self) -> int:
        return operator.index(np.asarray(self).item())

    # ------------------------------------------------------------------------------- views

    def view_at(self, offset: int, shape: tuple[int, ...]) -> Array:
        """The elements from one on, in row-major order, as an array of a shape."""
        pointer = self.alive().pointer + offset * self.dtype.itemsize
        return array_at(shape, self.dtype, pointer, self.owner, self.stream)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """The elements in another shape."""
        wanted = shape[0] if len(shape) == 1 and hasattr(shape[0], "__len__") else shape
        if order != "C":
            return apply(np.reshape, self, wanted, order=order)
        return self.view_at(0, _reshaped(self.size, tuple(wanted)))

    def ravel(self, order: str = "C") -> Any:
        """The elements along one axis."""
        return self.reshape(-1, order=order)

    flatten = ravel

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows(index)
        return apply(operator.getitem, self, index) if rows is None else rows

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"an array on {self.device} is not assigned to by itself: write "
            "x = x.at[index].set(value), or assign in a jitted function"
        )

    def _rows(self, index: Any) -> Array | None:
        """The rows that an int or a slice stands for, which lie side by side; None for others."""
        if type(index) is int and self.shape:
            length = self.shape[0]
            if not -length <= index < length:
                raise IndexError(f"index {index} is out of bounds for axis 0 with size {length}")
            size = math.prod(self.shape[1:])
            return self.view_at(index % length * size, self.shape[1:])
        if type(index) is slice and self.shape:
            start, stop, stride = index.indices(self.shape[0])
            if stride == 1:
                count, size = max(0, stop - start), math.prod(self.shape[1:])
                return self.view_at(start * size, (count, *self.shape[1:]))
        return None

    @property
    def at(self) -> At:
        """`x.at[index].set(values)` and its relatives: a changed copy."""
        return At(self, None)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    # ------------------------------------------------------------------------------- functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return apply(function, *inputs, **kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        return apply(function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"an array on a device has no attribute {name!r}")
        method = _method(name)
        return lambda *args, **kwargs: apply(method, self, *args, **kwargs)

    # ------------------------------------------------------------------------------- exchange

    def __dlpack__(self, *, stream: Any = None, **asked: Any) -> Any:
        """A capsule for another library, which shares the memory."""
        return interop.capsule(self.alive(), stream, **asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return interop.CUDA, self.device.id

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return interop.interface(self.alive())


def array_at(
    shape: tuple[int, ...], dtype: np.dtype[Any], pointer: int, owner: Any, stream: Stream
) -> Array:
    """The array at an address in the memory of an owner, whose elements a stream computes."""
    kind = kind_of(stream.device, shape, dtype)
    return Array(kind, pointer, owner, stream, stream if pointer % ALIGNMENT == 0 else None)


class At:
    """`x.at`, and `x.at[index]`, whose methods give changed copies: `set`, `add`, `multiply` ..."""

    __slots__ = ("_array", "_index")

    def __init__(self, array: Array, index: Any) -> None:
        self._array = array
        self._index = index

    def __getitem__(self, index: Any) -> At:
        return At(self._array, index)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        array, index, change = self._array, self._index, _function_at(name)
        return lambda *args, **kwargs: apply(change, array, index, *args, **kwargs)


def _reshaped(size: int, shape: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape for so many elements, of which one extent may be -1."""
    extents = [operator.index(extent) for extent in shape]
    unknown = [k for k, extent in enumerate(extents) if extent < 0]
    rest = math.prod(extent for extent in extents if extent >= 0)
    if len(unknown) == 1 and rest and size % rest == 0:
        extents[unknown[0]] = size // rest
    elif unknown or rest != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(extents)}")
    return tuple(extents)


_functions: dict[str, Callable[..., Any]] = {}


def _method(name: str) -> Callable[..., Any]:
    """The function that calls a method of its first argument; always the same one."""
    return _functions.setdefault(name, operator_of(name))


def operator_of(name: str) -> Callable[..., Any]:
    """A function that calls a method of its first argument."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _function_at(name: str) -> Callable[..., Any]:
    """The function that calls a method of `x.at[index]`; always the same one."""

    def call(x: Any, index: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x.at[index], name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return _functions.setdefault(f"at.{name}", call)


def apply(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a function of arrays, computed on their device."""
    return EAGER["applied"](function, args, kwargs)


def _operator(function: Callable[..., Any], is_reflected: bool = False) -> Any:
    def method(self: Array, other: Any) -> Any:
        if not hasattr(other, "dtype") and not isinstance(other, bool | int | float | complex):
            return NotImplemented
        return apply(function, other, self) if is_reflected else apply(function, self, other)

    return method


def _unary(self: Array, function: Callable[..., Any]) -> Any:
    return apply(function, self)


for _own in BINARY:
    if _own == "divmod":
        continue
    _name = f"{_own}_" if _own in ("and", "or") else _own
    setattr(Array, f"__{_own}__", _operator(getattr(operator, _name)))
    setattr(Array, f"__r{_own}__", _operator(getattr(operator, _name), is_reflected=True))
for _name in ("T", "mT", "real", "imag"):
    setattr(Array, _name, property(partial(apply, operator.attrgetter(_name))))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Array, f"__{_name}__", _operator(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Array, f"__{_name}__", partialmethod(_unary, getattr(operator, _name)))
