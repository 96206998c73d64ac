"""Functions of NumPy and lax over an axis of a runtime size: each is compared with itself for fixed
sizes, at five sizes, or stands among those that are refused."""

import warnings

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, image, lax, nn, random
from transpile import numpy as jnp
from transpile import scipy as jsp

# Expressions in x (n, 4), v (n,), a (n, n) and the integers i (n,), whose values are below 3.
NUMPY = """
    np.pad(v, 2, mode="reflect")
    np.pad(v, (2, 1), mode="mean", stat_length=2)
    np.linalg.qr(x)
    np.linalg.qr(x[:, :3], mode="complete")
    np.linalg.qr(x, mode="r")
    np.linalg.svd(x[:, :3], full_matrices=False)[1]
    np.linalg.svd(x, compute_uv=False)
    np.linalg.pinv(x)
    np.linalg.pinv(x[:, :3])
    np.linalg.lstsq(x, v, rcond=None)
    np.linalg.lstsq(x[:, :3], a, rcond=None)
    np.linalg.matrix_rank(x)
    np.linalg.cond(x)
    np.linalg.norm(x, 2)
    np.sum(np.tril(np.ones_like(a)))
    np.sum(np.triu(np.ones_like(a), -1), 1)
    np.sum(x, 0, where=x > 0)
    np.var(x, where=i[:, None] > 0)
    np.add.reduceat(x, [0, 0])
    np.gcd.reduce(i)
    np.subtract.reduce(x, initial=1)
    np.logaddexp.accumulate(x)
    np.convolve(v, v)
    np.convolve(v, v, "same")
    np.convolve(v, v, "valid")
    np.convolve(v, x[0], "same")
    np.convolve(x[0], v, "valid")
    np.correlate(v, v[1:], "full")
    np.correlate(x[0], v)
    np.correlate(x[0], v, "same")
    np.correlate(v, x[0] + 1j, "same")
    np.zeros(abs(len(v) - 5))
    np.arange(len(v)) * v
    np.arange(1, len(v) + 1)
    np.arange(0, 2*len(v), 2)
    np.eye(len(v)) + a
    np.identity(len(v))
    np.zeros((len(v), 2)) + x[:, :2]
    np.ones_like(x)
    np.full((len(v),), 2.5) * v
    np.zeros(len(v))
    np.tri(len(v))
    np.trace(a)
    np.diag(v)
    np.diag(a)
    np.diagonal(a)
    np.tril(a)
    np.triu(a, 1)
    np.sort(v)
    np.sort(x, 0)
    np.sort(x, 1)
    np.argsort(v)
    np.argsort(x, 1)
    np.median(v)
    np.median(x, 0)
    np.percentile(v, 30)
    np.quantile(x, 0.3, axis=0)
    np.searchsorted(np.array([0.0, 0.5, 1.0]), v)
    np.interp(v, np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0]))
    np.digitize(v, np.array([0.0, 0.5]))
    np.histogram(v, 5, (-3, 3))[0]
    v[i]
    x[i]
    v[i] + v[i][::-1]
    np.take(v, i)
    v[np.array([0, -3])]
    x[[0, 1], 2]
    np.take(x, i, axis=0)
    np.take_along_axis(x, np.zeros((len(v), 1), int), 1)
    np.take_along_axis(v, i, 0)
    x[np.arange(len(v)), 0]
    x[:, [0, 2]]
    x[:, np.array([3, 1])]
    a[i][:, i]
    a[i, i]
    np.select([v > 0, v < -1], [v, v * 2], 0.0)
    np.choose(i % 2, [v, -v])
    np.fft.fft(x, axis=1)
    np.fft.fft(v, 8)
    np.fft.irfft(x, 5, axis=0)
    np.linalg.solve(a + 5*np.eye(len(v)), v)
    np.linspace(0, 1, len(v))
    np.linspace(v[0], 3, 2*len(v) - 5, endpoint=False)
    np.linspace(1, v[:2], len(v) - 2)
    np.linspace(1, v[:2], len(v) - 1, retstep=True)
    np.partition(v, 0)[0]
    np.partition(v, -3)[-3]
    np.searchsorted(np.sort(v), np.array([-9, 0.0, 0.5, np.nan]))
    np.searchsorted(np.sort(v), np.sort(v)[::2], 'right')
    np.interp(x, np.sort(v), v)
    np.interp(np.array([-9.0, 0.1, 9.0]), np.sort(v), v, left=-1)
    np.pad(v, (3, 2), mode='wrap')
    np.indices((len(v), 2))
    np.indices((2, len(v)), sparse=True)
    np.gradient(v)
    np.gradient(a, 0.5, axis=1)
    np.gradient(x, v * v + 1, axis=0, edge_order=2)
    np.linalg.inv(a + 5*np.eye(len(v)))
    np.linalg.cholesky(a @ a.T + 5*np.eye(len(v)))
    np.linalg.det(a)
    np.linalg.norm(a)
    np.linalg.norm(x, axis=1)
    np.linalg.eigh(a + a.T)[0]
    np.linalg.matrix_power(a, 3)
    np.linalg.solve((x.T @ x) + np.eye(4), x.T @ v)
    np.concatenate([v, v[::-1], np.zeros(2)])
    np.stack([v, v])
    np.hstack([x, x])
    np.vstack([x, x])
    np.column_stack([v, v])
    np.append(v, 1.0)
    x.reshape(-1, 2)
    x.reshape(len(v) * 2, 2)
    x.reshape(-1)
    x.reshape(len(v), 2, 2)
    np.ravel(x)
    x.T
    np.swapaxes(x, 0, 1)
    np.split(x, 2, axis=1)[0]
    np.array_split(x, 2, axis=1)[1]
    v[: len(v) // 2]
    v[len(v) // 2 :]
    v[::2]
    v[::-2]
    v[4::-1]
    x[:-1]
    x[1:] - x[:-1]
    np.pad(v, 2)
    np.pad(v, (1, 2), mode='edge')
    np.pad(v, 1, mode='reflect')
    np.pad(v, 7, mode='reflect')
    np.pad(x, ((9, 4), (1, 0)), mode='symmetric')
    np.pad(v, (4, 8), mode='reflect', reflect_type='odd')
    np.pad(i, ((8, 5),), mode='symmetric', reflect_type='odd')
    np.pad(x, ((7, 9), (0, 2)), mode='wrap')
    np.pad(v[v > -9], 4, mode='reflect')
    np.trim_zeros(i, 'f')
    np.packbits(v[v > 0] > 0.5)
    np.zeros(-(-len(v) // 2)) + v[::2]
    np.roll(v, 2)
    np.roll(x, 1, axis=0)
    np.roll(x, i[0], axis=0)
    np.rot90(a)
    np.flip(x)
    np.tile(v, 3)
    np.repeat(v, 2)
    np.repeat(x, 2, axis=0)
    np.broadcast_to(v, (3, len(v)))
    np.expand_dims(v, 0)
    np.kron(v, np.array([1.0, 2.0]))
    np.outer(v, v)
    np.cross(x[:, :3], x[:, 1:])
    np.meshgrid(v, v)[0]
    np.ix_(i, i)[0]
    np.sum(x, 0)
    np.prod(x, 0)
    np.mean(x, 0)
    np.std(v, ddof=0)
    np.var(x, axis=0)
    np.max(x, 0)
    np.argmax(v)
    np.argmin(x, 0)
    np.ptp(v)
    np.any(x > 1, 0)
    np.all(x > -9)
    np.count_nonzero(v > 0)
    np.cumsum(v)
    np.cumsum(x, 1)
    np.cumprod(v)
    np.diff(v)
    np.diff(x, axis=0, n=2)
    np.ediff1d(v)
    np.trapezoid(v)
    np.average(v, weights=np.abs(v))
    np.cov(x.T)
    np.corrcoef(x.T)
    np.convolve(v, np.array([1.0, 2.0, 0.5]))
    np.convolve(v, np.array([1.0, 2.0, 0.5]), 'same')
    np.convolve(v, np.array([1.0, 2.0, 0.5]), 'valid')
    np.correlate(v, np.array([1.0, 2.0]))
    np.polyval(np.array([1.0, 2.0]), v)
    np.vander(v, 3)
    np.dot(a, v)
    np.matmul(a, x)
    np.inner(v, v)
    np.vdot(v, v)
    np.tensordot(a, x, 1)
    np.einsum('ij,jk->ik', a, x)
    np.einsum('ii->i', a)
    np.einsum('ij,ij->i', x, x)
    np.nanmean(v)
    np.nanmax(v)
    np.nansum(x, 0)
    np.clip(v, -1, 1)
    np.maximum(v, 0)
    np.add.reduce(x, axis=0)
    np.add.accumulate(v)
    np.add.outer(v, v)
    np.multiply.outer(v, np.ones(2))
    np.isin(i, np.array([1, 3]))
    np.allclose(v, v)
    np.array_equal(v, v)
    np.apply_along_axis(np.sum, 1, x)
    np.nan_to_num(v)
    np.round(v, 2)
    np.lexsort((v, i))
    np.sinc(v)
    np.unwrap(v)
    np.block([[a, a], [a, a]])
    np.insert(v, 1, 5.0)
    np.triu_indices(4)[0] + 0 * i[0]
    np.moveaxis(x, 0, 1)
    np.packbits(v > 0)
    np.roots(np.array([1.0, -3.0, 2.0])) * v[0]
    np.percentile(x, [10, 50], axis=0)
    np.nanmedian(v)
    np.cumulative_sum(v)
    x / len(v)
    v * len(v)
    len(v) // 2 * v
    (v * (len(v) % 3))
    np.sqrt(len(v)) * v
"""

