"""Functions that ask for dtypes and shapes, text forms, devices, and the array API's namespace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.row_major import product
from transpile.ir.types import BOOL, COMPLEX128, FLOAT64, INT64, SHORT_NAMES, broadcast_shapes
from transpile.numpy.core.creation import arange
from transpile.numpy.core.elementwise import where
from transpile.numpy.core.promotion import (
    EXPORTS,
    Array,
    as_array,
    common_shape,
    convert,
    device_argument,
    dispatching,
    implements,
    index_of,
    shape_of,
    stand_in,
    unsupported,
    weaken,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import all as all_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.shapes import shape_argument
from transpile.primitives.indexing import PROMISED, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, Tracer, add_method, add_property
from transpile.util.interrupt_safety import THREAD

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

# ------------------------------------------------------------------------- answered without values


def _of_shapes(function: Callable[..., Any], meaning: str) -> None:
    """Register a function that asks for shapes and dtypes only: NumPy's own, on ones."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return function(*stand_in(args), **stand_in(kwargs))

    answer.__doc__ = meaning
    FUNCTIONS[function] = answer
    EXPORTS[function.__name__] = dispatching(function, answer)


_of_shapes(
    np.einsum_path,
    "The order of contractions that NumPy would choose for `einsum`, known while tracing; here "
    "`einsum` has an order of its own.",
)


@implements(np.common_type)
def common_type(*arrays: Array) -> Any:
    """The inexact scalar type that holds all arrays, known while tracing."""
    return np.common_type(*(np.zeros((), as_array(a).dtype) for a in arrays))


class Broadcast:
    """The shape that arrays broadcast to, with the attributes of NumPy's `broadcast` object that
    ask for no element."""

    def __init__(self, *arrays: Array) -> None:
        self.shape = common_shape(*map(as_array, arrays))
        self.numiter = len(arrays)
        self.ndim = self.nd = len(self.shape)
        self.size = product(self.shape)


def _broadcast(*arrays: Array) -> Any:
    """The shape that arrays broadcast to, as NumPy's `broadcast` object of ones; with runtime sizes
    an object that has its `shape`, `size`, `ndim` and `numiter`."""
    if any(isinstance(d, Dim) for a in arrays for d in as_array(a).shape):
        return Broadcast(*arrays)
    return np.broadcast(*stand_in(arrays))


FUNCTIONS[np.broadcast] = _broadcast
EXPORTS["broadcast"] = dispatching(np.broadcast, _broadcast)


def _broadcast_shapes(*shapes: Any) -> Any:
    """The shape that these shapes broadcast to, which may have runtime sizes."""
    given = (shape_argument(shape) for shape in shapes)
    return broadcast_shapes(given, lambda text: located(ValueError, text))


EXPORTS["broadcast_shapes"] = dispatching(np.broadcast_shapes, _broadcast_shapes)


def _iterable(y: Array) -> bool:
    """Whether an array has an axis to iterate over, a Python bool."""
    return bool(shape_of(as_array(y)))


EXPORTS["iterable"] = dispatching(np.iterable, _iterable)


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a dtype can be cast to another under a rule, a Python bool; of a traced array its
    dtype decides.

    Raises TypeError for Python numbers, as NumPy does.
    """
    if isinstance(from_, Tracer) and from_.type.weak:
        raise located(
            TypeError,
            "can_cast() does not support Python ints, floats, and complex because the result used "
            "to depend on the value.\nThis change was part of adopting NEP 50, we may explicitly "
            "allow them again in the future.",
        )
    pair = [v.dtype if isinstance(v, Tracer) else v for v in (from_, to)]
    return np.can_cast(pair[0], pair[1], casting)  # type: ignore[arg-type]  # a str of NumPy's


@implements(np.min_scalar_type)
def min_scalar_type(a: Array, /) -> Any:
    """The dtype of an array, or for a scalar the smallest dtype that holds it; raises a TracerError
    for a traced scalar."""
    x = as_array(a)
    return x.dtype if x.ndim or not isinstance(x, Tracer) else np.min_scalar_type(x.item())


def _text(a: Array, *_: Any, **__: Any) -> str:
    """The shape and dtype of a traced array, as it has no values to print."""
    return repr(a)


implements(np.array_repr, np.array_str, np.array2string)(_text)


def _enumerated(a: Array) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The pairs of index and element of an array, in row-major order."""
    x = as_array(a)
    return ((index, x[index]) for index in np.ndindex(*x.shape))


broadcast = EXPORTS["broadcast"]
ndenumerate = EXPORTS["ndenumerate"] = dispatching(np.ndenumerate, _enumerated)


@implements(np.array_equiv)
def array_equiv(a1: Array, a2: Array) -> Any:
    """Whether two arrays are equal after broadcasting: a traced bool, or the Python False where
    they do not broadcast."""
    x, y = as_array(a1), as_array(a2)
    try:
        common_shape(x, y)
    except ValueError:
        return False
    return all_of(call(np.equal, x, y))


