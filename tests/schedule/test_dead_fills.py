"""An array is not filled before a loop that stores each of its elements."""

import numpy as np
import pytest
from graphs import statements_of
from thorough import one_in

import transpile
from transpile.ir.loop_ir import Store


def products(a, b):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = a[i] * b[i]
    return out


def table(a, b):
    out = np.empty((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] > b[j]:
                out[i, j] = a[i]
            else:
                out[i, j] = 0.5
    return out


def some(a, b):
    out = np.zeros(len(a))
    for i in range(len(a)):
        if a[i] > 0:
            out[i] = b[i]
    return out


def part(a, b):
    out = np.zeros(len(a))
    for i in range(len(a) - 1):
        out[i] = a[i] + b[i]
    return out


def running(a, b):
    out = np.ones(len(a))
    for i in range(len(a)):
        out[i] = a[i] + out[i - 1]
    return out


def triangle(a, b):
    out = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        for j in range(i):
            out[i, j] = a[i] * b[j]
    return out


def repeated(a, b):
    """The loop around may have no iteration."""
    out = np.full(len(a), 3.0)
    for k in range(int(a[0] > 0) * 70):
        for i in range(len(a)):
            out[i] = a[i] + k
    return out


def stores_to_results(function, *args):
    program = transpile.jit(function).lower(*args).compiler_ir("loops")
    names = {b.name for b in program.outputs}
    return [s for s in statements_of(program, Store) if s.buffer in names]


@pytest.mark.parametrize(
    ("function", "stores"),
    # What is stored under a condition is in two loops: in order, and looked up.
    [(products, 1), (table, 1), (some, 3), (part, 2), (running, 3), (triangle, 2), (repeated, 2)],
)
@one_in(2)
def test_a_fill_is_left_out_where_all_is_stored_again(function, stores):
    draw = np.random.default_rng(0)
    size = 40 if function in (table, triangle) else 1000
    a, b = draw.normal(size=size), draw.normal(size=size)
    for first in (np.abs(a), -np.abs(a)):
        found = transpile.jit(function)(first, b)
        np.testing.assert_allclose(found, function(first, b), rtol=1e-14)
    assert len(stores_to_results(function, a, b)) == stores


def test_what_numpy_empty_had_in_memory_is_not_in_the_program():
    def first(a):
        out = np.empty_like(a)
        for i in range(1, len(a)):
            out[i] = a[i]
        return out

    a = np.arange(100.0)
    for _ in range(3):
        np.testing.assert_array_equal(transpile.jit(first)(a), a)
        np.full(100, 7.0)  # leaves its memory to the next array
    assert "constant" not in transpile.jit(first).lower(a).as_text()
