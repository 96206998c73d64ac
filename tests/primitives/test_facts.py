"""What a primitive says of itself is true: facts against NumPy, on edge values and drawn ones."""

import importlib
import pkgutil
import re
from itertools import product

import numpy as np
import pytest
from primitive_programs import drawn, edges, pairs

from transpile import primitives
from transpile.codegen.c_functions import column
from transpile.ir.dims import Dim, Symbol, substitute
from transpile.ir.primitive import TABLE, _modules
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
ELEMENTWISE = [primitive for primitive in TABLE.values() if primitive.kind == "elementwise"]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def test_every_module_that_registers_primitives_is_a_family():
    """A lookup by name imports the families: a primitive of another module would be missing."""
    for module in pkgutil.walk_packages(primitives.__path__, f"{primitives.__name__}."):
        importlib.import_module(module.name)
    homes = {m.__name__ for m in _modules.values() if m is not None}
    own = {name for name in homes if name.startswith(f"{primitives.__name__}.")}
    assert own == {f"{primitives.__name__}.{family}" for family in primitives._FAMILIES}


def dtypes_of(primitive):
    return [d for d in DTYPES if kind_letter(d) in primitive.dtypes]


def cases(fact):
    """The primitives of a fact, with each dtype that they take."""
    return [
        pytest.param(primitive, dtype, id=f"{primitive.name}-{SHORT_NAMES[dtype]}")
        for primitive in ELEMENTWISE
        if fact(primitive)
        for dtype in dtypes_of(primitive)
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


def random(primitive):
    return np.random.default_rng(sum(map(ord, primitive.name)))


def values(primitive, dtype):
    return np.concatenate([edges(dtype), drawn(dtype, 200, random(primitive))])


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.commutative))
def test_operands_may_change_places(primitive, dtype):
    x, y = pairs(dtype, random(primitive))
    if primitive.exact:  # of equal numbers an extreme is the first one, and of NaNs as well
        is_plain = (x != y) & (x == x) & (y == y)
        x, y = x[is_plain], y[is_plain]
    if primitive.name == "multiply" and dtype.kind == "c":  # NumPy rounds one of the two products
        x, y = x[np.abs(x) < 1e3], y[np.abs(x) < 1e3]
        np.testing.assert_allclose(primitive.numpy(x, y), primitive.numpy(y, x), rtol=1e-3)
    else:
        assert_same(primitive.numpy(x, y), primitive.numpy(y, x))


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.associative))
def test_order_changes_nothing_but_rounding(primitive, dtype):
    if primitive.numpy(*edges(dtype)[:2]).dtype != dtype:
        return
    if primitive.may_reorder(dtype):
        x, y = pairs(dtype, random(primitive))
        z = random(primitive).permutation(y)
        assert_same(
            primitive.numpy(primitive.numpy(x, y), z), primitive.numpy(x, primitive.numpy(y, z))
        )
    else:
        x, y, z = (random(primitive).uniform(1, 2, (3, 99))).astype(dtype)
        error = abs(
            primitive.numpy(primitive.numpy(x, y), z) / primitive.numpy(x, primitive.numpy(y, z))
            - 1
        )
        assert np.max(error) < 8 * finfo(dtype).eps


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.associative))
def test_parts_leave_the_range_where_it_says_so(primitive, dtype):
    """0 * (large * large) is NaN, and (0 * large) * large is 0."""
    if primitive.numpy(*edges(dtype)[:2]).dtype != dtype or kind_letter(dtype) not in "fc":
        return
    large = 2 * np.sqrt(finfo(dtype).max).astype(dtype)
    x, y, z = (np.array(column, dtype) for column in zip(*product((0, 1, -large, large), repeat=3)))
    one, other = (
        primitive.numpy(primitive.numpy(x, y), z),
        primitive.numpy(x, primitive.numpy(y, z)),
    )
    differs = np.any(np.isnan(one) != np.isnan(other))
    assert differs == (kind_letter(dtype) in primitive.leaves_range)


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.idempotent))
def test_an_operand_may_be_combined_twice(primitive, dtype):
    x, y = pairs(dtype, random(primitive))
    once = primitive.numpy(x, y)
    y = y.astype(once.dtype)
    assert_same(primitive.numpy(once, y), once)


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.of_equals(FLOAT32)))
def test_of_equal_operands_it_is_a_sum(primitive, dtype):
    more = primitive.of_equals(dtype)
    if more is not None:  # halves are computed in float32
        x = values(primitive, dtype)
        assert_same(x + more, primitive.numpy(x, x))


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.involution))
def test_twice_is_not_at_all(primitive, dtype):
    x = values(primitive, dtype)
    if primitive.numpy(x).dtype == dtype:
        assert_same(primitive.numpy(primitive.numpy(x)), x)


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: True))
def test_neutral_and_absorbing_elements(primitive, dtype):
    x = values(primitive, dtype)
    neutral, absorbing = primitive.neutral(dtype), primitive.absorbing(dtype)
    for element in (neutral, absorbing):
        assert element is None or element.dtype == dtype
    if neutral is not None:
        assert_same(primitive.numpy(x, np.full_like(x, neutral)), x)
        if primitive.commutative:
            assert_same(primitive.numpy(np.full_like(x, neutral), x), x)
    if absorbing is not None:
        whole = np.full_like(x, absorbing)
        assert_same(primitive.numpy(x, whole), whole)
        assert_same(primitive.numpy(whole, x), whole)


