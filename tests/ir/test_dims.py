"""The algebra of dimensions: every simplification keeps the value, every bound holds."""

import itertools
import operator

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from transpile.ir.dims import (
    Dim,
    Symbol,
    bounds,
    evaluate,
    floor_divide,
    is_within,
    modulo,
    substitute,
    symbols_of,
)
from transpile.ir.dims import _polynomial_bounds as bounds_without_facts
from transpile.ir.indices.lengths import length, most_of
from transpile.ir.indices.polynomial_text import declaration
from transpile.ir.indices.proofs import tightened
from transpile.ir.indices.row_major import product, recombine, row_major, unravel

COMPARISONS = {"<": operator.lt, "<=": operator.le, "==": operator.eq}
EXTENTS = {"i": 3, "j": 5, "k": 8, "one": 1}
LOOPS = {name: Dim.symbol(name, 0, extent) for name, extent in EXTENTS.items()}
N = Dim.symbol("n", 1)  # a runtime size
WALK = Dim.symbol("w", 0, N)  # a loop over it


@st.composite
def values(draw):
    """A value for every symbol, within its range."""
    found = {name: draw(st.integers(0, extent - 1)) for name, extent in EXTENTS.items()}
    found["n"] = draw(st.integers(1, 9))
    found["w"] = draw(st.integers(0, found["n"] - 1))
    return found


@st.composite
def indices(draw, depth=3):
    """A pair: an index, and a function of the symbols' values that says what it is."""
    kind = draw(st.sampled_from(["number", "symbol", "+", "-", "*", "//", "%"]))
    if depth == 0 or kind == "number":
        number = draw(st.integers(-9, 9))
        return number, lambda v: number
    if kind == "symbol":
        name = draw(st.sampled_from([*EXTENTS, "n", "w"]))
        return {**LOOPS, "n": N, "w": WALK}[name], lambda v: v[name]
    x, of_x = draw(indices(depth - 1))
    if kind in ("//", "%"):
        runtime = draw(st.integers(0, 3)) == 0
        divisor = N if runtime else draw(st.integers(1, 9))

        def size(v):
            return v["n"] if runtime else divisor

        if kind == "//":
            return floor_divide(x, divisor), lambda v: of_x(v) // size(v)
        return modulo(x, divisor), lambda v: of_x(v) % size(v)
    y, of_y = draw(indices(depth - 1))
    if kind == "+":
        return x + y, lambda v: of_x(v) + of_y(v)
    if kind == "-":
        return x - y, lambda v: of_x(v) - of_y(v)
    return x * y, lambda v: of_x(v) * of_y(v)


@given(indices(), values())
def test_an_index_has_the_value_of_what_it_was_made_of(pair, v):
    index, meaning = pair
    assert evaluate(index, v) == meaning(v)


@given(indices(), values())
def test_bounds_hold(pair, v):
    low, high = bounds(pair[0])
    value = evaluate(pair[0], v)
    assert low is None or low <= value
    assert high is None or value <= high


ZERO = dict.fromkeys([*EXTENTS, "w"], 0) | {"n": 1}


@given(indices(), st.one_of(st.integers(0, 40), st.just(N), st.just(3 * N)), values())
@example((2 - LOOPS["i"], None), N, ZERO)
@example((modulo(LOOPS["k"] + 1, 3), None), N, ZERO | {"k": 1})
def test_what_is_within_is_within(pair, extent, v):
    assume(is_within(pair[0], extent))
    assert 0 <= evaluate(pair[0], v) < evaluate(extent, v)


@given(indices(), values())
def test_recombining_keeps_the_value(pair, v):
    assert evaluate(recombine(pair[0]), v) == evaluate(pair[0], v)


@given(indices(), indices(), values())
def test_substitution_is_evaluation_in_two_steps(pair, other, v):
    (index, _), (value, _) = pair, other
    (symbol,) = LOOPS["i"].symbols()
    new = evaluate(value, v)
    assume(0 <= new < EXTENTS["i"])  # the algebra may rely on a symbol's range
    assert evaluate(substitute(index, {symbol: value}), v) == evaluate(index, {**v, "i": new})


@given(indices(), indices())
def test_equal_indices_are_one_key(pair, other):
    (x, _), (y, _) = pair, other
    assert x + y == y + x and hash(x + y) == hash(y + x)
    assert x - x == 0
    assert (x + y) * 2 == x * 2 + y * 2


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple), st.data())
def test_unravel_undoes_row_major(shape, data):
    total = int(np.prod(shape))
    flat = data.draw(st.integers(0, total - 1))
    assert unravel(flat, shape) == tuple(map(int, np.unravel_index(flat, shape)))
    assert row_major(unravel(flat, shape), shape) == flat


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple))
def test_unravel_of_loops_gives_the_loops_back(shape):
    loops = tuple(0 if d == 1 else Dim.symbol(f"s{a}", 0, d) for a, d in enumerate(shape))
    assert unravel(row_major(loops, shape), shape) == loops


