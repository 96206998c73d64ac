"""Calls of SciPy's own functions in traced code, beside the same calls in Python."""

import numpy as np

from transpile import jit


def flat(results):
    """The leaves of results, of which some are tuples."""
    return [np.asarray(leaf) for r in results for leaf in (r if isinstance(r, tuple) else (r,))]


def assert_as_scipy(f, *args, rtol, atol=0.0, single=None):
    """That a function gives under jit what it gives without: shapes, dtypes and values. `single`
    are the tolerances of float32, relative and absolute, where these are others."""
    for wanted, got in zip(flat(f(*args)), flat(jit(f)(*args)), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        relative, absolute = single if single and got.dtype == np.float32 else (rtol, atol)
        np.testing.assert_allclose(got, wanted, rtol=relative, atol=absolute)
