"""SciPy's solvers and integrals of functions that close over traced values, beside SciPy, and their
derivatives beside differences."""

import numpy as np
import pytest
from thorough import thorough

pytest.importorskip("scipy")
from scipy import integrate, optimize

from transpile import grad, jit, vmap
from transpile.errors import UnsupportedError

X = np.linspace(0.0, 1.0, 20)
DATA = 2 * np.exp(-3 * X) + 0.01 * np.cos(40 * X)


def check(f, *args, rtol=1e-8):
    """Values beside SciPy's, and the derivative of their sum beside a central difference."""
    for wanted, got in zip(_parts(f(*args)), _parts(jit(f)(*args)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=1e-10)

    def total(*args):
        return sum(np.sum(part) for part in _parts(f(*args)))

    h = 1e-5 * np.ones_like(args[0])
    wanted = (total(args[0] + h, *args[1:]) - total(args[0] - h, *args[1:])) / 2e-5
    np.testing.assert_allclose(np.sum(jit(grad(total))(*args)), wanted, rtol=1e-4, atol=1e-6)


def _parts(results):
    return results if isinstance(results, tuple) else (results,)


def test_integrals():
    def f(k):
        bell = integrate.quad(lambda x: np.exp(-k * x * x), 0, np.inf)[0]
        root = integrate.quad(lambda x: 1 / np.sqrt(x * k), 0, 3)[0]
        end = integrate.quad(lambda x, c: np.cos(c * x), 0, k, args=(3.0,))[0]
        line = integrate.quad(lambda x: np.exp(-((x - k) ** 2)), -np.inf, np.inf)[0]
        left = integrate.quad(lambda x: x * np.exp(k * x), 0, -np.inf)[0]
        return bell, root, end, line, left

    check(f, 2.0)


@thorough
def test_integrals_of_functions_of_two_numbers_and_of_arrays():
    def f(k):
        area = integrate.dblquad(lambda y, x: k * x * y * y, 0, 1, 0, lambda x: x)[0]
        both = integrate.quad_vec(lambda x: np.array([np.sin(k * x), x**k]), 0, 2)[0]
        return area, both

    check(f, 2.0)


def test_a_kink_and_a_branch():
    def step(x, k):
        if x < k:
            return 1.0
        return 2.0 * x

    def f(k):
        kink = integrate.quad(lambda x: np.abs(x - k), 0, 1, points=[0.3])[0]
        return kink, integrate.quad(step, 0, 1, args=(k,))[0]

    got = jit(f)(0.3)
    np.testing.assert_allclose(got, (0.29, 0.3 + 0.91), rtol=1e-7)


def test_python_decides_by_no_example():
    """What a solver traces its function with is no value that Python may ask for."""
    times = [0.5, 1.0, 2.0]

    def f(a):
        step = lambda t, y: [a if t < 1 else -a]
        path = integrate.solve_ivp(step, (0, 2), [0.0], t_eval=times, max_step=0.05)
        return path.y, integrate.quad(lambda x: a if x > 0.75 else 0.0, 0, 1, points=[0.75])[0]

    for wanted, got in zip(f(1.1), jit(f)(1.1), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)


def test_known_integrals_stay_scipys():
    value, error = jit(lambda x: tuple(x * v for v in integrate.quad(np.cos, 0, 1)))(1.0)
    assert (value, error) == integrate.quad(np.cos, 0, 1)


def pendulum(t, y, k):
    return [y[1], -k * np.sin(y[0]) - 0.1 * y[1]]


@pytest.mark.parametrize("method", ["RK45", "RK23"])
def test_initial_values_step_by_step(method):
    times = np.linspace(0, 10, 15)

    def f(k):
        path = integrate.solve_ivp(
            pendulum, (0, 10), [1.0, 0.0], method, times, args=(k,), rtol=1e-4
        )
        back = integrate.solve_ivp(
            lambda t, y: -k * y + t, (2, 0), [1.0], method, [1.5, 0.0], rtol=1e-9, atol=1e-9
        )
        return path.y, path.nfev, back.y, back.nfev

    for wanted, got in zip(f(2.0), jit(f)(2.0), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)


@thorough
def test_derivatives_of_initial_values():
    times = np.linspace(0, 3, 4)

    def f(k, start):
        tight = {"rtol": 1e-10, "atol": 1e-10}
        path = integrate.solve_ivp(pendulum, (0, 3), start, t_eval=times, args=(k,), **tight)
        back = integrate.solve_ivp(lambda t, y: -k * y, (2, 0), [1.0], t_eval=[0.0], **tight)
        return path.y, back.y

    check(f, 2.0, np.array([1.0, 0.5]))


def test_odeint():
    def f(k):
        path = integrate.odeint(lambda y, t: [y[1], -k * y[0] + t], [1, 0], np.linspace(0, 2, 4))
        back = integrate.odeint(lambda t, y: -k * y, 1.0, [1.0, 0.5, 0.0], tfirst=True)
        return path, back

    check(f, 2.0, rtol=1e-6)


def test_what_initial_values_lack():
    def f(k, **settings):
        return integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], **settings).y

    with pytest.raises(UnsupportedError, match="solve_ivp without t_eval="):
        jit(f)(1.0)
    with pytest.raises(UnsupportedError, match="method='BDF' of solve_ivp; RK45 and RK23 can be"):
        jit(lambda k: f(k, method="BDF", t_eval=[1.0]))(1.0)
    with pytest.raises(UnsupportedError, match="argument events= of scipy's solve_ivp"):
        jit(lambda k: f(k, events=lambda t, y: y[0], t_eval=[1.0]))(1.0)


