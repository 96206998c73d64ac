"""Singular values, eigenvalues, Schur forms and roots of matrices, and Fourier transforms of every
length, as CUDA on the CPU: by what they have to satisfy, and beside NumPy."""

from functools import partial

import numpy as np
import pytest
from cuda_programs import results, run
from test_cuda_programs import FEW
from test_cuda_routines import DTYPES, close, drawn
from thorough import THOROUGH, each, one_in

import transpile
import transpile.scipy.linalg
from transpile import lax
from transpile.targets.cuda.routines import transforms

RNG = np.random.default_rng(29)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def found(function, x, runs, gpu=FEW):
    return results(transpile.jit(function).lower(x)._lowering, [x], gpu, runs)


def low_rank(dtype):
    """A matrix with columns of zeros, and some that are the same."""
    x = drawn((7, 5), dtype)
    x[:, 2], x[:, 3] = x[:, 1], 0
    return x


SINGULAR = {
    "tall": partial(drawn, (2, 7, 4)),
    "wide": partial(drawn, (4, 9)),
    "one column": partial(drawn, (5, 1)),
    "low rank": low_rank,
    "zeros": partial(np.zeros, (4, 6)),
    "large": lambda dtype: 1e30 * drawn((4, 4), dtype),
    "small": lambda dtype: 1e-30 * drawn((4, 4), dtype),
}


@each("dtype", DTYPES[2:], ordinary=("complex64",))
@pytest.mark.parametrize("name", SINGULAR)
@one_in(7)
def test_singular_values(name, dtype):
    check_singular_values(name, dtype)


def check_singular_values(name, dtype, runs=run, gpu=FEW):
    x = SINGULAR[name](dtype).astype(dtype)
    whole, least = name in ("wide", "low rank"), min(x.shape[-2:])
    expected = np.linalg.svd(x, compute_uv=False)
    size = max(expected.max(), np.finfo(dtype).tiny)

    def decomposed(x):
        return *np.linalg.svd(x, full_matrices=whole), np.linalg.svd(x, compute_uv=False)

    u, s, vh, values = found(decomposed, x, runs, gpu)
    close(s / size, expected / size)
    close(values / size, expected / size)
    close((u[..., :least] * (s / size)[..., None, :]) @ vh[..., :least, :], x / size)
    for vectors in (u, adjoint(vh)):
        unit = np.eye(vectors.shape[-1], dtype=dtype)
        close(adjoint(vectors) @ vectors, np.broadcast_to(unit, (*x.shape[:-2], *unit.shape)))


@pytest.mark.parametrize("function", (np.linalg.svd, np.linalg.eig, np.linalg.qr))
def test_few_small_matrices_are_one_launch(function):
    x = transpile.ShapeDtypeStruct((10, 3, 3), np.float64)
    text = transpile.jit(function).lower(x).as_text("cuda")
    assert text.count("LAUNCH(") == 2 and "_kernel, 10, 256, stream)" in text


def test_matrices_with_nan_have_nan():
    x = drawn((4, 4), "float64")
    x[1, 2] = np.nan

    def all_of_them(x):
        roots = transpile.scipy.linalg.sqrtm(x)
        return np.linalg.svd(x), np.linalg.eig(x), lax.linalg.schur(x), roots

    assert all(np.isnan(y).all() for y in found(all_of_them, x, run))


SQUARE = {
    "drawn": partial(drawn, (2, 6, 6)),
    "one number": partial(drawn, (1, 1)),
    "symmetric": lambda dtype: (x := drawn((5, 5), dtype)) + adjoint(x),
    "skew": lambda dtype: (x := drawn((5, 5), dtype)) - adjoint(x),
    "a permutation": lambda dtype: np.roll(np.eye(6), 1, axis=0),
    "zeros": lambda dtype: np.zeros((4, 4)),
    "a Jordan block": lambda dtype: np.eye(30, k=1) + 2 * np.eye(30),
    "equal diagonal": lambda dtype: np.array([[1, 3], [-1e-3, 1]]),
    "triangular": lambda dtype: np.array([[1, 0, 0], [3, 1, 0], [5, 2, 4]]),
}


@each("dtype", DTYPES[2:], ordinary=("float64",))
@pytest.mark.parametrize("name", SQUARE)
@one_in(9)
def test_eigenvalues(name, dtype):
    check_eigenvalues(name, dtype)


