"""Functions of whole arrays, as one writes them with NumPy.

As in `benchmarks.cases`, `xp` is numpy or jax.numpy, and `library` has the rest of JAX's names: it
is transpile or jax, and None for NumPy itself.
"""

import math

import numpy as np

BINS = 256
SUMS = 65536
TINY_STEPS = 200
CLUSTERS = 16


def elementwise(xp, library):
    def wave(x, y):
        return xp.exp(-x * x) * xp.sin(y) + 0.5 * x

    return wave


def black_scholes(xp, library):
    """Prices of European calls and puts; the normal distribution by its approximation by Zelen and
    Severo (Abramowitz and Stegun 26.2.17), which every contestant can write."""
    rate, volatility = 0.03, 0.25
    coefficients = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)

    def distribution(x):
        t = 1 / (1 + 0.2316419 * xp.abs(x))
        polynomial = 0.0
        for c in reversed(coefficients):
            polynomial = t * (c + polynomial)
        upper = xp.exp(-x * x / 2) / math.sqrt(2 * math.pi) * polynomial
        return xp.where(x < 0, upper, 1 - upper)

    def prices(spot, strike, years):
        spread = volatility * xp.sqrt(years)
        d1 = (xp.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
        d2 = d1 - spread
        discounted = strike * xp.exp(-rate * years)
        call = spot * distribution(d1) - discounted * distribution(d2)
        return call, call - spot + discounted

    return prices


def options(random, n):
    """(spot, strike, years) of options."""
    return tuple(random.uniform(*range_, n) for range_ in ((50, 150), (50, 150), (0.1, 2)))


def softmax(xp, library):
    def softmax(x):
        e = xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return softmax


def layer_norm(xp, library):
    def layer_norm(x, scale, shift):
        centred = x - x.mean(axis=1, keepdims=True)
        variance = (centred * centred).mean(axis=1, keepdims=True)
        return centred / xp.sqrt(variance + 1e-5) * scale + shift

    return layer_norm


def logsumexp(xp, library):
    def logsumexp(x):
        largest = x.max(axis=1, keepdims=True)
        return xp.log(xp.exp(x - largest).sum(axis=1)) + largest[:, 0]

    return logsumexp


def statistics(axis):
    """Mean, standard deviation, least and largest of rows (axis 1) or columns (axis 0)."""

    def build(xp, library):
        def statistics(x):
            return x.mean(axis=axis), x.std(axis=axis), x.min(axis=axis), x.max(axis=axis)

        return statistics

    return build


def transposed_add(xp, library):
    def transposed_add(x, y):
        return x + y.T

    return transposed_add


def stencil_step(xp, library):
    def step(u):
        inside = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return inside + 0.2 * (around - 4 * inside)

    return step


def nbody(xp, library):
    def accelerations(position, mass):
        separation = position[None, :, :] - position[:, None, :]
        distance = (separation * separation).sum(axis=2) + 1e-3
        weight = mass / (distance * xp.sqrt(distance))
        return (separation * weight[:, :, None]).sum(axis=1)

    return accelerations


def matmul(xp, library):
    def product(a, b):
        return a @ b

    return product


def cumulative_sum(xp, library):
    def cumulative_sum(x):
        return xp.cumsum(x)

    return cumulative_sum


def gather(xp, library):
    def gather(table, index):
        return table[index]

    return gather


def scatter(xp, library):
    """Sums of the values that share an index."""

    def with_bincount(values, index):
        return np.bincount(index, weights=values, minlength=SUMS)

    def with_at(values, index):
        return library.numpy.zeros(SUMS, values.dtype).at[index].add(values)

    return with_at if library else with_bincount


def histogram(xp, library):
    def histogram(x):
        return xp.histogram(x, bins=BINS, range=(-4, 4))[0]

    return histogram


def sort(xp, library):
    def sort(x):
        return xp.sort(x)

    return sort


def kmeans_step(xp, library):
    """One step of Lloyd's algorithm: the means of the points nearest to each centre."""

    def step(points, centres):
        squares = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        member = squares.argmin(axis=1)[:, None] == xp.arange(CLUSTERS)
        member = member.astype(points.dtype)
        return member.T @ points / xp.maximum(member.sum(axis=0), 1)[:, None]

    return step


def fourier(xp, library):
    def fourier(x):
        return xp.fft.fft(x)

    return fourier


def tiny_chain(xp, library):
    """Many operations on few elements: what costs is everything but the arithmetic."""

    def chain(x):
        for k in range(TINY_STEPS // 4):
            x = xp.abs(xp.sin(x) * (1 + k / TINY_STEPS) - 0.5)
        return x

    return chain


def small_call(xp, library):
    def line(x):
        return x * 2 + 1

    return line


def normals(xp, library):
    def normals(key):
        return library.random.normal(key, (10_000_000,), np.float32)

    return normals


def monte_carlo(xp, library):
    def quarter(key):
        keys = library.random.split(key)
        x, y = (library.random.uniform(k, (10_000_000,), np.float32) for k in keys)
        return (x * x + y * y < 1).mean()

    return quarter
