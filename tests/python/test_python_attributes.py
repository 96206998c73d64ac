"""Attributes that statements change, as Python has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import transpile
from transpile import errors

X = np.arange(8.0)


class Counter:
    """Counts, and adds up."""

    def __init__(self):
        self.count = 0
        self.total = 0.0

    def add(self, x):
        self.count += 1
        if x > 1:
            self.total += x


@dataclass
class Particle:
    """Where one is, and how fast."""

    x: float
    v: float


class Generator:
    """A linear congruential generator."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (1664525 * self.state + 1013904223) % 2**32
        return self.state / 2**32


def counts(x, n):
    counter = Counter()
    for _ in range(n):
        counter.count += 1
    return counter.count


def counts_in_a_method(x, n):
    counter = Counter()
    for i in range(n):
        if x[i] > 0:
            counter.add(x[i])
    return counter.count, counter.total


def is_set_in_a_branch(x, n):
    counter = Counter()
    if n > 2:
        counter.count = 5
    return counter.count


def moves(x, n):
    particle = Particle(1.0, 0.0)
    while particle.x < 10 and particle.v < n:
        particle.v += 1
        particle.x += particle.v * 0.1
    return particle.x, particle.v


def draws(x, n):
    generator = Generator(n)
    hits = 0
    for i in range(n):
        for j in range(3):
            if x[i] > 6 or generator.next() < 0.5:
                x[int(generator.next() * 8)] += j
                hits += 1
    return hits, generator.state


def has_arrays(x, n):
    counter = Counter()
    counter.rows = np.zeros(8)
    for i in range(n):
        counter.rows[i % 3] += x[i]
        counter.rows = counter.rows * 2
    return counter.rows


@pytest.mark.parametrize(
    "function", [counts, counts_in_a_method, is_set_in_a_branch, moves, draws, has_arrays]
)
def test_attributes_are_state(function):
    compiled = transpile.jit(function)
    for n in (0, 3, 6):
        ours, theirs = X.copy(), X.copy()
        found = transpile.tree.leaves(compiled(ours, n))
        wanted = transpile.tree.leaves(function(theirs, n))
        for one, other in zip([*found, ours], [*wanted, theirs], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def has_no_value_before(x, n):
    counter = Counter()
    for i in range(n):
        counter.last = x[i]
    return counter.count


def changes_in_a_condition(x, n):
    generator = Generator(n)
    while generator.next() < 0.9:
        x[0] += 1
    return x


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (has_no_value_before, "whether counter.last has a value behind `for i in range.n.:`"),
        (changes_in_a_condition, "changes generator.state. Change it in the body"),
    ],
)
def test_what_cannot_be_state_is_an_error(function, text):
    with pytest.raises(errors.UnsupportedError, match=rf"test_python_attributes.py:\d+: .*{text}"):
        transpile.jit(function).lower(X, 3)


class Account:
    """A sum of money, of which no more is taken than there is."""

    def __init__(self, balance):
        self.balance = balance
        self.refused = 0

    def withdraw(self, amount):
        if amount > self.balance:
            self.refused += 1
            return False
        self.balance -= amount
        return True


def transfers(amounts, start):
    accounts = [Account(start), Account(2 * start)]
    named = {"third": (Account(start / 2),)}
    for k in range(len(amounts)):
        if accounts[0].withdraw(amounts[k]):
            accounts[1].balance += amounts[k]
        elif accounts[1].withdraw(amounts[k] / 2):
            named["third"][0].balance += amounts[k] / 2
        else:
            break
    return [(a.balance, a.refused) for a in (*accounts, *named["third"])]


def test_objects_in_containers_are_changed_by_branches_and_loops():
    amounts = np.array([5.0, 3.0, 9.0, 1.0, 30.0, 2.0])
    compiled = transpile.jit(transfers)
    for start in (1.0, 6.0, 10.0, 40.0):
        np.testing.assert_allclose(compiled(amounts, start), transfers(amounts, start))
