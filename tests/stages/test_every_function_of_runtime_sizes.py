"""Every function that docs/numpy.md lists has expressions over axes of runtime sizes that give what
NumPy gives, here or in test_functions_of_runtime_sizes.py, or a reason against one. How many have
stands in docs/runtime_sizes.md."""

import io
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from sizes_as_arguments import KNOWN, LENGTHS, USES
from test_functions_of_runtime_sizes import NUMPY, OWN, assert_agree, function, groups
from thorough import one_in

import transpile

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "numpy.md").read_text()

# In x (n, 4), v (n,), a (n, n) and the integers i (n,), whose values are below 3.
FURTHER = """
    np.apply_over_axes(np.sum, x, 0)
    np.argpartition(v, 0)[0]
    np.array_equiv(v, v)
    np.asanyarray(v)
    np.asarray(v)
    np.asarray_chkfinite(v)
    np.ascontiguousarray(x)
    np.asfortranarray(x)
    np.astype(v, np.float32)
    np.atleast_1d(v)
    np.atleast_2d(v)
    np.atleast_3d(v)
    np.bartlett(len(v))
    np.blackman(len(v))
    np.hamming(len(v))
    np.hanning(len(v))
    np.kaiser(len(v), 5.0)
    np.polyfit(v, v**2, 1)
    np.polyfit(v, x, 2)
    np.array_split(v, 3)
    np.array_split(x, [1, 2, 7])
    np.split(v, [2])
    np.broadcast_arrays(v[:, None], x)
    np.concat([v, v])
    np.copy(v)
    np.cumulative_prod(v)
    np.delete(v, 0)
    np.diag_indices(len(v))
    np.diag_indices_from(a)
    np.diagflat(v)
    np.dsplit(x[:, :, None] * np.ones(2), 2)
    np.hsplit(x, 2)
    np.vsplit(x.T, 2)
    np.dstack([v, v])
    np.where(False, np.empty_like(v), v)
    np.fix(v)
    np.fliplr(x)
    np.flipud(x)
    np.full_like(v, 2.0)
    np.geomspace(1, 9, len(v))
    np.logspace(0, 1, len(v))
    np.histogram2d(v, v * v, 3, [[-3, 3], [0, 9]])[0]
    np.histogram_bin_edges(v, 4)
    np.histogramdd(x[:, :2], (2, 3), [(-3, 3), (-3, 3)])[0]
    np.i0(v)
    np.imag(v)
    np.iscomplex(v)
    np.isclose(v, v + 1e-9)
    np.isin(i, np.array([1, 2]))
    np.isneginf(v)
    np.isposinf(v)
    np.isreal(v)
    np.matrix_transpose(a)
    np.min(v)
    np.nanargmax(v)
    np.nanargmin(v)
    np.nancumprod(v)
    np.nancumsum(v)
    np.nanmin(v)
    np.nanpercentile(v, 30)
    np.nanprod(v)
    np.nanquantile(v, 0.3)
    np.nanstd(v)
    np.nanvar(v)
    np.ndim(x)
    np.permute_dims(x, (1, 0))
    np.piecewise(v, [v > 0], [1.0, -1.0])
    np.polyadd(v, v)
    np.polyder(v)
    np.polyint(v)
    np.polymul(v, np.array([1.0, 2.0]))
    np.polysub(v, np.ones(2))
    np.polyval(np.array([1.0, 2.0]), v)
    np.ravel_multi_index((i, i), (3, 3))
    np.real(v)
    np.real_if_close(v)
    np.reshape(x, -1)
    np.resize(v, 3)
    np.rollaxis(x, 1)
    np.round(v, 2)
    np.sinc(v)
    np.sort_complex(v)
    np.squeeze(v[:, None])
    np.swapaxes(x, 0, 1)
    np.transpose(x)
    np.unravel_index(i, (3, 3))
    np.unstack(x, axis=1)
    np.unwrap(v)
    np.vectorize(lambda t: t * 2)(v)
    np.vander(v, 3)
    np.where(v > 0, v, 0)
    np.zeros_like(v)
    np.insert(v, 0, 5.0)
    np.append(v, 1.0)
    np.packbits(i > 0)
    np.unpackbits(i.astype(np.uint8))
    np.require(v)
    np.fromfunction(lambda k: k * 2, (len(v),))
    np.select([v > 0], [v])
    np.choose(i, [v, v, v])
    np.nan_to_num(v)
    np.trapezoid(v)
    np.ediff1d(v)
    np.diff(v)
    np.cov(x.T)
    np.corrcoef(x.T)
    np.average(v, weights=v * v)
    np.cross(x[:, :3], x[:, 1:])
    np.kron(v, np.ones(2))
    np.linalg.cond(a + 5*np.eye(len(v)))
    np.arange(len(v), 0, -2)
    np.amax(v)
    np.amin(x, 0)
    np.angle(v + 1j)
    np.around(v, 1)
    np.where(False, np.empty(len(v)), v)
    np.row_stack((v, v))
    abs(np.linalg.eig(a)[0]).sum()
    np.linalg.lstsq(a + 5*np.eye(len(v)), v, rcond=None)[0]
    abs(np.linalg.qr(a)[1])
    np.linalg.svd(a)[1]
    np.delete(x, -1, 0)
    np.squeeze(x[:, :1])
    np.matvec(a, v)
    np.vecmat(v, a)
    np.vecdot(x, x)
    np.ldexp(v, i)
    np.linalg.cholesky(a @ a.T + np.eye(len(v)))
    np.linalg.det(a)
    np.linalg.eigvalsh(a)
    np.linalg.eigh(a)[0]
    np.linalg.slogdet(a)
    np.linalg.norm(v)
    np.linalg.matrix_norm(a)
    np.linalg.vector_norm(v)
    np.linalg.matrix_power(a, 3)
    np.linalg.multi_dot([x.T, a, x])
    np.linalg.tensordot(x, x, axes=((0,), (0,)))
    np.roll(v, len(v) // 2)
    np.linalg.trace(a)
    np.linalg.vecdot(x, x)
    np.linalg.outer(v, v)
    np.linalg.matmul(a, a)
    np.linalg.matrix_transpose(a)
    np.linalg.diagonal(a)
    np.linalg.cross(x[:, :3], x[:, 1:])
    np.linalg.svdvals(a)
    np.linalg.pinv(a)
    np.linalg.matrix_rank(a)
    np.linalg.tensorsolve(a + 5*np.eye(len(v)), v)
    np.linalg.tensorinv(a + 5*np.eye(len(v)), 1)
    np.linalg.eigvals(a + a.T + 1j)[:0]
    np.fft.fft(v)
    np.fft.fftshift(v)
    np.fft.ifftshift(v)
    np.fft.fftfreq(len(v))
    np.fft.rfftfreq(len(v))
    np.fft.fft2(x)
    np.fft.fftn(x, axes=(1, 0))
    np.fft.hfft(v)
    np.fft.ifft(v)
    np.fft.ifft2(x)
    np.fft.ifftn(x, axes=(1, 0))
    np.fft.ihfft(v)
    np.fft.irfft(v)
    np.fft.irfft2(x)
    np.fft.irfftn(x, axes=(1, 0))
    np.fft.rfft(v)
    np.fft.rfft2(x)
    np.fft.rfftn(x, axes=(1, 0))
"""

