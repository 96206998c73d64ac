"""Programs as people write them for JAX on a CPU: trees, named axes, checks, dtypes."""

import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random, tree_util
from jax.experimental import checkify
from jax.tree_util import register_pytree_node_class, tree_map_with_path

PROGRAMS = []


def prog(function):
    PROGRAMS.append(function)
    return function


@prog
def trees():
    """Registered nodes with keys, paths, structures, transposes, and partial functions."""

    @register_pytree_node_class
    class Interval:
        def __init__(self, low, high, name="i"):
            self.low, self.high, self.name = low, high, name

        def tree_flatten(self):
            return (self.low, self.high), self.name

        @classmethod
        def tree_unflatten(cls, name, children):
            return cls(*children, name)

        def __add__(self, other):
            return Interval(self.low + other.low, self.high + other.high, self.name)

    @functools.partial(tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["act"])
    @dataclass
    class Layer:
        w: Any
        b: Any
        act: str = field(default="tanh", metadata={"static": True})

    @jax.jit
    def apply(layer, x):
        return getattr(jnp, layer.act)(x @ layer.w + layer.b)

    tree = {"a": [jnp.ones(2), None, (3, Interval(1.0, 2.0))], "b": Layer(jnp.eye(2), jnp.zeros(2))}
    names = []
    tree_map_with_path(lambda path, v: names.append(tree_util.keystr(path)), tree)
    leaves, structure = jax.tree.flatten(tree)
    again = jax.tree.unflatten(structure, [v * 2 for v in leaves])
    nested = jax.tree.transpose(
        jax.tree.structure([0, 0]),
        jax.tree.structure({"x": 0, "y": 0}),
        [{"x": 1, "y": 2}, {"x": 3, "y": 4}],
    )
    add = tree_util.Partial(jnp.add, jnp.ones(2))
    run = jax.jit(lambda f, x: f(x))
    interval = jax.jit(lambda i: i + i)(Interval(1.0, jnp.array([2.0, 3.0])))
    return {
        "names": np.array([len(n) for n in names]),
        "text": np.array([ord(c) for c in names[0]]),
        "apply": apply(tree["b"], jnp.array([0.1, 0.2])),
        "grad": jax.grad(lambda l: apply(l, jnp.array([0.1, 0.2])).sum())(tree["b"]).w,
        "again": again["a"][2][1].high,
        "x": jnp.asarray(nested["x"]),
        "partial": run(add, jnp.arange(2.0)),
        "interval": interval.high,
        "reduce": jax.tree.reduce(lambda a, b: a + jnp.sum(b), tree, 0.0),
        "all": np.asarray(jax.tree.all(jax.tree.map(lambda v: jnp.isfinite(v).all(), tree))),
        "count": np.asarray(structure.num_leaves),
        "vmap": jax.vmap(lambda t: t["v"] * t["s"], in_axes=({"v": 0, "s": None},))(
            {"v": jnp.arange(3.0), "s": 2.0}
        ),
        "broadcast": jnp.stack(
            jax.tree.leaves(jax.tree.map(lambda a, b: a + b, [1.0, 2.0], [3.0, 4.0]))
        ),
        "none": np.asarray(len(jax.tree.leaves(None, is_leaf=lambda v: v is None))),
    }


@prog
def named_axes():
    """Batch norm and softmax with named axes under vmap, ring exchanges, gathers."""
    x = random.normal(random.key(0), (4, 3))

    def normalise(x):
        mean = lax.pmean(x, "batch")
        var = lax.pmean(x**2, "batch") - mean**2
        return (x - mean) / jnp.sqrt(var + 1e-5)

    ring = [(i, (i + 1) % 4) for i in range(4)]
    many = {
        "norm": normalise,
        "softmax": lambda x: jnp.exp(x) / lax.psum(jnp.exp(x), "batch"),
        "ring": lambda x: lax.ppermute(x, "batch", ring),
        "gather": lambda x: lax.all_gather(x, "batch"),
        "tiled": lambda x: lax.all_gather(x, "batch", tiled=True),
        "index": lambda x: x + lax.axis_index("batch"),
        "max": lambda x: lax.pmax(x, "batch"),
        "swap": lambda x: lax.all_to_all(jnp.stack([x] * 4), "batch", 0, 0),
        "scatter": lambda x: lax.psum_scatter(jnp.concatenate([x, x[:1]]), "batch", tiled=True),
        "size": lambda x: x * lax.axis_size("batch"),
    }
    out = {k: jax.vmap(f, axis_name="batch")(x) for k, f in many.items()}
    out["grad"] = jax.grad(lambda x: (jax.vmap(normalise, axis_name="batch")(x) ** 3).sum())(x)
    inner = jax.vmap(jax.vmap(lambda v: lax.psum(v, ("i", "j")), axis_name="j"), axis_name="i")
    out["two"] = inner(x)
    out["spmd"] = jax.vmap(jax.grad(lambda v: lax.pmean(v**2, "i")), axis_name="i")(x[:, 0])
    out["pmap"] = jax.pmap(lambda v: lax.psum(v, "i"), axis_name="i")(x[:1])
    return out


