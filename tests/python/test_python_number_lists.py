"""Lists of numbers whose elements at traced indices are assigned to: arrays of the program that do
what lists do."""

from __future__ import annotations

import copy
import logging

import numpy as np
import pytest

import transpile
from transpile import errors


def check(function, *cases):
    """Results, and what they are in, are those of Python."""
    compiled = transpile.jit(function, compiler_options={"opt_level": 0})
    for case in cases:
        wanted, found = function(*copy.deepcopy(case)), compiled(*copy.deepcopy(case))
        assert transpile.tree.structure(found) == transpile.tree.structure(wanted)
        for one, other in zip(*map(transpile.tree.leaves, (found, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def insertion_sort(values):
    for i in range(1, len(values)):
        key = values[i]
        j = i - 1
        while j >= 0 and values[j] > key:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = key
    return values


def exchange_sort(values):
    changed = True
    while changed:
        changed = False
        for k in range(len(values) - 1):
            if values[k] > values[k + 1]:
                values[k], values[k + 1] = values[k + 1], values[k]
                changed = True
    return values


def test_lists_are_sorted():
    check(insertion_sort, ([3, 1, 2, 5, -4],), ([1, 2, 3, 4, 9],))
    check(exchange_sort, ([0.5, -1.5, 7.0, 0.25, 2.0],))


def path_counts(n, m):
    ways = [[0] * 4 for _ in range(5)]
    for i in range(n):
        ways[i][0] = 1
        for j in range(1, m):
            ways[i][j] = ways[i][j - 1] + (ways[i - 1][j] if i > 0 else 0)
    return ways, ways[n - 1][m - 1], sum(ways[1]), len(ways)


def sieve(n):
    is_prime = [True] * 60
    is_prime[0] = is_prime[1] = False
    for i in range(2, n):
        if is_prime[i]:
            for j in range(i * i, 60, i):
                is_prime[j] = False
    return sum(is_prime), is_prime[59], is_prime[n - 1]


def test_tables_of_numbers_and_flags():
    check(path_counts, (5, 4), (2, 3))
    check(sieve, (60,), (5,))


def shares(x, n):
    """Integers and floats in one list, which widens, as variables do."""
    shares = [0] * 6
    shares[0] = 1
    for i in range(1, n):
        shares[i % 6] += shares[(i - 1) % 6] * 0.5
        shares[-1] = x
    return shares, isinstance(shares, list), max(shares), x in shares, 7.5 in shares


def rolling(n):
    before, now = [1, 2, 3, 4], [0] * 4
    for i in range(n):
        for j in range(4):
            now[j] = before[j - 1] + before[j] + i
        before, now = now, before
    return before


def renewed(n):
    before = [1, 2, 3, 4]
    for i in range(n):
        now = [0] * 4
        for j in range(4):
            now[j] = before[j - 1] + before[j] + i
        before = now
    return before


def with_two_names(n, k):
    one = [1, 2, 3]
    other, kept = one, one[:]
    rows = [[k] * 3 for _ in range(2)]
    row = rows[1]
    for i in range(n):
        other[i % 3] += 5
        rows[i % 2][k] = i
    row.reverse()
    return one, kept, rows


def collected(n):
    squares = []
    for i in range(5):
        squares.append(i * i)
    for i in range(n):
        squares[i % 5] -= i
    squares.sort()
    squares.append(7)
    squares += [8, 9]
    last = squares.pop()
    return squares, sorted(squares, reverse=True)[0], last, np.array(squares) * 2


def test_what_lists_do():
    check(shares, (3.5, 9), (7.5, 0))
    check(rolling, (3,), (4,))
    check(renewed, (3,))
    check(with_two_names, (4, 1), (0, 2))
    check(collected, (3,))


def set_at(values, k, x):
    values[k] = x
    return values


def inside(values, k, x):
    made = set_at([0.0] * 3, k, x)
    own = [v * 2 for v in values]
    own[-k] += x
    return made, own


def test_in_functions_without_statements():
    check(set_at, ([1, 2, 3], 1, 7), ([1, 2, 3], -1, 2.5), ([[1, 2], [3, 4]][0], 0, 1.5))
    check(inside, ([1.0, 2.0], 1, 0.5))


def powers(x, n):
    made = [x, 1.0, 2.0]
    for i in range(n):
        made[i % 3] = made[i % 3 - 1] * x
    return made


def test_derivatives_and_batches():
    slope = transpile.grad(lambda x: powers(x, 4)[1])(1.5)
    np.testing.assert_allclose(slope, (powers(1.5 + 1e-6, 4)[1] - powers(1.5 - 1e-6, 4)[1]) / 2e-6)
    x = np.array([1.5, 2.0])
    batched = transpile.vmap(powers, in_axes=(0, None))(x, 4)
    np.testing.assert_allclose(batched, np.transpose([powers(v, 4) for v in x]))
    assert len(transpile.jit(powers).eval_shape(1.5, 4)) == 3


def told(n):
    made = [1, 2, 3]
    for i in range(n):
        made[i % 3] += i
    print(made, f"{made}, {made[0]:3d}")
    if made[0] > 4:
        raise ValueError("too much", made)
    return made


def test_prints_and_exceptions_have_the_elements(capsys):
    told(5)
    wanted = capsys.readouterr().out
    compiled = transpile.jit(told)
    compiled(5)
    assert capsys.readouterr().out == wanted
    with pytest.raises(ValueError, match=r"'too much', \[10, 14, 18\]"):
        compiled(9)


def outside(n, k):
    made = [1, 2, 3]
    for i in range(n):
        made[i + k] = i
    return made


def far_outside(n):
    made = [1, 2, 3]
    for i in range(n):
        made[i % 3] = i
    return made[3]


def test_indices_out_of_range():
    with pytest.raises(IndexError, match="list index out of range"):
        transpile.jit(far_outside)(2)
    compiled = transpile.jit(outside, check_bounds=True)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        compiled(3, 1)
    np.testing.assert_array_equal(compiled(3, 0), outside(3, 0))
    np.testing.assert_array_equal(compiled(3, -3), outside(3, -3))


def of_one_row(n):
    rows = [[0] * 3] * 2
    for i in range(n):
        rows[i % 2][i % 3] = i
    return rows


def of_a_row_with_a_name(n):
    row = [0, 0, 0]
    rows = [row, [1, 1, 1]]
    for i in range(n):
        rows[i % 2][i % 3] = i
    return rows, row


def of_texts(n):
    made = [0, "one", 2]
    for i in range(n):
        made[i] = i
    return made


def of_rows(n):
    rows = [[0] * 3 for _ in range(2)]
    for i in range(n):
        rows[i][i] = i
        rows[i] = rows[1 - i]
    return rows


@pytest.mark.parametrize("function", [of_one_row, of_a_row_with_a_name, of_texts, of_rows])
def test_lists_that_are_no_arrays_are_refused(function):
    with pytest.raises((errors.TracerIntegerConversionError, errors.UnsupportedError)):
        transpile.jit(lambda x: function(x.astype(int)[0]))(np.ones(1))


def first_three(values, x):
    for i in range(3):
        values[int(x) + i] = x
    return x


def test_a_list_of_the_callers_stays_as_it_is(caplog):
    values = [1.0, 2.0, 3.0, 4.0]
    with caplog.at_level(logging.WARNING, "transpile"):
        transpile.jit(first_three)(values, 1.0)
    assert values == [1.0, 2.0, 3.0, 4.0]
    assert "changes its argument 'values', a list, and does not return it" in caplog.text


def by_truth(x):
    values = [1, 2, 3]
    total = 0
    for v in x:
        values[v % 3] = v * 2
        total += values[bool(v > 2)]
        values[bool(v > 4)] = 7
    return [total, *values]


def test_truth_is_an_index():
    f = transpile.jit(by_truth)
    for size in (0, 1, 7, 80):
        x = np.random.default_rng(size).integers(0, 9, size)
        np.testing.assert_array_equal(f(x), by_truth(x))


def pivoted_determinant(a):
    n = len(a)
    m = [[a[i, j] for j in range(n)] for i in range(n)]
    sign = 1.0
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(m[r][c]) > abs(m[p][c]):
                p = r
        if p != c:
            m[c], m[p] = m[p], m[c]
            sign = -sign
        for r in range(c + 1, n):
            factor = m[r][c] / m[c][c]
            m[r] = [x - factor * y for x, y in zip(m[r], m[c], strict=True)]
    for c in range(n):
        sign *= m[c][c]
    return sign


def sorted_rows(keys):
    rows = [[i, 10 * i, k] for i, k in enumerate(keys)]
    for i in range(len(rows)):
        for j in range(len(rows) - 1 - i):
            if rows[j][2] > rows[j + 1][2]:
                rows[j], rows[j + 1] = rows[j + 1], rows[j]
    return rows


def copied_rows(keys):
    rows = [[i, i * 10] for i in range(len(keys))]
    others = [[i, i * 3] for i in range(len(keys))]
    for i in range(len(keys)):
        rows[keys[i]] = others[i][:]
        others[i][0] += 50
    return rows, others


def test_lists_inside_are_exchanged_and_replaced():
    keys = np.array([3, 1, 2, 0, 4])
    for function in (sorted_rows, copied_rows):
        check(function, (keys,), (keys[::-1].copy(),))
    check(pivoted_determinant, *[(np.random.default_rng(n).normal(size=(n, n)),) for n in (2, 5)])


def exchanged_beside_a_name(keys):
    rows = [[i, 10 * i] for i in range(len(keys))]
    row = rows[keys[0]]
    rows[keys[0]], rows[keys[1]] = rows[keys[1]], rows[keys[0]]
    row[0] = 99
    return rows


def replaced_by_a_name(keys):
    rows = [[i, 10 * i] for i in range(len(keys))]
    row = [7, 8]
    rows[keys[0]] = row
    row[0] = 99
    return rows


def replaced_by_another(keys):
    rows = [[i, 10 * i] for i in range(len(keys))]
    rows[keys[0]] = rows[keys[1]]
    rows[keys[0]][0] = 99
    return rows


class Holder:
    def __init__(self, row):
        self.row = row


def exchanged_beside_an_attribute(keys):
    rows = [[i, 10 * i] for i in range(len(keys))]
    holder = Holder(rows[keys[0]])
    rows[keys[0]], rows[keys[1]] = rows[keys[1]], rows[keys[0]]
    holder.row[0] = 99
    return rows


def exchanged_beside_a_dict(keys):
    rows = [[i, 10 * i] for i in range(len(keys))]
    held = {"row": rows[keys[0]]}
    rows[keys[0]], rows[keys[1]] = rows[keys[1]], rows[keys[0]]
    held["row"][0] = 99
    return rows


def exchanged_around_a_name(keys):
    cells = [[[i, 1], [2, 10 * i]] for i in range(len(keys))]
    inner = cells[keys[0]][1]
    cells[keys[0]], cells[keys[1]] = cells[keys[1]], cells[keys[0]]
    inner[0] = 99
    return cells


def rotated_at_one_place(keys):
    rows = [[i, 10 * i] for i in range(len(keys))]
    a, b = keys[0], keys[0]
    rows[0], rows[a], rows[b] = rows[a], rows[b], rows[0]
    rows[a][0] = 99
    return rows


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (exchanged_beside_a_name, "that 'row' may be"),
        (exchanged_beside_an_attribute, "that 'holder' may be"),
        (exchanged_beside_a_dict, "that 'held' may be"),
        (exchanged_around_a_name, "that 'inner' may be"),
        (rotated_at_one_place, "has another name"),
        (replaced_by_a_name, "has another name"),
        (replaced_by_another, "has another name"),
    ],
)
def test_lists_inside_that_have_another_name_are_not_replaced(function, text):
    with pytest.raises(errors.UnsupportedError, match=text):
        transpile.jit(function)(np.array([3, 1, 2, 0]))


def place_of(values, v):
    ordered = values[:]
    for i in range(1, len(ordered)):
        j = i
        while j > 0 and ordered[j] < ordered[j - 1]:
            ordered[j], ordered[j - 1] = ordered[j - 1], ordered[j]
            j -= 1
    return ordered.index(v), ordered.count(v)


def test_the_index_of_a_number():
    check(place_of, ([3, 1, 2, 3], 3), ([3, 1, 2, 3], 1))
    with pytest.raises(ValueError, match=r"is not in list|x not in list"):
        transpile.jit(place_of)([3, 1, 2], 7)
