"""What a row says of itself is true: facts against NumPy, on edge values and drawn ones."""

import re
from itertools import product

import numpy as np
import pytest
from rows import drawn, edges, pairs

from transpile.codegen.c_functions import column
from transpile.ir.dims import Dim, Symbol, substitute
from transpile.ir.primitive import TABLE
from transpile.ir.types import (
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    SHORT_NAMES,
    finfo,
    kind_letter,
)
from transpile.primitives.kinds import comparison_of, reduction_by
from transpile.symbols.c_helpers import find
from transpile.symbols.identifiers import is_reserved

BOOLS = (np.False_, np.True_)
ELEMENTWISE = [row for row in TABLE.values() if row.kind == "elementwise"]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def dtypes_of(row):
    return [d for d in DTYPES if kind_letter(d) in row.dtypes]


def cases(fact):
    """The rows of a fact, with each dtype that they take."""
    return [
        pytest.param(row, dtype, id=f"{row.name}-{SHORT_NAMES[dtype]}")
        for row in ELEMENTWISE
        if fact(row)
        for dtype in dtypes_of(row)
    ]


def bits(x):
    """The bits of numbers, all NaNs alike; of complex ones by their parts."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return np.stack([bits(x.real), bits(x.imag)])
    if kind_letter(x.dtype) != "f":
        return x
    x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def assert_same(got, want):
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(bits(got), bits(want))


def random(row):
    return np.random.default_rng(sum(map(ord, row.name)))


def values(row, dtype):
    return np.concatenate([edges(dtype), drawn(dtype, 200, random(row))])


@pytest.mark.parametrize("row, dtype", cases(lambda row: row.commutative))
def test_operands_may_change_places(row, dtype):
    x, y = pairs(dtype, random(row))
    if row.exact:  # of equal numbers an extreme is the first one, and of NaNs as well
        is_plain = (x != y) & (x == x) & (y == y)
        x, y = x[is_plain], y[is_plain]
    if row.name == "multiply" and dtype.kind == "c":  # NumPy rounds one of the two products
        x, y = x[np.abs(x) < 1e3], y[np.abs(x) < 1e3]
        np.testing.assert_allclose(row.numpy(x, y), row.numpy(y, x), rtol=1e-3)
    else:
        assert_same(row.numpy(x, y), row.numpy(y, x))


@pytest.mark.parametrize("row, dtype", cases(lambda row: row.associative))
def test_order_changes_nothing_but_rounding(row, dtype):
    if row.numpy(*edges(dtype)[:2]).dtype != dtype:
        return
    if row.may_reorder(dtype):
        x, y = pairs(dtype, random(row))
        z = random(row).permutation(y)
        assert_same(row.numpy(row.numpy(x, y), z), row.numpy(x, row.numpy(y, z)))
    else:
        x, y, z = (random(row).uniform(1, 2, (3, 99))).astype(dtype)
        error = abs(row.numpy(row.numpy(x, y), z) / row.numpy(x, row.numpy(y, z)) - 1)
        assert np.max(error) < 8 * finfo(dtype).eps


@pytest.mark.parametrize("row, dtype", cases(lambda row: row.involution))
def test_twice_is_not_at_all(row, dtype):
    x = values(row, dtype)
    if row.numpy(x).dtype == dtype:
        assert_same(row.numpy(row.numpy(x)), x)


@pytest.mark.parametrize("row, dtype", cases(lambda row: True))
def test_neutral_and_absorbing_elements(row, dtype):
    x = values(row, dtype)
    neutral, absorbing = row.neutral(dtype), row.absorbing(dtype)
    for element in (neutral, absorbing):
        assert element is None or element.dtype == dtype
    if neutral is not None:
        assert_same(row.numpy(x, np.full_like(x, neutral)), x)
        if row.commutative:
            assert_same(row.numpy(np.full_like(x, neutral), x), x)
    if absorbing is not None:
        whole = np.full_like(x, absorbing)
        assert_same(row.numpy(x, whole), whole)
        assert_same(row.numpy(whole, x), whole)


def test_rows_of_most_programs_have_neutral_elements():
    for dtype in (INT64, FLOAT32, FLOAT64):
        named = {row.name for row in ELEMENTWISE if row.neutral(dtype) is not None}
        assert named >= {"add", "subtract", "multiply", "maximum", "minimum"}


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.exact], ids=str)
def test_what_is_exact_is_the_same_in_float32(row):
    x, y = pairs(FLOAT16, random(row))
    if row.commutative:  # NumPy has an extreme of 0.0 and -0.0 by its place in the array
        x, y = (np.where(v == 0, np.zeros((), FLOAT16), v) for v in (x, y))
    operands = [x, y][: row.numpy.nin if isinstance(row.numpy, np.ufunc) else 1]
    wide = row.numpy(*(v.astype(FLOAT32) for v in operands))
    assert_same(wide.astype(FLOAT16).astype(FLOAT32), wide)
    assert_same(wide.astype(FLOAT16), np.asarray(row.numpy(*operands)))


SIGNS = [row for row in ELEMENTWISE if row.signs]


@pytest.mark.parametrize("row", SIGNS, ids=str)
def test_a_comparison_holds_for_the_signs_of_differences(row):
    for x, y in product(range(-2, 3), repeat=2):
        assert bool(row.numpy(x, y)) == (np.sign(x - y) in row.signs)
    assert comparison_of(*reversed(row.signs)) is row


def test_every_comparison_has_its_signs():
    assert len({frozenset(row.signs) for row in SIGNS}) == len(SIGNS) == 6


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.chooses], ids=str)
def test_an_extreme_is_the_operand_that_it_chooses(row):
    x, y = random(row).permuted(np.tile(np.arange(-9.0, 9), (2, 1)), axis=1)
    is_first = comparison_of(row.chooses).numpy(x, y)
    np.testing.assert_array_equal(row.numpy(x, y), np.where(is_first, x, y))
    assert np.isnan(row.numpy(np.nan, 1.0)) and np.isnan(row.numpy(1.0, np.nan))


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.bitwise], ids=str)
def test_what_logic_does_to_bits(row):
    for x, y in product((0, 1), repeat=2):
        assert int(row.numpy(bool(x), bool(y))) == TABLE[row.bitwise].numpy(x, y)


@pytest.mark.parametrize(
    "row", [r for r in ELEMENTWISE if r.magnitude != np.inf and r.name != "select"], ids=str
)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_results_are_no_larger_than_their_magnitude(row, scale):
    source, count = random(row), getattr(row.numpy, "nin", 1)
    for _ in range(5):
        sizes = source.uniform(0, scale, count)
        x = [source.uniform(-1, 1, 999) * size for size in sizes]
        limit = row.magnitude(*sizes) if callable(row.magnitude) else row.magnitude
        assert np.nanmax(np.abs(row.numpy(*x))) <= limit * (1 + 1e-9)
    if not callable(row.magnitude):
        edge = np.meshgrid(*[edges(FLOAT64)] * count)
        assert np.nanmax(np.abs(row.numpy(*edge))) <= row.magnitude


@pytest.mark.parametrize("row, dtype", cases(lambda row: row.nonnegative))
def test_what_is_not_negative(row, dtype):
    result = np.asarray(row.numpy(values(row, dtype)))
    if kind_letter(result.dtype) in row.nonnegative:
        assert not np.any(np.signbit(result[~np.isnan(result)]))


def test_rows_that_give_positions_give_none_below_zero():
    x = np.random.default_rng(3).normal(size=(4, 5))
    rows = [
        r for r in TABLE.values() if r.nonnegative and r.kind not in ("elementwise", "generate")
    ]
    assert {r.name for r in rows} == {"argmax", "argmin", "argsort"}
    assert all(np.all(row.numpy(x, axis=1) >= 0) for row in rows)
    assert np.all(TABLE["iota"].numpy(shape=(3, 4), dimension=1, dtype=INT64) >= 0)


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.on_indices is not None], ids=str)
def test_arithmetic_on_subscripts_is_that_on_numbers(row):
    i, j = Symbol("i", 0, 50), Symbol("j", 0, 50)
    polynomials = (Dim.of(i) * 2 + 3, Dim.of(j) - 4, 5)
    count = getattr(row.numpy, "nin", 1)
    known = 0
    for chosen in product(polynomials, repeat=count):
        result = row.on_indices(*chosen)
        if result is None:
            continue
        known += 1
        for x, y in ((0, 0), (7, 2), (3, 49)):
            numbers = [np.int64(substitute(p, {i: x, j: y})) for p in chosen]
            params = {"dtype": INT64} if row.name == "convert_element_type" else {}
            assert substitute(result, {i: x, j: y}) == row.numpy(*numbers, **params)
    assert known > 1


# ------------------------------------------------------------------------------ rows about others


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.of_bools], ids=str)
def test_what_a_row_is_of_bools(row):
    for x, y in product(BOOLS, repeat=2):
        assert TABLE[row.of_bools].numpy(x, y) == row.numpy(x, y)


REDUCTIONS = [row for row in TABLE.values() if row.kind == "reduce"]


@pytest.mark.parametrize("row", REDUCTIONS, ids=str)
def test_reductions_are_found_by_what_combines_two(row):
    combine = TABLE[row.combine]
    dtype = next(d for d in (INT64, BOOL) if d.kind in row.dtypes)
    assert reduction_by(combine, dtype) is row
    x = np.random.default_rng(1).integers(0, 2, (3, 5)).astype(dtype)
    np.testing.assert_array_equal(
        row.numpy(x, axes=(0,)), combine.numpy(combine.numpy(x[0], x[1]), x[2])
    )
    assert combine.commutative and combine.associative


@pytest.mark.parametrize("combine", ["add", "multiply", "bitwise_and", "bitwise_or"])
def test_bools_are_reduced_by_logic(combine):
    row = reduction_by(TABLE[combine], BOOL)
    assert row is not None and "b" in row.dtypes
    assert row.combine == TABLE[combine].of_bools


def test_what_has_no_reduction():
    assert reduction_by(TABLE["subtract"], FLOAT64) is None


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.identity], ids=str)
def test_identities(row):
    for dtype in (BOOL, INT64, FLOAT64):
        assert_same(row.numpy(values(row, dtype)), values(row, dtype))


def test_views_pick_and_updates_put():
    x = np.arange(24.0).reshape(4, 6)
    picked = TABLE["dynamic_slice"].numpy(x, np.int64(1), np.int64(2), sizes=(2, 3))
    put = TABLE["dynamic_update_slice"].numpy(x, -np.ones((2, 2)), np.int64(1), np.int64(2))
    assert np.isin(picked, x).all() and (put == x).sum() == x.size - 4
    assert all(row.picks for row in TABLE.values() if row.kind == "view")
    assert {r.name for r in TABLE.values() if r.picks and r.kind != "view"} == {
        "gather",
        "dynamic_slice",
    }
    assert {r.name for r in TABLE.values() if r.puts} == {"scatter", "dynamic_update_slice"}


# ---------------------------------------------------------------------------------------- costs, C


def test_weights_rank_operations():
    ranked = ("copy", "add", "divide", "remainder", "exp")
    weights = [TABLE[name].weight for name in ranked]
    assert weights == sorted(set(weights))
    assert all(r.weight >= TABLE["exp"].weight for r in ELEMENTWISE if r.transcendental)


SPECULATABLE = [row for row in ELEMENTWISE if row.speculatable]


@pytest.mark.parametrize("row", SPECULATABLE, ids=str)
def test_what_may_be_computed_in_vain_is_a_few_instructions(row):
    """Its helpers for floats branch nowhere; what has no helper is a function of the C library."""
    assert row.weight <= 1 and not row.transcendental
    for dtype in (FLOAT32, FLOAT64):
        for function in re.findall(r"(\w+)\(", column(row.name, dtype)):
            item = find(f"{function}_{SHORT_NAMES[dtype]}")
            text = item.text if item is not None else ""
            assert not re.search(r"\b(if|for|while|switch)\b", text)
            assert item is not None or function in row.c_library.values() or row.c_library


def test_rows_with_branches_are_not_among_them():
    names = {row.name for row in SPECULATABLE}
    assert names >= {"add", "select", "maximum", "less", "logical_and"}
    assert names.isdisjoint({"divide", "floor_divide", "exp", "gcd", "left_shift"})


NEAR = [row for row in ELEMENTWISE if row.near]


@pytest.mark.parametrize("row", NEAR, ids=str)
def test_near_versions_are_there(row):
    for dtype in (FLOAT32, FLOAT64):
        assert find(f"{row.name}_near_{SHORT_NAMES[dtype]}") is not None
        assert row.near <= finfo(dtype).max


def test_every_near_version_has_a_row():
    for row in ELEMENTWISE:
        assert (find(f"{row.name}_near_f64") is not None) == bool(row.near)


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if r.c_library], ids=str)
def test_names_in_the_c_library_are_names_of_it(row):
    assert row.c_library.keys() <= {"f", "c"}
    for kind, name in row.c_library.items():
        assert kind in row.dtypes
        assert is_reserved(name) and is_reserved(f"{name}f")
