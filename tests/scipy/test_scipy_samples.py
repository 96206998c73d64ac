"""Statistics of samples and distances, called by SciPy's names: SciPy is the oracle."""

import functools

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance
from scipy_oracle import assert_as_scipy

from transpile import jit
from transpile.errors import UnsupportedError
from transpile.test_util import check_grads

random = np.random.default_rng(0)
X = random.random((7, 9)) + 0.1
Y = random.random((7, 9)) + 0.1


check = functools.partial(assert_as_scipy, rtol=1e-10, single=(1e-5, 0))


def moments(axis, x):
    return [
        stats.moment(x, 3, axis=axis),
        stats.moment(x, 2, axis=axis, center=1.0),
        stats.skew(x, axis=axis),
        stats.skew(x, axis, bias=False, keepdims=True),
        stats.kurtosis(x, axis=axis),
        stats.kurtosis(x, axis=axis, fisher=False, bias=False),
        stats.variation(x, axis=axis, ddof=1),
        stats.gmean(x, axis=axis),
        stats.hmean(x, axis=axis, keepdims=True),
        stats.pmean(x, 3, axis=axis),
        stats.gstd(x, axis=axis),
        stats.entropy(x, axis=axis, base=2),
        stats.iqr(x, axis=axis, rng=(20, 80)),
        stats.iqr(x, axis=axis, scale="normal"),
        stats.median_abs_deviation(x, axis=axis),
        stats.median_abs_deviation(x, axis=axis, scale="normal", keepdims=True),
        stats.trim_mean(x, 0.2, axis=axis),
        stats.zscore(x, axis=axis, ddof=1),
        stats.sem(x, axis=axis),
    ]


@pytest.mark.parametrize("axis", [0, -1, None])
def test_moments_means_and_spreads(axis):
    check(functools.partial(moments, axis), X)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # SciPy's
def test_moments_of_integers_of_single_precision_and_of_equal_elements():
    def several(k, x, same):
        return [
            stats.skew(k),
            stats.gmean(k),
            stats.zscore(k),
            stats.skew(x),
            stats.kurtosis(x, axis=1),
            stats.zscore(x),
            stats.skew(same),
            stats.zscore(same),
        ]

    check(several, np.arange(1, 9), X.astype("f4"), np.full(5, 3.0))


def test_moments_with_weights_or_of_two_samples():
    def several(x, y):
        return [
            stats.gmean(x, weights=y),
            stats.hmean(x[0], weights=y[0]),
            stats.entropy(x, y),
            stats.zmap(x, y),
            stats.gzscore(x),
            tuple(stats.describe(x))[2:],
            np.array(stats.describe(x).minmax),
        ]

    check(several, X, Y)


@pytest.mark.parametrize("axes", [(0, 1), (2, 0), (-1, 0, 1)])
def test_several_axes_are_one_sample(axes):
    def several(x):
        return [
            stats.skew(x, axis=axes, keepdims=True),
            stats.variation(x, axis=axes),
            stats.iqr(x, axis=axes),
            stats.median_abs_deviation(x, axis=axes),
            stats.sem(x, axis=axes),
            tuple(stats.ttest_1samp(x, 0.1, axis=axes)),
        ]

    check(several, random.normal(size=(4, 3, 5)))


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # SciPy's
def test_equal_elements_have_no_score_but_beside_others():
    check(lambda x: [stats.zscore(x, axis=1), stats.zscore(x, axis=None)], np.ones((3, 4)))
    check(stats.zscore, np.array([0.1, 0.1, 0.1 + 1e-18]) + np.zeros((2, 3)))
    check(stats.zmap, np.arange(3), np.ones(3))
    check(lambda x, y: tuple(stats.linregress(x, y)), np.arange(9.0), np.zeros(9))


def test_a_range_of_percentiles_has_the_dtype_of_the_sample():
    check(lambda x: [stats.iqr(x), stats.iqr(x, rng=(90, 20))], X.astype(np.float32))
    for wrong, error in (((10, 101), ValueError), ((1, 2, 3), TypeError)):
        with pytest.raises(error, match=r"of `rng` must be in|`rng` must be a two"):
            jit(lambda x, rng=wrong: stats.iqr(x, rng=rng))(X)


