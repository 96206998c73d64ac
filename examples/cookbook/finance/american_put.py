"""The price of an American put, by a binomial tree: it may be exercised at any time."""

import numpy as np

import transpile


@transpile.jit
def put_price(spot, strike, years, rate, sigma):
    steps = 200
    up = np.exp(sigma * np.sqrt(years / steps))
    discount = np.exp(-rate * years / steps)
    rises = (1 / discount - 1 / up) / (up - 1 / up)
    prices = spot * up ** np.arange(-steps, steps + 1)
    values = np.maximum(strike - prices[::2], 0)
    for step in range(steps - 1, -1, -1):
        for k in range(step + 1):
            held = discount * (rises * values[k + 1] + (1 - rises) * values[k])
            values[k] = max(held, strike - prices[steps - step + 2 * k])
    return values[0]


def example():
    return 95.0, 100.0, 1.0, 0.05, 0.3


if __name__ == "__main__":
    print(put_price(*example()))
