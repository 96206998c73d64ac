"""Lowering asks the machine that it is given: each threshold of it decides something."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from graphs import assert_same_results, lowered
from helpers import trace_to_graph

import transpile
from transpile import lax
from transpile.analysis.oracle.loop_interpreter import run
from transpile.intrinsics.fourier import Fft
from transpile.ir.loop_rewrite import walk
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.options import Options
from transpile.passes import optimise

PACKAGE = Path(transpile.__file__).parent


def integers(*shape):
    """Small ones, so that sums have the same bits in any order."""
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype("f8")


def softmax(x):
    e = np.rint(np.sqrt(np.abs(x - x.max(axis=1, keepdims=True))))
    return e * 2 - e.sum(axis=1, keepdims=True)


def polynomial(x):
    for k in range(8):
        x = x * 2 + k
    return x


def two_updates(x, y):
    return lax.dynamic_update_slice(lax.dynamic_update_slice(x, y, (1,)), y + 1, (8,))


def many_updates(x, y):
    for k in range(3):
        x = lax.dynamic_update_slice(x, y + k, (2 * k,))
    return x


def shifted(x):
    """Each element is computed from a slice that is not there any more when it is read."""
    return lax.fori_loop(0, 3, lambda i, c: c + c[0], x)


def windows(x):
    return (x * 2)[np.add.outer(np.arange(30), np.arange(4))].sum(axis=1)


def running_sums(x):
    return np.abs(np.rint(np.cumsum(x) / 4 * np.sign(x)))


def rolled(x):
    return lax.fori_loop(0, 5, lambda i, c: np.roll(c, 1) * 2, x)


def batched(x, y):
    return np.einsum("bik,bkj->bij", x, y)


def convolved(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME")


def spread(x):
    return (x + 1)[:, None] * np.arange(4.0)[None, :]


IMAGES, WEIGHTS = integers(3, 2, 9, 9), integers(16, 2, 3, 3)
X, Y = integers(20), integers(5)
# For each threshold values of a machine, a function, and its arguments.
CASES = {
    "has_library_scans": (
        {"has_library_scans": 1, "shortest_library_sum": 4},
        lambda x: np.maximum.accumulate(x, axis=1),
        (integers(3, 9),),
    ),
    "row_bytes": ({"row_bytes": 0}, softmax, (integers(5, 20),)),
    "cheap_weight": ({"cheap_weight": 0}, spread, (X,)),
    "largest_expression": ({"largest_expression": 3}, polynomial, (X,)),
    "longest_unrolled_reduction": (
        {"longest_unrolled_reduction": 2},
        lambda x: x.sum(axis=1),
        (integers(6, 4),),
    ),
    "longest_unrolled_contraction": (
        {"longest_unrolled_contraction": 2},
        lambda x, y: x @ y,
        (integers(6, 4), integers(4)),
    ),
    "parts_of_updated": ({"parts_of_updated": 100}, two_updates, (X, Y[:3])),
    "most_chosen_updates": ({"most_chosen_updates": 2}, many_updates, (X, integers(8))),
    "parts_of_copied": ({"parts_of_copied": 100}, shifted, (integers(20, 2),)),
    "most_candidates": (
        {"most_candidates": 1},
        lambda x, y: (x + 1, y + 1, x * 3),
        (X, Y),
    ),
    "most_fused": ({"most_fused": 1}, lambda x: (x + 1, x * 3), (X,)),
    "most_unrelated_iterations": (
        {"most_unrelated_iterations": 19},
        lambda x, y: (x + 1, y * 3),
        (X, integers(20)),
    ),
    "cheap_scan_reader": ({"cheap_scan_reader": 0}, running_sums, (X,)),
    "most_copied_elements": ({"most_copied_elements": 3}, rolled, (Y,)),
    "shortest_product_side": (
        {"shortest_product_side": 17},
        np.matmul,
        (integers(16, 16), integers(16, 16)),
    ),
    "fewest_product_rows": (
        {"fewest_product_rows": 4},
        np.matmul,
        (integers(3, 40), integers(40, 40)),
    ),
    "widest_looped_product": (
        {"widest_looped_product": 41},
        np.matmul,
        (integers(3, 40), integers(40, 40)),
    ),
    "least_product_terms": (
        {"least_product_terms": 1},
        np.matmul,
        (integers(5, 6), integers(6, 7)),
    ),
    "multiplies_halves": (
        {"multiplies_halves": 1},
        np.matmul,
        (integers(16, 16).astype("f2"), integers(16, 16).astype("f2")),
    ),
    "most_stacked_terms": (
        {"most_stacked_terms": 1, "least_stack_terms": 1},
        batched,
        (integers(3, 16, 16), integers(3, 16, 16)),
    ),
    "least_stack_terms": (
        {"least_stack_terms": 1},
        batched,
        (integers(3, 16, 16), integers(3, 16, 16)),
    ),
    "slots": ({"slots": 1}, lambda x: np.sort(x, axis=1), (integers(5, 20),)),
    "sort_bytes": ({"sort_bytes": 16 * 20 * 3}, lambda x: np.sort(x, axis=1), (integers(5, 20),)),
    "shortest_library_sum": ({"shortest_library_sum": 20}, np.cumsum, (X,)),
    "images_bytes": (
        {"images_bytes": 2 * 11 * 11 * 8, "repaying_pixels": 1},
        convolved,
        (IMAGES, WEIGHTS),
    ),
    "feature_lanes_cost": ({"feature_lanes_cost": 0}, convolved, (IMAGES, WEIGHTS)),
    "repaying_pixels": (
        {"repaying_pixels": 2 * 81, "images_bytes": 1},
        convolved,
        (IMAGES, WEIGHTS),
    ),
    "most_panel_numbers": (
        {"most_panel_numbers": 16 * 512},
        convolved,
        (integers(1, 64, 9, 9), integers(16, 64, 3, 3)),
    ),
    "shortest_packed_stride": (
        {"shortest_packed_stride": 9},
        lambda x: np.packbits(x > 3, axis=1),
        (integers(5, 16),),
    ),
    "vector_bytes": ({"vector_bytes": 1 << 10}, lambda x: np.packbits(x > 3), (integers(250),)),
    "often_read": ({"often_read": 2}, windows, (integers(33),)),
    "longest_panel": (
        {"longest_panel": 512},
        convolved,
        (integers(1, 64, 9, 9), integers(16, 64, 3, 3)),
    ),
}


def machines(name, values):
    """The machine with the usual threshold of a name, and with the given one."""
    others = {other: value for other, value in values.items() if other != name}
    return Machine(**others), Machine(**values)


@pytest.mark.parametrize("name", CASES)
def test_a_threshold_of_the_machine_decides_something(name):
    values, f, args = CASES[name]
    before, after = (lowered(f, *args, options=Options(machine=m)) for m in machines(name, values))
    assert before != after
    assert_same_results(run(after, args), run(before, args))


def plan_of(graph, machine):
    """The numbers in the plan of the only transform."""
    program = lower(graph, machine=machine)
    (call,) = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Fft)]
    (plan,) = [c for c in program.constants if c.name == call.plan.first.buffer]
    return plan.value.tolist()


# For each threshold of transforms values of a machine, and a shape.
TRANSFORMS = {
    "longest_across": ({"longest_across": 32}, (64, 32), 0),
    "longest_along": ({"longest_along": 32}, (32, 64), 1),
    "longest_streamed": ({"longest_streamed": 32, "least_streamed": 1}, (32, 64), 1),
    "least_streamed": ({"least_streamed": 1}, (32, 512), 1),
    "shortest_shared_transform": ({"shortest_shared_transform": 64}, (1024,), 0),
    "longest_factor_table": ({"longest_factor_table": 64}, (4096,), 0),
    "longest_cached_transform": ({"longest_cached_transform": 1}, (3 * 4096,), 0),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_threshold_of_the_machine_decides_how_to_transform(name):
    values, shape, axis = TRANSFORMS[name]
    x = integers(*shape)
    graph = optimise(trace_to_graph(lambda x: np.fft.fft(x, axis=axis), x))
    before, after = (plan_of(graph, machine) for machine in machines(name, values))
    assert before != after


def test_every_threshold_that_lowering_asks_for_is_here():
    packages = [PACKAGE / name for name in ("fusion", "library", "lower")]
    paths = [PACKAGE / "primitives" / "dot.py", *(f for p in packages for f in p.rglob("*.py"))]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    asked = {name for text in texts for name in re.findall(r"\bmachine\.(\w+)", text)}
    assert asked - {"USUAL", "import"} == {*CASES, *TRANSFORMS}
