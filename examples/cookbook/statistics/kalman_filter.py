"""A Kalman filter: the position and speed of what is measured with noise."""

import numpy as np

import transpile


@transpile.jit
def track(measured, dt, noise):
    move = np.array([[1.0, dt], [0.0, 1.0]])
    drift = 0.01 * np.eye(2)
    state, covariance = np.zeros(2), np.eye(2)
    path = np.zeros((len(measured), 2))
    for k in range(len(measured)):
        state = move @ state
        covariance = move @ covariance @ move.T + drift
        gain = covariance[:, 0] / (covariance[0, 0] + noise)
        state = state + gain * (measured[k] - state[0])
        covariance = covariance - np.outer(gain, covariance[0])
        path[k] = state
    return path


def example():
    time = np.arange(200) * 0.1
    return 2 * time + np.random.default_rng(0).normal(size=200), 0.1, 1.0


if __name__ == "__main__":
    print(track(*example())[-1])
