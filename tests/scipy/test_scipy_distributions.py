"""scipy.stats: skewed, truncated, discrete and circular distributions, kernel density estimates and
statistics of samples, against SciPy, with edge values."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as drawn_with
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import random, tree_util
from transpile.scipy import stats
from transpile.test_util import check_grads

scipy_stats = pytest.importorskip("scipy.stats")

INF, NAN = np.inf, np.nan
X = np.array([-INF, -700, -40, -3, -0.3, 0, 0.5, 1, 2, 3, 6.28, 40, 700, INF, NAN])
K = np.array([-1, 0, 1, 2, 5, 6, 7, 100, INF, NAN])
P = np.array([0, 1e-10, 0.3, 0.999, 1, -0.1, 1.1, NAN])

CONTINUOUS = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]
# module: its functions, parameters of all kinds, points
CASES = {
    "gumbel_l": (CONTINUOUS, [(), (0.5, 2.0), (0.0, -1.0), (0.0, 0.0)], X),
    "gumbel_r": (CONTINUOUS, [(), (0.5, 2.0), (0.0, -1.0), (0.0, 0.0)], X),
    "pareto": (CONTINUOUS, [(2.5,), (0.5, 0.5, 2.0), (-1.0,), (0.0,)], X),
    "gennorm": (["logpdf", "pdf", "cdf"], [(0.5,), (1.0,), (7.0,), (0.0,), (-1.0,)], X),
    "truncnorm": (
        CONTINUOUS,
        [
            (-2, 2),
            (-INF, INF),
            (-INF, -1),
            (3, INF),
            (10, 11),
            (-11, -10),
            (2, 1),
            (0, 0),
            (-30, -20),
            (-1, 2, 0.5, 1.5),
            (-1, 2, 0.5, -1.5),
        ],
        X,
    ),
    "vonmises": (["logpdf", "pdf"], [(0.0,), (0.1,), (50.0,), (1e4,), (-1.0,)], X),
    "wrapcauchy": (["logpdf", "pdf"], [(0.1,), (0.5,), (0.9,), (0.0,), (1.0,)], X),
    "betabinom": (
        ["logpmf", "pmf"],
        [(0, 2, 3.0), (5, 2, 3.0), (100, 0.5, 0.7, 1), (-1, 1, 1), (5, 0, 1)],
        K,
    ),
    "nbinom": (
        ["logpmf", "pmf"],
        [(5, 0.3), (2.5, 1.0), (1e5, 0.99, 2), (0, 0.5), (2, 0), (2, 1.5)],
        K,
    ),
}
QUANTILES = {"gumbel_l": (0.5, 2.0), "gumbel_r": (0.5, 2.0), "pareto": (2.5, 0.5, 2.0)}
EVERY = [
    f"{name}.{function}" for name, (functions, _, _) in CASES.items() for function in functions
]
# Parameters of a usual kind, for programs and derivatives.
USUAL = {
    "gumbel_l": (0.5, 2.0),
    "gumbel_r": (0.5, 2.0),
    "pareto": (2.5, -4.0, 2.0),
    "gennorm": (1.7,),
    "truncnorm": (-2.5, 2.5, 0.1, 1.5),
    "vonmises": (2.0,),
    "wrapcauchy": (0.4,),
    "betabinom": (6.0, 2.0, 3.0),
    "nbinom": (5.0, 0.3),
}
INSIDE = np.array([0.3, 0.8, 2.0])


def function_of(full, module=stats):
    name, _, function = full.partition(".")
    return getattr(getattr(module, name), function)


def reference(full, points, parameters):
    want = function_of(full, scipy_stats)(points, *parameters)
    name, _, function = full.partition(".")
    valid = len(parameters) < 2 or parameters[1] > 0
    if name.startswith("gumbel") and valid:  # where SciPy subtracts infinities, or underflows
        infinite = np.isinf(points) & np.isnan(want)
        want = np.where(infinite, {"pdf": 0, "logpdf": -INF}.get(function, want), want)
        z = (points - parameters[0]) / parameters[1] if parameters else points
        z = -z if name == "gumbel_r" else z
        far = (z < -600) & (function == ("logcdf" if name == "gumbel_l" else "logsf"))
        want = np.where(far, z, want)
    return want


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's, of invalid parameters
@pytest.mark.parametrize("full", EVERY)
@one_in(2)
def test_values_are_those_of_scipy(full):
    name, _, _ = full.partition(".")
    _, kinds, points = CASES[name]
    for parameters in kinds:
        found = function_of(full)(points, *parameters)
        want = reference(full, points, parameters)
        np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-300, err_msg=str(parameters))


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_are_those_of_scipy(name):
    parameters = QUANTILES[name]
    want = getattr(scipy_stats, name).ppf(P, *parameters)
    np.testing.assert_allclose(getattr(stats, name).ppf(P, *parameters), want, rtol=1e-12)
    # Near 0 SciPy's distribution function of Pareto's cancels; ours gives the probability back.
    chance = getattr(stats, name).cdf(want[1:4], *parameters)
    np.testing.assert_allclose(chance, P[1:4], rtol=1e-5)


def everything(points):
    return {full: function_of(full)(points, *USUAL[full.split(".")[0]]) for full in EVERY}


def test_programs_give_what_numpy_gives_and_single_precision_stays_single():
    found, want = transpile.jit(everything)(INSIDE), everything(INSIDE)
    single = everything(INSIDE.astype(np.float32))
    for full in EVERY:
        np.testing.assert_allclose(found[full], want[full], rtol=1e-12, err_msg=full)
        assert single[full].dtype == np.float32, full
        np.testing.assert_allclose(single[full], want[full], 2e-4, 1e-5, err_msg=full)


@pytest.mark.parametrize("full", [f for f in EVERY if ".log" in f])
@one_in(2)
def test_derivatives_in_the_point_and_all_parameters(full):
    name = full.split(".")[0]
    arguments = (INSIDE, *map(np.float64, USUAL[name]))
    function = function_of(full)
    if name in ("betabinom", "nbinom"):  # steps of floor, or counts
        function, arguments = (
            (lambda *rest: function_of(full)(np.arange(3.0), *rest)),
            arguments[1:],
        )
    check_grads(function, arguments, order=1, rtol=1e-5, atol=1e-6)


def test_derivatives_beside_infinite_bounds_are_finite():
    for name in ("logpdf", "logsf"):
        function = getattr(stats.truncnorm, name)
        for low, high in ((-INF, INF), (-INF, -1.0), (1.0, INF)):
            x = np.clip(0.5, low + 0.5, high - 0.5)
            found = transpile.grad(function)(x, low, high)
            step = (function(x + 1e-6, low, high) - function(x - 1e-6, low, high)) / 2e-6
            np.testing.assert_allclose(found, step, rtol=1e-6, atol=1e-8)
        bound = transpile.grad(function, 2)(-2.0, -INF, -1.0)
        assert np.isfinite(bound), name


def test_the_multinomial_distribution():
    p = np.array([0.2, 0.5, 0.3])
    counts = np.array([[1, 2, 0], [1, 1, 1], [4, -1, 0], [0, 0, 3], [1, 1, 0]])
    want = [scipy_stats.multinomial.logpmf(row, 3, p) for row in counts]
    np.testing.assert_allclose(stats.multinomial.logpmf(counts, 3, p), want, rtol=1e-13)
    np.testing.assert_allclose(
        transpile.jit(stats.multinomial.pmf)(counts, 3, p), np.exp(want), rtol=1e-13
    )
    totals = np.array([3, 3, 3, 3, 2])
    assert stats.multinomial.logpmf(counts, totals, np.array([0.2, 0.8, 0]))[3] == -INF
    assert np.isfinite(stats.multinomial.logpmf(counts, totals, p)[4])
    check_grads(lambda p: stats.multinomial.logpmf(counts[:2], 3, p), (p,), order=1, rtol=1e-5)
    with pytest.raises(ValueError, match=re.escape("x and n must be of integer type")):
        stats.multinomial.logpmf(np.array([1.0, 2.0]), 3, p[:2])


# --------------------------------------------------------------------------- statistics of samples


@drawn_with(max_examples=30)
@given(
    st.integers(1, 4),
    st.integers(1, 7),
    st.sampled_from(["f8", "f4", "i4", "?", "u1"]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, -1, None]),
    st.booleans(),
)
def test_modes_ranks_and_errors_of_the_mean_of_drawn_arrays(m, n, dtype, seed, axis, has_nan):
    x = np.random.default_rng(seed).integers(0, 4, (m, n)).astype(dtype)
    if has_nan and x.dtype.kind == "f":
        x[seed % m, seed % n] = NAN
    if dtype != "?":
        for keepdims in (False, True):
            want = scipy_stats.mode(x, axis=axis, keepdims=keepdims)
            found = stats.mode(x, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(found.mode, want.mode)
            np.testing.assert_array_equal(found.count, want.count)
            assert found.mode.dtype == x.dtype
    for method in ("average", "min", "max", "dense", "ordinal"):
        want = scipy_stats.rankdata(x, method, axis=axis)
        found = stats.rankdata(x, method, axis=axis)
        np.testing.assert_array_equal(found, want)
        assert found.dtype == np.float64
    if min(x.shape if axis is None else (x.shape[axis],)) > 1 and dtype != "?":
        want = scipy_stats.sem(x.astype("f8"), axis=axis)
        tolerance = 1e-5 if dtype == "f4" else 1e-12
        np.testing.assert_allclose(stats.sem(x, axis=axis), want, rtol=tolerance)


def test_modes_and_ranks_in_programs():
    x = np.random.default_rng(1).integers(0, 4, (5, 8)).astype(float)
    x[2, 3] = NAN

    @transpile.jit
    def compiled(x):
        ranks = [
            stats.rankdata(x, m, axis=1) for m in ("average", "min", "max", "dense", "ordinal")
        ]
        return stats.mode(x, axis=1), ranks, stats.sem(x, axis=1), stats.sem(x, 1, 1, "omit")

    mode, ranks, error, omitted = compiled(x)
    np.testing.assert_array_equal(mode, scipy_stats.mode(x, axis=1))
    for method, found in zip(("average", "min", "max", "dense", "ordinal"), ranks, strict=True):
        np.testing.assert_array_equal(found, scipy_stats.rankdata(x, method, axis=1))
    np.testing.assert_allclose(error, scipy_stats.sem(x, axis=1), rtol=1e-13)
    want = scipy_stats.sem(x, axis=1, nan_policy="omit")
    np.testing.assert_allclose(omitted, want, rtol=1e-13)
    rows = transpile.vmap(lambda row: stats.mode(row).mode)(x)
    np.testing.assert_array_equal(rows, mode.mode)
    slope = transpile.grad(lambda x: stats.sem(x))(x[0])
    step = (stats.sem(x[0] + 1e-6 * np.eye(8)[3]) - stats.sem(x[0])) / 1e-6
    np.testing.assert_allclose(slope[3], step, rtol=1e-4, atol=1e-7)


def test_samples_without_elements_and_refused_arguments():
    empty = stats.mode(np.zeros((0, 3)))
    assert np.isnan(empty.mode).all() and (empty.count == 0).all() and empty.mode.shape == (3,)
    assert stats.rankdata(np.zeros((0, 3)), axis=0).shape == (0, 3)
    for function in (stats.mode, stats.rankdata):
        with pytest.raises(NotImplementedError, match="Logic for `nan_policy` of omit"):
            function(X, nan_policy="omit")
        with pytest.raises(NotImplementedError, match="cannot know whether"):
            function(X, nan_policy="raise")
        with pytest.raises(ValueError, match="Illegal nan_policy value 'x'"):
            function(X, nan_policy="x")
    with pytest.raises(ValueError, match="unknown method 'x'"):
        stats.rankdata(X, "x")
    with pytest.raises(ValueError, match="raise is not supported"):
        stats.sem(X, nan_policy="raise")


# ----------------------------------------------------------------------- kernel density estimates


def estimates(d, weighted, method=None):
    draw = np.random.default_rng(d)
    data = draw.normal(size=(d, 12)) if d > 1 else draw.normal(size=12)
    weights = draw.uniform(size=12) if weighted else None
    points = draw.normal(size=(d, 5))
    ours = stats.gaussian_kde(data, method, weights)
    return ours, scipy_stats.gaussian_kde(data, method, weights), points


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("d", "method"), [(1, None), (2, "silverman"), (3, 0.7)])
@one_in(2)
def test_density_estimates_are_those_of_scipy(d, method, weighted):
    ours, theirs, points = estimates(d, weighted, method)
    for name in ("neff", "covariance", "inv_cov", "dataset", "weights"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10)
    np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-11)
    far = points + 30
    np.testing.assert_allclose(ours.logpdf(far), theirs.logpdf(far), rtol=1e-11)
    mean, cov = np.ones(d) * 0.3, np.eye(d) * 0.7
    want = theirs.integrate_gaussian(mean, cov)
    np.testing.assert_allclose(ours.integrate_gaussian(mean, cov), want, rtol=1e-11)
    np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), rtol=1e-11)
    if d == 1:
        want = theirs.integrate_box_1d(-0.5, INF)
        np.testing.assert_allclose(ours.integrate_box_1d(-0.5, INF), want, rtol=1e-12)


def test_density_estimates_in_programs_and_their_derivatives():
    ours, theirs, points = estimates(2, True)
    program = transpile.jit(lambda kde, x: (kde(x), kde.logpdf(x), kde.integrate_kde(kde)))
    density, log_density, product = program(ours, points)
    np.testing.assert_allclose(density, theirs(points), rtol=1e-11)
    np.testing.assert_allclose(log_density, np.log(density), rtol=1e-11)
    np.testing.assert_allclose(product, theirs.integrate_kde(theirs), rtol=1e-11)
    assert isinstance(tree_util.tree_map(lambda x: x, ours), stats.gaussian_kde)

    def of_data(data):
        return np.sum(stats.gaussian_kde(data, lambda kde: kde.neff**-0.2).logpdf(points))

    check_grads(of_data, (ours.dataset,), order=1, modes=("rev",), rtol=1e-4)
    drawn = ours.resample(random.key(0), (3, 4))
    assert drawn.shape == (2, 3, 4) and np.isfinite(drawn).all()
    assert ours.resample(random.key(0), ()).shape == (2,)


def test_refused_density_estimates():
    ours, _, _ = estimates(2, False)
    for arguments, text in (
        ((1.0,), "multiple elements"),
        ((X[3:6], "x"), "'scott', 'silverman', a scalar, or a callable"),
        ((X[3:6], None, np.ones(2)), "of length n"),
        ((X[3:6], None, np.ones((3, 2))), "one-dimensional"),
    ):
        with pytest.raises(ValueError, match=text):
            stats.gaussian_kde(*arguments)
    with pytest.raises(NotImplementedError, match="complex data"):
        stats.gaussian_kde(X[3:6] + 1j)
    with pytest.raises(ValueError, match="points have dimension 3, dataset has dimension 2"):
        ours(np.ones((3, 4)))
    with pytest.raises(NotImplementedError, match="only 1D box integrations"):
        ours.integrate_box(0, 1)
    with pytest.raises(NotImplementedError, match="bandwidth"):
        ours.set_bandwidth("scott")
    with pytest.raises(ValueError, match="only handles 1D"):
        ours.integrate_box_1d(0, 1)
    with pytest.raises(ValueError, match="mean does not have dimension 2"):
        ours.integrate_gaussian(np.ones(3), np.eye(2))
    with pytest.raises(ValueError, match="not the same dimensionality"):
        ours.integrate_kde(stats.gaussian_kde(X[3:9]))
