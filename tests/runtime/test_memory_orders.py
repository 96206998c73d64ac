"""Arguments in any memory layout: those in another order of axes have programs of their own, small
ones with gaps are copied, and the results are NumPy's, calls in C and in Python alike. Large ones
with gaps are in `test_memory_gaps.py`."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile.trace.call_key import memory_layout, shape_and_layout

CUBE = np.arange(24.0).reshape(2, 3, 4)


def in_order(x, order):
    """The same array, so that its transpose by the order is contiguous."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def contiguous(function, *arguments):
    """The result for the same arguments in row-major order."""
    return function(*(np.ascontiguousarray(x) for x in arguments))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_the_order_of_memory_is_found(order):
    x = in_order(CUBE, order)
    assert memory_layout(x) == (() if order == (0, 1, 2) else order)
    assert shape_and_layout(x) == ((2, 3, 4) if order == (0, 1, 2) else (order, (2, 3, 4)))


@pytest.mark.parametrize(
    "x",
    [CUBE[..., ::2], CUBE[::-1], CUBE[:, 1:], np.broadcast_to(CUBE[0, 0], (3, 4)), CUBE[..., 0]],
)
def test_small_arrays_with_gaps_are_rows(x):
    assert memory_layout(x) == ()
    assert shape_and_layout(x) == x.shape


@pytest.mark.parametrize("shape", [(), (5,), (1, 5), (5, 1), (0, 3), (1, 1, 1)])
def test_arrays_that_are_the_same_in_every_order_are_in_that_of_rows(shape):
    assert memory_layout(np.asfortranarray(np.ones(shape))) == ()


def several(x, y):
    return {
        "sum": x + y,
        "one": 2 * x,
        "rows": x.sum(0),
        "all": (x * x).max(),
        "turned": np.swapaxes(y, 0, 2),
        "product": x[0] @ y[0].T,
        "centred": x - x.mean((0, 1)),
        "scan": np.cumsum(y, 1),
        "same": y,
    }


def alike(got, wanted):
    """Equal results, leaf by leaf."""
    for a, b in zip(transpile.tree.leaves(got), transpile.tree.leaves(wanted), strict=True):
        assert type(a) is np.ndarray
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("calls", ["python", "c"])
@one_in(2)
def test_every_pair_of_orders_gives_the_same_results(calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    traced = []

    def function(x, y):
        traced.append(None)
        return several(x, y)

    fast = transpile.jit(function)
    wanted = several(CUBE, -CUBE)
    orders = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)]
    for one, other in itertools.product(orders, repeat=2):
        x, y = in_order(CUBE, one), in_order(-CUBE, other)
        for _ in range(3):
            got = fast(x, y)
            alike(got, wanted)
            assert not any(
                np.may_share_memory(a, b) for a in transpile.tree.leaves(got) for b in (x, y)
            )
    assert len(traced) == 1  # an order is no reason to trace again


@pytest.mark.parametrize("calls", ["python", "c"])
def test_results_lie_as_the_arguments_do(calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    fast = transpile.jit(lambda x, y: (x + 1, x + y, x - x.mean((0, 1)), np.ones_like(x) * x.max()))
    rows, columns = in_order(CUBE, (0, 1, 2)), in_order(CUBE, (2, 1, 0))
    for _ in range(3):
        assert [r.strides for r in fast(rows, columns)] == [rows.strides] * 4
        one, both, centred, _ = fast(columns, columns)
        assert [r.strides for r in (one, both, centred)] == [columns.strides] * 3
        one, both, *_ = fast(columns, rows)
        assert [r.strides for r in (one, both)] == [columns.strides, rows.strides]


def turned(x, y):
    t, centred = np.transpose(x, (2, 0, 1)), x.T - y.T.sum((0, 1))
    return x.T, x.T * 2, t + t.max(), np.moveaxis(y, 0, 1) - 1, centred, (x + 1).T, x - y


@pytest.mark.parametrize("calls", ["python", "c"])
def test_results_of_transposes_lie_as_numpys_do(calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    fast, wanted = transpile.jit(turned), turned(CUBE, -CUBE)
    for _ in range(3):
        got = fast(CUBE, -CUBE)
        alike(got, wanted)
        assert [r.strides for r in got] == [r.strides for r in wanted]
        assert not any(np.may_share_memory(r, CUBE) for r in got)


def test_compiled_programs_give_rows():
    compiled = transpile.jit(turned).lower(CUBE, -CUBE).compile()
    got = compiled(CUBE, -CUBE)
    alike(got, turned(CUBE, -CUBE))
    assert all(r.flags.c_contiguous for r in got)


@pytest.mark.parametrize("calls", ["python", "c"])
def test_programs_for_rows_read_squares_by_columns(calls, monkeypatch):
    """Whose shape is that of their transpose: the program of a stage, or of runtime sizes, takes
    rows whatever the order of axes."""
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    x = in_order(np.arange(9.0).reshape(3, 3), (1, 0))
    skew = transpile.jit(lambda x: x - 2 * x.T)
    fast = [
        skew,
        skew.lower(x).compile(),
        transpile.jit(lambda x: x - 2 * x.T, dynamic_shapes=True),
        transpile.jit(lambda x: x - 2 * x.T, donate_argnums=(0,)),
    ]
    for function in fast:
        for _ in range(3):
            np.testing.assert_array_equal(function(x.copy(order="F")), x - 2 * x.T)


def test_an_argument_that_is_not_read_is_not_copied(monkeypatch):
    """Of one with 8 TiB there would be no memory for a copy."""
    monkeypatch.setenv("TRANSPILE_CALLS", "c")
    huge = np.broadcast_to(np.float64(1), (1 << 20, 1 << 20))
    fast = transpile.jit(lambda x, y: x + 1)
    for x in (CUBE, CUBE[::2], in_order(CUBE, (2, 1, 0))):
        for _ in range(3):
            np.testing.assert_array_equal(fast(x, huge), x + 1)
    assert type(fast.__call__).__name__ == "Caller"


def test_an_argument_of_its_transpose_is_not_copied():
    """The loops read it where it lies: a program for rows would read a copy."""
    x = in_order(np.random.default_rng(0).random((30, 40)), (1, 0))
    fast = transpile.jit(lambda x: 2 * x)
    fast(x)
    (known,) = fast._tracing.table.known.values()
    assert known.specialization.layouts == known.specialization.stored == ((1, 0),)
    assert known.specialization.call.inputs == ((x.dtype, (40, 30)),)


def test_arguments_that_are_written_to_or_donated_are_taken_as_rows():
    def function(x):
        x[0] = 5.0
        return x + 1

    fast = transpile.jit(function)
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        x, y = in_order(CUBE, order), in_order(CUBE, order)
        np.testing.assert_array_equal(fast(x), function(y))
        np.testing.assert_array_equal(x, y)
        assert x.strides == y.strides
    donating = transpile.jit(lambda x: x + 1, donate_argnums=0)
    np.testing.assert_array_equal(donating(in_order(CUBE, (2, 1, 0))), CUBE + 1)


def test_stages_take_rows_whatever_the_layout_they_were_made_with():
    """A saved program has one contract, and so has what `lower` gives."""
    columns = in_order(CUBE, (2, 1, 0))
    fast = transpile.jit(lambda x: x * 2)
    assert fast.lower(columns).as_text() == fast.lower(CUBE).as_text()
    compiled = fast.lower(columns).compile()
    for x in (columns, CUBE, CUBE[::-1]):
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x), x * 2)
    assert compiled(columns).flags.c_contiguous


