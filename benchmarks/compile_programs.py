"""Programs of any size, to see what compiling costs: kinds of code that is written by loops in
Python, which a trace unrolls.

`KINDS[name].build(number, xp, library)` gives a function of about `number` equations and its
arguments; `xp` is numpy or jax.numpy, `library` transpile or jax.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Built = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Kind:
    """A kind of program.

    build     number of equations, xp, library -> the function and its arguments
    """

    title: str
    build: Callable[[int, Any, Any], Built]


def chain(number, xp, library):
    """Elementwise operations on one array, each of the last."""

    def function(x):
        for step in range(number // 4):
            x = xp.sin(x * (0.5 + step / number)) + 0.25
            x = x - 0.125
        return x

    return function, (np.linspace(-1, 1, 64),)


def shared(number, xp, library):
    """Elementwise operations of which each reads several earlier ones: a wide graph."""

    def function(x, y):
        values = [x, y]
        for step in range(number // 2):
            left, right = values[-1 - step % 2], values[-2 - step % 5 % len(values)]
            values.append(0.5 * left + right if step % 3 else xp.tanh(left) * right)
            del values[:-12]
        return values[-1] + values[-2]

    return function, (np.linspace(-1, 1, 64), np.linspace(0, 1, 64))


def layers(number, xp, library):
    """A network without loops: products, normalisations, residual sums, slices and gathers."""
    depth = max(1, number // 24)
    random = np.random.default_rng(0)

    def function(x, weights, order):
        for layer in range(depth):
            scaled = x - x.mean(axis=1, keepdims=True)
            scaled = scaled / xp.sqrt((scaled * scaled).mean(axis=1, keepdims=True) + 1e-5)
            hidden = xp.maximum(scaled @ weights[layer % 4], 0)
            turned = xp.concatenate([hidden[:, 8:], hidden[:, :8]], axis=1)
            x = x + 0.1 * turned[order]
            x = x.at[0].set(x[1] + x.sum(axis=0) / 16)
        return x.sum()

    x = random.normal(size=(16, 16))
    return function, (x, random.normal(size=(4, 16, 16)) / 4, random.permutation(16))


def deep(number, xp, library):
    """A network of many layers that all go over the same rows."""

    def function(x, weights):
        for layer in range(number // 2):
            x = xp.tanh(x @ weights[layer % 4])
        return x

    random = np.random.default_rng(0)
    return function, (random.normal(size=(128, 128)), random.normal(size=(4, 128, 128)) / 8)


def scalars(number, xp, library):
    """Straight-line code over numbers: steps of a differential equation of many unknowns."""
    count = 50

    def function(state, rate):
        values = [state[k] for k in range(count)]
        for step in range(number // 4):
            k = step % count
            difference = values[(k + 1) % count] - values[k - 1]
            values[k] = values[k] + rate * difference * values[k - 2]
        return xp.stack(values)

    return function, (np.linspace(0, 1, count), 1e-3)


def gradient_of_chain(number, xp, library):
    """The gradient of a chain."""
    function, arguments = chain(number // 2, xp, library)
    return library.grad(lambda x: function(x).sum()), arguments


def gradient_of_layers(number, xp, library):
    """The gradient of a network with respect to its weights."""
    function, (x, weights, order) = layers(number // 3, xp, library)
    return library.grad(lambda weights: function(x, weights, order)), (weights,)


def outputs(number, xp, library):
    """Independent kernels: arrays of other lengths, and a result of each."""

    def function(x):
        return [xp.cos(x[step % 61 :]) * (step + 1) for step in range(number // 3)]

    return function, (np.linspace(-1, 1, 64),)


def updates(number, xp, library):
    """Elements that are set one after the other, and slices of the result."""

    def function(x):
        for step in range(number // 6):
            k = step % 60
            x = x.at[k].set(x[k + 1] * 0.5 + x[k])
            if step % 8 == 0:
                x = x.at[k : k + 3].set(x[k + 1 : k + 4] - 1)
        return x

    return function, (np.linspace(-1, 1, 64),)


def constants(number, xp, library):
    """A constant array in every step."""
    tables = np.random.default_rng(0).normal(size=(number // 2, 16))

    def function(x):
        for table in tables:
            x = xp.minimum(x * table, table[0])
        return x

    return function, (np.linspace(-1, 1, 16),)


def body(number, xp, library):
    """A scan whose body is a chain."""
    step, (x,) = chain(number // 2, xp, library)
    mix, (state, rate) = scalars(number // 2, xp, library)

    def function(x, state):
        def advance(carry, row):
            x, state = carry
            return (step(x) + row, mix(state, rate)), state.sum()

        return library.lax.scan(advance, (x, state), xp.ones((5, 64)))

    return function, (x, state)


KINDS: dict[str, Kind] = {
    "chain": Kind("elementwise operations on one array", chain),
    "shared": Kind("a wide graph of elementwise operations", shared),
    "layers": Kind("an unrolled network", layers),
    "deep": Kind("a network of many layers over the same rows", deep),
    "scalars": Kind("straight-line code over numbers", scalars),
    "gradient_of_chain": Kind("the gradient of a chain", gradient_of_chain),
    "gradient_of_layers": Kind("the gradient of a network", gradient_of_layers),
    "outputs": Kind("independent kernels", outputs),
    "updates": Kind("elements set one after the other", updates),
    "constants": Kind("constant arrays", constants),
    "body": Kind("the body of a scan", body),
}
