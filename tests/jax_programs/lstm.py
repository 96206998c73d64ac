"""An LSTM that learns to add two marked numbers of a sequence, trained with Adam.

The cell is scanned over time, the training steps are scanned too, and gradients are clipped by
their norm over all parameters.
"""

from collections import namedtuple

import jax
import jax.numpy as jnp
from jax import lax, nn, random
from jax.flatten_util import ravel_pytree

HIDDEN, LENGTH, BATCH = 16, 12, 32

Adam = namedtuple("Adam", ["step", "mean", "square"])


def init(key):
    input_key, hidden_key, out_key = random.split(key, 3)
    orthogonal = nn.initializers.orthogonal()
    bias = jnp.zeros(4 * HIDDEN)
    return {
        "cell": {
            "input": nn.initializers.lecun_normal()(input_key, (2, 4 * HIDDEN), jnp.float64),
            "hidden": jnp.hstack(
                [orthogonal(k, (HIDDEN, HIDDEN), jnp.float64) for k in random.split(hidden_key, 4)]
            ),
            "bias": bias.reshape(4, HIDDEN) + jnp.array([0.0, 1.0, 0.0, 0.0])[:, None],
        },
        "out": (random.normal(out_key, (HIDDEN,)) / HIDDEN**0.5, jnp.array(0.0)),
    }


def cell(params, state, x):
    """The next (hidden, memory) of a batch, and the hidden state again as the output."""
    hidden, memory = state
    gates = x @ params["input"] + hidden @ params["hidden"] + params["bias"].ravel()
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    memory = nn.sigmoid(f) * memory + nn.sigmoid(i) * jnp.tanh(g)
    hidden = nn.sigmoid(o) * jnp.tanh(memory)
    return (hidden, memory), hidden


def predict(params, xs):
    """(batch,) sums, from (length, batch, 2) sequences."""
    zero = jnp.zeros((xs.shape[1], HIDDEN))
    (last, _), _ = lax.scan(lambda s, x: cell(params["cell"], s, x), (zero, zero), xs)
    weights, bias = params["out"]
    return last @ weights + bias


def make_batch(key):
    """Sequences of (number, mark), and the sum of the two marked numbers of each."""
    numbers_key, first_key, second_key = random.split(key, 3)
    numbers = random.uniform(numbers_key, (LENGTH, BATCH))
    first = random.randint(first_key, (BATCH,), 0, LENGTH // 2)
    second = random.randint(second_key, (BATCH,), LENGTH // 2, LENGTH)
    marks = nn.one_hot(first, LENGTH, axis=0) + nn.one_hot(second, LENGTH, axis=0)
    return jnp.stack([numbers, marks], axis=-1), jnp.sum(numbers * marks, axis=0)


def loss(params, xs, targets):
    return jnp.mean(jnp.square(predict(params, xs) - targets))


def clip_by_norm(gradient, most):
    """The gradient, no longer than `most`, and how long it was."""
    norm = jnp.sqrt(jax.tree.reduce(jnp.add, jax.tree.map(lambda g: jnp.vdot(g, g), gradient), 0.0))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, most / norm), gradient), norm


def adam(params, gradient, state, rate=0.01, decay=(0.9, 0.999), epsilon=1e-8):
    step = state.step + 1
    mean = jax.tree.map(lambda m, g: decay[0] * m + (1 - decay[0]) * g, state.mean, gradient)
    square = jax.tree.map(
        lambda v, g: decay[1] * v + (1 - decay[1]) * g * g, state.square, gradient
    )

    def move(p, m, v):
        m, v = m / (1 - decay[0] ** step), v / (1 - decay[1] ** step)
        return p - rate * m / (jnp.sqrt(v) + epsilon)

    return jax.tree.map(move, params, mean, square), Adam(step, mean, square)


@jax.jit
def train(params, key):
    """The parameters after a step for each key, the optimizer's state, losses and lengths."""

    def step(carry, key):
        params, state = carry
        xs, targets = make_batch(key)
        value, gradient = jax.value_and_grad(loss)(params, xs, targets)
        gradient, norm = clip_by_norm(gradient, 1.0)
        return adam(params, gradient, state), (value, norm)

    zeros = jax.tree.map(jnp.zeros_like, params)
    return lax.scan(step, (params, Adam(0, zeros, zeros)), random.split(key, 150))


@jax.jit
def bidirectional(params, xs):
    """The outputs of a scan in each direction, side by side."""
    zero = jnp.zeros((xs.shape[1], HIDDEN))
    both = [
        lax.scan(lambda s, x: cell(params["cell"], s, x), (zero, zero), xs, reverse=reverse)[1]
        for reverse in (False, True)
    ]
    return jnp.concatenate(both, axis=-1)


@jax.jit
def unrolled(params, xs):
    zero = jnp.zeros((xs.shape[1], HIDDEN))
    _, outputs = lax.scan(lambda s, x: cell(params["cell"], s, x), (zero, zero), xs, unroll=4)
    return outputs


def main(seed=0):
    init_key, train_key, test_key = random.split(random.key(seed), 3)
    params = init(init_key)
    xs, targets = make_batch(test_key)
    (trained, state), (losses, norms) = train(params, train_key)
    flat, unravel = ravel_pytree(trained)
    return {
        "losses": losses,
        "norms": norms,
        "parameters": flat,
        "bias": unravel(flat)["cell"]["bias"],
        "square": ravel_pytree(state.square)[0],
        "predictions": jax.jit(predict)(trained, xs),
        "targets": targets,
        "both": bidirectional(trained, xs),
        "unrolled": unrolled(trained, xs),
    }
