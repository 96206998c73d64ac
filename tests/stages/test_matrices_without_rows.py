"""Decompositions of matrices whose size may be 0: NumPy's results, and no message of LAPACK's."""

import numpy as np
import pytest
import scipy.linalg
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct


def solved(a, x, b):
    positive = a @ a.T + np.eye(len(a))
    return (
        np.linalg.solve(positive, b),
        np.linalg.inv(positive),
        np.linalg.cholesky(positive),
        np.linalg.det(a),
        scipy.linalg.solve_triangular(np.linalg.cholesky(positive), b, lower=True),
    )


def decomposed(a, x, b):
    return (
        abs(np.linalg.qr(x)[1]),
        np.linalg.eigvalsh(a + a.T),
        abs(np.linalg.svd(a)[0]),
        abs(np.linalg.eigvals(a)).sum(),
        abs(scipy.linalg.schur(a)[0]).shape[0],
        scipy.linalg.expm(a),
    )


def least(a, x, b):
    return np.linalg.pinv(x), np.linalg.lstsq(x, b, rcond=None)


@pytest.mark.parametrize("f", [solved, decomposed, least])
@one_in(3)
def test_they_are_numpys_and_say_nothing(f, capfd):
    (n,) = transpile.dims("n", "n >= 0")
    shapes = ((n, n), (n, 3), (n,))
    compiled = transpile.jit(f).lower(*(ShapeDtypeStruct(s, float) for s in shapes)).compile()
    rng = np.random.default_rng(0)
    for size in 0, 4:
        args = rng.normal(size=(size, size)), rng.normal(size=(size, 3)), rng.normal(size=size)
        pairs = (transpile.tree.leaves(g(*args)) for g in (compiled, f))
        for found, expected in zip(*pairs, strict=True):
            assert found.shape == np.shape(expected)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert capfd.readouterr() == ("", "")


def test_vectors_of_no_values_are_those_of_the_identity():
    (n,) = transpile.dims("n", "0 <= n <= 3")
    svd = transpile.jit(np.linalg.svd).lower(ShapeDtypeStruct((n, 3), float)).compile()
    for found, expected in zip(svd(np.ones((0, 3))), np.linalg.svd(np.ones((0, 3))), strict=True):
        np.testing.assert_array_equal(found, expected)
