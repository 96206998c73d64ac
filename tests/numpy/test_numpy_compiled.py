"""Functions that are made of others, compiled: one program of all, and all over batches."""

import numpy as np
import pytest
from helpers import assert_equal_values, leaves, ordinary
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads

X = ordinary("f8", (4, 5), 3) + np.linspace(0, 0.4, 20).reshape(4, 5)
CALLS = {
    "apply_along_axis": lambda x: np.apply_along_axis(lambda v: v[::-1] - v.mean(), 0, x),
    "average": lambda x: np.average(x, axis=1, weights=np.abs(x) + 1),
    "convolve": lambda x: np.convolve(x[0], x[1], "same"),
    "convolve of many": lambda x: np.convolve(x.ravel(), x.ravel(), "valid"),
    "corrcoef": lambda x: np.corrcoef(x),
    "correlate": lambda x: np.correlate(x.ravel(), x[1], "full"),
    "cov": lambda x: np.cov(x, rowvar=False),
    "cross": lambda x: np.cross(x[:, :3], x[:, 1:4]),
    "diff": lambda x: np.diff(x, 2, axis=0),
    "ediff1d": lambda x: np.ediff1d(x, to_end=[1.0, 2.0]),
    "geomspace": lambda x: np.geomspace(np.abs(x[0]) + 1, 9.0, 4),
    "gradient": lambda x: np.gradient(x, np.array([0.0, 1.0, 3.0, 3.5]), 0.5, edge_order=2),
    "i0": lambda x: np.i0(x),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=1),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "hypot.accumulate": lambda x: np.hypot.accumulate(x, axis=0),
    "subtract.outer": lambda x: np.subtract.outer(x[0], x[1]),
    "logspace": lambda x: np.logspace(x[0] / 9, 1.0, 4, base=2.0),
    "nancumsum": lambda x: np.nancumsum(np.where(x > 1, np.nan, x), axis=1),
    "nanmax": lambda x: np.nanmax(np.where(x > 1, np.nan, x), axis=0, initial=-9.0),
    "nanvar": lambda x: np.nanvar(np.where(x > 1, np.nan, x), axis=0),
    "packbits": lambda x: np.packbits(x > 0, axis=1),
    "pad reflect": lambda x: np.pad(x, 7, "reflect", reflect_type="odd"),
    "pad symmetric": lambda x: np.pad(x, ((1, 9), (0, 3)), "symmetric"),
    "pad linear_ramp": lambda x: np.pad(x, 2, "linear_ramp", end_values=3),
    "pad maximum": lambda x: np.pad(x, 2, "maximum", stat_length=2),
    "pad wrap": lambda x: np.pad(x, 6, "wrap"),
    "poly": lambda x: np.poly(x[0]),
    "polydiv": lambda x: np.polydiv(x[0], x[1, :2] + 9)[0],
    "polyfit": lambda x: np.polyfit(np.arange(5.0), x.T, 2),
    "polyint": lambda x: np.polyint(x[0], 2, k=[1, 2]),
    "polymul": lambda x: np.polymul(x[0], x[1]),
    "trapezoid": lambda x: np.trapezoid(x, axis=0),
    "unpackbits": lambda x: np.unpackbits(np.packbits(x > 0, axis=1), axis=0, count=20),
    "unwrap": lambda x: np.unwrap(x * 2, axis=1),
    "vander": lambda x: np.vander(x[0], 4),
    "vecdot": lambda x: np.vecdot(x, x, axis=0),
}
WITHOUT_SLOPE = {"packbits", "unpackbits", "unwrap", "nanmax", "pad maximum"}


def everything(x):
    return {name: leaves(f(x)) for name, f in CALLS.items()}


def compare(found, expected):
    for name in CALLS:
        assert len(found[name]) == len(expected[name]), name
        for got, want in zip(found[name], map(np.asarray, expected[name]), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape), name
            try:
                assert_equal_values(np.asarray(got), want, 1e-11 if want.dtype.kind == "f" else 0)
            except AssertionError as problem:
                raise AssertionError(f"{name}: {problem}") from None


def test_compiled_functions_are_numpys():
    compare(transpile.jit(everything)(X), everything(X))


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_batches_are_loops():
    examples = np.stack([X, X[::-1] * 1.25, X * X - 1])
    loops = [everything(x) for x in examples]
    expected = {
        name: [np.stack(parts) for parts in zip(*[e[name] for e in loops], strict=True)]
        for name in CALLS
    }
    compare(transpile.jit(transpile.vmap(everything))(examples), expected)


@pytest.mark.parametrize("name", [n for n in CALLS if n not in WITHOUT_SLOPE])
@one_in(3)
def test_derivatives_are_right(name):
    x = np.cos(np.arange(20.0)).reshape(4, 5) * 1.3
    check_grads(CALLS[name], (x,), order=1, rtol=1e-4, atol=1e-4)


def test_vectorized_function_is_compiled():
    f = jnp.vectorize(lambda m, v: m @ v, signature="(m,n),(n)->(m)")
    found = transpile.jit(f)(np.stack([X, X + 1]), X[0])
    np.testing.assert_allclose(found, np.stack([X, X + 1]) @ X[0], rtol=1e-13)


def test_complex_numbers_may_live_on_the_way_only():
    """No array of the program is complex: its header needs no complex numbers, its source does."""
    f = transpile.jit(lambda x: np.angle(x + 1j * np.abs(x)))
    np.testing.assert_allclose(f(X), np.angle(X + 1j * np.abs(X)), rtol=1e-14)
    assert "complex.h" in f.lower(X).as_text("c")


def test_powers_of_two_are_shifts_that_wrap_around_as_numpys():
    exponents = [np.arange(100).astype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]

    def powers(*exponents):
        return [np.power(np.array(2, y.dtype), y) for y in exponents]

    found = transpile.jit(powers)(*exponents)
    for got, want in zip(found, powers(*exponents), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
    for negative in (-1, -63, -64, -(2**63)):  # at which NumPy raises
        assert transpile.jit(lambda y: 2**y)(negative) == 0
