"""`scipy.optimize` for traced functions: minima, roots and least squares."""

from transpile.scipy.optimize.least_squares import (
    LeastSquaresResult,
    curve_fit,
    least_squares,
    leastsq,
)
from transpile.scipy.optimize.minimizer import OptimizeResults, minimize
from transpile.scipy.optimize.roots import (
    RootResults,
    bisect,
    brenth,
    brentq,
    newton,
    ridder,
    root_scalar,
    toms748,
)
from transpile.scipy.optimize.systems import SystemResult, fsolve, root

__all__ = [
    "LeastSquaresResult",
    "OptimizeResults",
    "RootResults",
    "SystemResult",
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fsolve",
    "least_squares",
    "leastsq",
    "minimize",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]