def test_roots_in_brackets():
    def f(k):
        names = ("bisect", "brenth", "brentq", "ridder", "toms748")
        roots = [getattr(optimize, n)(lambda x: x**3 - k, 0, 5) for n in names]
        other = optimize.root_scalar(lambda x, c: np.cos(x) - c * k * x, bracket=(0, 3), args=(2,))
        return np.array(roots), other.root

    check(f, 2.0)
    missing = jit(lambda k: optimize.brentq(lambda x: x * x + k, -1, 2, full_output=True))(1.0)
    assert np.isnan(missing[0])
    assert not missing[1].converged


def test_roots_by_newton_of_numbers_and_arrays():
    def f(k):
        cube = lambda x: x**3 - k
        secant = optimize.newton(cube, 1.0)
        slopes = optimize.newton(cube, 1.0, fprime=lambda x: 3 * x * x)
        bends = optimize.newton(cube, 1.0, lambda x: 3 * x * x, fprime2=lambda x: 6 * x)
        many = optimize.newton(lambda x: x**2 - k * np.arange(1.0, 4.0), np.ones(3))
        return secant, slopes, bends, many

    check(f, 2.0)
    roots = vmap(lambda k: optimize.brentq(lambda x: x**3 - k, 0.0, 5.0))(np.array([1.0, 8.0]))
    np.testing.assert_allclose(roots, [1.0, 2.0], rtol=1e-12)


def test_systems():
    def f(k):
        one = optimize.fsolve(lambda v: [v[0] * np.cos(v[1]) - k, v[0] * v[1] - v[1] - 5], [1, 1])
        two = optimize.root(
            lambda v: np.array(
                [v[0] + 0.5 * (v[0] - v[1]) ** 3 - k, 0.5 * (v[1] - v[0]) ** 3 + v[1]]
            ),
            np.zeros(2),
        )
        slope = optimize.fsolve(lambda x: x**3 - k, 1.0, fprime=lambda x: 3 * x * x)
        return one, two.x, slope

    check(f, 4.0, rtol=1e-7)


def test_fits():
    def f(y):
        plain = optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), X, y)
        bound, _ = optimize.curve_fit(
            lambda x, a, b: a * np.exp(-b * x), X, y, bounds=(0, [1.5, 10])
        )
        weighted = optimize.curve_fit(
            lambda x, a, b: a + b * x, X, y, [1, 1], 0.1 + X, absolute_sigma=True
        )
        return *plain, bound, *weighted

    check(f, DATA, rtol=1e-5)


def test_least_squares_and_minima():
    def f(k):
        rosenbrock = lambda v: np.array([10 * (v[1] - v[0] ** 2), k - v[0]])
        found = optimize.least_squares(rosenbrock, np.array([2.0, 2.0]))
        lowest = optimize.minimize(lambda v: (v[0] - k) ** 2 + (v[1] - 1) ** 2, [2.0, 2.0])
        line = optimize.leastsq(lambda p, y: p[0] * X + p[1] - y, [1.0, 1.0], args=(k * DATA,))
        return found.x, lowest.x, line[0]

    for wanted, got in zip(f(1.5), jit(f)(1.5), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_matrix_of_deviations_and_no_guess_for_open_signatures():
    spread = np.diag((0.1 + X) ** 2)

    def f(y):
        return optimize.curve_fit(lambda x, a, b: a + b * x, X, y, sigma=spread)

    for wanted, got in zip(f(DATA), jit(f)(DATA), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="Unable to determine number of fit parameters"):
        jit(lambda y: optimize.curve_fit(lambda x, *p: p[0] * x, X, y)[0])(DATA)


@thorough
def test_vectors_of_runtime_sizes():
    def f(k):
        path = integrate.solve_ivp(lambda t, y: -y * k, (0, 1), k, t_eval=[0.5, 1.0]).y
        other = integrate.odeint(lambda y, t: -y * y, k, [0.0, 0.5, 1.0])
        roots = optimize.newton(lambda x: x**3 - k, np.ones(k.shape))
        return path, other, roots, integrate.quad_vec(lambda x: k * x, 0, 1)[0]

    compiled = jit(f, dynamic_shapes=True)
    for n in (1, 2, 7):
        k = np.linspace(1, 2, n)
        for wanted, got in zip(f(k), compiled(k), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_solvers_compute_in_double_precision_whatever_they_get():
    def f(k):
        path = integrate.solve_ivp(lambda t, y: -y, (0, 1), k, t_eval=[0.5, 1.0]).y
        other = integrate.odeint(lambda y, t: -y, k, [0.0, 1.0])
        root = optimize.brentq(lambda x: x * x - 2, k[0] * 0, k[0] * 9)
        many = optimize.fsolve(lambda x: x**2 - k, k)
        return path, other, root, many, optimize.least_squares(lambda x: x - k, k).x

    k = np.array([1, 2], np.float32)
    for wanted, got in zip(f(k), jit(f)(k), strict=True):
        assert got.dtype == np.asarray(wanted).dtype == np.float64
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
