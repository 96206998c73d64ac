"""Extremes in recurrences compare last what the iteration before computes, to the bit."""

import itertools
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import tries

import transpile
from transpile.analysis.value_range import is_never_minus_zero
from transpile.ir.loop_ir import Apply, Literal, Ref
from transpile.ir.types import FLOAT64

ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan]


def kernel_of(f, *args):
    """The C of a function, without the helpers before its kernel."""
    text = transpile.jit(f).lower(*args).as_text()
    return text[text.index("_kernel(") :]


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)
    if one.dtype.kind == "f":
        numbers = ~np.isnan(one)
        np.testing.assert_array_equal(np.signbit(one[numbers]), np.signbit(other[numbers]))


def agrees(f, *args):
    """What Python computes, bit by bit."""
    jitted = transpile.jit(f, compiler_options={"opt_level": 1})
    with np.errstate(all="ignore"):
        expected = f(*(np.copy(a) for a in args))
    same_bits(jitted(*(np.copy(a) for a in args)), expected)


def alignment(a, b):
    n, m = len(a), len(b)
    h = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = h[i - 1, j - 1] + (2.0 if a[i - 1] == b[j - 1] else -1.0)
            if h[i - 1, j] - 1.0 > s:
                s = h[i - 1, j] - 1.0
            if h[i, j - 1] - 1.0 > s:
                s = h[i, j - 1] - 1.0
            if s < 0.0:
                s = 0.0
            h[i, j] = s
    return h


def warping(x, y):
    n, m = len(x), len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            nearest = min(d[i, j + 1], d[i + 1, j], d[i, j])
            d[i + 1, j + 1] = abs(x[i] - y[j]) + nearest
    return d


def distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), np.int64)
    for i in range(n):
        for j in range(m):
            d[i + 1, j + 1] = min(
                d[i + 1, j] + 1, d[i, j + 1] + 1, d[i, j] + (1 if a[i] != b[j] else 0)
            )
    return d


rng = np.random.default_rng(0)
letters = rng.integers(0, 3, 17), rng.integers(0, 3, 12)
curves = rng.normal(size=9), rng.normal(size=13)


def test_dynamic_programs_compare_the_iteration_before_last():
    for f, args, table in (
        (alignment, letters, "h"),
        (warping, curves, "d"),
        (distance, letters, "d"),
    ):
        agrees(f, *args)
        text = kernel_of(f, *args).replace("_out", "")
        declared = re.search(rf"(\w+) = \S*{table}\[i \+ 1\]\[j\]", text)
        stored = next(s for s in text.splitlines() if f"{table}[i + 1][j + 1] = " in s)
        assert re.search(rf"\b{declared[1]}\b", stored), stored


def test_elements_that_may_be_minus_zero_keep_their_order():
    def f(x, d):
        for i in range(len(x) - 1):
            for j in range(len(x) - 1):
                d[i + 1, j + 1] = min(d[i, j + 1], d[i + 1, j], d[i, j])
        return d

    for zeros in itertools.product([0.0, -0.0], repeat=4):
        d = np.array([[*zeros[:2], 1.0], [zeros[2], 0.0, 0.0], [zeros[3], 0.0, 0.0]])
        agrees(f, np.zeros(3), d)


def test_what_a_branch_takes_from_outside_may_be_a_range_test():
    """Both arms count from the end by the same comparison."""

    def common(a, b):
        d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
        for i in range(len(a)):
            for j in range(len(b)):
                if a[i] == b[j]:
                    d[i + 1, j + 1] = d[i, j] + 1
                else:
                    d[i + 1, j + 1] = max(d[i, j + 1], d[i + 1, j])
        return d[len(a), len(b)]

    agrees(common, *letters)
    text = kernel_of(common, *letters)
    assert "d[i][j]" in text
    assert "negative" not in text
    assert "is_inside" not in text


terms = ["left", "up[j]", "corner[j]", "0.0", "left * c", "abs(up[j])", "left - c", "corner[j] + c"]


@given(
    st.lists(st.sampled_from(terms), min_size=3, max_size=5, unique=True),
    st.sampled_from(["<", ">"]),
    st.sampled_from(["calls", "branches"]),
    st.integers(0, 10**6),
    st.sampled_from([np.float64, np.float32, np.int64]),
)
@settings(deadline=None, max_examples=tries(40))
def test_drawn_recurrences(chosen, order, form, seed, dtype):
    if form == "calls":
        value = f"{'min' if order == '<' else 'max'}({', '.join(chosen)})"
        lines = [f"best = {value}"]
    else:
        lines = [f"best = {chosen[0]}"]
        for term in chosen[1:]:
            lines += [f"if {term} {order} best:", f"    best = {term}"]
    body = "\n        ".join(lines)
    source = f"""
def f(up, corner, c, left):
    out = np.zeros_like(up)
    for j in range(len(up)):
        {body}
        left = best
        out[j] = left
    return out
"""
    draw = np.random.default_rng(seed)
    if dtype == np.int64:
        up, corner = draw.integers(-3, 4, (2, 30))
        c, left = draw.integers(-2, 3, 2)
        source = source.replace("0.0", "0")
    else:
        up, corner = draw.choice(ODD, (2, 30)).astype(dtype)
        c, left = draw.choice(ODD, 2).astype(dtype)
    agrees(function_of(source, f"drawn recurrence {chosen} {order} {form}"), up, corner, c, left)


def test_signs_of_zeros():
    x = Ref("x", FLOAT64)
    one, zero, minus = (Literal(v, FLOAT64) for v in (1.0, 0.0, -0.0))

    def apply(op, *args):
        return Apply(op, args, FLOAT64)

    assert is_never_minus_zero(apply("subtract", x, one))
    assert is_never_minus_zero(apply("subtract", zero, x))
    assert is_never_minus_zero(apply("add", x, zero))
    assert is_never_minus_zero(apply("multiply", x, x))
    assert not is_never_minus_zero(apply("subtract", x, zero))
    assert not is_never_minus_zero(apply("subtract", minus, x))
    assert not is_never_minus_zero(apply("add", x, minus))
    assert is_never_minus_zero(x, lambda part: part == x)
