"""Every function that docs/numpy.md lists has an expression over an axis of a runtime size that
gives what NumPy gives, here or in test_functions_of_runtime_sizes.py, or a reason against one."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from test_functions_of_runtime_sizes import NUMPY, OWN, assert_agree, function, groups

import transpile

PAGE = (Path(__file__).parents[2] / "docs" / "numpy.md").read_text()

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
    np.put(out, [0, 1], [5.0, 6.0])
    return out


def put_along_axis(x, v, a, i):
    out = x + 0
    np.put_along_axis(out, np.zeros((len(v), 1), int), 7.0, 1)
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
    out.put([0, 1], [5.0, 6.0])
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
METHODS_WITHOUT = {
    "known while tracing": "device dtype itemsize nbytes ndim shape size to_device",
    "as long as values say: test_lengths_of_values.py": "compress nonzero",
    "Python's numbers, which are not known while tracing": "item tolist",
}
ASSIGNED = {
    "copyto": copied,
    "fill_diagonal": diagonal_filled,
    "put": put,
    "put_along_axis": put_along_axis,
    "putmask": put_by_mask,
}
# Reasons, and what has none but them.
REASONS = {
    "times are no dtype of programs": "isnat",
    "it makes no array, or one of what is known while tracing": """
        array2string array_repr array_str base_repr binary_repr broadcast broadcast_shapes can_cast
        common_type einsum_path errstate finfo from_dlpack frombuffer fromfile fromiter frompyfunc
        fromstring get_printoptions iinfo iscomplexobj isdtype isrealobj isscalar issubdtype
        iterable load min_scalar_type mintypecode ndarray ndenumerate ndindex printoptions
        promote_types result_type save savez set_printoptions typename shape size""",
    "its result is as long as values say: test_lengths_of_values.py": """
        argwhere compress extract flatnonzero intersect1d nonzero place setdiff1d setxor1d
        trim_zeros union1d unique unique_all unique_counts unique_inverse unique_values""",
    "its steps, or a table that it makes, depend on the number of elements": """
        mask_indices poly polydiv tril_indices tril_indices_from triu_indices_from""",
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
def test_a_function_gives_what_numpy_gives(texts):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert_agree(texts, function(texts))


def test_assignments_give_what_numpys_give():
    def assigned(*args):
        return [f(*args) for f in ASSIGNED.values()]

    assert_agree(list(ASSIGNED), assigned, transpile.jit(assigned))


@pytest.mark.parametrize("texts", groups(METHODS, 50), ids=["all"])
def test_a_method_gives_what_numpys_gives(texts):
    assert_agree(texts, function(texts))

    def assigned(*args):
        return [f(*args) for f in ASSIGNING_METHODS.values()]

    assert_agree(list(ASSIGNING_METHODS), assigned, transpile.jit(assigned))


def test_every_method_has_an_expression_or_a_reason():
    tried = {name for name in re.findall(r"\.(\w+)", METHODS) if hasattr(np.ndarray, name)}
    without = {name for names in METHODS_WITHOUT.values() for name in names.split()}
    names = set(listed("methods and attributes of arrays"))
    assert names - tried - {*ASSIGNING_METHODS} == without
    assert {*ASSIGNING_METHODS} <= names


@pytest.mark.parametrize("section", ["numpy", "numpy.linalg", "numpy.fft"])
def test_every_function_of_the_page_has_an_expression_or_a_reason(section):
    expressions = "\n".join([NUMPY, OWN, FURTHER, *UFUNCS])
    tried = set(re.findall(re.escape(section.replace("numpy", "np")) + r"\.(\w+)", expressions))
    names = set(listed(section))
    assert len(names) > 15
    assert names - tried - {*ASSIGNED, *WITHOUT} == set()
    if section == "numpy":
        assert {*ASSIGNED, *WITHOUT} <= names and not tried & {*ASSIGNED, *WITHOUT}