def test_primitives_of_most_programs_have_neutral_elements():
    for dtype in (INT64, FLOAT32, FLOAT64):
        named = {
            primitive.name for primitive in ELEMENTWISE if primitive.neutral(dtype) is not None
        }
        assert named >= {"add", "subtract", "multiply", "maximum", "minimum"}


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.exact], ids=str)
def test_what_is_exact_is_the_same_in_float32(primitive):
    x, y = pairs(FLOAT16, random(primitive))
    if primitive.commutative:  # NumPy has an extreme of 0.0 and -0.0 by its place in the array
        x, y = (np.where(v == 0, np.zeros((), FLOAT16), v) for v in (x, y))
    operands = [x, y][: primitive.numpy.nin if isinstance(primitive.numpy, np.ufunc) else 1]
    wide = primitive.numpy(*(v.astype(FLOAT32) for v in operands))
    assert_same(wide.astype(FLOAT16).astype(FLOAT32), wide)
    assert_same(wide.astype(FLOAT16), np.asarray(primitive.numpy(*operands)))


SIGNS = [primitive for primitive in ELEMENTWISE if primitive.signs]


@pytest.mark.parametrize("primitive", SIGNS, ids=str)
def test_a_comparison_holds_for_the_signs_of_differences(primitive):
    for x, y in product(range(-2, 3), repeat=2):
        assert bool(primitive.numpy(x, y)) == (np.sign(x - y) in primitive.signs)
    assert comparison_of(*reversed(primitive.signs)) is primitive


def test_every_comparison_has_its_signs():
    assert len({frozenset(primitive.signs) for primitive in SIGNS}) == len(SIGNS) == 6


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.chooses], ids=str)
def test_an_extreme_is_the_operand_that_it_chooses(primitive):
    x, y = random(primitive).permuted(np.tile(np.arange(-9.0, 9), (2, 1)), axis=1)
    is_first = comparison_of(primitive.chooses).numpy(x, y)
    np.testing.assert_array_equal(primitive.numpy(x, y), np.where(is_first, x, y))
    assert np.isnan(primitive.numpy(np.nan, 1.0)) and np.isnan(primitive.numpy(1.0, np.nan))


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.bitwise], ids=str)
def test_what_logic_does_to_bits(primitive):
    for x, y in product((0, 1), repeat=2):
        assert int(primitive.numpy(bool(x), bool(y))) == TABLE[primitive.bitwise].numpy(x, y)


@pytest.mark.parametrize(
    "primitive", [r for r in ELEMENTWISE if r.magnitude != np.inf and r.name != "select"], ids=str
)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_results_are_no_larger_than_their_magnitude(primitive, scale):
    source, count = random(primitive), getattr(primitive.numpy, "nin", 1)
    for _ in range(5):
        sizes = source.uniform(0, scale, count)
        x = [source.uniform(-1, 1, 999) * size for size in sizes]
        limit = (
            primitive.magnitude(*sizes) if callable(primitive.magnitude) else primitive.magnitude
        )
        assert np.nanmax(np.abs(primitive.numpy(*x))) <= limit * (1 + 1e-9)
    if not callable(primitive.magnitude):
        edge = np.meshgrid(*[edges(FLOAT64)] * count)
        assert np.nanmax(np.abs(primitive.numpy(*edge))) <= primitive.magnitude


@pytest.mark.parametrize("primitive, dtype", cases(lambda primitive: primitive.nonnegative))
def test_what_is_not_negative(primitive, dtype):
    result = np.asarray(primitive.numpy(values(primitive, dtype)))
    if kind_letter(result.dtype) in primitive.nonnegative:
        assert not np.any(np.signbit(result[~np.isnan(result)]))


def test_primitives_that_give_positions_give_none_below_zero():
    x = np.random.default_rng(3).normal(size=(4, 5))
    others = ("elementwise", "generate", "collective")  # which have tests of their own
    primitives = [r for r in TABLE.values() if r.nonnegative and r.kind not in others]
    assert {r.name for r in primitives} == {
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "first_of",
    }
    params = {"first_of": {"value": 1}, "argpartition": {"axis": 1, "ranks": (0,)}}
    assert all(np.all(r.numpy(x, **params.get(r.name, {"axis": 1})) >= 0) for r in primitives)
    assert np.all(TABLE["iota"].numpy(shape=(3, 4), dimension=1, dtype=INT64) >= 0)


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.on_indices is not None], ids=str)
def test_arithmetic_on_subscripts_is_that_on_numbers(primitive):
    i, j = Symbol("i", 0, 50), Symbol("j", 0, 50)
    polynomials = (Dim.of(i) * 2 + 3, Dim.of(j) - 4, 5)
    count = getattr(primitive.numpy, "nin", 1)
    known = 0
    for chosen in product(polynomials, repeat=count):
        result = primitive.on_indices(*chosen)
        if result is None:
            continue
        known += 1
        for x, y in ((0, 0), (7, 2), (3, 49)):
            numbers = [np.int64(substitute(p, {i: x, j: y})) for p in chosen]
            params = {"dtype": INT64} if primitive.name == "convert_element_type" else {}
            assert substitute(result, {i: x, j: y}) == primitive.numpy(*numbers, **params)
    assert known > 1