@prog
def checks():
    """checkify of divisions, indices and user checks, in jit, vmap and scan."""

    def f(x, i):
        checkify.check(x[i] > 0, "must be positive, got {v}", v=x[i])
        return jnp.log(x[i])

    checked = checkify.checkify(jax.jit(f), errors=checkify.user_checks | checkify.index_checks)
    x = jnp.array([1.0, -2.0, 3.0])
    messages = []
    for i in (0, 1, 5):
        err, _value = checked(x, i)
        messages.append(err.get() or "")
    err, _ = checkify.checkify(jax.vmap(lambda v: 1 / v), errors=checkify.float_checks)(
        jnp.array([1.0, 0.0])
    )

    def loop(x):
        def step(c, v):
            checkify.check(c < 3, "c is {c}", c=c)
            return c + v, c

        return lax.scan(step, 0.0, x)

    err2, _ = checkify.checkify(jax.jit(loop))(jnp.arange(4.0))
    return {
        "has": np.array([bool(m) for m in messages]),
        "first": np.array([ord(c) for c in messages[1][:30]]),
        "division": np.asarray("division by zero" in (err.get() or "")),
        "loop": np.asarray((err2.get() or "")[:6] == "c is 3"),
    }


@prog
def dtypes():
    """Weak types, casts, bits, promotions of what Python and NumPy hand over."""
    x = jnp.arange(4, dtype=jnp.float32)
    i8 = jnp.array([100, 100], jnp.int8)
    f = jax.jit(lambda x, n: x * n + 1)
    return {
        "weak": x * 2.5,
        "python": f(x, 3),
        "int": f(jnp.arange(3), 2),
        "bool": jnp.array([True, False]) + 1,
        "int8": i8 + i8,
        "half": jnp.ones(2, jnp.float16) * 2 + 1,
        "bf16": jax.jit(lambda x: x * 0.5 + 1)(jnp.ones(2, jnp.bfloat16)).astype(jnp.float32),
        "mean": jnp.mean(jnp.arange(4)),
        "sum8": jnp.sum(i8),
        "astype": (x + 0.6).astype(int),
        "view": lax.bitcast_convert_type(x, jnp.int32),
        "complex": x[1] * 1j,
        "floor": jnp.array([-7, 7]) // 2,
        "mod": jnp.array([-7.5, 7.5]) % 2,
        "div": jnp.arange(3) / 2,
        "pow": jnp.arange(3) ** 2,
        "scalar": jnp.float32(3) * 2,
        "where": jnp.where(x > 1, 1.0, x),
        "result": np.array(str(jnp.result_type(x, 1.0)) == "float32"),
        "finfo": np.asarray(jnp.finfo(jnp.float32).eps),
        "linspace": jnp.linspace(0, 1, 3, dtype=jnp.float32),
        "full": jnp.full((2,), 7),
        "zeros": jnp.zeros_like(x, dtype=jnp.int16),
        "eye": jnp.eye(2, dtype=jnp.int32) @ jnp.ones(2, jnp.int32),
        "round": jnp.round(jnp.array([0.5, 1.5, 2.567]), 1),
        "shift": jnp.array([1, 2], jnp.uint8) << 7,
        "popcount": lax.population_count(jnp.array([7, 8], jnp.uint32)),
        "sort": jnp.sort(jnp.array([3, 1, 2], jnp.uint16)),
        "cumsum": jnp.cumsum(x),
        "norm": jnp.linalg.norm(x),
        "var": jnp.var(jnp.array([1, 2, 4])),
        "einsum": jnp.einsum("i,i", x, x, preferred_element_type=jnp.float32),
        "dot": jnp.dot(i8.astype(jnp.int32), i8.astype(jnp.int32)),
    }
