"""Forms of calls that NumPy takes besides arrays by their names: lists beside arrays, the only axis
of an array that has none, `out` at its place, casts, and what their errors are."""

import numpy as np
import pytest
from helpers import assert_same
from thorough import one_in

import transpile
from transpile.errors import UnsupportedError

X = np.array([3.0, -1.5, 0.0, 2.0, 5.5, -0.0])
I = np.array([2, 5, 2, -1])
Z = np.full(6, -0.0)
ONE = np.float32(1.5)


def lists(x, i, z, one):
    rows = [3.0, 0, 2, 2, 1, 1]
    yield from (x == rows, rows != x, x < rows, rows >= x, x - rows, tuple(rows) / x)
    yield from (rows @ x, x[:2] * [2, 3], [1, 2] + x[0], x[1] == [0, -1.5], x ** [2] * 6)
    yield from (np.maximum([x[0], 1.0], [x[1], 7]), np.add([x[0], x[1]], 1))
    yield from (np.maximum.reduce([x, z, x[::-1]]), np.logical_or.reduce([x > 2, x < 0]))
    yield from (np.isclose(x, x + 1, rtol=[0.1] * 6, atol=[0, 1, 0, 1, 0, 1]),)
    yield from (i.astype("u8") == np.arange(4), i.astype("u8") > [2, -5, 2, 9])
    yield from (np.insert(x, [1], [7, 8]), np.insert(x.reshape(3, 2), [1], [7, 8, 9], axis=1))
    yield from (np.insert(x, x > 2, 9.0), np.insert(x, [2], []))
    yield from (np.add.reduceat(x, []), np.add.reduceat(x.reshape(2, 3), [], axis=1))


def the_only_axis(x, i, z, one):
    folds = (np.sum, np.prod, np.any, np.all, np.max, np.min, np.ptp, np.argmax, np.argmin)
    for fold in (*folds, np.nansum, np.nanmax, np.nanargmin, np.count_nonzero):
        yield from (fold(x[0], axis=0), fold(x[1], axis=-1))
    yield from (x[4].max(axis=0, keepdims=True), np.take(x[1], [0, -1, 0], axis=0))
    yield np.sum(x[0], axis=0, keepdims=True, initial=2.0)


def numbers_beside_arrays(x, i, z, one):
    yield from (np.concatenate([one, 1.0, x.astype("f4")], axis=None), np.concatenate([x, [1]]))
    yield from (np.choose(i % 2, [0.5, x[:4].astype("f4")]), np.choose(i % 2, [-1, i.astype("i2")]))
    yield from (np.var(x, dtype="D"), x.std(dtype="F"), np.var(x * 1j, dtype="D"))
    yield from (
        np.nanvar(x, dtype="f4"),
        np.nanstd(x * 1j, dtype="F"),
        np.unique(x * np.nan, axis=0),
    )
    yield np.add(x, 4.0, casting="equiv")


def sums_from_negative_zero(x, i, z, one):
    rows = np.stack([z, x, -x])
    yield from (np.sum(z, initial=-0.0), np.sum(z), np.sum(rows, axis=1, initial=-0.0))
    yield from (z[:0].sum(initial=-0.0), np.sum(rows, axis=0, initial=-0.0, where=rows != 2))
    yield from (np.sum(z.astype("f2"), initial=-0.0), z[0].sum(initial=-0.0))


def outputs(x, i, z, one):
    whole, at = np.zeros(6, int), np.zeros(2, int)
    rows, most, cut = np.zeros((2, 6)), np.zeros(6), z
    np.add(x, 0.5, out=whole, casting="unsafe")
    np.add(x, 1, out=rows)
    np.multiply(x[0], 2, rows[0], where=x > 0)
    np.cumsum(x, 0, None, most)
    np.argmax(x.reshape(2, 3), 1, at)
    yield from (whole, rows, most, at, x.clip(-1, 2, out=cut), cut)
    yield from (x.conj(np.zeros(6, "D")), np.add.reduce(x.reshape(2, 3), 0, None, np.zeros(3)))


def elements_in_turn(x, i, z, one):
    for ufunc, values in (
        (np.divide, [2.0, 3, 4, 8]),
        (np.fmax, [1.0, np.nan, 3, -9]),
        (np.less, 2.5),
    ):
        y = x.copy()
        ufunc.at(y, i, values)
        yield y
    for ufunc in (np.left_shift, np.divide):
        y = np.arange(6) + i[0]
        ufunc.at(y, i, 3)
        yield y
    y = x.copy()
    np.negative.at(y, [1, 1, 4])
    np.square.at(y, y > 3)
    y, rows = y, x.reshape(3, 2).copy()
    np.hypot.at(rows, ([0, 0, 2], slice(None)), [3.0, 4.0])
    yield from (y, rows)


