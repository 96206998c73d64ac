"""Functions of SciPy that are traced as its Python code has them, and where they come to code in
C."""

import numpy as np
import pytest
from scipy import linalg, optimize, signal, stats
from thorough import each

import transpile
from transpile.errors import TracerArrayConversionError

RANDOM = np.random.default_rng(3)
X, Y, Z = RANDOM.normal(size=(3, 30))

# What assigns to known arrays in branches that traced values decide, or among themselves.
STATISTICS = {
    "kruskal": lambda x, y, z: stats.kruskal(x, y, z),
    "circvar": lambda x, y, z: stats.circvar(x),
    "skewtest": lambda x, y, z: stats.skewtest(x + y * z),
}


@each("name", STATISTICS, ordinary=("circvar",))
def test_statistics_of_scipys_own_code(name):
    f = STATISTICS[name]
    for found, expected in zip(
        transpile.tree.leaves(transpile.jit(f)(X, Y, Z)),
        transpile.tree.leaves(f(X, Y, Z)),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "name", "text"),
    [
        (lambda x: stats.kendalltau(x, x[::-1]), "_stats._kendall_dis", "stats.kendalltau(x, x["),
        (lambda x: signal.find_peaks(x), "_local_maxima_1d", "signal.find_peaks(x)"),
        (lambda x: optimize.nnls(np.outer(x, x), x), "_slsqplib.nnls", "optimize.nnls(np.outer("),
        (lambda x: linalg.bandwidth(np.outer(x, x)), "bandwidth", "linalg.bandwidth(np.outer("),
    ],
)
def test_compiled_code_of_scipy_is_told_at_the_users_line(f, name, text):
    with pytest.raises(TracerArrayConversionError) as caught:
        transpile.jit(f)(X)
    message = str(caught.value)
    line = f.__code__.co_firstlineno
    assert message.startswith(f"test_scipy_python.py:{line}: a traced value, ")
    assert f"{name}, which is compiled, in `" in message
    assert f"In `{text}" in message and "docs/scipy.md" in message


def test_compiled_code_of_scipy_takes_known_values():
    def f(x):
        return x + stats.kendalltau(X, Y).statistic + len(signal.find_peaks(X)[0])

    np.testing.assert_allclose(transpile.jit(f)(X), f(X), rtol=1e-15)