METHODS = """
    x.T @ x
    (v > 0).all()
    (x > 1).any(0)
    x.argmax(0)
    v.argmin()
    v.argpartition(0)[0]
    v.argsort()
    i.astype(np.float32)
    i.choose([v, v, v])
    v.clip(-1, 1)
    (v + 1j).conj()
    (v + 1j).conjugate()
    v.copy()
    v.cumprod()
    x.cumsum(0)
    x.diagonal(-1)
    a.dot(v)
    x.flatten()
    (v * 2j).imag
    a.mT
    x.max(0)
    x.mean(0)
    x.min(1)
    x.prod(0)
    x.ravel()
    (v + 1j).real
    x.repeat(2, 0)
    x.reshape(-1, 2)
    v.round(1)
    np.sort(v).searchsorted([0.0, 0.5])
    v.view("i4")
    (v > 0).nonzero()
    v.compress(v > 0)
    v.nbytes
    v.itemsize * v
    v.ndim
    v * v.flags.writeable
    v * (v.base is None)
    v.size * v
    v.shape[0] * v
    v.astype(v.dtype)
    v.to_device("cpu")
    len(v.device)
    v[:, None].squeeze()
    v.std()
    x.sum(0)
    x.swapaxes(0, 1)
    v.take(i)
    a.trace(1)
    x.transpose(1, 0)
    x.var(0)
    [*x[:1].flat]
"""


