"""Numbers that become static arguments by themselves, whatever calls there were before."""

from __future__ import annotations

import numpy as np
import pytest

import transpile
from transpile.errors import CarryError

X = np.arange(3.0)


def test_arrays_without_axes_are_refused_behind_integers_as_before_them():
    def multiples(x, n):
        out = ()
        for k in range(n):
            out += (x * k,)
        return out

    jitted = transpile.jit(multiples)
    assert len(jitted(X, np.int64(2))) == 2
    for function in (jitted, transpile.jit(multiples)):
        with pytest.raises(CarryError, match="keeps its shape and its structure"):
            function(X, np.array(2))