# What NumPy lacks is compared with the program for fixed sizes.
OWN = """
    lax.switch(len(v) % 3, [np.sin, np.cos, np.exp], v)
    lax.associative_scan(np.multiply, v)
    lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x), reverse=True)
    lax.associative_scan(np.maximum, a, axis=1)
    transpile.grad(lambda v: (lax.associative_scan(np.multiply, v) * i).sum())(v)
    random.permutation(random.key(0), len(v))
    random.permutation(random.key(0), x, axis=0)
    random.permutation(random.key(0), x, independent=True)
    transpile.grad(lambda v: (random.permutation(random.key(0), v) * i).sum())(v)
    random.choice(random.key(0), v, (5,))
    random.choice(random.key(0), x, (2,), replace=False)
    random.choice(random.key(0), len(v), (len(v),), replace=False, p=v**2)
    random.choice(random.key(0), v, (len(v),), p=v**2 / (v**2).sum())
    random.categorical(random.key(0), v, shape=(3,), replace=False)
    lax.scan(lambda c, r: (c + r.sum(), c * r), 0.0, x)
    lax.fori_loop(0, len(v), lambda k, c: c + v[k], 0.0)
    lax.fori_loop(0, len(v), lambda k, c: c.at[k].set(c[k] * 2), v)
    lax.while_loop(lambda s: s[0] < len(v), lambda s: (s[0] + 1, s[1] + v[s[0]]), (0, 0.0))
    lax.map(lambda r: r @ r, x)
    lax.map(lambda r: r @ r, x, batch_size=3)
    lax.map(lambda r: r * v[:4].sum(), x, batch_size=len(v))
    image.resize(x, (2 * len(v) + 1, 3), "nearest")
    image.resize(x, (3, len(v)), "lanczos3")
    image.resize(a, (len(v) + 2, 3), "cubic-pytorch", antialias=False)
    image.resize(x, (5, 4), "area")
    transpile.grad(lambda x: (image.resize(x, (len(v) + 1, 3), "cubic") ** 2).sum())(x)
    transpile.vmap(lambda r: r @ r)(x)
    transpile.vmap(lambda r, s: r * s)(x, v)
    transpile.grad(lambda x: (np.tanh(x) ** 2).sum())(x)
    transpile.grad(lambda v: (a @ v) @ v)(v)
    transpile.grad(lambda v: v[i].sum() ** 2)(v)
    transpile.grad(lambda v: np.sort(v)[0])(v)
    transpile.grad(lambda v: np.sin(np.vander(v, len(v))).sum() + (np.poly(v)**2).sum())(v / 4)
    transpile.grad(lambda v: np.polyval(v, v).sum() + (np.diff(v, len(v) - 1)**2).sum())(v)
    transpile.grad(lambda v: np.cumsum(v).prod())(v)
    transpile.grad(lambda a: np.linalg.matrix_power(a / 4, len(v)).sum())(a)
    transpile.grad(lambda a: np.linalg.matrix_power(a / 4, i[0] - 1).sum())(a)
    transpile.grad(lambda v: (np.pad(v, 7, mode='reflect') ** 2).sum())(v)
    transpile.grad(lambda x: (strided(x[None, None]) ** 2).sum())(x)
    transpile.grad(lambda x: lax.reduce_window(x, -9., lax.max, (3, 3), (2, 2), 'SAME').sum())(x)
    lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), 'SAME')
    strided(x[None, None])
    transpile.grad(lambda v: np.concatenate([v, v[::-1]])[1:] @ np.concatenate([v, v])[1:])(v)
    transpile.grad(lambda x: np.linalg.norm(x, axis=1).sum())(x)
    transpile.grad(lambda v: lax.scan(lambda c, r: (c * r + 1, c), 1.0, v)[0])(v)
    transpile.jvp(lambda v: np.exp(v).sum(), (v,), (np.ones_like(v),))
    transpile.jacfwd(lambda v: np.sin(v))(v)
    transpile.jacrev(lambda v: np.sin(v))(v)
    transpile.hessian(lambda v: (v ** 3).sum())(v)
    transpile.vjp(lambda v: v * 2, v)[1](v)[0]
    random.normal(random.key(0), (len(v),))
    random.uniform(random.key(0), x.shape)
    v.at[i].add(1.0)
    v.at[i].set(v)
    jnp.zeros(9).at[i].add(v)
    v.at[0].set(5.0)
    v.at[::2].multiply(2.0)
    x.at[:, 0].set(v)
    x.at[i].add(x)
    nn.softmax(x, axis=0)
    nn.logsumexp(x, axis=0)
    nn.one_hot(i, 9)
    nn.one_hot(i, len(v))
    nn.dot_product_attention(*[x.reshape(1, len(v), 2, 2)] * 3, is_causal=True)
    nn.relu(x)
    lax.dynamic_slice(v, (i[0],), (1,))
    lax.dynamic_slice(x, (i[0], 0), (1, 2))
    lax.dynamic_update_slice(v, v[:1], (i[0],))
    lax.dynamic_index_in_dim(x, i[0])
    lax.cond(v[0] > 0, lambda: v, lambda: -v)
    lax.select(v > 0, v, -v)
    lax.cumsum(v)
    lax.cummax(v)
    lax.top_k(v, 1)
    lax.top_k(v, len(v) // 2 + 1)
    jnp.nonzero(v, size=len(v) + 1)
    lax.sort(v)
    lax.rev(v, (0,))
    lax.conv_general_dilated(x[None, None, :, 0], np.ones((1, 1, 3)), (1,), 'SAME')
    lax.conv(np.ones((2, 1, 8, 8)) * v[0], np.ones((1, 1, 3, 3)), (1, 1), 'VALID')
    lax.conv(x[:, None, None, :], np.ones((2, 1, 1, 3)), (1, 1), 'VALID')
    lax.reduce_window(v, 0.0, lax.add, (3,), (1,), 'SAME')
    lax.argmax(v, 0, np.int32)
    lax.iota(np.int64, len(v))
    lax.broadcast(v, (2,))
    lax.pad(v, 0.0, ((1, 1, 1),))
    lax.reduce(v, 0.0, lax.add, (0,))
    lax.batch_matmul(x[:, None, :], x[:, :, None])
    jnp.bincount(i, length=9)
    jsp.special.logsumexp(v)
    jsp.linalg.solve_triangular(a + 5 * jnp.eye(len(v)), v)
    transpile.ops.segment_sum(v, i, 9)
    transpile.ops.segment_sum(v, i, len(v) - 1, bucket_size=2)
    transpile.ops.segment_max(x, i, len(v) - 1, mode='clip')
    transpile.checkpoint(lambda v: np.sin(v))(v)
"""

