"""Dtypes and array types."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim
from transpile.ir.types import ArrayType, broadcast_shapes, check_dtype, type_of

N = Dim.symbol("n", 1)  # a runtime size


def test_types_read_like_jax_s():
    assert str(ArrayType((3, N), np.dtype("f4"))) == "f32[3,n]"
    assert str(ArrayType((), np.dtype("?"))) == "bool[]"


def test_python_numbers_are_weak():
    assert [type_of(x).weak for x in (1, 1.0, True, 1j, np.float64(1))] == [1, 1, 1, 1, 0]


def test_a_dtype_without_a_c_type_is_refused_with_advice():
    with pytest.raises(UnsupportedError, match=r"float\d+.*astype"):
        check_dtype(np.longdouble)
    assert check_dtype(">f8") == np.dtype("f8")
    assert check_dtype(np.longlong) == np.dtype("i8")


@given(st.lists(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=3).map(tuple), max_size=3))
def test_shapes_broadcast_as_in_numpy(shapes):
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="could not be broadcast together"):
            broadcast_shapes(shapes)
    else:
        assert broadcast_shapes(shapes) == expected


def test_runtime_sizes_broadcast_with_themselves_and_with_one():
    assert broadcast_shapes([(N, 1), (3,)]) == (N, 3)
    with pytest.raises(ValueError, match=r"\(n,\) \(3,\)"):
        broadcast_shapes([(N,), (3,)])
