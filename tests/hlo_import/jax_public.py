"""Functions of JAX's public modules that `jax_models.py` does not have, one or more of each module,
and programs of several of them."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import jax.scipy.optimize
import numpy as np
from jax import lax
from jax.scipy import stats
from jax_models import IMG, KER, F, I, P, S, V, X, of_key, rng
from jax_models import key as KEY

jsl = jsp.linalg
C = X + 1j * X[::-1]
T = rng.normal(size=(2, 3, 4))
T32 = T[None].astype(np.float32)
U = np.array([1, 5, 250], np.uint8)


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def steps(f, count):
    """A function applied several times, in a loop that may end early."""
    return lambda x: lax.while_loop(
        lambda s: (s["n"] < count) & (jnp.max(s["x"]) < 1e6),
        lambda s: {"x": f(s["x"]), "n": s["n"] + 1},
        {"x": x, "n": 0},
    )


def ctc(logits):
    return jax.scipy.special.logsumexp(logits, axis=-1), jax.nn.log_softmax(logits, axis=0)


def lstm(w, xs):
    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(w @ jnp.concatenate([x, h]), 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(cell, (jnp.zeros(3), jnp.zeros(3)), xs)


def viterbi(transition, emission):
    def forward(score, e):
        both = score[:, None] + transition
        return both.max(0) + e, both.argmax(0)

    score, back = lax.scan(forward, emission[0], emission[1:])
    last = jnp.argmax(score)
    _, path = lax.scan(lambda s, b: (b[s], b[s]), last, back, reverse=True)
    return score.max(), jnp.append(path, last)


ACTIVATIONS = [
    "relu",
    "relu6",
    "sigmoid",
    "soft_sign",
    "silu",
    "log_sigmoid",
    "celu",
    "selu",
    "mish",
    "squareplus",
    "hard_tanh",
    "hard_sigmoid",
    "hard_silu",
    "leaky_relu",
]


def switched(state, x):
    branches = [jnp.sin, lambda v: v * v, lambda v: -v]
    state = lax.switch(jnp.int32(jnp.abs(x) * 3) % 3, branches, state + x)
    return state, state


def newton(a):
    return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


def depthwise(x, w):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=3
    )


def segments(v, i):
    return [f(v, i, 6) for f in (jax.ops.segment_sum, jax.ops.segment_max, jax.ops.segment_prod)]


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.clip(g * jnp.cos(x), -0.5, 0.5),))


def table(name, f, *args):
    return (name, f, args)


PUBLIC = [
    # jax.nn
    table("nn activations", lambda x: [getattr(jax.nn, n)(x) for n in ACTIVATIONS], X),
    table("glu", jax.nn.glu, X[:, :4]),
    table("logmeanexp", lambda x: jax.nn.logmeanexp(x, axis=1), X),
    table("dot_product_attention", lambda q: jax.nn.dot_product_attention(q, q, q + 1), T32),
    table(
        "attention mask",
        lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True, scale=0.3),
        T32,
    ),
    table("ctc", ctc, X),
    table("sparse_plus", lambda x: (jax.nn.sparse_plus(x), jax.nn.sparse_sigmoid(x)), X),
    table("scaled_matmul grad", jax.grad(lambda a: (jax.nn.gelu(a @ a.T, False) ** 2).sum()), X),
    # jax.numpy
    table("average", lambda x, w: jnp.average(x, 0, weights=w, returned=True), X, P[:5]),
    table("cov", lambda x: (jnp.cov(x), jnp.corrcoef(x)), X),
    table("digitize", lambda x: jnp.digitize(x, jnp.array([-1.0, 0.0, 0.5])), X),
    table("apply_along_axis", lambda x: jnp.apply_along_axis(jnp.sort, 0, x), X),
    table("piecewise", lambda x: jnp.piecewise(x, [x < 0, x > 1], [jnp.sin, 2.0, jnp.cos]), X),
    table("select", lambda x: jnp.select([x < -1, x > 0], [x, x**2], 7.0), X),
    table("histogram2d", lambda x, y: jnp.histogram2d(x, y, bins=3), V, P),
    table("unravel", lambda i: jnp.unravel_index(jnp.abs(i), (5, 7)), I),
    table("packbits", lambda x: (jnp.packbits(x > 0, axis=1), jnp.unpackbits(jnp.uint8(9))), X),
    table("gradient", lambda x: (jnp.gradient(x), jnp.trapezoid(x, dx=0.5)), X),
    table("poly", lambda x: (jnp.poly(x[:3]), jnp.polyint(x), jnp.vander(x, 3)), V),
    table("ix_ assign", lambda x: x.at[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))].add(9.0), X),
    table("gcd lcm", lambda i: (jnp.gcd(i, 12), jnp.lcm(i, 4)), I),
    table("unwrap", lambda x: (jnp.unwrap(4 * x), jnp.ediff1d(x), jnp.diff(x, 2)), V),
    table("nanquantile", lambda x: jnp.nanquantile(jnp.log(x), 0.3, axis=1), X),
    table("uint8", lambda u: (u + u, u * 3, u >> 1, jnp.bitwise_count(u), ~u), U),
    table("complex", lambda c: (jnp.exp(c), jnp.sqrt(c), jnp.abs(c), jnp.angle(c), c.conj().T), C),
    table("roll traced", lambda x, k: jnp.roll(x, k, 1), X, np.int64(3)),
    table("setdiff", lambda i: jnp.setdiff1d(i, jnp.array([0, 3]), size=9, fill_value=-1), I),
    table("correlate", lambda v: jnp.correlate(v, v[:3], "full"), V),
    # jax.numpy.linalg, jax.scipy.linalg, jax.lax.linalg
    table("matrix functions", lambda x: (jnp.linalg.matrix_rank(x), jnp.linalg.cond(x)), X),
    table("tensorsolve", lambda x: jnp.linalg.tensorsolve(x.reshape(5, 1, 5), x[:, :1]), X),
    table("eigh stack", lambda s: jnp.linalg.eigvalsh(jnp.stack([s, s @ s])), S),
    table("qr grad", jax.grad(lambda x: (jnp.linalg.qr(x)[1] ** 3).sum()), X),
    table("svd grad", jax.grad(lambda x: (jnp.linalg.svd(x, compute_uv=False)).sum()), X),
    table("solve complex", jnp.linalg.solve, C + 3 * np.eye(5), C),
    table("toeplitz", lambda v: (jsl.toeplitz(v), jsl.block_diag(v[:2], v[2:4])), V),
    table("sqrtm", lambda s: jsl.sqrtm(s).real, S),
    table("polar", lambda x: jsl.polar(x), X),
    table("eigh_tridiagonal", lambda d: jsl.eigh_tridiagonal(d, d[1:], eigvals_only=True), V),
    table("expm_frechet", lambda x: jsl.expm_frechet(x, x.T), X / 2),
    table("tridiagonal", lambda d: lax.linalg.tridiagonal_solve(d, d + 9, d, d[:, None]), V),
    table("lu_solve", lambda s, b: jsl.lu_solve(jsl.lu_factor(s), b), S, X),
    table("hessenberg", lambda x: jnp.abs(jnp.diag(jsl.hessenberg(x))), X),
    # jax.scipy
    table("special", lambda x: [f(x) for f in (jsp.special.expit, jsp.special.exp1)], P),
    table("bessel", lambda x: (jsp.special.i0(x), jsp.special.i1e(x), jsp.special.expn(2, x)), P),
    table("factorial", lambda x: (jsp.special.factorial(x), jsp.special.betaln(x, x + 1)), P),
    table("gammainc grad", jax.grad(lambda x: jsp.special.gammainc(2.0, x).sum()), P),
    table("multigammaln", lambda x: jsp.special.multigammaln(x + 2, 2), P),
    table("hyp1f1", lambda x: jsp.special.hyp1f1(1.5, 2.5, x), P),
    table("t.logpdf", lambda x: (stats.t.logpdf(x, 3.0), stats.cauchy.cdf(x)), X),
    table("gamma.cdf", lambda x: (stats.gamma.cdf(x, 2.0), stats.beta.logpdf(x / 9, 2, 3)), P),
    table("poisson.pmf", lambda i: stats.poisson.pmf(jnp.abs(i), 3.0), I),
    table("mvn", lambda x, s: stats.multivariate_normal.logpdf(x, jnp.zeros(5), s), X, S),
    table("mode", lambda i: stats.mode(i % 4, axis=None), I),
    table("kde", lambda v, x: stats.gaussian_kde(v)(x[0]), V, X),
    table("rankdata", lambda i: stats.rankdata(i), I),
    table("welch", lambda v: jsp.signal.welch(v, nperseg=4), np.concatenate([V, P])),
    table("convolve2d", lambda x: jsp.signal.convolve2d(x, x[:2, :2], "same"), X),
    table("dct", lambda v: (jsp.fft.dct(v), jsp.fft.idct(v, norm="ortho")), V),
    table("cubic", lambda x: jax.image.resize(x, (7, 3), "lanczos3", antialias=True), X),
    table(
        "minimize",
        lambda x: jsp.optimize.minimize(rosenbrock, x, method="BFGS", options={"maxiter": 4}).x,
        V[:3],
    ),
    table("gmres", lambda s, b: jsp.sparse.linalg.gmres(lambda v: s @ v, b)[0], S, V[:5]),
    table("bicgstab", lambda s, b: jsp.sparse.linalg.bicgstab(lambda v: s @ v, b)[0], S, V[:5]),
    table("trapezoid", lambda x: jsp.integrate.trapezoid(x, axis=0), X),
    table(
        "regular grid",
        lambda x, q: jsp.interpolate.RegularGridInterpolator(
            (jnp.arange(5.0), jnp.arange(5.0)), x, method="linear"
        )(q),
        X,
        np.array([[0.5, 1.5], [3.2, 2.9]]),
    ),
    table("vq", lambda x: jsp.cluster.vq.vq(x, x[:2]), X),
    # jax.lax
    table("while of dicts", steps(lambda x: x * 1.5 + 1, 20), P),
    table("switch in scan", lambda x: lax.scan(switched, 0.5, x), V),
    table("fori of while", lambda x: lax.fori_loop(0, 3, lambda i, v: newton(v + i), x), 7.0),
    table("associative matrices", lambda x: lax.associative_scan(jnp.matmul, x), T[..., :3]),
    table("sort keys", lambda i, x: lax.sort((i[0], x[0, :5], i[1]), num_keys=2), I[:, :5], X),
    table("approx_max_k", lambda v: lax.approx_max_k(v, 3), V),
    table("approx_min_k", lambda x: lax.approx_min_k(x, 2, 0, recall_target=0.8), F),
    table("dynamic update", lambda x, i: lax.dynamic_update_slice(x, x[:2, :2], (i, 3)), X, 1),
    table("reduce_window", lambda x: lax.cumprod(x, 1, reverse=True), X),
    table("population", lambda i: (lax.clz(i), lax.population_count(i)), I),
    table("bits", lambda i: (lax.shift_right_logical(i, 2), lax.bitwise_xor(i, 5)), I),
    table("reduce custom", lambda x: lax.reduce(x, 0.0, lambda a, b: jnp.hypot(a, b), (1,)), X),
    table("select_and_gather", jax.jacrev(lambda x: pooled(x).ravel()[:3]), IMG),
    table(
        "ragged_dot", lambda a, b: lax.ragged_dot(a, b, jnp.array([1, 1])), X[:2, :3], T[..., :2]
    ),
    table("conv f64", lambda a, b: lax.conv(a, b, (1, 1), "SAME"), T[None], T[None, :, :2, :3]),
    table(
        "depthwise",
        jax.grad(lambda w: (depthwise(IMG, w) ** 2).sum()),
        KER[:, :, :1].repeat(3, 3)[..., :3],
    ),
    table("lstm grad", jax.grad(lambda w, x: lstm(w, x)[1].sum()), np.ones((12, 8)) / 9, X),
    table("viterbi", viterbi, X, X),
    table("segment", lambda v: segments(v, jnp.array([0, 0, 1, 2, 2, 2, 4])), V),
    # jax.random
    table(
        "distributions",
        of_key(
            lambda q: [
                jax.random.exponential(q, (3,)),
                jax.random.laplace(q, (3,)),
                jax.random.logistic(q, (3,)),
                jax.random.cauchy(q, (3,)),
                jax.random.pareto(q, 2.0, (3,)),
                jax.random.rayleigh(q, 2.0, (3,)),
                jax.random.weibull_min(q, 1.0, 2.0, (3,)),
                jax.random.rademacher(q, (3,)),
                jax.random.maxwell(q, (3,)),
                jax.random.double_sided_maxwell(q, 0.0, 1.0, (3,)),
                jax.random.triangular(q, 0.0, 0.5, 1.0, (3,)),
                jax.random.lognormal(q, 0.5, (3,)),
            ]
        ),
        KEY,
    ),
    table(
        "more distributions",
        of_key(
            lambda q: [
                jax.random.t(q, 3.0, (3,)),
                jax.random.chisquare(q, 3.0, shape=(3,)),
                jax.random.f(q, 3.0, 4.0, shape=(3,)),
                jax.random.binomial(q, 9, 0.3, (3,)),
                jax.random.geometric(q, 0.3, (3,)),
                jax.random.loggamma(q, 0.4, (3,)),
                jax.random.wald(q, 2.0, (3,)),
                jax.random.orthogonal(q, 3),
                jax.random.ball(q, 2),
                jax.random.generalized_normal(q, 1.5, (2,)),
            ]
        ),
        KEY,
    ),
    table("clone", of_key(lambda q: jax.vmap(jax.random.normal)(jax.random.split(q, 3))), KEY),
    # derivatives
    table("jacrev of jacfwd", jax.jacrev(jax.jacfwd(rosenbrock)), V[:4]),
    table("hvp", lambda x, v: jax.jvp(jax.grad(rosenbrock), (x,), (v,))[1], V, P),
    table("checkpoint", jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), V),
    table("custom_vjp", jax.grad(lambda x: clipped(x).sum()), V),
    table(
        "implicit",
        jax.grad(
            lambda s: lax.custom_linear_solve(
                lambda v: s @ v, jnp.ones(5), lambda _, b: jnp.linalg.solve(s, b), symmetric=True
            ).sum()
        ),
        S,
    ),
    table("vmap of scan", jax.vmap(lambda r: lax.scan(lambda c, v: (c + v, c * v), 0.0, r)), X),
    table("vmap of solve", jax.vmap(jnp.linalg.solve, (0, None)), np.stack([S, S + 1]), X),
    table("f32 model", lambda w, x: jax.nn.relu(x @ w) @ w.T, F, F),
]
