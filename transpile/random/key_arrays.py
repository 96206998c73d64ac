"""Arrays of keys of random numbers, which are moved like any array and have no arithmetic.

A key of Threefry-2x32 is 64 bits, in the literature two words. A `KeyArray` holds one number of 64
bits for each key, whose upper half is the first word. Keys of other generators have classes of
their own; those of four words are held as two arrays of such numbers, one for each half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from transpile.dtypes import KeyType
from transpile.ir.source_info import user_source
from transpile.ir.types import ShapeDtypeStruct
from transpile.numpy.core.promotion import EXPORTS, convert, has_tracer
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at as updates_of
from transpile.primitives.reference.threefry import UINT32, UINT64
from transpile.primitives.rules import broadcast
from transpile.pytree.extended_dtypes import moved, opened, register_extended
from transpile.trace.tracer import Tracer

_WORD = np.uint64(32)


class KeyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of keys, which is indexed, iterated over and reshaped like any array, but has no
    arithmetic.

    Made by `key`, `split`, `fold_in` and `wrap_key_data`.
    """

    __slots__ = ("parts",)
    __array_priority__ = 2000.0
    _DTYPE: ClassVar[KeyType] = KeyType("threefry2x32", "fry", 2)

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, () for a single key."""
        return tuple(self.parts[0].shape)

    @property
    def dtype(self) -> KeyType:
        """`key<fry>`, or that of another generator."""
        return self._DTYPE

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        """The bytes of a key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all keys."""
        return self.size * self.itemsize

    @property
    def T(self) -> KeyArray:
        """The keys with the axes in reverse order."""
        return self.transpose()

    @property
    def at(self) -> _KeyUpdates:
        """The functional updates of the array: `keys.at[index].set(key)` is an updated copy."""
        return _KeyUpdates(self)

    def each(self, function: Callable[[Any], Any]) -> KeyArray:
        """The keys whose parts a function makes of those of these, which moves elements."""
        return type(self)(*[whole(function(part)) for part in self.parts])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[KeyArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d key array")
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> KeyArray:
        is_traced = has_tracer(index if isinstance(index, tuple) else (index,))

        def at(data: Any) -> Any:
            if is_traced and isinstance(data, np.ndarray):
                data = broadcast(data, data.shape, range(data.ndim))
            return data[index]

        return self.each(at)

    def reshape(self, *shape: Any, order: str = "C") -> KeyArray:
        """The keys in another shape."""
        return self.each(lambda data: data.reshape(*shape, order=order))

    def flatten(self, order: str = "C") -> KeyArray:
        """The keys as a vector, a copy."""
        return self.each(lambda data: data.flatten(order))

    def ravel(self, order: str = "C") -> KeyArray:
        """The keys as a vector."""
        return self.each(lambda data: data.ravel(order))

    def squeeze(self, axis: Any = None) -> KeyArray:
        """The keys without axes of size 1."""
        return self.each(lambda data: data.squeeze(axis))

    def swapaxes(self, axis1: int, axis2: int) -> KeyArray:
        """The keys with two axes exchanged."""
        return self.each(lambda data: data.swapaxes(axis1, axis2))

    def transpose(self, *axes: Any) -> KeyArray:
        """The keys with the axes permuted, or reversed."""
        return self.each(lambda data: data.transpose(*axes))

    def take(self, indices: Any, axis: Any = None, mode: str | None = None) -> KeyArray:
        """The keys at indices along an axis, or in the flattened array."""
        take = EXPORTS["take"]
        return self.each(lambda data: take(data, indices, axis, mode=mode or "raise"))

    def copy(self) -> KeyArray:
        """A copy of the keys."""
        return self.each(lambda data: data.copy())

    def block_until_ready(self) -> KeyArray:
        """The keys themselves, as calls are synchronous."""
        return self

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{user_source()}: an array of dtype {self.dtype} cannot be converted to a NumPy "
            "array. Use transpile.random.key_data(arr) if you wish to extract the underlying "
            "integer array."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        both = [x for x in inputs if type(x) is type(self)]
        if ufunc in (np.equal, np.not_equal) and method == "__call__" and len(both) == 2:
            pairs = zip(both[0].parts, both[1].parts, strict=True)
            first, *further = [ufunc(a, b, **kwargs) for a, b in pairs]
            combine = np.logical_and if ufunc is np.equal else np.logical_or
            for other in further:
                first = combine(first, other)
            return first
        dtypes = ", ".join(str(getattr(x, "dtype", type(x).__name__)) for x in inputs)
        raise located(TypeError, f"{ufunc.__name__} does not accept dtypes {dtypes}.")

    def __array_function__(self, func: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if func in _QUESTIONS:
            answers = [func(*opened(args, k), **opened(kwargs, k)) for k in range(len(self.parts))]
            return all(answers) if func is np.array_equal else answers[0]
        if func not in _MOVES:
            raise located(TypeError, f"{func.__name__} does not accept dtype {self.dtype}.")
        return moved(EXPORTS.get(func.__name__, func), args, kwargs)

    def __repr__(self) -> str:
        data = self.parts[0]
        if isinstance(data, np.ndarray):
            return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{words(self)}"
        if isinstance(data, Tracer):
            return f"Traced<{self.dtype}[{','.join(map(str, self.shape))}]>"
        return f"{type(data).__name__}(shape={self.shape}, dtype={self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return keys_of, (self.dtype, self.parts)


# Functions of arrays that ask no more of elements than that they can be moved, and those that look
# at no elements.
_MOVING = """
    array_split append atleast_1d atleast_2d atleast_3d block broadcast_arrays broadcast_to
    column_stack concatenate copy delete diagonal dsplit dstack empty_like expand_dims flip fliplr
    flipud full_like hsplit hstack insert moveaxis permute_dims ravel repeat reshape resize roll
    rollaxis rot90 split squeeze stack swapaxes take take_along_axis tile transpose tril triu
    unstack vsplit vstack where zeros_like
