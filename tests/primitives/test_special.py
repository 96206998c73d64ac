"""scipy.special: every function against mpmath's and JAX's values, in and outside of programs, with
its derivatives, batches and errors.
"""

import re

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.scipy import special
from transpile.test_util import check_grads

NAN, INF = np.nan, np.inf
RANDOM = np.random.default_rng(12)


def over(low, high):
    return RANDOM.uniform(low, high, 8)


# name: (mpmath's, operands)
REFERENCES = {
    "beta": (mp.beta, (over(0.1, 60), over(0.1, 60))),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), (over(0.1, 30), over(1, 1e6))),
    "boxcox": (lambda x, p: (x**p - 1) / p, (over(0.1, 9), over(0.1, 2))),
    "boxcox1p": (lambda x, p: ((1 + x) ** p - 1) / p, (over(-0.9, 9), over(0.1, 2))),
    "comb": (mp.binomial, (np.arange(8.0) * 5, np.arange(8.0))),
    "entr": (lambda x: -x * mp.log(x), (over(0.01, 9),)),
    "exp1": (mp.e1, (over(0.01, 9),)),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), (over(-30, 30),)),
    "factorial": (mp.factorial, (np.arange(8.0),)),
    "gammaln": (lambda x: mp.log(abs(mp.gamma(x))), (over(-4, 30),)),
    "hyp1f1": (mp.hyp1f1, (over(-3, 3), over(0.5, 4), over(-40, 40))),
    "i0": (lambda x: mp.besseli(0, x), (over(-30, 30),)),
    "i1": (lambda x: mp.besseli(1, x), (over(-30, 30),)),
    "kl_div": (lambda p, q: p * mp.log(p / q) - p + q, (over(0.1, 9), over(0.1, 9))),
    "log_ndtr": (lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), (over(-30, 8),)),
    "loggamma": (mp.loggamma, (over(0.1, 30),)),
    "logit": (lambda x: mp.log(x / (1 - x)), (over(0.01, 0.99),)),
    "ndtr": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, (over(-30, 8),)),
    "poch": (mp.rf, (over(0.1, 9), over(0.1, 9))),
    "rel_entr": (lambda p, q: p * mp.log(p / q), (over(0.1, 9), over(0.1, 9))),
    "xlog1py": (lambda x, y: x * mp.log1p(y), (over(0, 9), over(-0.9, 9))),
    "xlogy": (lambda x, y: x * mp.log(y), (over(0, 9), over(0.1, 9))),
}
PRIMITIVES = {  # exact in test_special_functions: here by the primitive of that name
    "betainc": (over(0.5, 9), over(0.5, 9), over(0.1, 0.9)),
    "dawsn": (over(-5, 5),),
    "digamma": (over(0.5, 9),),
    "erf": (over(-3, 3),),
    "erfc": (over(-3, 9),),
    "erfcx": (over(-2, 9),),
    "erfinv": (over(-0.9, 0.9),),
    "expi": (over(0.5, 9),),
    "expn": (np.arange(8), over(0.1, 9)),
    "gamma": (over(0.1, 9),),
    "gammainc": (over(0.5, 9), over(0.5, 9)),
    "gammaincc": (over(0.5, 9), over(0.5, 9)),
    "i0e": (over(-9, 9),),
    "i1e": (over(-9, 9),),
    "ndtri": (over(0.1, 0.9),),
    "polygamma": (np.arange(8) % 3, over(0.5, 9)),
    "spence": (over(0.1, 5),),
    "zeta": (over(1.5, 5), over(0.5, 5)),
}
OPERANDS = {name: case[1] for name, case in REFERENCES.items()} | PRIMITIVES
OPERANDS |= {
    "hyp2f1": (over(-3, 3), over(-3, 3), over(0.5, 4), over(-0.8, 0.8)),
    "owens_t": (over(-4, 4), over(-3, 3)),
    "gammasgn": (over(-5, 5),),
    "softmax": (over(-5, 5),),
    "log_softmax": (over(-5, 5),),
    "logsumexp": (over(-5, 5),),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_values_are_exact_to_a_few_digits(name):
    exact, operands = REFERENCES[name]
    with mp.workdps(30):
        want = [
            float(mp.re(exact(*map(mpf, map(float, at))))) for at in zip(*operands, strict=True)
        ]
    np.testing.assert_allclose(getattr(special, name)(*operands), want, rtol=3e-12, atol=1e-15)


def single(operands):
    """The operands in float32 and int8."""
    return [x.astype(np.float32 if x.dtype.kind == "f" else np.int8) for x in operands]


def every(operands):
    return {name: getattr(special, name)(*arrays) for name, arrays in operands.items()}


@pytest.fixture(scope="module")
def results():
    """Of every function, in one program: in double precision, and in single."""
    program = transpile.jit(every)
    return program(OPERANDS), program({name: single(v) for name, v in OPERANDS.items()})


@pytest.mark.parametrize("name", OPERANDS)
@one_in(5)
def test_programs_give_what_numpy_gives(results, name):
    want = getattr(special, name)(*OPERANDS[name])
    assert type(want) in (np.ndarray, np.float64) and want.dtype == np.float64
    np.testing.assert_allclose(results[0][name], want, rtol=2e-12, atol=1e-15)


@pytest.mark.parametrize("name", OPERANDS)
def test_single_precision_stays_single(results, name):
    operands = single(OPERANDS[name])
    want = getattr(special, name)(
        *(x.astype(float) if x.dtype.kind == "f" else x for x in operands)
    )
    for found in (getattr(special, name)(*operands), results[1][name]):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, want, rtol=2e-4 if "hyp" in name else 2e-5, atol=2e-6)


