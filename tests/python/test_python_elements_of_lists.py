"""Lists that grow and whose elements are arrays, or lists of numbers: paths, rows, states. Python
is the oracle, and what it would see of a later assignment is an error."""

import copy
from collections import deque

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

RNG = np.random.default_rng(11)
ROWS = RNG.normal(size=(100, 3))


def check(function, *args):
    """Results are those of Python, their dtypes too."""
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    result, expected = transpile.jit(function)(*ours), function(*theirs)
    parts, others = transpile.tree.leaves(result), transpile.tree.leaves(expected)
    for one, other in zip(parts, others, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def path(x):
    points, y = [], 0.0
    while x > 0.1:
        points.append([x, y])
        x, y = x * 0.9, y + 1.0
    return np.array(points)


def chosen_rows(a):
    rows = []
    for i in range(len(a)):
        if a[i, 0] > 0:
            rows.append(a[i])
    return np.array(rows)


def states(x):
    state = np.array([x, 1.0])
    found = [state]
    while state[0] < 9:
        state = state + 1.5
        found.append(state)
    return np.array(found), found[-1]


def copies(x):
    state = np.array([x, 1.0])
    found = [state.copy()]
    while state[0] < 9:
        state[0] += 1.5
        found.append(state.copy())
    return np.array(found), len(found)


def named_nodes(x):
    nodes = []
    while x > 0.1:
        node = [x, 4.0] if x > 0.5 else [x, 3.0]
        nodes.append(node)
        x *= 0.5
    for a, b in nodes:
        x += a * b
    return x, nodes


def searched(x):
    points = [[x, 1.0]]
    while x > 0.1:
        a, b = points[-1]
        points.append([a * 2, b])
        if [8.0, 1.0] in points:
            points.append([1.0, b])
        x *= 0.5
    points.sort()
    points.insert(1, points.pop())
    return points


def nested(x, n):
    found = [(x, [1.0, 2.0], np.zeros(3))]
    while x < n:
        _, (v, w), z = found[-1]
        found.append((x, [w, v + x], z + 1))
        x += 1
    found.insert(0, found.pop())
    return found[0][0], found[0][1], found[0][2], len(found)


def single_precision(x):
    values = []
    for v in x:
        values.append(v if v > 0 else 0.1)
    return np.array(values)


def mixed_precision(x):
    values = []
    for v in x:
        if v > 0:
            values.append(v)
        else:
            values.append(0.1)
    return np.array(values)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (path, (3.0,)),
        (chosen_rows, (ROWS,)),
        (states, (2.0,)),
        (copies, (2.0,)),
        (named_nodes, (3.0,)),
        (searched, (4.0,)),
        (nested, (1.5, 9)),
        (mixed_precision, (RNG.normal(size=100).astype(np.float32),)),
    ],
)
@one_in(2)
def test_they_are_pythons(function, args):
    check(function, *args)


def test_an_element_that_is_popped_is_the_programs():
    def popped(x):
        points = [[x, 1.0]]
        arrays = [np.zeros(2)]
        while x > 0.1:
            points.append([x * 2, x])
            arrays.append(np.zeros(2) + x)
            x *= 0.5
        last = points.pop()
        row = arrays.pop()
        arrays.append(row * 2)
        return last[0], row, arrays[-1], points

    check(popped, 3.0)


# ------------------------------------------------------------------------- what Python would see


def assigned_before(x):
    state, found = np.array([x, 1.0]), []
    while state[0] < 9:
        state[0] += 1.5
        found.append(state)
    return np.array(found)


def assigned_behind(x):
    state, found = np.array([x, 1.0]), []
    while state[0] < 9:
        found.append(state)
        state[0] += 1.5
    return np.array(found)


def first_is_assigned(x):
    state = np.array([x, 1.0])
    found = [state]
    while state[0] < 9:
        state[0] += 1.5
        found.append(state.copy())
    return np.array(found)


def element_is_assigned(x):
    found = [np.array([x, 1.0])]
    while x < 9:
        x += 1.5
        found.append(found[-1] + x)
    first = found[0]
    first[0] = 100.0
    return np.array(found)


def element_is_assigned_in_a_loop(x):
    found = [np.array([x, 1.0])]
    last = found[0]
    while x < 9:
        x += 1.5
        found.append(found[-1] + x)
        last = found[-1]
        last[0] = last[0] * 2
    return np.array(found)


def variable_is_assigned_behind(x):
    state, found = np.array([x, 1.0]), []
    while x < 9:
        x += 1.5
        state = state + x
        found.append(state)
    state[0] = 77.0
    return np.array(found)


def variable_is_assigned_in_the_next_iteration(x):
    state, found = np.array([x, 1.0]), []
    while x < 9:
        x += 1.5
        state += x
        state = state * 1.0
        found.append(state)
    return np.array(found)


def another_name_is_assigned(x):
    first, found = np.array([x, 1.0]), []
    state = first
    while x < 9:
        x += 1.5
        found.append(state)
        state = state * 2
    first[0] = -1
    return np.array(found)


def base_is_assigned(x):
    table, found = np.zeros((5, 2)), []
    while x < 9:
        x += 1.5
        found.append(table[2])
    table[:] = 1
    return np.array(found)