def without_copies(x, i, z, one):
    y = x / z
    same = np.nan_to_num(y, False, 1.0, posinf=2.0, neginf=3.0)
    yield from (y, same, np.bincount(np.abs(i).astype("u8"), minlength=6))


def zeros_among_singular_values(x, i, z, one):
    yield from np.linalg.svd(np.diag(x[:3] - 3), hermitian=True)
    yield from (np.cov(x.reshape(1, 6), rowvar=False, ddof=0), np.cov(x, rowvar=False))


FORMS = [
    *(lists, the_only_axis, numbers_beside_arrays, sums_from_negative_zero, outputs),
    *(elements_in_turn, without_copies, zeros_among_singular_values),
]


@pytest.mark.parametrize("form", FORMS)
@one_in(2)
def test_results_are_those_of_numpy(form):
    arguments = (X, I, Z, ONE)
    with np.errstate(all="ignore"):
        want = list(form(*[np.copy(a) if np.ndim(a) else a for a in arguments]))
    got = transpile.jit(lambda *args: list(form(*args)))(*map(np.copy, arguments))
    assert len(got) == len(want)
    for number, (ours, numpys) in enumerate(zip(got, want, strict=True)):
        numpys = np.asarray(numpys)
        assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape), number
        np.testing.assert_allclose(ours, numpys, rtol=1e-6, err_msg=str(number))
        if numpys.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(ours), np.signbit(numpys), str(number))


def test_traced_indices_out_of_range_change_nothing():
    def divided(x, i):
        np.divide.at(x, i, 2.0)
        return x

    np.testing.assert_array_equal(
        transpile.jit(divided)(X.copy(), np.array([0, 9, -7])), [1.5, *X[1:]]
    )
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        transpile.jit(lambda x: divided(x, [0, 9]))(X.copy())


ERRORS = [
    (lambda x: np.add(x, 4, casting="equiv"), "cannot cast Python int to float64"),
    (lambda x: np.add(x, 4.0, dtype="f4", casting="equiv"), "Python float to float32"),
    (lambda x: np.add(x, x, dtype="f4", casting="equiv"), "with casting rule 'equiv'"),
    (lambda x: np.add(x, x, out=np.zeros(6, int)), "with casting rule 'same_kind'"),
    (lambda x: np.stack([x, x], dtype=int), "according to the rule 'same_kind'"),
    (lambda x: np.hstack([x, x], dtype="f4", casting="safe"), "according to the rule 'safe'"),
    (lambda x: np.ediff1d(x.astype(int), to_end=1.5), "dtype of `to_end` must be compatible"),
    (lambda x: np.nanmean(x, dtype=int), "dtype must be inexact"),
    (lambda x: np.nanvar(x, dtype=bool), "dtype must be inexact"),
    (lambda x: np.clip(x, 1, 2, min=3), "is forbidden"),
    (lambda x: np.broadcast_to(x[:1], (-1,)), "must be non-negative"),
    (lambda x: np.linalg.norm(x.reshape(1, 2, 3), None, (0, 1, 2)), "Improper number of dim"),
    (lambda x: np.tensordot(x.reshape(2, 3), x.reshape(2, 3), ([1, 1], [1, 1])), "duplicate axes"),
    (lambda x: np.max(x[0], axis=1), "axis 1 is out of bounds"),
    (lambda x: np.mean(x[0], axis=0), "axis 0 is out of bounds"),
    (lambda x: np.sum(x[0], axis=(0,)), "axis 0 is out of bounds"),
    (lambda x: np.full_like(x, 1000, dtype="i1"), "Python integer 1000 out of bounds for int8"),
    (lambda x: np.negative.at(x, 1, 2.0), "second operand provided"),
    (lambda x: np.divide.at(x, 1), "second operand needed"),
    (lambda x: np.insert(x.astype("i1"), 0, 300), "out of bounds for int8"),
    (lambda x: np.insert(x.astype("u1"), [0, 1], [1, -3]), "out of bounds for uint8"),
    (lambda x: np.pad(x.astype("i1"), 1, constant_values=300), "out of bounds for int8"),
    (lambda x: np.pad(x.astype("i1"), 1, constant_values=(0, 300)), "out of bounds for int8"),
    (lambda x: np.round(x, 1.0), "'float' object cannot be interpreted as an integer"),
    (lambda x: np.nansum(x.reshape(2, 3), axis=True), "an integer is required"),
    (lambda x: x.reshape(2, 3).var(axis=(0, True)), "an integer is required"),
    (lambda x: x.cumsum(axis=False), "an integer is required for the axis"),
    (lambda x: np.argsort(x, axis=False), "an integer is required for the axis"),
    (lambda x: np.concatenate([x, x], axis=False), "an integer is required for the axis"),
    (lambda x: np.take(x, [0], axis=False), "an integer is required for the axis"),
    (lambda x: np.squeeze(x[:1], axis=False), "an integer is required for the axis"),
    (lambda x: np.repeat(x, 2, axis=False), "an integer is required for the axis"),
    (lambda x: np.add.reduceat(x, [0, 1], axis=False), "an integer is required"),
    (lambda x: x.reshape(2, 3).transpose(True, 0), "an integer is required"),
    (lambda x: x.reshape(True, -1), "an integer is required"),
    (lambda x: np.broadcast_to(x, (True, 6)), "an integer is required"),
    (lambda x: np.fft.fft(x, True), "an integer is required"),
]


