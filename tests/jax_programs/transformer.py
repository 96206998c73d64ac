"""A small transformer: the forward pass, its loss and gradient, and text generated from it.

The layers are stacked, and `lax.scan` goes through them; attention is causal; generation extends a
buffer of fixed length in a `fori_loop`, first the likeliest token, then a drawn one.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax, nn, random

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 29, 32, 4, 3, 24


def init(key):
    """Parameters; those of the layers have an axis of layers in front."""
    embedding, positions, layers = random.split(key, 3)
    dense = nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")

    def layer(key):
        keys = random.split(key, 4)
        return {
            "qkv": dense(keys[0], (WIDTH, 3 * WIDTH), jnp.float64),
            "out": dense(keys[1], (WIDTH, WIDTH), jnp.float64),
            "up": nn.initializers.he_normal()(keys[2], (WIDTH, 4 * WIDTH), jnp.float64),
            "down": nn.initializers.glorot_uniform()(keys[3], (4 * WIDTH, WIDTH), jnp.float64),
            "scale": jnp.ones((2, WIDTH)),
        }

    return {
        "embedding": nn.initializers.normal(0.5)(embedding, (VOCABULARY, WIDTH), jnp.float64),
        "positions": 0.1 * random.normal(positions, (LENGTH, WIDTH)),
        "layers": jax.vmap(layer)(random.split(layers, LAYERS)),
    }


def attention(layer, x):
    """Causal self-attention of (length, width)."""
    length = x.shape[0]
    q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
    q, k, v = (a.reshape(length, HEADS, -1).swapaxes(0, 1) for a in (q, k, v))
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(WIDTH // HEADS)
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = nn.softmax(scores, where=causal, axis=-1)
    mixed = jnp.einsum("hqk,hkd->qhd", weights, v)
    return mixed.reshape(length, WIDTH) @ layer["out"]


def logits_of(params, tokens):
    """(length, vocabulary) of (length,) tokens."""

    def block(x, layer):
        x = x + attention(layer, nn.standardize(x, axis=-1) * layer["scale"][0])
        hidden = nn.gelu(nn.standardize(x, axis=-1) * layer["scale"][1] @ layer["up"])
        return x + hidden @ layer["down"], jnp.mean(hidden > 0, dtype=x.dtype)

    x = params["embedding"][tokens] + params["positions"][: tokens.shape[0]]
    x, active = lax.scan(block, x, params["layers"])
    return nn.standardize(x, axis=-1) @ params["embedding"].T, active


def loss(params, batch):
    """The mean surprise at the next token, for (batch, length) tokens."""
    logits, _ = jax.vmap(functools.partial(logits_of, params))(batch)
    surprise = nn.log_softmax(logits[:, :-1]) * nn.one_hot(batch[:, 1:], VOCABULARY)
    return -jnp.mean(jnp.sum(surprise, axis=-1))


@jax.jit
def train(params, batch, rate):
    """Eight steps of gradient descent: new parameters, and the loss before each."""

    def step(params, _):
        value, gradient = jax.value_and_grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value

    return lax.scan(step, params, None, length=8)


@functools.partial(jax.jit, static_argnums=(3,))
def generate(params, prompt, key, drawn):
    """The prompt, and what the model says comes after it, LENGTH tokens in all."""
    start = prompt.shape[0]
    tokens = jnp.zeros(LENGTH, prompt.dtype)
    tokens = lax.dynamic_update_slice(tokens, prompt, (0,))

    def extend(i, tokens):
        logits, _ = logits_of(params, tokens)
        last = lax.dynamic_index_in_dim(logits, i - 1, keepdims=False)
        if drawn:
            token = random.categorical(random.fold_in(key, i), last / 0.8)
        else:
            token = jnp.argmax(last)
        return tokens.at[i].set(token.astype(tokens.dtype))

    return lax.fori_loop(start, LENGTH, extend, tokens)


@jax.jit
def forward(params, batch):
    logits, active = jax.vmap(logits_of, in_axes=(None, 0))(params, batch)
    top, which = lax.top_k(nn.softmax(logits[:, -1]), 3)
    return logits, active, top, which


def main(seed=0):
    keys = random.split(random.PRNGKey(seed), 3)
    params = init(keys[0])
    # Sentences that count in steps: each token is the one before plus a constant.
    start = random.randint(keys[1], (16, 1), 0, VOCABULARY)
    step = 1 + jnp.arange(16)[:, None] % 3
    batch = (start + step * jnp.arange(LENGTH)) % VOCABULARY
    logits, active, top, which = forward(params, batch)
    params, losses = train(params, batch, 0.1)
    prompt = batch[1, :6]
    return {
        "logits": logits,
        "active": active,
        "top": top,
        "which": which,
        "losses": losses,
        "greedy": generate(params, prompt, keys[2], False),
        "drawn": generate(params, prompt, keys[2], True),
        "parameters": jnp.array([jnp.linalg.norm(p) for p in jax.tree.leaves(params)]),
    }
