"""Small programs on the topics of JAX's documentation: what surprises, pytrees, control flow,
batching, state, random numbers."""

import collections
import dataclasses
import typing
from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn, random, tree_util
from jax.experimental import checkify

grad = jax.grad
jit = jax.jit
vmap = jax.vmap

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


@prog
def gotcha_control_flow_args():
    @partial(jit, static_argnames="n")
    def f(x, n):
        y = 0.0
        for i in range(n):
            y = y + x[i]
        return y

    @partial(jit, static_argnums=(0,))
    def example_fun(length, val):
        return jnp.ones((length,)) * val

    return (
        f(jnp.array([2.0, 3.0, 4.0]), 2),
        example_fun(10, 4),
        jit(lambda x: jnp.where(x < 3, 3.0 * x**2, -4 * x))(jnp.arange(5.0)),
    )


@prog
def gotcha_out_of_bounds():
    x = jnp.arange(10)
    return jit(
        lambda x, i: (
            x[i],
            x.at[i].add(23),
            x.at[jnp.array([2, -1, 40]) + 0 * i].set(7, mode="drop"),
            x.at[i].get(mode="fill", fill_value=-1),
            x.at[2:6:2].mul(3),
        )
    )(x, 11)


@prog
def gotcha_nan_where_grad():
    def safe(x):
        xs = jnp.where(x > 0.0, x, 1.0)
        return jnp.where(x > 0.0, jnp.sqrt(xs), 0.0).sum()

    return grad(safe)(jnp.array([-1.0, 0.0, 4.0])), grad(
        lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0)
    )(4.0)


@prog
def pytree_registered():
    class RegisteredSpecial:
        def __init__(self, x, y):
            self.x, self.y = x, y

    tree_util.register_pytree_with_keys(
        RegisteredSpecial,
        lambda v: (((tree_util.GetAttrKey("x"), v.x), (tree_util.GetAttrKey("y"), v.y)), None),
        lambda aux, ch: RegisteredSpecial(*ch),
    )
    flat, _ = tree_util.tree_flatten_with_path({"a": [RegisteredSpecial(1.0, (2.0, None))], "b": 3})
    return [f"{tree_util.keystr(k)}={v}" for k, v in flat]


@prog
def pytree_dataclass_static():
    @partial(tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["activation"])
    @dataclasses.dataclass
    class Layer:
        w: typing.Any
        b: typing.Any
        activation: str

    def apply(l, x):
        y = x @ l.w + l.b
        return jnp.tanh(y) if l.activation == "tanh" else y

    l = Layer(jnp.ones((3, 2)), jnp.zeros(2), "tanh")
    g = grad(lambda l, x: jit(apply)(l, x).sum())(l, jnp.arange(3.0))
    return g.w, g.b, g.activation


@prog
def pytree_transpose_zip():
    episode = [{"t": 1, "obs": 3.0}, {"t": 2, "obs": 4.0}]
    tr = tree_util.tree_transpose(
        tree_util.tree_structure([0 for e in episode]),
        tree_util.tree_structure(episode[0]),
        episode,
    )
    return (
        tr,
        jax.tree.map(lambda *xs: list(xs), *episode),
        jax.tree.reduce(lambda a, b: a + b, episode),
        jax.tree.map(lambda p, g: p - g, (1.0, [2.0]), (0.5, [1.0])),
    )


@prog
def pytree_is_leaf_none():
    tup = collections.namedtuple("tup", "a b")
    t = {"x": (1, None), "y": tup(jnp.arange(2), [3])}
    return (
        str(jax.tree.structure(t)),
        jax.tree.leaves(t, is_leaf=lambda v: v is None).__len__(),
        jax.tree.map(lambda x: 0 if x is None else 1, t, is_leaf=lambda v: v is None),
    )


@prog
def control_cond_switch():
    @jit
    def f(i, x):
        return lax.switch(i, [lambda x: x + 1, jnp.sin, lambda x: x**3], x)

    return (
        [f(i, 2.0) for i in (-1, 0, 1, 2, 5)],
        lax.cond(True, lambda x: x, lambda x: -x, 3.0),
        vmap(f)(jnp.arange(3), jnp.ones(3)),
        grad(f, 1)(2, 2.0),
    )


@prog
def control_while_fori_scan():
    def body(c, x):
        return c + x, (c, x * 2)

    out = lax.scan(body, 0.0, jnp.arange(4.0), reverse=True)
    w = lax.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (3, 0))
    fib = lax.fori_loop(0, 10, lambda i, p: (p[1], p[0] + p[1]), (0, 1))
    assoc = lax.associative_scan(jnp.maximum, jnp.array([1, 3, 2, 5, 4]))
    return (
        out,
        w,
        fib,
        assoc,
        lax.map(lambda x: x**2, jnp.arange(3)),
        lax.scan(lambda c, _: (c * 2.0, c), 1.0, None, length=3),
    )