def copied(x, v, a, i):
    out = np.zeros(v.shape)
    np.copyto(out, v)
    return out


def diagonal_filled(x, v, a, i):
    out = a + 0
    np.fill_diagonal(out, 2.0)
    return out


def put(x, v, a, i):
    out = v + 0
    np.put(out, [0, -1], [5.0, 6.0])
    return out


def put_along_axis(x, v, a, i):
    out = x + 0
    np.put_along_axis(out, np.zeros((len(v), 1), int), 7.0, 1)
    return out


def placed(x, v, a, i):
    out = v + 0
    np.place(out, out > 0, v)
    return out


def put_by_mask(x, v, a, i):
    out = v + 0
    np.putmask(out, out > 0, -1.0)
    return out


def filled(x, v, a, i):
    out = v + 0
    out.fill(2.0)
    return out


def put_by_method(x, v, a, i):
    out = v + 0
    out.put([0, -1], [5.0, 6.0])
    return out


def partitioned(x, v, a, i):
    out = v + 0
    out.partition(0)
    return out[0]


def sorted_in_place(x, v, a, i):
    out = v + 0
    out.sort()
    return out


ASSIGNING_METHODS = {
    "fill": filled,
    "put": put_by_method,
    "partition": partitioned,
    "sort": sorted_in_place,
}
ASSIGNED = {
    "copyto": copied,
    "place": placed,
    "fill_diagonal": diagonal_filled,
    "put": put,
    "put_along_axis": put_along_axis,
    "putmask": put_by_mask,
}
# Reasons, and what has none but them.
REASONS = {
    "times are no dtype of programs": "isnat",
    "a text of values, or a file of them, which nobody knows while tracing": """
        array2string array_repr array_str save savez item tolist""",
    "the order that NumPy would choose depends on the sizes": "einsum_path",
    "a class, of which a traced array is no instance": "ndarray",
    "they depend on the sizes, and are numbers of Python": "strides",
}
WITHOUT = {name: reason for reason, names in REASONS.items() for name in names.split()}
# They have no functions of floating-point numbers.
OF_INTEGERS = {
    *("bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not"),
    *("bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm"),
    *("left_shift", "right_shift"),
}


def listed(section):
    """The names that the page lists in a section."""
    part = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if re.fullmatch(r"(`\w+` ?)+", line)]
    return [name for line in lines for name in re.findall(r"`(\w+)`", line)]


def of_ufunc(name):
    """An expression of a universal function."""
    ufunc = getattr(np, name)
    operand = "i" if name in OF_INTEGERS else "v"
    return f"np.{name}({', '.join([operand, f'{operand} + 1'][: ufunc.nin])})"


UFUNCS = [
    of_ufunc(name)
    for name in listed("numpy")
    if isinstance(getattr(np, name, None), np.ufunc)
    and name not in WITHOUT
    and f"np.{name}(" not in NUMPY + FURTHER
]


