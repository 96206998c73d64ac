"""Keys of random numbers: how they are made and derived, and arrays of them.

A key is 64 bits, in the literature two words. `KeyArray` is an array of keys with the dtype
`key<fry>`; it holds one number of 64 bits for each key, whose upper half is the first word. A raw
key, the older form, is an array of the two words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transpile.dtypes import KeyType
from transpile.ir.source_info import user_source
from transpile.ir.types import ShapeDtypeStruct
from transpile.numpy.core.promotion import EXPORTS, NumpyErrors, as_array, convert, has_tracer
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at as updates_of
from transpile.primitives.reference.threefry import UINT32, UINT64
from transpile.primitives.rules import broadcast
from transpile.pytree.extended_dtypes import moved, opened, register_extended
from transpile.random.arguments import canonical_shape
from transpile.random.bits import derived, split_keys
from transpile.trace.tracer import Tracer

KEY = KeyType()
IMPLEMENTATION = "threefry2x32"
_WORD = np.uint64(32)


class KeyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of keys, which is indexed, iterated over and reshaped like any array, but has no
    arithmetic.

    Made by `key`, `split`, `fold_in` and `wrap_key_data`.
    """

    __slots__ = ("_data",)
    __array_priority__ = 2000.0

    def __init__(self, data: Any) -> None:
        self._data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, () for a single key."""
        return tuple(self._data.shape)

    @property
    def dtype(self) -> KeyType:
        """`key<fry>`."""
        return KEY

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
        return KEY.itemsize

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

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[KeyArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d key array")
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> KeyArray:
        data = self._data
        parts = index if isinstance(index, tuple) else (index,)
        if isinstance(data, np.ndarray) and has_tracer(parts):
            data = broadcast(data, data.shape, range(data.ndim))
        return KeyArray(_whole(data[index]))

    def reshape(self, *shape: Any, order: str = "C") -> KeyArray:
        """The keys in another shape."""
        return KeyArray(self._data.reshape(*shape, order=order))

    def flatten(self, order: str = "C") -> KeyArray:
        """The keys as a vector, a copy."""
        return KeyArray(self._data.flatten(order))

    def ravel(self, order: str = "C") -> KeyArray:
        """The keys as a vector."""
        return KeyArray(self._data.ravel(order))

    def squeeze(self, axis: Any = None) -> KeyArray:
        """The keys without axes of size 1."""
        return KeyArray(_whole(self._data.squeeze(axis)))

    def swapaxes(self, axis1: int, axis2: int) -> KeyArray:
        """The keys with two axes exchanged."""
        return KeyArray(self._data.swapaxes(axis1, axis2))

    def transpose(self, *axes: Any) -> KeyArray:
        """The keys with the axes permuted, or reversed."""
        return KeyArray(self._data.transpose(*axes))

    def take(self, indices: Any, axis: Any = None, mode: str | None = None) -> KeyArray:
        """The keys at indices along an axis, or in the flattened array."""
        take = EXPORTS["take"]
        return KeyArray(_whole(take(self._data, indices, axis, mode=mode or "raise")))

    def copy(self) -> KeyArray:
        """A copy of the keys."""
        return KeyArray(self._data.copy())

    def block_until_ready(self) -> KeyArray:
        """The keys themselves, as calls are synchronous."""
        return self

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{user_source()}: an array of dtype {KEY} cannot be converted to a NumPy array. Use "
            "transpile.random.key_data(arr) if you wish to extract the underlying integer array."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        both = [x._data for x in inputs if isinstance(x, KeyArray)]
        if ufunc in (np.equal, np.not_equal) and method == "__call__" and len(both) == 2:
            return ufunc(*both, **kwargs)
        dtypes = ", ".join(str(getattr(x, "dtype", type(x).__name__)) for x in inputs)
        raise located(TypeError, f"{ufunc.__name__} does not accept dtypes {dtypes}.")

    def __array_function__(self, func: Any, _: Any, args: Any, kwargs: Any) -> Any:
        if func in _QUESTIONS:
            return func(*opened(args), **opened(kwargs))
        if func not in _MOVES:
            raise located(TypeError, f"{func.__name__} does not accept dtype {KEY}.")
        return moved(EXPORTS.get(func.__name__, func), args, kwargs)

    def __repr__(self) -> str:
        if isinstance(self._data, np.ndarray):
            return f"Array({self.shape}, dtype={KEY}) overlaying:\n{words(self._data)}"
        if isinstance(self._data, Tracer):
            return f"Traced<{KEY}[{','.join(map(str, self.shape))}]>"
        return f"{type(self._data).__name__}(shape={self.shape}, dtype={KEY})"

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyArray, (self._data,)


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


def _whole(data: Any) -> Any:
    """NumPy's scalars as arrays."""
    return np.asarray(data) if isinstance(data, np.generic) else data


