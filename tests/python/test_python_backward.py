"""Reverse mode through loops whose number of iterations is traced, beside finite differences."""

import math

import numpy as np
import pytest
from thorough import each, one_in

import transpile
from transpile import lax
from transpile.errors import UnsupportedError

X = np.array([0.7, 1.3, 2.1, 0.4, 1.8])


def bounded_by_counter(x):
    k, y = 0, x
    while k < 20 and y > 0.01:
        y = y * 0.5 * np.cos(y)
        k += 1
    return y


def without_bound(x):
    y = x
    while y > 0.01:
        y = y * 0.5
    return y * y


def newton(a):
    y = a
    while abs(y * y - a) > 1e-12:
        y = 0.5 * (y + a / y)
    return y


def newton_of_each(x):
    total = 0.0
    for i in range(len(x)):
        total += newton(x[i] + 1) * (i + 1)
    for k in range(80):
        total += newton(x[0] + k)
    return total


def downwards(x):
    k, y = 10, x[0]
    while k > 0:
        y = y * 0.9 + x[k % 3]
        k -= 2
    return y


def ended_inside(x):
    y, count = x[0] + 1, 0
    while True:
        if y > 50 or count > 30:
            break
        y = y * 1.5 + x[1]
        count += 1
    else:
        y = 0.0
    return y


def loops_in_loops(x):
    y, error = x[0] + 8, 1.0
    while error > 1e-10:
        z = y
        while z > 1.0:
            z = z * 0.5
        error = abs(z - y) * 0.3 if z != y else 0.0
        y = z + 0.001 * x[1]
    return y


def in_a_branch(x):
    y = x[0]
    if x[1] > 1:
        while y > 0.1:
            y = np.sin(y) * 0.9
    else:
        y = y * 3
    return y


class Filter:
    def __init__(self):
        self.value = 0.0
        self.count = 0

    def step(self, x):
        self.value = self.value * 0.5 + x
        self.count += 1


def of_an_object(x):
    state = Filter()
    while state.count < 7 and state.value < 100:
        state.step(x[0])
    return state.value


def as_many(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] ** 2 * (i + 1)
    return total


def squares_of(x, n):
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            total += np.sin(x[i] * x[j]) * total * 0.1 + x[j]
    return total


def of_own_length(x, n):
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = x[1] ** i * np.cos(j * x[0])
    return a.sum()


def backwards_by_two(x, n):
    y = x[0]
    for i in range(n, 0, -2):
        y = y * 0.5 + i * x[i % 3]
    return y


def ended_by_raise(x, n):
    y = x[0]
    for _ in range(n):
        if y < 0:
            raise ValueError(f"{y} is negative")
        y = y * y + x[1]
    return y


def chosen_by_inner(x, n):
    y = x.copy()
    for i in range(n):
        k = 0
        while k < i * i:
            y[k % 3] = np.sin(y[k % 3]) + y[(k + 1) % 3] * 0.1
            k += 1
    return y.sum()


FUNCTIONS = [newton_of_each, downwards, ended_inside, loops_in_loops, in_a_branch, of_an_object]
OF_LENGTH = [as_many, squares_of, of_own_length, backwards_by_two, ended_by_raise, chosen_by_inner]


def slopes(f, x, *rest):
    """The gradient by differences of what Python computes."""
    found = np.zeros_like(x)
    for i in range(len(x)):
        more, less = x.copy(), x.copy()
        more[i] += 1e-6
        less[i] -= 1e-6
        found[i] = (f(more, *rest) - f(less, *rest)) / 2e-6
    return found


