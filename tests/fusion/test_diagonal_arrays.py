"""Diagonals: which arrays, alike but for diagonals, have no memory, and that results stay."""

import numpy as np
import pytest
from graphs import lowered, scheduled
from helpers import ordinary
from thorough import one_in

from transpile import hessian, jacfwd, jit
from transpile.ir.loop_ir import Apply, For
from transpile.ir.loop_rewrite import parts

pytestmark = pytest.mark.full_level

N = 40


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def second_differences(x):
    return ((x[2:] - x[1:-1] ** 2 + x[:-2]) ** 2).sum()


def around(x):
    return ((np.roll(x, 1) - x**2) ** 2).sum()


def of_neighbours(x):
    return np.exp(x[1:] * x[:-1]).sum()


def marked(x):
    """An array that is alike but for a diagonal, and dear enough to be kept."""
    return (np.eye(N) - 2 * np.eye(N, k=1) * x[:, None]) * 3 - x[:, None]


def of_shifted(x):
    m = marked(x)
    return m[1:] * m[:-1] + m[1:] * x[1:, None]


def of_transposed(x):
    m = marked(x)
    return m * m.T


def in_product(x):
    m = marked(x)
    return m @ m


def in_sum(x):
    """Read again for each column of a sum."""
    m = marked(x)
    return np.abs(m[:, :, None] + m[None, :, :]).max(axis=1)


def of_columns(x):
    """Elements of a row differ everywhere."""
    m = (np.eye(N) * x[None, :] + x[None, :]) * 3 - x[:, None]
    return m[1:] * m[:-1]


def of_sines(x):
    """Too dear to be computed again."""
    m = np.sin(np.eye(N) * x[:, None] + x[:, None])
    return m[1:] * m[:-1]


def large_arrays(program):
    return [b for b in program.temporaries if len(b.shape) == 2]


X = ordinary("f8", (N,))


@pytest.mark.parametrize("f", [rosenbrock, second_differences, around, of_neighbours])
@one_in(2)
def test_second_derivatives_keep_no_square_array(f):
    program = lowered(hessian(f), X)
    assert large_arrays(program) == []
    np.testing.assert_allclose(jit(hessian(f))(X), hessian(f)(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", [of_shifted, of_transposed])
def test_what_is_alike_but_for_diagonals_is_computed_where_it_is_read(f):
    assert large_arrays(lowered(f, X)) == []
    np.testing.assert_array_equal(jit(f)(X), f(X))


@pytest.mark.parametrize("f", [in_product, in_sum, of_columns, of_sines])
@one_in(2)
def test_other_arrays_are_kept(f):
    assert len(large_arrays(lowered(f, X))) == 1
    np.testing.assert_allclose(jit(f)(X), f(X), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", [rosenbrock, second_differences])
@pytest.mark.parametrize("special", [np.inf, np.nan, -0.0])
def test_special_numbers_reach_all_of_their_rows(f, special):
    x = X.copy()
    x[7] = special
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(jit(hessian(f))(x), hessian(f)(x))


def test_zeros_keep_their_signs():
    x = np.concatenate([X[:20], -X[20:]])
    ours, theirs = jit(of_shifted)(x), of_shifted(x)
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize("shape", [(N,), (3, N)])
def test_jacobians_of_elementwise_functions_are_right(shape):
    x = ordinary("f8", shape)
    f = jacfwd(lambda x: x**3 - 2 * x)
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-13)


def test_loops_are_cut_around_five_diagonals():
    """No comparison is left in the loops between them."""
    program = scheduled(hessian(second_differences), X)
    nests = [s for k in program.kernels for s in k.body if isinstance(s, For)]
    inner = [s for nest in nests for s in nest.body if isinstance(s, For)]
    assert [(str(s.start), str(s.stop)) for s in inner] == [("0", "i - 2"), ("i + 3", str(N))]
    found = [p.op for loop in inner for s in loop.body for p in parts(s) if isinstance(p, Apply)]
    assert "multiply" in found
    assert "equal" not in found
