"""Logistic regression, by steps along the gradient of its likelihood."""

import numpy as np

import transpile


def loss(weights, x, y):
    scores = x @ weights
    return (np.logaddexp(0, scores) - y * scores).mean()


@transpile.jit
def fitted(x, y):
    weights = np.zeros(x.shape[1])
    for _ in transpile.no_unroll(range(100)):
        weights = weights - transpile.grad(loss)(weights, x, y)
    return weights


def example():
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 4))
    return x, (x @ [1.0, -2.0, 0.5, 0.0] + random.logistic(size=300) > 0).astype(float)


if __name__ == "__main__":
    print(fitted(*example()))
