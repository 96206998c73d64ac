"""Lists, dicts and objects that a branch of the program changes, and binds as well. Python is the
oracle."""

from __future__ import annotations

import types
from collections import Counter

import numpy as np
import pytest

import transpile
from transpile.errors import CarryError, UnsupportedError
from transpile.transforms.interpret import interpret

X = np.arange(3.0)


def repeated(x):
    items = [1.0, 2.0]
    if x[0] > 100:
        items *= 2
    return sum(items)


def added(x):
    items = same = [1.0, 2.0]
    if x[0] > 100:
        items += [x[1]]
    return sum(same)


def united(x):
    keys = {1}
    if x[0] > 100:
        keys |= {2}
    return x + sum(keys)


def updated(x):
    table = {1: 2.0}
    if x[0] > 100:
        table |= {2: x[1]}
    return sum(table)


def appended_before(x):
    items = same = [1.0, 2.0]
    if x[0] > 100:
        items.append(3.0)
        items = [3.0, 4.0]
    return sum(items) + sum(same)


def in_an_object(x):
    holder = same = types.SimpleNamespace(items=[1.0])
    if x[0] > 100:
        holder.items.append(3.0)
        holder = types.SimpleNamespace(items=[])
    return sum(same.items)


@pytest.mark.parametrize(
    "function", [repeated, added, united, updated, appended_before, in_an_object]
)
def test_other_lengths_are_refused(function):
    with pytest.raises(CarryError, match="where traced values decide what runs"):
        transpile.jit(function).trace(X)


def elements(x):
    items = same = [1.0, 2.0]
    if x[0] > 100:
        items[0] = 9.0
        items = [3.0, x[1]]
    return sum(items), sum(same)


def attribute(x):
    holder = same = types.SimpleNamespace(value=1.0)
    if x[0] > 100:
        holder.value = x[1]
        holder = types.SimpleNamespace(value=5.0)
    return same.value


def one_of_two(x):
    items = same = [1.0, 2.0]
    if x[0] > 100:
        items[0] = 9.0
        chosen = items
    else:
        chosen = [x[1], 0.0]
    return sum(chosen), sum(same)


def the_list_itself(x):
    items = same = [1.0, 2.0]
    if x[0] > 100:
        items[0] = 9.0
        chosen = items
    else:
        chosen = items
    chosen[1] = x[2]
    return sum(items), sum(same)


@pytest.mark.parametrize("function", [elements, attribute, one_of_two, the_list_itself])
def test_changes_are_of_the_branch(function):
    graph = transpile.jit(function).trace(X).jaxpr
    for x in (X, X + 1000.0):
        found = interpret(graph, [x])
        np.testing.assert_array_equal(found, np.atleast_1d(function(x)))


COUNTED = Counter(a=3)
OF_ITSELF = [1.0]
OF_ITSELF.append(OF_ITSELF)


def test_a_counter_is_as_before_where_a_branch_may_not_change_it():
    def counts(x):
        if x[0] > 0:
            COUNTED["b"] += 1
        return x

    with pytest.raises(CarryError, match="changes the Counter 'COUNTED'"):
        transpile.jit(counts)(X)
    assert Counter(a=3) == COUNTED


def test_a_list_may_be_an_item_of_itself():
    def measured(x):
        y = 0
        if x[0] > 0:
            y = len(OF_ITSELF)
        return y

    with pytest.raises(RecursionError, match="contains itself"):
        transpile.jit(measured)(X)


def held_by_a_tuple(x):
    log = [0.0, 0.0]
    if x[0] > 100:
        held = (1.0, log)
    else:
        log[1] += 1
        held = (2.0, log)
    log[0] += x[1]
    return held[0], held[1][0], held[1][1]


def a_dict_in_a_list(x):
    counts = {"n": 0.0}
    held = [1.0, counts] if x[0] > 100 else [2.0, counts]
    counts["n"] += 5
    return held[0] + held[1]["n"]


def returned_before_finally(x):
    log = [0.0, 0.0]

    def run():
        try:
            log[0] += 1
            if x[0] > 100:
                return x[1], log
            log[1] += 1
        finally:
            log[0] += 10
        return x[2], log

    value, result = run()
    result[1] += 100
    return value, result[0], result[1], sum(log)


def bound_on_one_path(x):
    log = [0.0, 0.0]
    if x[0] > 100:
        same = log
    if x[0] > 100:
        same[0] += 5
    return log[0], log[1]


def attribute_bound_on_one_path(x):
    holder = types.SimpleNamespace(value=1.0, items=[0.0])
    if x[0] > 100:
        same = holder
    if x[0] > 100:
        same.value += 5
        same.items[0] -= 1
    return holder.value, holder.items[0]


def behind_a_raise(x):
    log = [0.0, 0.0]
    if x[0] < -100:
        raise ValueError("less")
    log[0] += x[1]
    held = [log, 2.0]
    log[1] += 3
    return held[0][0], held[0][1]


def by_its_one_name(x):
    fresh = [0.0, 1.0]
    for k in range(3):
        if x[k] > 100:
            fresh = [x[1], x[2]]
        fresh[0] += 1
    return fresh[0], fresh[1]


@pytest.mark.parametrize(
    "function",
    [
        *(held_by_a_tuple, a_dict_in_a_list, returned_before_finally, bound_on_one_path),
        *(attribute_bound_on_one_path, behind_a_raise, by_its_one_name),
    ],
)
def test_containers_of_both_paths_are_themselves(function):
    """They were copies, which did not see later changes."""
    compiled = transpile.jit(function)
    for x in (X, X + 1000.0):
        np.testing.assert_array_equal(compiled(x), function(x))


def of_another_name(x):
    items = [0.0, 0.0]
    same = items
    if x[0] > 100:
        chosen = items
        items = [1.0, 1.0]
    else:
        chosen = [5.0, x[1]]
    chosen[0] += 7
    return sum(items), sum(same)


def changed_and_chosen(x):
    items = [0.0, 0.0]
    if x[0] > 100:
        items[0] += 1
        chosen = items
    else:
        chosen = [5.0, 5.0]
    chosen[0] += 7
    return sum(items), sum(chosen)


def of_the_caller(x):
    row = [0.0, 1.0]
    return replaced(row, x), row


def replaced(row, x):
    if x[0] > 100:
        row = [1.0, x[1]]
    row[0] += 1
    return row


@pytest.mark.parametrize("function", [of_another_name, changed_and_chosen, of_the_caller])
def test_copies_of_containers_with_another_name_are_not_changed(function):
    with pytest.raises(UnsupportedError, match="is changed later"):
        transpile.jit(function).trace(X)
