"""The table tests itself: every primitive, for every dtype it accepts, as C and as NumPy.

The programs are those of `primitive_programs`: one for the elementwise primitives of a dtype, on
edge values, and one for the primitives over arrays. All of them are compiled with warnings as
errors.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from primitive_checks import check
from primitive_programs import (
    BY_FEW_DTYPES,
    NAMES,
    TESTED_ELSEWHERE,
    Batch,
    accepted,
    array_program,
    edges,
    elementwise_program,
    small,
)
from programs import run_sanitized
from thorough import THOROUGH, one_in, thorough

from transpile.ir.graph import Const
from transpile.ir.primitive import TABLE
from transpile.ir.types import DTYPES, SHORT_NAMES
from transpile.options import Options
from transpile.runtime.executable import Lowering

STRICT = Options(extra_cflags=("-Werror",))
QUICK = Options(opt_level=1, extra_cflags=("-Werror",))
BY_NAME = {SHORT_NAMES[d]: d for d in DTYPES}
MAKERS = {"elementwise": elementwise_program, "arrays": array_program}
pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")


def run(batch, options=STRICT):
    """The results of a batch as C."""
    return Lowering(batch.graph(), options).build()(batch.values)


@cache
def primitives_of(kind, name):
    """The primitives of a kind with the operands of a dtype."""
    return MAKERS[kind](BY_NAME[name])


# ----------------------------------------------------------------------------------------- tests


def test_every_primitive_is_tried_with_every_dtype_it_accepts():
    tried = {
        (case[0], name)
        for kind in MAKERS
        for name in NAMES
        for case in primitives_of(kind, name).cases
    }
    expected = {
        (primitive.name, name)
        for primitive in TABLE.values()
        for name in NAMES
        if accepted(primitive, BY_NAME[name]) and primitive.kind not in TESTED_ELSEWHERE
    }
    expected -= {("iota", "bool")}  # a count has no truth
    expected -= {("ldexp", name) for name in NAMES if BY_NAME[name].kind in "iu"}  # its exponents
    assert tried >= expected, sorted(expected - tried)


@pytest.mark.parametrize("name", NAMES)
@one_in(3)
def test_elementwise_primitives_equal_numpy(name):
    check(primitives_of("elementwise", name), run(primitives_of("elementwise", name)))


@BY_FEW_DTYPES
@one_in(6)
def test_array_primitives_equal_numpy(name):
    check(primitives_of("arrays", name), run(primitives_of("arrays", name)))


@pytest.mark.parametrize("name", NAMES)
def test_conversions_from_every_dtype_are_tried(name):
    targets = [
        c[2]["dtype"]
        for c in primitives_of("elementwise", name).cases
        if c[0] == "convert_element_type"
    ]
    assert targets == list(DTYPES)


@pytest.mark.full_level
def test_comparisons_that_are_always_true_or_false_are_no_warnings():
    """As `x < 0` for unsigned x, or `x == x`: compilers warn of them, so a pass decides them."""
    batch = Batch("decided")
    names = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
    for dtype in (d for d in DTYPES if d.kind in "biu"):
        x = batch.input(edges(dtype), f"x_{SHORT_NAMES[dtype]}")
        ends = [Const(batch.value(x).min()), Const(batch.value(x).max())]
        for name in names:
            for y in ends:
                batch.case(name, x, y)
                batch.case(name, y, x)
            batch.case(name, x, x)
    check(batch, run(batch))


# ----------------------------------------------------------------- drawn shapes, chained primitives


# A failing program is small enough as it is, and each step of shrinking would compile another one.
PHASES = (Phase.explicit, Phase.generate)


def sides(least=0, most=5):
    return st.integers(least, most)


@st.composite
def views(draw, batch, x):
    """A view of a value, its parameters drawn."""
    shape = x.type.shape
    rank = len(shape)
    name = draw(
        st.sampled_from(["reshape", "transpose", "slice", "rev", "broadcast_in_dim", "pad"])
    )
    if name == "reshape":
        size = int(np.prod(shape))
        divisor = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0] or [1]))
        target = (
            (divisor, size // divisor) if draw(st.booleans()) else (size // divisor, 1, divisor)
        )
        return batch.apply(name, x, shape=target)
    if name == "transpose":
        return batch.apply(name, x, permutation=tuple(draw(st.permutations(range(rank)))))
    if name == "slice":
        start = tuple(draw(st.integers(0, d)) for d in shape)
        limit = tuple(draw(st.integers(a, d)) for a, d in zip(start, shape, strict=True))
        strides = tuple(draw(st.integers(1, 3)) for _ in shape)
        return batch.apply(name, x, start=start, limit=limit, strides=strides)
    if name == "rev":
        return batch.apply(name, x, dimensions=tuple(draw(st.sets(st.sampled_from(range(rank))))))
    if name == "broadcast_in_dim":
        place = draw(st.integers(0, rank))
        target = (*shape[:place], draw(sides(1, 3)), *shape[place:])
        axes = tuple(a for a in range(rank + 1) if a != place)
        return batch.apply(name, x, shape=target, broadcast_dimensions=axes)
    padding = []
    for d in shape:
        low, inner = draw(st.integers(-1, 2)), draw(st.integers(0, 1))
        spread = max(0, d + (d - 1) * inner)
        low = max(low, -spread)
        padding.append((low, draw(st.integers(max(-1, -spread - low), 2)), inner))
    fill = batch.input(np.array(7, x.type.dtype), "fill")
    return batch.apply(name, x, fill, padding=tuple(padding))


@given(st.data())
@settings(max_examples=12, deadline=None, database=None, derandomize=True, phases=PHASES)
def test_chains_of_views_equal_numpy(data):
    """Eight chains a program: index arithmetic on index arithmetic, added at the end."""
    random = np.random.default_rng(3)
    batch = Batch("chains")
    for number in range(8):
        shape = tuple(data.draw(st.lists(sides(), min_size=1, max_size=3)))
        x = batch.input(small(np.dtype("int32"), shape, random), f"x{number}")
        for _ in range(data.draw(st.integers(1, 4))):
            x = data.draw(views(batch, x))
            if np.prod(x.type.shape) > 2000:
                break
        batch.keep(x)
    check(batch, run(batch, QUICK))


@given(st.data())
@settings(max_examples=8, deadline=None, database=None, derandomize=True, phases=PHASES)
def test_reductions_and_scans_of_drawn_shapes_equal_numpy(data):
    random = np.random.default_rng(5)
    batch = Batch("drawn_reductions")
    for number in range(8):
        dtype = data.draw(st.sampled_from([np.dtype("int64"), np.dtype("float32")]))
        shape = tuple(data.draw(st.lists(sides(1, 40), min_size=1, max_size=3)))
        axes = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1))))
        x = batch.input(small(dtype, shape, random), f"x{number}")
        batch.case(data.draw(st.sampled_from(["reduce_sum", "reduce_max"])), x, axes=axes)
        batch.case("argmin", x, axis=axes[0])
        batch.case("cumsum", x, axis=axes[-1], reverse=data.draw(st.booleans()))
    check(batch, run(batch, QUICK))


@given(st.data())
@settings(max_examples=6, deadline=None, database=None, derandomize=True, phases=PHASES)
def test_contractions_of_drawn_shapes_equal_numpy(data):
    random = np.random.default_rng(6)
    batch = Batch("drawn_contractions")
    for number in range(6):
        batched, contracted, free_x, free_y = (
            data.draw(st.lists(sides(0 if number == 0 else 1, most), max_size=limit))
            for most, limit in ((3, 1), (24, 2), (24, 2), (24, 2))
        )
        x_sizes, y_sizes = batched + contracted + free_x, batched + contracted + free_y
        x_order = data.draw(st.permutations(range(len(x_sizes))))
        y_order = data.draw(st.permutations(range(len(y_sizes))))
        count = len(batched)
        both = range(count, count + len(contracted))
        numbers = tuple(
            (tuple(x_order.index(k) for k in axes), tuple(y_order.index(k) for k in axes))
            for axes in (both, range(count))
        )
        dtype = data.draw(st.sampled_from([np.dtype("float64"), np.dtype("int32")]))
        x = small(dtype, [x_sizes[k] for k in x_order], random)
        y = small(dtype, [y_sizes[k] for k in y_order], random)
        operands = (
            batch.input(np.nan_to_num(x), f"x{number}"),
            batch.input(np.nan_to_num(y), f"y{number}"),
        )
        batch.case("dot_general", *operands, dimension_numbers=numbers)
    check(batch, run(batch, QUICK))


# ------------------------------------------------------------------------------- other compilers

UNDEFINED = ("-fsanitize=float-cast-overflow", "-fno-sanitize-recover=all")
SANITIZED = Options(opt_level=0, sanitize=True, openmp=False, extra_cflags=UNDEFINED)


def run_everything(options, dtypes=DTYPES):
    """Run every primitive program with these options and compare the results with NumPy's."""
    batches = [make(dtype) for make in MAKERS.values() for dtype in dtypes]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, results in zip(
            batches, pool.map(lambda b: run(b, options), batches), strict=True
        ):
            check(batch, results)


SANITIZED_DTYPES = (
    DTYPES if THOROUGH else tuple(d for d in DTYPES if SHORT_NAMES[d] in ("u16", "f32", "c128"))
)
PARTS = (len(SANITIZED_DTYPES) + 2) // 3


# A process for some dtypes each, for as many at a time as there are.
@pytest.mark.sanitized
@pytest.mark.parametrize("part", range(PARTS))
def test_no_primitive_has_undefined_behaviour(part, shared_cache):
    run_sanitized(
        "import test_primitives as t;"
        f" t.run_everything(t.SANITIZED, t.SANITIZED_DTYPES[{part}::{PARTS}])",
        __file__,
    )


@thorough
def test_primitives_compile_without_warnings_in_clang(shared_cache):
    command = shutil.which("clang")
    if command is None:
        pytest.skip("clang is not installed")
    run_everything(Options(opt_level=1, cc=command, extra_cflags=("-Werror",)))