def test_bools_are_axes_where_numpys_are_in_python():
    def f(x):
        y = x.reshape(2, 3)
        kept = np.flip(y, True), np.roll(y, True, axis=True), np.stack([y, y], axis=True)
        return *kept, np.median(y, axis=True), np.diff(y, axis=False), np.tile(y, True)

    assert_same(f, X)


@pytest.mark.parametrize(("call", "words"), ERRORS)
def test_errors_are_those_of_numpy(call, words):
    with pytest.raises((TypeError, ValueError, IndexError, OverflowError)) as numpys:
        call(X.copy())
    with pytest.raises((TypeError, ValueError, IndexError, OverflowError), match=words) as ours:
        transpile.make_jaxpr(call)(X)
    assert issubclass(numpys.type, ours.type)


def test_a_list_is_repeated_and_not_multiplied_by_a_number():
    tripled = transpile.jit(lambda n: np.array([0.5, 1.0] * n))
    np.testing.assert_array_equal(tripled(3), [0.5, 1.0] * 3)
    assert transpile.jit(lambda k: k == [1])(3).item() is False


SWAPPED = X.astype(">f8")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x[1:].reshape(-1, 1),
        lambda x: x.copy(),
        lambda x: np.sort(x)[[2, 3]],
        lambda x: np.roll(x, 2),
        lambda x: x * np.full_like(x, 2),
        lambda x: transpile.lax.fori_loop(0, 3, lambda i, y: y * 2, x),
    ],
)
@one_in(2)
def test_elements_in_another_byte_order_are_no_results(function):
    jitted = transpile.jit(function)
    jitted(X)
    for call in (jitted, jitted.lower(X).compile()):
        with pytest.raises(UnsupportedError, match=r"argument 'x' of .* in the byte order of"):
            call(SWAPPED)


def test_arrays_in_another_byte_order_are_read_and_assigned_to():
    def f(x):
        x[0] = 7.0
        return x, x + 1, np.where(x > 3, x, 0), x.cumsum(), np.maximum(x, x), x.max()

    swapped, expected = SWAPPED.copy(), SWAPPED.copy()
    for ours, numpys in zip(transpile.jit(f)(swapped), f(expected), strict=True):
        assert ours.dtype.str == numpys.dtype.str
        np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.view(">f8"), "bytes in this machine's order"),
        (lambda x: x.astype(">f4"), "in the byte order of other machines"),
        (lambda x: (x, SWAPPED), "in the byte order of other machines"),
    ],
)
def test_bytes_in_another_order_are_refused(function, words):
    with pytest.raises(UnsupportedError, match=words):
        transpile.make_jaxpr(function)(X)


@pytest.mark.parametrize("function", [np.nanargmax, np.nanargmin])
def test_positions_among_nothing_but_nan(function):
    checked = transpile.jit(lambda x: function(x, axis=1), check_bounds=True)
    x = np.array([[np.nan, 1.0, 3.0], [2.0, np.nan, -np.inf]])
    np.testing.assert_array_equal(checked(x), function(x, axis=1))
    x[1] = np.nan
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        checked(x)
    assert transpile.jit(lambda x: function(x, axis=1))(x)[1] == -1
