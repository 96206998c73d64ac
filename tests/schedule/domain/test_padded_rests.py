"""Rests of loops fill vectors, with the bits of single iterations."""

import math

import numpy as np
import pytest
from graphs import scheduled
from thorough import THOROUGH, one_in

import transpile
from transpile import ShapeDtypeStruct, dims
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import For, If
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options

pytestmark = pytest.mark.full_level

LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 23, 31, 33, 70)


def of(f, n="n", dtype="f8"):
    return transpile.jit(f).lower(ShapeDtypeStruct((n,), dtype))


def whole_bits(x):
    return np.exp(x), np.cbrt(np.abs(np.sin(x)) * 3) ** 1.5 + np.arctan2(x, 2)


def with_sums(x):
    e = np.exp(x - 1)
    return e, np.log(x * x + 1).sum(), np.tanh(x).max()


def dear(x):
    for k in range(24):
        x = np.tanh(np.abs(x) - k / 8)
    return x


def dear_in_place(x):
    y = x.copy()
    y[1:-1] = dear(x[1:-1]) + x[2:]
    return y


def loops_of(f, size):
    program = scheduled(f, ShapeDtypeStruct((size,), float))
    return [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_rest_has_the_bits_of_a_program_for_its_length(dtype):
    program = of(whole_bits, dtype=dtype).compile()
    for n in LENGTHS if THOROUGH else (7, 17):
        x = np.linspace(-3, 4, n).astype(dtype)
        expected = transpile.jit(whole_bits, compiler_options={"opt_level": 1})(x)
        for one, other in zip(program(x), expected, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


def test_sums_of_a_rest_count_each_element_once():
    program = of(with_sums).compile()
    for n in LENGTHS:
        x = np.linspace(-3, 4, n)
        for one, other in zip(program(x), with_sums(x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_an_argument_whose_memory_is_given_up_is_read_once():
    dear = transpile.jit(
        lambda x: np.arctan2(np.cos(x), np.exp(x)) ** 3.5 + np.sin(np.exp(np.tanh(x))),
        donate_argnums=0,
    )
    program = dear.lower(ShapeDtypeStruct(("n",), float)).compile()
    for n in LENGTHS:
        x = np.linspace(-1, 1, n)
        expected = np.arctan2(np.cos(x), np.exp(x)) ** 3.5 + np.sin(np.exp(np.tanh(x)))
        np.testing.assert_allclose(program(x.copy()), expected, rtol=1e-12)


@one_in(2)
@pytest.mark.parametrize("n", [3, 8, 13, 70])
def test_loops_in_blocks_have_one_rest(n):
    options = Options(machine=Machine(sum_block=16))
    program = scheduled(lambda x: np.exp(x).sum(), ShapeDtypeStruct(("n",), float), options=options)
    x = np.linspace(-1, 1, n)
    np.testing.assert_allclose(run(program, [x])[0], np.exp(x).sum(), rtol=1e-13)


def test_short_rests_overlap_the_vector_before():
    text = of(np.exp).as_text()
    assert "for (int64_t i = n - 8; i < n; i++)" in text
    assert "if (n < 8)" in text and "x_rest" not in text
    text = of(lambda x: np.sin(np.exp(np.sin(np.tanh(np.sin(x)) ** 1.5)))).as_text()
    assert "double x_rest[8];" in text  # two vectors of such functions take longer than copies


@pytest.mark.parametrize("constraint", ["n % 8 == 0", "n >= 8"])
def test_what_is_known_of_a_size_leaves_parts_of_the_rest_out(constraint):
    (n,) = dims("n", constraint)
    program = scheduled(np.exp, ShapeDtypeStruct((n,), float))
    loops = [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]
    assert all(loop.simd for loop in loops)
    rests = [s for k in program.kernels for s in k.body if isinstance(s, If)][1:]
    assert bool(rests) == (constraint == "n >= 8")


def test_cheap_iterations_are_left_to_the_compiler():
    assert all(loop.start == 0 for loop in loops_of(lambda x: x * 2 + 1, "n"))


@pytest.mark.parametrize("n", [8, 68, 66, 1 << 10, 1001])
def test_known_lengths_that_few_vectors_fill_and_long_loops_are_left_to_the_compiler(n):
    assert [loop.stop for loop in loops_of(np.exp, n)] == [n]


def test_known_lengths_end_in_a_vector_that_overlaps():
    whole, rest = loops_of(np.exp, 70)
    assert (whole.stop, rest.start, rest.stop) == (64, 62, 70)
    assert whole.simd and rest.simd


@pytest.mark.parametrize(("n", "width"), [(3, 4), (7, 8)])
def test_few_elements_that_are_dear_fill_a_vector(n, width):
    assert [loop.stop for loop in loops_of(dear, n) if loop.simd] == [8, width]


@pytest.mark.parametrize("n", [*LENGTHS, 100, 255, 257])
@pytest.mark.parametrize("f", [whole_bits, with_sums, dear_in_place], ids=lambda f: f.__name__)
@one_in(3)
def test_rests_of_known_lengths_have_numpys_results(f, n):
    x = np.linspace(-3, 4, n)
    results = run(scheduled(f, ShapeDtypeStruct((n,), float)), [x])
    expected = f(x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@one_in(2)
@pytest.mark.parametrize("n", [3, 15, 31])
def test_a_rest_of_a_known_length_has_the_bits_of_single_iterations(n):
    x = np.linspace(-3, 4, n).astype("f4")
    expected = transpile.jit(dear, compiler_options={"opt_level": 1})(x)
    np.testing.assert_array_equal(transpile.jit(dear)(x), expected, strict=True)


EXTREMES = (
    lambda x: (x.max(axis=1), x.min(axis=1)),
    lambda x: (x.argmax(axis=1), x.argmin(axis=1)),
    lambda x: (np.nanmax(x, axis=1), (x > 3).any(axis=1), (x == x).all(axis=1)),
)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
@pytest.mark.parametrize(
    "length", [35, 100] if not THOROUGH else [17, 33, 35, 47, 63, 65, 100, 1001]
)
@one_in(2)
def test_the_last_vector_of_extremes_overlaps(dtype, length):
    x = np.random.default_rng(length).integers(-9, 9, (7, length)).astype(dtype)
    x[0, -1], x[1, 0], x[2, -17] = 50, 50, 50
    if dtype != "i2":
        x[3, -1] = x[4, 2] = np.nan
        x[5], x[6] = -np.inf, np.inf
    for f in EXTREMES:
        for got, want in zip(transpile.jit(f)(x), f(x), strict=True):
            np.testing.assert_array_equal(got, want)


def test_only_what_may_be_repeated_is():
    def rests(f):
        program = scheduled(f, ShapeDtypeStruct((5, 100), np.float32))
        loops = [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]
        return [s for s in loops if s.simd and s.start == 84]

    assert len(rests(lambda x: x.max(axis=1))) == 1
    assert not rests(lambda x: x.sum(axis=1))
    assert not rests(lambda x: x.max(axis=1) + x.sum(axis=1))
    assert not rests(lambda x: x[:, :96].max(axis=1))


@pytest.mark.parametrize("rest", [3, 5, 6, 7, 8, 15])
@pytest.mark.parametrize("first", [8, 16, 64])
@one_in(3)
def test_the_last_vector_does_not_begin_before_its_loop(first, rest):
    """The loop over the second part begins with a whole vector and has no other one: what is before
    is another function's."""

    def joined(x):
        return np.concatenate([np.sin(x[:first]), np.exp(x[first:])])

    x = np.linspace(-2, 2, first + rest)
    np.testing.assert_allclose(transpile.jit(joined)(x), joined(x), rtol=1e-14)
    (found,) = run(transpile.jit(joined).lower(x)._lowering.program(), [x])
    np.testing.assert_allclose(found, joined(x), rtol=1e-14)


def running_sums(x):
    y, s = np.zeros(x.size), 0.0
    for i in range(x.size):
        if x[i] > 0:
            s += x[i]
        if x[i] < 0.5:
            y[i] = s
        y[i] *= math.cos(math.sin(s) * 0.5 + 1)
    return y


@pytest.mark.parametrize("length", [7, 71, 135, 175, 199])
@one_in(2)
def test_the_last_vector_reads_the_arrays_of_its_block_alone(length):
    """The last block of 64 iterations may be shorter than a vector, and begins its arrays."""
    x = np.linspace(-2, 2, length)
    for dynamic in (False, True):
        summed = transpile.jit(running_sums, dynamic_shapes=dynamic)
        np.testing.assert_allclose(summed(x), running_sums(x), rtol=1e-13)
        lowering = summed.lower(x) if not dynamic else of(running_sums)
        (found,) = run(lowering._lowering.program(), [x])
        np.testing.assert_allclose(found, running_sums(x), rtol=1e-13)