REFUSED = {
    "transpile.vmap(lambda k: v.reshape(-1, 2))(v)": r"it: transpile.dims\('n', 'n % 2 == 0'\)",
    "random.choice(random.key(0), v, (5,), replace=False)": "without replacement needs 5 <= n",
}


def strided(x):
    """A convolution whose padding depends on whether a size is even."""
    return lax.conv_general_dilated(x, np.arange(9.0).reshape(1, 1, 3, 3), (2, 3), "SAME")


NAMES = {
    "strided": strided,
    "np": np,
    "jnp": jnp,
    "lax": lax,
    "image": image,
    "nn": nn,
    "random": random,
    "jsp": jsp,
}
NAMES["transpile"] = transpile
SIZES = (1, 2, 4, 12, 33)

# What needs more than one row, or gives axes that NumPy leaves out for one: `n >= 3` is declared.
OF_THREE = """
    np.linalg.svd(x[:, :3], full_matrices=False)[1]
    x[[0, 1], 2]
    v[np.array([0, -3])]
    np.partition(v, -3)[-3]
    np.gradient(v)
    np.gradient(a, 0.5, axis=1)
    np.gradient(x, v * v + 1, axis=0, edge_order=2)
    np.gradient(v, v**2 + 9 * np.arange(n))
    np.correlate(v, v[1:], "full")
    np.squeeze(v[:, None])
    np.squeeze(x[:, :1])
    v[:, None].squeeze()
    np.cov(a)
    np.corrcoef(x)
    np.polysub(v, np.ones(2))
    abs(np.roots(v + 3)).sum()
    np.linspace(1, v[:2], len(v) - 1, retstep=True)
    np.linspace(v[0], 3, 2*len(v) - 5, endpoint=False)
    np.linspace(1, v[:2], len(v) - 2)
    np.polydiv(v, v[: n // 2])
    np.polyder(v, n - 2)
    np.fft.irfft(v)
    np.fft.hfft(v)
    np.fft.irfftn(x, axes=(1, 0))
    np.fft.fft(x, n // 2, axis=0)
    np.diff(x, n - 2, axis=0)
    np.trace(a, n - 2)
    np.diag(a, n - 2)
    np.diagonal(a, n - 1)
    np.linalg.diagonal(a, offset=n - 1)
    np.concatenate([v, v])[:: n // 2]
    random.choice(random.key(0), x, (2,), replace=False)
    random.categorical(random.key(0), v, shape=(3,), replace=False)
"""
OF_THREE = {line.strip() for line in OF_THREE.strip().splitlines()}


