"""Kernels with products of a runtime number of rows have a version for one row, without calls."""

import numpy as np
import pytest
from graphs import lowered, scheduled

from transpile import ShapeDtypeStruct, grad
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.calls import Call
from transpile.ir.dims import evaluate
from transpile.ir.indices.size_constraints import dims
from transpile.ir.loop_ir import For, If
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options


def network(x, v, w):
    return np.maximum(x @ v, 0) @ w - 1


def gradient(x, v, w):
    return grad(lambda v, w: (network(x, v, w) ** 2).sum(), (0, 1))(v, w)


def transposed(x, v, w):
    return (v.T @ x.T) * 2, w.T[1:] @ np.abs(v.T @ x.T)


def of_inner(x, v, w):
    """The size is that of what is summed."""
    return np.abs(x.T @ (x @ v)) + 1


def struct(*shape):
    return ShapeDtypeStruct(shape, np.float64)


SHAPES = [("n", 6), (6, 16), (16, 5)]
# Small products are calls where they have more rows.
SMALL = {"shortest_product_side": 2, "least_product_terms": 8, "least_product_flops": 1}


def branches(program):
    """The versions: (statements for more rows, those for one) of each kernel that has both."""
    return [s for k in program.kernels for s in k.body if isinstance(s, If) and _calls(s.body)]


def _calls(body):
    return [s for s in walk(body) if isinstance(s, Call)]


@pytest.mark.parametrize("function", [network, gradient, transposed, of_inner])
def test_results_are_those_of_the_loops_before(function):
    types = [struct(*shape) for shape in SHAPES]
    options = Options(machine=Machine(**SMALL))
    before = lowered(function, *types, options=options)
    after = scheduled(function, *types, options=options)
    versions = branches(after)
    assert versions and not any(_calls(s.orelse) for s in versions)
    assert not any(
        str(s.symbol.extent) == "n" for v in versions for s in walk(v.orelse) if isinstance(s, For)
    )
    for n in 1, 2, 9:
        args = [
            np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape)
            for shape in ([evaluate(d, {"n": n}) for d in t.shape] for t in types)
        ]
        for one, other in zip(run(before, args), run(after, args), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("types", "machine"),
    [
        ([struct(dims("n", "n >= 2")[0], 6), *(struct(*s) for s in SHAPES[1:])], SMALL),
        ([struct(*shape) for shape in SHAPES], {**SMALL, "most_terms_of_a_row": 95}),
        ([struct("n", 8, 6), *(struct(*s) for s in SHAPES[1:])], SMALL),
    ],
    ids=["never one row", "too many numbers", "a stack of one"],
)
def test_other_kernels_have_none(types, machine):
    program = scheduled(network, *types, options=Options(machine=Machine(**machine)))
    assert any(_calls(k.body) for k in program.kernels) and not branches(program)
