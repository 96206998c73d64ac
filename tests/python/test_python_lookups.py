"""Lists, dicts and sets of Python's that traced values search, sort, subscript and join."""

import numpy as np
import pytest

import transpile

NAMES = {1: 2.5, 3: 4.0, 5: 6.5}
ODD = {1, 3, 5, 7}


def of_dict(x):
    total = 0.0
    for v in x:
        if v in NAMES:
            total += NAMES[v] * NAMES.get(v, 0.0)
        total -= NAMES.get(v, 0.5)
    return total


def of_set(x):
    count = 0
    for v in x:
        count += v in ODD
        if v not in ODD:
            count -= 10
    return count


def of_list(x):
    values = [4, 1, 3, 1, 5]
    total = 0
    for v in x:
        if v in values:
            total += 10 * values.index(v) + values.count(v)
    return total


def tuples_in_order(x):
    pairs = []
    for i, v in enumerate(x[:20]):
        pairs.append((v, i))
    pairs.sort()
    first = pairs[:2]
    pairs.sort(key=lambda p: (-p[0], p[1]))
    pairs.sort(key=lambda p: p[0] % 2, reverse=True)
    return first, pairs


def in_place(x):
    out = []
    for v in x[:6]:
        k = 0
        while k < len(out) and out[k] < v:
            k += 1
        out.insert(k, v)
    taken = out.pop(x[0] % 3) if len(x) > 5 else -1
    if taken in out:
        out.remove(taken)
    return out, taken


def merged(x):
    a, b = sorted(x[:9]), sorted(x[9:18])
    i = j = 0
    out = []
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out.extend(a[i:])
    out.extend(b[j:])
    return out


def flipped(x):
    a = [5, 3, 1, 4, 2, 0]
    flips = 0
    while a[0] != 0 and flips < len(x):
        k = a[0] + 1
        a[:k] = a[:k][::-1]
        flips += 1
    if len(x):
        k = x[0] % 4
        a[k : k + 2] = [7, 8]
    return a, flips


FUNCTIONS = [of_dict, of_set, of_list, tuples_in_order, in_place, merged, flipped]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_those_of_python(function):
    f = transpile.jit(function)
    for size in (0, 1, 7, 80):
        x = np.random.default_rng(size).integers(0, 9, size)
        found, wanted = f(x), function(x)
        np.testing.assert_equal(_plain(found), _plain(wanted))


def _plain(value):
    return [*map(_plain, value)] if isinstance(value, list | tuple) else float(value)


def test_errors_are_those_of_python():
    f = transpile.jit(lambda k: NAMES[k])
    assert f(np.array(3)) == 4.0
    with pytest.raises(KeyError, match="4"):
        f(np.array(4))
    f = transpile.jit(lambda k: [4, 1, 3].index(k))
    assert f(np.array(3)) == 2
    with pytest.raises(ValueError, match="x not in list"):
        f(np.array(2))


def another_length(x, k):
    values = [0.0, 1.0, 2.0, 3.0]
    values[k : k + 3] = [x, x]
    return values


def test_a_part_of_another_length_is_an_error_of_the_call():
    f = transpile.jit(another_length)
    assert f(9.0, np.array(2)) == [0.0, 1.0, 9.0, 9.0]
    with pytest.raises(ValueError, match="assigns another number of elements"):
        f(9.0, np.array(1))


ROWS = {
    "numbers": lambda v: v * 2,
    "rows": lambda v: np.array([v, v * v, 1.0]),
    "matrices": lambda v: np.array([[v, v * v, 1.0], [0.0, v, 2.0]]),
    "lists": lambda v: [v, 2 * v],
}
JOINS = {
    "stack": np.stack,
    "last": lambda rows: np.stack(rows, axis=-1),
    "second": lambda rows: np.stack(rows, 1),
    "concatenate": np.concatenate,
    "columns": lambda rows: np.concatenate(rows, axis=-1),
    "flat": lambda rows: np.concatenate(rows, axis=None),
    "vstack": np.vstack,
    "hstack": np.hstack,
    "column_stack": np.column_stack,
}
OF_AXES = {("second", "numbers"), ("concatenate", "numbers"), ("columns", "numbers")}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("join", JOINS)
def test_arrays_of_a_list_that_grows_are_joined_as_numpy_does(join, row):
    def joined(x):
        rows = []
        for v in x:
            if v > 0:
                rows.append(ROWS[row](v))
        return JOINS[join](rows)

    f = transpile.jit(joined)
    x = np.random.default_rng(0).normal(size=9)
    if (join, row) in OF_AXES:
        for function in (joined, f):
            with pytest.raises((ValueError, IndexError)):
                function(x)
        return
    np.testing.assert_array_equal(f(x), joined(x))
    with pytest.raises(ValueError, match="need at least one array to"):
        joined(-abs(x))
    with pytest.raises(ValueError, match="need at least one array to"):
        f(-abs(x))


def of_none(x):
    count = 0
    for v in x:
        found = NAMES.get(v)
        if found is not None:
            count += found
        if {1: None, 3: 2}.get(v, 0) is None:
            count += 10
    return count


def counted(x):
    counts = {}
    for v in x:
        counts[v] = counts.get(v, 0) + 1
    return len(counts)


def of_a_handler(x):
    total = 0.0
    for v in x:
        try:
            total += NAMES[v]
        except KeyError:
            total -= 1
    return total


def of_pairs(x):
    pairs = [(v, v % 2) for v in x]
    return [10 * pairs.index((v, v % 2)) + pairs.count((v, v % 2)) for v in x]


@pytest.mark.parametrize("function", [of_none, counted, of_a_handler, of_pairs])
def test_what_no_table_holds_is_known_of_few_integers(function):
    f = transpile.jit(function)
    for x in ([], [1], [3, 2, 1, 3], [4, 5, 4, 5, 5]):
        np.testing.assert_equal(_plain(f(np.array(x, int))), _plain(function(np.array(x, int))))


def test_an_empty_dict_has_no_traced_key():
    f = transpile.jit(lambda x: sum([{}.get(v, 0.5) for v in x]))
    assert f(np.arange(80.0)) == 40


def by_truth(x):
    total = 0.0
    for v in x:
        total += [3, 5][bool(v > 2)] - ((0, 1), (2, 9))[not v][int(v) == 4]
    if len(x):
        total += [x[0], x[0] + 1][int(x[0]) > 2]
    return total


def test_truth_is_an_index():
    f = transpile.jit(by_truth)
    for size in (0, 1, 7, 80):
        x = np.random.default_rng(size).integers(0, 9, size)
        assert f(x) == by_truth(x)


def changed_by_truth(x):
    table = [[1, 2], [3, 4]]
    for v in x:
        table[bool(v > 2)][bool(v == 0)] += 1
    return table


def test_truth_is_an_index_of_a_few_lists_that_change():
    f = transpile.jit(changed_by_truth)
    for x in ([], [0], [3, 0, 4]):
        np.testing.assert_equal(_plain(f(np.array(x, int))), _plain(changed_by_truth(x)))