def function(texts):
    """The function that returns all of these expressions."""
    body = ", ".join(f"({text})" for text in texts)
    return eval(f"lambda x, v, a, i: ({body},)", NAMES)


def groups(listed, size):
    """The expressions by so many; those of three rows and more are in groups of their own."""
    texts = [line.strip() for line in listed.strip().splitlines()]
    parts = [[t for t in texts if (t in OF_THREE) == larger] for larger in (False, True)]
    return [part[k : k + size] for part in parts for k in range(0, len(part), size)]


def types(least=3):
    (n,) = transpile.dims("n", f"n >= {least}")
    floats = [ShapeDtypeStruct(shape, np.float64) for shape in ((n, 4), (n,), (n, n))]
    return (*floats, ShapeDtypeStruct((n,), np.int64))


def arguments(n):
    rng = np.random.default_rng(n)
    floats = [rng.normal(size=shape) for shape in ((n, 4), n, (n, n))]
    return (*floats, rng.integers(0, min(n, 3), n))


def assert_agree(texts, plain, jitted=None):
    jitted = jitted or transpile.jit(function(texts))
    least = 3 if OF_THREE.intersection(texts) else 1
    program = jitted.lower(*types(least)).compile()
    for n in (3, *SIZES[2:]) if least == 3 else SIZES:
        args = arguments(n)
        for text, got, expected in zip(texts, program(*args), plain(*args), strict=True):
            pairs = zip(*map(transpile.tree.leaves, (got, expected)), strict=True)
            for one, other in pairs:
                assert np.shape(one) == np.shape(other), (text, n)
                np.testing.assert_allclose(one, other, 1e-7, 1e-9, err_msg=f"{text}, n = {n}")


