"""ravel_pytree: trees as vectors and back, with and without several dtypes, in transformations."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import arrays, ordinary
from hypothesis import given
from hypothesis import strategies as st

import transpile as tp
from transpile import tree
from transpile.flatten_util import ravel_pytree

TREE = {"a": np.arange(3.0), "b": (np.ones((2, 2), np.float32), 3)}


def test_a_tree_becomes_a_vector_and_a_tree_again():
    flat, unravel = ravel_pytree(TREE)
    assert flat.dtype == np.float64 and flat.tolist() == [0, 1, 2, 1, 1, 1, 1, 3]
    back = unravel(flat * 2)
    assert tree.structure(back) == tree.structure(TREE)
    assert [x.dtype for x in tree.leaves(back)] == ["float64", "float32", "int64"]
    np.testing.assert_array_equal(back["b"][0], np.full((2, 2), 2))
    assert back["b"][1] == 6


@given(st.lists(arrays(make=ordinary), max_size=3))
def test_every_tree_comes_back(leaves):
    flat, unravel = ravel_pytree(leaves)
    assert flat.shape == (sum(x.size for x in leaves),)
    with np.errstate(all="ignore"):
        assert flat.dtype == (np.result_type(*leaves) if leaves else np.float64)
    for found, want in zip(unravel(flat), leaves, strict=True):
        np.testing.assert_array_equal(found, want, strict=True)


def test_leaves_of_one_dtype_take_that_of_the_vector():
    flat, unravel = ravel_pytree([np.arange(3, dtype=np.int32)])
    assert unravel(flat)[0].dtype == np.int32
    assert unravel(flat + 0.5)[0].dtype == np.float64


def test_vectors_that_do_not_fit():
    flat, unravel = ravel_pytree(TREE)
    with pytest.raises(ValueError, match=r"of shape \(3,\), but expected shape \(8,\)"):
        unravel(flat[:3])
    with pytest.raises(TypeError, match="of dtype float32, but expected dtype float64"):
        unravel(flat.astype(np.float32))


def test_unravel_is_hashable_and_equal_for_equal_types():
    _, first = ravel_pytree(TREE)
    _, second = ravel_pytree(tree.map(lambda x: x + 1, TREE))
    assert first == second and hash(first) == hash(second)
    assert first != ravel_pytree({"a": np.arange(3.0)})[1]


def test_inside_transformations():
    params = {"w": np.arange(6.0).reshape(2, 3), "b": np.ones(2)}
    flat, unravel = ravel_pytree(params)

    def loss(flat):
        p = unravel(flat)
        return ((p["w"] @ np.arange(3.0) + p["b"]) ** 2).sum()

    tp.test_util.check_grads(loss, (flat,), 2)
    np.testing.assert_allclose(tp.jit(tp.grad(loss))(flat), tp.grad(loss)(flat))
    doubled = tp.jit(lambda p: ravel_pytree(p)[1](2 * ravel_pytree(p)[0]))(params)
    np.testing.assert_array_equal(doubled["w"], 2 * params["w"])
    stacked = tp.vmap(lambda p: ravel_pytree(p)[0])(tree.map(lambda x: np.stack([x, x]), params))
    np.testing.assert_array_equal(stacked, [flat, flat])
