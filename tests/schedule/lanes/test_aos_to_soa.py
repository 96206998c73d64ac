"""Arrays of structures: which are transposed before vector loops, and that results stay."""

import re

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile import jit, lax
from transpile.ir.loop_ir import For, Store
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.aos_to_soa import aos_to_soa

pytestmark = pytest.mark.full_level


def points(*shape, dtype="f8"):
    """Small integers: sums of them have the same bits in any order."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


def distances(p):
    """Of all pairs; each sum is used up where it is made."""
    return np.abs(p[:, None, :] - p[None, :, :]).sum(axis=2).max(axis=1)


def of_two(p):
    """Other points than those that they are compared with."""
    return np.abs(p[:40, None, :] - p[None, :, :] * 2).sum(axis=2).max(axis=1)


def neighbours(p):
    """Rows some way on."""
    return sum((p[None, k : 40 + k, 0] * p[:, None, 1]).max(axis=1) for k in (1, 5))


def of_batch(p):
    return np.abs(p[:, :, None, :] - p[:, None, :, :]).sum(axis=3).max(axis=2)


def of_matrices(p):
    """Rows that are small matrices."""
    return (p[:, None, 0, 1] * p[None, :, 1, 0] + p[None, :, 0, 0]).max(axis=1)


def in_loop(p):
    """Points that another iteration moves: they are copied in each."""

    def step(_, p):
        return p + np.abs(p[:, None, :] - p[None, :, :]).sum(axis=2).max(axis=1)[:, None]

    return lax.fori_loop(0, 2, step, p)


def kept_in_loop(p):
    """Points that stay where they are: copied once."""

    def step(i, far):
        return far + (np.abs(p[:, None, :] - p[None, :, :]).sum(axis=2) + i).max(axis=1)

    return lax.fori_loop(0, 2, step, np.zeros(len(p), p.dtype))


def once(p):
    """Each number is read once."""
    return p[:, 0] * p[:, 1]


def of_column(p):
    """A column of long rows, with all rows."""
    return np.abs(p - p[: p.shape[1], 30]).max(axis=1)


def backwards(p):
    return np.abs(p[:, None, 0] - p[None, ::-1, 1]).max(axis=1)


SEPARATED = {
    "distances": (distances, points(40, 3), 1),
    "distances_of_pairs": (distances, points(33, 2, dtype="f4"), 1),
    "of_two": (of_two, points(50, 3, dtype="i4"), 1),
    "neighbours": (neighbours, points(64, 2), 1),
    "of_batch": (of_batch, points(3, 40, 2), 1),
    "of_matrices": (of_matrices, points(40, 2, 2), 1),
    "in_loop": (in_loop, points(40, 3), 1),
    "kept_in_loop": (kept_in_loop, points(40, 3), 1),
    "long_rows": (neighbours, points(64, Machine.longest_short_row + 1), 1),
    "of_column": (of_column, points(70, 40), 1),
}
LEFT = {
    "few": (distances, points(9, 3)),
    "a column each": (lambda p: p.max(axis=0), points(64, 40)),
    "once": (once, points(100, 3)),
    "along_rows": (distances, points(40, 20)),
    "backwards": (backwards, points(40, 3)),
}


@pytest.mark.parametrize(("f", "p", "count"), SEPARATED.values(), ids=SEPARATED)
@one_in(3)
def test_short_rows_are_copied_by_columns_where_lanes_read_them_often(f, p, count):
    before = lowered(f, p)
    after = assert_steps_agree(before, [p], aos_to_soa)
    made = [b for b in after.temporaries if b not in before.temporaries]
    assert len(made) == count
    assert all(b.name.endswith(("_columns", "_column")) for b in made)


@pytest.mark.parametrize(("f", "p"), LEFT.values(), ids=LEFT)
def test_others_are_read_where_they_are(f, p):
    before = lowered(f, p)
    assert aos_to_soa(before, Options()) == before


def copies_in(body):
    """Which columns the statements of a sequence make, without those in inner loops of the user."""
    nests = (s for s in body if isinstance(s, For) and not s.ordered)
    stores = (s for n in nests for s in walk((n,)) if isinstance(s, Store))
    return [s.buffer for s in stores if s.buffer.endswith("_columns")]


@pytest.mark.parametrize(("f", "outside"), [(in_loop, False), (kept_in_loop, True)])
def test_columns_are_copied_where_the_rows_stay_as_they_are(f, outside):
    p = points(40, 3)
    after = aos_to_soa(lowered(f, p), Options())
    loops = [s for s in statements_of(after, For) if s.ordered]
    assert len(loops) == 1
    assert bool(copies_in(loops[0].body)) != outside


@pytest.mark.parametrize(("f", "p", "count"), SEPARATED.values(), ids=SEPARATED)
@one_in(3)
def test_the_numbers_of_compiled_programs_are_right(f, p, count):
    np.testing.assert_array_equal(jit(f)(p), f(p))
    if f not in (in_loop, kept_in_loop):
        assert len(re.findall(r"_columns?\[", jit(f).lower(p).as_text())) > count


def test_rows_of_a_length_known_at_the_call_are_copied_too():
    by_size = transpile.djit(distances)
    for length in (1, 5, 50):
        p = points(length, 3)
        np.testing.assert_array_equal(by_size(p), distances(p))


@settings(deadline=None, max_examples=tries(8))
@given(st.integers(17, 70), st.integers(2, 5), st.sampled_from(["f4", "f8"]))
def test_forces_between_points_have_the_bits_of_separate_columns(length, width, dtype):
    """Those that the user would have copied himself, special values among them."""

    def force(columns, mass):
        apart = [c[None, :] - c[:, None] for c in columns]
        distance = sum(d * d for d in apart) + np.ones((), mass.dtype)
        return tuple((d * (mass / (distance * np.sqrt(distance)))).max(axis=1) for d in apart)

    random = np.random.default_rng(length)
    p = random.standard_normal((length, width)).astype(dtype)
    p[random.integers(length, size=2), random.integers(width, size=2)] = np.inf, np.nan
    mass = random.random(length).astype(dtype)
    rows = jit(lambda p, mass: force([p[:, k] for k in range(width)], mass))
    columns = jit(force)
    expected = columns([np.ascontiguousarray(p[:, k]) for k in range(width)], mass)
    for ours, theirs in zip(rows(p, mass), expected, strict=True):
        assert ours.tobytes() == theirs.tobytes()