# -------------------------------------------------------------------------- primitives about others


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.of_bools], ids=str)
def test_what_a_primitive_is_of_bools(primitive):
    for x, y in product(BOOLS, repeat=2):
        assert TABLE[primitive.of_bools].numpy(x, y) == primitive.numpy(x, y)


REDUCTIONS = [primitive for primitive in TABLE.values() if primitive.kind == "reduce"]


@pytest.mark.parametrize("primitive", REDUCTIONS, ids=str)
def test_reductions_are_found_by_what_combines_two(primitive):
    combine = TABLE[primitive.combine]
    dtype = next(d for d in (INT64, BOOL) if d.kind in primitive.dtypes)
    assert reduction_by(combine, dtype) is primitive
    x = np.random.default_rng(1).integers(0, 2, (3, 5)).astype(dtype)
    np.testing.assert_array_equal(
        primitive.numpy(x, axes=(0,)), combine.numpy(combine.numpy(x[0], x[1]), x[2])
    )
    assert combine.commutative and combine.associative


@pytest.mark.parametrize("combine", ["add", "multiply", "bitwise_and", "bitwise_or"])
def test_bools_are_reduced_by_logic(combine):
    primitive = reduction_by(TABLE[combine], BOOL)
    assert primitive is not None and "b" in primitive.dtypes
    assert primitive.combine == TABLE[combine].of_bools


def test_what_has_no_reduction():
    assert reduction_by(TABLE["subtract"], FLOAT64) is None


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.identity], ids=str)
def test_identities(primitive):
    for dtype in (BOOL, INT64, FLOAT64):
        assert_same(primitive.numpy(values(primitive, dtype)), values(primitive, dtype))


def test_views_pick_and_updates_put():
    x = np.arange(24.0).reshape(4, 6)
    picked = TABLE["dynamic_slice"].numpy(x, np.int64(1), np.int64(2), sizes=(2, 3))
    put = TABLE["dynamic_update_slice"].numpy(x, -np.ones((2, 2)), np.int64(1), np.int64(2))
    assert np.isin(picked, x).all() and (put == x).sum() == x.size - 4
    assert all(primitive.picks for primitive in TABLE.values() if primitive.kind == "view")
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


SPECULATABLE = [primitive for primitive in ELEMENTWISE if primitive.speculatable]


@pytest.mark.parametrize("primitive", SPECULATABLE, ids=str)
def test_what_may_be_computed_in_vain_is_a_few_instructions(primitive):
    """Its helpers for floats branch nowhere; what has no helper is a function of the C library."""
    assert primitive.weight <= 1 and not primitive.transcendental
    for dtype in (FLOAT32, FLOAT64):
        for function in re.findall(r"(\w+)\(", column(primitive.name, dtype)):
            item = find(f"{function}_{SHORT_NAMES[dtype]}")
            text = item.text if item is not None else ""
            assert not re.search(r"\b(if|for|while|switch)\b", text)
            assert (
                item is not None or function in primitive.c_library.values() or primitive.c_library
            )


def test_primitives_with_branches_are_not_among_them():
    names = {primitive.name for primitive in SPECULATABLE}
    assert names >= {"add", "select", "maximum", "less", "logical_and"}
    assert names.isdisjoint({"divide", "floor_divide", "exp", "gcd", "left_shift"})


NEAR = [primitive for primitive in ELEMENTWISE if primitive.near]


@pytest.mark.parametrize("primitive", NEAR, ids=str)
def test_near_versions_are_there(primitive):
    for dtype in map(np.dtype, ("f4", "f8", "c8", "c16")):
        has_one = find(f"{primitive.name}_near_{SHORT_NAMES[dtype]}") is not None
        assert has_one == (dtype.kind in primitive.near_of)
        assert primitive.near <= finfo(dtype).max


def test_every_near_version_has_a_primitive():
    for primitive in ELEMENTWISE:
        for kind, ending in (("f", "f64"), ("c", "c128")):
            has_one = find(f"{primitive.name}_near_{ending}") is not None
            assert has_one == (primitive.near > 0 and kind in primitive.near_of)


@pytest.mark.parametrize("primitive", [r for r in ELEMENTWISE if r.c_library], ids=str)
def test_names_in_the_c_library_are_names_of_it(primitive):
    assert primitive.c_library.keys() <= {"f", "c"}
    for kind, name in primitive.c_library.items():
        assert kind in primitive.dtypes
        assert is_reserved(name) and is_reserved(f"{name}f")