def _holding(data: Any) -> Any:
    """What a pytree has in place of keys: the keys themselves; what holds no keys stays as it
    is."""
    is_array = isinstance(data, np.ndarray | np.generic)
    if (is_array and data.dtype != UINT64) or not hasattr(data, "shape"):
        return data
    return KeyArray(_whole(data))


register_extended(KeyArray, lambda keys: keys._data, _holding)
# A `ShapeDtypeStruct` of the dtype of keys.


def _abstract(_: KeyType, shape: tuple[int, ...]) -> KeyArray:
    """Keys of a shape without values, as a ShapeDtypeStruct with this dtype has them."""
    return KeyArray(ShapeDtypeStruct(shape, UINT64))


KeyType.abstract = _abstract


class _KeyUpdates:
    """`keys.at`, and with an index the elements to read or to replace."""

    def __init__(self, keys: KeyArray, index: Any = ...) -> None:
        self._keys = keys
        self._index = index

    def __getitem__(self, index: Any) -> _KeyUpdates:
        return _KeyUpdates(self._keys, index)

    def get(self, **kwargs: Any) -> KeyArray:
        """The keys at the index."""
        return KeyArray(_whole(updates_of(self._keys._data)[self._index].get(**kwargs)))

    def set(self, values: KeyArray, **kwargs: Any) -> KeyArray:
        """A copy of the keys with others at the index."""
        updated = updates_of(self._keys._data)[self._index].set(values._data, **kwargs)
        return KeyArray(_whole(updated))


# ----------------------------------------------------------------------------------- bits of keys


def words(data: Any) -> Any:
    """The two words of keys, along a new last axis, from their bits."""
    return np.stack([convert(data >> _WORD, UINT32), convert(data, UINT32)], axis=-1)


def from_words(raw: Any) -> Any:
    """The bits of keys from their words, which are the last axis."""
    wide = convert(raw, UINT64)
    return _whole(wide[..., 0] << _WORD | wide[..., 1])


def _check_words(raw: Any) -> None:
    problem = f"{user_source()}: transpile encountered invalid PRNG key data: expected"
    if not all(hasattr(raw, name) for name in ("ndim", "shape", "dtype")):
        raise TypeError(f"{problem} key_data to have ndim, shape, and dtype attributes. Got {raw}")
    if raw.ndim < 1:
        raise TypeError(f"{problem} key_data.ndim >= 1; got ndim={raw.ndim}")
    if raw.shape[-1] != 2:
        raise TypeError(
            f"{problem} key_data.shape to end with (2,); got shape={raw.shape} for "
            f"impl={IMPLEMENTATION!r}"
        )
    if raw.dtype != UINT32:
        raise TypeError(f"{problem} key_data.dtype = uint32; got dtype={raw.dtype}")


def key_bits(name: str, key: Any, batched: bool = False) -> tuple[Any, bool]:
    """The bits of the key that a function was given, and whether it is a raw one.

    Raises TypeError for what is no key, ValueError for several where the function takes one.
    """
    if isinstance(key, KeyArray):
        data, is_raw = key._data, False
    elif isinstance(key, list | tuple | dict | set) or key is None or callable(key):
        raise located(TypeError, f"unexpected PRNG key type {type(key)}")
    else:
        _check_words(key)
        data, is_raw = from_words(key), True
    if data.shape and not batched:
        raise located(
            ValueError,
            f"{name} accepts a single key, but was given a key array of shape {np.shape(key)} != "
            "(). Use jax.vmap for batching.",
        )
    return data, is_raw


def as_given(data: Any, is_raw: bool) -> Any:
    """Keys in the form in which the function got them: raw, or with the dtype of keys."""
    return words(data) if is_raw else KeyArray(_whole(data))


# ------------------------------------------------------------------------------- public functions


