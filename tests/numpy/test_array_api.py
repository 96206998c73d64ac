"""The Python array API standard, 2024.12: every name is there, and works on traced arrays."""

import warnings

import array_api_names
import numpy as np
import pytest
from helpers import assert_equal_values, leaves, ordinary

import transpile
from transpile import numpy as jnp
from transpile.trace.tracer import Tracer

NAMES = array_api_names.NAMES.split()
LINALG_NAMES = array_api_names.LINALG.split()
FFT_NAMES = array_api_names.FFT.split()
METHODS = array_api_names.METHODS.split()

X = ordinary("f8", (3, 4), 1)
Y = ordinary("f8", (3, 4), 2)
POSITIVE = np.abs(X) + 0.5
SMALL = np.linspace(-0.9, 0.9, 12).reshape(3, 4)
INTEGERS = ordinary("i8", (3, 4), 3)
BITS = np.abs(INTEGERS) % 5
BOOLS = X > 0
COMPLEX = ordinary("c16", (3, 4), 4)

# The functions by their operands. Those that stand here once for each kind of call below.
UNARY = {
    "abs ceil conj cos cosh exp expm1 floor isfinite isinf isnan logical_not negative positive "
    "real round sign signbit sin sinh square tan tanh trunc asinh atan imag reciprocal": POSITIVE,
    "log log10 log1p log2 sqrt": POSITIVE,
    "acosh": POSITIVE + 1,
    "acos asin atanh": SMALL,
    "bitwise_invert": INTEGERS,
}
BINARY = {
    "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal "
    "logaddexp maximum minimum multiply nextafter not_equal remainder subtract": (X, POSITIVE),
    "pow": (POSITIVE, Y),
    "logical_and logical_or logical_xor": (BOOLS, Y > 0),
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift": (INTEGERS, BITS),
}
CALLS = {
    "all": lambda xp, x: xp.all(x > -9, axis=0),
    "any": lambda xp, x: xp.any(x > 0, axis=1, keepdims=True),
    "arange": lambda xp, x: xp.arange(2, 9, 3) + x[0, 0],
    "argmax": lambda xp, x: xp.argmax(x, axis=0),
    "argmin": lambda xp, x: xp.argmin(x, axis=1, keepdims=True),
    "argsort": lambda xp, x: xp.argsort(x, axis=0, descending=False) if xp is jnp else x.argsort(0),
    "asarray": lambda xp, x: xp.asarray(x, dtype=xp.float32, copy=True),
    "astype": lambda xp, x: xp.astype(x, xp.int32),
    "bool": lambda xp, x: xp.astype(x, xp.bool),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[0]),
    "broadcast_shapes": lambda xp, x: xp.zeros(xp.broadcast_shapes(x.shape, (1, 4))) + x,
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    "can_cast": lambda xp, x: x * xp.can_cast(x.dtype, xp.float32),
    "clip": lambda xp, x: xp.clip(x, min=-1, max=x + 1),
    "concat": lambda xp, x: xp.concat([x, x], axis=1),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x, axis=0, keepdims=True),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0, dtype=xp.float32),
    "diff": lambda xp, x: xp.diff(x, n=2, axis=0, append=x),
    "empty": lambda xp, x: xp.isnan(xp.empty((2, 2), device="cpu")) * 0 + x[0, 0],
    "empty_like": lambda xp, x: xp.empty_like(x, dtype=xp.int32) * 0,
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "eye": lambda xp, x: xp.eye(3, 4, k=1) + x,
    "finfo": lambda xp, x: x * xp.finfo(x.dtype).eps,
    "flip": lambda xp, x: xp.flip(x, axis=-1),
    "from_dlpack": lambda xp, x: xp.from_dlpack(x) + 1,
    "full": lambda xp, x: xp.full((2,), 3, dtype=xp.float32) * x[0, 0],
    "full_like": lambda xp, x: xp.full_like(x, 2.5),
    "iinfo": lambda xp, x: x * xp.iinfo(xp.int16).max,
    "isdtype": lambda xp, x: x * xp.isdtype(x.dtype, ("real floating", "bool")),
    "isin": lambda xp, x: xp.isin(x, x[0]),
    "linspace": lambda xp, x: xp.linspace(x[0, 0], 4.0, 5, endpoint=False),
    "matmul": lambda xp, x: xp.matmul(x, x.T),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "max": lambda xp, x: xp.max(x, axis=(0, 1)),
    "mean": lambda xp, x: xp.mean(x, axis=0),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[:, 1], indexing="ij"),
    "min": lambda xp, x: xp.min(x, axis=0),
    "moveaxis": lambda xp, x: xp.moveaxis(x[None], (0, 1), (2, 0)),
    "ones": lambda xp, x: xp.ones((3, 4), dtype=xp.float32) + x,
    "ones_like": lambda xp, x: xp.ones_like(x),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "prod": lambda xp, x: xp.prod(x, axis=1, dtype=xp.float64),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "reshape": lambda xp, x: xp.reshape(x, (2, -1), copy=True),
    "result_type": lambda xp, x: xp.astype(x, xp.result_type(x, xp.complex64)),
    "roll": lambda xp, x: xp.roll(x, (1, 2), axis=(0, 1)),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x[0]), x, side="right"),
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "squeeze": lambda xp, x: xp.squeeze(x[None], axis=0),
    "stack": lambda xp, x: xp.stack([x, x], axis=-1),
    "std": lambda xp, x: xp.std(x, axis=0, correction=1),
    "sum": lambda xp, x: xp.sum(x, axis=1, dtype=xp.float32, keepdims=True),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.asarray([[1, 0]]), axis=1),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((0, 1), (0, 1))),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "tril": lambda xp, x: xp.tril(x, k=-1),
    "triu": lambda xp, x: xp.triu(x, k=1),
    "unstack": lambda xp, x: xp.unstack(x, axis=1),
    "var": lambda xp, x: xp.var(x, axis=0, correction=0.5),
    "vecdot": lambda xp, x: xp.vecdot(x, x, axis=0),
    "where": lambda xp, x: xp.where(x > 0, x, 0.5),
    "zeros": lambda xp, x: xp.zeros(4) + x,
    "zeros_like": lambda xp, x: xp.zeros_like(x, device="cpu"),
}
# Their results' shapes depend on values: they take a size, and have tests of their own.
SIZED = {"nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"}
CONSTANTS = {"e", "inf", "nan", "newaxis", "pi"}
DTYPES = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
DTYPES |= {"complex64", "complex128", "float32", "float64"}
S = POSITIVE[:, :3] @ POSITIVE[:, :3].T + np.eye(3)
LINALG = {
    "cholesky": lambda m, a: m.cholesky(a, upper=True),
    "cross": lambda m, a: m.cross(a, a + 1, axis=0),
    "det": lambda m, a: m.det(a),
    "diagonal": lambda m, a: m.diagonal(a, offset=1),
    "eigh": lambda m, a: m.eigh(a).eigenvalues,
    "eigvalsh": lambda m, a: m.eigvalsh(a),
    "inv": lambda m, a: m.inv(a),
    "matmul": lambda m, a: m.matmul(a, a),
    "matrix_norm": lambda m, a: m.matrix_norm(a, ord="nuc", keepdims=True),
    "matrix_power": lambda m, a: m.matrix_power(a, -2),
    "matrix_rank": lambda m, a: m.matrix_rank(a),
    "matrix_transpose": lambda m, a: m.matrix_transpose(a),
    "outer": lambda m, a: m.outer(a[0], a[1]),
    "pinv": lambda m, a: m.pinv(a[:2]),
    "qr": lambda m, a: m.qr(a, mode="reduced").R,
    "slogdet": lambda m, a: m.slogdet(a).logabsdet,
    "solve": lambda m, a: m.solve(a, a[0]),
    "svd": lambda m, a: m.svd(a, full_matrices=False).S,
    "svdvals": lambda m, a: m.svdvals(a),
    "tensordot": lambda m, a: m.tensordot(a, a, axes=1),
    "trace": lambda m, a: m.trace(a, offset=1),
    "vecdot": lambda m, a: m.vecdot(a, a),
    "vector_norm": lambda m, a: m.vector_norm(a, ord=3, axis=1),
}


