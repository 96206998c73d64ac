"""Products of complex matrices are one real product, of NumPy's values."""

import numpy as np
import pytest

import transpile
from transpile.intrinsics.products import ComplexMatmul
from transpile.ir.loop_rewrite import walk


def drawn(random, shape, dtype):
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)


def products(a, b, c, d):
    return (
        a @ b,
        a.T @ b[:12],
        a @ b[:, ::-3],
        a.conj() @ (2 * b),
        np.einsum("ij,kj->ki", a, c),
        np.tensordot(d, b, axes=((1,), (0,))),
        np.cov(c),
        d @ d.conj().swapaxes(1, 2),
    )


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_products_are_numpys(dtype):
    """Wider than a block of columns, of strided, transposed, conjugated and stacked operands."""
    random = np.random.default_rng(3)
    shapes = (12, 20), (20, 1100), (30, 20), (3, 20, 25)
    arguments = [drawn(random, shape, dtype) for shape in shapes]
    jitted = transpile.jit(products)
    for ours, want in zip(jitted(*arguments), products(*arguments), strict=True):
        assert (ours.dtype, ours.shape) == (want.dtype, want.shape)
        error = np.max(abs(ours - want)) / np.max(abs(want))
        assert error < 40 * np.finfo(dtype).eps
    loops = jitted.lower(*arguments).compiler_ir("loops")
    calls = [s for kernel in loops.kernels for s in walk(kernel.body)]
    assert sum(isinstance(s, ComplexMatmul) for s in calls) == 8


def test_infinities_and_nans_go_where_numpys_go():
    random = np.random.default_rng(4)
    a, b = drawn(random, (16, 16), "c16"), drawn(random, (16, 16), "c16")
    a[3, 5], a[7, 2], b[1, 9], b[4, 4] = np.inf, complex(0, np.nan), complex(1, -np.inf), 0
    with np.errstate(invalid="ignore"):
        want = a @ b
    ours = transpile.jit(np.matmul)(a, b)
    for part, wanted in ((ours.real, want.real), (ours.imag, want.imag)):
        np.testing.assert_array_equal(np.isfinite(part), np.isfinite(wanted))
        np.testing.assert_allclose(part[np.isfinite(part)], wanted[np.isfinite(wanted)], rtol=1e-12)
