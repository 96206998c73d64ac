"""The functions whose C text is kept in tests/golden, each with the arguments it is built for."""

import numpy as np

from transpile import ShapeDtypeStruct


def array(*shape, dtype="float64"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + 0.5 * x


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def layernorm(x, gain, bias):
    mean = np.mean(x, axis=1, keepdims=True)
    centred = x - mean
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def nbody(position, mass):
    d = position[None, :, :] - position[:, None, :]
    r2 = np.sum(d * d, axis=2) + 1e-3
    weight = mass[None, :] / (r2 * np.sqrt(r2))
    return np.sum(weight[:, :, None] * d, axis=1)


def nbody_parts(x, y, z, m):
    dx = x[None, :] - x[:, None]
    dy = y[None, :] - y[:, None]
    dz = z[None, :] - z[:, None]
    r2 = dx * dx + dy * dy + dz * dz + 1e-3
    w = m[None, :] / (r2 * np.sqrt(r2))
    return np.sum(w * dx, axis=1), np.sum(w * dy, axis=1), np.sum(w * dz, axis=1)


def heat(u):
    p = np.pad(u, 1)
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return u + 0.1 * (around - 4 * u)


def columns(x):
    return np.mean(x, axis=0), np.std(x, axis=0)


def argmax(x):
    return np.argmax(x, axis=1)


def total(x):
    return np.sum(x)


def dense(x, w, b):
    return np.maximum(x @ w + b, 0)


def cumsum(x):
    return np.cumsum(x, axis=1)


def integers(a, b):
    return (a + b) // 3, (a * b) % 7, (a << 2) ^ (b >> 1), np.abs(a) & 255


def mandelbrot_step(z, c):
    w = z * z + c
    return w, np.abs(w) < 2


def transposed(x, y):
    return x + y.T


def shapes(x):
    return np.flip(x.reshape(12, 8), 0)[1::2, ::3] * 2


def joined(x, y):
    return np.concatenate([x, 2 * y, x + y])


def clipped(x, low):
    return np.where(x < low, 0, np.clip(x, -1, 1))


FUNCTIONS = {
    chain: (array(1000), array(1000)),
    softmax: (array(64, 100, dtype="float32"),),
    layernorm: (array(64, 256), array(256), array(256)),
    nbody: (array(500, 3), array(500)),
    nbody_parts: (array(500),) * 4,
    heat: (array(128, 128),),
    columns: (array(2000, 300),),
    argmax: (array(100, 50),),
    total: (array(10_000_000),),
    dense: (array(64, 128), array(128, 32), array(32)),
    cumsum: (array(100, 50),),
    integers: (array(1000, dtype="int32"), array(1000, dtype="int32")),
    mandelbrot_step: (array(1000, dtype="complex128"), array(1000, dtype="complex128")),
    transposed: (array(200, 300), array(300, 200)),
    shapes: (array(8, 12),),
    joined: (array(100), array(100)),
    clipped: (array(1000), array(1000)),
}