def agree(functions, x, tolerance=1e-12):
    """One program of all functions gives what NumPy gives, each in one array or in several."""

    def everything(xp, a):
        return {name: leaves(f(xp, a)) for name, f in functions.items()}

    found = transpile.jit(lambda a: everything(jnp, a), compiler_options=QUICK)(x)
    expected = everything(np, x)
    for name in functions:
        assert len(found[name]) == len(expected[name]), name
        for got, want in zip(found[name], map(np.asarray, expected[name]), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape), name
            near = tolerance if want.dtype.kind in "fc" else 0.0
            assert_equal_values(np.asarray(got), want, near)


QUICK = {"opt_level": 1}


def test_every_name_is_there():
    assert [n for n in NAMES if not hasattr(jnp, n)] == []
    assert [n for n in LINALG_NAMES if not hasattr(jnp.linalg, n)] == []
    assert [n for n in FFT_NAMES if not hasattr(jnp.fft, n)] == []
    assert [n for n in METHODS if not hasattr(Tracer, n)] == []


def test_every_name_is_tried():
    tried = {n for names in (*UNARY, *BINARY) for n in names.split()} | set(CALLS) | SIZED
    assert set(NAMES) - {"__array_namespace_info__"} <= tried | CONSTANTS | DTYPES
    assert set(LINALG) == set(LINALG_NAMES)