@pytest.mark.parametrize("name", sorted(set(OPERANDS) - {"comb", "factorial", "gammasgn"}))
@one_in(5)
def test_derivatives_are_differences(name):
    function, operands = getattr(special, name), OPERANDS[name]
    fixed = {"betainc": 2, "expn": 1, "polygamma": 1}.get(name, 0)
    few = slice(2 if "hyp" in name else None)
    given, moving = ([x[few] for x in part] for part in (operands[:fixed], operands[fixed:]))
    check_grads(lambda *x: function(*given, *x), moving, order=1, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", sorted(set(OPERANDS) - {"softmax", "log_softmax", "logsumexp"}))
@one_in(5)
def test_batches_are_loops(name):
    function, operands = getattr(special, name), OPERANDS[name]
    batched = transpile.vmap(function)(*operands)
    np.testing.assert_allclose(batched, function(*operands), rtol=1e-13)


def test_operands_broadcast_and_integers_are_float64():
    a, x = np.arange(1, 4)[:, None], np.linspace(0.5, 2, 5)
    for function in (special.gammainc, transpile.jit(special.gammainc)):
        found = function(a, x)
        assert found.shape == (3, 5) and found.dtype == np.float64
        np.testing.assert_allclose(found[1, 2], special.gammainc(2.0, 1.25), rtol=1e-15)
    assert special.gammaln(5).dtype == np.float64
    np.testing.assert_allclose(special.gammaln(5), np.log(24))
    np.testing.assert_allclose(special.xlogy(np.array([1, 2]), 3), np.array([1, 2]) * np.log(3))


# ------------------------------------------------------------------------- single functions


def test_entropies_and_their_derivatives_at_the_ends():
    np.testing.assert_array_equal(special.entr(np.array([0.0, -1.0])), [0, -INF])
    np.testing.assert_array_equal(
        special.rel_entr(np.array([0.0, -1, 1]), np.array([1.0, 1, -1])), [0, INF, INF]
    )
    np.testing.assert_array_equal(special.kl_div(np.array([0.0, 1]), np.array([2.0, 1])), [2, 0])
    np.testing.assert_array_equal(special.xlogy(0.0, np.array([0.0, INF, NAN])), [0, 0, NAN])
    np.testing.assert_array_equal(special.xlog1py(0.0, np.array([-1.0, NAN])), [0, NAN])
    assert transpile.grad(special.entr)(0.0) == INF
    assert transpile.grad(special.xlogy, argnums=1)(0.0, 2.0) == 0


def test_the_logistic_function_and_its_inverse_at_the_ends():
    np.testing.assert_array_equal(special.expit(np.array([-800.0, 800, NAN])), [0, 1, NAN])
    np.testing.assert_array_equal(special.logit(np.array([0.0, 1, 2])), [-INF, INF, NAN])
    assert transpile.grad(special.expit)(800.0) == 0


def test_signs_of_the_gamma_function():
    x = np.array([0.0, -0.0, 1.5, -0.5, -1.5, -1, NAN])
    np.testing.assert_array_equal(special.gammasgn(x), [1, -1, 1, -1, 1, NAN, NAN])
    np.testing.assert_array_equal(special.loggamma(np.array([0.0, -1.5])), [INF, NAN])


def test_counts():
    np.testing.assert_allclose(special.comb(np.array([5, 3, -1]), np.array([2, 4, 1])), [10, 0, 0])
    np.testing.assert_allclose(special.comb(np.array([5, 3]), 2, repetition=True), [15, 6])
    np.testing.assert_array_equal(special.comb(3, 0, repetition=True), 1)
    np.testing.assert_array_equal(special.factorial(np.array([-1, 0, 5])), [0, 1, 120])
    np.testing.assert_array_equal(special.poch(3.0, np.array([0.0, 2.0])), [1, 12])


def test_the_normal_distribution_far_out():
    np.testing.assert_allclose(special.log_ndtr(-1e4), -0.5e8 - np.log(1e4) - np.log(2 * np.pi) / 2)
    np.testing.assert_allclose(special.log_ndtr(np.array([40.0, 9.0])), [0, -1.1285884e-19], 1e-7)
    np.testing.assert_allclose(transpile.grad(special.log_ndtr)(-30.0), 30.03325967, 1e-9)
    x = np.linspace(-8, 5, 30)
    np.testing.assert_allclose(special.ndtri(special.ndtr(x)), x, atol=1e-10)


def test_bernoulli_numbers_are_exact():
    with mp.workdps(30):
        want = [float(mp.bernoulli(n)) for n in range(201)]
    want[1] = -0.5
    np.testing.assert_allclose(special.bernoulli(200), want, rtol=2e-14)
    for n in range(4):
        np.testing.assert_allclose(special.bernoulli(n), want[: n + 1])


def test_multigammaln_is_a_sum():
    a = np.array([3.0, 4.5])
    want = 1.5 * np.log(np.pi) + sum(special.gammaln(a - k / 2) for k in range(3))
    np.testing.assert_allclose(transpile.jit(lambda x: special.multigammaln(x, 3))(a), want)


def test_sine_and_cosine_integrals_come_together():
    x = np.array([0.5, 5.0, -5.0, 40.0])
    for sine, cosine in (special.sici(x), transpile.jit(special.sici)(x)):
        np.testing.assert_allclose(sine, [float(mp.si(v)) for v in x], rtol=1e-14)
        np.testing.assert_allclose(cosine, [float(mp.ci(abs(v))) for v in x], rtol=1e-13)
    slopes = transpile.jacfwd(special.sici)(2.0)
    np.testing.assert_allclose(slopes, [np.sin(2) / 2, np.cos(2) / 2], rtol=1e-15)
    assert transpile.grad(lambda x: special.sici(x)[0])(0.0) == 1


def test_fresnels_integrals_come_together():
    x = np.array([0.0, 0.3, -1.2, 1.7, -3.0, 12.5, 1000.3])
    with mp.workdps(30):
        want = [[float(f(mpf(float(v)))) for v in x] for f in (mp.fresnels, mp.fresnelc)]
    for found in (special.fresnel(x), transpile.jit(special.fresnel)(x)):
        np.testing.assert_allclose(found, want, rtol=2e-14)
    slopes = transpile.jacfwd(special.fresnel)(1.3)
    angle = np.pi / 2 * 1.3**2
    np.testing.assert_allclose(slopes, [np.sin(angle), np.cos(angle)], rtol=1e-14)
    ends = special.fresnel(np.array([INF, -INF, NAN]))
    np.testing.assert_array_equal(ends, [[0.5, -0.5, NAN]] * 2)


def test_bessel_functions_of_all_orders():
    z = np.array([[1e-8, 0.0, 0.05], [0.5, -3.0, 20.0]])
    want = [[[float(mp.besselj(n, v)) for v in row] for row in z] for n in range(5)]
    for function in (special.bessel_jn, transpile.jit(special.bessel_jn, static_argnames=("v",))):
        np.testing.assert_allclose(function(z, v=4), want, rtol=1e-11, atol=1e-16)
    found = special.bessel_jn(z.astype(np.float32), v=4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, want, atol=1e-6)
    slope = transpile.grad(lambda x: special.bessel_jn(x, v=1)[0])
    np.testing.assert_allclose(
        [slope(2.5), slope(0.03)], [-float(mp.besselj(1, v)) for v in (2.5, 0.03)]
    )


def test_hypergeometric_functions_near_one_far_left_and_as_polynomials():
    operands = [
        (0.5, 1.3, 2.1, 0.95),
        (0.5, 1.3, 1.8, 0.99),
        (0.5, 1.5, 3.0, 0.97),
        (1.5, 0.7, 2.0, -30.0),
        (-3.0, 2.0, 1.5, 0.7),
        (-3.0, 2.0, 1.5, 4.0),
        (0.3, 0.4, 2.0, 1.0),
    ]
    with mp.workdps(30):
        want = [float(mp.re(mp.hyp2f1(*map(mpf, at)))) for at in operands]
    columns = np.array(operands).T
    for function in (special.hyp2f1, transpile.jit(special.hyp2f1)):
        np.testing.assert_allclose(function(*columns), want, rtol=1e-11)
    assert special.hyp2f1(0.5, 0.5, 2.0, 1.5) == INF
    assert special.hyp2f1(0.5, 0.5, -2.0, 0.5) == INF
    assert special.hyp1f1(0.0, 2.0, 3.0) == 1 and special.hyp1f1(1.0, 0.0, 3.0) == INF
    with mp.workdps(30):
        far = [float(mp.hyp1f1(0.7, 1.9, v)) for v in (150, -150, 600)]
    np.testing.assert_allclose(special.hyp1f1(0.7, 1.9, np.array([150.0, -150, 600])), far, 1e-11)


def test_owens_t_is_its_integral():
    h, a = np.array([0.0, 0.5, 3, 8, 1, -2, 0.1]), np.array([2.0, 1, 0.3, 0.9, 30, 3, -1e8])

    def integral(h, a):
        def inner(x):
            return mp.exp(-(mpf(h) ** 2) * (1 + x * x) / 2) / (1 + x * x)

        return float(mp.quad(inner, mp.linspace(0, min(abs(a), 40), 30)) / (2 * mp.pi))

    want = np.array([integral(*at) for at in zip(h[:-1], a[:-1], strict=True)])
    np.testing.assert_allclose(special.owens_t(h, a)[:-1], want, rtol=1e-11)
    np.testing.assert_allclose(special.owens_t(h, a)[-1], -special.ndtr(-0.1) / 2, rtol=1e-13)
    assert np.isnan(special.owens_t(NAN, 1.0))


# --------------------------------------------------------------------------- complex numbers


def complex_points(count=60):
    random = np.random.default_rng(1)
    return random.uniform(-8, 8, count) + 1j * random.uniform(-8, 8, count)


def test_the_complex_gamma_function_and_its_logarithm():
    z = np.concatenate([complex_points(), [-2.5 + 1e-9j, 3 - 200j, -3.2 - 40j, 0.5]])
    with mp.workdps(25):
        logarithms = [complex(mp.loggamma(complex(v))) for v in z]
        values = [complex(mp.gamma(complex(v))) for v in z]
    np.testing.assert_allclose(special.loggamma(z), logarithms, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(transpile.jit(special.gamma)(z), values, rtol=1e-11)
    assert np.isnan(special.gamma(np.array([-2 + 0j])).real).all()


def test_faddeevas_function():
    z = complex_points()
    with mp.workdps(25):
        values = [complex(mp.exp(-(mpmath.mpc(v) ** 2)) * mp.erfc(-1j * mpmath.mpc(v))) for v in z]
    for function in (special.wofz, transpile.jit(special.wofz)):
        np.testing.assert_allclose(function(z), values, rtol=1e-9)
    above = z.imag >= 0
    np.testing.assert_allclose(special.wofz(z)[above], np.array(values)[above], rtol=1e-12)
    np.testing.assert_allclose(special.erfcx(-1j * z), special.wofz(z), rtol=1e-12)
    assert special.wofz(1.0).dtype == np.complex128
    small = special.wofz(z[above].astype(np.complex64))
    assert small.dtype == np.complex64
    np.testing.assert_allclose(small, np.array(values)[above], rtol=1e-5)


def test_spherical_harmonics():
    n = np.array([0, 1, 1, 2, 3, 3, 4, 4])
    m = np.array([0, 0, -1, 2, -3, 1, 4, 0])
    theta, phi = np.linspace(-0.5, 3, 8), np.linspace(0, 6, 8)
    with mp.workdps(25):
        want = [
            complex(mp.spherharm(*map(int, (a, b)), c, d))
            for a, b, c, d in zip(n, m, theta, phi, strict=True)
        ]
    np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), want, rtol=1e-13, atol=1e-15)
    program = transpile.jit(lambda *v: special.sph_harm_y(*v, n_max=4))
    np.testing.assert_allclose(program(n, m, theta, phi), want, rtol=1e-13, atol=1e-15)
    with pytest.raises(ValueError, match="n_max"):
        transpile.jit(special.sph_harm_y)(n, m, theta, phi)


