"""Complex numbers with infinities and NaNs are NumPy's, compiled, folded and interpreted
(docs/decisions/m-complex-infinities.md)."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import evaluate
from thorough import one_in

import transpile
from transpile import numpy as jnp

PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 7.25, 1e-12, 600.0, np.nan, np.inf, -np.inf]
NUMBERS = np.array([complex(a, b) for a in PARTS for b in PARTS])
LEFT, RIGHT = (x.ravel() for x in np.meshgrid(NUMBERS, NUMBERS))
FUNCTIONS = [
    *(np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.square),
    *(np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.arcsin, np.arccos, np.arctan),
    *(np.arcsinh, np.arccosh, np.arctanh, np.reciprocal, np.sign, np.absolute, np.conjugate),
    *(np.isinf, np.isnan, np.isfinite, np.negative, np.logical_not),
    *(lambda x, n=n: np.power(x, n) for n in (-7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 99, 0.5, 1.5, 1j)),
    *(lambda x, n=n: x**n for n in (-2, -1, -1.0, 0, 0.5, 1, 2, 3, 2.5)),
    *(lambda x: x * 1, lambda x: x * 1j, lambda x: 1j * x, lambda x: x / 2, lambda x: 1 / x),
]
PAIRS = [
    *(np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum, np.fmax),
    *(np.less, np.less_equal, np.equal, np.not_equal, np.logical_and),
]
FOLDS = [np.sum, np.prod, np.cumsum, np.cumprod, np.max, np.min, np.mean]


def assert_near(got, want, name):
    """Both parts: NaN where NaN, the same infinities, finite numbers to the last digits."""
    assert got.dtype == want.dtype
    if want.dtype == bool:
        np.testing.assert_array_equal(got, want, str(name))
        return
    precision = np.finfo(want.dtype).eps
    size = np.minimum(np.abs(want), 1e10)
    for part in (np.real, np.imag):
        g, w = part(got), part(want)
        with np.errstate(invalid="ignore"):
            near = np.abs(g - w) <= 40 * precision * (np.abs(w) + size)
        right = (g == w) | (np.isnan(g) & np.isnan(w)) | near
        assert right.all(), f"{name}: {got[~right][:5]}, not {want[~right][:5]}"


def every_result(x, y, z):
    """All functions of x, all pairs of y and z, all folds of pairs."""
    rows = np.stack([y, z], axis=1)
    return [
        *(f(x) for f in FUNCTIONS),
        *(f(y, z) for f in PAIRS),
        *(f(rows, axis=1) for f in FOLDS),
        *(f(rows.T, axis=0) for f in FOLDS),
    ]


def assert_numpys(found, *arguments):
    with np.errstate(all="ignore"):
        wanted = every_result(*arguments)
    assert len(found) == len(wanted)
    for k, (got, want) in enumerate(zip(found, wanted, strict=True)):
        assert_near(np.asarray(got), np.asarray(want), k)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@one_in(2)
def test_compiled_results_are_numpys(dtype):
    arguments = [x.astype(dtype) for x in (NUMBERS, LEFT, RIGHT)]
    found = transpile.jit(every_result, compiler_options={"opt_level": 1})(*arguments)
    assert_numpys(found, *arguments)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_interpreted_results_are_numpys(dtype):
    arguments = [x.astype(dtype) for x in (NUMBERS, LEFT, RIGHT)]
    with np.errstate(all="ignore"):
        found = evaluate(every_result, *arguments)
    assert_numpys(found, *arguments)


def test_folded_results_are_numpys():
    arguments = NUMBERS[::3][:40], LEFT[::701][:40], RIGHT[::701][:40]

    def known():
        return every_result(*map(jnp.array, arguments))

    assert_numpys(transpile.jit(known, compiler_options={"opt_level": 0})(), *arguments)


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "nanprod"])
@pytest.mark.parametrize("axis", [None, (), 0])
@one_in(5)
def test_folds_of_one_element_start_at_the_identity(name, axis):
    """As NumPy's do: 1 times a complex infinity has NaNs, and 0.0 + -0.0 is 0.0."""
    parts = (-0.0, 0.0, 1.0, np.inf, -np.inf, np.nan)
    for value in [complex(a, b) for a in parts for b in parts]:
        for x in (np.array(value), np.array([value])):
            if axis == 0 and not x.ndim:
                continue

            def fold(x):
                return getattr(np, name)(x, axis=axis)

            with np.errstate(invalid="ignore"):
                want = np.asarray(fold(x))
            got = np.asarray(transpile.jit(fold)(x))
            np.testing.assert_equal(got, want, f"{value}")
            for a, b in ((got.real, want.real), (got.imag, want.imag)):
                assert np.array_equal(np.signbit(a), np.signbit(b)) or np.isnan(b).any(), value