def test_hypotheses():
    def several(x, y):
        return [
            tuple(result)
            for result in (
                stats.ttest_1samp(x, 0.5),
                stats.ttest_1samp(x, 0.5, axis=1, alternative="less"),
                stats.ttest_rel(x, y),
                stats.ttest_ind(x, y, axis=1),
                stats.ttest_ind(x, y[:4], equal_var=False, alternative="greater"),
                stats.pearsonr(x[0], y[0]),
                stats.pearsonr(x, y, axis=1, alternative="less"),
                stats.spearmanr(x[0], np.round(y[0], 1)),
                stats.linregress(x[0], y[0]),
                stats.f_oneway(x[0], y[0], x[1, :5]),
                stats.chisquare(x[0] * 100),
                stats.chisquare(x[0] / x[0].sum(), y[0] / y[0].sum()),
                stats.jarque_bera(x[0]),
            )
        ]

    check(several, X, Y)


@pytest.mark.filterwarnings("ignore:An input array is")
def test_correlations_of_what_overflows_vanishes_or_is_constant():
    def several(x, y):
        return [tuple(f(x[i], y[i])) for i in range(4) for f in (stats.pearsonr, stats.spearmanr)]

    x = np.array([[2.3, 4.5, 6.7, 8.0], [1.0, 2.0, 3.0, 5.0], [0.1] * 3 + [0.1], [1, 2, 4, 3]])
    y = np.array([[0.12, 5.5, 33.0, 1.0], [3.0, 1.0, -2.0, 9.0], [1, 2, 3, 4], [7, 7, 7, 7]])
    scale = np.array([[1e200], [1e-200], [1], [1]])
    check(several, x * scale, y * scale)


def test_correlations_with_one_sample_of_all_rows():
    check(lambda x, y: tuple(stats.pearsonr(x, y, axis=1)), X, Y[0])
    with pytest.raises(ValueError, match="must have the same length along `axis`"):
        jit(stats.pearsonr)(X[0], Y[0, :4])
    with pytest.raises(ValueError, match="must have length at least 2"):
        jit(stats.pearsonr)(X[0, :1], Y[0, :1])


METRICS = (
    *("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "hamming"),
    *("braycurtis", "canberra", "minkowski"),
)
WEIGHTS = np.arange(1.0, 10.0)
INVERSE = np.linalg.inv(np.cov(X.T) + np.eye(9))


def test_distances_of_all_pairs():
    def several(x, y):
        return [
            *(distance.cdist(x, y, metric) for metric in METRICS),
            *(distance.pdist(x, metric) for metric in METRICS),
            distance.cdist(x, y, "minkowski", p=3),
            distance.cdist(x, y, distance.cityblock),
            distance.cdist(x, y, "seuclidean", V=WEIGHTS),
            distance.cdist(x, y, "mahalanobis", VI=INVERSE),
            distance.cdist(x, y, "sqeuclidean", w=WEIGHTS),
            distance.squareform(distance.pdist(x)),
            distance.squareform(distance.cdist(x, x), checks=False),
            distance.cdist(x.astype("f4"), y),
        ]

    check(several, X, Y[:4])


def test_distances_of_two_vectors():
    def several(u, v):
        return [
            *(getattr(distance, metric)(u, v) for metric in METRICS),
            *(getattr(distance, metric)(u, v, w=WEIGHTS) for metric in METRICS),
            distance.minkowski(u, v, 3),
            distance.seuclidean(u, v, WEIGHTS),
            distance.mahalanobis(u, v, INVERSE),
        ]

    check(several, X[0], Y[0])


def test_derivatives():
    check_grads(lambda x: stats.skew(x, axis=None), (X,), 1)
    check_grads(lambda x: distance.cdist(x, Y[:2]), (X[:3],), 1)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: stats.skew(x, nan_policy="omit"), "nan_policy='omit' of scipy.stats.skew"),
        (lambda x: stats.spearmanr(x), "scipy.stats.spearmanr of other than two vectors"),
        (lambda x: distance.cdist(x, x, "jaccard"), "the metric 'jaccard' is not supported"),
    ],
)
def test_what_is_not_supported(f, text):
    with pytest.raises(UnsupportedError, match=text):
        jit(f)(X)
