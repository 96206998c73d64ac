"""Nested choices between complex numbers in vector loops, which gcc 12 miscompiles unless each part
is chosen by itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from thorough import one_in

import transpile

pytestmark = pytest.mark.full_level


def condition(draw, depth):
    """The text of a condition on arrays x, y, z of complex numbers, a, b of floats, m of bools."""
    kind = draw.random()
    if depth > 0 and kind < 0.3:
        return f"({condition(draw, depth - 1)} {draw.choice('&|')} {condition(draw, depth - 1)})"
    if kind < 0.45:
        return "m"
    if kind < 0.6:
        return f"({number(draw, depth - 1)}.real < {number(draw, depth - 1)}.imag)"
    if kind < 0.7:
        sign = ["<", "<=", "==", "!=", ">"]
        return f"({number(draw, depth - 1)} {draw.choice(sign)} {number(draw, depth - 1)})"
    if kind < 0.8:
        return f"np.isnan({number(draw, depth - 1)})"
    return f"(a {draw.choice(['<', '>', '<=', '=='])} {draw.choice(['b', '0'])})"


def number(draw, depth):
    """The text of a complex expression, half of it choices."""
    if depth <= 0:
        return draw.choice("xyz")
    kind = draw.random()
    if kind < 0.45:
        test = condition(draw, depth - 1)
        return f"np.where({test}, {number(draw, depth - 1)}, {number(draw, depth - 1)})"
    if kind < 0.55:
        name = draw.choice(["minimum", "maximum", "fmin", "fmax"])
        return f"np.{name}({number(draw, depth - 1)}, {number(draw, depth - 1)})"
    if kind < 0.6:
        name = draw.choice(["sign", "conj", "negative", "rint"])
        return f"np.{name}({number(draw, depth - 1)})"
    if kind < 0.65:
        operands = [number(draw, depth - 1) for _ in range(3)]
        return f"np.clip({', '.join(operands)})"
    if kind < 0.7:
        return f"np.where({condition(draw, depth - 1)}, {number(draw, depth - 1)}, 0)"
    if kind < 0.9:
        return f"({number(draw, depth - 1)} {draw.choice('+-*')} {number(draw, depth - 1)})"
    return f"(a + 1j*{number(draw, depth - 1)}.imag)"


def drawn(seed):
    """A program of three results, some of them sums, and its arguments."""
    draw, values = random.Random(seed), np.random.default_rng(seed)
    shape = draw.choice([(200,), (37,), (13, 40)])
    wide, narrow = draw.choice([(np.complex64, np.float32), (np.complex128, np.float64)])

    def floats():
        return values.integers(-2, 3, shape)

    complexes = [(floats() + 1j * floats()).astype(wide) for _ in range(3)]
    a, b = (floats().astype(narrow) for _ in range(2))
    texts = [number(draw, draw.randint(3, 6)) for _ in range(3)]
    texts = [f"({text}).sum(axis=-1)" if draw.random() < 0.3 else text for text in texts]
    function = eval(f"lambda x, y, z, a, b, m: ({', '.join(texts)},)", {"np": np})
    return function, [*complexes, a, b, values.random(shape) < 0.5]


# The first one was wrong under -march=native and x86-64-v3 where choices were between complex
# numbers.
@pytest.mark.parametrize("seed", [1142, 1, 2, 3, 4, 5])
@one_in(3)
def test_nested_choices_between_complex_numbers(seed):
    function, arguments = drawn(seed)
    for got, want in zip(transpile.jit(function)(*arguments), function(*arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_choices_are_between_parts_and_no_flag_is_changed():
    x = np.ones(100, np.complex64)
    text = transpile.jit(lambda x: np.where(x.real > 0, x, 2j)).lower(x).as_text()
    assert "choose_c64(" in text and "#pragma GCC optimize" not in text


COPIES = {
    "whole": np.copy,
    "joined": lambda x: np.concatenate([x, x], axis=1),
    "from the second": lambda x: x[:, 1:].copy(),
    "padded": lambda x: np.pad(x, 3),
    "rolled": lambda x: np.roll(x, 20, 1),
}
OTHER_COPIES = {
    "transposed": lambda x: x.T.copy(),
    "every other one": lambda x: x[:, ::2].copy(),
    "flipped": lambda x: x[:, ::-1].copy(),
    "in both directions": lambda x: np.concatenate([x[:, ::-1], x.T.reshape(x.shape)]),
}


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", [*COPIES, *OTHER_COPIES])
@one_in(3)
def test_copies_in_lanes_are_of_parts(name, dtype):
    """gcc has vectors for parts of complex numbers beside one another, and for no whole ones."""
    function = (COPIES | OTHER_COPIES)[name]
    parts = np.arange(4000, dtype=dtype).reshape(2, 40, 50)
    x = parts[0] + 1j * parts[1]
    x[3, 5], x[7, 2] = complex(np.nan, -0.0), complex(-np.inf, 0.0)
    compiled = transpile.jit(function).lower(x).compile()
    copy = {"c8": "copy_c64(&out", "c16": "copy_c128(&out"}[dtype]
    assert (copy in compiled.as_text("c")) == (name in COPIES)
    assert compiled(x).tobytes() == function(x).tobytes()


def test_a_row_of_complex_numbers_is_copied_over_its_neighbour():
    x = np.arange(600).reshape(4, 150) * (1 - 2j)
    expected = x.copy()
    expected[1:] = expected[:-1].copy()

    def shifted(x):
        x[1:] = x[:-1].copy()
        return x

    np.testing.assert_array_equal(transpile.jit(shifted, donate_argnums=0)(x.copy()), expected)
    gaps = np.arange(2400).reshape(4, 600)[:, ::2] * (1 - 2j)
    np.testing.assert_array_equal(transpile.jit(np.copy)(gaps[:, 7:]), gaps[:, 7:])
