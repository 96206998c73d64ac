"""The functions of `benchmarks.networks` in PyTorch, each in the form that ran fastest there.

Of torch.func inside torch.compile, torch.autograd inside it, and torch.autograd around a compiled
forward function, the last won for attention and the first elsewhere; softmax(q k) v written out was
faster than scaled_dot_product_attention.
"""

import math

import torch
from torch.func import grad_and_value, hessian
from torch.nn import functional

from benchmarks.networks import EPSILON, HEADS, RATE


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


FUNCTIONS = {
    "lstm_gradient": lstm_gradient,
    "convolutional_training_step": convolutional_training_step,
    "mlp_training_step": mlp_training_step,
    "mlp_gradient_small": mlp_gradient,
    "attention_training_step": attention_gradient,
    "rosenbrock_hessian": rosenbrock_hessian,
}