def _implementation(name: str, impl: Any, dtype: Any) -> None:
    """Refuse all generators but Threefry, in JAX's words."""
    if dtype is not None and impl is not None:
        raise located(
            ValueError,
            f"Cannot specify both `impl` and `dtype` arguments to transpile.random.{name}",
        )
    chosen = impl if dtype is None else dtype
    if chosen is None or isinstance(chosen, KeyType) or chosen == IMPLEMENTATION:
        return
    if isinstance(chosen, str):
        raise located(
            ValueError,
            f'unrecognized PRNG implementation "{chosen}". Did you mean one of: '
            f'"{IMPLEMENTATION}"?',
        )
    raise located(
        TypeError, f"unrecognized type {type(chosen)} for specifying PRNG implementation."
    )


def _from_seed(name: str, seed: Any) -> Any:
    """The bits of the key of a seed: those of the integer, zero-extended if it is short."""
    if isinstance(seed, KeyArray):
        raise located(TypeError, f"{name} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed):
        raise located(
            TypeError,
            f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != "
            "(). Use jax.vmap for batching",
        )
    if isinstance(seed, int) and not -(2**63) <= seed < 2**63:
        raise located(OverflowError, "Python int too large to convert to C long")
    value = seed if isinstance(seed, Tracer) else np.asarray(seed)
    if value.dtype.kind not in "biu":
        raise located(TypeError, f"PRNG key seed must be an integer; got {seed!r}")
    is_short = value.dtype.itemsize < 8
    return _whole(convert(convert(value, UINT32) if is_short else value, UINT64))


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> KeyArray:
    """A key from an integer seed of up to 64 bits, for Threefry-2x32 with 20 rounds (J. Salmon et
    al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011).

    The seed may be traced. Raises TypeError for what is no scalar integer, OverflowError for a
    longer one, and ValueError for another generator than "threefry2x32".
    """
    _implementation("key", impl, dtype)
    return KeyArray(_from_seed("key", seed))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A raw key, the older form of `key`: uint32[2], the upper and the lower half of its 64
    bits."""
    _implementation("PRNGKey", impl, None)
    return words(_from_seed("PRNGKey", seed))


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> KeyArray:
    """Keys from their words, uint32[..., 2]; raises TypeError for another shape or dtype."""
    _implementation("wrap_key_data", impl, dtype)
    _check_words(key_bits_array)
    return KeyArray(from_words(key_bits_array))


def key_data(keys: Any) -> Any:
    """The words of keys, uint32[..., 2]."""
    return words(key_bits("key_data", keys, batched=True)[0])


def key_impl(keys: Any) -> str:
    """The name of the generator of keys: always "threefry2x32"."""
    key_bits("key_impl", keys, batched=True)
    return IMPLEMENTATION


def key_dtype(impl_spec: Any = None) -> KeyType:
    """The dtype of keys, `key<fry>`; raises ValueError for another generator."""
    _implementation("key_dtype", impl_spec, None)
    return KEY


def clone(key: Any) -> Any:
    """A copy of a key, which JAX's check of reuse takes for a new one; that check does not exist
    here."""
    return key.copy() if isinstance(key, KeyArray) else as_array(key)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys derived from one: two, as many as `num` says, or an array of that shape.

    The n-th one is Threefry's of the key and n, as JAX has it with `jax_threefry_partitionable`.
    Raises ValueError for an array of keys: use `vmap`.
    """
    data, is_raw = key_bits("split", key)
    shape = tuple(num) if isinstance(num, Sequence) and not isinstance(num, str) else (num,)
    return as_given(split_keys(data, canonical_shape(shape)), is_raw)


def fold_in(key: Any, data: Any) -> Any:
    """A new key derived from a key and an integer of 32 bits, by Threefry of both.

    Arrays of wider integers are truncated. Raises OverflowError for a longer Python integer,
    TypeError for an array of integers, and ValueError for an array of keys: use `vmap`.
    """
    parent, is_raw = key_bits("fold_in", key)
    if np.ndim(data):
        raise located(
            TypeError,
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
            "Use jax.vmap for batching.",
        )
    with NumpyErrors():
        number = convert(data if isinstance(data, int | Tracer) else np.asarray(data), UINT32)
    return as_given(derived(parent, convert(number, UINT64)), is_raw)