def check_eigenvalues(name, dtype, runs=run, gpu=FEW):
    x = SQUARE[name](dtype).astype(dtype)
    n = x.shape[-1]

    def decomposed(x):
        return *lax.linalg.schur(x), *np.linalg.eig(x), np.linalg.eigvals(x)

    t, z, values, vectors, alone = found(decomposed, x, runs, gpu)
    close(z @ t @ adjoint(z), x)
    close(adjoint(z) @ z, np.broadcast_to(np.eye(n, dtype=dtype), x.shape))
    for form in t.reshape(-1, n, n):
        check_form(form)
    wide = values.dtype
    close(x @ vectors, (vectors * values[..., None, :]).astype(wide), 300)
    close(np.linalg.norm(vectors, axis=-2), np.ones(x.shape[:-1], values.real.dtype))
    if name not in ("a Jordan block", "triangular"):  # whose eigenvalues are badly conditioned
        for some in (values, alone):
            for one, other in zip(
                some.reshape(-1, n), np.linalg.eigvals(x).reshape(-1, n), strict=True
            ):
                distances = np.abs(one[:, None] - other)
                limit = 300 * np.finfo(dtype).eps * max(1, np.abs(x).max())
                assert max(distances.min(0).max(), distances.min(1).max()) <= limit


def check_form(t):
    """A triangle, or of real numbers blocks of two with equal diagonals and complex eigenvalues."""
    assert (np.tril(t, -1 if t.dtype.kind == "c" else -2) == 0).all()
    below = np.flatnonzero(np.diag(t, -1))
    assert not set(below) & set(below + 1)
    for k in below:
        assert t[k, k] == t[k + 1, k + 1] and t[k, k + 1] * t[k + 1, k] < 0


@pytest.mark.parametrize("dtype", DTYPES[2:])
@one_in(4)
def test_square_roots(dtype):
    check_square_root(dtype)


def check_square_root(dtype, runs=run, gpu=FEW):
    x = drawn((2, 5, 5), dtype)
    x = x @ x + 3 * np.eye(5, dtype=dtype)
    (root,) = found(transpile.vmap(transpile.scipy.linalg.sqrtm), x, runs, gpu)
    close((root @ root).astype(root.dtype), x.astype(root.dtype), 300)
    assert (np.linalg.eigvals(root).real > -1e-3).all()


# Function, shape, dtype, and the names of runtime sizes: lengths known at run time; primes;
# three passes, and a chirp, as if a block had few numbers.
LENGTHS = {
    "fft of a size": (np.fft.fft, (2, 9), "complex64", (2, "n")),
    "rfft of a size": (np.fft.rfft, (2, 12), "float64", ("m", "n")),
    "irfft of a size": (np.fft.irfft, (2, 9), "complex128", (2, "n; 2*n >= 3")),
    "columns of a size": (
        partial(np.fft.ifft, axis=0, norm="ortho"),
        (7, 3),
        "complex128",
        ("n", 3),
    ),
    "a prime": (np.fft.fft, (2, 2053), "complex64", None),
    "a prime of floats": (np.fft.rfft, (1031,), "float64", None),
    "a prime of halves": (np.fft.irfft, (2, 1019), "complex64", None),
    "three passes": (np.fft.fft, (2, 512), "complex128", None),
    "three passes of floats": (np.fft.rfft, (2, 1000), "float64", None),
    "three passes of halves": (np.fft.irfft, (501,), "complex64", None),
    "three passes of columns": (partial(np.fft.ifft, axis=0), (512, 2), "complex64", None),
    "a chirp": (partial(np.fft.ifft, axis=1), (2, 17, 3), "complex128", None),
    "a chirp of one block": (np.fft.rfft, (2, 2053), "float64", None),
}


@pytest.mark.parametrize("name", LENGTHS)
@one_in(5)
def test_transforms_of_every_length(name, monkeypatch):
    if name.startswith(("three", "a chirp")):
        monkeypatch.setattr(transforms, "longest_transform", lambda _: 16)
    check_length(name)


def declared(sizes):
    """A shape of numbers and of the names of sizes, with what is required of them."""
    texts = [size.split("; ") for size in sizes if isinstance(size, str)]
    names = ", ".join(name for name, *_ in texts)
    dims = iter(transpile.dims(names, *(condition for _, *more in texts for condition in more)))
    return [next(dims) if isinstance(size, str) else size for size in sizes]


def stage_of_length(name):
    """A transform that is lowered, and its operand."""
    function, shape, dtype, sizes = LENGTHS[name]
    x = drawn(shape, dtype)
    given = x if sizes is None else transpile.ShapeDtypeStruct(declared(sizes), dtype)
    return transpile.jit(function).lower(given), x


def check_length(name, runs=run, gpu=FEW):
    stage, x = stage_of_length(name)
    (y,) = results(stage._lowering, [x], gpu, runs)
    close(y, LENGTHS[name][0](x).astype(y.dtype), 30)


@pytest.mark.parametrize("longest", (16, 2048))
def test_factors_of_lengths(longest):
    for n in RNG.integers(1, longest**2 * 4, 300 if THOROUGH else 60):
        factors = transforms._factors(int(n), longest)
        if factors is None:
            padded = transforms._padded(int(n), longest)
            assert padded is None or padded >= 2 * n - 1
            factors = (1,) if padded is None else transforms._factors(padded, longest)
            n = 1 if padded is None else padded
        assert np.prod(factors) == n and max(factors) <= longest and len(factors) <= 3
