"""Twenty scalar functions of one array each, as people write them; `np` is NumPy or JAX's.

`COMPOSITES` maps a name to (function of (np, x), the shape of x). Every one is smooth at the drawn
points.
"""

from __future__ import annotations

import numpy

RANDOM = numpy.random.default_rng(2024)


def _draw(*shape):
    return RANDOM.normal(size=shape)


LABELS = numpy.array([0, 3, 1, 2])
ONE_HOT = numpy.eye(5)[LABELS]
INPUTS, TARGETS = _draw(6, 3), _draw(6, 2)
QUERY = _draw(4, 6)
COMPLEX = numpy.exp(2j * numpy.pi * numpy.outer(numpy.arange(5), numpy.arange(5)) / 5)


def cross_entropy(np, x):
    shifted = x - x.max(axis=1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -(logarithms * ONE_HOT).sum(axis=1).mean()


def layer_norm(np, x):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (((x - mean) / np.sqrt(variance + 1e-5)) ** 3).sum()


def network(np, x):
    first, second = x[:12].reshape(3, 4), x[12:20].reshape(4, 2)
    error = np.tanh(INPUTS @ first + x[20:24]) @ second - TARGETS
    return np.mean(error * error)


def attention(np, x):
    scores = QUERY @ x.T / np.sqrt(6.0)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return (np.einsum("ij,jk->ik", weights, x) ** 2).sum()


def log_sum_exp(np, x):
    top = np.max(x)
    return np.log(np.sum(np.exp(x - top))) + top


def rosenbrock(np, x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def normal_distribution(np, x):
    t = 1 / (1 + 0.2316419 * np.abs(x))
    tail = t * (0.31938153 + t * (-0.356563782 + 1.781477937 * t)) * np.exp(-0.5 * x * x)
    return np.where(x > 0, 1 - tail, tail).prod()


def potential_energy(np, x):
    apart = x[None] - x[:, None]
    inverse = ((apart * apart).sum(-1) + 0.01) ** -0.5
    return -0.5 * inverse.sum()


def cosine_similarity(np, x):
    return (x[0] @ x[1]) / (np.linalg.norm(x[0]) * np.linalg.norm(x[1]))


def huber(np, x):
    size = np.abs(x)
    return np.where(size < 0.5, 0.5 * x * x, 0.5 * (size - 0.25)).sum()


def gelu(np, x):
    return (0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))).sum()


def convolution(np, x):
    signal, kernel = x[:12], x[12:]
    parts = [signal[k : k + 10] * kernel[k] for k in range(3)]
    return np.sin(sum(parts)).sum() + np.stack(parts).std()


def running_products(np, x):
    return (np.cumsum(x) * np.cumprod(x)).sum() + np.prod(x[::2])


def pooling(np, x):
    return (x.reshape(2, 2, 2, 2).max(axis=(1, 3)) ** 2).sum() - np.min(x) * np.max(x)


def student_likelihood(np, x):
    scale = np.logaddexp(x[0], 0.0)
    return -np.log(scale) * 5 - 2.0 * np.log1p((x[1:] / scale) ** 2 / 3.0).sum()


def horner(np, x):
    value = 0.0
    for coefficient in (1.5, -2.0, 0.25, 3.0):
        value = value * x + coefficient
    return (value / (1 + np.square(x))).sum()


def spectrum(np, x):
    transformed = COMPLEX @ x
    return (np.abs(transformed) ** 3).sum() + np.real(transformed[1] * transformed[2])


def statistics(np, x):
    return np.std(x) * np.var(x, axis=0).sum() / (1 + np.linalg.norm(x)) + np.sqrt(np.sum(x**4))


def heat_energy(np, x):
    around = np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)
    inside = np.pad(x[1:-1, 1:-1], 1)
    return ((x + 0.1 * (around - 4 * x)) ** 2 * np.exp(inside)).sum()


def angles(np, x):
    theta = np.arctan2(x[0], x[1]) + np.hypot(x[0], x[1])
    return (np.arcsinh(theta) * np.cosh(x[2]) + np.expm1(x[2]) * theta**2).sum()


COMPOSITES = {
    "cross entropy": (cross_entropy, (4, 5)),
    "layer norm": (layer_norm, (2, 4)),
    "network": (network, (24,)),
    "attention": (attention, (5, 6)),
    "log sum exp": (log_sum_exp, (7,)),
    "rosenbrock": (rosenbrock, (8,)),
    "normal distribution": (normal_distribution, (4,)),
    "potential energy": (potential_energy, (4, 3)),
    "cosine similarity": (cosine_similarity, (2, 5)),
    "huber": (huber, (9,)),
    "gelu": (gelu, (6,)),
    "convolution": (convolution, (15,)),
    "running products": (running_products, (6,)),
    "pooling": (pooling, (4, 4)),
    "student likelihood": (student_likelihood, (6,)),
    "horner": (horner, (5,)),
    "spectrum": (spectrum, (5,)),
    "statistics": (statistics, (3, 4)),
    "heat energy": (heat_energy, (4, 4)),
    "angles": (angles, (3, 4)),
}


def argument(name):
    """The point at which a composite is looked at."""
    index = list(COMPOSITES).index(name)
    return numpy.random.default_rng(index).normal(size=COMPOSITES[name][1])
