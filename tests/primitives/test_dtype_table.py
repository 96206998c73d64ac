"""NumPy's functions with every dtype: what NumPy accepts compiles and gives what NumPy gives, or is
unsupported by name; what NumPy refuses is refused. No other error reaches a user."""

from __future__ import annotations

import numpy as np
from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import Program, quiet
from thorough import each

import transpile
from transpile.errors import UnsupportedError
from transpile.ir.types import DTYPES

NUMPYS = [d for d in DTYPES if d.kind != "V"]
ORDINARY = [np.dtype(n) for n in ("bool", "int64", "float32")]
QUICK = {"opt_level": 0}
# Of a (2, 3) and a row b of three.
WORDS = """abs absolute all amax amin angle any argmax argmin argsort around atleast_3d average cbrt
    ceil conj copy cov corrcoef count_nonzero cumprod cumsum deg2rad degrees diag diagflat
    diagonal diff ediff1d exp expm1 fabs fix fliplr flipud floor gradient i0 imag invert
    iscomplex isfinite isinf isnan isneginf isposinf isreal lexsort log log10 log1p log2
    logical_not max mean median min modf nan_to_num nanargmax nanargmin nancumprod nancumsum
    nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar ndim negative ones_like
    positive prod ptp rad2deg ravel real reciprocal rint rot90 round sign signbit sin sinc sort
    sort_complex spacing sqrt square std sum tan tanh trace trapezoid tril triu trunc unwrap var
    vander zeros_like bitwise_count frexp fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.hfft
    fft.fftshift linalg.norm packbits"""
OTHERS = [
    *(
        f"np.{f}(a, b)"
        for f in ("allclose", "array_equal", "convolve", "isclose", "isin", "append")
    ),
    *(f"np.{f}(b, b)" for f in ("convolve", "correlate", "cross", "dot", "inner", "kron", "outer")),
    *(f"np.{f}(b, b)" for f in ("vdot", "polyadd", "polymul", "polyval")),
    *("np.matmul(a, b)", "a @ b", "np.tensordot(a, b, 1)", "np.einsum('ij,j->i', a, b)"),
    *("np.clip(a, 0, 2)", "np.clip(a, b, 3)", "np.where(a, a, b)", "np.where(a > 0, a, -1)"),
    *("np.select([a > 1], [a], 3)", "np.choose(a > 1, [a, b])", "np.take(a, [0, -1], axis=1)"),
    *(
        "np.searchsorted(b, a)",
        "np.digitize(a, np.array([0.0, 2.0]))",
        "np.interp(a, [0, 2], [0, 5])",
    ),
    *("np.histogram(a, 3, (0, 5))[0]", "np.quantile(a, 0.3)", "np.percentile(a, 30, axis=0)"),
    *("np.partition(a, 1)", "np.maximum.accumulate(a)", "np.add.reduceat(b, [0, 2])"),
    *("np.logical_and.reduce(a)", "np.multiply.outer(b, b)", "np.bitwise_and.reduce(a)"),
    *(f"np.pad(b, 2, mode={m!r})" for m in ("constant", "edge", "mean", "median", "linear_ramp")),
    *(f"np.pad(b, 2, mode={m!r})" for m in ("reflect", "symmetric", "wrap", "maximum", "minimum")),
    *("np.linalg.det(a[:, :2])", "np.linalg.inv(a[:, :2])", "np.linalg.solve(a[:, :2], a[:, 2])"),
    *(
        "a ** 2",
        "a ** 0.5",
        "a // 2",
        "a % 2",
        "a / 2",
        "a << 1",
        "a & 1",
        "~a",
        "-a",
        "divmod(a, b)[0]",
    ),
    *("np.float_power(a, 2)", "np.power(a, 2)", "np.ldexp(a, 2)", "np.gcd(a, 2)", "np.fmod(a, b)"),
    *("np.unique(b, return_counts=True)[0]", "np.roll(a, 1)", "np.repeat(a, 2)", "a[:, [0, 2]]"),
]
EXPRESSIONS = [*(f"np.{w}(a)" for w in WORDS.split()), *OTHERS]
# Decided: what has no inverse gives infinities and NaNs, where NumPy raises.
SINGULAR = ("np.linalg.inv", "np.linalg.solve")


def numbers(dtype):
    """Of each sign that the dtype has, small enough for sums and squares; regular as a matrix."""
    a = np.array([[3, 1, 2], [1, 4, 0]])
    if dtype.kind in "fc":
        a = a * [1, -1, 0.5]
    return a.astype(dtype), np.array([1, 2, 5]).astype(dtype)


def numpys(expression, names):
    """What NumPy gives, or the exception that it raises."""
    with quiet():
        try:
            return eval(expression, {"np": np, **names})
        except (TypeError, ValueError, OverflowError, np.linalg.LinAlgError) as problem:
            return problem


def traced(expression, names):
    """The exception of tracing, if there is one."""
    function = eval(f"lambda a, b: {expression}", {"np": np})
    try:
        with quiet():
            transpile.jit(function).trace(*names.values())
    except (UnsupportedError, TypeError, ValueError, OverflowError, NotImplementedError) as problem:
        return problem
    return None


@each("dtype", NUMPYS, ORDINARY, ids=str)
def test_numpys_functions_with_a_dtype(dtype):
    a, b = numbers(dtype)
    names, compiles, wrong = {"a": a, "b": b}, [], []
    for expression in EXPRESSIONS:
        want, problem = numpys(expression, names), traced(expression, names)
        if problem is None and not isinstance(want, Exception):
            compiles.append(expression)
        elif not is_right(expression, want, problem):
            wrong.append(f"{expression}: {problem!r}, where NumPy has {want!r}")
    assert not wrong, "\n".join(wrong)
    assert len(compiles) > 100
    statements = tuple((f"v{k}", e, True) for k, e in enumerate(compiles))
    program = Program(names, statements, tuple(name for name, *_ in statements))
    with quiet():
        found = transpile.jit(program.function(), compiler_options=QUICK)(a, b)
    wrong = list(differences(program, found))
    assert not wrong, "\n".join(wrong)


def is_right(expression, want, problem):
    """True if tracing refuses what NumPy refuses, or says that it is unsupported."""
    if isinstance(problem, UnsupportedError):
        return True
    if not isinstance(want, Exception):
        return False
    if problem is None:
        return expression.startswith(SINGULAR)
    return isinstance(problem, type(want)) or isinstance(want, type(problem))


def differences(program, found):
    """What is not NumPy's; of several results, each."""
    for (_, expression, _), got in zip(program.statements, found, strict=True):
        want = numpys(expression, program.arguments)
        parts = range(len(want)) if isinstance(want, tuple | list) else [None]
        for part in parts:
            text = expression if part is None else f"({expression})[{part}]"
            oracle = Oracle(Program(program.arguments, (("v", text, True),), ("v",)))
            said = oracle.difference("v", got if part is None else got[part])
            if said:
                yield f"{text}: {said}"
