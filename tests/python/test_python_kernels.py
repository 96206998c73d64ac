"""Textbook kernels with loops, as Python computes them, and the gradients of some."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile
from benchmarks.element_kernels import ELEMENTS
from benchmarks.polybench_kernels import POLYBENCH
from benchmarks.python_kernels import KERNELS
from benchmarks.textbook_kernels import TEXTBOOK


def arguments(name, seed=0):
    kernel = {**KERNELS, **TEXTBOOK, **POLYBENCH, **ELEMENTS}[name]
    return kernel.arguments(np.random.default_rng(seed), kernel.small)


@pytest.mark.parametrize("name", KERNELS)
@one_in(2)
def test_kernels_unchanged_under_jit(name):
    agrees_with_python(name, KERNELS[name].function)


@pytest.mark.parametrize("name", TEXTBOOK)
@one_in(8)
def test_kernels_that_make_tables_and_queues(name):
    agrees_with_python(name, TEXTBOOK[name].function)


@pytest.mark.parametrize("name", POLYBENCH)
@one_in(3)
def test_kernels_of_linear_algebra(name):
    agrees_with_python(name, POLYBENCH[name].function)


@pytest.mark.parametrize("name", ELEMENTS)
@one_in(4)
def test_kernels_that_run_a_loop_for_each_element(name):
    agrees_with_python(name, ELEMENTS[name].function)


def agrees_with_python(name, function):
    compiled = transpile.jit(function)
    for seed in range(3):
        ours, theirs = arguments(name, seed), arguments(name, seed)
        found = transpile.tree.leaves(compiled(*ours))
        wanted = transpile.tree.leaves(function(*theirs))
        for one, other in zip([*found, *ours], [*wanted, *theirs], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def jacobi_energy(u, f):
    KERNELS["jacobi"].function(u, f, 3)
    return (u * u).sum()


def thomas_norm(lower, diagonal, upper, right):
    x = KERNELS["thomas"].function(lower, diagonal, upper, right)
    return (x * x).sum()


def kalman_last(z):
    return KERNELS["kalman"].function(z, 1.0, 0.5)[-1]


def log_determinant(a):
    KERNELS["cholesky"].function(a)
    return np.log(np.diag(a)).sum()


def pivoted_determinant(a):
    KERNELS["lu_with_pivoting"].function(a, np.zeros(len(a), np.int64))
    return np.log(np.abs(np.diag(a))).sum()


def distances(weights):
    sources, targets, _, n = arguments("bellman_ford")
    found = KERNELS["bellman_ford"].function(sources, targets, weights, n)
    return np.where(np.isfinite(found), found, 0.0).sum()


def weighted_order(a):
    KERNELS["bubble_network"].function(a)
    return (a * np.arange(len(a))).sum()


def all_distances(d):
    KERNELS["floyd_warshall"].function(d)
    return (d * d).sum()


def product_norm(a, b):
    return (KERNELS["matrix_product"].function(a, b) ** 2).sum()


def roots(a):
    return KERNELS["newton_raphson"].function(a, 0.5).sum()


@pytest.mark.parametrize(
    ("name", "loss", "count"),
    [
        ("jacobi", jacobi_energy, 2),
        ("thomas", thomas_norm, 4),
        ("kalman", kalman_last, 1),
        ("cholesky", log_determinant, 1),
        ("lu_with_pivoting", pivoted_determinant, 1),
        ("bellman_ford", distances, 0),
        ("bubble_network", weighted_order, 1),
        ("floyd_warshall", all_distances, 1),
        ("matrix_product", product_norm, 2),
        ("newton_raphson", roots, 1),
    ],
)
@one_in(2)
def test_gradients_against_finite_differences(name, loss, count):
    given = [np.nan_to_num(x) for x in arguments(name)[:count] or arguments(name)[2:3]]
    slope = transpile.jit(transpile.grad(loss))(*[x.copy() for x in given])
    direction = np.random.default_rng(5).normal(size=given[0].shape)
    step = 1e-6
    ends = [loss(given[0] + s * direction, *[x.copy() for x in given[1:]]) for s in (step, -step)]
    np.testing.assert_allclose(
        (slope * direction).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-5
    )
