"""The cosine transforms of scipy.fft, against SciPy."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.scipy import fft
from transpile.test_util import check_grads

reference = pytest.importorskip("scipy.fft")
DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
@one_in(3)
def test_transforms_of_all_types_norms_and_short_lengths(type, norm):
    for n in range(2 if type == 1 else 1, 10):
        for name in ("dct", "idct"):
            for dtype, tolerance in (("f8", 1e-13), ("f4", 1e-5), ("c16", 1e-13), ("i8", 1e-13)):
                x = (DRAW.normal(size=(n, 3)) * 8).astype(dtype)
                want = getattr(reference, name)(x.astype(dtype), type, axis=0, norm=norm)
                found = getattr(fft, name)(x, type, axis=0, norm=norm)
                scale = np.max(np.abs(want))
                np.testing.assert_allclose(found, want, rtol=0, atol=tolerance * scale)
                assert found.dtype == want.dtype


@pytest.mark.parametrize("name", ["dct", "idct"])
def test_lengths_and_several_axes(name):
    x = DRAW.normal(size=(3, 4, 5))
    for n in (3, 5, 8):
        want = getattr(reference, name)(x, n=n)
        np.testing.assert_allclose(getattr(fft, name)(x, n=n), want, atol=1e-13)
    for arguments in ({}, {"s": (2, 7)}, {"axes": (0, -1)}, {"s": (6, 2), "axes": (1, 0)}):
        for type in (2, 4):
            want = getattr(reference, name + "n")(x, type, norm="ortho", **arguments)
            found = getattr(fft, name + "n")(x, type, norm="ortho", **arguments)
            np.testing.assert_allclose(found, want, atol=1e-13)


def test_transforms_in_programs_and_their_derivatives():
    x = DRAW.normal(size=(3, 7))

    def both(x):
        return [
            transform(x, type, norm=norm)
            for transform in (fft.dct, fft.idct)
            for type, norm in ((1, None), (2, "ortho"), (3, "forward"), (4, None))
        ]

    for found, want in zip(transpile.jit(both)(x), both(x), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)
    check_grads(lambda x: fft.idct(fft.dct(x, 2) ** 2, 4), (x,), order=1, rtol=1e-5, atol=1e-6)
    rows = transpile.vmap(fft.dct)(x)
    np.testing.assert_allclose(rows, fft.dct(x), atol=1e-13)


def test_refused_arguments():
    x = np.ones((2, 3))
    with pytest.raises(NotImplementedError, match="types 1 to 4"):
        fft.dct(x, 5)
    with pytest.raises(ValueError, match="norm='x' is not implemented"):
        fft.idct(x, norm="x")
    with pytest.raises(ValueError, match=r"invalid number of data points \(1\)"):
        fft.dct(x, 1, n=1)
    with pytest.raises(ValueError, match=r"s must have at most x.ndim \(2\) elements, got 3"):
        fft.dctn(x, s=(1, 2, 3))
    with pytest.raises(ValueError, match="of the same length"):
        fft.idctn(x, s=(1, 2), axes=(0,))
