"""The functions whose derivatives are measured, as one writes them with NumPy.

As in `benchmarks.cases`, `xp` is numpy or jax.numpy; `library`, which has `value_and_grad` and
`hessian`, is transpile or jax. PyTorch has its own versions in `benchmarks.torch_peer`.
"""

import itertools
import math

import numpy as np

RATE = 0.01
HEADS = 8
EPSILON = 1e-5


def normal(random, *shape):
    return random.standard_normal(shape, dtype=np.float32)


def classifier(random, batch, sizes):
    """(params, x, targets): dense layers, inputs, and one-hot labels."""
    params = [
        (normal(random, rows, columns) * np.float32(math.sqrt(2 / rows)), normal(random, columns))
        for rows, columns in itertools.pairwise(sizes)
    ]
    labels = random.integers(0, sizes[-1], batch)
    return params, normal(random, batch, sizes[0]), np.eye(sizes[-1], dtype=np.float32)[labels]


def mlp_loss(xp):
    def loss(params, x, targets):
        for w, b in params[:-1]:
            x = xp.maximum(x @ w + b, 0)
        w, b = params[-1]
        logits = x @ w + b
        logits = logits - logits.max(axis=1, keepdims=True)
        log_probabilities = logits - xp.log(xp.exp(logits).sum(axis=1, keepdims=True))
        return -(targets * log_probabilities).sum(axis=1).mean()

    return loss


def dense_gelu(xp, library):
    def dense_gelu(x, w, b):
        y = x @ w + b
        return 0.5 * y * (1 + xp.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))

    return dense_gelu


def mlp(xp, library):
    def mlp(params, x):
        for w, b in params[:-1]:
            x = xp.maximum(x @ w + b, 0)
        w, b = params[-1]
        return x @ w + b

    return mlp


def attention(xp, library):
    def attention(query, key, value):
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
        e = xp.exp(scores - scores.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ value

    return attention


def conv2d(xp, library):
    def conv2d(x, kernel):
        return library.lax.conv_general_dilated(x, kernel, (1, 1), "SAME")

    return conv2d


def mlp_gradient(xp, library):
    return library.value_and_grad(mlp_loss(xp))


def mlp_training_step(xp, library):
    loss = mlp_loss(xp)

    def step(params, x, targets):
        value, gradients = library.value_and_grad(loss)(params, x, targets)
        updated = [
            (w - RATE * dw, b - RATE * db)
            for (w, b), (dw, db) in zip(params, gradients, strict=True)
        ]
        return value, updated

    return step


def transformer(random, batch, length, width, layers):
    """(params, x, target): per layer a dict of weights, and sequences of vectors."""

    def dense(rows, columns):
        return normal(random, rows, columns) * np.float32(1 / math.sqrt(rows))

    params = [
        {
            "scale1": 1 + normal(random, width) / 10,
            "shift1": normal(random, width) / 10,
            "query": dense(width, width),
            "key": dense(width, width),
            "value": dense(width, width),
            "out": dense(width, width),
            "scale2": 1 + normal(random, width) / 10,
            "shift2": normal(random, width) / 10,
            "up": dense(width, 4 * width),
            "up_bias": normal(random, 4 * width) / 10,
            "down": dense(4 * width, width),
            "down_bias": normal(random, width) / 10,
        }
        for _ in range(layers)
    ]
    return params, normal(random, batch, length, width), normal(random, batch, length, width)


def attention_gradient(xp, library):
    def layer_norm(x, scale, shift):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / xp.sqrt(variance + EPSILON) * scale + shift

    def softmax(x):
        e = xp.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def gelu(x):
        return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def heads(x):
        batch, length, width = x.shape
        return x.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    def attention(layer, x):
        query, key, value = (heads(x @ layer[name]) for name in ("query", "key", "value"))
        weights = softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1]))
        return (weights @ value).transpose(0, 2, 1, 3).reshape(x.shape) @ layer["out"]

    def loss(params, x, target):
        for layer in params:
            x = x + attention(layer, layer_norm(x, layer["scale1"], layer["shift1"]))
            hidden = gelu(
                layer_norm(x, layer["scale2"], layer["shift2"]) @ layer["up"] + layer["up_bias"]
            )
            x = x + hidden @ layer["down"] + layer["down_bias"]
        return ((x - target) ** 2).mean()

    return library.value_and_grad(loss)


def rosenbrock_hessian(xp, library):
    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    return library.hessian(rosenbrock)


def lstm(random, length, batch, inputs, hidden):
    """(params, xs, target): an LSTM, sequences (length, batch, inputs), what should come last."""
    params = {
        "input": normal(random, inputs, 4 * hidden) * np.float32(1 / math.sqrt(inputs)),
        "hidden": normal(random, hidden, 4 * hidden) * np.float32(1 / math.sqrt(hidden)),
        "bias": normal(random, 4 * hidden) / 10,
    }
    return params, normal(random, length, batch, inputs), normal(random, batch, hidden)


def lstm_gradient(xp, library):
    jnp, lax, nn = library.numpy, library.lax, library.nn

    def cell(params, state, x):
        hidden, memory = state
        gates = x @ params["input"] + hidden @ params["hidden"] + params["bias"]
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        memory = nn.sigmoid(f) * memory + nn.sigmoid(i) * jnp.tanh(g)
        return (nn.sigmoid(o) * jnp.tanh(memory), memory), None

    def loss(params, xs, target):
        zero = jnp.zeros_like(target)
        (last, _), _ = lax.scan(lambda state, x: cell(params, state, x), (zero, zero), xs)
        return ((last - target) ** 2).mean()

    return library.value_and_grad(loss)


def convolutional(random, batch):
    """(params, x, targets): two convolutions and a dense layer, pictures, one-hot labels."""
    params = {
        "first": normal(random, 16, 1, 3, 3) / 3,
        "second": normal(random, 32, 16, 3, 3) / 12,
        "dense": normal(random, 32 * 7 * 7, 10) / 40,
        "bias": normal(random, 10) / 10,
    }
    labels = random.integers(0, 10, batch)
    return params, normal(random, batch, 1, 28, 28), np.eye(10, dtype=np.float32)[labels]


def convolutional_training_step(xp, library):
    jnp, lax, nn = library.numpy, library.lax, library.nn

    def layer(x, kernel):
        x = nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME"))
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(params, x, targets):
        x = layer(layer(x, params["first"]), params["second"])
        logits = x.reshape(x.shape[0], -1) @ params["dense"] + params["bias"]
        return -(targets * nn.log_softmax(logits)).sum(axis=1).mean()

    def step(params, x, targets):
        value, gradient = library.value_and_grad(loss)(params, x, targets)
        return value, library.tree.map(lambda p, g: p - RATE * g, params, gradient)

    return step
