"""Functions of JAX's own, with arguments: what `test_jax_models.py` reads back from StableHLO, HLO
text and messages."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.ode import odeint

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 5))
V = rng.normal(size=7)
S = X @ X.T + 5 * np.eye(5)
P = np.abs(V) + 0.1
F = X.astype(np.float32)
I = rng.integers(-5, 20, (4, 6))
IMG = rng.normal(size=(2, 8, 8, 3)).astype(np.float32)
KER = rng.normal(size=(3, 3, 3, 4)).astype(np.float32)
key = jax.random.key_data(jax.random.key(3))


def of_key(f):
    return lambda kd, *a: f(jax.random.wrap_key_data(kd), *a)


def mlp(p, x):
    for w, b in p[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = p[-1]
    return x @ w + b


params = [(rng.normal(size=(5, 8)), np.zeros(8)), (rng.normal(size=(8, 3)), np.zeros(3))]


def step(p, x, y):
    g = jax.grad(lambda p: ((mlp(p, x) - y) ** 2).mean())(p)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g)


def attention(q, kk, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, kk) / np.sqrt(q.shape[-1])
    m = jnp.tril(jnp.ones((q.shape[2], q.shape[2]), bool))
    s = jnp.where(m, s, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s), v)


def rnn(wx, wh, xs):
    def f(h, x):
        h = jnp.tanh(x @ wx + h @ wh)
        return h, h

    return jax.lax.scan(f, jnp.zeros(wh.shape[0]), xs)


def conv(x, w):
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convnet(w, x):
    return pool(jax.nn.relu(conv(x, w))).mean((1, 2))


Q = rng.normal(size=(2, 3, 6, 4))


def rebuilt(t, z):
    """The matrix of a Schur form: the order of its eigenvalues is open."""
    return z @ t @ z.T


def newton(x):
    return jax.lax.while_loop(
        lambda s: jnp.abs(s[0] ** 2 - x).max() > 1e-10,
        lambda s: (s[0] - (s[0] ** 2 - x) / (2 * s[0]), s[1] + 1),
        (x, 0),
    )


def cg(a, b):
    return jax.scipy.sparse.linalg.cg(lambda v: a @ v, b)[0]


MODELS = [
    ("softmax", jax.nn.softmax, (X,)),
    ("logsumexp", jax.nn.logsumexp, (X,)),
    ("gelu", jax.nn.gelu, (X,)),
    ("silu", jax.nn.silu, (F,)),
    ("softplus", jax.nn.softplus, (X,)),
    ("one_hot", lambda x: jax.nn.one_hot(x, 6), (I,)),
    ("layer", jax.nn.standardize, (X,)),
    ("elu", jax.nn.elu, (X,)),
    ("log_softmax f32", jax.nn.log_softmax, (F,)),
    ("sort", jnp.sort, (X,)),
    ("argsort", jnp.argsort, (X,)),
    ("sort desc", lambda x: jnp.sort(x, descending=True), (X,)),
    ("lexsort", lambda x: jnp.lexsort((x[0] // 1, x[1])), (I,)),
    ("sort complex", lambda x: jnp.sort(x + 1j * x[::-1]), (V,)),
    ("sort axis0", lambda x: jnp.sort(x, axis=0), (I,)),
    ("argmax", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)), (X,)),
    ("argmax int", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (I,)),
    ("nanargmax", lambda x: jnp.nanargmax(x), (V,)),
    ("top_k", lambda x: jax.lax.top_k(x, 3), (X,)),
    ("median", jnp.median, (X,)),
    ("quantile", lambda x: jnp.quantile(x, jnp.array([0.1, 0.5])), (X,)),
    ("unique", lambda x: jnp.unique(x, size=10, fill_value=0), (I,)),
    ("searchsorted", lambda a, v: jnp.searchsorted(jnp.sort(a), v), (V, X)),
    ("histogram", lambda x: jnp.histogram(x, 5)[0], (X,)),
    ("bincount", lambda x: jnp.bincount(jnp.abs(x).ravel(), length=21), (I,)),
    ("cumsum", jnp.cumsum, (X,)),
    ("cumprod", lambda x: jnp.cumprod(x, axis=1), (X,)),
    ("cummax", lambda x: jax.lax.cummax(x, axis=1, reverse=True), (X,)),
    ("cumlogsumexp", lambda x: jax.lax.cumlogsumexp(x, axis=0), (X,)),
    ("assoc_scan", lambda x: jax.lax.associative_scan(jnp.multiply, x), (V,)),
    ("var/std/ptp", lambda x: (x.var(), x.std(0), jnp.ptp(x, 1)), (X,)),
    ("any/all/count", lambda x: ((x > 0).any(1), (x > -9).all(), jnp.count_nonzero(x)), (X,)),
    ("prod/xor", lambda x: (x.prod(0), jnp.bitwise_xor.reduce(x, 1)), (I,)),
    ("gather", lambda x, i: x[i % 5], (X, I)),
    ("take fill", lambda x, i: jnp.take(x, i, axis=1), (X, I)),
    ("take clip", lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (X, I)),
    ("take_along", lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), (X,)),
    ("fancy", lambda x: x[jnp.array([0, 2]), :, None][:, 1:3], (X,)),
    ("bool where", lambda x: jnp.where(x > 0, x, 0), (X,)),
    ("at set", lambda x, i: x.at[i[0] % 5].set(1.0), (X, I)),
    ("at add", lambda x, i: x.at[i % 5, (i + 1) % 5].add(2.0), (X, I)),
    ("at mul", lambda x: x.at[jnp.array([1, 3])].multiply(2.0), (X,)),
    ("at max", lambda x: x.at[jnp.array([1, 1]), 0].max(2.0), (X,)),
    ("at min oob", lambda x: x.at[jnp.array([1, 9])].min(-2.0), (X,)),
    ("at apply", lambda x: x.at[jnp.array([1, 3])].apply(jnp.sin), (X,)),
    (
        "segment_sum",
        lambda x, i: jax.ops.segment_sum(x, i, 5),
        (V, np.array([0, 1, 0, 2, 4, 4, 9])),
    ),
    ("vmap gather", jax.vmap(lambda x, i: x[i]), (X, np.array([0, 1, 2, 4, 7]))),
    (
        "vmap dynslice",
        jax.vmap(lambda x, i: jax.lax.dynamic_slice(x, (i,), (2,))),
        (X, np.array([0, 1, 2, 4, 7])),
    ),
    (
        "vmap dus",
        jax.vmap(lambda x, i: jax.lax.dynamic_update_slice(x, jnp.zeros(2), (i,))),
        (X, np.array([0, 1, 2, 4, 7])),
    ),
    ("vmap scatter", jax.vmap(lambda x, i: x.at[i].add(1.0)), (X, np.array([0, 1, 2, 4, 7]))),
    ("dot", jnp.dot, (X, V[:5])),
    ("einsum", lambda a, b: jnp.einsum("ij,kj->ik", a, b), (X, X)),
    (
        "tensordot bf16",
        lambda a: (a.astype(jnp.bfloat16) @ a.astype(jnp.bfloat16)).astype(jnp.float32),
        (F,),
    ),
    ("kron", jnp.kron, (X, X)),
    ("int matmul", lambda a: a @ a.T, (I,)),
    (
        "dot pref",
        lambda a: jax.lax.dot(
            a.astype(jnp.float16), a.astype(jnp.float16), preferred_element_type=jnp.float32
        ),
        (F,),
    ),
    ("solve", jnp.linalg.solve, (S, X)),
    ("inv", jnp.linalg.inv, (S,)),
    ("det", jnp.linalg.det, (X,)),
    ("slogdet", jnp.linalg.slogdet, (X,)),
    ("cholesky", jnp.linalg.cholesky, (S,)),
    ("cho upper", lambda a: jax.scipy.linalg.cholesky(a, lower=False), (S,)),
    ("qr", jnp.linalg.qr, (X,)),
    ("qr tall", jnp.linalg.qr, (X[:, :3],)),
    ("qr complete", lambda x: jnp.linalg.qr(x, mode="complete"), (X[:, :3],)),
    ("eigh", lambda a: jnp.linalg.eigh(a), (S,)),
    ("svd", lambda a: jnp.linalg.svd(a, full_matrices=False), (X[:, :3],)),
    ("svdvals", lambda a: jnp.linalg.svd(a, compute_uv=False), (X,)),
    ("eigvals", lambda a: jnp.sort(jnp.linalg.eigvals(a).real), (X,)),
    ("pinv", jnp.linalg.pinv, (X[:, :3],)),
    ("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], (X, V[:5])),
    ("expm", jax.scipy.linalg.expm, (X,)),
    ("lu", jax.scipy.linalg.lu, (X,)),
    (
        "solve_tri",
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True, trans=1),
        (S, V[:5]),
    ),
    (
        "cho_solve",
        lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b),
        (S, V[:5]),
    ),
    ("schur", lambda a: rebuilt(*jax.scipy.linalg.schur(a)), (S,)),
    ("matrix_power", lambda a: jnp.linalg.matrix_power(a, 5), (X,)),
    ("norm 2", lambda a: jnp.linalg.norm(a, 2), (X,)),
    ("batched inv", jnp.linalg.inv, (np.stack([S, S + 1]),)),
    ("grad logdet", jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), (S,)),
    ("eigh grad", jax.grad(lambda a: jnp.linalg.eigh(a)[0][0]), (S,)),
    ("fft", jnp.fft.fft, (V,)),
    ("rfft2", jnp.fft.rfft2, (X,)),
    ("irfft", lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), (V,)),
    ("ifftn", jnp.fft.ifftn, (X,)),
    ("convolve", jnp.convolve, (V, V)),
    ("fftconvolve", lambda a: jax.scipy.signal.fftconvolve(a, a), (V,)),
    ("erf", jax.scipy.special.erf, (X,)),
    ("gammaln", jax.scipy.special.gammaln, (P,)),
    ("digamma", jax.scipy.special.digamma, (P,)),
    ("polygamma", lambda x: jax.scipy.special.polygamma(1, x), (P,)),
    ("zeta", lambda x: jax.scipy.special.zeta(x + 1.5, 1.0), (P,)),
    ("i0e", jax.scipy.special.i0e, (X,)),
    ("i1", jax.scipy.special.i1, (X,)),
    ("betainc", lambda x: jax.scipy.special.betainc(x, x + 1, x / (1 + x)), (P,)),
    ("gammainc", lambda x: jax.scipy.special.gammainc(x, x + 0.5), (P,)),
    ("ndtri", lambda x: jax.scipy.special.ndtri(jax.nn.sigmoid(x)), (X,)),
    ("erfinv", lambda x: jax.lax.erf_inv(jnp.tanh(x)), (X,)),
    ("log_ndtr", jax.scipy.special.log_ndtr, (X,)),
    ("xlogy entr", lambda x: jax.scipy.special.xlogy(x, x) + jax.scipy.special.entr(x), (P,)),
    ("norm.cdf", jax.scipy.stats.norm.cdf, (X,)),
    (
        "trig",
        lambda x: (
            jnp.sin(x)
            + jnp.arctan2(x, 2.0)
            + jnp.arcsinh(x)
            + jnp.tan(x)
            + jnp.cosh(x)
            + jnp.arctanh(jnp.tanh(x))
        ),
        (X,),
    ),
    (
        "acos..",
        lambda x: (
            jnp.arccos(jnp.tanh(x))
            + jnp.arcsin(jnp.tanh(x))
            + jnp.arccosh(1 + x * x)
            + jnp.cbrt(x)
            + jnp.expm1(x)
            + jnp.log1p(x * x)
        ),
        (X,),
    ),
    (
        "round etc",
        lambda x: (
            jnp.round(x),
            jnp.floor(x),
            jnp.trunc(x),
            jnp.rint(x * 3),
            jnp.sign(x),
            x // 0.3,
            jnp.mod(x, 0.7),
            jnp.fmod(x, 0.3),
        ),
        (X,),
    ),
    (
        "complex",
        lambda x: (
            jnp.exp(1j * x),
            jnp.abs(x + 1j),
            jnp.angle(x + 2j),
            jnp.conj(x + 1j),
            jnp.sqrt(x + 0j),
            jnp.log(x + 1j),
            (x + 1j) ** 2,
            jnp.tanh(x + 1j),
        ),
        (X,),
    ),
    (
        "bits",
        lambda x: (
            x << 2,
            x >> 1,
            ~x,
            jax.lax.population_count(x),
            jax.lax.clz(x),
            x & 7,
            x | 1,
            x ^ 5,
        ),
        (I,),
    ),
    (
        "int div",
        lambda x: (
            x // 3,
            x % 3,
            jax.lax.div(x, jnp.int64(3)),
            jax.lax.rem(x, jnp.int64(3)),
            x**2,
            jnp.abs(x),
            jnp.gcd(x, 12),
        ),
        (I,),
    ),
    (
        "bitcast",
        lambda x: (
            x.view(jnp.int64),
            jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32),
        ),
        (X,),
    ),
    ("nextafter", lambda x: jnp.nextafter(x, 0.0), (X,)),
    ("reduce_precision", lambda x: jax.lax.reduce_precision(x, 5, 10), (X,)),
    ("frexp ldexp", lambda x: (jnp.frexp(x), jnp.ldexp(x, 3)), (X,)),
    (
        "hypot logaddexp",
        lambda x: (
            jnp.hypot(x, x[::-1]),
            jnp.logaddexp(x, 1.0),
            jnp.heaviside(x, 0.5),
            jnp.sinc(x),
        ),
        (X,),
    ),
    ("uniform", of_key(lambda q: jax.random.uniform(q, (7,))), (key,)),
    ("normal f32", of_key(lambda q: jax.random.normal(q, (3, 5), np.float32)), (key,)),
    (
        "split+randint",
        of_key(lambda q: jax.random.randint(jax.random.split(q)[1], (9,), 0, 100)),
        (key,),
    ),
    (
        "categorical",
        of_key(lambda q: jax.random.categorical(q, jnp.log(jnp.arange(1.0, 6)), shape=(20,))),
        (key,),
    ),
    ("permutation", of_key(lambda q: jax.random.permutation(q, 12)), (key,)),
    ("choice", of_key(lambda q: jax.random.choice(q, 10, (4,), replace=False)), (key,)),
    ("gamma", of_key(lambda q: jax.random.gamma(q, 2.5, (6,))), (key,)),
    ("poisson", of_key(lambda q: jax.random.poisson(q, 3.0, (6,))), (key,)),
    ("bernoulli", of_key(lambda q: jax.random.bernoulli(q, 0.3, (20,))), (key,)),
    ("beta", of_key(lambda q: jax.random.beta(q, 2.0, 3.0, (4,))), (key,)),
    ("truncnorm", of_key(lambda q: jax.random.truncated_normal(q, -1.0, 2.0, (4,))), (key,)),
    (
        "multivariate",
        of_key(lambda q: jax.random.multivariate_normal(q, jnp.zeros(5), jnp.array(S))),
        (key,),
    ),
    ("dirichlet", of_key(lambda q: jax.random.dirichlet(q, jnp.ones(4))), (key,)),
    (
        "fold_in bits",
        of_key(lambda q: jax.random.bits(jax.random.fold_in(q, 7), (5,), np.uint32)),
        (key,),
    ),
    ("gumbel", of_key(lambda q: jax.random.gumbel(q, (5,))), (key,)),
    ("rbg", lambda: jax.random.bits(jax.random.key(0, impl="rbg"), (5,)), ()),
    ("resize", lambda x: jax.image.resize(x, (2, 16, 12, 3), "bilinear"), (IMG,)),
    ("resize cubic", lambda x: jax.image.resize(x, (2, 5, 5, 3), "cubic"), (IMG,)),
    (
        "scale_translate",
        lambda x: jax.image.scale_and_translate(
            x, (2, 6, 6, 3), (1, 2), jnp.array([1.2, 0.7]), jnp.array([0.3, 0.1]), "linear"
        ),
        (IMG,),
    ),
    (
        "map_coordinates",
        lambda x: jax.scipy.ndimage.map_coordinates(
            x, [jnp.array([0.5, 1.5]), jnp.array([2.2, 3.0])], 1
        ),
        (X,),
    ),
    ("conv", conv, (IMG, KER)),
    ("conv grad", jax.grad(lambda x, w: (conv(x, w) ** 2).sum(), (0, 1)), (IMG, KER)),
    (
        "conv strided dil",
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, (2, 1), ((1, 2), (0, 1)), (1, 2), (2, 1), ("NHWC", "HWIO", "NHWC")
        ),
        (IMG, KER),
    ),
    (
        "conv grouped",
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3
        ),
        (IMG, KER[:, :, :1, :3]),
    ),
    (
        "conv batch grp",
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), batch_group_count=2
        ),
        (IMG, KER),
    ),
    ("conv1d T", lambda x, w: jax.lax.conv_transpose(x, w, (2,), "SAME"), (IMG[:, :, 0], KER[0])),
    ("maxpool", pool, (IMG,)),
    ("maxpool grad", jax.grad(lambda x: (pool(x) ** 2).sum()), (IMG,)),
    (
        "avgpool",
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
        (IMG,),
    ),
    (
        "avgpool grad",
        jax.grad(
            lambda x: (
                jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2
            ).sum()
        ),
        (IMG,),
    ),
    ("patches", lambda x: jax.lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"), (IMG,)),
    ("scan", rnn, (rng.normal(size=(5, 4)), rng.normal(size=(4, 4)), X)),
    (
        "scan grad",
        jax.grad(lambda a, b, c: rnn(a, b, c)[0].sum(), (0, 1)),
        (rng.normal(size=(5, 4)), rng.normal(size=(4, 4)), X),
    ),
    (
        "scan reverse",
        lambda x: jax.lax.scan(lambda c, t: (c * 0.5 + t, c), 0.0, x, reverse=True),
        (V,),
    ),
    ("fori", lambda x: jax.lax.fori_loop(0, 10, lambda i, c: c * 0.9 + x[i % 5], x[0]), (X,)),
    (
        "fori dyn",
        lambda x, n: jax.lax.fori_loop(0, n, lambda i, c: c * 0.9 + x[i % 5], x[0]),
        (X, np.int64(7)),
    ),
    ("while", newton, (P,)),
    ("cond", lambda x: jax.lax.cond(x[0] > 0, lambda v: v * 2, lambda v: v - 1, x), (V,)),
    ("switch", lambda x, i: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), (V, np.int32(5))),
    ("vmap cond", jax.vmap(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x)), (V,)),
    (
        "vmap while",
        jax.vmap(lambda x: jax.lax.while_loop(lambda s: s < 10, lambda s: s * 2, x)),
        (P,),
    ),
    ("map", lambda x: jax.lax.map(lambda r: jnp.sort(r)[::-1], x), (X,)),
    (
        "nested scan",
        lambda x: jax.lax.scan(
            lambda c, r: jax.lax.scan(lambda d, t: (d + t, d * t), c, r), 0.0, x
        ),
        (X,),
    ),
    (
        "custom_root",
        lambda x: jax.lax.custom_root(
            lambda y: y**3 - x,
            1.0,
            lambda f, g: jax.lax.fori_loop(0, 20, lambda _, v: v - f(v) / jax.grad(f)(v), g),
            lambda g, y: y / g(1.0),
        ),
        (2.5,),
    ),
    ("mlp step", step, (params, X, X[:, :3])),
    ("attention", attention, (Q, Q, Q)),
    (
        "attention grad",
        jax.grad(lambda a, b, c: (attention(a, b, c) ** 2).sum(), (0, 1, 2)),
        (Q, Q, Q),
    ),
    ("convnet grad", jax.grad(lambda w, x: convnet(w, x).sum()), (KER, IMG)),
    ("hessian", jax.hessian(lambda x: jnp.sin(x).prod()), (V,)),
    ("jacfwd", jax.jacfwd(lambda x: jnp.cumsum(x**2)), (V,)),
    ("vmap grad", jax.vmap(jax.grad(lambda x: jnp.sin(x) * x)), (V,)),
    ("cg", cg, (S, V[:5])),
    ("odeint", lambda y: odeint(lambda y, t: -y, y, jnp.linspace(0.0, 1.0, 5)), (V,)),
    ("interp", lambda x: jnp.interp(x, jnp.arange(5.0), jnp.arange(5.0) ** 2), (X,)),
    ("polyfit", lambda x: jnp.polyfit(x, x**2, 2), (V,)),
    (
        "roll pad",
        lambda x: (
            jnp.roll(x, 2, 1),
            jnp.pad(x, ((1, 2), (0, 1)), "reflect"),
            jnp.pad(x, 2, "edge"),
        ),
        (X,),
    ),
    ("tri", lambda x: (jnp.triu(x, 1), jnp.diag(x), jnp.diagflat(x[0]), jnp.trace(x)), (X,)),
    (
        "stack",
        lambda x: (
            jnp.stack([x, x * 2], 1),
            jnp.tile(x, (2, 1)),
            jnp.repeat(x, 3, 0),
            jnp.flip(x, 1),
            jnp.rot90(x),
        ),
        (X,),
    ),
    (
        "meshgrid outer cross",
        lambda x: (jnp.meshgrid(x, x), jnp.outer(x, x), jnp.cross(x[:3], x[1:4])),
        (V,),
    ),
    (
        "nan funcs",
        lambda x: (
            jnp.nanmean(x),
            jnp.nansum(x, 0),
            jnp.nan_to_num(jnp.log(x)),
            jnp.isnan(x / 0),
            jnp.isinf(x / 0),
        ),
        (X,),
    ),
    (
        "bf16 f16",
        lambda x: (
            (x.astype(jnp.bfloat16) * 2 + 1).astype(jnp.float32)
            + x.astype(jnp.float16).sum().astype(jnp.float32)
        ),
        (F,),
    ),
    (
        "casts",
        lambda x: (
            x.astype(jnp.int32),
            (x > 0).astype(jnp.uint8),
            x.astype(jnp.complex64),
            (x * 10).astype(jnp.int8),
        ),
        (X,),
    ),
    (
        "constants",
        lambda x: x + jnp.array(rng.normal(size=(5, 5))) + jnp.array([np.inf, 1, np.nan, 2, 3]),
        (X,),
    ),
    ("big const", lambda x: x + jnp.asarray(np.arange(2000.0).reshape(400, 5)), (X[:1],)),
    ("remat", jax.grad(lambda x: jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)))(x).sum()), (V,)),
    ("custom_jvp relu6", jax.grad(lambda x: jax.nn.relu6(x).sum()), (V,)),
    ("segment_max", lambda x: jax.ops.segment_max(x, jnp.array([0, 0, 1, 1, 2, 2, 2]), 3), (V,)),
    (
        "ctc/optax-like adam",
        lambda g, m, v: (0.9 * m + 0.1 * g, (0.999 * v + 0.001 * g * g), g / (jnp.sqrt(v) + 1e-8)),
        (X, X, X * X),
    ),
    ("toeplitz", lambda x: jax.scipy.linalg.toeplitz(x), (V,)),
    ("corr cov", lambda x: (jnp.corrcoef(x), jnp.cov(x)), (X,)),
    (
        "select_n",
        lambda i, x: jax.lax.select_n(i % 3, x, x * 2, x * 3),
        (I[:4, :5].astype(np.int32) % 3, X[:4, :5]),
    ),
]
