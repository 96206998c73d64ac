"""Derivatives of `benchmarks.networks` and loops of `benchmarks.loop_programs` in PyTorch.

Each is in the form that ran fastest there. Of torch.func inside torch.compile, torch.autograd
inside it, and torch.autograd around a compiled forward function, the last won for attention and the
first elsewhere; there softmax(q k) v written out was faster than scaled_dot_product_attention.

The body of a loop over whole arrays is compiled, and the loop is Python's; a loop whose every step
is a few numbers is not for PyTorch.
"""

import math

import torch
from torch.func import grad_and_value, hessian
from torch.nn import functional

from benchmarks.loop_programs import MOST_STEPS, STEPS, TOLERANCE
from benchmarks.networks import EPSILON, HEADS, RATE

TURNS = 8  # steps of a loop over whole arrays that are compiled together


def mlp_loss(params, x, targets):
    for w, b in params[:-1]:
        x = functional.relu(torch.addmm(b, x, w))
    w, b = params[-1]
    return functional.cross_entropy(torch.addmm(b, x, w), targets)


def mlp_gradient():
    @torch.compile
    def value_and_gradient(params, x, targets):
        gradients, value = grad_and_value(mlp_loss)(params, x, targets)
        return value, gradients

    return value_and_gradient


def mlp_training_step():
    @torch.compile
    def update(params, x, targets):
        gradients, value = grad_and_value(mlp_loss)(params, x, targets)
        for layer, changes in zip(params, gradients, strict=True):
            for weight, change in zip(layer, changes, strict=True):
                weight -= RATE * change
        return value

    return lambda params, x, targets: (update(params, x, targets), params)


def attention_loss(params, x, target):
    def norm(x, layer, number):
        scale, shift = layer[f"scale{number}"], layer[f"shift{number}"]
        return functional.layer_norm(x, x.shape[-1:], scale, shift, EPSILON)

    def heads(x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    for layer in params:
        y = norm(x, layer, 1)
        query, key, value = (heads(y @ layer[name]) for name in ("query", "key", "value"))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        mixed = torch.softmax(scores, -1) @ value
        x = x + mixed.transpose(1, 2).reshape(x.shape) @ layer["out"]
        up = norm(x, layer, 2) @ layer["up"] + layer["up_bias"]
        x = x + functional.gelu(up, approximate="tanh") @ layer["down"] + layer["down_bias"]
    return functional.mse_loss(x, target)


def attention_gradient():
    loss = torch.compile(attention_loss)

    def value_and_gradient(params, x, target):
        leaves = [leaf.requires_grad_() for layer in params for leaf in layer.values()]
        value = loss(params, x, target)
        found = iter(torch.autograd.grad(value, leaves))
        return value, [{name: next(found) for name in layer} for layer in params]

    return value_and_gradient


def rosenbrock_hessian():
    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    return torch.compile(hessian(rosenbrock))


def lstm_gradient():
    """aten's own LSTM, whose weights are the transposes of ours; it has a second bias."""

    def value_and_gradient(params, xs, target):
        leaves = {name: value.requires_grad_() for name, value in params.items()}
        weights = [leaves["input"].T, leaves["hidden"].T, leaves["bias"]]
        weights = [weight.contiguous() for weight in weights]
        weights.append(torch.zeros_like(weights[2]))
        zero = torch.zeros(1, *target.shape)
        state = (zero, zero)
        _, last, _ = torch.lstm(xs, state, weights, True, 1, 0.0, True, False, False)
        value = functional.mse_loss(last[0], target)
        found = torch.autograd.grad(value, list(leaves.values()))
        return value, dict(zip(leaves, found, strict=True))

    return value_and_gradient


def convolutional_training_step():
    def loss(params, x, targets):
        for name in ("first", "second"):
            x = functional.conv2d(x, params[name], padding="same")
            x = functional.max_pool2d(functional.relu(x), 2)
        return functional.cross_entropy(x.flatten(1) @ params["dense"] + params["bias"], targets)

    compiled = torch.compile(loss)

    def step(params, x, targets):
        leaves = [leaf.requires_grad_() for leaf in params.values()]
        value = compiled(params, x, targets)
        found = torch.autograd.grad(value, leaves)
        with torch.no_grad():
            for leaf, change in zip(leaves, found, strict=True):
                leaf -= RATE * change
        return value, params

    return step


def lu_rows():
    """All rows at once: the product of a column and a row."""

    def lu(matrix):
        a = matrix.clone()
        for k in range(len(a) - 1):
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :].addr_(a[k + 1 :, k], a[k, k + 1 :], alpha=-1)
        return a

    return lu


def floyd_warshall():
    @torch.compile
    def through(d, nodes):
        for node in nodes.split(1):
            d = torch.minimum(d, d.index_select(1, node) + d.index_select(0, node))
        return d

    def shortest(d):
        for nodes in torch.arange(len(d)).split(TURNS):
            d = through(d, nodes)
        return d

    return shortest


def newton():
    @torch.compile
    def step(x, a):
        change = (x * (x * x + 1) - a) / (3 * x * x + 1)
        return x - change, change.abs().max()

    def solve(a):
        x, largest = a / 2, math.inf
        while largest > TOLERANCE:
            x, largest = step(x, a)
        return x

    return solve


def stencil():
    """Two plates that take turns."""

    @torch.compile
    def step(u, out):
        inside = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        out[1:-1, 1:-1] = inside + 0.2 * (around - 4 * inside)

    def heat(u):
        here, there = u.clone(), u.clone()
        for _ in range(STEPS):
            step(here, there)
            here, there = there, here
        return here

    return heat


def mandelbrot():
    """In place, two steps at a time; more take minutes to compile."""

    @torch.compile
    def step(x, y, count, real, imaginary):
        u, v, steps = x, y, count
        for _ in range(2):
            inside = u * u + v * v < 4
            further = u * u - v * v + real, 2 * u * v + imaginary
            u, v = torch.where(inside, further[0], u), torch.where(inside, further[1], v)
            steps = steps + inside
        x.copy_(u)
        y.copy_(v)
        count.copy_(steps)
        return inside.any()

    def steps(real, imaginary):
        x, y = torch.zeros_like(real), torch.zeros_like(real)
        count = torch.zeros(real.shape, dtype=torch.int32)
        for _ in range(MOST_STEPS // 2):
            if not step(x, y, count, real, imaginary):
                break
        return count

    return steps