@given(st.permutations([2, 3, 4]).map(tuple), st.permutations([2, 3, 4, 1]).map(tuple), st.data())
def test_a_chain_of_reshapes_comes_back_to_its_position(shape, other, data):
    loops = tuple(Dim.symbol(f"s{a}", 0, d) for a, d in enumerate(shape))
    there = unravel(row_major(loops, shape), other)
    assert recombine(row_major(there, other)) == row_major(loops, shape)
    at = {f"s{a}": data.draw(st.integers(0, d - 1)) for a, d in enumerate(shape)}
    flat = np.ravel_multi_index(tuple(at.values()), shape)
    assert tuple(evaluate(i, at) for i in there) == np.unravel_index(flat, other)


def test_rows_of_a_runtime_length_split_into_row_and_column():
    m = Dim.symbol("m", 1)
    i, j = Dim.symbol("i", 0, m), Dim.symbol("j", 0, N)
    assert unravel(row_major((i, j), (m, N)), (m, N)) == (i, j)
    assert is_within(i * N + j, m * N)
    assert not is_within(i * N + j + 1, m * N)
    assert product((m, N)) == m * N == N * m


def test_a_divisor_of_several_terms_divides_what_has_multiples_of_it():
    n, m = (Dim.symbol(name, 5) for name in "nm")
    i, j = Dim.symbol("i", 0, m), Dim.symbol("j", 0, n - 4)
    position = i * (n - 4) + j
    assert floor_divide(position, n - 4) == i
    assert modulo(position, n - 4) == j
    assert floor_divide(position * 3 + 2, (n - 4) * 3) == i
    assert modulo(i * n * m + j, n - 4) != j  # i*n*m is i*m*(n - 4) + 4*i*m


def test_an_index_is_an_int_as_soon_as_it_is_constant():
    i = LOOPS["i"]
    assert type(i - i) is int and type(i * 0) is int and type((i + 4) - i) is int
    assert (2 * i + 4) // 2 == i + 2
    assert (6 * i + 3) % 6 == 3
    assert i // 3 == 0 and i % 3 == i
    assert (8 * i + LOOPS["k"]) // 8 == i and (8 * i + LOOPS["k"]) % 8 == LOOPS["k"]


@given(indices(), values())
def test_the_text_of_an_index_is_python_for_it(pair, v):
    assert eval(str(pair[0]), {}, v) == evaluate(pair[0], v)


def test_proofs_from_many_facts_are_short():
    counted = []

    def bounds_of(index):
        counted.append(index)
        return bounds_without_facts(index)

    n, others = Dim.symbol("n", 1), [Dim.symbol(f"u{k}", 0) for k in range(40)]
    facts = [n - u for u in others]
    total = sum(others[:8])
    assert tightened((None, None), n * 8 - total, facts, bounds_of) == (None, None)
    assert tightened((None, None), n * 3 - sum(others[:3]), facts, bounds_of)[0] == 0
    assert len(counted) < 2000


def test_symbols_inside_quotients_count():
    assert {str(s) for s in symbols_of((WALK + LOOPS["k"]) // 3)} == {"w", "k"}


def test_evaluating_without_a_size_names_what_is_missing():
    with pytest.raises(KeyError, match="n"):
        evaluate(N + 1, {})


@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3), st.integers(1, 4))
def test_substituting_is_evaluating(a, b, c, d):
    i, j, n = (Symbol(name, -9, 9) for name in "ijn")
    x, y, z = map(Dim.of, (i, j, n))
    index = a * x * y + b * x - c * y + (x + b) // d + (y * c + a) % d + a
    for values in ({i: 2, j: -3, n: 5}, {i: z + 1, j: 2}, {i: y, j: x}):
        found = substitute(index, values)
        sizes = {"i": 4, "j": -2, "n": 3}
        inner = {s: evaluate(values.get(s, Dim.of(s)), sizes) for s in (i, j)}
        expected = evaluate(index, {"i": inner[i], "j": inner[j]})
        assert evaluate(found, sizes) == expected


def test_a_quotient_that_is_rounded_up_is_one_form():
    for size in (2 * N - 1, N + 5 * LOOPS["i"], 3 * N):
        assert -floor_divide(-size, 4) == floor_divide(size + 3, 4)
    assert str(-floor_divide(-N, 8)) == "(n + 7) // 8"


def test_memory_is_for_the_most_that_a_length_can_make_of_an_index():
    n = Dim.symbol("n", 0, 4)
    u, v = Dim.of(length("u", n)), Dim.of(length("v", 3))
    indices = [
        -floor_divide(-u, 8),
        floor_divide(20 - 3 * u, 4),
        8 * floor_divide(u + 7, 8) - u,
        modulo(-u, 8),
        modulo(u, v + 1),
        modulo(u - n, v + 2),
        u * v - u + 5,
        -floor_divide(u - n, 3),
        floor_divide(u - n - 1, v + 1),
        -floor_divide(u - n - 1, v + 1),
        floor_divide(u, v + 1) * u,
        floor_divide(2 * u * v, 3) - v,
    ]
    for index, n_now in itertools.product(indices, range(4)):
        values = [
            evaluate(index, {"n": n_now, "u": a, "v": b})
            for a in range(n_now + 1)
            for b in range(4)
        ]
        assert max(values) <= evaluate(most_of(index), {"n": n_now}), index
    assert most_of(-floor_divide(-Dim.of(length("u", 5)), 8)) == 1


