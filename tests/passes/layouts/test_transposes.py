"""Transposes sink to where they cost nothing, and the numbers stay as they are."""

import numpy as np
import pytest
from helpers import ordinary
from hypothesis import given
from hypothesis import strategies as st
from passes import after

from transpile import hessian
from transpile.passes.dead_code import eliminate_dead_code
from transpile.passes.layouts.transposes import sink_transposes
from transpile.primitives.rules import apply

X = ordinary("f8", (3, 4), 1)
Y = ordinary("f8", (4, 5), 2)
CUBE = ordinary("f8", (2, 3, 4), 3)


def rows(f, *args):
    """The primitives of f after the pass, the dead ones away."""
    return after(lambda graph: eliminate_dead_code(sink_transposes(graph)), f, *args)


def test_a_value_made_of_broadcasts_and_counts_is_made_in_the_other_order():
    found = rows(lambda v, w: (v[:, None] * w).T, Y[:, 0], Y[0])
    assert found == ["broadcast_in_dim", "broadcast_in_dim", "multiply"]
    found = rows(lambda v: (v[:, None] + count((4, 5), 1)).T, Y[:, 0].astype("i8"))
    assert "transpose" not in found


def count(shape, dimension):
    return apply("iota", shape=shape, dimension=dimension, dtype=np.dtype("i8"))


MADE = {
    "padded": lambda v: np.pad(v, ((1, 0), (0, 2))),
    "sliced": lambda v: v[1:, ::2],
    "reversed": lambda v: v[::-1],
    "joined": lambda v: np.concatenate([v, v * 2], axis=1),
    "an elementary function": lambda v: np.exp(v) * np.exp(v),
    "converted": lambda v: v.astype("f4"),
    "chosen": lambda v: np.where(v > 0, v, -v),
    "reduced": lambda v: np.broadcast_to(v, (3, *v.shape)).max(axis=0),
    "a transpose of another axis": lambda v: np.stack([v.T, v.T]).max(axis=0).T,
}


@pytest.mark.parametrize("name", MADE)
def test_computations_go_along(name):
    found = rows(lambda v, w: MADE[name](v[:, None] - w).T, Y[:, 0], Y[0])
    assert "transpose" not in found


STAYS = {
    "a function of an array in memory": lambda x: np.sin(x).T,
    "a sum of arrays in memory": lambda x: (x + x[::-1]).T,
    "a sum along the first axis": lambda x: np.abs(x[:, None] - x).sum(axis=0).T,
    "a value that is also wanted as it is": lambda x: (np.sin(x), np.sin(x).T),
    "the operand of a product": lambda x: np.sin(x).T @ X,
}


@pytest.mark.parametrize("name", STAYS)
def test_the_walk_across_an_array_is_not_moved_about(name):
    f = STAYS[name]
    assert rows(f, X) == after(eliminate_dead_code, f, X)


def test_a_value_that_is_kept_is_kept_in_the_order_of_its_readers():
    def f(x):
        kept = x / (x * x + 1)
        return (kept * (kept + 1)).T

    found = rows(f, X)
    assert found[0] == "transpose"
    assert found.count("transpose") == 1


def test_a_kept_value_of_two_arrays_stays():
    def f(x, y):
        kept = x / (y * y + 1)
        return (kept * (kept + 1)).T

    assert rows(f, X, X[::-1].copy())[-1] == "transpose"


def test_a_kept_elementary_function_stays():
    """Its vector lanes are filled from rows."""

    def f(x):
        kept = np.exp(x)
        return (kept * (kept + 1)).T

    assert rows(f, X)[-1] == "transpose"


def test_transposes_that_meet_in_a_computation_disappear():
    found = rows(lambda x: np.sin(x.T + np.cos(x.T)).T, X)
    assert found == ["cos", "add", "sin"]


LONG, WIDE = ordinary("f8", (8, 2), 1), ordinary("f8", (2, 9), 2)
LONG_TOO = ordinary("f8", (9, 3), 3)


def test_a_transposed_product_with_a_large_result_exchanges_its_operands():
    assert rows(lambda x, y: (x @ y).T, LONG, WIDE) == ["dot_general"]
    batched, other = ordinary("f8", (3, 8, 2), 3), ordinary("f8", (3, 2, 9), 4)
    assert rows(lambda x, y: np.swapaxes(x @ y, 1, 2), batched, other) == ["dot_general"]
    # The batch cannot move.
    found = rows(lambda x, y: np.moveaxis(x @ y, 0, 2), batched, other)
    assert found == ["dot_general", "transpose"]


def test_a_transposed_product_with_a_small_result_stays():
    """It would have to walk its operands in the wrong order instead."""
    assert rows(lambda x, y: (x @ y).T, WIDE, LONG_TOO) == ["dot_general", "transpose"]


def test_a_product_of_transposed_operands_exchanges_them():
    found = rows(lambda x, y: (x.T @ y.T).T, LONG_TOO, LONG_TOO.T)
    assert found == ["transpose", "transpose", "dot_general"]


VIEWS = [
    lambda x: x.T,
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.swapaxes(x, 0, 1),
    lambda x: x[::-1],
    lambda x: np.sin(x),
    lambda x: x * 2 + x,
    lambda x: np.pad(x, 1),
    lambda x: x[:, :1] + x,
    lambda x: x + np.arange(x.shape[1])[:, None],
    lambda x: np.where(x > 0, x, np.cos(x)),
    lambda x: x.reshape(x.shape[::-1]),
    lambda x: np.cumsum(x, axis=1),
    lambda x: x - x.max(axis=0),
    lambda x: np.matmul(x, np.swapaxes(x, 1, 2)),
    lambda x: np.concatenate([x, x.mean(axis=0, keepdims=True)], axis=0),
    lambda x: x[0, 0] - np.ones(x.shape) * x[0, :, 0][:, None],
    lambda x: x / (x * x + 1) * (x / (x * x + 1) + 1),
]


@given(st.lists(st.sampled_from(VIEWS), min_size=1, max_size=6), st.booleans())
def test_any_chain_of_views_and_computations_keeps_its_numbers(chain, gives_all):
    def f(x):
        found = [x]
        for step in chain:
            found.append(step(found[-1]))
        return found if gives_all else found[-1]

    after(sink_transposes, f, CUBE)


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_every_order_of_three_axes(order):
    def f(u, v, w):
        made = np.exp(u[:, None, None] - v[:, None]) * w
        padded = np.pad(made, ((0, 0), (1, 0), (0, 2)))[:, :, ::-1]
        joined = np.concatenate([padded[:, 1:], made], axis=2)
        return np.transpose(joined, order)

    args = [ordinary("f8", (n,), n) for n in (2, 3, 4)]
    assert "transpose" not in rows(f, *args)


def test_the_second_derivatives_of_a_chain_are_made_in_one_order():
    x = ordinary("f8", (7,))

    def energy(x):
        return ((x[1:] - x[:-1] ** 2) ** 2).sum()

    assert "transpose" not in rows(lambda x: hessian(energy)(x), x)