@prog
def autobatch_convolve():
    def convolve(x, w):
        return jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])

    x = jnp.arange(5.0)
    w = jnp.array([2.0, 3.0, 4.0])
    xs = jnp.stack([x, x])
    ws = jnp.stack([w, w])
    return (
        convolve(x, w),
        vmap(convolve)(xs, ws),
        vmap(convolve, in_axes=1, out_axes=1)(xs.T, ws.T),
        vmap(convolve, in_axes=(0, None))(xs, w),
        jit(vmap(convolve))(xs, ws),
    )


@prog
def autobatch_dicts_axisname():
    d = {"a": jnp.ones((3, 2)), "b": jnp.arange(3.0)}
    f = lambda d, y: (d["a"].sum() + d["b"] * y, lax.pmean(d["b"], "i"))
    return (
        vmap(f, in_axes=({"a": 0, "b": 0}, None), axis_name="i")(d, 2.0),
        vmap(vmap(jnp.add, (None, 0)), (0, None))(jnp.arange(2), jnp.arange(3)),
        vmap(lambda x: x, out_axes=None, axis_size=3, in_axes=None)(1.0),
    )


@prog
def stateful_linear_regression():
    class Params(typing.NamedTuple):
        weight: typing.Any
        bias: typing.Any

    rng = random.key(42)
    xk, nk = random.split(rng)
    xs = random.normal(xk, (128, 1))
    ys = xs * 3 - 1 + 0.5 * random.normal(nk, (128, 1))

    @jit
    def update(params, x, y):
        g = grad(lambda p: jnp.mean((p.weight * x + p.bias - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 0.005 * g, params, g)

    p = Params(random.normal(rng, (1,)), jnp.zeros((1,)))
    for _ in range(50):
        p = update(p, xs, ys)
    return p


@prog
def prng_splitting():
    key = random.key(0)
    out = []
    for i in range(3):
        key, sub = random.split(key)
        out.append(random.normal(sub))
    ks = random.split(random.key(1), 3)
    return (
        out,
        vmap(random.normal)(ks),
        random.normal(ks[0], (3,)),
        random.uniform(random.PRNGKey(3), (2,), minval=-1),
        random.fold_in(key, 3).shape,
        random.permutation(key, 6),
        random.choice(key, jnp.arange(5), (3,), p=jnp.array([0.1, 0.2, 0.3, 0.2, 0.2])),
    )


@prog
def checkify_error():
    def f(x, i):
        checkify.check(i >= 0, "index needs to be non-negative, got {i}", i=jnp.asarray(i))
        return jnp.sin(x[i])

    e, o = jit(checkify.checkify(f))(jnp.ones(5), -1)
    e2, _ = checkify.checkify(f, errors=checkify.index_checks | checkify.user_checks)(
        jnp.ones(5), 2
    )
    e3, _ = checkify.checkify(lambda x: jnp.log(x) / 0.0, errors=checkify.float_checks)(-1.0)
    return str(e.get()).split("(")[0], o, e2.get(), str(e3.get()).split(".")[0]


@prog
def einsum_segment_misc():
    x = jnp.arange(12.0).reshape(3, 4)
    return (
        jnp.einsum("ij,kj->ik", x, x),
        jax.ops.segment_sum(jnp.arange(5.0), jnp.array([0, 0, 1, 1, 3]), num_segments=4),
        lax.top_k(x, 2),
        jnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, x),
        nn.one_hot(jnp.array([0, 2]), 3),
        jsp.special.logsumexp(x, axis=1),
        jnp.linalg.svd(x)[1],
        jnp.unique(jnp.array([3, 1, 3]), size=3),
        jnp.nonzero(jnp.array([0, 1, 0, 2]), size=3, fill_value=-1),
    )


@prog
def sharp_bits_dynamic_slice():
    x = jnp.arange(20).reshape(4, 5)
    return (
        lax.dynamic_slice(x, (1, 3), (2, 4)),
        lax.dynamic_update_slice(x, jnp.zeros((2, 2), x.dtype), (3, 4)),
        jit(lambda i: lax.dynamic_index_in_dim(x, i, 1))(7),
        lax.pad(x, 0, ((1, -1, 1), (0, 0, 0)))[0],
        jnp.roll(x, 2, 1)[0],
        lax.reduce_window(x * 1.0, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"),
        lax.conv_general_dilated(jnp.ones((1, 1, 4, 4)), jnp.ones((1, 1, 2, 2)), (1, 1), "SAME"),
    )


def main():
    """The leaves of results: both parts of complex ones, the codes of letters of texts."""
    found = {}
    for program in PROGRAMS:
        for k, leaf in enumerate(jax.tree.leaves(program())):
            if isinstance(leaf, str):
                found[f"{program.__name__} {k}"] = list(leaf.encode())
            elif jnp.iscomplexobj(leaf):
                found[f"{program.__name__} {k} real"] = jnp.real(leaf)
                found[f"{program.__name__} {k} imag"] = jnp.imag(leaf)
            else:
                found[f"{program.__name__} {k}"] = leaf
    return found
