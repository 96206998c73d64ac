"""The workloads in PyTorch, each in the form that ran fastest there, of the function as one writes
it, operators of aten for the whole, and either of them compiled. Derivatives and loops are in
`benchmarks.torch_programs`.

An entry of the table makes the function to measure.
"""

import math

import torch
from torch.nn import functional

from benchmarks import torch_programs
from benchmarks.array_programs import BINS, CLUSTERS, SUMS, TINY_STEPS
from benchmarks.networks import EPSILON

ROWS = 8  # whose statistics of columns are made at once


def wave(x, y):
    return torch.exp(-x * x) * torch.sin(y) + 0.5 * x


def black_scholes(spot, strike, years):
    rate, volatility = 0.03, 0.25
    coefficients = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)

    def distribution(x):
        t = 1 / (1 + 0.2316419 * torch.abs(x))
        polynomial = 0.0
        for c in reversed(coefficients):
            polynomial = t * (c + polynomial)
        upper = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi) * polynomial
        return torch.where(x < 0, upper, 1 - upper)

    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    discounted = strike * torch.exp(-rate * years)
    call = spot * distribution(d1) - discounted * distribution(d1 - spread)
    return call, call - spot + discounted


def softmax(x):
    return torch.softmax(x, 1)


def layer_norm(x, scale, shift):
    return functional.layer_norm(x, x.shape[-1:], scale, shift, EPSILON)


def logsumexp(x):
    return torch.logsumexp(x, 1)


def row_statistics(x):
    deviation, mean = torch.std_mean(x, 1, correction=0)
    return mean, deviation, x.amin(1), x.amax(1)


def column_statistics(x):
    """Of blocks of a few rows first."""
    blocks = x.unflatten(0, (-1, ROWS))
    mean = blocks.sum(1).sum(0) / len(x)
    squares = (blocks - mean).square().sum(1).sum(0)
    least, largest = blocks.amin(1).amin(0), blocks.amax(1).amax(0)
    return mean, (squares / len(x)).sqrt(), least, largest


def transposed_add(x, y):
    return x + y.T


def stencil_step(u):
    inside = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return inside + 0.2 * (around - 4 * inside)


def nbody(position, mass):
    """Coordinate by coordinate, which the compiler makes vectors of."""
    dx, dy, dz = (x[None, :] - x[:, None] for x in position.T.contiguous())
    distance = dx * dx + dy * dy + dz * dz + 1e-3
    weight = mass / (distance * torch.sqrt(distance))
    return torch.stack([(d * weight).sum(1) for d in (dx, dy, dz)], 1)


def cumulative_sum(x):
    return torch.cumsum(x, 0)


def gather(table, index):
    return torch.index_select(table, 0, index)


def scatter(values, index):
    return torch.zeros(SUMS, dtype=values.dtype).index_add_(0, index, values)


def bins(x):
    """The bin of each number; the last for those that have none."""
    inside = ((x + 4) * (BINS / 8)).to(torch.int32).clamp(0, BINS - 1)
    return torch.where((x >= -4) & (x <= 4), inside, BINS)


def histogram():
    compiled = torch.compile(bins)
    return lambda x: torch.bincount(compiled(x), minlength=BINS + 1)[:BINS]


def sort(x):
    return torch.sort(x).values


def kmeans_step(points, centres):
    """The nearest by products, which leave out what is the same for all centres."""
    nearest = ((centres * centres).sum(1)[:, None] - 2 * centres @ points.T).argmin(0)
    members = (nearest == torch.arange(CLUSTERS)[:, None]).to(points.dtype)
    return members @ points / members.sum(1).clamp(min=1)[:, None]


def tiny_chain(x):
    for k in range(TINY_STEPS // 4):
        x = torch.abs(torch.sin(x) * (1 + k / TINY_STEPS) - 0.5)
    return x


def small_call(x):
    return torch.add(1, x, alpha=2)


def ten_arguments(a, b, c, d, e, f, g, h, i, j):
    return a + b + c + d + e + f + g + h + i + j


def product(a, b):
    return a @ b


def dense_gelu(x, w, b):
    return functional.gelu(torch.addmm(b, x, w), approximate="tanh")


def mlp(params, x):
    for w, b in params[:-1]:
        x = functional.relu(torch.addmm(b, x, w))
    w, b = params[-1]
    return torch.addmm(b, x, w)


def attention(query, key, value):
    """Compiled, this was faster than scaled_dot_product_attention."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, -1) @ value


def conv2d(x, kernel):
    return functional.conv2d(x, kernel, padding=1)


def compiled(function):
    return lambda: torch.compile(function)


def as_it_is(function):
    return lambda: function


FUNCTIONS = {
    "elementwise": compiled(wave),
    "black_scholes": compiled(black_scholes),
    "softmax": compiled(softmax),
    "layer_norm": as_it_is(layer_norm),
    "logsumexp": compiled(logsumexp),
    "row_statistics": compiled(row_statistics),
    "column_statistics": compiled(column_statistics),
    "transposed_add": compiled(transposed_add),
    "stencil_step": compiled(stencil_step),
    "nbody": compiled(nbody),
    "cumulative_sum": as_it_is(cumulative_sum),
    "gather": as_it_is(gather),
    "scatter": as_it_is(scatter),
    "histogram": histogram,
    "sort": as_it_is(sort),
    "kmeans_step": compiled(kmeans_step),
    "fourier": as_it_is(torch.fft.fft),
    "tiny_chain": compiled(tiny_chain),
    "small_expression": as_it_is(wave),
    "small_call": as_it_is(small_call),
    "ten_arguments": compiled(ten_arguments),
    "matmul_float32": as_it_is(product),
    "matmul_float64": as_it_is(product),
    "dense_gelu": compiled(dense_gelu),
    "mlp": as_it_is(mlp),
    "mlp_small": as_it_is(mlp),
    "attention": compiled(attention),
    "conv2d": as_it_is(conv2d),
    "mlp_training_step": torch_programs.mlp_training_step,
    "attention_training_step": torch_programs.attention_gradient,
    "rosenbrock_hessian": torch_programs.rosenbrock_hessian,
    "mlp_gradient_small": torch_programs.mlp_gradient,
    "lstm_gradient": torch_programs.lstm_gradient,
    "convolutional_training_step": torch_programs.convolutional_training_step,
    "lu_rows": torch_programs.lu_rows,
    "floyd_warshall": torch_programs.floyd_warshall,
    "newton": torch_programs.newton,
    "stencil": torch_programs.stencil,
    "mandelbrot": torch_programs.mandelbrot,
}
