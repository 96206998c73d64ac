"""Keys of random numbers: how they are made, and derived from each other.

A key has the dtype `key<fry>`, or that of another generator (`key_arrays.py`). A raw key, the older
form, is an array of its words, and one of the default generator, which is Threefry unless
`config.update("jax_default_prng_impl", ...)` says another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.dispatch.switches import default_generator
from transpile.dtypes import KeyType
from transpile.ir.source_info import user_source
from transpile.numpy.core.promotion import NumpyErrors, as_array, convert
from transpile.numpy.core.promotion import error as located
from transpile.primitives.reference.threefry import UINT32, UINT64
from transpile.random.arguments import canonical_shape
from transpile.random.evaluation import sampled
from transpile.random.generators import others, threefry
from transpile.random.key_arrays import KeyArray, from_words, whole, words
from transpile.trace.tracer import Tracer

KEY = KeyArray(np.zeros((), UINT64)).dtype
KINDS = {KEY.implementation: KEY} | {k: g.kind for k, g in others.GENERATORS.items()}


def _default_kind() -> KeyType:
    return KINDS[default_generator()]


def _check_words(raw: Any, kind: KeyType) -> None:
    problem = f"{user_source()}: transpile encountered invalid PRNG key data: expected"
    if not all(hasattr(raw, name) for name in ("ndim", "shape", "dtype")):
        raise TypeError(f"{problem} key_data to have ndim, shape, and dtype attributes. Got {raw}")
    if raw.ndim < 1:
        raise TypeError(f"{problem} key_data.ndim >= 1; got ndim={raw.ndim}")
    if raw.shape[-1] != kind.words:
        raise TypeError(
            f"{problem} key_data.shape to end with ({kind.words},); got shape={raw.shape} for "
            f"impl={kind.implementation!r}"
        )
    if raw.dtype != UINT32:
        raise TypeError(f"{problem} key_data.dtype = uint32; got dtype={raw.dtype}")


def key_bits(name: str, key: Any, batched: bool = False) -> tuple[Any, bool]:
    """The key that a function was given, as samplers take it, and whether it is a raw one: the bits
    of one of Threefry, a KeyArray of another generator's.

    Raises TypeError for what is no key, ValueError for several where the function takes one.
    """
    if isinstance(key, KeyArray):
        data, is_raw = key.parts[0] if type(key) is KeyArray else key, False
    elif isinstance(key, list | tuple | dict | set) or key is None or callable(key):
        raise located(TypeError, f"unexpected PRNG key type {type(key)}")
    else:
        kind = _default_kind()
        _check_words(key, kind)
        keys = from_words(kind, key)
        data, is_raw = keys.parts[0] if kind == KEY else keys, True
    if data.shape and not batched:
        raise located(
            ValueError,
            f"{name} accepts a single key, but was given a key array of shape {np.shape(key)} != "
            "(). Use jax.vmap for batching.",
        )
    return data, is_raw


def as_given(data: Any, is_raw: bool) -> Any:
    """Keys in the form in which the function got them: raw, or with the dtype of keys."""
    keys = data if isinstance(data, KeyArray) else KeyArray(whole(data))
    return words(keys) if is_raw else keys


# ------------------------------------------------------------------------------- public functions


def _kind(name: str, impl: Any, dtype: Any = None) -> KeyType:
    """The dtype of the keys of a generator that is asked for; errors in JAX's words."""
    if dtype is not None and impl is not None:
        raise located(
            ValueError,
            f"Cannot specify both `impl` and `dtype` arguments to transpile.random.{name}",
        )
    chosen = impl if dtype is None else dtype
    if chosen is None:
        return _default_kind()
    if isinstance(chosen, KeyType):
        return chosen
    if not isinstance(chosen, str):
        raise located(
            TypeError, f"unrecognized type {type(chosen)} for specifying PRNG implementation."
        )
    if chosen not in KINDS:
        known = ", ".join(f'"{name}"' for name in KINDS)
        raise located(
            ValueError,
            f'unrecognized PRNG implementation "{chosen}". Did you mean one of: {known}?',
        )
    return KINDS[chosen]


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
    return whole(convert(convert(value, UINT32) if is_short else value, UINT64))


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> KeyArray:
    """A key from an integer seed of up to 64 bits, for Threefry-2x32 with 20 rounds (J. Salmon et
    al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011), or `jax_default_prng_impl`.

    impl    another generator: "rbg", "unsafe_rbg", "philox2x32", "philox4x32" or "threefry4x32"
    dtype   the dtype of its keys, instead of `impl`

    The seed may be traced. Raises TypeError for what is no scalar integer, OverflowError for a
    longer one, and ValueError for another generator.
    """
    return _seeded("key", seed, _kind("key", impl, dtype))


def _seeded(name: str, seed: Any, kind: KeyType) -> KeyArray:
    bits = _from_seed(name, seed)
    if kind == KEY:
        return KeyArray(bits)
    made: KeyArray = sampled(others.seeded, bits, name=kind.implementation)
    return made


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A raw key, the older form of `key`: its words, uint32[2] for Threefry.

    Functions take raw keys of the default generator alone; `wrap_key_data` makes keys of others'.
    """
    return words(_seeded("PRNGKey", seed, _kind("PRNGKey", impl)))


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> KeyArray:
    """Keys from their words, uint32[..., n] with n = 2 for Threefry; raises TypeError for another
    shape or dtype."""
    kind = _kind("wrap_key_data", impl, dtype)
    _check_words(key_bits_array, kind)
    return from_words(kind, key_bits_array)


def key_data(keys: Any) -> Any:
    """The words of keys, uint32[..., n] with n = 2 for Threefry."""
    data, _ = key_bits("key_data", keys, batched=True)
    return words(data if isinstance(data, KeyArray) else KeyArray(whole(data)))


def key_impl(keys: Any) -> str:
    """The name of the generator of keys."""
    data, _ = key_bits("key_impl", keys, batched=True)
    return data.dtype.implementation if isinstance(data, KeyArray) else KEY.implementation


def key_dtype(impl_spec: Any = None) -> KeyType:
    """The dtype of the keys of a generator, or of the default one; raises ValueError for an
    unknown one."""
    return _kind("key_dtype", impl_spec)


def clone(key: Any) -> Any:
    """A copy of a key, which JAX's check of reuse takes for a new one; that check does not exist
    here."""
    return key.copy() if isinstance(key, KeyArray) else as_array(key)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys derived from one: two, as many as `num` says, or an array of that shape.

    The n-th one is Threefry's of the key and n, as JAX has it with `jax_threefry_partitionable`;
    other generators derive keys as JAX's do.
    Raises ValueError for an array of keys: use `vmap`.
    """
    data, is_raw = key_bits("split", key)
    shape = tuple(num) if isinstance(num, Sequence) and not isinstance(num, str) else (num,)
    sizes = canonical_shape(shape)
    if isinstance(data, KeyArray):
        return as_given(sampled(others.split_keys, data, shape=sizes), is_raw)
    return as_given(threefry.split_keys(data, sizes), is_raw)


def fold_in(key: Any, data: Any) -> Any:
    """A new key derived from a key and an integer of 32 bits, by the generator of the key.

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
    number = convert(number, UINT64)
    if isinstance(parent, KeyArray):
        return as_given(sampled(others.folded, parent, whole(number)), is_raw)
    return as_given(threefry.derived(parent, number), is_raw)
