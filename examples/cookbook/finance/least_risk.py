"""The portfolio of least variance, from daily returns."""

import numpy as np

import transpile


@transpile.jit
def weights(returns):
    centred = returns - returns.mean(axis=0)
    covariance = centred.T @ centred / (len(returns) - 1)
    solution = np.linalg.solve(covariance, np.ones(returns.shape[1]))
    return solution / solution.sum()


def example():
    return (np.random.default_rng(0).normal(0.001, 0.02, size=(250, 8)),)


if __name__ == "__main__":
    print(weights(*example()))
