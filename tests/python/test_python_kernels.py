"""Textbook kernels with loops, as Python computes them, and the gradients of some."""

from __future__ import annotations

import numpy as np
import pytest

import transpile
from benchmarks.python_kernels import KERNELS


def arguments(name, seed=0):
    kernel = KERNELS[name]
    return kernel.arguments(np.random.default_rng(seed), kernel.small)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_unchanged_under_jit(name):
    function = KERNELS[name].function
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


@pytest.mark.parametrize(
    ("name", "loss", "count"),
    [("jacobi", jacobi_energy, 2), ("thomas", thomas_norm, 4), ("kalman", kalman_last, 1)],
)
def test_gradients_against_finite_differences(name, loss, count):
    given = [np.nan_to_num(x) for x in arguments(name)[:count]]
    slope = transpile.jit(transpile.grad(loss))(*given)
    direction = np.random.default_rng(5).normal(size=given[0].shape)
    step = 1e-6
    ends = [loss(given[0] + s * direction, *[x.copy() for x in given[1:]]) for s in (step, -step)]
    np.testing.assert_allclose(
        (slope * direction).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-5
    )