def test_the_parts_of_a_size_are_together_as_long():
    """Hermite's identity, also with further factors and beside further parts."""
    n, m = Dim.symbol("n", 1), Dim.symbol("m", 1)
    even, odd = (n + 1) // 2, n // 2
    thirds = [(n + k) // 3 for k in range(3)]
    assert even + odd == n
    assert thirds[2] + thirds[0] + thirds[1] == n
    assert 2 * m * even + 2 * m * odd + 5 == 2 * m * n + 5
    assert (n * m - 1) // 2 + n * m // 2 == n * m - 1
    assert even + odd + (n + 2) // 2 == n + (n + 2) // 2
    for other in (2 * even + odd, even + n // 3, thirds[0] + thirds[1], n % 2 + odd):
        assert isinstance(other - n, Dim)


@pytest.mark.parametrize("word", COMPARISONS)
def test_what_is_to_be_declared_has_no_common_factor(word):
    n, compare = Dim.symbol("n", 1), COMPARISONS[word]
    for factor, number, is_left in itertools.product((1, 2, 3, 4), range(-5, 8), (False, True)):
        sides = (factor * n, number) if is_left else (number, factor * n)
        *_, text, _ = declaration(sides[0], word, sides[1]).split("'")
        for k in range(-5, 8):
            assert eval(text, {"n": k}) == compare(*(evaluate(s, {"n": k}) for s in sides))
    assert declaration(3, "<=", 2 * n) == "transpile.dims('n', '2 <= n')"


@pytest.mark.parametrize("size", [N, 3 * N - 20, 8 * N, N // 3 - 2], ids=str)
def test_bits_of_a_size_that_constants_select_are_sizes(size):
    """As those of Python's integers, also of numbers less than 0."""
    words = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
    constants = [*range(-40, 41), 2**40 - 1, 2**40 + 6, -(2**35) + 3, True]
    for n in (1, 2, 6, 7, 33, 10**9 + 7):
        value = evaluate(size, {"n": n})
        for word, constant in itertools.product(words, constants):
            for one, other in ((size, constant), (constant, size)):
                numbers = (value if isinstance(x, Dim) else x for x in (one, other))
                found = evaluate(words[word](one, other), {"n": n})
                assert found == words[word](*numbers), (one, word, other)
        for bits in (0, 1, 5, 40, 70):
            assert evaluate(size << bits, {"n": n}) == value << bits
            assert evaluate(size >> bits, {"n": n}) == value >> bits
        assert evaluate(~size, {"n": n}) == ~value
        assert tuple(evaluate(d, {"n": n}) for d in divmod(size, 7)) == divmod(value, 7)
        assert evaluate(round(+size), {"n": n}) == value


def test_numbers_that_select_no_bits_are_python_s_errors():
    n = Dim.symbol("n")
    assert str(n & 7) == "n % 8" and str(n >> 1) == "n // 2" and 8 * n & 7 == 0
    assert str(n & ~7) == "8*(n // 8)" and is_within(n & ~7, n + 1)
    for shifted in (lambda: n << -1, lambda: n >> -1):
        with pytest.raises(ValueError, match="negative shift count"):
            shifted()
    for divided in (operator.floordiv, operator.mod, divmod):
        with pytest.raises(ZeroDivisionError):
            divided(n, 0)
    with pytest.raises(TypeError, match="unsupported operand"):
        n & "text"


@pytest.mark.parametrize("size", [N, 3 * N - 20, 8 * N, N // 3 - 2, -N, 4 * N + 2], ids=str)
def test_quotients_by_numbers_less_than_0_are_python_s(size):
    """`-(n // -4)` is the number of blocks of 4, as Python's programs write it."""
    for n in (1, 2, 3, 4, 5, 8, 41):
        value = evaluate(size, {"n": n})
        for divisor in (-1, -2, -3, -4, -10, -64):
            assert evaluate(size // divisor, {"n": n}) == value // divisor
            assert evaluate(size % divisor, {"n": n}) == value % divisor
            assert tuple(evaluate(d, {"n": n}) for d in divmod(size, divisor)) == divmod(
                value, divisor
            )
    assert -(N // -4) == (N + 3) // 4


def test_a_remainder_is_at_most_what_is_divided():
    n, m = Dim.symbol("n"), Dim.symbol("m", 0, 100)
    for size, divisor in ((n, 4), (m, 4), (2 * n + 3 * m, 7), (n, m + 1)):
        assert bounds(size - size % divisor)[0] == 0
        assert bounds(3 * size - 2 * (size % divisor))[0] == 0
    assert bounds((n - 5) - (n - 5) % 4)[0] == -8  # of -1, which is 3 modulo 4