def test_elementwise_functions_are_numpys():
    unary = [(n, x) for names, x in UNARY.items() for n in names.split()]
    binary = [(n, *xy) for names, xy in BINARY.items() for n in names.split()]
    operands = [x for _, *rest in (*unary, *binary) for x in rest]

    def everything(xp, arrays):
        rest = iter(arrays)
        return [getattr(xp, n)(*(next(rest) for _ in r)) for n, *r in (*unary, *binary)]

    found = transpile.jit(lambda *a: everything(jnp, a), compiler_options=QUICK)(*operands)
    for (name, *_), got, want in zip(
        (*unary, *binary), found, everything(np, operands), strict=True
    ):
        assert got.dtype == want.dtype, name
        np.testing.assert_allclose(got, want, rtol=1e-14, err_msg=name)


def test_functions_are_numpys():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(CALLS, X)


def test_functions_of_matrices_are_numpys():
    agree({n: lambda xp, a, f=f: f(xp.linalg, a) for n, f in LINALG.items()}, S, 1e-9)


def test_transforms_are_numpys():
    of_complex = ("fft", "ifft", "fftn", "ifftn", "hfft", "irfft", "irfftn")
    names = [n for n in FFT_NAMES if "freq" not in n]
    calls = {n: lambda xp, a, n=n: getattr(xp.fft, n)(a) for n in names}
    agree({n: calls[n] for n in of_complex}, COMPLEX)
    agree({n: f for n, f in calls.items() if n not in of_complex}, X)


def test_constants_and_dtypes_are_numpys():
    for name in (*DTYPES, "bool", "e", "inf", "pi", "newaxis"):
        assert getattr(jnp, name) is getattr(np, name)
    assert np.isnan(jnp.nan)


def test_names_are_those_of_array_api_strict():
    """As that package lists them: nothing of them is missing."""
    strict = pytest.importorskip("array_api_strict")
    own = {"ArrayAPIStrictFlags", "Device", "ModuleType"}
    flags = {n for n in dir(strict) if n.endswith("array_api_strict_flags")}
    public = {n for n in dir(strict) if not n.startswith("_")} - own - flags
    assert public - {"linalg", "fft"} <= set(NAMES)
    assert set(strict.linalg.__all__) <= set(LINALG_NAMES)
    assert set(strict.fft.__all__) <= set(FFT_NAMES)
