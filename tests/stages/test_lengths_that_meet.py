"""A length that the program finds is checked where a product, or arrays that are joined, need
another one: it was refused while the function was traced."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct

JOINED = {
    "matmul": lambda x, w: x[:5] @ w,
    "matmul, turned": lambda x, w: w @ x[:5],
    "matmul of matrices": lambda x, w: x[:5, None].T @ np.stack([w, w], 1),
    "dot": lambda x, w: np.dot(x[:5], w),
    "inner": lambda x, w: np.inner(w, x[:5]),
    "vdot": lambda x, w: np.vdot(x[:5], w),
    "vecdot": lambda x, w: np.vecdot(x[:5], w),
    "tensordot": lambda x, w: np.tensordot(x[:5], w, 1),
    "stack": lambda x, w: np.stack([x[:5], x[-5:], w]),
    "column_stack": lambda x, w: np.column_stack([x[:5], w]),
    "concatenate": lambda x, w: np.concatenate([x[:5][None], w[None], x[-5:][None]]),
    "vstack": lambda x, w: np.vstack([x[x > 2][:5], w]),
}


@pytest.mark.parametrize("name", JOINED)
@one_in(3)
def test_equal_lengths_meet_and_others_are_an_error_of_the_call(name):
    function, w = JOINED[name], np.array([1.0, -2.0, 3.0, 0.5, 7.0])
    compiled = transpile.jit(function).lower(ShapeDtypeStruct(("n",), float), w).compile()
    for n in (5, 9):
        x = np.arange(3.0, 3.0 + n)
        np.testing.assert_allclose(compiled(x, w), function(x, w), rtol=1e-14, strict=True)
    for n in (1, 4):
        x = np.arange(3.0, 3.0 + n)
        with pytest.raises(ValueError):
            function(x, w)
        with pytest.raises(ValueError):
            compiled(x, w)


def test_texts_say_what_a_length_is():
    x = ShapeDtypeStruct(("n",), float)
    compiled = transpile.jit(lambda x: x[2:] + x[:4]).lower(x).compile()
    text = r"shapes \(n - u,\) \(u2,\), where u is min\(2, n\) and u2 is min\(4, n\)\n"
    with pytest.raises(ValueError, match=text):
        compiled(np.ones(9))
    assert compiled(np.ones(6)).shape == (4,)


def test_sizes_of_arguments_that_differ_are_still_refused():
    n, m = (ShapeDtypeStruct((d,), float) for d in "nm")
    for function in (lambda x, y: x @ y, lambda x, y: np.stack([x, y])):
        with pytest.raises(ValueError):
            transpile.jit(function).lower(n, m)
    with pytest.raises(ValueError, match=r"shapes \(n - 1,\) \(n,\) ?\n"):  # no constraint helps
        transpile.jit(lambda x: x[1:] + x).lower(n)
