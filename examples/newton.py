"""Newton's method on Rosenbrock's valley in 100 dimensions: a Hessian from a few lines of NumPy.

    python examples/newton.py

`rosenbrock` is the only formula here. Its gradient and its Hessian are taken from it and compiled;
the linear system of each step is NumPy's business, between two calls of compiled functions. In the
end the error is squared in each iteration, as it should be: a wrong Hessian would not do that.
Where a matrix is too much, `hvp` multiplies by the Hessian without making it.
"""

import time

import numpy as np

import transpile

VARIABLES = 100


def rosenbrock(x):
    """A curved valley, 0 at its lowest point, where all variables are 1."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def hvp(f, x, v):
    """The Hessian of f at x times v: how the gradient changes when x moves along v."""
    return transpile.jvp(transpile.grad(f), (x,), (v,))[1]


height = transpile.jit(rosenbrock)
slope = transpile.jit(transpile.grad(rosenbrock))
curvature = transpile.jit(transpile.hessian(rosenbrock))
curvature_along = transpile.jit(lambda x, v: hvp(rosenbrock, x, v))


def newton(x, tolerance=1e-10, most=100):
    """The iterations to where the gradient vanishes: (x, gradient, part of the step taken)."""
    path = []
    for _ in range(most):
        gradient = slope(x)
        if np.linalg.norm(gradient) < tolerance:
            return [*path, (x, gradient, None)]
        step = descent(curvature(x), gradient)
        part = line_search(x, step, gradient)
        path.append((x, gradient, part))
        x = x + part * step
    raise RuntimeError(f"no convergence in {most} iterations")


def descent(hessian, gradient):
    """Newton's step. Where the valley is curved downwards that could lead uphill; there as much is
    added to all curvatures as turns the most negative one around."""
    lowest = np.linalg.eigvalsh(hessian)[0]
    if lowest < 0:
        hessian = hessian - 2 * lowest * np.eye(len(gradient))
    return np.linalg.solve(hessian, -gradient)


def line_search(x, step, gradient):
    """The largest of 1, 1/2, 1/4, ... of a step that goes down about as far as the slope says."""
    part, here, fall = 1.0, height(x), gradient @ step
    while height(x + part * step) > here + 1e-4 * part * fall:
        part /= 2
    return part


def main():
    random = np.random.default_rng(0)
    # From further away Newton may also end in a second hollow of the valley, near (-1, 1, ..., 1).
    path = newton(random.uniform(0, 3, VARIABLES))
    show(path)
    x = path[-1][0]
    check_products(random, [x for x, _, _ in path])
    measure(x, random.normal(size=VARIABLES))


def show(path):
    """The iterations, and the Hessian at the end."""
    print("iteration         value     |gradient|    step    distance from the ones")
    for k, (x, gradient, part) in enumerate(path):
        numbers = f"{height(x):14.3e}{np.linalg.norm(gradient):15.3e}"
        taken = "" if part is None else "1" if part == 1 else f"1/{1 / part:g}"
        print(f"{k:9}{numbers}{taken:>8}{np.abs(x - 1).max():14.1e}")
    hessian = curvature(path[-1][0])
    rows, columns = np.nonzero(hessian)
    print(f"\nHessian at the end, {' x '.join(map(str, hessian.shape))}, its first rows:\n")
    for row in hessian[:4, :6]:
        print("    " + "".join(f"{number:8g}" for number in row) + "  ...")
    width = np.abs(rows - columns).max()
    print(f"\n{len(rows)} of its {hessian.size} elements are not zero, ", end="")
    print(f"none of them more than {width} beside the diagonal")


def check_products(random, points):
    """Does hvp give what the whole Hessian gives, along random directions, at all the points?"""
    agreed, worst = 0, 0.0
    for x in points:
        v = random.normal(size=VARIABLES)
        expected = curvature(x) @ v
        error = np.abs(curvature_along(x, v) - expected).max() / np.abs(expected).max()
        agreed, worst = agreed + (error < 1e-13), max(worst, error)
    print(f"hvp agrees with it at {agreed} of {len(points)} points, ", end="")
    print(f"to {worst:.0e} of the largest element")


def measure(x, v):
    hessian, gradient = curvature(x), slope(x)
    print("\ntime of the fastest of 200 calls")
    for what, call in (
        ("gradient", lambda: slope(x)),
        ("hvp", lambda: curvature_along(x, v)),
        ("Hessian", lambda: curvature(x)),
        ("numpy.linalg.solve", lambda: np.linalg.solve(hessian, gradient)),
    ):
        times = []
        for _ in range(200):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        print(f"{what:20}{min(times) * 1e6:8.1f} microseconds")


if __name__ == "__main__":
    main()
