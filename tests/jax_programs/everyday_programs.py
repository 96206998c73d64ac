"""Programs as people write them for JAX on a CPU: random numbers, scans, callbacks."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.experimental import io_callback

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


@prog
def random_numbers():
    """Splits, folds, choices, permutations, and draws of every distribution."""
    key = random.PRNGKey(42)
    k1, k2, *more = random.split(key, 5)
    new = random.key(42)
    p = jnp.array([0.1, 0.2, 0.7])
    a = jnp.arange(10)

    def walk(key, _):
        key, sub = random.split(key)
        return key, random.normal(sub)

    return {
        "key": jnp.asarray(k1),
        "data": random.key_data(random.fold_in(new, 3)),
        "walk": lax.scan(walk, k2, None, length=5)[1],
        "normal": random.normal(more[0], (3,), dtype=jnp.float32),
        "uniform": random.uniform(more[0], (2, 2), minval=1, maxval=jnp.array([2, 3])),
        "randint": random.randint(more[1], (5,), 0, 100),
        "randint8": random.randint(more[1], (5,), 0, 100, dtype=jnp.uint8),
        "choice": random.choice(k1, a, (4,), replace=False),
        "choicep": random.choice(k1, 3, (6,), p=p),
        "permutation": random.permutation(k1, a),
        "perm2": random.permutation(k1, a.reshape(5, 2), axis=0, independent=True),
        "categorical": random.categorical(k1, jnp.log(p), shape=(5,)),
        "gumbel": random.gumbel(k1, (2,)),
        "gamma": random.gamma(k1, 2.5, (3,)),
        "beta": random.beta(k1, 2.0, 3.0, (3,)),
        "dirichlet": random.dirichlet(k1, p, (2,)),
        "poisson": random.poisson(k1, 4.0, (5,)),
        "binomial": random.binomial(k1, 10, 0.3, (5,)),
        "mvn": random.multivariate_normal(
            k1, jnp.zeros(2), jnp.array([[2.0, 0.3], [0.3, 0.5]]), (2,)
        ),
        "laplace": random.laplace(k1, (2,)),
        "t": random.t(k1, 3.0, (2,)),
        "rademacher": random.rademacher(k1, (4,)),
        "bits": random.bits(k1, (2,), jnp.uint16),
        "ball": random.ball(k1, 3, shape=(2,)),
        "vmapped": jax.vmap(lambda k: random.normal(k, (2,)))(random.split(new, 3)),
        "truncated": random.truncated_normal(k1, -1, 1, (3,)),
        "bernoulli": random.bernoulli(k1, p),
    }


@prog
def scans():
    """Associative scans of tuples and matrices, cumulative ones, and a linear recurrence."""
    a = jnp.array([0.5, 0.9, 0.2, 0.7, 1.1])
    b = jnp.arange(5.0)

    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    state = jax.jit(lambda a, b: lax.associative_scan(combine, (a, b)))(a, b)[1]
    m = jnp.stack([jnp.array([[1.0, x], [0.0, 1.0]]) for x in (0.1, 0.2, 0.3)])
    logs = lax.associative_scan(jnp.logaddexp, b, reverse=True)
    seg = lambda l, r: (l[0] | r[0], jnp.where(r[0], r[1], l[1] + r[1]))
    flags = jnp.array([True, False, True, False, False])
    return {
        "state": state,
        "grad": jax.grad(lambda a: lax.associative_scan(combine, (a, b))[1].sum())(a),
        "matrices": lax.associative_scan(jnp.matmul, m),
        "logs": logs,
        "segments": lax.associative_scan(seg, (flags, b))[1],
        "axis": lax.associative_scan(jnp.add, jnp.arange(12).reshape(3, 4), axis=1),
        "cumsum": jnp.cumsum(jnp.array([True, True, False])),
        "cumprod": jnp.cumprod(a),
        "cumulative": jnp.cumulative_sum(b, include_initial=True),
        "cumlogsumexp": lax.cumlogsumexp(b, reverse=True),
        "ema": lax.scan(lambda c, x: (0.9 * c + 0.1 * x,) * 2, 0.0, b)[1],
        "map": lax.map(lambda x: x**2, b, batch_size=2),
        "scan_none": lax.scan(lambda c, _: (c * 2, None), 1, None, length=5)[0],
        "fori_grad": jax.grad(lambda x: lax.fori_loop(0, 4, lambda i, v: v * x + i, 1.0))(1.3),
    }


@prog
def callbacks():
    """pure_callback under jit, vmap and with a rule; io_callback, debug.callback, debug.print."""
    seen = []

    def host(x):
        return np.sinh(np.asarray(x)).astype(x.dtype)

    @jax.custom_jvp
    def sinh(x):
        return jax.pure_callback(
            host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims"
        )

    @sinh.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return sinh(x), jnp.cosh(x) * t

    @jax.jit
    def f(x):
        jax.debug.callback(lambda v: seen.append(float(v.sum())), x)
        jax.debug.print("x = {x}", x=x)
        return sinh(x) * 2

    counter = [0]

    def count(x):
        counter[0] += 1
        return np.asarray(x * counter[0], x.dtype)

    @jax.jit
    def ordered(x):
        def step(c, _):
            y = io_callback(count, jax.ShapeDtypeStruct((), x.dtype), x, ordered=True)
            return c + y, y

        return lax.scan(step, jnp.zeros((), x.dtype), None, length=3)

    x = jnp.array([0.1, 0.5, 1.0])
    out = {
        "f": f(x),
        "vmap": jax.vmap(sinh)(x.reshape(3, 1)),
        "seq": jax.vmap(
            lambda v: jax.pure_callback(
                lambda a: np.asarray(a) * 2,
                jax.ShapeDtypeStruct((), v.dtype),
                v,
                vmap_method="sequential",
            )
        )(x),
        "grad": jax.grad(lambda x: sinh(x).sum())(x),
        "ordered": ordered(jnp.float32(2.0))[1],
        "total": ordered(jnp.float32(1.0))[0],
    }
    jax.effects_barrier()
    out["seen"] = np.array(seen)
    return out


@prog
def spectra():
    """FFTs, a filter, a spectrogram, and derivatives through them."""
    t = jnp.arange(32) / 32
    x = jnp.sin(2 * jnp.pi * 3 * t) + 0.5 * jnp.cos(2 * jnp.pi * 7 * t)

    def lowpass(x):
        s = jnp.fft.rfft(x)
        f = jnp.fft.rfftfreq(x.size, 1 / 32)
        return jnp.fft.irfft(jnp.where(f < 5, s, 0), n=x.size)

    def power(x):
        frames = jnp.stack([lax.dynamic_slice_in_dim(x, i, 8) for i in range(0, 24, 4)])
        return jnp.abs(jnp.fft.rfft(frames * jnp.hanning(8), axis=-1)) ** 2

    f, p = jax.scipy.signal.welch(x, fs=32.0, nperseg=16)
    return {
        "lowpass": jax.jit(lowpass)(x),
        "power": power(x),
        "dpower": jax.grad(lambda x: power(x).sum())(x),
        "fft2": jnp.fft.fft2(jnp.outer(x[:4], x[:4])),
        "c64": jnp.fft.fft(x.astype(jnp.float32)),
        "shift": jnp.fft.fftshift(jnp.fft.fftfreq(8)),
        "hfft": jnp.fft.hfft(jnp.array([1 + 0j, 2 - 1j, 0.5j])),
        "welch": p,
        "f": f,
        "dct": jax.scipy.fft.dct(x[:8]),
        "fftconvolve": jax.scipy.signal.fftconvolve(x[:5], x[:3]),
        "detrend": jax.scipy.signal.detrend(x[:6]),
        "phase": jnp.angle(jnp.fft.rfft(x))[3],
    }
