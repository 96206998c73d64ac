"""Many updates of few elements accumulate in private tables."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import assert_same, ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile.ir.loop_ir import For, Update
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.privatized_scatters import most_parts, privatize_scatters
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level


# Three tables for a few updates.
TABLES = {
    "fewest_updates": 8,
    "updates_of_an_element": 2,
    "scatter_tables": 3,
    "subscript_block": 4,
}
SMALL = Options(machine=Machine(**TABLES))


def combined(op, start, index, values):
    return getattr(transpile.numpy.asarray(start).at[index], op)(values)


def reference(op, start, index, values):
    out = start.copy()
    index = np.where(index < 0, index + len(start), index)
    kept = (index >= 0) & (index < len(start))
    function = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    with np.errstate(invalid="ignore"):
        function.at(out, index[kept], values[kept])
    return out


def counted(x):
    return transpile.numpy.histogram(x, bins=5, range=(-2, 2))[0]


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("count", [24, 25, 31, 48])
@pytest.mark.parametrize(
    "op, dtype",
    [
        (op, dtype)
        for op in ("add", "multiply", "min", "max")
        for dtype in ("f4", "f8", "i4", "u1")
        if op != "multiply" or dtype[0] != "f"  # the order decides which products overflow
    ],
)
@one_in(3)
def test_tables_give_the_same_as_one_update_after_another(op, dtype, count, lanes):
    machine = Machine(**TABLES, least_subscript_work=0 if lanes else 1000)
    rng = np.random.default_rng(count)
    start = np.array([3, 0, 1, 2], dtype)
    index = rng.integers(-6, 6, count)
    values = rng.choice([0.5, 1, 2, -1] if dtype[0] == "f" else [1, 2, 3], count).astype(dtype)
    program = lowered(lambda *args: combined(op, *args), start, index, values)
    after = assert_steps_agree(
        program, [start, index, values], privatize_scatters, Options(machine=machine)
    )
    assert [loop.symbol.name for loop in loops_of(after)].count("part") == 2
    (table,) = set(after.temporaries) - set(program.temporaries)
    assert table.shape == (3, 5)


def test_what_only_prepares_updates_is_part_of_them():
    x = np.round(ordinary("f4", (40,)) * 4) / 4
    program = lowered(counted, x)
    after = assert_steps_agree(program, [x], privatize_scatters, SMALL)
    # The last kernel leaves out those that are in no bin.
    assert len(program.kernels) == 3 and len(after.kernels) == 2
    made = {b.name for b in program.temporaries} - {b.name for b in after.temporaries}
    assert made  # the numbers of the bins are no array any more
    innermost = [p for p in loops_of(after) if not any(isinstance(s, For) for s in p.body)]
    assert any(
        len(p.body) > 2 and not any(isinstance(s, Update) for s in p.body) for p in innermost
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: transpile.numpy.zeros(4).at[x[:6] % 4].add(1.0),  # few updates
        lambda x: transpile.numpy.zeros(40).at[x % 40].add(1.0),  # a large table
        lambda x: transpile.numpy.zeros(4, int).at[x % 4].set(x),  # the last one wins
        lambda x: np.cumsum(x),
        lambda x: x.sum(),
    ],
)
def test_other_loops_stay(f):
    program = lowered(f, np.arange(40))
    assert privatize_scatters(program, SMALL) == program


def test_sizes_alone_decide_about_tables():
    usual = Machine()
    assert most_parts(10_000_000, 256, usual) == Machine.scatter_tables
    assert most_parts(10_000_000, 1_000_000, usual) == 1
    assert most_parts(10_000_000, 200_000, usual) == 6
    assert most_parts(1000, 4, usual) == 0 and most_parts(10_000_000, 0, usual) == 0


def test_parts_run_on_threads_and_their_places_in_lanes():
    x = np.zeros(200_000, "f4")
    text = transpile.jit(counted).lower(x).as_text("loops")
    assert "for part in 0..16 parallel" in text
    program = vectorize_loops(privatize_scatters(lowered(counted, x), Options()), Options())
    (places,) = (p for p in loops_of(program) if p.simd and len(p.body) > 2)
    assert any(s.dtype == np.int64 for s in walk(places.body) if hasattr(s, "constant"))


@settings(max_examples=tries(10), deadline=None)
@given(
    st.sampled_from(["add", "min", "max"]), st.sampled_from(["f4", "f8", "i4"]), st.integers(0, 9)
)
def test_many_updates_agree_with_numpy_through_c(op, dtype, seed):
    rng = np.random.default_rng(seed)
    index = rng.integers(-60, 60, 70_000)
    values = rng.integers(-8, 8, 70_000).astype(dtype)
    start = rng.integers(-8, 8, 50).astype(dtype)
    found = transpile.jit(lambda *args: combined(op, *args))(start, index, values)
    np.testing.assert_array_equal(found, reference(op, start, index, values))


def test_signs_of_zeros_nans_and_infinities_are_kept_through_c():
    index = np.resize([0, 1, 2, 3, 4], 80_000)
    start = np.array([-0.0, 0.0, 1.0, -np.inf, 2.0, -0.0])
    values = np.resize([-0.0, -0.0, 0.0, 1.0], 80_000)
    values[7], values[13] = np.nan, np.inf
    found = transpile.jit(lambda *args: combined("add", *args))(start, index, values)
    want = reference("add", start, index, values)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found[[0, 5]]), [False, True])
    found = transpile.jit(lambda *args: combined("max", *args))(start, index, values)
    np.testing.assert_array_equal(found, reference("max", start, index, values))


def test_integers_wrap_around_in_any_table():
    index, values = np.zeros(70_000, int), np.full(70_000, 77, np.int8)
    found = transpile.jit(lambda *args: combined("add", *args))(np.zeros(2, np.int8), index, values)
    assert found.tolist() == [int(np.array(70_000 * 77).astype(np.int8)), 0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("bins", "limits"), [(7, (-1.3, 2.9)), (256, (-4, 4)), (10, (0.1, 0.7))])
def test_histograms_of_many_numbers_agree_with_numpy(dtype, bins, limits):
    rng = np.random.default_rng(0)
    edges = np.histogram_bin_edges(np.zeros(1, dtype), bins, limits)
    near = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)]
    odd = [np.nan, np.inf, -np.inf, -0.0, 1e30, -1e30]
    x = np.concatenate([*near, odd, rng.standard_normal(70_000)]).astype(dtype)
    with np.errstate(invalid="ignore"):
        assert_same(lambda x: np.histogram(x, bins=bins, range=limits)[0], x)


def test_histograms_of_many_integers_agree_with_numpy():
    x = np.random.default_rng(0).integers(-40, 40, 70_000)
    assert_same(lambda x: np.histogram(x, bins=9, range=(-30, 20))[0], x)


def summed(index, values):
    return combined("add", np.zeros(50, "f4"), index, values)


@pytest.fixture(scope="module")
def for_any():
    """Programs of a number of updates that is known at run time."""
    values, index = (transpile.ShapeDtypeStruct(("n",), dtype) for dtype in ("f4", "i8"))
    return {
        counted: transpile.jit(counted).lower(values).compile(),
        summed: transpile.jit(summed).lower(index, values).compile(),
    }


@pytest.mark.parametrize("count", [3, 70_000, 131_071, 200_000])
@one_in(2)
def test_a_runtime_number_of_updates_has_the_tables_of_the_same_number_known_before(count, for_any):
    rng = np.random.default_rng(count)
    x, index = rng.standard_normal(count).astype("f4"), rng.integers(-60, 60, count)
    np.testing.assert_array_equal(for_any[counted](x), np.histogram(x, 5, (-2, 2))[0])
    known = transpile.jit(summed)(index, x)
    np.testing.assert_array_equal(for_any[summed](index, x), known)  # to the bit


def test_the_c_of_a_runtime_number_of_updates_chooses(for_any):
    text = for_any[counted].as_text()
    assert "if (n >= 65536) {" in text and "parts = minimum_i64(n / 48, " in text
    assert "for (int64_t part = 0; part < parts; part++)" in text and "} else {" in text