def test_vmap_grad_and_loops_of_columns():
    x = in_order(np.random.default_rng(1).random((6, 5)), (1, 0))

    def norms(x):
        return transpile.lax.fori_loop(0, 3, lambda _, s: s + np.tanh(x).sum(1), x[:, 0])

    np.testing.assert_allclose(transpile.jit(norms)(x), contiguous(norms, x), rtol=1e-14)
    slope = transpile.grad(lambda x: norms(x).sum())
    np.testing.assert_allclose(transpile.jit(slope)(x), slope(x.copy("C")), rtol=1e-13)
    rows = transpile.vmap(lambda r: r / r.sum(), in_axes=1)
    np.testing.assert_allclose(transpile.jit(rows)(x), rows(x.copy("C")), rtol=1e-14)


LAYOUTS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: np.flip(np.flip(x, 0).copy(), 0),
    "middle": lambda x: np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0),
    "odd": lambda x: unaligned(x),
}
FUNCTIONS = [
    lambda x, y: x + y,
    lambda x, y: (x.T @ y.T.T if x.ndim == 1 else np.sort(x, 0), np.argmax(y), x.sum() + y.max()),
    lambda x, y: (np.where(x > y, x, 0.5), np.concatenate([x, y]), x.reshape(-1), y.ravel()),
    lambda x, y: (np.cumsum(x, -1), np.diff(y, axis=0), np.var(x - y, axis=0), x.min(-1)),
]


def unaligned(x):
    room = np.zeros(x.nbytes + 1, np.uint8)
    odd = np.ndarray(x.shape, x.dtype, room, offset=1)
    odd[...] = x
    return odd


@pytest.mark.parametrize("calls", ["python", "c"])
@settings(max_examples=tries(40))
@given(data=st.data())
def test_drawn_layouts_give_what_rows_give(calls, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    function = data.draw(st.sampled_from(FUNCTIONS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSPILE_CALLS", calls)
        fast = transpile.jit(function)
        for _ in range(3):
            given = [
                LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)))](random.random(shape))
                for _ in range(2)
            ]
            alike(fast(*given), contiguous(function, *given))


@pytest.mark.parametrize("calls", ["python", "c"])
def test_a_result_is_its_own_memory(calls, monkeypatch):
    """Also where the function returns its argument: the memory of a view is the view's alone."""
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    fast = transpile.jit(lambda x: (x, x.T))
    columns = in_order(CUBE, (2, 1, 0))
    for _ in range(3):
        one, other = fast(columns)
        assert not np.may_share_memory(one, columns)
        assert not np.may_share_memory(one, other)
        one[...] = 0
        np.testing.assert_array_equal(other, CUBE.T)
        np.testing.assert_array_equal(columns, CUBE)


UNIT_AXES = {
    "a stack": lambda x: np.stack([x, x * 2]),
    "a stack within": lambda x: np.stack([x, x * 2], 2),
    "a stack of last axes": lambda x: np.stack([x, x * 2], -1),
    "two further axes": lambda x: x[:, None, :, :, None] * 2,
    "an axis of one element that stays": lambda x: np.concatenate([x[:1, None], x[1:2, None]], 1),
}


@pytest.mark.parametrize("name", UNIT_AXES)
@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 2, 1)])
@one_in(2)
def test_results_with_further_axes_of_one_element_lie_as_numpys(name, order):
    function, x = UNIT_AXES[name], in_order(CUBE, order)
    got, wanted = transpile.jit(function)(x), function(x)
    np.testing.assert_array_equal(got, wanted)
    wide = [axis for axis, extent in enumerate(wanted.shape) if extent > 1]
    assert [got.strides[a] for a in wide] == [wanted.strides[a] for a in wide]