"""
_MOVES = {getattr(np, name) for name in _MOVING.split() if hasattr(np, name)}
_QUESTIONS = {np.shape, np.ndim, np.size, np.array_equal}


def whole(data: Any) -> Any:
    """NumPy's scalars as arrays."""
    return np.asarray(data) if isinstance(data, np.generic) else data


class _KeyUpdates:
    """`keys.at`, and with an index the elements to read or to replace."""

    def __init__(self, keys: KeyArray, index: Any = ...) -> None:
        self._keys = keys
        self._index = index

    def __getitem__(self, index: Any) -> _KeyUpdates:
        return _KeyUpdates(self._keys, index)

    def get(self, **kwargs: Any) -> KeyArray:
        """The keys at the index."""
        return self._keys.each(lambda data: updates_of(data)[self._index].get(**kwargs))

    def set(self, values: KeyArray, **kwargs: Any) -> KeyArray:
        """A copy of the keys with others, of the same generator, at the index."""
        if type(values) is not type(self._keys):
            kind = getattr(values, "dtype", type(values).__name__)
            raise located(TypeError, f"scatter got incompatible dtypes {self._keys.dtype}, {kind}.")
        pairs = zip(self._keys.parts, values.parts, strict=True)
        updated = [updates_of(old)[self._index].set(new, **kwargs) for old, new in pairs]
        return type(self._keys)(*map(whole, updated))


# ---------------------------------------------------------------------- the classes, words of keys

CLASSES: dict[str, type[KeyArray]] = {}  # by the name of the generator


def _register(cls: type[KeyArray], kind: KeyType) -> None:
    def holding(*parts: Any) -> Any:
        """What a pytree has in place of keys: the keys themselves; what holds no keys stays."""
        data = parts[0]
        is_array = isinstance(data, np.ndarray | np.generic)
        if (is_array and data.dtype != UINT64) or not hasattr(data, "shape"):
            return data
        return cls(*map(whole, parts))

    CLASSES[kind.implementation] = cls
    register_extended(cls, lambda keys: keys.parts, holding)


_register(KeyArray, KeyArray._DTYPE)


def class_of(kind: KeyType) -> type[KeyArray]:
    """The class of the arrays of a dtype of keys, made where it is first asked for."""
    if kind.implementation not in CLASSES:
        members: dict[str, Any] = {"__slots__": (), "_DTYPE": kind}
        name = f"KeyArray_{kind.implementation}"  # by which messages about structures tell them
        _register(type(name, (KeyArray,), members), kind)
    return CLASSES[kind.implementation]


def keys_of(kind: KeyType, parts: Any) -> KeyArray:
    """The keys of a dtype with these parts."""
    return class_of(kind)(*map(whole, parts))


def _abstract(kind: KeyType, shape: tuple[int, ...]) -> KeyArray:
    """Keys of a shape without values, as a ShapeDtypeStruct with this dtype has them."""
    return keys_of(kind, [ShapeDtypeStruct(shape, UINT64)] * -(-kind.words // 2))


KeyType.abstract = _abstract


def words(keys: KeyArray) -> Any:
    """The words of keys, uint32 along a new last axis."""
    found = [w for part in keys.parts for w in (part >> _WORD, part)]
    return np.stack([convert(w, UINT32) for w in found[-keys.dtype.words :]], axis=-1)


def from_words(kind: KeyType, raw: Any) -> KeyArray:
    """Keys from their words, which are the last axis."""
    wide = convert(raw, UINT64)
    if kind.words == 1:
        return keys_of(kind, [wide[..., 0]])
    pairs = range(0, kind.words, 2)
    return keys_of(kind, [wide[..., k] << _WORD | wide[..., k + 1] for k in pairs])
