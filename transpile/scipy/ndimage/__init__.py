"""`scipy.ndimage` for traced functions: filters, morphology, resampling and sums over labels."""

from transpile.scipy.ndimage.binary import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_opening,
)
from transpile.scipy.ndimage.coordinates import map_coordinates
from transpile.scipy.ndimage.correlations import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from transpile.scipy.ndimage.extremes import (
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    maximum_filter,
    maximum_filter1d,
    minimum_filter,
    minimum_filter1d,
    morphological_gradient,
)
from transpile.scipy.ndimage.gaussians import (
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
)
from transpile.scipy.ndimage.ranks import median_filter, percentile_filter, rank_filter
from transpile.scipy.ndimage.resampling import affine_transform, rotate, shift, zoom
from transpile.scipy.ndimage.splines import spline_filter, spline_filter1d

__all__ = [
    "affine_transform",
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_opening",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "laplace",
    "map_coordinates",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "rotate",
    "shift",
    "sobel",
    "spline_filter",
    "spline_filter1d",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]
