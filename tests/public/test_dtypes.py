"""jax.dtypes: questions about dtypes, those of keys among them."""

import itertools

import numpy as np
import pytest

from transpile import dtypes, random
from transpile import numpy as jnp
from transpile.ir.types import DTYPES

KINDS = (
    np.generic,
    np.number,
    np.integer,
    np.signedinteger,
    np.unsignedinteger,
    np.inexact,
    np.floating,
    np.complexfloating,
    np.bool_,
    np.float32,
    np.int64,
)
KEY = random.key_dtype()


@pytest.mark.parametrize("form", [lambda d: d, lambda d: d.type, lambda d: d.name])
def test_numpys_dtypes_are_of_numpys_kinds(form):
    for dtype, kind in itertools.product((d for d in DTYPES if d.kind != "V"), KINDS):
        assert dtypes.issubdtype(form(dtype), kind) == np.issubdtype(form(dtype), kind)
    for kind, other in itertools.product(KINDS, KINDS):
        assert dtypes.issubdtype(kind, other) == np.issubdtype(kind, other)
    assert dtypes.issubdtype(float, "float64")
    assert not dtypes.issubdtype("float32", float)
    assert jnp.issubdtype is dtypes.issubdtype


def test_bfloat16_is_floating():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert dtypes.bfloat16 is bfloat16
    for kind in (np.floating, np.inexact, np.number, bfloat16):
        assert dtypes.issubdtype(bfloat16, kind)
    for kind in (np.integer, np.complexfloating, np.float16):
        assert not dtypes.issubdtype(bfloat16, kind)
    assert dtypes.scalar_type_of(np.zeros(2, bfloat16)) is float


def test_extended_dtypes_are_a_kind_of_their_own():
    for kind in (dtypes.prng_key, dtypes.extended, np.generic):
        assert dtypes.issubdtype(KEY, kind)
    for kind in (np.number, np.integer, np.uint64):
        assert not dtypes.issubdtype(KEY, kind)
        assert not dtypes.issubdtype(kind, dtypes.extended)
    assert not dtypes.issubdtype(np.float32, dtypes.prng_key)
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) == KEY
    with pytest.raises(ValueError, match="called on extended dtype key<fry>"):
        dtypes.canonicalize_dtype(KEY)


def test_sizes_and_scalar_types():
    assert dtypes.itemsize_bits(np.float32) == 32
    assert dtypes.itemsize_bits(KEY) == 64
    assert dtypes.canonicalize_dtype("float64") == np.float64
    assert dtypes.result_type(np.float32(1), 2.0) == np.float32
    for value, kind in [(True, bool), (1, int), (np.uint8(1), int), (1.5, float), (1j, complex)]:
        assert dtypes.scalar_type_of(value) is kind
    assert issubclass(dtypes.TypePromotionError, ValueError)
    assert dtypes.float0.itemsize == 0
    assert dtypes.finfo("float32").nmant == 23
    assert dtypes.iinfo("int8").max == 127
