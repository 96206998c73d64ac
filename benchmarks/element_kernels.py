"""Kernels of textbooks that run a loop of its own for each element: iterations until they have
converged, searches, paths, and sums over all others. Where they come from is in each one's
docstring.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.python_kernels import Kernel


def eccentric_anomalies(mean, eccentricity):
    """Kepler's equation by Newton's method (Danby, Fundamentals of Celestial Mechanics, 6.6)."""
    out = np.empty_like(mean)
    for i in range(len(mean)):
        anomaly = mean[i]
        for _ in range(50):
            slope = 1.0 - eccentricity * math.cos(anomaly)
            step = (anomaly - eccentricity * math.sin(anomaly) - mean[i]) / slope
            anomaly -= step
            if abs(step) < 1e-12:
                break
        out[i] = anomaly
    return out


def elliptic_integrals(modulus):
    """K(k) by the arithmetic-geometric mean (Gauss; Abramowitz and Stegun, 17.6)."""
    out = np.empty_like(modulus)
    for i in range(len(modulus)):
        a = 1.0
        g = math.sqrt(1.0 - modulus[i] * modulus[i])
        while abs(a - g) > 1e-14 * a:
            a, g = 0.5 * (a + g), math.sqrt(a * g)
        out[i] = math.pi / (2.0 * a)
    return out


def error_functions(x):
    """erf by its power series (Abramowitz and Stegun, 7.1.5)."""
    out = np.empty_like(x)
    for i in range(len(x)):
        term = x[i]
        total = x[i]
        k = 0
        while abs(term) > 1e-16 * abs(total) and k < 200:
            k += 1
            term *= -x[i] * x[i] / k
            total += term / (2 * k + 1)
        out[i] = 2.0 / math.sqrt(math.pi) * total
    return out


def gamma_fractions(a, x):
    """The upper incomplete gamma function's continued fraction by Lentz's method (Press and others,
    Numerical Recipes, 6.2)."""
    out = np.empty_like(x)
    for i in range(len(x)):
        b = x[i] + 1.0 - a
        c = 1e300
        d = 1.0 / b
        h = d
        for k in range(1, 200):
            an = -k * (k - a)
            b += 2.0
            d = an * d + b
            if abs(d) < 1e-300:
                d = 1e-300
            c = b + an / c
            if abs(c) < 1e-300:
                c = 1e-300
            d = 1.0 / d
            factor = d * c
            h *= factor
            if abs(factor - 1.0) < 1e-15:
                break
        out[i] = h
    return out


def implied_volatilities(price, spot, strike, years):
    """Volatilities of European calls by bisection (Black and Scholes 1973)."""
    out = np.empty_like(price)
    for i in range(len(price)):
        low, high = 1e-4, 5.0
        for _ in range(50):
            sigma = 0.5 * (low + high)
            spread = sigma * math.sqrt(years)
            d1 = (math.log(spot / strike[i]) + 0.5 * spread * spread) / spread
            d2 = d1 - spread
            first = 0.5 * spot * (1.0 + math.erf(d1 / math.sqrt(2.0)))
            second = 0.5 * strike[i] * (1.0 + math.erf(d2 / math.sqrt(2.0)))
            if first - second > price[i]:
                high = sigma
            else:
                low = sigma
        out[i] = 0.5 * (low + high)
    return out


def julia_set(x, y, c):
    """Escape times of z -> z**2 + c (Julia 1918)."""
    out = np.zeros((len(y), len(x)), np.int64)
    for i in range(len(y)):
        for j in range(len(x)):
            z = complex(x[j], y[i])
            n = 0
            while abs(z) <= 2.0 and n < 100:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


def smooth_mandelbrot(x, y, samples):
    """Mandelbrot's set, each pixel the mean of several samples (Mandelbrot 1980)."""
    out = np.zeros((len(y), len(x)))
    for i in range(len(y)):
        for j in range(len(x)):
            total = 0
            for k in range(samples):
                c, d = x[j] + 0.003 * k, y[i] - 0.002 * k
                a, b, n = 0.0, 0.0, 0
                while n < 80 and a * a + b * b < 4.0:
                    a, b = a * a - b * b + c, 2.0 * a * b + d
                    n += 1
                total += n
            out[i, j] = total / samples
    return out


def pendulums(length, steps):
    """Damped pendulums of several lengths by the method of Runge and Kutta (Butcher 2016, 235)."""
    out = np.empty_like(length)
    dt = 0.02
    for i in range(len(length)):
        w = 9.81 / length[i]
        x, v = 1.0, 0.0
        for _ in range(steps):
            a1 = -w * math.sin(x) - 0.1 * v
            v2 = v + 0.5 * dt * a1
            a2 = -w * math.sin(x + 0.5 * dt * v) - 0.1 * v2
            v3 = v + 0.5 * dt * a2
            a3 = -w * math.sin(x + 0.5 * dt * v2) - 0.1 * v3
            v4 = v + dt * a3
            a4 = -w * math.sin(x + dt * v3) - 0.1 * v4
            x += dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        out[i] = x
    return out


