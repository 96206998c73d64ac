"""Singular vectors where the call tells whether a matrix is wide: by its triangle."""

import numpy as np
import pytest
from thorough import each

import transpile
from transpile import ShapeDtypeStruct, lax

SHAPES = {"(n, 4)": ("n", 4), "(4, n)": (4, "n"), "(n, m)": ("n", "m")}


def matrices(dtype):
    """Of each kind: tall, square and wide ones, also of a low rank, and zeros."""
    random = np.random.default_rng(0)
    for m, n in [(1, 4), (2, 4), (4, 4), (7, 4), (4, 1), (4, 7), (3, 2)]:
        x = random.normal(size=(m, n)).astype(dtype)
        x = x + (1j * random.normal(size=(m, n))).astype(dtype) if x.dtype.kind == "c" else x
        yield from (x, np.outer(x[:, 0], x[0]), x * 0)


def assert_decomposes(x, u, s, vh, full):
    expected = np.linalg.svd(x, full)
    assert [a.shape for a in (u, s, vh)] == [a.shape for a in expected]
    near = {"atol": 200 * np.finfo(x.dtype).eps}
    k = len(s)
    np.testing.assert_allclose(s, expected[1], **near)
    np.testing.assert_allclose((u[:, :k] * s) @ vh[:k], x, **near)
    np.testing.assert_allclose(u.conj().T @ u, np.eye(u.shape[1]), **near)
    np.testing.assert_allclose(vh @ vh.conj().T, np.eye(len(vh)), **near)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", SHAPES)
@each("dtype", ["f8", "f4", "c16"], ordinary=["f8"])
def test_parts_are_those_of_the_matrix(name, full, dtype):
    struct = ShapeDtypeStruct(SHAPES[name], np.dtype(dtype))
    compiled = transpile.jit(lambda x: np.linalg.svd(x, full)).lower(struct).compile()
    for x in matrices(dtype):
        if all(
            d == size or isinstance(d, str) for d, size in zip(struct.shape, x.shape, strict=True)
        ):
            assert_decomposes(x, *compiled(x), full)


def test_there_may_be_no_rows():
    (n,) = transpile.dims("n", "n >= 0")
    compiled = transpile.jit(np.linalg.svd).lower(ShapeDtypeStruct((n, 3), float)).compile()
    for count in (0, 1, 3, 5):
        x = np.random.default_rng(count).normal(size=(count, 3))
        assert_decomposes(x, *compiled(x), True)


def largest(svd, x):
    u, s, vh = svd(x)
    return (abs(u[:, :1]) @ abs(vh[:1])).sum() + s[0] ** 2


@pytest.mark.parametrize(
    "svd",
    [
        lambda x: np.linalg.svd(x, full_matrices=False),
        lambda x: lax.linalg.svd(x, full_matrices=False),
    ],
    ids=["numpy", "lax"],
)
def test_derivatives_are_those_of_known_sizes(svd):
    slope = transpile.grad(lambda x: largest(svd, x))
    compiled = transpile.jit(slope).lower(ShapeDtypeStruct(("n", 4), float)).compile()
    for count in (2, 4, 6):
        x = np.random.default_rng(count).normal(size=(count, 4))
        np.testing.assert_allclose(compiled(x), slope(x), atol=1e-11)