# ------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("kind", "call", "text"),
    [
        (ValueError, lambda: special.beta(1j, 2), "beta does not support complex-valued inputs."),
        (
            ValueError,
            lambda: special.polygamma(1.5, 2.0),
            "must be of integer type. Got dtype float64",
        ),
        (NotImplementedError, lambda: special.zeta(2.0), "Riemann zeta function not implemented"),
        (NotImplementedError, lambda: special.factorial(3, exact=True), "exact=True"),
        (TypeError, lambda: special.ndtr(np.arange(3)), "x.dtype=int64 is not supported"),
        (TypeError, lambda: special.ndtri(np.arange(3)), "x.dtype=int64 is not supported"),
        (TypeError, lambda: special.spence(np.arange(3)), "x.dtype=int64 is not supported"),
        (ValueError, lambda: special.log_ndtr(1.0, 31), "series_order must be <= 30."),
        (ValueError, lambda: special.log_ndtr(1.0, -1), "series_order must be non-negative."),
        (TypeError, lambda: special.log_ndtr(1.0, 1.5), "series_order must be a Python integer."),
        (ValueError, lambda: special.bernoulli(-1), "n must be a non-negative integer."),
        (ValueError, lambda: special.bessel_jn(1j, v=1), "complex input not supported."),
        (ValueError, lambda: special.sici(1j), "Argument `x` to sici must be real-valued."),
        (TypeError, lambda: special.gammaln("x"), "requires ndarray or scalar arguments"),
    ],
)
def test_errors_are_those_of_jax(kind, call, text):
    with pytest.raises(kind, match=re.escape(text)):
        call()


# ------------------------------------------------------------------------------------- names


def test_every_public_name_is_there_once_and_is_documented():
    assert len(set(special.__all__)) == len(special.__all__)
    for name in special.__all__:
        assert getattr(special, name).__doc__, name


def test_names_are_those_of_jax():
    jax_special = pytest.importorskip("jax.scipy.special")
    assert set(special.__all__) >= {n for n in dir(jax_special) if n[0] != "_"}


@pytest.mark.parametrize("name", sorted(set(OPERANDS) - {"kl_div"}))
def test_values_are_those_of_scipy(name):
    scipy_special = pytest.importorskip("scipy.special")
    want = getattr(scipy_special, name)(*OPERANDS[name])
    np.testing.assert_allclose(getattr(special, name)(*OPERANDS[name]), want, 1e-10, 1e-14)


def test_functions_fuse_with_what_stands_around_them():
    def density(x, a, b):
        return ((a - 1) * jnp.log(x) + (b - 1) * jnp.log1p(-x) - special.betaln(a, b)).sum()

    x = np.linspace(0.1, 0.9, 50)
    text = transpile.jit(density).lower(x, 2.5, 3.5).as_text("loops")
    assert text.count("for i in") == 1
