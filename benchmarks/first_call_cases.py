"""The twelve functions whose first calls are measured: those of the workloads, and three more."""

import numpy as np

from benchmarks import cases, networks
from benchmarks.cases import Case
from benchmarks.networks import normal


def solve(xp, library):
    def solve(a, b):
        return xp.linalg.solve(a, b)

    return solve


FURTHER = {
    "mlp_gradient": Case(
        "value and gradient, dense layers 784-512-512-10, batch 128, float32",
        lambda random: networks.classifier(random, 128, (784, 512, 512, 10)),
        networks.mlp_gradient,
        contestants=("transpile", "jax"),
        tolerance=1e-3,
    ),
    "rnn_gradient": Case(
        "value and gradient, an LSTM over 100 steps, batch 16, 64 hidden, float32",
        lambda random: networks.lstm(random, 100, 16, 32, 64),
        networks.lstm_gradient,
        contestants=("transpile", "jax"),
        tolerance=1e-3,
    ),
    "solve": Case(
        "linear equations, 200 x 200 float64",
        lambda random: (random.standard_normal((200, 200)) + 20 * np.eye(200), normal(random, 200)),
        solve,
        contestants=("transpile", "numpy", "jax"),
        tolerance=1e-9,
    ),
}
WORKLOADS = ("elementwise", "softmax", "layer_norm", "mlp", "attention", "lu_rows")
WORKLOADS += ("sort", "fourier", "conv2d")
CASES = {name: cases.CASES[name] for name in WORKLOADS} | FURTHER
