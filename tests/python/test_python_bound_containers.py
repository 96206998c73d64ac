"""Lists, dicts and objects that a branch of the program changes, and binds as well. Python is the
oracle."""

from __future__ import annotations

import types
from collections import Counter

import numpy as np
import pytest

import transpile
from transpile.errors import CarryError
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