@pytest.mark.parametrize("texts", groups(NUMPY, 20), ids=lambda texts: texts[0])
@one_in(6)
def test_functions_of_numpy_give_what_numpy_gives(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_agree(texts, function(texts))


@pytest.mark.parametrize("texts", groups(OWN, 20), ids=lambda texts: texts[0])
@one_in(5)
def test_other_functions_give_what_programs_of_fixed_sizes_give(texts):
    assert_agree(texts, transpile.jit(function(texts)))


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_why(text):
    errors = (TypeError, ValueError, transpile.errors.UnsupportedError)
    with pytest.raises(errors, match=REFUSED[text]):
        transpile.jit(function([text])).lower(*types()).compile()


def test_a_size_that_a_routine_cannot_count_is_refused():
    text = transpile.jit(np.sort).lower(ShapeDtypeStruct(("n",), np.float64)).as_text()
    assert 'return "n is more than 4294967295";' in text


WITHOUT_ELEMENTS = {
    "the nearest of n elements": "image.resize(x, (2 * len(v) + 1, 4), 'nearest')",
    "padding between n elements": "lax.pad(v, 0.0, ((1, 1, 1),))",
}


@pytest.mark.parametrize("what", WITHOUT_ELEMENTS)
def test_what_needs_an_element_is_refused_where_there_may_be_none(what):
    with pytest.raises(transpile.errors.UndecidedSizeError, match=f"{what} needs 1 <= n"):
        transpile.jit(function([WITHOUT_ELEMENTS[what]])).lower(*types(0))


def test_samples_of_no_elements_are_zero():
    """And none is read before the array."""
    (n,) = transpile.dims("n", "n >= 0")
    resized = transpile.jit(lambda x: image.resize(x, (len(x) + 1, 2), "cubic"))
    program = resized.lower(ShapeDtypeStruct((n, 2), np.float64)).compile()
    assert program(np.zeros((0, 2))).tolist() == [[0, 0]]
    x = arguments(5)[0][:, :2]
    np.testing.assert_allclose(program(x), image.resize(x, (6, 2), "cubic"))
