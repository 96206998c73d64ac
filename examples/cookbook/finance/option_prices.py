"""Prices of European call options, by Black and Scholes."""

import numpy as np

import transpile


def normal_cdf(x):
    t = 1 / (1 + 0.2316419 * np.abs(x))  # Abramowitz and Stegun, 26.2.17
    p = 1.330274429
    for coefficient in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        p = p * t + coefficient
    tail = p * t * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    return np.where(x > 0, 1 - tail, tail)


@transpile.jit
def call_prices(spot, strike, years, rate, sigma):
    spread = sigma * np.sqrt(years)
    d = (np.log(spot / strike) + rate * years) / spread + 0.5 * spread
    return spot * normal_cdf(d) - strike * np.exp(-rate * years) * normal_cdf(d - spread)


def example():
    return np.linspace(80.0, 120.0, 1000), 100.0, 0.5, 0.03, 0.2


if __name__ == "__main__":
    print(call_prices(*example())[::250])