def lyapunov_exponents(rate, steps, skipped):
    """Those of the logistic map (May 1976; Strogatz 1994, 10.5)."""
    out = np.zeros(len(rate))
    for i in range(len(rate)):
        x = 0.5
        total = 0.0
        for k in range(steps):
            x = rate[i] * x * (1.0 - x)
            if k >= skipped:
                total += math.log(abs(rate[i] - 2.0 * rate[i] * x))
        out[i] = total / (steps - skipped)
    return out


def walks_to_a_barrier(seeds, steps):
    """The mean of prices that have not met a barrier, with numbers of a xorshift generator
    (Marsaglia 2003)."""
    total = 0.0
    for i in range(len(seeds)):
        s = seeds[i]
        price = 100.0
        for _ in range(steps):
            s ^= (s << 13) & 0xFFFFFFFF
            s ^= s >> 17
            s ^= (s << 5) & 0xFFFFFFFF
            price *= 1.0 + 0.02 * (s / 4294967296.0 - 0.5)
            if price < 90.0:
                price = 0.0
                break
        total += price
    return total / len(seeds)


def points_in_a_circle(seeds, points):
    """Of points of a xorshift generator (Marsaglia 2003)."""
    count = 0
    for i in range(len(seeds)):
        s = seeds[i]
        for _ in range(points):
            s ^= (s << 13) & 0xFFFFFFFF
            s ^= s >> 17
            s ^= (s << 5) & 0xFFFFFFFF
            x = (s & 0xFFFF) / 65536.0
            y = (s >> 16) / 65536.0
            if x * x + y * y < 1.0:
                count += 1
    return count


def binary_searches(table, keys):
    """Algorithm 6.2.1 B of Knuth's, for the first element that is not less."""
    out = np.zeros(len(keys), np.int64)
    for i in range(len(keys)):
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            if table[middle] < keys[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out


def potentials(x, y, z, charge):
    """Coulomb potentials of particles at each other (Hockney and Eastwood 1988, 1.3)."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        total = 0.0
        for j in range(len(x)):
            if i != j:
                dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
                total += charge[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
        out[i] = total
    return out


def accelerations(position, mass):
    """Gravity of bodies, softened (Aarseth 2003, 2.1)."""
    out = np.zeros_like(position)
    for i in range(len(mass)):
        for j in range(len(mass)):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            square = dx * dx + dy * dy + dz * dz + 1e-4
            factor = mass[j] / (square * math.sqrt(square))
            out[i, 0] += factor * dx
            out[i, 1] += factor * dy
            out[i, 2] += factor * dz
    return out


def _seeds(draw, n):
    return draw.integers(1, 2**32, n)


ELEMENTS = {
    "eccentric_anomalies": Kernel(
        eccentric_anomalies, lambda d, n: (d.uniform(0, 6, n), 0.3), 40, 10_000
    ),
    "elliptic_integrals": Kernel(
        elliptic_integrals, lambda d, n: (d.uniform(0, 1, n),), 40, 10_000
    ),
    "error_functions": Kernel(error_functions, lambda d, n: (d.uniform(-3, 3, n),), 40, 5000),
    "gamma_fractions": Kernel(gamma_fractions, lambda d, n: (1.7, d.uniform(3, 30, n)), 40, 5000),
    "implied_volatilities": Kernel(
        implied_volatilities,
        lambda d, n: (d.uniform(5, 20, n), 100.0, d.uniform(90, 110, n), 1.0),
        40,
        2000,
    ),
    "julia_set": Kernel(
        julia_set,
        lambda d, n: (np.linspace(-1.5, 1.5, n), np.linspace(-1, 1, n), -0.8 + 0.156j),
        20,
        200,
    ),
    "smooth_mandelbrot": Kernel(
        smooth_mandelbrot,
        lambda d, n: (np.linspace(-2, 0.5, n), np.linspace(-1.2, 1.2, n), 4),
        20,
        80,
    ),
    "pendulums": Kernel(pendulums, lambda d, n: (d.uniform(0.5, 5, n), 2 * n), 20, 300),
    "lyapunov_exponents": Kernel(
        lyapunov_exponents, lambda d, n: (d.uniform(2.5, 4, n), n, n // 5), 30, 500
    ),
    "walks_to_a_barrier": Kernel(walks_to_a_barrier, lambda d, n: (_seeds(d, n), 250), 40, 2000),
    "points_in_a_circle": Kernel(points_in_a_circle, lambda d, n: (_seeds(d, n), 100), 40, 2000),
    "binary_searches": Kernel(
        binary_searches, lambda d, n: (np.sort(d.normal(size=2 * n)), d.normal(size=n)), 40, 5000
    ),
    "potentials": Kernel(potentials, lambda d, n: tuple(d.normal(size=(4, n))), 40, 500),
    "accelerations": Kernel(
        accelerations, lambda d, n: (d.normal(size=(n, 3)), d.uniform(size=n)), 40, 400
    ),
}