@pytest.mark.parametrize("f", FUNCTIONS)
@one_in(2)
def test_while_loops(f):
    value, gradient = transpile.jit(transpile.value_and_grad(f))(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, slopes(f, X), rtol=1e-6, atol=1e-7)
    # Outside of `jit` Python runs the loops.
    np.testing.assert_allclose(gradient, transpile.grad(f)(X), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("f", OF_LENGTH)
@one_in(2)
def test_loops_over_traced_ranges(f):
    compiled = transpile.jit(transpile.grad(f))
    for n in (4, 0, 1, 5):
        np.testing.assert_allclose(compiled(X, n), slopes(f, X, n), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", [bounded_by_counter, without_bound, newton])
@one_in(3)
def test_transformations_of_each_other(f):
    slope = transpile.jit(transpile.grad(f))(1.3)
    for transformed in (
        transpile.grad(transpile.jit(f)),
        transpile.jit(transpile.jacrev(f)),
        transpile.jit(transpile.jacfwd(f)),
        transpile.jit(lambda x: transpile.vjp(f, x)[1](1.0)[0]),
    ):
        np.testing.assert_allclose(transformed(1.3), slope, rtol=1e-13)
    second = transpile.jit(transpile.hessian(f))(1.3)
    np.testing.assert_allclose(second, transpile.grad(transpile.grad(f))(1.3), rtol=1e-12)


def test_a_counter_bounds_the_loop_where_nothing_is_counted():
    """For examples, in bodies of `lax`, and in loops around the derivative."""
    slope = transpile.grad(bounded_by_counter)
    x = np.array([1.3, 0.2])
    of_each = transpile.jit(transpile.vmap(slope))(x)
    np.testing.assert_allclose(of_each, [slope(v) for v in x], rtol=1e-13)

    def repeated(x):
        return lax.scan(lambda c, _: (bounded_by_counter(c) + 1, None), x, None, length=3)[0]

    def python(x):
        for _ in range(3):
            x = bounded_by_counter(x) + 1
        return x

    np.testing.assert_allclose(
        transpile.jit(transpile.grad(repeated))(1.3), transpile.grad(python)(1.3)
    )

    def descent(x):
        for _ in range(100):
            x = x - 0.1 * transpile.grad(lambda v: (bounded_by_counter(v) - 2.0) ** 2)(x)
        return x

    np.testing.assert_allclose(transpile.jit(descent)(1.3), descent(1.3), rtol=1e-12)


def test_where_there_is_no_bound_the_error_says_what_to_write():
    with pytest.raises(
        ValueError, match=r"`while k < 100 and \.\.\.`.*`for k in range\(100\)`"
    ) as info:
        transpile.jit(transpile.vmap(transpile.grad(newton)))(X)
    assert "test_python_backward.py:" in str(info.value)

    def told(x):
        y = transpile.pure_callback(lambda v: v, np.zeros(()), x) if False else x
        while y > 0.5:
            y = y * 0.5 * transpile.experimental.io_callback(lambda v: np.ones(()), np.ones(()), y)
        return y

    with pytest.raises(UnsupportedError, match="runs this loop twice, first to count"):
        transpile.jit(transpile.grad(told))(3.0)


def test_the_loops_are_loops_in_c():
    """One that counts, one forward, one backward; nothing is unrolled, no mask is needed."""
    text = transpile.jit(transpile.grad(without_bound)).lower(1.0).as_text()
    assert text.count("while (") == 1
    assert text.count("for (") == 2
    assert "u_room" in text
    text = transpile.jit(transpile.grad(as_many)).lower(X, 3).as_text()
    assert "while (" not in text


def told_of_all(x, n):
    y = x
    for i in range(n):
        y = y * 0.5 + x
        if y > 1.99 * x:
            print(f"{i}: {y}")
    print("end", y)
    return y


def told_of_roots(x, n):
    y = x + n
    while y * y > 1.001 * x:
        y = 0.5 * (y + x / y)
        print("near", y)
    return y


@pytest.mark.parametrize("f", [told_of_all, told_of_roots], ids=lambda f: f.__name__)
def test_what_a_loop_prints_is_printed_once_under_a_derivative(f, capfd):
    """A call that finds too little room, and is made again, has not printed yet."""
    wanted = f(3.0, 40)
    printed = capfd.readouterr().out
    slope = (f(3.0 + 1e-6, 40) - f(3.0 - 1e-6, 40)) / 2e-6
    capfd.readouterr()
    value, derivative = transpile.jit(transpile.value_and_grad(f))(3.0, 40)
    assert capfd.readouterr().out == printed
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(derivative, slope, rtol=1e-7)


def told(x):
    if x > 0:
        print("begin", x)
    return newton(x)


def told_in_a_loop(x):
    for i in range(int(x)):
        x = x * 0.5 + i
        print(i, x)
    return newton(x) + x


def told_twice(x):
    if x > 0:
        print("first", x)
    y = newton(x)
    print("second", y)
    return newton(y) * y


@pytest.mark.parametrize("f", [told, told_in_a_loop, told_twice])
def test_what_is_printed_before_a_length_is_known_is_printed_once(f, capfd):
    """Also by a call that is made again, as there was too little memory."""
    f(3.5)
    printed = capfd.readouterr().out
    value, derivative = transpile.jit(transpile.value_and_grad(f))(3.5)
    assert capfd.readouterr().out == printed
    assert value == pytest.approx(f(3.5))
    assert derivative == pytest.approx((f(3.5 + 1e-6) - f(3.5 - 1e-6)) / 2e-6, rel=1e-5)


def test_what_is_printed_before_a_failure_and_a_length_is_an_error():
    """The failure comes before a loop that may not end, and behind what is printed."""

    def told(x):
        print("begin", x)
        assert x > 0
        return newton(x)

    with pytest.raises(UnsupportedError, match="before it has found the length"):
        transpile.jit(transpile.grad(told))(3.0)


CHECKPOINTED = {
    "while": lambda x: transpile.checkpoint(newton)(x) * x,
    "twice": lambda x: transpile.checkpoint(newton)(x) * transpile.checkpoint(newton)(x + 1),
    "in each other": lambda x: transpile.checkpoint(lambda y: transpile.checkpoint(newton)(y) + y)(
        x
    ),
    "for": lambda x: transpile.checkpoint(rising)(x, int(x) + 3),
}


def rising(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += np.sin(x * i + j)
    return s


@each("name", CHECKPOINTED, ordinary=["in each other"])
def test_checkpoints_have_loops_of_unknown_length(name):
    f, h = CHECKPOINTED[name], 1e-6
    wanted = (f(2.25 + h) - f(2.25 - h)) / (2 * h)
    for slope in (transpile.grad(f), transpile.jit(transpile.grad(f))):
        np.testing.assert_allclose(slope(2.25), wanted, rtol=1e-7)


def test_functions_of_math_have_derivatives_without_jit():
    """Python's numbers would lose them, although the trace knows the values."""

    def f(x):
        s = math.exp(x) * max(x, 0.5) * math.floor(x * 3)
        for i in range(int(x * 5)):
            s += math.sqrt(x + i)
        return s + abs(x) + float(x) if math.sin(x) > 0.1 else math.log(x)

    np.testing.assert_allclose(transpile.grad(f)(1.3), transpile.jit(transpile.grad(f))(1.3))
    np.testing.assert_allclose(transpile.grad(f)(1.3), (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6, 1e-7)