def popped_is_assigned(x):
    found, state = [], np.array([x, 1.0])
    while x < 9:
        x += 1.5
        found.append(state)
    last = found.pop()
    last[0] = 5.0
    return np.array(found)


def popped_of_another_list_is_assigned(x):
    found, others = [], deque()
    while x < 9:
        x += 1.5
        state = np.array([x, 1.0])
        found.append(state)
        others.append(state)
    last = others.popleft()
    last[0] = 5.0
    return np.array(found)


def popped_of_a_copy_is_assigned(x):
    found = []
    while x < 9:
        x += 1.5
        found.append(np.array([x, 1.0]))
    last = list(found).pop()
    last[0] = 5.0
    return np.array(found)


def one_of_two_is_assigned(x):
    found, one, other = [], np.array([x, 1.0]), np.array([1.0, x])
    while x < 9:
        x += 1.5
        found.append(one if x > 4 else other)
    one[0] = 5.0
    return np.array(found)


@pytest.mark.parametrize(
    "function",
    [
        assigned_before,
        assigned_behind,
        first_is_assigned,
        element_is_assigned,
        element_is_assigned_in_a_loop,
        variable_is_assigned_behind,
        variable_is_assigned_in_the_next_iteration,
        another_name_is_assigned,
        base_is_assigned,
        popped_is_assigned,
        popped_of_another_list_is_assigned,
        popped_of_a_copy_is_assigned,
        one_of_two_is_assigned,
    ],
)
def test_an_array_that_is_assigned_to_elsewhere_is_an_error(function):
    with pytest.raises(errors.UnsupportedError, match=r"values\.append\(x\.copy\(\)\)"):
        transpile.jit(function)(2.0)


def node_is_changed(x):
    nodes = []
    while x > 0.1:
        node = [x, 1.0]
        nodes.append(node)
        node[0] = 3.0
        x *= 0.5
    return nodes


def node_is_changed_in_the_next_iteration(x):
    nodes = []
    node = [x, 1.0]
    while x > 0.1:
        nodes.append(node)
        node[1] = 3.0
        node = [x, 2.0]
        x *= 0.5
    return nodes


def node_of_a_branch_is_changed(x):
    nodes = []
    node = [x, 1.0]
    while x > 0.1:
        if x > 0.5:
            node = [x, 4.0]
            nodes.append(node)
        node[0] = x * 2
        x *= 0.5
    return nodes


def one_node_is_added_again(x):
    nodes = []
    node = [x, 1.0]
    while x > 0.1:
        node[0] += 1
        nodes.append(node)
        x *= 0.5
    return nodes


def node_in_the_list_is_changed(x):
    nodes = [[x, 1.0]]
    while x > 0.1:
        nodes.append([nodes[-1][0] * 2, x])
        x *= 0.5
    nodes[0][1] = 5.0
    return nodes


def popped_node_is_changed(x):
    nodes = []
    while x > 0.1:
        node = [x, 1.0]
        nodes.append(node)
        nodes.append(node)
        x *= 0.5
    last = nodes.pop()
    last[0] = 3.0
    return nodes


@pytest.mark.parametrize(
    "function",
    [
        node_is_changed,
        node_is_changed_in_the_next_iteration,
        node_of_a_branch_is_changed,
        one_node_is_added_again,
        node_in_the_list_is_changed,
        popped_node_is_changed,
    ],
)
def test_a_list_that_is_changed_elsewhere_is_an_error(function):
    with pytest.raises(
        (errors.UnsupportedError, errors.CarryError), match=r"is changed later|iteration before"
    ):
        transpile.jit(function)(3.0)


def test_arrays_are_not_searched_or_sorted():
    def found(x):
        rows = []
        while x > 0.1:
            rows.append(np.array([x, 1.0]))
            x *= 0.5
        rows.sort()
        return len(rows)

    with pytest.raises(errors.UnsupportedError, match="sorts, by arrays, a list"):
        transpile.jit(found)(3.0)


def test_derivatives_go_through_them():
    def total(x):
        points = [[x, 1.0]]
        rows = [np.array([x, x])]
        for k in range(200):
            a, b = points[-1]
            points.append([a * 0.9 + b, b * 0.5])
            rows.append(rows[-1] * 0.5 + a)
            if x > 100:
                rows.pop()
        return points[-1][0] + rows[-1].sum()

    slope = transpile.grad(total)(2.0)
    assert slope == pytest.approx((total(2.001) - total(1.999)) / 0.002)


def test_a_list_that_grows_is_an_index():
    def resampled(a, weights):
        chosen, k = [], 0
        total = np.cumsum(weights)
        for i in range(len(weights)):
            while (i + 0.5) / len(weights) > total[k]:
                k += 1
            chosen.append(k)
        return a[:, chosen], a[0][chosen]

    weights = RNG.random(80)
    check(resampled, RNG.random((2, 80)), weights / weights.sum())


def test_an_element_that_a_branch_changes_is_an_error():
    def intervals(ends):
        merged = [[ends[0, 0], ends[0, 1]]]
        for start, end in ends:
            if start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return merged

    with pytest.raises(errors.UnsupportedError, match="is changed later"):
        transpile.jit(intervals)(np.sort(RNG.integers(0, 60, (70, 2)), axis=1))