@pytest.mark.parametrize("texts", groups("\n".join(UFUNCS) + FURTHER, 30), ids=lambda t: t[0])
@one_in(3)
def test_a_function_gives_what_numpy_gives(texts):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert_agree(texts, function(texts))


def test_assignments_give_what_numpys_give():
    def assigned(*args):
        return [f(*args) for f in ASSIGNED.values()]

    assert_agree(list(ASSIGNED), assigned, transpile.jit(assigned))


@pytest.mark.parametrize("texts", groups(METHODS, 60), ids=lambda t: t[0])
def test_a_method_gives_what_numpys_gives(texts):
    assert_agree(texts, function(texts))

    def assigned(*args):
        return [f(*args) for f in ASSIGNING_METHODS.values()]

    assert_agree(list(ASSIGNING_METHODS), assigned, transpile.jit(assigned))


# What an expression may need besides.
NAMES = {"np": np, "io": io, "PATH": __file__, "SAVED": io.BytesIO()}
np.save(NAMES["SAVED"], np.arange(3.0).sum())
NAMES["SAVED"] = NAMES["SAVED"].getvalue()


def of_source(texts, folder):
    """The function that returns all of these expressions, which Python can read again."""
    lines = ["def f(x, v, a, i):", "    n = len(v)", "    return (", *(f"{t}," for t in texts), ")"]
    path = folder / "expressions.py"
    path.write_text("\n".join(lines))
    return runpy.run_path(str(path), NAMES)["f"]


@pytest.mark.parametrize("texts", groups(USES, 20), ids=lambda t: t[0])
@one_in(5)
def test_integers_may_be_sizes(texts, tmp_path):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        f = of_source(texts, tmp_path)
        assert_agree(texts, f, transpile.jit(f))


@pytest.mark.parametrize("texts", groups(LENGTHS.rstrip() + KNOWN, 50), ids=lambda t: t[0])
def test_what_is_known_while_tracing_and_what_the_program_counts(texts, tmp_path):
    f = of_source(texts, tmp_path)
    assert_agree(texts, f, transpile.jit(f))


SECTIONS = ("numpy", "numpy.linalg", "numpy.fft", "methods and attributes of arrays")


def tried(section):
    """The names of a section that an expression has."""
    texts = "\n".join([NUMPY, OWN, FURTHER, USES, LENGTHS, KNOWN, *UFUNCS])
    if section == SECTIONS[-1]:
        names = {name for name in re.findall(r"\.(\w+)", METHODS) if hasattr(np.ndarray, name)}
        return names | {*ASSIGNING_METHODS}
    names = set(re.findall(re.escape(section.replace("numpy", "np")) + r"\.(\w+)", texts))
    return names | ({*ASSIGNED} if section == "numpy" else set())


@pytest.mark.parametrize("section", SECTIONS)
def test_every_function_of_the_page_has_an_expression_or_a_reason(section):
    names = set(listed(section))
    assert len(names) > 15
    assert names - tried(section) == names & {*WITHOUT}
    assert tried(section).isdisjoint(WITHOUT)


def figures():
    """The table of the page about runtime sizes, and the reasons behind it."""
    yield "| | with runtime sizes | of |"
    yield "|---|--:|--:|"
    counts = [(s, len({*listed(s)} & tried(s)), len(listed(s))) for s in SECTIONS]
    for section, works, of in [*counts, ("all", *map(sum, [*zip(*counts, strict=True)][1:]))]:
        yield f"| {section} | {works} | {of} |"
    yield ""
    yield "| without | why |"
    yield "|---|---|"
    for reason, names in REASONS.items():
        yield f"| {' '.join(f'`{name}`' for name in names.split())} | {reason} |"


def test_the_page_says_how_many_functions_take_runtime_sizes():
    assert "\n".join(figures()) in (DOCS / "runtime_sizes.md").read_text()
