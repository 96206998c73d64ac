"""`cholesky`, `eigh` and `eigvalsh` of the namespace, which take the Hermitian part of their
operand, as `jax.numpy.linalg` does.

NumPy's functions read one triangle, so that the derivative by the other one is zero, and the
gradient of a symmetric matrix is a triangle. Of the Hermitian part it is symmetric. For a Hermitian
operand the values are the same to the bit. `numpy.linalg.cholesky(x)` of a traced x stays NumPy's,
as does `symmetrize_input=False`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import Array
from transpile.numpy.keywords import extended
from transpile.numpy.linalg.common import LINALG, adjoint
from transpile.trace.tracer import Tracer


def _hermitian_part(a: Array) -> Any:
    """x/2 + x^H/2: exact for Hermitian matrices that are not denormal."""
    x: Any = a if isinstance(a, Tracer) else np.asarray(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.dtype.kind not in "fc":
        return x  # symmetric integers are; the function refuses other shapes
    half = x * 0.5
    return half + adjoint(half)


def _of_hermitian_part(name: str) -> Callable[..., Any]:
    function = LINALG[name]

    @functools.wraps(function)
    def symmetrized(a: Array, *args: Any, symmetrize_input: bool = True, **kwargs: Any) -> Any:
        if "UPLO" in kwargs and kwargs["UPLO"] is None:  # as JAX writes the default
            del kwargs["UPLO"]
        return function(_hermitian_part(a) if symmetrize_input else a, *args, **kwargs)

    names = ("symmetrize_input",)
    symmetrized.__signature__ = extended(function, names, True)  # type: ignore[attr-defined]
    symmetrized.__doc__ = (
        f"{(function.__doc__ or '').rstrip()}\n\n    With `symmetrize_input` of the Hermitian part "
        "(a + a^H) / 2, whose derivatives are Hermitian; without\n    it of a triangle, as NumPy "
        "has it.\n    "
    )
    return symmetrized


OF_JAX = {name: _of_hermitian_part(name) for name in ("cholesky", "eigh")}


def eigvalsh(a: Array, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of Hermitian matrices in ascending order; see `eigh`."""
    return LINALG["eigvalsh"](_hermitian_part(a) if symmetrize_input else a, UPLO or "L")


OF_JAX["eigvalsh"] = eigvalsh