@implements(np.fill_diagonal)
def fill_diagonal(a: Array, val: Array, wrap: bool = False) -> None:
    """Assign a value, or values repeated cyclically, to the diagonal of an array in place; with
    `wrap` the diagonal starts again below in a tall matrix.

    Axes of runtime sizes must be equally long: raises UnsupportedError otherwise.
    """
    if any(isinstance(d, Dim) for d in shape_of(a)):
        _fill_runtime_diagonal(a, val)
        return
    shape = tuple(index_of(d) for d in shape_of(a))
    marks = np.zeros(shape, np.bool_)
    np.fill_diagonal(marks, True, wrap)
    value = convert(as_array(val).reshape(-1), a.dtype)
    if value.shape[0] > 1:
        turns = np.maximum(np.cumsum(marks) - 1, 0) % value.shape[0]
        value = bind(gather, value, turns, axes=(0,), mode=PROMISED).reshape(shape)
    a[...] = where(marks, value, a)


def _fill_runtime_diagonal(a: Array, val: Array) -> None:
    """Assign to the diagonal of an array whose axes have one runtime size."""
    size, *others = shape_of(a)
    if not others or any(d != size for d in others):
        raise unsupported("numpy.fill_diagonal of an array with axes of unequal runtime sizes")
    value, count = convert(as_array(val).reshape(-1), a.dtype), arange(size)
    turns = call(np.remainder, count, value.shape[0])
    a[(count,) * (len(others) + 1)] = bind(gather, value, turns, axes=(0,), mode=PROMISED)


# ------------------------------------------------------------------------------------ devices


def _to_device(x: Tracer, device: Any, /, *, stream: Any = None) -> Tracer:
    """The array itself, as there is one device; raises ValueError for another one than "cpu"."""
    if stream is not None:
        raise located(ValueError, "The stream argument in to_device() is not supported")
    if device != "cpu":
        raise located(ValueError, f"Unsupported device: {device}. Only 'cpu' is accepted.")
    return x


def _dlpack(x: Tracer, **kwargs: Any) -> Any:
    """The values as a DLPack capsule; only where values are known."""
    return x.__array__().__dlpack__(**kwargs)


def _from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """The array that offers the DLPack protocol as an array; a traced one is one already."""
    device_argument(device)
    return as_array(x)


EXPORTS["from_dlpack"] = dispatching(np.from_dlpack, _from_dlpack)


def _device(x: Tracer) -> str:
    """The device that holds the array: "cpu"."""
    return "cpu"


add_property("device", _device)
add_method("to_device", _to_device)
add_method("__dlpack__", _dlpack)
add_method("__dlpack_device__", lambda x: (1, 0))  # kDLCPU, the first

# -------------------------------------------------------------------------------------- values

_MOST_ITEMS = 1000  # so many traced numbers are a list


def _item(x: Tracer, *args: Any) -> Any:
    """The element as a Python number; a traced one in functions that are converted from source."""
    if THREAD.python is None:
        return x.known("float", "a Python scalar").item(*args)
    place = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if not place and product(x.shape) != 1:
        raise located(ValueError, "can only convert an array of size 1 to a Python scalar")
    flat = x.reshape(-1) if len(place) < 2 else x
    return _as_python_number(flat[place or 0])


def _tolist(x: Tracer) -> Any:
    """The elements as Python's lists; of traced numbers in functions that are converted from
    source, where there are at most 1000."""
    size = product(x.shape)
    if THREAD.python is None or isinstance(size, Dim) or size > _MOST_ITEMS:
        return x.known("float", "a Python list").tolist()
    return _as_python_number(x) if x.ndim == 0 else [_tolist(row) for row in x]


def _as_python_number(x: Tracer) -> Any:
    return weaken(convert(x, _WEAK[x.dtype.kind]))


_WEAK = {"b": BOOL, "i": INT64, "u": INT64, "f": FLOAT64, "c": COMPLEX128}
add_method("item", _item)
add_method("tolist", _tolist)

# ----------------------------------------------------------------------------------- namespace

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


_BEYOND = ("float16", "bfloat16")  # dtypes that the standard does not name


class NamespaceInfo:
    """What the array API's `__array_namespace_info__` gives: dtypes, devices and capabilities."""

    def capabilities(self) -> dict[str, Any]:
        """Whether masks index, and whether shapes may depend on values: not while tracing."""
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": 64,
        }

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def devices(self) -> Any:
        """All devices: a list or, as NumPy's from 2.5 on, a tuple."""
        return np.__array_namespace_info__().devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of Python numbers, and that of indices."""
        device_argument(device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The supported dtypes of the array API by name, those of some kinds where asked."""
        device_argument(device)
        named = {d.name: d for d in SHORT_NAMES if d.name not in _BEYOND}
        if kind is None:
            return named
        kinds = kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if k not in _KINDS]
        if unknown:
            raise ValueError(f"unsupported kind: {unknown[0]!r}")
        letters = "".join(_KINDS[k] for k in kinds)
        return {name: d for name, d in named.items() if d.kind in letters}


def _namespace(x: Tracer, /, *, api_version: str | None = None) -> Any:
    """`__array_namespace__`: this package."""
    if api_version is not None and api_version not in VERSIONS:
        raise located(
            ValueError,
            f'Version "{api_version}" of the Array API Standard is not supported.',
        )
    return sys.modules[__package__]


add_method("__array_namespace__", _namespace)
