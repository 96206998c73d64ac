"""Initial weights: the numbers that JAX draws for the same key, their moments, and their errors."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile as tp
from transpile import random
from transpile.nn import initializers

KEY = random.key(3)
SCALED = [
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
]


# What JAX 0.10.2 gives for key(3): name, shape, dtype, the first three numbers, the sum of sizes.
DRAWN = """
glorot_normal 3,4 float64 0.626606 -0.0681788 -0.409037 4.27007
glorot_normal 3,4 float32 -0.802068 0.846559 0.221369 6.27459
glorot_normal 3,4 complex128 -0.196155+0.138253j -0.295894+0.194928j -0.0598145+0.456651j 5.38414
glorot_normal 3,3,2,4 float64 0.225604 -0.0245472 -0.14727 12.1579
glorot_uniform 3,4 float64 0.676576 -0.0866486 -0.484134 4.71413
glorot_uniform 3,4 float32 -0.788701 0.811286 0.275815 6.56789
glorot_uniform 3,4 complex128 -0.25509+0.179792j -0.365517+0.240794j -0.0693997+0.529828j 5.83746
glorot_uniform 3,3,2,4 float64 0.243595 -0.0311971 -0.174308 12.8251
he_normal 3,4 float64 0.957157 -0.104145 -0.624815 6.52265
he_normal 3,4 float32 -1.22518 1.29314 0.338146 9.58459
he_normal 3,4 complex128 -0.299631+0.211185j -0.451985+0.297757j -0.0913682+0.697545j 8.22441
he_normal 3,3,2,4 float64 0.390758 -0.0425169 -0.25508 21.0581
he_uniform 3,4 float64 1.03349 -0.132358 -0.739527 7.20095
he_uniform 3,4 float32 -1.20476 1.23926 0.421314 10.0326
he_uniform 3,4 complex128 -0.389657+0.274637j -0.558337+0.367819j -0.10601+0.809326j 8.91686
he_uniform 3,3,2,4 float64 0.421919 -0.0540349 -0.301911 22.2138
lecun_normal 3,4 float64 0.676812 -0.0736415 -0.441811 4.61221
lecun_normal 3,4 float32 -0.866332 0.914389 0.239105 6.77733
lecun_normal 3,4 complex128 -0.211871+0.14933j -0.319602+0.210546j -0.0646071+0.493239j 5.81554
lecun_normal 3,3,2,4 float64 0.276307 -0.030064 -0.180369 14.8903
lecun_uniform 3,4 float64 0.730786 -0.0935912 -0.522925 5.09184
lecun_uniform 3,4 float32 -0.851895 0.876289 0.297914 7.09413
lecun_uniform 3,4 complex128 -0.275529+0.194198j -0.394804+0.260087j -0.0749603+0.57228j 6.30518
lecun_uniform 3,3,2,4 float64 0.298342 -0.0382084 -0.213483 15.7075
orthogonal 3,4 float64 0.570771 -0.427007 0.562538 5.68628
orthogonal 4,3 float64 0.570771 -0.48115 -0.413652 5.68628
uniform 3,4 float64 0.00865393 0.00453204 0.00238538 0.0686353
uniform 3,4 float32 0.000740526 0.00938144 0.00648957 0.0521808
normal 3,4 float64 0.0110487 -0.00117569 -0.00711014 0.0755032
normal 3,4 float32 -0.0144626 0.0153938 0.00382506 0.112663
truncated_normal 3,4 float64 0.0103116 -0.00112197 -0.00673124 0.0702696
truncated_normal 3,4 float32 -0.0131991 0.0139312 0.0036429 0.103256
"""


@pytest.mark.parametrize("line", DRAWN.strip().splitlines())
@one_in(3)
def test_the_numbers_are_those_of_jax(line):
    name, shape, dtype, *numbers = line.split()
    *first, total = map(complex, numbers)
    shape = tuple(map(int, shape.split(",")))
    found = getattr(initializers, name)()(KEY, shape, dtype)
    assert found.shape == shape and found.dtype == dtype
    tolerance = 5e-6 if found.real.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found.ravel()[:3], first, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(np.abs(found).sum(), total.real, rtol=tolerance)


@pytest.mark.parametrize("name", [*SCALED, "orthogonal", "normal", "uniform", "truncated_normal"])
@one_in(3)
def test_c_draws_what_numpy_draws(name):
    init = getattr(initializers, name)()
    in_c = tp.jit(lambda key: init(key, (3, 4)))(KEY)
    np.testing.assert_allclose(in_c, init(KEY, (3, 4)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("distribution", ["truncated_normal", "normal", "uniform"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(
    ("mode", "count"),
    [("fan_in", 60), ("fan_out", 40), ("fan_avg", 50), ("fan_geo_avg", 2400**0.5)],
)
@one_in(3)
def test_the_variance_is_scaled(distribution, dtype, mode, count):
    init = initializers.variance_scaling(3.0, mode, distribution)
    found = init(KEY, (2, 30, 20), dtype)
    assert abs(found.mean()) < 4 * (3 / count / found.size) ** 0.5 + 1e-9
    np.testing.assert_allclose((np.abs(found) ** 2).mean(), 3 / count, rtol=0.15)
    if distribution == "truncated_normal":
        bound = 2 / (0.87962566103423978 if dtype == "float64" else 0.95311164380491208)
        assert np.abs(found).max() <= bound * (3 / count) ** 0.5


def test_axes_of_operands_results_and_layers():
    wide = initializers.variance_scaling(1.0, "fan_in", "uniform", 0, (1, 2))
    assert np.abs(wide(KEY, (3, 40, 50))).max() <= 1.0  # sqrt(3 / 3)
    layers = initializers.variance_scaling(1.0, "fan_in", "uniform", batch_axis=0)
    assert np.abs(layers(KEY, (50, 3, 40))).max() <= 1.0
    narrow = initializers.variance_scaling(1.0, "fan_in", "uniform")
    assert np.abs(narrow(KEY, (50, 3, 40))).max() <= 50**-0.5


def test_aliases_and_plain_ones():
    assert initializers.xavier_normal is initializers.glorot_normal
    assert initializers.kaiming_uniform is initializers.he_uniform
    assert initializers.zeros(KEY, (2,)).tolist() == [0, 0]
    assert initializers.ones(KEY, (2,), np.int8).dtype == np.int8
    assert initializers.constant(3)(KEY, (2,)).tolist() == [3.0, 3.0]
    assert initializers.constant([1, 2], np.float32)(KEY, (2, 2)).tolist() == [[1, 2], [1, 2]]
    assert isinstance(initializers.zeros, initializers.Initializer)
    drawn = initializers.truncated_normal(3.0, lower=-1, upper=0.5)(KEY, (500,))
    assert -3 <= drawn.min() < -2.8 and 1.4 < drawn.max() <= 1.5
    assert initializers.uniform(2.0)(KEY, (500,), np.float32).max() > 1.9


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 3, 4)])
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@one_in(3)
def test_orthogonal_columns_or_rows(shape, axis, dtype):
    found = initializers.orthogonal(2.0, axis)(KEY, shape, dtype)
    matrix = np.moveaxis(found, axis, -1).reshape(-1, shape[axis])
    matrix = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    product = matrix.conj().T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


@pytest.mark.parametrize("window", [(3,), (3, 4), (1, 2, 3)])
def test_delta_orthogonal_is_a_matrix_in_the_middle(window):
    found = initializers.delta_orthogonal()(KEY, (*window, 2, 4))
    middle = found[tuple((n - 1) // 2 for n in window)]
    np.testing.assert_allclose(middle @ middle.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose((found**2).sum(), 2)


WRONG = [
    (initializers.he_normal(), (4,), "Can't compute input and output sizes of a 1-dimensional"),
    (
        initializers.variance_scaling(1.0, "x", "normal"),
        (2, 2),
        "invalid mode for variance scaling",
    ),
    (
        initializers.variance_scaling(1.0, "fan_in", "x"),
        (2, 2),
        "invalid distribution for variance",
    ),
    (initializers.orthogonal(), (4,), "orthogonal initializer requires at least a 2D shape"),
    (initializers.delta_orthogonal(), (3, 3), "requires a 3D, 4D or 5D shape."),
    (initializers.delta_orthogonal(), (3, 3, 2), "`fan_in` must be less or equal than `fan_out`."),
]


@pytest.mark.parametrize(("init", "shape", "text"), WRONG, ids=[text[:25] for *_, text in WRONG])
def test_shapes_and_words_that_mean_nothing(init, shape, text):
    with pytest.raises(ValueError) as found:
        init(KEY, shape)
    assert text in str(found.value)
